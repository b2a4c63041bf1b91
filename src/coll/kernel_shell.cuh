/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_shell.cuh: what stands around an algorithm in a kernel: a CTA's part of the call, and
 * its epoch and links, which are in shared memory while it runs.
 */
#ifndef CH_KERNEL_SHELL_CUH
#define CH_KERNEL_SHELL_CUH

#include "coll/all.h"
#include "coll/kernel.h"

struct ch_kernel_state {
    uint64_t epoch;
    struct ch_link links[CH_RING_COUNT * CH_KERNEL_PES_MAX];
    struct ch_slot slots[CH_KERNEL_PES_MAX];
    struct ch_peer peers[CH_KERNEL_PES_MAX];
    uint32_t late_pe;
};

/* The ring that an algorithm uses, if any. */
#define CH_RING_OF_signal CH_PLAIN
#define CH_RING_OF_simple CH_RING_simple
#define CH_RING_OF_ll CH_RING_ll
#define CH_RING_OF_ll128 CH_RING_ll128
CH_FN enum ch_ring ch_ring_of(enum ch_algo_id id)
{
#define X(coll, name, proto, fn, needs, radix, steps, wire) \
    if (id == CH_ALGO_##fn) return (enum ch_ring)CH_RING_OF_##proto;
    CH_ALGO_LIST(X)
#undef X
    return CH_PLAIN;
}

/* What is kept in the GPU's memory, word by word: the epoch, then the links of a ring. */
CH_FN uint32_t ch_kept_words(enum ch_ring ring, uint32_t n)
{
    return 1 + (ring == CH_PLAIN ? 0 : n * (uint32_t)(sizeof(struct ch_link) / 8));
}

CH_FN uint64_t *ch_kept_word(const struct ch_kernel_args *a, enum ch_ring ring, uint32_t i)
{
    const uint32_t links = CH_DEVICE_LINKS_AT + ring * a->n * (uint32_t)sizeof(struct ch_link);
    const uint32_t at = i == 0 ? (uint32_t)offsetof(struct ch_dup, epoch) : links + (i - 1) * 8;

    return (uint64_t *)(a->dups + (size_t)(blockIdx.x * a->dup_bytes + at));
}

CH_FN uint64_t *ch_state_word(struct ch_kernel_state *s, enum ch_ring ring, uint32_t n,
                              uint32_t i)
{
    return i == 0 ? &s->epoch : (uint64_t *)(s->links + ring * n) + i - 1;
}

/* The first of what this CTA reads comes while its state does. */
CH_FN void ch_prefetch(const char *src, size_t bytes)
{
    const size_t at = threadIdx.x * CH_PIECE_BYTES;

    if (at < bytes) asm volatile("prefetch.global.L1 [%0];" ::"l"(src + at));
}

/* Arguments come through a cache; what a ring needs of them comes while other loads are under
 * way. */
CH_FN void ch_warm(const struct ch_sync_layout *layout, enum ch_ring ring)
{
    if (ring == CH_PLAIN) return;
    asm volatile("" ::"l"(layout->chunk_bytes[ring]), "r"(layout->cells_log2[ring]),
                 "l"(layout->ring_bytes[ring]), "l"(layout->ring_offset[ring]));
}

CH_FN void ch_state_load(struct ch_kernel_state *s, const struct ch_kernel_args *a,
                         enum ch_ring ring, const struct ch_coll *c)
{
    const uint32_t words = ch_kept_words(ring, a->n);
    const uint64_t first = threadIdx.x < words ? *ch_kept_word(a, ring, threadIdx.x) : 0;

    for (uint32_t pe = threadIdx.x; pe < a->n; pe += blockDim.x) {
        s->peers[pe].shift = a->peers[pe].shift;
        s->peers[pe].sync = a->peers[pe].sync;
    }
    if (threadIdx.x == 0) s->late_pe = a->me;
    ch_prefetch(c->src, ch_bytes(c));
    ch_warm(&a->layout, ring);
    if (threadIdx.x < words) *ch_state_word(s, ring, a->n, threadIdx.x) = first;
    for (uint32_t i = threadIdx.x + blockDim.x; i < words; i += blockDim.x)
        *ch_state_word(s, ring, a->n, i) = *ch_kept_word(a, ring, i);
    __syncthreads();
}

CH_FN void ch_state_store(struct ch_kernel_state *s, const struct ch_kernel_args *a,
                          enum ch_ring ring)
{
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < ch_kept_words(ring, a->n); i += blockDim.x)
        *ch_kept_word(a, ring, i) = *ch_state_word(s, ring, a->n, i);
}

CH_FN void ch_report_fault(const struct ch_kernel_args *a, chorus_status st, uint32_t late_pe)
{
    if (atomicCAS_system(&a->fault->status, CHORUS_OK, st) != CHORUS_OK) return;
    a->fault->late_pe = late_pe;
    a->fault->team = a->team;
}

CH_FN struct ch_coll ch_coll_of(const struct ch_kernel_args *a, struct ch_kernel_state *state)
{
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
    c.multicast = a->multicast;
    c.is_sync_alike = a->is_sync_alike;
    c.peers = state->peers;
    c.layout = &a->layout;
    c.sync_offset = blockIdx.x * a->layout.dup_bytes;
    c.epoch = &state->epoch;
    c.links = state->links;
    c.slots = state->slots;
    c.late_peer = &state->late_pe;
    return c;
}

/* A body, with its type as a constant, for up to so many lanes. */
#define CH_KERNEL_NAMED(name, fn, T, ring, lanes)                                       \
    extern "C" __global__ void __launch_bounds__(lanes, 1)                              \
        name(const __grid_constant__ struct ch_kernel_args a)                           \
    {                                                                                   \
        __shared__ struct ch_kernel_state state;                                        \
        const struct ch_lanes block = {threadIdx.x, blockDim.x};                        \
        const struct ch_patience patience = {a.aborted, a.timeout_ns};                  \
        struct ch_coll c = ch_coll_of(&a, &state);                                      \
        chorus_status st;                                                               \
                                                                                        \
        __builtin_assume(blockDim.x > CH_WARP_LANES);                                   \
        c.patience = &patience;                                                         \
        c.type = CHORUS_TYPE_##T;                                                       \
        ch_state_load(&state, &a, ring, &c);                                            \
        st = fn(&c, block);                                                             \
        ch_state_store(&state, &a, ring);                                               \
        if (st != CHORUS_OK && block.lane == 0) ch_report_fault(&a, st, state.late_pe); \
    }
#define CH_KERNEL(fn, T, ring, lanes) CH_KERNEL_NAMED(ch_k_##fn##_##T, fn, T, ring, lanes)

#endif /* CH_KERNEL_SHELL_CUH */
