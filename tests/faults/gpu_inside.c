/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu_inside.h"

#include "cuda_far.h"
#include "ref/ref_coll.h"
#include "team/device.h"
#include "transport/amo.h"

#include <chorus/chorusx.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_MAX = 32 << 10, BOX_BYTES = 1 << 10, CALLS = 8, POSTS = 20, POISON = 0xee };

_Static_assert(GPU_INSIDE_LANES *(size_t)BYTES_MAX <= GPU_BYTES_MAX,
               "each thread puts to a part of its own");

/* A thread in place of a lane. */
struct lane {
    struct gpu_site *site;
    const struct ch_device_state *state;
    uint32_t number, n_calls;
    int (*run)(struct lane *lane);
    int status;
    unsigned char mine[BYTES_MAX], got[BYTES_MAX];
};

/* A number below `limit`, of this thread alone. */
static uint64_t dice(const struct lane *lane, uint64_t what, uint64_t limit)
{
    const uint64_t seed = lane->site->seed + lane->site->me * GPU_INSIDE_LANES + lane->number;

    return ref_hash(seed, lane->site->round * CALLS + lane->n_calls, what) % limit;
}

static bool is_far(const struct lane *lane, uint32_t pe)
{
    return (lane->state->far >> pe & 1) != 0;
}

static uint32_t any_far_pe(const struct lane *lane)
{
    uint32_t pe = (uint32_t)dice(lane, 0, lane->site->n);

    while (!is_far(lane, pe))
        pe = (pe + 1) % lane->site->n;
    return pe;
}

/* The address of an object at a PE: its own, or as it is mapped here. */
static uint64_t there(const struct lane *lane, const void *object, uint32_t pe)
{
    return (uint64_t)((uintptr_t)object + (uintptr_t)lane->state->peers[pe].shift);
}

static int make(struct lane *lane, const char *what, const struct far_call *call)
{
    const int status = far_make_inside(lane->state, call);

    lane->n_calls++;
    if (status != CHORUS_OK)
        (void)fprintf(stderr, "call %u of thread %u, %s, failed\n", lane->n_calls, lane->number,
                      what);
    return status;
}

/* This thread's part of what this PE puts. */
static unsigned char *part(const struct lane *lane)
{
    return lane->site->from + (size_t)lane->site->me * GPU_BYTES_MAX +
           (size_t)lane->number * BYTES_MAX;
}

static int put(struct lane *lane, void *dest, uint32_t pe, size_t bytes, bool waits)
{
    return make(lane, "put",
                &(struct far_call){.what = FAR_CALL_PUT,
                                   .pe = pe,
                                   .there = there(lane, dest, pe),
                                   .local = lane->mine,
                                   .bytes = bytes,
                                   .waits = waits});
}

/* --- what threads do ---------------------------------------------------------------------- */
/* By boxes and without. */
static int run_get(struct lane *lane)
{
    const uint32_t pe = any_far_pe(lane);
    const size_t bytes = 1 + dice(lane, 1, dice(lane, 2, 2) == 0 ? 2 * BOX_BYTES : BYTES_MAX);
    int status;

    gpu_fill(lane->mine, lane->site->seed, pe, bytes);
    memset(lane->got, POISON, bytes);
    status = make(lane, "get",
                  &(struct far_call){.what = FAR_CALL_GET,
                                     .pe = pe,
                                     .there = there(lane, lane->site->kept, pe),
                                     .local = lane->got,
                                     .bytes = bytes,
                                     .waits = true,
                                     .is_own = dice(lane, 3, 2) == 0});
    return status == CHORUS_OK ? gpu_compare(lane->site, lane->got, lane->mine, bytes) : status;
}

static int run_amo(struct lane *lane)
{
    const uint32_t pe = any_far_pe(lane);
    uint64_t old = 0;

    return make(lane, "atomic",
                &(struct far_call){.what = FAR_CALL_CHANGE,
                                   .pe = pe,
                                   .there = there(lane, lane->site->counter, pe),
                                   .local = &old,
                                   .bytes = sizeof(old),
                                   .amo = CH_AMO_ADD,
                                   .value = 1});
}

/* Fresh data, of more than a box. */
static size_t fill_any(struct lane *lane)
{
    const size_t bytes = BOX_BYTES + 1 + dice(lane, 1, BYTES_MAX - BOX_BYTES);

    gpu_fill(lane->mine, dice(lane, 2, UINT64_MAX), lane->site->me, bytes);
    return bytes;
}

/* The source changes as soon as it may. */
static int run_put(struct lane *lane)
{
    const uint32_t pe = any_far_pe(lane);
    const size_t bytes = fill_any(lane);
    const int status = put(lane, part(lane), pe, bytes, true);

    if (status == CHORUS_OK) memset(lane->mine, POISON, bytes);
    return status;
}

static int run_quiet(struct lane *lane)
{
    const uint32_t pe = any_far_pe(lane);
    const size_t bytes = fill_any(lane);
    const int status = put(lane, part(lane), pe, bytes, false);

    return status == CHORUS_OK ? make(lane, "quiet", &(struct far_call){.what = FAR_CALL_QUIET})
                               : status;
}

static int run_full(struct lane *lane)
{
    int status = CHORUS_OK;

    for (int i = 0; i < POSTS && status == CHORUS_OK; i++)
        status =
            put(lane, lane->site->spare, any_far_pe(lane), sizeof(*lane->site->spare), false);
    return status;
}

/* Add 1 to a word of the next PE, which may be near, and wait for that of the one before. */
static int run_wait(struct lane *lane)
{
    struct gpu_site *const s = lane->site;
    const uint32_t next = (s->me + 1) % s->n;
    uint64_t *const word = &s->signals[lane->number];
    const uint64_t at = there(lane, word, next);
    int status = CHORUS_OK;

    if (!is_far(lane, next))
        (void)__atomic_fetch_add((uint64_t *)(uintptr_t)at, 1, __ATOMIC_ACQ_REL);
    else
        status = make(
            lane, "signal",
            &(struct far_call){
                .what = FAR_CALL_SIGNAL, .pe = next, .there = at, .value = 1, .adds = true});
    if (status != CHORUS_OK) return status;
    return make(lane, "wait",
                &(struct far_call){.what = FAR_CALL_WAIT,
                                   .local = word,
                                   .value = ++s->n_inside[lane->number]});
}

/* --- a step ------------------------------------------------------------------------------- */
static void *run_lane(void *arg)
{
    struct lane *lane = arg;

    for (int i = 0; i < CALLS && lane->status == CHORUS_OK; i++)
        lane->status = lane->run(lane);
    return NULL;
}

/* Run the threads to their ends. Returns the status of one that has failed. */
static int run_lanes(struct lane lanes[GPU_INSIDE_LANES])
{
    pthread_t threads[GPU_INSIDE_LANES];
    int n = 0, status = CHORUS_OK;

    while (n < GPU_INSIDE_LANES && pthread_create(&threads[n], NULL, run_lane, &lanes[n]) == 0)
        n++;
    if (n < GPU_INSIDE_LANES) status = CHORUS_ERR_SYSTEM;
    while (n-- > 0) {
        (void)pthread_join(threads[n], NULL);
        if (lanes[n].status != CHORUS_OK) status = lanes[n].status;
    }
    return status;
}

int gpu_inside_step(struct gpu_site *s, enum gpu_inside what)
{
    static int (*const runs[])(struct lane *) = {
#define X(name) [GPU_INSIDE_##name] = run_##name,
        GPU_INSIDE_LIST(X)
#undef X
    };
    struct lane *const lanes = calloc(GPU_INSIDE_LANES, sizeof(*lanes));
    struct ch_device_state state;
    int status = chorusx_device_state(&state, sizeof(state)), reported;

    if (status == CHORUS_OK && state.far == 0) {
        (void)fprintf(stderr, "all PEs are near, so that calls inside kernels post nothing\n");
        status = CHORUS_ERR_STATE;
    }
    if (lanes == NULL) return CHORUS_ERR_SYSTEM;
    for (uint32_t i = 0; i < GPU_INSIDE_LANES; i++) {
        lanes[i].site = s;
        lanes[i].state = &state;
        lanes[i].number = i;
        lanes[i].run = runs[what];
    }
    if (status == CHORUS_OK) status = run_lanes(lanes);
    reported = chorusx_stream_synchronize((void *)s->stream);
    free(lanes); /* of a call that has failed, the host may have used them before */
    return reported != CHORUS_OK ? reported : status;
}
