/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_lanes.h: what batch_cuda.h is made of, for a CPU: included in place of base/exec.h. A
 * lane is a fiber, a warp 32 of them, which vote by barriers, as do those of a block. A thread
 * for each lane would spend most of the time in the system.
 *
 * Memory is as weak as links are taken to be: accesses of 16 bytes are whole, the eight parts
 * of a line are seen at once, and loads of different lanes come at any time. Which lane goes
 * on after a barrier, and after such an access, is random.
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
#define CH_INLINE_BYTES 0u
#define CH_PLAIN_BYTES SIZE_MAX

#include "base/exec_types.h"
#include "chorus/status.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { WARP_LANES = 32 };

struct ch_door;
struct ch_wait_policy {
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

struct gpu_barrier {
    unsigned came, round;
};

struct gpu_warp {
    struct gpu_barrier barrier;
    int flags[WARP_LANES];
    struct {
        char *at;
        uint64_t word[2];
    } stored[WARP_LANES]; /* of lines that not all lanes have stored yet */
    unsigned n_stored[WARP_LANES / 8];
};

struct gpu_block {
    struct gpu_barrier barrier;
    unsigned lanes;
    int any[2]; /* of the votes with even and odd numbers */
};

/* --- fibers -------------------------------------------------------------------------------
 * They are started by setcontext and switched by _setjmp and _longjmp, which make no system
 * call, or by what AddressSanitizer knows of.
 */
enum { GPU_FIBERS_MAX = 192, GPU_STACK_BYTES = 256 << 10 };

#if defined(__SANITIZE_ADDRESS__)
#define GPU_HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define GPU_HAS_ASAN 1
#endif
#endif
#ifdef GPU_HAS_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

static struct gpu_fiber {
    ucontext_t context;
    jmp_buf at;
    int is_started, is_done;
    const unsigned *watch; /* or null: it waits while this is `seen` */
    unsigned seen;
    void *fake_stack; /* AddressSanitizer's */
    struct gpu_warp *warp;
    struct gpu_block *block;
    unsigned lane, votes; /* of the warp; of the block */
} gpu_fibers[GPU_FIBERS_MAX], gpu_outside, *gpu_me = &gpu_outside;
static unsigned char gpu_stacks[GPU_FIBERS_MAX][GPU_STACK_BYTES] __attribute__((aligned(64)));
static unsigned gpu_n_fibers, gpu_chance = 1;
static void (*gpu_run_lane)(unsigned i);

/* In [0, n). */
static inline unsigned gpu_random(unsigned n)
{
    gpu_chance = gpu_chance * 1664525u + 1013904223u;
    return (unsigned)((uint64_t)gpu_chance * n >> 32);
}

#ifdef GPU_HAS_ASAN
static const void *gpu_outside_stack;
static size_t gpu_outside_bytes;

static void gpu_arrive(void)
{
    const void *stack;
    size_t bytes;

    __sanitizer_finish_switch_fiber(gpu_me->fake_stack, &stack, &bytes);
    if (gpu_outside_stack == NULL) gpu_outside_stack = stack, gpu_outside_bytes = bytes;
}

static __attribute__((noinline)) void gpu_switch(struct gpu_fiber *to)
{
    struct gpu_fiber *const from = gpu_me;
    const int is_out = to == &gpu_outside;

    gpu_me = to;
    __sanitizer_start_switch_fiber(from->is_done ? NULL : &from->fake_stack,
                                   is_out ? gpu_outside_stack : gpu_stacks[to - gpu_fibers],
                                   is_out ? gpu_outside_bytes : GPU_STACK_BYTES);
    (void)swapcontext(&from->context, &to->context);
    gpu_arrive();
}
#else
static void gpu_arrive(void)
{
}

static __attribute__((noinline)) void gpu_switch(struct gpu_fiber *to)
{
    struct gpu_fiber *const from = gpu_me;

    if (_setjmp(from->at) != 0) return;
    gpu_me = to;
    if (to->is_started) _longjmp(to->at, 1);
    to->is_started = 1;
    (void)setcontext(&to->context);
}
#endif

/* Lanes that for a time go on only if no others can: some of a warp, or all of several PEs. */
static struct {
    unsigned first, n, turns; /* a range of fibers, which may begin anew at the first one */
} gpu_late;

static void gpu_choose_late(void)
{
    enum { TURNS = 2000 };

    gpu_late.first = gpu_random(gpu_n_fibers);
    gpu_late.n = gpu_random(gpu_n_fibers);
    gpu_late.turns = gpu_random(TURNS);
}

/* Any fiber that waits for no barrier. */
static struct gpu_fiber *gpu_next(void)
{
    const unsigned any = gpu_random(gpu_n_fibers), n = gpu_n_fibers;
    struct gpu_fiber *late = NULL;

    if (gpu_late.turns-- == 0) gpu_choose_late();
    for (unsigned i = any; i < any + n; i++) {
        struct gpu_fiber *const f = &gpu_fibers[i % n];

        if (f->is_done || (f->watch != NULL && *f->watch == f->seen)) continue;
        if ((i + n - gpu_late.first) % n >= gpu_late.n) return f;
        late = f;
    }
    return late;
}

static void gpu_yield(void)
{
    struct gpu_fiber *const next = gpu_me != &gpu_outside ? gpu_next() : gpu_me;

    if (next == NULL) {
        (void)fprintf(stderr, "all lanes wait for others at barriers\n");
        abort();
    }
    if (next != gpu_me) gpu_switch(next);
}

static void gpu_fiber_main(void)
{
    struct gpu_fiber *next;

    gpu_arrive();
    gpu_run_lane((unsigned)(gpu_me - gpu_fibers));
    gpu_me->is_done = 1;
    next = gpu_next();
    for (unsigned i = 0; next == NULL && i < gpu_n_fibers; i++)
        if (!gpu_fibers[i].is_done) gpu_yield(); /* which says so */
    gpu_switch(next != NULL ? next : &gpu_outside);
}

/* Runs n lanes to their ends. */
static inline void gpu_run(unsigned n, void (*run_lane)(unsigned i))
{
    if (n > GPU_FIBERS_MAX) abort();
    gpu_n_fibers = n;
    gpu_run_lane = run_lane;
    for (unsigned i = 0; i < n; i++) {
        struct gpu_fiber *const f = &gpu_fibers[i];

        memset(f, 0, sizeof(*f));
        (void)getcontext(&f->context);
        f->context.uc_stack.ss_sp = gpu_stacks[i];
        f->context.uc_stack.ss_size = GPU_STACK_BYTES;
        f->context.uc_link = NULL;
        makecontext(&f->context, gpu_fiber_main, 0);
    }
    gpu_outside.is_started = 1;
    gpu_switch(gpu_next());
}

/* Of so many lanes. Others may run before the last one goes on. */
static inline void gpu_meet(struct gpu_barrier *b, unsigned lanes)
{
    if (++b->came == lanes) {
        b->came = 0;
        b->round++;
    } else {
        gpu_me->watch = &b->round;
        gpu_me->seen = b->round;
    }
    gpu_yield();
    gpu_me->watch = NULL;
}

static int gpu_stores_lines; /* not packets */

/* Sometimes lets others run. */
static inline void gpu_dawdle(void)
{
    for (unsigned i = gpu_random(4); i > 0; i--)
        gpu_yield();
}

/* How many lanes of the warp have set `flag`. */
static inline int gpu_vote(int flag)
{
    struct gpu_warp *const warp = gpu_me->warp;
    int n = 0;

    warp->flags[gpu_me->lane] = flag != 0;
    gpu_meet(&warp->barrier, WARP_LANES);
    for (int i = 0; i < WARP_LANES; i++)
        n += warp->flags[i];
    gpu_meet(&warp->barrier, WARP_LANES);
    return n;
}

#define __syncwarp() (void)gpu_vote(0)
#define __all_sync(mask, flag) ((void)(mask), gpu_vote(flag) == WARP_LANES)
#define __any_sync(mask, flag) ((void)(mask), gpu_vote(flag) != 0)

CH_FN void ch_kernel_wait_previous(uint32_t lets_next)
{
    (void)lets_next;
}

CH_FN void ch_kernel_compute_before(uint64_t known)
{
    (void)known;
}

/* Of blocks, whose lanes know all that they need here. */
CH_FN uint64_t ch_lanes_broadcast(struct ch_lanes g, uint64_t x)
{
    (void)g;
    return x;
}

static chorus_status gpu_waits_end; /* how every wait ends that is not over at once */

CH_FN chorus_status ch_wait_slow(const struct ch_wait_policy *p, struct ch_wait *w)
{
    (void)p, (void)w;
    gpu_dawdle();
    return gpu_waits_end;
}

/* A part of a line stays with the warp until the eighth one is there. */
static inline void gpu_store_part(char *at, const uint64_t word[2])
{
    struct gpu_warp *const warp = gpu_me->warp;
    const unsigned line = gpu_me->lane / 8;

    warp->stored[gpu_me->lane].at = at;
    memcpy(warp->stored[gpu_me->lane].word, word, 16);
    if (++warp->n_stored[line] < 8) return;
    warp->n_stored[line] = 0;
    for (unsigned i = 8 * line; i < 8 * line + 8; i++)
        memcpy(warp->stored[i].at, warp->stored[i].word, 16);
}

CH_FN void ch_quad_store(void *at, uint64_t lo, uint64_t hi)
{
    const uint64_t word[2] = {lo, hi};

    gpu_dawdle();
    if (gpu_stores_lines)
        gpu_store_part((char *)at, word);
    else
        memcpy(at, word, sizeof(word));
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
    memcpy(lo, at, sizeof(*lo));
    memcpy(hi, (const char *)at + 8, sizeof(*hi));
}

CH_FN void ch_packet_store(struct ch_packet *p, uint64_t data, uint64_t flag)
{
    ch_quad_store(p, data, flag);
}

/* --- what algorithms call besides -------------------------------------------------------- */
/* All see a vote before the barrier of the next one, after which this one's place is cleared.
 */
CH_FN int ch_lanes_any(struct ch_lanes g, int flag)
{
    struct gpu_block *const block = gpu_me->block;
    int *any = &block->any[gpu_me->votes++ % 2], found;

    (void)g;
    if (flag) *any = 1;
    gpu_meet(&block->barrier, block->lanes);
    found = *any;
    gpu_meet(&block->barrier, block->lanes);
    *any = 0;
    return found;
}

CH_FN void ch_lanes_sync(struct ch_lanes g)
{
    (void)g;
    gpu_meet(&gpu_me->block->barrier, gpu_me->block->lanes);
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

CH_FN chorus_status ch_word_await(const struct ch_wait_policy *p, const uint64_t *word,
                                  uint64_t least, uint64_t *found_out)
{
    struct ch_wait w = {0};

    while ((*found_out = ch_word_load(word)) < least) {
        (void)ch_wait_slow(p, &w);
        gpu_yield();
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

CH_FN void ch_prefetch_write(const void *memory, size_t bytes)
{
    (void)memory, (void)bytes;
}

CH_FN void ch_notify(const struct ch_wait_policy *mine, struct ch_door *theirs)
{
    (void)mine, (void)theirs;
}

/* All peers are mapped. */
struct ch_link;

CH_FN void ch_link_post(struct ch_link *link, void *there, const void *src, size_t bytes)
{
    (void)link, (void)there, (void)src, (void)bytes;
}

CH_FN void ch_link_post_word(struct ch_link *link, uint64_t *there, uint64_t value,
                             enum ch_sense sense)
{
    (void)link, (void)there, (void)value, (void)sense;
}

CH_FN void ch_link_post_signal(struct ch_link *link, void *there, const void *src, size_t bytes,
                               uint64_t *word, uint64_t value, enum ch_sense sense)
{
    (void)link, (void)there, (void)src, (void)bytes, (void)word, (void)value, (void)sense;
}

CH_FN chorus_status ch_link_flush(struct ch_link *link)
{
    (void)link;
    return CHORUS_OK;
}

CH_FN int ch_link_post_receive(struct ch_link *link, void *slot, void *dst, size_t bytes)
{
    (void)link, (void)slot, (void)dst, (void)bytes;
    return 0;
}

CH_FN int ch_link_end_receive(struct ch_link *link)
{
    (void)link;
    return 0;
}

/* --- conversions, by operators.h but for NaN, which is one for all ------------------------ */
#include "coll/operators.h"

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
