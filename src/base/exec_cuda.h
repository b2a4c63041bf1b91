/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec_cuda.h: the backend for GPUs, whose lanes are the threads of a block. exec_host.h
 * states the contract of each primitive.
 *
 * When a kernel begins (after ch_kernel_order), it sees everything that was written before it
 * in stream order, on this GPU and by it on others; its own stores are visible in the same way
 * when it ends. So only what a call itself wrote needs a release. Lanes are a block, or inside
 * kernels also a warp or one thread; if a block is no larger than a warp, barriers are those
 * of the warp. Packets and the parts of a line are single accesses of 16 bytes.
 */
#ifndef CH_EXEC_CUDA_H
#define CH_EXEC_CUDA_H

#include "base/exec_types.h"
#include "chorus/status.h"

#include <string.h>

/* Inlined, so that what is a constant at a call folds its branches. nvcc -G folds nothing:
 * there functions stay functions, or each call would hold every algorithm, type and operator.
 */
#ifdef __CUDACC_DEBUG__
#define CH_FN static __device__ __noinline__ __attribute__((unused))
#else
#define CH_FN static __device__ __forceinline__
#endif

#define CH_ALL_MAPPED 1 /* as of coll.h: a GPU loads and stores every peer's memory */

/* 1 where calls are made inside kernels (chorus_device.cuh): no kernel's begin and end stand
 * around them. What the program wrote before a call is released once, where the call begins,
 * and only if peers read it or write there (device_coll.cuh); every wait for a word is an
 * acquire. */
#ifndef CH_INSIDE_KERNELS
#define CH_INSIDE_KERNELS 0
#endif

/* Not a primitive: a kernel may be launched while the one before it in the stream is still
 * running. Here it waits for that one's end, and then, if it may, lets the next be launched: so
 * at most one kernel of a stream waits on the GPU, and what it costs to launch it has passed by
 * then. The wait stands first, and always. Were the next launched before it, both would wait
 * there, and a chain of calls would fill the GPU. Were it left out in a kernel, the next one,
 * which waits for that kernel alone, could begin before the end of what came before both. GPUs
 * before compute capability 9.0 lack the instructions; there the host launches no kernel early
 * (ch_device_orders_kernels). */
CH_FN void ch_kernel_order(uint32_t lets_next)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
    if (lets_next) asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#else
    (void)lets_next;
#endif
}

#define CH_CACHE_LINE_BYTES 64u /* apart, so that two PEs' words share no sector */

/* Lanes that stay together when they are shared out: lines are moved by whole warps. */
#define CH_LANES_UNIT 32u

struct ch_door; /* a host's; GPUs poll */

/* How a kernel waits: for as long as the host lets it. */
struct ch_patience {
    const uint32_t *aborted; /* in the host's memory: not 0 when the job is ending */
    uint64_t timeout_ns;     /* 0: for ever */
};

struct ch_wait {
    uint64_t start_ns;
    uint32_t polls, unused, none; /* as many fields as the host's */
};

/* Polls between looks at the host's memory, which take about a microsecond. */
#define CH_POLLS_QUIET 4096u

CH_FN uint64_t ch_clock_ns(void)
{
    uint64_t ns;

    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

CH_FN chorus_status ch_wait_slow(const struct ch_patience *p, struct ch_wait *w)
{
    uint32_t aborted;

    if (++w->polls % CH_POLLS_QUIET != 0) return CHORUS_OK;
    asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(aborted) : "l"(p->aborted));
    if (aborted) return CHORUS_ERR_ABORTED;
    if (w->start_ns == 0) w->start_ns = ch_clock_ns();
    if (p->timeout_ns != 0 && ch_clock_ns() - w->start_ns > p->timeout_ns)
        return CHORUS_ERR_TIMEOUT;
    return CHORUS_OK;
}

CH_FN void ch_wait_end(const struct ch_patience *p, struct ch_wait *w)
{
    (void)p, (void)w;
}

/* Peers of a GPU are mapped, all of them; no call comes here. */
struct ch_route;

#define CH_LENT_BYTES 1024u

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

CH_FN void ch_notify(const struct ch_patience *mine, struct ch_door *theirs)
{
    (void)mine, (void)theirs; /* nobody sleeps */
}

#define CH_WARP_LANES 32u

/* Kernels that the host launches have more lanes than a warp. */
#define CH_IS_BLOCK(g) (!CH_INSIDE_KERNELS || (g).width > CH_WARP_LANES)

CH_FN uint32_t ch_warp_mask(struct ch_lanes g)
{
    return g.width == CH_WARP_LANES ? ~0u : (1u << g.width) - 1;
}

CH_FN void ch_soon(const void *memory, size_t bytes)
{
    (void)memory, (void)bytes; /* stores do not wait for lines */
}

CH_FN void ch_lanes_sync(struct ch_lanes g)
{
    if (CH_IS_BLOCK(g))
        __syncthreads();
    else if (g.width > 1)
        __syncwarp(ch_warp_mask(g));
}

CH_FN int ch_lanes_any(struct ch_lanes g, int flag)
{
    if (CH_IS_BLOCK(g)) return __syncthreads_or(flag);
    ch_lanes_sync(g); /* a warp's vote orders no memory */
    return g.width > 1 ? __any_sync(ch_warp_mask(g), flag) : flag;
}

/* Not a primitive: what lane 0 has, for all lanes; a sync. */
CH_FN uint64_t ch_lanes_share(struct ch_lanes g, uint64_t x)
{
    __shared__ uint64_t shared;

    if (!CH_IS_BLOCK(g)) {
        if (g.width > 1) x = __shfl_sync(ch_warp_mask(g), x, 0);
        ch_lanes_sync(g); /* a shuffle orders no memory */
        return x;
    }
    if (g.lane == 0) shared = x;
    __syncthreads();
    return shared;
}

/*
 * Why so little is strong. A block's lanes store plain data by weak stores, meet at a barrier,
 * and one lane stores the word with a release: the barrier puts their stores before it, and a
 * release covers all that its lane has observed, so one fence serves the block. A fence for
 * each lane would cost each a wait for its own stores.
 *
 * A credit is relaxed: nothing was written that the peer is to see. What was loaded is in
 * registers before the barrier that stands before the store, as its lanes have used it. The
 * model orders no load before a later relaxed store, so this rests on the hardware, and on the
 * litmus tests `reuse` and `reuse_pulled`; a release would be a fence that waits for all stores
 * of the multiprocessor, a microsecond that nobody needs.
 */
CH_FN void ch_word_store(uint64_t *word, uint64_t value, enum ch_sense sense)
{
    if (sense == CH_DATA)
        asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
    else
        asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}

/* Also where the store is relaxed: a source that the word lets this PE read may lie, as it was
 * before, in the L1 cache, where another kernel on this multiprocessor loaded it. The acquire
 * drops that (CCTL.IVALL after the load); it needs no fence, which only a release does. */
CH_FN uint64_t ch_word_load(const uint64_t *word)
{
    uint64_t value;

    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    return value;
}

CH_FN chorus_status ch_word_wait(const struct ch_patience *p, const uint64_t *word,
                                 uint64_t least)
{
    struct ch_wait w = {0, 0, 0, 0};
    chorus_status st = CHORUS_OK;

    while (ch_word_load(word) < least && st == CHORUS_OK)
        st = ch_wait_slow(p, &w);
    return st;
}

/*
 * 16 bytes that peers may be writing or reading, as one access. For the PTX memory model a
 * vector is an access to each element, in any order ("Memory Operations on Vector Data Types");
 * .b128 is a scalar type of ld and st (compute capability 7.0, at system scope PTX ISA 8.4). Of
 * both the instructions are the same, STG.E.128.STRONG.SYS and LDG.E.128.STRONG.SYS.
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

#endif /* CH_EXEC_CUDA_H */
