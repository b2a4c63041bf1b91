/* SPDX-License-Identifier: Apache-2.0 */
/*
 * option.h: everything the environment can say to the library, in one list.
 *
 * Read once, at init. chorus-info prints the list with the values in force, and the
 * README's table is made from it.
 */
#ifndef CH_OPTION_H
#define CH_OPTION_H

#include "base/error.h"
#include "chorus/lists.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* clang-format off */
/* Environment name after CHORUS_, field, kind, default, text. Kinds: STRING, BYTES (suffix K, M,
 * G), COUNT (0 to CH_COUNT_MAX), SECONDS (fractions allowed; kept in ns,
 * 0 only for 0), HEAP (a word of
 * CHORUS_HEAP_LIST), SWITCH (0 or 1). */
#define CH_OPTION_LIST(X)                                                                        \
    X(LOG, log, STRING, "warn", "highest level logged: none error warn info debug trace")        \
    X(HEAP, heap, HEAP, "host", "where symmetric objects lie: host, cuda (GPUs), or auto: on GPUs if every PE has one") \
    X(NET, net, STRING, "", "network interface for connections to other hosts, such as eth1; empty: any that has an address") \
    X(HEAP_MAX, heap_max, BYTES, "0", "most bytes the symmetric heap of a PE may grow to; 0: the memory of the machine, or of the GPU") \
    X(HEAP_STEP, heap_step, BYTES, "4M", "bytes the heap grows by at the least")                 \
    X(SYNC_MAX, sync_max, BYTES, "640M", "bytes of a GPU that are set aside for the sync memory of a PE's teams") \
    X(TIMEOUT, timeout_ns, SECONDS, "300", "seconds a wait may last before it is an error; 0: for ever") \
    X(WARN, warn_ns, SECONDS, "10", "seconds after which a wait is reported in the log, once; 0: never") \
    X(ALGO, algo, STRING, "", "force algorithms: coll:algo[:proto[:ctas]][,...]")                \
    X(TUNING, tuning, STRING, "", "rule table file to use before the user's and the shipped ones") \
    X(CTAS, ctas, COUNT, "0", "duplicates of sync memory a team owns: the most CTAs a call can use, on a GPU twice as many for some large ones; 0: 2 on a host, 64 on a GPU") \
    X(CHUNK, chunk, BYTES, "16K", "data bytes that go through a simple FIFO at a time; packets and lines: a quarter; teams on several hosts: eight times as many") \
    X(NVLS, nvls, SWITCH, "0", "1: multicast in the hardware of NVLink switches, unless a variable of the site forbids it") \
    X(FABRIC, fabric, SWITCH, "1", "0: processes share the memory of GPUs by descriptors, not by fabric handles where all GPUs offer them") \
    X(VERBS, verbs, STRING, "", "RDMA device to use, as device[:port[:GID index]]; empty: the nearest")    \
    X(EARLY, early, SWITCH, "1", "0: no kernel of a GPU is launched before the one before it on its stream has ended") \
    X(TRANSPORT, transport, STRING, "", "networks between hosts that may be taken: names, with commas between them, or ^ and names that may not; \"mapped\" is memory of the own host; all, if empty") \
    X(CHECK, check, COUNT, "0", "for debugging: 1: a collective fails if PEs of its team make different calls, and on GPUs if it begins while another on its team runs; 2: memory and threads are checked too") \
    X(NVTX, nvtx, SWITCH, "0", "1: ranges around collectives for NVIDIA's profilers, with bytes, algorithm and rule, where the library was built with CUDA") \
    X(NODES, nodes, COUNT, "0", "for tests: treat the PEs of one host as on this many, in blocks as even as possible; 0: do not") \
    X(NODE, node, STRING, "", "name of the host that a PE is on; PEs with one name share memory; empty: the machine's own")
/* clang-format on */

#define CH_OPTION_TYPE_STRING const char *
#define CH_OPTION_TYPE_BYTES uint64_t
#define CH_OPTION_TYPE_COUNT uint64_t
#define CH_OPTION_TYPE_SECONDS uint64_t
#define CH_OPTION_TYPE_HEAP chorus_heap
#define CH_OPTION_TYPE_SWITCH bool

#define CH_COUNT_MAX 1024u

struct ch_options {
#define X(NAME, field, KIND, initial, text) CH_OPTION_TYPE_##KIND field;
    CH_OPTION_LIST(X)
#undef X
    int device; /* the program's wish, which no variable says; CH_OPTION_NO_DEVICE: none */
};

#define CH_OPTION_NO_DEVICE (-1)

/* Times CHORUS_CHUNK in teams on several hosts. */
#define CH_CHUNK_FAR ((size_t)8)

/* What CHORUS_CTAS=0 stands for. */
enum { CH_CTAS_ON_HOST = 2, CH_CTAS_ON_GPU = 64 };

/* The words of CHORUS_HEAP_LIST, by value. */
extern const char *const ch_heap_names[];

/* Fill *out from the environment, which a program that runs with the rights of another user
 * (setuid) does not read. ERR_ARG names the variable, its value and the form expected.
 */
CH_MUST_CHECK chorus_status ch_options_read(struct ch_options *out);

#endif /* CH_OPTION_H */
