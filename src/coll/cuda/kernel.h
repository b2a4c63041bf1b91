/* SPDX-License-Identifier: Apache-2.0 */
/* kernel.h: the arguments of a collective's kernel, from the host that launches it. */
#ifndef CH_KERNEL_H
#define CH_KERNEL_H

#include "base/collective.h"
#include "coll/shape.h"
#include "team/sync.h"

/* Peers are arguments of the kernel, which need no loads; this is their largest number. Routed
 * kernels take theirs from the memory of the GPU, and serve teams of any number of PEs. */
#define CH_KERNEL_PES_MAX 64u

/* The kinds of reports: a wait that failed; requests to other hosts that were not posted, or
 * not carried out in time; a call that was skipped because an earlier one on its team had
 * failed; a call that began while another on its team ran; with CHORUS_CHECK, calls inside
 * kernels that differ between PEs. */
enum ch_fault_kind {
    CH_FAULT_LATE,
    CH_FAULT_UNSENT,
    CH_FAULT_SKIPPED,
    CH_FAULT_OVERLAP,
    CH_FAULT_DIFFERS
};

/* A call in the form in which PEs compare it. */
struct ch_made {
    uint64_t word; /* the first of base/collective.h */
    uint64_t count;
};

/* In host memory: the first failure of a PE's kernels. */
struct ch_kernel_fault {
    int status;       /* written last */
    uint32_t claimed; /* 1: set by the lane that reports */
    uint32_t late_pe; /* of the team; the other PE, if calls differ */
    uint32_t kind;    /* an enum ch_fault_kind */
    uint64_t team;    /* its id */
    uint64_t number;  /* if calls differ: the number of the call, from 1; and the two calls */
    struct ch_made mine, theirs;
    /* Apart from the above, of an alltoallv that was completed: a block with two lengths. */
    struct {
        int is_there;     /* written last */
        uint32_t claimed; /* as above */
        uint64_t team;
        struct ch_unequal lengths;
    } block;
};

struct ch_kernel_args {
    uint32_t me, n, root, radix, op;
    uint32_t elem_bytes, is_sync_alike;
    uint32_t lets_next; /* the next kernel in the stream may be launched early */
    size_t count;       /* of the whole call */
    char *dst;
    const char *src;
    struct ch_share share; /* of it, divided among the CTAs */
    ptrdiff_t multicast;   /* distance from an address of this PE to that of all PEs; 0: none */
    char *dups;            /* the states of the CTAs, dup_bytes each */
    uint32_t dup_bytes;
    uint32_t is_beside; /* of routed kernels: other kernels of the team store words directly */
    const uint32_t *aborted; /* as kernels address it */
    uint64_t timeout_ns;
    uint64_t team;
    struct ch_kernel_fault *fault;
    uint64_t *ended;                 /* where each CTA is counted at its end; null: it is not */
    const struct ch_remote *remotes; /* [n], for routed kernels, in the GPU's memory */
    const struct ch_levels *levels;  /* likewise; null: the team has no child teams */
    const uint64_t *ring_broken;     /* of routed kernels: see struct ch_ring_shared */
    struct ch_sync_layout layout;
    struct ch_peer peers[CH_KERNEL_PES_MAX]; /* not of routed kernels */
    const struct ch_peer *peers_there;       /* [n], of routed kernels, in the GPU's memory */
};

/* A second argument, of kernels whose blocks have a pattern (coll.h). */
struct ch_kernel_pattern {
    size_t dst_step, src_step;
    size_t dst_counts[CH_KERNEL_PES_MAX], dst_offsets[CH_KERNEL_PES_MAX];
    size_t src_counts[CH_KERNEL_PES_MAX], src_offsets[CH_KERNEL_PES_MAX];
    /* Of a large team: these four lists, one after the other, [n] each, in the GPU's memory;
     * else null. */
    const size_t *lists_there;
};

#endif /* CH_KERNEL_H */
