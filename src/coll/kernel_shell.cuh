/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_shell.cuh: what stands around an algorithm in a kernel. */
#ifndef CH_KERNEL_SHELL_CUH
#define CH_KERNEL_SHELL_CUH

#include "coll/all.h"
#include "coll/kernel.h"

/*
 * What can be known from the arguments is computed before the kernel's turn has come: a branch
 * that is never taken depends on it, which keeps the compiler from computing it later. Nothing
 * is at address 1.
 */
CH_FN int ch_kernel_begin(const struct ch_coll *c, struct ch_lanes g)
{
    const struct ch_pes others = ch_others(c);
    const struct ch_turns t = ch_turns_of(others.count, g);
    const char *sync = c->peers[ch_pe(c, others, t.first)].sync;
    const uint64_t known = (uint64_t)c->epoch | (uint64_t)c->dst | (uint64_t)c->src | c->count |
                           c->sync_offset | c->stride | (uint64_t)sync | c->layout->dup_bytes |
                           c->layout->chunk_bytes[0] | t.first | t.step | t.lanes.width |
                           t.lanes.lane;

    if (known == 1) return 0;
    ch_kernel_order();
    return 1;
}

CH_FN struct ch_dup *ch_kernel_dup(const struct ch_kernel_args *a)
{
    return (struct ch_dup *)(a->dups + (size_t)(blockIdx.x * a->dup_bytes));
}

/* All CTAs look at one mark: a wider call that is queued behind a narrow one turns back, too.
 */
CH_FN uint64_t *ch_kernel_failed(const struct ch_kernel_args *a)
{
    return &((struct ch_dup *)a->dups)->failed;
}

/* The first lane that fails tells the host, and what is queued behind. */
CH_FN void ch_report_fault(const struct ch_kernel_args *a, chorus_status st, uint32_t late_pe)
{
    *ch_kernel_failed(a) = 1;
    if (atomicCAS_system(&a->fault->claimed, 0u, 1u) != 0u) return;
    a->fault->late_pe = late_pe;
    a->fault->team = a->team;
    __threadfence_system(); /* pairs with fault.c's load of the status */
    *(volatile int *)&a->fault->status = st;
}

CH_FN struct ch_coll ch_coll_of(const struct ch_kernel_args *a)
{
    struct ch_dup *dup = ch_kernel_dup(a);
    const struct ch_slice part = ch_part_of(&a->share, a->count, blockIdx.x);
    struct ch_coll c;

    c.me = a->me;
    c.n = a->n;
    c.root = a->root;
    c.radix = a->radix;
    c.op = a->op;
    c.count = part.count;
    c.elem_bytes = a->elem_bytes;
    c.stride = a->count * a->elem_bytes;
    c.dst = a->dst + part.first * a->elem_bytes;
    c.src = a->src + part.first * a->elem_bytes;
    c.reduce = 0;
    c.scratch_part = a->scratch_part;
    c.multicast = a->multicast;
    c.is_sync_alike = a->is_sync_alike;
    c.peers = a->peers;
    c.layout = &a->layout;
    c.sync_offset = blockIdx.x * a->layout.dup_bytes;
    c.epoch = &dup->epoch;
    c.exchanges = dup->exchanges;
    c.links = (struct ch_link *)((char *)dup + CH_DEVICE_LINKS_AT);
    return c;
}

/* A body, with its type as a constant, for up to so many lanes. */
#define CH_KERNEL_NAMED(name, fn, T, lanes)                                           \
    extern "C" __global__ void __launch_bounds__(lanes, 1)                            \
        name(const __grid_constant__ struct ch_kernel_args a)                         \
    {                                                                                 \
        __shared__ struct ch_slot slots[CH_KERNEL_PES_MAX];                           \
        __shared__ ulonglong2 scratch[CH_KERNEL_SCRATCH_BYTES / sizeof(ulonglong2)];  \
        const struct ch_lanes block = {threadIdx.x, blockDim.x};                      \
        const struct ch_patience patience = {a.aborted, a.timeout_ns};                \
        struct ch_coll c = ch_coll_of(&a);                                            \
        uint32_t late_peer = a.me;                                                    \
        chorus_status st;                                                             \
                                                                                      \
        __builtin_assume(blockDim.x > CH_WARP_LANES);                                 \
        c.patience = &patience;                                                       \
        c.type = CHORUS_TYPE_##T;                                                     \
        c.slots = slots;                                                              \
        c.scratch = (char *)scratch;                                                  \
        c.late_peer = &late_peer;                                                     \
        if (!ch_kernel_begin(&c, block) || *ch_kernel_failed(&a)) return;             \
        st = fn(&c, block);                                                           \
        if (st != CHORUS_OK && late_peer != a.me) ch_report_fault(&a, st, late_peer); \
    }
#define CH_KERNEL(fn, T, lanes) CH_KERNEL_NAMED(ch_k_##fn##_##T, fn, T, lanes)

#endif /* CH_KERNEL_SHELL_CUH */
