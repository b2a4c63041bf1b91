/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sweep.h: the parts of a sweep: the work of one row, and the row.
 *
 * chorus-sweep and its counterpart in MPI share all of this folder except the backend, so that
 * both fill, time, check and count in the same way.
 */
#ifndef CH_SWEEP_H
#define CH_SWEEP_H

#include "chorus/lists.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the macro `row` has after a comma, or `otherwise` if there is no macro of that name. */
#define CH_ROW_OR(row, otherwise) CH_ROW_SECOND(row, otherwise, )
#define CH_ROW_SECOND(first, second, ...) second

/* The library's collectives, and sync: a barrier that completes no puts; no set of collectives
 * has it. */
#define CH_SWEEP_LIST(X) CHORUS_COLL_LIST(X) X(sync)

enum ch_sweep_coll {
#define X(COLL) CH_SWEEP_##COLL,
    CH_SWEEP_LIST(X)
#undef X
        CH_SWEEP_COUNT
};

/* Libraries that make the same calls on GPUs, timed for comparison. */
#define CH_PEER_LIST(X) X(nccl) X(nccl_windows) X(nvshmem)

enum ch_sweep_peer {
#define X(PEER) CH_PEER_##PEER,
    CH_PEER_LIST(X)
#undef X
        CH_PEER_COUNT
};

/* Largest number of PEs of a sweep. */
#define CH_SWEEP_PES_MAX 1024u

/* One collective on one amount of data, which a row measures. */
struct ch_work {
    enum ch_sweep_coll coll;
    chorus_type type;
    chorus_op op;
    size_t count;     /* elements, as in chorusx_call */
    const char *algo; /* "name:proto"; null: the program under test chooses */
    int ctas;         /* for algo; 0: the default */
};

/* What is done for a call of `work` by itself on each of `pes` PEs. */
bool ch_work_moves(const struct ch_work *work);   /* it has buffers: neither barrier nor sync */
bool ch_work_reduces(const struct ch_work *work); /* its op matters */
bool ch_work_scans(const struct ch_work *work);   /* its op is sum, of the PEs up to each */
bool ch_work_is_to_root(enum ch_sweep_coll coll); /* only the root's dest is written */
bool ch_work_is_to_each(enum ch_sweep_coll coll); /* a source has a block for each PE */
bool ch_work_is_from_each(enum ch_sweep_coll coll); /* a dest has a block of each PE */
size_t ch_work_source_bytes(const struct ch_work *work, uint32_t pes);
size_t ch_work_dest_bytes(const struct ch_work *work, uint32_t pes);

/* Bytes of the whole message, as rules have them: one PE's contribution for fcollect, collect
 * and gather, one block for alltoall(s, v) and scatter, the whole vector for the
 * others; 0 if none is moved. */
uint64_t ch_work_bytes(const struct ch_work *work, uint32_t pes);

/* The count that makes a message of at most `bytes`; 0 if not even one element fits. */
size_t ch_work_count(enum ch_sweep_coll coll, chorus_type type, uint64_t bytes, uint32_t pes);

extern const char *const ch_sweep_names[CH_SWEEP_COUNT];
extern const char *const ch_sweep_types[CHORUS_TYPE_COUNT];
extern const char *const ch_sweep_ops[CHORUS_OP_COUNT];
extern const size_t ch_sweep_type_bytes[CHORUS_TYPE_COUNT];
extern const char *const ch_sweep_peers[CH_PEER_COUNT];

/* How the call was served, in words. */
struct ch_served {
    char algo[40], proto[16], rule[256];
    int ctas;
};

struct ch_row {
    struct ch_work work;
    struct ch_served served;
    uint32_t pes;
    uint64_t bytes;
    double us_min, us_p50, us_p99;
    double algbw, busbw; /* GB/s, from us_p50 */
    bool checked;
    uint64_t wrong; /* elements, of all PEs and all calls that were checked */
    double peer_us_p50[CH_PEER_COUNT]; /* 0: the peer made no such call */
    uint64_t peer_wrong[CH_PEER_COUNT];
};

#endif /* CH_SWEEP_H */
