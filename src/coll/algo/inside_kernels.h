/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inside_kernels.h: the algorithms of calls inside kernels (chorus/device_coll.cuh), which
 * hosts and streams run, too.
 *
 * In each of them a PE exchanges data with all others directly, in one step or two. Programs
 * compile this header into their own kernels, so it has no other algorithms, and includes no
 * header that is not installed.
 */
#ifndef CH_ALGO_INSIDE_KERNELS_H
#define CH_ALGO_INSIDE_KERNELS_H

#include "coll/primitives/exchange.h"
#include "coll/primitives/primitives.h"

/*
 * barrier in which every PE signals every other PE. It is numbered as an exchange without
 * messages.
 *
 *   needs    put
 *   steps    1
 *   wire     n - 1
 *   scratch  one word per PE
 *   inplace  has no buffers
 *   result   every PE has entered before any PE leaves; earlier stores are visible
 *   source   dissemination with radix n. It has the number of exchanges, so that calls inside
 *            kernels use one number only, which they get when they acquire the team
 */
CH_FN chorus_status ch_barrier_push(const struct ch_coll *c, struct ch_lanes g)
{
    uint64_t exchange;
    const chorus_status st = ch_exchange_begin_empty(c, CH_CELL_ll, &exchange, CH_ENTRY, g);

    return st == CHORUS_OK ? ch_await_all(c, CH_WORD_MET, exchange, g) : st;
}

/*
 * broadcast by direct loads: every PE reads the source of the root, at the same time as the
 * others.
 *
 *   needs    map, symmetric_source
 *   steps    1
 *   wire     m
 *   scratch  two words per PE
 *   inplace  safe: dest may be source
 *   result   a copy
 *   source   put to all; here the receivers copy
 */
CH_FN chorus_status ch_broadcast_pull(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_next_epoch(c, g);
    chorus_status st;

    if (c->me == c->root) {
        ch_signal_all(c, CH_WORD_READY, epoch, CH_ENTRY, g); /* source may be read */
        ch_copy_alternating(c, c->src, epoch, g);
        return ch_await_all(c, CH_WORD_DONE, epoch, g); /* source may be reused */
    }
    st = ch_await(c, c->root, CH_WORD_READY, epoch, g);
    if (st != CHORUS_OK) return st;
    ch_copy_alternating(c, ch_peer_address(c, c->root, c->src), epoch, g);
    ch_signal(c, c->root, CH_WORD_DONE, epoch, CH_CREDIT, g);
    return CHORUS_OK;
}

/*
 * broadcast in messages to all: the root sends its message to every other PE through sync
 * memory, chunk by chunk.
 *
 *   needs    put
 *   steps    1
 *   wire     (n - 1) * m
 *   scratch  two slots of a chunk for each peer
 *   inplace  safe: dest may be source
 *   result   a copy
 *   source   a tree of radix n, as an exchange in which only the root has messages: a PE
 *            leaves when all have entered, and no positions of FIFOs need to be loaded first
 */

/* On the root: send the chunk at byte `at`, and wait until all PEs have begun the exchange. */
CH_FN chorus_status ch_broadcast_push_send(const struct ch_coll *c, enum ch_cell kind,
                                           size_t at, size_t bytes, struct ch_lanes g)
{
    const struct ch_contribution contribution =
        ch_contribution_of(c, kind, c->src + at, 0, bytes, g);
    uint64_t exchange;
    const chorus_status st = ch_exchange_send(c, kind, &contribution, &exchange, g);

    if (st != CHORUS_OK) return st;
    if (c->dst != c->src) ch_cells_copy_plain(kind, c->src + at, c->dst + at, bytes, g);
    return ch_await_all(c, CH_WORD_MET, exchange, g);
}

/* On another PE: receive the root's chunk. The first lanes wait for cells and the last ones for
 * the other PEs. */
CH_FN chorus_status ch_broadcast_push_recv(const struct ch_coll *c, enum ch_cell kind,
                                           size_t at, size_t bytes, struct ch_lanes g)
{
    uint64_t exchange;
    struct ch_slot slot;
    chorus_status st = ch_exchange_begin_empty(c, kind, &exchange, CH_CREDIT, g);

    if (st != CHORUS_OK) return st;
    slot = ch_slot_at(ch_slots_of(c, kind, c->me, c->root), exchange);
    ch_cells_recv(c, kind, c->root, slot.memory, slot.flag, c->dst + at, bytes, g, &st);
    for (uint32_t k = g.width - g.lane; k < c->n && st == CHORUS_OK; k += g.width)
        if (ch_pe_after(c, k) != c->root)
            st = ch_lane_await(c, ch_pe_after(c, k), CH_WORD_MET, exchange);
    return ch_lanes_agree(st, g); /* all lanes have read the slot */
}

CH_FN chorus_status ch_broadcast_push_ll(const struct ch_coll *c, struct ch_lanes g)
{
    const size_t bytes = ch_bytes(c);
    chorus_status st = CHORUS_OK;

    for (size_t at = 0, part; at < bytes && st == CHORUS_OK; at += part) {
        part = ch_chunk_bytes_at(c, CH_CELL_ll, at);
        st = c->me == c->root ? ch_broadcast_push_send(c, CH_CELL_ll, at, part, g)
                              : ch_broadcast_push_recv(c, CH_CELL_ll, at, part, g);
        if (CH_INSIDE_KERNELS) return st; /* a message is one chunk */
    }
    return st;
}

/*
 * fcollect by direct stores: every PE writes its block into the dest of every other PE, after
 * that PE has entered the call.
 *
 *   needs    put, symmetric_dest
 *   steps    1
 *   wire     (n - 1) * m
 *   scratch  two words per PE
 *   inplace  safe: source may be this PE's block of dest
 *   result   a copy
 *   source   NVSHMEM, all push; here each PE waits until its peers have entered
 */
CH_FN chorus_status ch_fcollect_direct(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_next_epoch(c, g);
    char *mine = c->dst + c->me * c->stride;
    chorus_status st;

    ch_signal_all(c, CH_WORD_READY, epoch, CH_CREDIT, g);
    st = ch_await_all(c, CH_WORD_READY, epoch, g); /* dest may be written */
    if (st != CHORUS_OK) return st;
    ch_store_all_alternating(c, mine, epoch, g);
    ch_signal_all(c, CH_WORD_DONE, epoch, CH_DATA, g);
    st = ch_await_all(c, CH_WORD_DONE, epoch, g); /* dest is complete */
    return st == CHORUS_OK ? ch_flush(c, g) : st;
}

/*
 * fcollect in messages to all: every PE sends its block to every other PE through sync memory,
 * chunk by chunk, and copies what it receives into dest. With packets or lines it is named
 * all_push, with plain data exchange.
 *
 *   needs    put
 *   steps    c
 *   wire     (n - 1) * m
 *   scratch  two slots of a chunk for each peer
 *   inplace  safe: source may be this PE's block of dest
 *   result   a copy
 *   source   NVSHMEM, all push in LL and LL128; here for blocks of any length, chunk by chunk
 */
CH_FN chorus_status ch_fcollect_push(const struct ch_coll *c, enum ch_cell kind,
                                     struct ch_lanes g)
{
    const struct ch_exchange x = {
        .src = c->src, .src_step = 0, .own = c->src, .dst_step = c->stride};

    return ch_exchange_all(c, kind, x, g);
}

/* No PE waits for others to enter, as with ch_fcollect_direct; the data is copied once more,
 * unless a network stores it in dest. */
CH_FN chorus_status ch_fcollect_push_simple(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_fcollect_push(c, CH_CELL_simple, g);
}

CH_FN chorus_status ch_fcollect_push_ll(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_fcollect_push(c, CH_CELL_ll, g);
}

CH_FN chorus_status ch_fcollect_push_ll128(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_fcollect_push(c, CH_CELL_ll128, g);
}

/*
 * alltoall by direct stores: every PE writes its blocks into the dest of every other PE, after
 * that PE has entered the call.
 *
 *   needs    put, symmetric_dest
 *   steps    1
 *   wire     (n - 1) * m
 *   scratch  two words per PE
 *   inplace  not possible: the call refuses buffers that overlap
 *   result   a copy
 *   source   NVSHMEM, all push; here each PE waits until its peers have entered
 */

/* dst, on every PE = this PE's block for it; each batch is stored to all PEs before the next
 * batch, so that this PE's memory and all links are busy at the same time. The source must not
 * change before ch_flush. */
CH_FN void ch_store_block_to_each(const struct ch_coll *c, char *dst, struct ch_lanes g)
{
    for (uint32_t k = 1; k < c->n && !ch_is_all_mapped(c); k++)
        if (!ch_is_mapped(c, ch_pe_after(c, k)))
            ch_put(c, ch_pe_after(c, k), dst, c->src + ch_pe_after(c, k) * c->stride,
                   ch_bytes(c), g);
    for (struct ch_batch b = ch_batch_first(CH_PLAIN, dst, ch_bytes(c), g); ch_batch_more(&b);
         ch_batch_next(&b))
        for (uint32_t k = 0; k < c->n; k++) {
            const uint32_t peer = ch_pe_after(c, k);
            struct ch_value v;

            if (!ch_is_mapped(c, peer)) continue;
            ch_value_load(&v, c->src + peer * c->stride, &b);
            ch_value_store(ch_peer_address(c, peer, dst), &v, &b);
        }
}

/* ch_store_block_to_each if all PEs are mapped: one after the other, with more loads in
 * flight. */
CH_FN void ch_copy_block_to_each(const struct ch_coll *c, char *dst, struct ch_lanes g)
{
    for (uint32_t k = 0; k < c->n; k++)
        ch_copy_apart(ch_peer_address(c, ch_pe_after(c, k), dst),
                      c->src + ch_pe_after(c, k) * c->stride, ch_bytes(c), g);
}

/* alltoall by direct stores, as described above. */
CH_FN chorus_status ch_alltoall_direct(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_next_epoch(c, g);
    char *mine = c->dst + c->me * c->stride;
    chorus_status st;

    ch_signal_all(c, CH_WORD_READY, epoch, CH_CREDIT, g);
    st = ch_await_all(c, CH_WORD_READY, epoch, g); /* dest may be written */
    if (st != CHORUS_OK) return st;
    if (CH_INSIDE_KERNELS)
        ch_copy_block_to_each(c, mine, g);
    else
        ch_store_block_to_each(c, mine, g);
    ch_signal_all(c, CH_WORD_DONE, epoch, CH_DATA, g);
    st = ch_await_all(c, CH_WORD_DONE, epoch, g); /* dest is complete */
    return st == CHORUS_OK ? ch_flush(c, g) : st;
}

/*
 * alltoall in messages to all: every PE sends each other PE its block through sync memory,
 * chunk by chunk, and copies what it receives into dest. With packets or lines it is named
 * all_push, with plain data exchange.
 *
 *   needs    put
 *   steps    c
 *   wire     (n - 1) * m
 *   scratch  two slots of a chunk for each peer
 *   inplace  not possible: the call refuses buffers that overlap
 *   result   a copy
 *   source   all push of NVSHMEM, which has only the simple protocol
 */
CH_FN chorus_status ch_alltoall_push(const struct ch_coll *c, enum ch_cell kind,
                                     struct ch_lanes g)
{
    const struct ch_exchange x = {.src = c->src,
                                  .src_step = c->stride,
                                  .own = c->src + c->me * c->stride,
                                  .dst_step = c->stride};

    return ch_exchange_all(c, kind, x, g);
}

/* No PE waits for others to enter, as with ch_alltoall_direct; the data is copied once more,
 * unless a network stores it in dest. */
CH_FN chorus_status ch_alltoall_push_simple(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_alltoall_push(c, CH_CELL_simple, g);
}

CH_FN chorus_status ch_alltoall_push_ll(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_alltoall_push(c, CH_CELL_ll, g);
}

CH_FN chorus_status ch_alltoall_push_ll128(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_alltoall_push(c, CH_CELL_ll128, g);
}

/*
 * reduce in one shot: every PE sends its vector to every other PE through sync memory, chunk
 * by chunk, and combines all that it receives.
 *
 *   needs    put
 *   steps    c
 *   wire     (n - 1) * m
 *   scratch  two slots of a chunk for each peer
 *   inplace  safe: a chunk is sent before it is overwritten
 *   result   combined in PE order 0 .. n-1: bitwise equal on every PE
 *   source   NVSHMEM, fcollect and local reduce, on one level; here for any team
 */
CH_FN chorus_status ch_reduce_one_shot(const struct ch_coll *c, enum ch_cell kind,
                                       struct ch_lanes g)
{
    const struct ch_exchange x = {
        .src = c->src, .src_step = 0, .own = c->src, .is_combined = 1};

    return ch_exchange_all(c, kind, x, g);
}

CH_FN chorus_status ch_reduce_one_shot_simple(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_reduce_one_shot(c, CH_CELL_simple, g);
}

CH_FN chorus_status ch_reduce_one_shot_ll(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_reduce_one_shot(c, CH_CELL_ll, g);
}

CH_FN chorus_status ch_reduce_one_shot_ll128(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_reduce_one_shot(c, CH_CELL_ll128, g);
}

/*
 * reduce in two shots by direct loads and stores: each PE loads a batch of its slice from all
 * PEs, combines it and stores it to all PEs, before it goes on to the next batch.
 *
 *   needs    map, symmetric_dest, symmetric_source
 *   steps    2
 *   wire     2 * (n - 1) * s
 *   scratch  two words per PE
 *   inplace  safe: only PE p reads or writes slice p until the last round
 *   result   combined in PE order 0 .. n-1: bitwise equal on every PE
 *   source   the two parts of Rabenseifner (ICCS 2004), reduce-scatter and all-gather, with
 *            direct access to all peers in place of halving and doubling
 */
CH_FN chorus_status ch_reduce_two_shot(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_next_epoch(c, g);
    const struct ch_slice slice = ch_slice_of(c->count, c->n, c->me);
    const size_t at = slice.first * c->elem_bytes, bytes = slice.count * c->elem_bytes;
    chorus_status st;

    ch_signal_all(c, CH_WORD_READY, epoch, CH_ENTRY, g); /* source may be read, dest written */
    st = ch_await_all(c, CH_WORD_READY, epoch, g);
    if (st != CHORUS_OK) return st;
    ch_combine_all(c, c->dst + at, c->src + at, bytes, CH_TO_ALL, g);
    ch_signal_all(c, CH_WORD_DONE, epoch, CH_DATA, g);
    return ch_await_all(c, CH_WORD_DONE, epoch, g); /* dest is complete, source may be reused */
}

/*
 * reducescatter in messages to all: every PE sends each other PE its block through sync
 * memory, chunk by chunk, and combines the blocks that it receives.
 *
 *   needs    put
 *   steps    c
 *   wire     (n - 1) * s
 *   scratch  two slots of a chunk for each peer
 *   inplace  safe for dest = source and for dest = this PE's block of source
 *   result   combined in PE order 0 .. n-1
 *   source   NVSHMEM, all push; here for blocks of any length, chunk by chunk
 */
CH_FN chorus_status ch_reducescatter_push(const struct ch_coll *c, enum ch_cell kind,
                                          struct ch_lanes g)
{
    const struct ch_exchange x = {.src = c->src,
                                  .src_step = c->stride,
                                  .own = c->src + c->me * c->stride,
                                  .is_combined = 1};

    return ch_exchange_all(c, kind, x, g);
}

CH_FN chorus_status ch_reducescatter_push_simple(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_reducescatter_push(c, CH_CELL_simple, g);
}

CH_FN chorus_status ch_reducescatter_push_ll(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_reducescatter_push(c, CH_CELL_ll, g);
}

CH_FN chorus_status ch_reducescatter_push_ll128(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_reducescatter_push(c, CH_CELL_ll128, g);
}

/*
 * reducescatter by direct loads: every PE loads its block from the sources of all PEs and
 * combines them. In place, PE 0 does so before the others, since its block of their sources is
 * where they store their results. Only calls inside kernels do this in place: it takes a second
 * step, and other algorithms do not.
 *
 *   needs    map, apart, symmetric_source
 *   steps    1
 *   wire     (n - 1) * s
 *   scratch  two words per PE
 *   inplace  safe inside kernels: only PE 0 reads the block where the others store
 *   result   combined in PE order 0 .. n-1
 *   source   all push; here the receivers read
 */
CH_FN chorus_status ch_reducescatter_pull(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_next_epoch(c, g);
    chorus_status st;

    ch_signal_all(c, CH_WORD_READY, epoch, CH_ENTRY, g); /* source may be read */
    st = ch_await_all(c, CH_WORD_READY, epoch, g);
    if (st == CHORUS_OK && c->dst == c->src && c->me != 0)
        st = ch_await(c, 0, CH_WORD_DONE, epoch, g);
    if (st != CHORUS_OK) return st;
    ch_combine_all(c, c->dst, c->src + c->me * c->stride, ch_bytes(c), CH_TO_ME, g);
    ch_signal_all(c, CH_WORD_DONE, epoch, CH_CREDIT, g);
    return ch_await_all(c, CH_WORD_DONE, epoch, g); /* source may be reused */
}

#endif /* CH_ALGO_INSIDE_KERNELS_H */
