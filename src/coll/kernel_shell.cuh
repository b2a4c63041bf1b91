/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_shell.cuh: what stands around an algorithm in a kernel: a CTA's part of the call, and
 * its epoch and links, which are in shared memory while it runs.
 */
#ifndef CH_KERNEL_SHELL_CUH
#define CH_KERNEL_SHELL_CUH

#include "coll/all.h"
#include "coll/kernel.h"

/* It begins as a duplicate lies in the GPU's memory, but for the pointer, which means nothing
 * there.
 */
struct ch_kernel_state {
    struct ch_dup dup;
    char pad[CH_DEVICE_DUP_BYTES(0) - sizeof(struct ch_dup)];
    struct ch_link links[CH_RING_COUNT * CH_KERNEL_PES_MAX];
    struct ch_peer peers[CH_KERNEL_PES_MAX];
    struct ch_sync_layout layout;
    uint32_t late_pe;
};

/* Words of 8 bytes, by all lanes. */
CH_FN void ch_words_copy(void *dst, const void *src, size_t bytes)
{
    for (size_t i = threadIdx.x; i < bytes / 8; i += blockDim.x)
        ((uint64_t *)dst)[i] = ((const uint64_t *)src)[i];
}

CH_FN void ch_state_load(struct ch_kernel_state *s, const struct ch_kernel_args *a)
{
    const char *dup = a->dups + blockIdx.x * CH_DEVICE_DUP_BYTES(a->n);

    ch_words_copy(s, dup, CH_DEVICE_DUP_BYTES(a->n));
    for (uint32_t pe = threadIdx.x; pe < a->n; pe += blockDim.x) {
        s->peers[pe].shift = a->peers[pe].shift;
        s->peers[pe].sync = a->peers[pe].sync;
    }
    ch_words_copy(&s->layout, &a->layout, sizeof(s->layout));
    if (threadIdx.x == 0) s->late_pe = a->me;
    __syncthreads();
    if (threadIdx.x == 0) s->dup.links = s->links; /* read after ch_epoch's sync or a ring's */
}

CH_FN void ch_state_store(struct ch_kernel_state *s, const struct ch_kernel_args *a)
{
    char *dup = a->dups + blockIdx.x * CH_DEVICE_DUP_BYTES(a->n);

    __syncthreads();
    ch_words_copy(dup, s, CH_DEVICE_DUP_BYTES(a->n));
}

CH_FN void ch_report_fault(const struct ch_kernel_args *a, chorus_status st, uint32_t late_pe)
{
    if (atomicCAS_system(&a->fault->status, CHORUS_OK, st) != CHORUS_OK) return;
    a->fault->late_pe = late_pe;
    a->fault->team = a->team;
}

/* A body, with its type as a constant, for up to so many lanes. */
#define CH_KERNEL_UP_TO(lanes, fn, T)                                                   \
    extern "C" __global__ void __launch_bounds__(lanes, 1)                              \
        ch_k_##fn##_##T(const __grid_constant__ struct ch_kernel_args a)                \
    {                                                                                   \
        __shared__ struct ch_kernel_state state;                                        \
        const struct ch_lanes block = {threadIdx.x, blockDim.x};                        \
        const struct ch_patience patience = {a.aborted, a.timeout_ns};                  \
        struct ch_coll c = ch_coll_of(&a, &state);                                      \
        chorus_status st;                                                               \
                                                                                        \
        c.patience = &patience;                                                         \
        c.type = CHORUS_TYPE_##T;                                                       \
        ch_state_load(&state, &a);                                                      \
        st = fn(&c, block);                                                             \
        ch_state_store(&state, &a);                                                     \
        if (st != CHORUS_OK && block.lane == 0) ch_report_fault(&a, st, state.late_pe); \
    }
#define CH_KERNEL(fn, T) CH_KERNEL_UP_TO(CH_KERNEL_LANES_MAX, fn, T)

CH_FN struct ch_coll ch_coll_of(const struct ch_kernel_args *a, struct ch_kernel_state *state)
{
    const struct ch_slice part = ch_part_of(a->count, a->elem_bytes, gridDim.x, blockIdx.x);
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
    c.peers = state->peers;
    c.layout = &state->layout;
    c.sync_offset = blockIdx.x * a->layout.dup_bytes;
    c.dup = &state->dup;
    c.late_peer = &state->late_pe;
    return c;
}

#endif /* CH_KERNEL_SHELL_CUH */
