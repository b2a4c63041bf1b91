/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire.h: what a PE and chorusrun say to each other over their socket pair.
 *
 * Every message is a head and, for some kinds, `bytes` bytes after it. A PE's EXCHANGE carries
 * its descriptor with the head. chorusrun answers each EXCHANGE, once all PEs have sent
 * theirs, with RESULT: the blobs of all PEs in order, then one-byte messages that carry the
 * descriptors, CH_WIRE_FDS at a time; or with FAIL, whose bytes are the reason.
 */
#ifndef CH_WIRE_H
#define CH_WIRE_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum {
    CH_WIRE_MAGIC = 0x43480001, /* "CH", and the version of this protocol */
    CH_WIRE_PES_MAX = 1024,     /* PEs chorusrun starts */
    CH_WIRE_BLOB_MAX = 1 << 20, /* bytes a PE may give to an exchange */
    CH_WIRE_FDS = 64            /* descriptors in one message; Linux allows 253 */
};

/* The environment of a PE: its place, and the number of its end of the socket pair. */
#define CH_WIRE_ENV_PE "CHORUS_PE"
#define CH_WIRE_ENV_N_PES "CHORUS_N_PES"
#define CH_WIRE_ENV_N_CORES "CHORUS_N_CORES"
#define CH_WIRE_ENV_FD "CHORUS_BOOT_FD"

enum ch_wire_kind {
    CH_WIRE_JOIN = 1, /* PE: from now on, not leaving is a failure */
    CH_WIRE_EXCHANGE, /* PE: my blob, and 0 or 1 descriptors */
    CH_WIRE_LEAVE,    /* PE: my exit is no longer a failure */
    CH_WIRE_ABORT,    /* PE: end the whole job with status `code` */
    CH_WIRE_RESULT,   /* chorusrun: everyone's */
    CH_WIRE_FAIL /* chorusrun: no result, for the reason in the bytes; `code` is a status */
};

struct ch_wire_head {
    uint32_t magic; /* CH_WIRE_MAGIC */
    uint32_t kind;
    int32_t code;
    uint32_t n_fds;
    uint64_t bytes; /* that follow the head */
};

/*
 * The PE's side: blocking, until deadline_ns of ch_clock_ns (0: for ever). ERR_TIMEOUT sets no
 * message; ERR_ABORTED: chorusrun is gone; ERR_SYSTEM: the system refused.
 */

/* fd >= 0: pass this descriptor with the first byte. */
CH_MUST_CHECK chorus_status ch_wire_send(int sock, const void *data, size_t bytes, int fd,
                                         uint64_t deadline_ns);
CH_MUST_CHECK chorus_status ch_wire_recv(int sock, void *data, size_t bytes,
                                         uint64_t deadline_ns);

/* Receive n descriptors, close-on-exec; on failure those that came are closed. */
CH_MUST_CHECK chorus_status ch_wire_recv_fds(int sock, uint32_t n, int *fds_out,
                                             uint64_t deadline_ns);

#endif /* CH_WIRE_H */
