/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.h: the teams of a PE in the form in which its kernels read them, in the memory
 * of its GPU.
 *
 * A record is behind the sync memory of its team, and is written with it. The table of
 * records, by slot of the handle, exists as long as the PE. Kernels find it by a
 * ch_device_state, of which every module of the program that contains kernels has a copy in
 * constant memory (chorus_device.cuh). The state also contains the record of
 * CHORUS_TEAM_WORLD, and the first PEs of the job, so that calls on that team and to these PEs
 * need no dependent loads.
 */
#ifndef CH_TEAM_DEVICE_H
#define CH_TEAM_DEVICE_H

#include "base/ring.h"
#include "team/sync.h"

#include <stddef.h>
#include <stdint.h>

/* Largest number of teams that a PE can be in at a time. */
#define CH_TEAM_SLOT_BITS 12
#define CH_TEAM_SLOTS (1 << CH_TEAM_SLOT_BITS)

struct ch_kernel_fault;

/* How kernels wait, and where they report a failure; all addresses are valid on the GPU. */
struct ch_device_terms {
    const uint32_t *aborted;       /* in host memory: not 0 when the job is ending */
    uint64_t timeout_ns;           /* 0: wait without limit */
    struct ch_kernel_fault *fault; /* [CH_FAULTS_INSIDE], see ch_fault_inside_at */
};

/* Reports of calls inside kernels: one for calls without a team, and one for each team, so that
 * a report that no host call asks for hides no other. */
#define CH_FAULTS_INSIDE (1 + CH_TEAM_SLOTS)

/* The position of the report about a team, whose id has its slot in the lowest bits; 0: no
 * team. */
CH_FN uint32_t ch_fault_inside_at(uint64_t team)
{
    return team == 0 ? 0 : 1 + (uint32_t)team % CH_TEAM_SLOTS;
}

/* The number of PEs in constant memory, and of those of a team in the arguments of kernels. */
#define CH_DEVICE_PES_MAX 64u

struct ch_device_team {
    uint32_t me, n;
    int32_t handle;
    uint32_t is_checked; /* 1: calls inside kernels are compared (CHORUS_CHECK) */
    uint64_t id;
    const struct ch_remote *remotes; /* [n]; null: all PEs are near, and the team is not large
                                        (ch_team_is_large) */
    const struct ch_levels *levels;  /* null: no child teams */
    uint32_t is_beside;              /* 1: they are near, or beside each other */
    uint32_t is_away; /* 1: calls that are not short do not access the memory of near PEs: some
                         are not near, the team is large, or calls are compared */
    const struct ch_peer *peers; /* [n], behind this */
    const uint32_t *worlds;      /* [n], behind them: numbers in the job */
    size_t short_bytes;  /* collectives of up to these, of each message, go in packets; 0: none,
                            as PEs are neither near nor beside, or calls are compared */
    struct ch_dup *dup;  /* duplicate 0's, which calls inside kernels use */
    ptrdiff_t multicast; /* as of struct ch_team: from an address of this PE to that of all */
    struct ch_sync_layout layout; /* the same for longer messages of packets */
};

/* A PE of a job of more than CH_DEVICE_PES_MAX. */
struct ch_device_pe {
    ptrdiff_t shift;
    uint64_t is_far; /* as the bits of `far` */
};

/* No padding: copies are compared as bytes. The shift of a peer that is not near is that to its
 * own addresses. */
struct ch_device_state {
    struct ch_device_team *const *teams; /* [slot_mask + 1]; null: no team there */
    uint32_t slot_mask;
    int32_t ordinal;    /* of the PE's GPU */
    uint64_t n_sharing; /* PEs of the job that use it, this one included */
    struct ch_device_terms terms;
    uint64_t
        far; /* bit p: PE p is not near, and calls post to the ring; with `all`, all bits */
    uint64_t has_far;            /* 1: some PEs are not near */
    uint64_t fence_is_quiet;     /* 1: puts to a PE may take effect in another order */
    struct ch_ring ring;         /* if there are such PEs */
    struct ch_device_team world; /* a copy of its record */
    struct ch_peer peers[CH_DEVICE_PES_MAX]; /* of world, unless there is: */
    const struct ch_device_pe *all; /* [world.n], in the GPU's memory, of a job of more PEs */
};

/* The state of kernels that have none. All peers count as not near, and calls to those look at
 * whether there is a state: calls to near peers have no test for it. */
#define CH_NO_STATE                                              \
    {                                                            \
        0, 0, -1, 0, {0}, ~UINT64_C(0), 1, 1, {0}, {0}, {{0}}, 0 \
    }

/* Behind the slots for packets of calls inside kernels, with CHORUS_CHECK: the calls of peers.
 * Two sets of two packets for each PE, which that PE writes. */
#define CH_DEVICE_CHECK_BYTES(n) ((size_t)2 * (n)*2 * sizeof(struct ch_packet))

/* The offset of these packets in the team's sync memory. layout: that of the team's record. */
CH_FN size_t ch_device_check_offset(const struct ch_sync_layout *layout, uint32_t n)
{
    return layout->slot_offset[CH_CELL_ll] + (size_t)2 * n * layout->slot_bytes[CH_CELL_ll];
}

#define CH_DEVICE_TEAM_BYTES(n) \
    (sizeof(struct ch_device_team) + (n) * (sizeof(struct ch_peer) + sizeof(uint32_t)))

#endif /* CH_TEAM_DEVICE_H */
