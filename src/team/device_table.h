/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_table.h: the teams of a PE as its kernels see them, in the memory of its GPU.
 *
 * A record lies behind the sync memory of its team, and is written with it. The table of
 * records, by slot of the handle, is as old as the PE; kernels find it by a ch_device_state,
 * of which every module with kernels of the program has a copy (chorus_device.cuh).
 */
#ifndef CH_TEAM_DEVICE_TABLE_H
#define CH_TEAM_DEVICE_TABLE_H

#include "team/sync.h"

#include <stddef.h>
#include <stdint.h>

struct ch_kernel_fault;

/* How kernels wait, and where they report a failure; all addresses are the GPU's. */
struct ch_device_terms {
    const uint32_t *aborted; /* in the host's memory: not 0 when the job is ending */
    uint64_t timeout_ns;     /* 0: for ever */
    struct ch_kernel_fault *fault;
};

struct ch_device_team {
    uint32_t me, n;
    int32_t handle;
    uint32_t late_pe; /* whom a wait that failed was for */
    uint32_t taken;   /* 1 while a call in a kernel uses the team, and ever after one failed */
    uint64_t id;
    const struct ch_peer *peers; /* [n], behind this */
    struct ch_dup *dup;          /* duplicate 0's, which calls inside kernels use */
    struct ch_sync_layout layout;
};

/* Without padding: copies are compared as bytes. */
struct ch_device_state {
    struct ch_device_team *const *teams; /* [slot_mask + 1]; null: no team there */
    uint32_t slot_mask;
    uint32_t me, n;              /* of the job */
    int32_t ordinal;             /* of the PE's GPU */
    const struct ch_peer *peers; /* [n], of the job */
    struct ch_device_terms terms;
};

#define CH_DEVICE_TEAM_BYTES(n) (sizeof(struct ch_device_team) + (n) * sizeof(struct ch_peer))

#endif /* CH_TEAM_DEVICE_TABLE_H */
