/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_far_barrier.c: the barrier of calls inside kernels, compiled for the host. */
#include "cuda_far_route.h"

#include "coll/barrier_away.h"
#include "coll/coll.h"
#include "cuda_far.h"
#include "team/device.h"

/* As ch_coll_away of kernels. */
static struct ch_coll coll_of(const struct ch_device_team *team)
{
    struct ch_coll c;

    ch_coll_init(&c, team->me, team->n, team->peers, &team->layout);
    ch_coll_set_cta(&c, 0, team->dup);
    c.radix = 2;
    c.positions = (struct ch_positions *)(void *)((char *)team->dup + CH_DEVICE_POSITIONS_AT);
    c.slots = (struct ch_slot *)(void *)((char *)team->dup + CH_DEVICE_SLOTS_AT(team->n));
    c.remotes = team->is_beside ? NULL : team->remotes;
    c.levels = team->is_beside ? NULL : team->levels;
    return c;
}

int far_barrier(const struct ch_device_state *state)
{
    const struct ch_wait_policy policy = {state->terms.aborted, state->terms.timeout_ns};
    const struct ch_far far = {state->has_far != 0 ? &state->ring : NULL, &policy};
    const struct ch_lanes alone = {0, 1};
    struct ch_coll c = coll_of(&state->world);
    uint32_t late_peer = state->world.me;

    c.policy = &policy;
    c.late_peer = &late_peer;
    return (int)ch_barrier_run_away(&c, far, alone);
}
