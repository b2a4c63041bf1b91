/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec_cuda.h: the backend for GPUs, whose lanes are the threads of a block. exec_host.h states
 * the contract of each primitive.
 *
 * When a kernel begins (after ch_kernel_wait_previous), all writes that precede it in stream
 * order are visible to it, on this GPU and on others; when it ends, its own stores are visible
 * to later work in the same way. Only the stores of the call itself therefore need a release.
 * Lanes are a block, or inside kernels also a warp or one thread; if a block is no larger than
 * a warp, barriers are those of the warp. Packets and the parts of a line are single accesses
 * of 16 bytes.
 */
#ifndef CH_EXEC_CUDA_H
#define CH_EXEC_CUDA_H

#include "base/exec_types.h"
#include "chorus/status.h"

#include <string.h>

/* Forced inlining lets the compiler remove branches that depend on constants of the call. nvcc
 * -G does not optimise: there, functions are not inlined, since each call would otherwise
 * contain every algorithm, type and operator. */
#ifdef __CUDACC_DEBUG__
#define CH_FN static __device__ __noinline__ __attribute__((unused))
#else
#define CH_FN static __device__ __forceinline__
#endif

/* Functions that calls on near PEs do not use: in kernels of programs they are not inlined, so
 * that they take no registers there, and are compiled once. */
#if CH_INSIDE_KERNELS
#define CH_PART static __device__ __noinline__ __attribute__((unused))
#endif

/* For coll.h: kernels load and store every peer's memory, except those of teams whose PEs are
 * not all near, which are compiled with CH_ROUTED and base/route.h. */
#ifndef CH_ROUTED
#define CH_ROUTED 0
#endif
#define CH_ALL_MAPPED (!CH_ROUTED)

/* Words and flags have no tags on GPUs: each dependent instruction delays a message. */
#define CH_TAG_BITS 0u

/* Not a primitive. A kernel may be launched while the previous kernel of its stream is still
 * running. This function waits for the end of the previous kernel and then, if lets_next,
 * allows the launch of the next one. At most one kernel of a stream therefore waits on the GPU,
 * and the latency of its launch has passed when it may run. The wait comes first, and is never
 * omitted. If the next kernel were launched before the wait, both would wait, and a chain of
 * calls would fill the GPU. If a kernel omitted the wait, the next one, which waits only for
 * that kernel, could begin before the kernel before both has ended. GPUs before compute
 * capability 9.0 lack the instructions; for them the host launches no kernel early
 * (ch_device_orders_kernels). */
CH_FN void ch_kernel_wait_previous(uint32_t lets_next)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
    if (lets_next) asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#else
    (void)lets_next;
#endif
}

/* Not a primitive. Makes the compiler compute `known` before this place: a branch needs it,
 * which is never taken, since no object is at address 1. */
CH_FN void ch_kernel_compute_before(uint64_t known)
{
    asm volatile("{ .reg .pred never; setp.eq.u64 never, %0, 1; @never exit; }" ::"l"(known)
                 : "memory");
}

#define CH_CACHE_LINE_BYTES                                          \
    64u /* separate, so that words of two PEs share no memory sector \
         */

/* Granularity in lanes when lanes are divided into groups: whole warps move lines. */
#define CH_LANES_UNIT 32u

#define CH_UNROLL _Pragma("unroll")
#define CH_IS_FOR_HOST(memory) __isGlobal(memory)

struct ch_door; /* the doorbell of a host; GPUs poll */

/* The limits of a kernel's waits, which the host sets. */
struct ch_wait_policy {
    const uint32_t *aborted; /* in host memory: not 0 when the job is ending */
    uint64_t timeout_ns;     /* 0: wait without limit */
};

struct ch_wait {
    uint32_t start;               /* in units of 2^20 ns, odd; 0: not yet */
    uint32_t polls, unused, none; /* makes the number of fields equal to that on the host */
};

/* Polls between two reads of host memory, each of which takes about a microsecond. */
#define CH_POLLS_QUIET 4096u

CH_FN uint64_t ch_clock_ns(void)
{
    uint64_t ns;

    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

/* As on the host (door.h), but a GPU never sleeps: it only looks for an abort or a timeout,
 * once in CH_POLLS_QUIET polls. */
CH_FN chorus_status ch_wait_slow(const struct ch_wait_policy *p, struct ch_wait *w)
{
    uint32_t aborted, now;

    if (++w->polls % CH_POLLS_QUIET != 0) return CHORUS_OK;
    asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(aborted) : "l"(p->aborted));
    if (aborted) return CHORUS_ERR_ABORTED;
    now = (uint32_t)(ch_clock_ns() >> 20) | 1;
    if (w->start == 0) w->start = now;
    return p->timeout_ns != 0 && (uint64_t)(now - w->start) << 20 > p->timeout_ns
               ? CHORUS_ERR_TIMEOUT
               : CHORUS_OK;
}

CH_FN void ch_wait_end(const struct ch_wait_policy *p, struct ch_wait *w)
{
    (void)p, (void)w;
}

struct ch_link;

/* Nothing is lent: the lanes store a message in pinned memory faster than a copy engine could
 * get it from where it lies. */
#define CH_LENT_BYTES SIZE_MAX

/* They are in the request (base/ring.h), so no lane stores them in pinned memory before. */
#define CH_INLINE_BYTES (CH_ROUTED ? 16u : 0u)

/* All bytes: the lanes of a call share a cache, and copy what it holds at the same time. */
#define CH_PLAIN_BYTES SIZE_MAX

#if CH_ROUTED
CH_PART void ch_link_post(struct ch_link *link, void *there, const void *src, size_t bytes);
CH_PART void ch_link_post_word(struct ch_link *link, uint64_t *there, uint64_t value,
                               enum ch_sense sense);
CH_PART void ch_link_post_signal(struct ch_link *link, void *there, const void *src,
                                 size_t bytes, uint64_t *word, uint64_t value,
                                 enum ch_sense sense);
CH_PART chorus_status ch_link_flush(struct ch_link *link);
#else
/* All peers are mapped, so these are never called. */
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
#endif

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

CH_FN void ch_notify(const struct ch_wait_policy *mine, struct ch_door *theirs)
{
    (void)mine, (void)theirs; /* no PE sleeps */
}

#define CH_WARP_LANES 32u

/* The lanes of kernels that the host launches are blocks. */
#if CH_INSIDE_KERNELS
#define CH_IS_BLOCK(g) ((g).form != CH_LANES_FEW)
#define CH_IS_ONE(g) ((g).form == CH_LANES_PART && (g).width == 1)
#else
#define CH_IS_BLOCK(g) 1
#define CH_IS_ONE(g) 0
#endif

/* The threads of a warp that synchronise: all, in every group of 2 lanes or more. Where a block
 * has fewer threads than a warp, the others do not exist, and are not waited for. */
#define CH_WARP_MASK ~0u

CH_FN void ch_prefetch_write(const void *memory, size_t bytes)
{
    (void)memory, (void)bytes; /* on a GPU, stores do not wait for cache lines */
}

CH_FN void ch_lanes_sync(struct ch_lanes g)
{
    if (CH_IS_ONE(g)) return;
    if (CH_IS_BLOCK(g))
        __syncthreads();
    else if (g.width > 1)
        __syncwarp(CH_WARP_MASK);
}

CH_FN int ch_lanes_any(struct ch_lanes g, int flag)
{
    if (CH_IS_ONE(g)) return flag;
    if (CH_IS_BLOCK(g)) return __syncthreads_or(flag);
    ch_lanes_sync(g); /* a vote of a warp does not order memory */
    return g.width > 1 ? __any_sync(CH_WARP_MASK, flag) : flag;
}

/* Not a primitive: broadcasts the value of lane 0 to all lanes; also synchronises them. */
CH_FN uint64_t ch_lanes_broadcast(struct ch_lanes g, uint64_t x)
{
    __shared__ uint64_t shared;

    if (CH_IS_ONE(g)) return x;
    if (!CH_IS_BLOCK(g)) {
        if (g.width > 1) x = __shfl_sync(CH_WARP_MASK, x, 0);
        ch_lanes_sync(g); /* a shuffle does not order memory */
        return x;
    }
    if (g.lane == 0) shared = x;
    __syncthreads();
    return shared;
}

/*
 * Why one release is enough. The lanes of a block store plain data by weak stores and
 * synchronise at a barrier; then one lane stores the word with a release. The barrier orders
 * their stores before it, and a release covers everything that its lane has observed, so one
 * fence serves the block. With a fence per lane, each lane would wait for its own stores.
 *
 * A credit is relaxed, because it announces no data. The loads before it are complete, since
 * their lanes have used the values before the barrier that precedes the store. The memory model
 * does not order a load before a later relaxed store, so this depends on the hardware, and on
 * the litmus tests `reuse` and `reuse_pulled`. A release would be a fence that waits for all
 * stores of the multiprocessor, which takes a microsecond and is not needed.
 */
CH_FN void ch_word_store(uint64_t *word, uint64_t value, enum ch_sense sense)
{
    if (sense == CH_DATA)
        asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
    else
        asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}

/* An acquire even if the store is relaxed: the L1 cache may contain an old copy of a source
 * that this PE may read after the word, because another kernel on this multiprocessor loaded
 * it. The acquire invalidates the cache (CCTL.IVALL after the load); it needs no fence, which
 * only a release does. */
CH_FN uint64_t ch_word_load(const uint64_t *word)
{
    uint64_t value;

    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    return value;
}

CH_FN chorus_status ch_word_await(const struct ch_wait_policy *p, const uint64_t *word,
                                  uint64_t least, uint64_t *found_out)
{
    struct ch_wait w = {0, 0, 0, 0};
    chorus_status st = CHORUS_OK;

    while ((*found_out = ch_word_load(word)) < least && st == CHORUS_OK)
        st = ch_wait_slow(p, &w);
    return st;
}

/*
 * Accesses 16 bytes, which peers may be writing or reading, at once. In the PTX memory model a
 * vector access is one access for each element, in any order ("Memory Operations on Vector Data
 * Types"), but .b128 is a scalar type of ld and st (compute capability 7.0, at system scope PTX
 * ISA 8.4). Both compile to the same instructions, STG.E.128.STRONG.SYS and
 * LDG.E.128.STRONG.SYS.
 */
CH_FN void ch_quad_store(void *at, uint64_t lo, uint64_t hi)
{
    asm volatile("{ .reg .b128 q; mov.b128 q, {%1, %2};\n\t"
                 "st.relaxed.sys.global.b128 [%0], q; }" ::"l"(at),
                 "l"(lo), "l"(hi)
                 : "memory");
}

CH_FN void ch_quad_load(const void *at, uint64_t *lo, uint64_t *hi)
{
    asm volatile("{ .reg .b128 q; ld.relaxed.sys.global.b128 q, [%2];\n\t"
                 "mov.b128 {%0, %1}, q; }"
                 : "=l"(*lo), "=l"(*hi)
                 : "l"(at)
                 : "memory");
}

/* The fence and a quad after it are a release pattern of PTX, with which an acquire load of the
 * host synchronises. The fence waits for all stores of the multiprocessor. */
CH_FN void ch_release_fence(void)
{
    asm volatile("fence.acq_rel.sys;" ::: "memory");
}

CH_FN void ch_acquire_fence(void)
{
    asm volatile("fence.acq_rel.sys;" ::: "memory");
}

/* The words are in this GPU's memory, and only its kernels access them. */
CH_FN uint64_t ch_ticket_take(uint64_t *word)
{
    uint64_t before;

    asm volatile("atom.relaxed.gpu.global.add.u64 %0, [%1], 1;"
                 : "=l"(before)
                 : "l"(word)
                 : "memory");
    return before;
}

CH_FN void ch_ticket_skip(uint64_t *word, uint64_t from)
{
    asm volatile("{ .reg .b64 before;\n\t"
                 "atom.relaxed.gpu.global.cas.b64 before, [%0], %1, %2; }" ::"l"(word),
                 "l"(from), "l"(from + 1)
                 : "memory");
}

CH_FN void ch_relaxed_store(uint64_t *word, uint64_t value)
{
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}

CH_FN uint64_t ch_relaxed_load(const uint64_t *word)
{
    uint64_t value;

    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    return value;
}

CH_FN void ch_packet_store(struct ch_packet *p, uint64_t data, uint64_t flag)
{
    ch_quad_store(p, data, flag);
}

CH_FN int ch_packet_load(const struct ch_packet *p, uint64_t flag, uint64_t *data_out)
{
    uint64_t found;

    ch_quad_load(p, data_out, &found);
    return found == flag;
}

/* Not a primitive. Plain data of host calls is always in global memory; calls inside kernels
 * may load from any memory. */
#if CH_INSIDE_KERNELS
#define CH_LOAD_PLAIN "ld"
#define CH_STORE_PLAIN "st"
#else
#define CH_LOAD_PLAIN "ld.global"
#define CH_STORE_PLAIN "st.global"
#endif

/* Not a primitive. If words is CH_WORDS_WHOLE, whole = 16 bytes at a multiple of 16; if it is
 * not negative, part = this number of words of 4 bytes (at most 4), all in flight together.
 * What is not loaded is 0. By predicates, because ptxas makes a branch wait for the loads
 * before it; into two variables, because the loads into one would wait for each other. */
#define CH_WORDS_WHOLE -1

CH_FN void ch_words_load(const void *at, int words, uint64_t whole[2], uint64_t part[2])
{
    asm volatile("{ .reg .pred is_whole, has<4>; .reg .b32 w<4>;\n\t"
                 "setp.eq.s32 is_whole, %5, -1;\n\t"
                 "setp.gt.s32 has0, %5, 0; setp.gt.s32 has1, %5, 1;\n\t"
                 "setp.gt.s32 has2, %5, 2; setp.gt.s32 has3, %5, 3;\n\t"
                 "mov.b64 %0, 0; mov.b64 %1, 0;\n\t"
                 "mov.b32 w0, 0; mov.b32 w1, 0; mov.b32 w2, 0; mov.b32 w3, 0;\n\t"
                 "@is_whole " CH_LOAD_PLAIN ".v2.b64 {%0, %1}, [%4];\n\t"
                 "@has0 " CH_LOAD_PLAIN ".b32 w0, [%4];\n\t"
                 "@has1 " CH_LOAD_PLAIN ".b32 w1, [%4+4];\n\t"
                 "@has2 " CH_LOAD_PLAIN ".b32 w2, [%4+8];\n\t"
                 "@has3 " CH_LOAD_PLAIN ".b32 w3, [%4+12];\n\t"
                 "mov.b64 %2, {w0, w1}; mov.b64 %3, {w2, w3}; }"
                 : "=&l"(whole[0]), "=&l"(whole[1]), "=&l"(part[0]), "=&l"(part[1])
                 : "l"(at), "r"(words)
                 : "memory");
}

/* Not a primitive. Stores the first words of 4 bytes (at most 4; none if negative). */
CH_FN void ch_words_store(void *at, int words, const uint64_t word[2])
{
    asm volatile("{ .reg .pred has<4>; .reg .b32 w<4>;\n\t"
                 "setp.gt.s32 has0, %3, 0; setp.gt.s32 has1, %3, 1;\n\t"
                 "setp.gt.s32 has2, %3, 2; setp.gt.s32 has3, %3, 3;\n\t"
                 "mov.b64 {w0, w1}, %1; mov.b64 {w2, w3}, %2;\n\t"
                 "@has0 " CH_STORE_PLAIN ".b32 [%0], w0;\n\t"
                 "@has1 " CH_STORE_PLAIN ".b32 [%0+4], w1;\n\t"
                 "@has2 " CH_STORE_PLAIN ".b32 [%0+8], w2;\n\t"
                 "@has3 " CH_STORE_PLAIN ".b32 [%0+12], w3; }" ::"l"(at),
                 "l"(word[0]), "l"(word[1]), "r"(words)
                 : "memory");
}

/* The widest elements are pairs of 8 bytes, and aligned as one of them. Those of 8 bytes may be
 * pairs too, of 4 bytes. */
CH_FN void ch_copy_element(void *to, const void *from, size_t bytes)
{
    if (bytes == 1) {
        *(uint8_t *)to = *(const uint8_t *)from;
    } else if (bytes == 2) {
        *(uint16_t *)to = *(const uint16_t *)from;
    } else if (bytes == 4) {
        *(uint32_t *)to = *(const uint32_t *)from;
    } else if (bytes == 8 && (((uintptr_t)to | (uintptr_t)from) & 4) != 0) {
        const uint32_t first = *(const uint32_t *)from;

        ((uint32_t *)to)[1] = ((const uint32_t *)from)[1];
        *(uint32_t *)to = first;
    } else {
        const uint64_t first = *(const uint64_t *)from;

        if (bytes == 16) ((uint64_t *)to)[1] = ((const uint64_t *)from)[1];
        *(uint64_t *)to = first;
    }
}

/* Not primitives: convert between two floats and a pair of binary16 or bfloat16 elements, of
 * which `lo` is in the low half. They round to nearest even and keep subnormal numbers; each
 * NaN becomes 0x7fff or, as a float, any NaN. */
CH_FN void ch_f16x2_to_f32(uint32_t pair, float *lo, float *hi)
{
    asm("{ .reg .b16 l, h; mov.b32 {l, h}, %2;\n\t"
        "cvt.f32.f16 %0, l; cvt.f32.f16 %1, h; }"
        : "=f"(*lo), "=f"(*hi)
        : "r"(pair));
}

CH_FN uint32_t ch_f16x2_from_f32(float lo, float hi)
{
    uint32_t pair;

    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(hi), "f"(lo));
    return pair;
}

CH_FN uint32_t ch_bf16x2_from_f32(float lo, float hi)
{
    uint32_t pair;

    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(hi), "f"(lo));
    return pair;
}

#endif /* CH_EXEC_CUDA_H */
