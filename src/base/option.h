/* SPDX-License-Identifier: Apache-2.0 */
/*
 * option.h: the environment variables of Chorus, in one list.
 *
 * chorus_init reads most of them once. chorus-info options prints those that users set, with
 * their values, and docs/make-man writes them into chorus(7).
 */
#ifndef CH_OPTION_H
#define CH_OPTION_H

#include "base/error.h"
#include "chorus/lists.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* clang-format off */
/* A row for each variable. It begins with the name after CHORUS_, and with who sets the
 * variable: USER; LAUNCHER, which is chorusrun, for programs as well as for the library, as
 * chorusrun(1) says; or INTERNAL, which is chorusrun, for the library alone. Then follows
 * whether its value is PUBLIC or SECRET. The value of a secret is never printed, logged or
 * part of a message: what prints values of variables passes them through ch_variable_shown.
 *
 * Rows of X are parsed by ch_options_read: field, kind, default, text. They are not secret,
 * since the messages about invalid values show them. Rows of B are read by boot/ when it joins
 * the job, only in the way of starting that needs them: text.
 *
 * Kinds: STRING, BYTES (may have a suffix K, M or G), COUNT (0 to CH_COUNT_MAX), SECONDS (may
 * have a fraction; stored in ns, a positive number below 1 ns as 1), HEAP (a name of
 * CHORUS_HEAP_LIST), SWITCH (0 or 1), RECORD (calls or full; stored as "is it full"), ERRORS (a
 * name of CH_ERRORS_LIST), CHECK (0 to CH_CHECK_MAX), CONNECTIONS (1 to
 * CH_CONNECTIONS_MAX, or auto, stored as CH_CONNECTIONS_AUTO). */
#define CH_VARIABLE_LIST(X, B)                                                                   \
    X(LOG, USER, PUBLIC, log, STRING, "warn", "highest level of messages that are logged: none, error, warn, info, debug or trace") \
    X(HEAP, USER, PUBLIC, heap, HEAP, "host", "where symmetric objects are: host, cuda (on GPUs), or auto (on GPUs if every PE has one, and all are on one host with access to each other)") \
    X(NET, USER, PUBLIC, net, STRING, "", "network interface for connections to other hosts, such as eth1; empty: any interface with an address") \
    X(HEAP_MAX, USER, PUBLIC, heap_max, BYTES, "0", "largest size of the symmetric heap of a PE, in bytes; 0: the memory of the machine, or of the GPU") \
    X(HEAP_STEP, USER, PUBLIC, heap_step, BYTES, "4M", "smallest number of bytes by which a heap grows") \
    X(SYNC_MAX, USER, PUBLIC, sync_max, BYTES, "640M", "bytes for the sync memory and the objects of a PE's teams: memory of the GPU, reserved at the start, or addresses on a host, which get memory when it is first used") \
    X(TIMEOUT, USER, PUBLIC, timeout_ns, SECONDS, "300", "seconds after which a wait fails; 0: a wait never fails") \
    X(WARN, USER, PUBLIC, warn_ns, SECONDS, "10", "seconds after which a wait is reported in the log, once; 0: never") \
    X(LINK_TIMEOUT, USER, PUBLIC, link_ns, SECONDS, "5", "seconds for which the network between two hosts may be interrupted; after a longer interruption their PEs are lost; values below 1 mean 1") \
    X(CONNECTIONS, USER, PUBLIC, connections, CONNECTIONS, "auto", "TCP connections between two PEs, 1 to 8; all but the first carry parts of long messages, and each has a thread. auto: up to 4, if chorusrun has bound the PEs and left cores free for the threads") \
    X(ALGO, USER, PUBLIC, algo, STRING, "", "algorithms to use in place of those that rule tables choose: coll:algo[:proto[:ctas]][,...]") \
    X(TUNING, USER, PUBLIC, tuning, STRING, "", "rule table to use before those of the user, the system and the library") \
    X(CTAS, USER, PUBLIC, ctas, COUNT, "0", "duplicates of sync memory that a team has: the largest number of CTAs of a call, on a GPU twice as many for some large calls; 0: 2 on a host, 64 on a GPU") \
    X(CHUNK, USER, PUBLIC, chunk, BYTES, "16K", "largest number of data bytes in one message of protocol simple; a quarter of it with packets and lines, eight times as many in teams on several hosts; halved as often as a large team needs for each CTA to take at most 8 MiB of memory") \
    X(TRANSPORT, USER, PUBLIC, transport, STRING, "", "transports that may be used: names separated by commas, or ^ and the names of those that may not; \"mapped\" is the memory of the same host; empty: all") \
    X(INSECURE, USER, PUBLIC, insecure, SWITCH, "0", "1: also use providers of libfabric over sockets whose memory keys can be guessed, by which anybody who reaches the host can read and write the symmetric memory") \
    X(NVLS, USER, PUBLIC, nvls, SWITCH, "0", "1: use the multicast of NVLink switches, unless NCCL_NVLS_ENABLE or a similar variable disables it") \
    X(FABRIC, USER, PUBLIC, fabric, SWITCH, "1", "0: processes share GPU memory by file descriptors; 1: by fabric handles if all GPUs support them, also between hosts (multi-node NVLink)") \
    X(P2P, USER, PUBLIC, p2p, SWITCH, "1", "0: GPUs of one host do not access each other's memory; their PEs reach each other through the memory of the host") \
    X(EARLY, USER, PUBLIC, early, SWITCH, "1", "0: no kernel is launched before the previous kernel on its stream has ended") \
    X(VERBS, USER, PUBLIC, verbs, STRING, "", "RDMA device to use, as device[:port[:GID index]]; empty: the one nearest to the cores of the PE") \
    X(CHECK, USER, PUBLIC, check, CHECK, "0", "checks for debugging. 1: a collective fails if PEs of its team make different calls, and on GPUs if it begins while another call of its team runs. 2: also checks of memory and threads") \
    X(RECORD, USER, PUBLIC, records_all, RECORD, "calls", "what chorus-info record can list; calls: the last 1,024 calls, with bounds of their times; full: also their exact times, and puts, gets, signals, atomics and waits, which makes small ones slower") \
    X(ERRORS, USER, PUBLIC, errors, ERRORS, "report", "when a function returns a code that is not 0, or an allocation returns null. report: one line in the log, at level error, for each function and code on each PE; fatal: the job ends, as by a failure of a function that returns no code; return: nothing") \
    X(NVTX, USER, PUBLIC, nvtx, SWITCH, "0", "1: mark collectives as ranges for NVIDIA's profilers, with bytes, algorithm and rule, if the library was built with CUDA") \
    X(NODES, USER, PUBLIC, nodes, COUNT, "0", "for tests: treat the PEs of one host as PEs of this many hosts, in blocks of equal size if possible; 0: do not") \
    X(NODE, USER, PUBLIC, node, STRING, "", "name of the host of this PE; PEs with equal names share memory; empty: the name of the machine") \
    B(PE, LAUNCHER, PUBLIC, "number of this PE, from 0") \
    B(N_PES, LAUNCHER, PUBLIC, "number of PEs of the job") \
    B(N_CORES, LAUNCHER, PUBLIC, "number of cores that all PEs of this host may use together") \
    B(BOOT_FD, LAUNCHER, PUBLIC, "descriptor of this PE's end of the socket pair that leads to chorusrun") \
    B(SPARE, INTERNAL, PUBLIC, "if PEs are bound to cores: the hardware threads of the other cores, such as 8-15") \
    B(ROOT, LAUNCHER, PUBLIC, "on several hosts: the addresses at which chorusrun listens, for ch_tree_join") \
    B(SECRET_FD, LAUNCHER, PUBLIC, "on several hosts: descriptor from which the job's secret can be read") \
    B(PORT, USER, PUBLIC, "port at which PE 0 listens if torchrun starts the PEs; not set: the one after MASTER_PORT, or any other if a program has that one and all PEs are on one host and have no CHORUS_SECRET") \
    B(SECRET, USER, SECRET, "any text, the same for all PEs, with which they authenticate each other if torchrun starts them; empty: PEs that are all on one host use a random secret; on several hosts, whoever reaches the PEs over the network can then join the job, and PE 0 prints a warning")
/* clang-format on */

/* The rows of variables that ch_options_read parses. */
#define CH_VARIABLE_OF_BOOT(NAME, setter, secrecy, text)
#define CH_OPTION_LIST(X) CH_VARIABLE_LIST(X, CH_VARIABLE_OF_BOOT)

/* What happens when a function returns a code; see CHORUS_ERRORS. */
#define CH_ERRORS_LIST(X) X(report) X(fatal) X(return )
enum ch_errors {
#define X(name) CH_ERRORS_##name,
    CH_ERRORS_LIST(X)
#undef X
};

#define CH_OPTION_TYPE_STRING const char *
#define CH_OPTION_TYPE_BYTES uint64_t
#define CH_OPTION_TYPE_COUNT uint64_t
#define CH_OPTION_TYPE_SECONDS uint64_t
#define CH_OPTION_TYPE_HEAP chorus_heap
#define CH_OPTION_TYPE_SWITCH bool
#define CH_OPTION_TYPE_RECORD bool
#define CH_OPTION_TYPE_CHECK uint64_t
#define CH_OPTION_TYPE_ERRORS enum ch_errors
#define CH_OPTION_TYPE_CONNECTIONS uint64_t

#define CH_COUNT_MAX 1024u
#define CH_CHECK_MAX 2u
#define CH_CONNECTIONS_MAX 8u
#define CH_CONNECTIONS_AUTO 0u

/* The smallest values, in bytes: a page of the heap; the sync memory of the first teams; the
 * shortest chunk with which all algorithms are tested. */
#define CH_HEAP_STEP_MIN 4096u
#define CH_SYNC_MAX_MIN (1u << 20)
#define CH_CHUNK_MIN 256u

/* The kernel counts the time of a connection in ms, as an int. */
#define CH_LINK_TIMEOUT_MAX_S 3600u

struct ch_options {
#define X(NAME, setter, secrecy, field, KIND, initial, text) CH_OPTION_TYPE_##KIND field;
    CH_OPTION_LIST(X)
#undef X
    int device; /* requested by the program, not by a variable; or CH_OPTION_NO_DEVICE */
};

#define CH_OPTION_NO_DEVICE (-1)

/* Chunks of teams on several hosts are this many times CHORUS_CHUNK. */
#define CH_CHUNK_FAR ((size_t)8)

/* The values that CHORUS_CTAS=0 means. */
enum { CH_CTAS_ON_HOST = 2, CH_CTAS_ON_GPU = 64 };

enum ch_variable_id {
#define X(NAME, ...) CH_VARIABLE_##NAME,
    CH_VARIABLE_LIST(X, X)
#undef X
        CH_VARIABLE_COUNT
};

enum ch_setter { CH_SETTER_USER, CH_SETTER_LAUNCHER, CH_SETTER_INTERNAL };
enum ch_secrecy { CH_SECRECY_PUBLIC, CH_SECRECY_SECRET };

/* A row of CH_VARIABLE_LIST. */
struct ch_variable {
    const char *name; /* with CHORUS_ */
    enum ch_setter setter;
    enum ch_secrecy secrecy;
    const char *initial; /* the default; null: boot/ reads the variable */
    const char *text;
};

/* By ch_variable_id, in the order of the list. */
extern const struct ch_variable ch_variables[CH_VARIABLE_COUNT];

static inline const char *ch_variable_name(enum ch_variable_id id)
{
    return ch_variables[id].name;
}

/* Returns the variable's value in the environment, or null. A program that runs with the rights
 * of another user (setuid) has none. */
const char *ch_variable_get(enum ch_variable_id id);

/* Returns what may be printed as the value of a variable: `value`, or a text in its place if
 * the list says that the variable is secret. The name ends at a null byte or '='. */
const char *ch_variable_shown(const char *name, const char *value);

/* The names of CHORUS_HEAP_LIST, by value. */
extern const char *const ch_heap_names[];

/* Fill *out from the environment. A program that runs with the rights of another user (setuid)
 * does not read it. ERR_ARG names the variable, its value and the form expected.
 */
CH_MUST_CHECK chorus_status ch_options_read(struct ch_options *out);

/* Returns the value of CHORUS_ERRORS alone, for failures outside a job; `report` if it is not
 * valid. */
enum ch_errors ch_options_error_mode(void);

#endif /* CH_OPTION_H */
