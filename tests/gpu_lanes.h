/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_lanes.h: what batch_cuda.h is made of, for a CPU: included in place of base/exec.h. A
 * lane is a thread, a warp 32 of them, which vote by barriers, as do those of a block.
 *
 * Memory is as weak as links are taken to be: accesses of 16 bytes are whole, the eight parts
 * of a line are seen at once, and loads of different lanes come at any time.
 */
#ifndef CH_TEST_GPU_LANES_H
#define CH_TEST_GPU_LANES_H

#define CH_EXEC_H
#define CH_BATCH_OF_MACHINE "coll/cuda/batch_cuda.h"
#define CH_MULTICAST_OF_MACHINE "coll/primitives/multicast_software.h"
#define CH_FN static inline __attribute__((unused))
#ifndef CH_INSIDE_KERNELS
#define CH_INSIDE_KERNELS 0
#endif
#define CH_LANES_UNIT 32u
#define CH_CACHE_LINE_BYTES 64u
#define CH_TAG_BITS 0u
#define CH_ALL_MAPPED 1
#define CH_LENT_BYTES 1024u
#define CH_PLAIN_BYTES SIZE_MAX

#include "base/exec_types.h"
#include "chorus/status.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
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
#define CH_IS_BLOCK(g) ((void)(g), 1)
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

CH_FN void ch_kernel_knows(uint64_t known)
{
    (void)known;
}

/* Of blocks, whose lanes know all that they need here. */
CH_FN uint64_t ch_lanes_share(struct ch_lanes g, uint64_t x)
{
    (void)g;
    return x;
}

static chorus_status gpu_waits_end; /* how every wait ends that is not over at once */

CH_FN chorus_status ch_wait_slow(const struct ch_patience *p, struct ch_wait *w)
{
    (void)p, (void)w;
    gpu_dawdle();
    return gpu_waits_end;
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

#define CH_WORDS_WHOLE -1

/* Aborts if the address is not aligned to the accesses. */
CH_FN void ch_words_load(const void *at, int words, uint64_t whole[2], uint64_t part[2])
{
    const size_t bytes = words > 0 ? (size_t)words * 4 : 0;

    if ((uintptr_t)at % (words == CH_WORDS_WHOLE ? 16 : bytes != 0 ? 4 : 1) != 0) abort();
    whole[0] = whole[1] = part[0] = part[1] = 0;
    memcpy(whole, at, words == CH_WORDS_WHOLE ? 16 : 0);
    memcpy(part, at, bytes);
}

CH_FN void ch_words_store(void *at, int words, const uint64_t word[2])
{
    if (words > 0 && (uintptr_t)at % 4 != 0) abort();
    memcpy(at, word, words > 0 ? (size_t)words * 4 : 0);
}

CH_FN void ch_quad_load(const void *at, uint64_t *lo, uint64_t *hi)
{
    gpu_dawdle();
    (void)pthread_mutex_lock(&gpu_memory);
    memcpy(lo, at, sizeof(*lo));
    memcpy(hi, (const char *)at + 8, sizeof(*hi));
    (void)pthread_mutex_unlock(&gpu_memory);
}

CH_FN void ch_packet_store(struct ch_packet *p, uint64_t data, uint64_t flag)
{
    ch_quad_store(p, data, flag);
}

/* --- what algorithms call besides -------------------------------------------------------- */
struct gpu_block {
    pthread_barrier_t barrier;
    int any[2]; /* of the votes with even and odd numbers */
};

static _Thread_local struct gpu_block *gpu_block; /* of this thread */
static _Thread_local unsigned gpu_votes;

/* All see a vote before the barrier of the next one, after which this one's place is cleared.
 */
CH_FN int ch_lanes_any(struct ch_lanes g, int flag)
{
    int *any = &gpu_block->any[gpu_votes++ % 2], found;

    (void)g;
    if (flag) __atomic_store_n(any, 1, __ATOMIC_RELAXED);
    (void)pthread_barrier_wait(&gpu_block->barrier);
    found = __atomic_load_n(any, __ATOMIC_RELAXED);
    (void)pthread_barrier_wait(&gpu_block->barrier);
    *any = 0;
    return found;
}

CH_FN void ch_lanes_sync(struct ch_lanes g)
{
    (void)g;
    (void)pthread_barrier_wait(&gpu_block->barrier);
}

CH_FN void ch_word_store(uint64_t *word, uint64_t value, enum ch_sense sense)
{
    (void)sense;
    gpu_dawdle();
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

CH_FN uint64_t ch_word_load(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

CH_FN chorus_status ch_word_await(const struct ch_patience *p, const uint64_t *word,
                                  uint64_t least, uint64_t *found_out)
{
    struct ch_wait w = {0};

    while ((*found_out = ch_word_load(word)) < least) {
        (void)ch_wait_slow(p, &w);
        (void)sched_yield();
    }
    return CHORUS_OK;
}

/* As on a GPU, elements are accessed whole. */
CH_FN void ch_copy_element(void *to, const void *from, size_t bytes)
{
    const size_t align = bytes < 8 ? bytes : bytes == 8 ? 4 : 8; /* or complex numbers */

    if (((uintptr_t)to | (uintptr_t)from) % align != 0) abort();
    memcpy(to, from, bytes);
}

CH_FN void ch_soon(const void *memory, size_t bytes)
{
    (void)memory, (void)bytes;
}

CH_FN void ch_notify(const struct ch_patience *mine, struct ch_door *theirs)
{
    (void)mine, (void)theirs;
}

/* All peers are mapped. */
struct ch_route;

CH_FN void ch_route_put(struct ch_route *route, void *there, const void *src, size_t bytes)
{
    (void)route, (void)there, (void)src, (void)bytes;
}

CH_FN void ch_route_say(struct ch_route *route, uint64_t *there, uint64_t value,
                        enum ch_sense sense)
{
    (void)route, (void)there, (void)value, (void)sense;
}

CH_FN chorus_status ch_route_flush(struct ch_route *route)
{
    (void)route;
    return CHORUS_OK;
}

CH_FN int ch_route_receive(struct ch_route *route, void *slot, void *dst, size_t bytes)
{
    (void)route, (void)slot, (void)dst, (void)bytes;
    return 0;
}

CH_FN int ch_route_received(struct ch_route *route)
{
    (void)route;
    return 0;
}

/* --- conversions, by half.h but for NaN, which is one for all ------------------------------
 */
#include "coll/half.h"

CH_FN void ch_f16x2_to_f32(uint32_t pair, float *lo, float *hi)
{
    const chorus_half from[2] = {{(uint16_t)pair}, {(uint16_t)(pair >> 16)}};
    float *const to[2] = {lo, hi};

    for (int e = 0; e < 2; e++) {
        *to[e] = ch_f16_to_f32(from[e]);
        if (*to[e] != *to[e]) *to[e] = ch_bits_to_f32(0x7fffffffu);
    }
}

CH_FN uint32_t ch_f16x2_from_f32(float lo, float hi)
{
    const uint32_t first = lo != lo ? 0x7fffu : ch_f16_from_f32(lo).bits;

    return first | (hi != hi ? 0x7fffu : (uint32_t)ch_f16_from_f32(hi).bits) << 16;
}

CH_FN uint32_t ch_bf16x2_from_f32(float lo, float hi)
{
    const uint32_t first = lo != lo ? 0x7fffu : ch_bf16_from_f32(lo).bits;

    return first | (hi != hi ? 0x7fffu : (uint32_t)ch_bf16_from_f32(hi).bits) << 16;
}

#endif /* CH_TEST_GPU_LANES_H */
