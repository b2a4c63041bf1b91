/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_lanes.h: what batch_cuda.h is made of, for a CPU: included in place of base/exec.h. A
 * lane is a thread, a warp 32 of them, which vote by barriers.
 *
 * Memory is as weak as links are taken to be: accesses of 16 bytes are whole, the eight parts
 * of a line are seen at once, and loads of different lanes come at any time.
 */
#ifndef CH_TEST_GPU_LANES_H
#define CH_TEST_GPU_LANES_H

#define CH_EXEC_H
#define CH_BATCH_OF_MACHINE "coll/cuda/batch_cuda.h"
#define CH_FN static inline __attribute__((unused))
#ifndef CH_INSIDE_KERNELS
#define CH_INSIDE_KERNELS 0
#endif
#define CH_LANES_UNIT 32u
#define CH_CACHE_LINE_BYTES 64u
#define CH_TAG_BITS 0u

#include "base/exec_types.h"
#include "chorus/status.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

enum { WARP_LANES = 32 };

struct ch_door;
struct ch_patience {
    int unused;
};
struct ch_wait {
    uint32_t polls, unused, none, more;
};

/* 16 bytes, of any type. */
typedef struct {
    unsigned long long x, y;
} __attribute__((aligned(16), may_alias)) ulonglong2;

#define __isGlobal(address) 1
#define __builtin_assume(holds) (void)(holds)

struct gpu_warp {
    pthread_barrier_t barrier;
    int flags[WARP_LANES];
    struct {
        char *at;
        uint64_t word[2];
    } stored[WARP_LANES]; /* of lines that not all lanes have stored yet */
    unsigned n_stored[WARP_LANES / 8];
};

/* Of this thread. */
static _Thread_local struct gpu_warp *gpu_warp;
static _Thread_local unsigned gpu_lane, gpu_chance;

static pthread_mutex_t gpu_memory = PTHREAD_MUTEX_INITIALIZER; /* guards cells and `stored` */
static int gpu_stores_lines;                                   /* not packets */

/* Sometimes lets others run. */
static inline void gpu_dawdle(void)
{
    gpu_chance = gpu_chance * 1664525u + 1013904223u;
    for (unsigned i = gpu_chance >> 30; i > 0; i--)
        (void)sched_yield();
}

/* How many lanes of the warp have set `flag`. */
static inline int gpu_vote(int flag)
{
    int n = 0;

    gpu_warp->flags[gpu_lane] = flag != 0;
    (void)pthread_barrier_wait(&gpu_warp->barrier);
    for (int i = 0; i < WARP_LANES; i++)
        n += gpu_warp->flags[i];
    (void)pthread_barrier_wait(&gpu_warp->barrier);
    return n;
}

#define __syncwarp() (void)gpu_vote(0)
#define __all_sync(mask, flag) ((void)(mask), gpu_vote(flag) == WARP_LANES)
#define __any_sync(mask, flag) ((void)(mask), gpu_vote(flag) != 0)

CH_FN void ch_kernel_order(uint32_t lets_next)
{
    (void)lets_next;
}

/* Of blocks, whose lanes know all that they need here. */
CH_FN uint64_t ch_lanes_share(struct ch_lanes g, uint64_t x)
{
    (void)g;
    return x;
}

CH_FN chorus_status ch_wait_slow(const struct ch_patience *p, struct ch_wait *w)
{
    (void)p, (void)w;
    gpu_dawdle();
    return CHORUS_OK;
}

/* A part of a line stays with the warp until the eighth one is there. */
static inline void gpu_store_part(char *at, const uint64_t word[2])
{
    const unsigned line = gpu_lane / 8;

    gpu_warp->stored[gpu_lane].at = at;
    memcpy(gpu_warp->stored[gpu_lane].word, word, 16);
    if (++gpu_warp->n_stored[line] < 8) return;
    gpu_warp->n_stored[line] = 0;
    for (unsigned i = 8 * line; i < 8 * line + 8; i++)
        memcpy(gpu_warp->stored[i].at, gpu_warp->stored[i].word, 16);
}

CH_FN void ch_quad_store(void *at, uint64_t lo, uint64_t hi)
{
    const uint64_t word[2] = {lo, hi};

    gpu_dawdle();
    (void)pthread_mutex_lock(&gpu_memory);
    if (gpu_stores_lines)
        gpu_store_part((char *)at, word);
    else
        memcpy(at, word, sizeof(word));
    (void)pthread_mutex_unlock(&gpu_memory);
}

CH_FN void ch_quad_load(const void *at, uint64_t *lo, uint64_t *hi)
{
    gpu_dawdle();
    (void)pthread_mutex_lock(&gpu_memory);
    memcpy(lo, at, sizeof(*lo));
    memcpy(hi, (const char *)at + 8, sizeof(*hi));
    (void)pthread_mutex_unlock(&gpu_memory);
}

#endif /* CH_TEST_GPU_LANES_H */
