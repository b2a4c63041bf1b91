/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broadcast.h: broadcast by stores to all, along trees, by a board, in slices and by multicast.
 * Those by loads and in messages to all are in inside_kernels.h, those of several hosts in
 * broadcast_levels.h.
 */
#ifndef CH_ALGO_BROADCAST_H
#define CH_ALGO_BROADCAST_H

#include "coll/primitives/board.h"
#include "coll/primitives/fifo.h"
#include "coll/primitives/multicast.h"
#include "coll/primitives/primitives.h"

/*
 * broadcast by direct stores: the root writes into the dest of every other PE, one batch of
 * data into all of them before the next batch.
 *
 *   needs    put, symmetric_dest
 *   steps    1
 *   wire     (n - 1) * m
 *   scratch  two words per PE
 *   inplace  safe: dest may be source
 *   result   a copy
 *   source   NVSHMEM, put to all; here the root waits until each peer has entered
 */
CH_FN chorus_status ch_broadcast_put_to_all(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_next_epoch(c, g);
    chorus_status st;

    if (c->me != c->root) {
        ch_signal(c, c->root, CH_WORD_READY, epoch, CH_CREDIT, g);
        return ch_await(c, c->root, CH_WORD_DONE, epoch, g);
    }
    st = ch_await_all(c, CH_WORD_READY, epoch, g); /* dest may be written */
    if (st != CHORUS_OK) return st;
    ch_store_all(c, c->dst, c->src, ch_bytes(c), g);
    ch_signal_all(c, CH_WORD_DONE, epoch, CH_DATA, g);
    return ch_flush(c, g);
}

/*
 * broadcast along a k-ary tree, a chunk at a time: each PE forwards what it receives to its k
 * children, through FIFOs.
 *
 *   needs    put
 *   steps    ch_depth(n, k)
 *   wire     ch_min(k, n - 1) * m
 *   scratch  FIFOs to the children
 *   inplace  safe: dest may be source
 *   result   a copy
 *   source   NVSHMEM, k-ary flat tree in LL; here for messages of any length, chunk by chunk
 */

/* The PE at a position in the tree. Positions are relative to the root: its children are the
 * positions 1 .. k, the children of 1 are k + 1 and so on. */
CH_FN uint32_t ch_tree_pe(const struct ch_coll *c, uint32_t position)
{
    const uint32_t pe = c->root + position;

    return pe < c->n ? pe : pe - c->n;
}

/* The PE that is the parent of a position. A division takes many instructions on a GPU, on
 * which teams are small. */
CH_FN uint32_t ch_tree_parent(const struct ch_coll *c, uint32_t position)
{
    return ch_tree_pe(c, position <= c->radix ? 0 : (position - 1) / c->radix);
}

/* Send `bytes` to the children of a position. from must not change before ch_flush_lent. */
CH_FN chorus_status ch_tree_send(const struct ch_coll *c, enum ch_cell kind, uint32_t position,
                                 const char *from, size_t bytes, struct ch_lanes g)
{
    const uint64_t first = (uint64_t)position * c->radix + 1,
                   end = ch_min(first + c->radix, c->n);
    struct ch_pes children;

    if (first >= end) return CHORUS_OK;
    children.first = ch_tree_pe(c, (uint32_t)first);
    children.step = 1;
    children.count = (uint32_t)(end - first);
    return ch_send_lent(c, kind, children, from, bytes, g);
}

/* Receive and forward all chunks of the call, without its end: lent data is still to be
 * flushed. */
CH_FN chorus_status ch_tree_forward(const struct ch_coll *c, enum ch_cell kind,
                                    struct ch_lanes g)
{
    const uint32_t position = c->me >= c->root ? c->me - c->root : c->me + c->n - c->root;
    const size_t bytes = ch_bytes(c);
    const char *from = c->me == c->root ? c->src : c->dst;
    chorus_status st = CHORUS_OK;

    for (size_t at = 0, part; at < bytes; at += part) {
        part = ch_chunk_bytes_at(c, kind, at);
        if (c->me != c->root) {
            st = ch_recv(c, kind, ch_tree_parent(c, position), c->dst + at, part, g);
            if (st != CHORUS_OK) return st;
        }
        st = ch_tree_send(c, kind, position, from + at, part, g);
        if (st != CHORUS_OK) return st;
    }
    if (c->me == c->root && c->dst != c->src) ch_copy_apart(c->dst, c->src, bytes, g);
    return CHORUS_OK;
}

/* broadcast along a k-ary tree, as described above. */
CH_FN chorus_status ch_broadcast_tree(const struct ch_coll *c, enum ch_cell kind,
                                      struct ch_lanes g)
{
    const chorus_status st = ch_tree_forward(c, kind, g);

    if (st != CHORUS_OK || kind != CH_CELL_simple) return st;
    return ch_flush_lent(c, ch_bytes(c), g);
}

CH_PART chorus_status ch_broadcast_tree_simple(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_broadcast_tree(c, CH_CELL_simple, g);
}

CH_FN chorus_status ch_broadcast_tree_ll(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_broadcast_tree(c, CH_CELL_ll, g);
}

CH_FN chorus_status ch_broadcast_tree_ll128(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_broadcast_tree(c, CH_CELL_ll128, g);
}

/*
 * broadcast along a chain: each PE forwards the message to the next PE, a chunk at a time.
 *
 *   needs    put
 *   steps    n - 1
 *   wire     m
 *   scratch  a FIFO to the next PE
 *   inplace  safe: dest may be source
 *   result   a copy
 *   source   pipelined chain, as in Open MPI's coll/tuned
 */
CH_FN chorus_status ch_broadcast_chain(const struct ch_coll *c, struct ch_lanes g)
{
    struct ch_coll chain = *c;

    chain.radix = 1;
    return ch_broadcast_tree(&chain, CH_CELL_simple, g);
}

/*
 * broadcast by a board: the root stores its message once, in its own sync memory, and every
 * other PE loads it from there, chunk by chunk. The root waits for no PE.
 *
 *   needs    map
 *   steps    1
 *   wire     m
 *   scratch  the root's board
 *   inplace  safe: dest may be source
 *   result   a copy
 *   source   of this library; pull, through sync memory
 */
CH_FN chorus_status ch_broadcast_board(const struct ch_coll *c, enum ch_cell kind,
                                       struct ch_lanes g)
{
    const size_t bytes = ch_bytes(c);
    chorus_status st = CHORUS_OK;

    for (size_t at = 0, part; at < bytes && c->n > 1 && st == CHORUS_OK; at += part) {
        part = ch_chunk_bytes_at(c, kind, at);
        st = c->me == c->root ? ch_board_post(c, kind, c->src + at, part, g)
                              : ch_board_read(c, kind, c->root, c->dst + at, part, g);
    }
    if (c->me == c->root && st == CHORUS_OK) ch_copy_apart(c->dst, c->src, bytes, g);
    return st;
}

CH_FN chorus_status ch_broadcast_board_simple(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_broadcast_board(c, CH_CELL_simple, g);
}

CH_FN chorus_status ch_broadcast_board_ll(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_broadcast_board(c, CH_CELL_ll, g);
}

CH_FN chorus_status ch_broadcast_board_ll128(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_broadcast_board(c, CH_CELL_ll128, g);
}

/*
 * broadcast by scatter and all-gather: each PE but the root reads one slice of the root's
 * source and writes it into the dest of all PEs.
 *
 *   needs    map, symmetric_dest, symmetric_source
 *   steps    ch_min(2, n - 1)
 *   wire     (n - 1) * ch_most_grains(m, n - 1)
 *   scratch  two words per PE
 *   inplace  safe: dest may be source
 *   result   a copy
 *   source   van de Geijn's scatter and collect (1994), with direct access to all peers;
 *            there are n - 1 slices, so that the root's link carries m bytes and no more
 */

/* Copy [at, at + bytes) of the root's source into the dest of all PEs but the root. */
CH_FN void ch_broadcast_copy_slice(const struct ch_coll *c, size_t at, size_t bytes,
                                   struct ch_lanes g)
{
    char *dst = c->dst + at;

    for (struct ch_batch b = ch_batch_first(CH_PLAIN, dst, bytes, g); ch_batch_more(&b);
         ch_batch_next(&b)) {
        struct ch_value v;

        ch_value_load(&v, ch_peer_address(c, c->root, c->src + at), &b);
        for (uint32_t k = 0; k < c->n; k++)
            if (ch_pe_after(c, k) != c->root)
                ch_value_store(ch_peer_address(c, ch_pe_after(c, k), dst), &v, &b);
    }
}

/* Signal the root that its source may be reused, and the other PEs that they have this PE's
 * slice. */
CH_FN void ch_broadcast_signal_done(const struct ch_coll *c, uint64_t epoch, struct ch_lanes g)
{
    ch_lanes_sync(g); /* other lanes' accesses precede the stores */
    for (uint32_t k = 1 + g.lane; k < c->n; k += g.width) {
        const uint32_t peer = ch_pe_after(c, k);

        ch_lane_signal(c, peer, CH_WORD_DONE, epoch, peer == c->root ? CH_CREDIT : CH_DATA);
    }
}

/* Wait until `word` of all PEs except the root is at least `least`. */
CH_FN chorus_status ch_broadcast_await_others(const struct ch_coll *c, uint32_t word,
                                              uint64_t least, struct ch_lanes g)
{
    chorus_status st = CHORUS_OK;

    for (uint32_t k = 1 + g.lane; k < c->n && st == CHORUS_OK; k += g.width)
        if (ch_pe_after(c, k) != c->root) st = ch_lane_await(c, ch_pe_after(c, k), word, least);
    return ch_lanes_agree(st, g);
}

/* broadcast by scatter and all-gather, as described above. */
CH_FN chorus_status ch_broadcast_scatter(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_next_epoch(c, g);

    /* The root's source may be read, and the dest of the others written. */
    ch_signal_all(c, CH_WORD_READY, epoch, c->me == c->root ? CH_ENTRY : CH_CREDIT, g);
    if (c->me == c->root) {
        ch_copy(c->dst, c->src, ch_bytes(c), g);
    } else {
        const uint32_t p = (c->me + c->n - c->root) % c->n - 1;
        const struct ch_slice slice = ch_grains_of(ch_bytes(c), c->n - 1, p);
        const chorus_status st = ch_await_all(c, CH_WORD_READY, epoch, g);

        if (st != CHORUS_OK) return st;
        ch_broadcast_copy_slice(c, slice.first, slice.count, g);
        ch_broadcast_signal_done(c, epoch, g);
    }
    /* dest is complete, and the root's source may be reused */
    return ch_broadcast_await_others(c, CH_WORD_DONE, epoch, g);
}

/*
 * broadcast by multicast: one store of the root reaches the dest of all PEs, after all have
 * entered the call.
 *
 *   needs    map, multicast, symmetric_dest
 *   steps    1
 *   wire     (n - 1) * m
 *   scratch  two words per PE
 *   inplace  safe: dest may be source
 *   result   a copy
 *   source   put to all of NVSHMEM, with one store in place of n - 1
 */
CH_FN chorus_status ch_broadcast_multicast(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_next_epoch(c, g);
    chorus_status st;

    if (c->me != c->root) {
        ch_signal(c, c->root, CH_WORD_READY, epoch, CH_CREDIT, g); /* dest may be written */
        return ch_await(c, c->root, CH_WORD_DONE, epoch, g);
    }
    st = ch_await_all(c, CH_WORD_READY, epoch, g);
    if (st != CHORUS_OK) return st;
    ch_multicast_store(c, c->dst, c->src, ch_bytes(c), g);
    ch_multicast_signal(c, CH_WORD_DONE, epoch, CH_DATA, g);
    return CHORUS_OK;
}

#endif /* CH_ALGO_BROADCAST_H */
