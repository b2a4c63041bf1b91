/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan.h: what the PEs of a run do: a few calls, one behind the other on one duplicate, made
 * from a seed. Everything here is the same for all PEs and made before they start.
 */
#ifndef SIM_PLAN_H
#define SIM_PLAN_H

#include "coll/algorithm.h"
#include "team/sync.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLAN_CALLS_MAX 4u
#define PLAN_PES_MAX 256u       /* of a team whose own sync memory is used */
#define PLAN_LOOKED_PES_MAX 64u /* of those, on one host, of a run that does not only count */
#define PLAN_HOST_PES_MAX 64u   /* hosts, and PEs of each */
#define PLAN_NET_PES_MAX 8u
#define PLAN_COUNTED_PES_MAX 1000u

/* Buffers: at most this many bytes a PE, both together. */
#define PLAN_BUFFER_BYTES ((size_t)112 << 10)
/* What lies before, between and behind the blocks of a buffer, and must stay as it is. */
#define PLAN_GUARD_BYTES 16u

/* A buffer of a PE: `blocks` blocks of `count` elements. */
struct plan_buffer {
    size_t offset; /* in the PE's shared memory, of the first block */
    size_t blocks, count;
    size_t step, stride; /* bytes to the next element, and to the next block */
};

enum plan_place {
    PLAN_APART,
    PLAN_SAME,      /* dest is source */
    PLAN_OWN_BLOCK, /* the buffer of one block is the PE's own block of the other */
};

struct plan_call {
    const struct ch_algo *algo;
    uint32_t root, radix;
    uint32_t ctas; /* which a PE runs one after another on one duplicate */
    chorus_type type;
    chorus_op op;
    size_t count;
    size_t bytes; /* of so many elements */
    enum plan_place place;
    struct plan_buffer source, dest; /* as PE 0 has them, if they depend on the PE */
    unsigned char *sources[PLAN_COUNTED_PES_MAX]; /* what each PE contributes, blocks packed */
    unsigned char *expected; /* where it is the same on every PE; else null */
    size_t dest_offsets[PLAN_PES_MAX], source_offsets[PLAN_PES_MAX]; /* of alltoallv */
    bool is_compared; /* the same: as on hosts, where counts must be equal; else as on GPUs */
    size_t dest_counts[PLAN_PES_MAX][PLAN_PES_MAX], source_counts[PLAN_PES_MAX][PLAN_PES_MAX];
};

struct plan {
    uint32_t n, width;
    bool is_net;     /* PEs are on several hosts, between which there are links */
    bool is_weak;    /* on which words overtake puts */
    bool is_counted; /* nothing is looked at but values and costs; on several hosts, the team's
                        own sync memory is not used */
    uint32_t host[PLAN_COUNTED_PES_MAX]; /* of each PE */
    struct ch_nodes nodes;               /* the same, as algorithms have it */
    struct ch_sync_layout layout;
    struct ch_sync_layout node_layout[PLAN_HOST_PES_MAX]; /* of the child team of each host */
    struct ch_sync_layout rail_layout;
    uint32_t n_calls;
    struct plan_call calls[PLAN_CALLS_MAX];
};

/* Can the algorithm run on PEs of several hosts, or: on those of one? Of more than
 * PLAN_LOOKED_PES_MAX there are runs of those that kernels of large teams run. */
bool plan_is_for_net(const struct ch_algo *algo, uint32_t n);
bool plan_is_for_host(const struct ch_algo *algo, uint32_t n);
/* Does it call bodies on child teams alone? Then costs can be counted for more PEs, up to
 * PLAN_COUNTED_PES_MAX, with PLAN_HOST_PES_MAX hosts and as many PEs of each. */
bool plan_is_for_many(const struct ch_algo *algo);

/* The same arguments give the same plan. Kept until the next. is_net: on several hosts; of more
 * PEs than PLAN_NET_PES_MAX a run only counts, and on one of more than PLAN_LOOKED_PES_MAX. */
const struct plan *plan_make(const struct ch_algo *algo, uint32_t n, bool is_net,
                             uint64_t seed);

/* Where PE `pe` has the buffers of a call. */
size_t plan_source_offset(const struct plan *plan, const struct plan_call *call, uint32_t pe);
size_t plan_dest_offset(const struct plan *plan, const struct plan_call *call, uint32_t pe);

/* What PE `pe` must have in dest, blocks packed. */
const unsigned char *plan_expected(const struct plan *plan, const struct plan_call *call,
                                   uint32_t pe);

/* Elements of each block of its source. */
size_t plan_source_count(const struct plan_call *call, uint32_t pe);

/* Between the elements of a buffer in the PE's shared memory, whose first is at `image`, and
 * packed ones. */
void plan_spread(const struct plan_call *call, const struct plan_buffer *buffer, size_t count,
                 const unsigned char *packed, unsigned char *image);
void plan_pack(const struct plan_call *call, const struct plan_buffer *buffer,
               const unsigned char *image, unsigned char *packed_out);

/* What the formulas of the call's algorithm are evaluated for. */
struct ch_shape plan_shape(const struct plan *plan, const struct plan_call *call);

/* Where the parts of a PE's shared memory begin. */
struct plan_map {
    size_t buffers; /* behind the team's sync memory */
    size_t copies;  /* if is_net: of what it writes into each peer's sync memory */
    size_t node, rail, rail_copies; /* likewise: the same of its child teams */
    size_t bytes;                   /* all of it */
};
struct plan_map plan_map(const struct plan *plan);

/* "reduce:two_shot:simple" and the rest of it, in one line. */
void plan_describe(const struct plan *plan, const struct plan_call *call, char *text_out,
                   size_t text_bytes);

#endif /* SIM_PLAN_H */
