/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce_rounds.h: reduce in rounds, in each of which a PE combines data of few others: by
 * recursive exchange, by halving and doubling, and along a ring; and reduce whose result only
 * the root gets.
 */
#ifndef CH_ALGO_REDUCE_ROUNDS_H
#define CH_ALGO_REDUCE_ROUNDS_H

#include "coll/primitives/cells.h"
#include "coll/primitives/fifo.h"
#include "coll/primitives/primitives.h"
#include "coll/shape_rounds.h"

/*
 * reduce by recursive exchange with radix k, for any n: in each round a PE exchanges its
 * partial result with k - 1 other PEs, and combines.
 *
 *   needs    put, whole
 *   steps    c * ch_exchanges(n, k)
 *   wire     ch_exchange_fan(n, k) * m
 *   scratch  a FIFO to each partner
 *   inplace  safe: a chunk is sent before it is overwritten
 *   result   combined in one order on all PEs, by the digits of the PE number in base k:
 *            bitwise equal on every PE
 *   source   NVSHMEM, recursive exchange; here for any team and any n, the remainder folded
 *            as by Thakur, Rabenseifner and Gropp (2005)
 *
 * Let p = t * k^r be the largest such number <= n with t < k. The first p PEs take part, in r
 * rounds of groups of k PEs and one round of groups of t. Each of the other PEs, fewer than
 * k^r, sends its vector to one of the p PEs before, and receives the result from it
 * afterwards.
 */

/* One chunk among the first p PEs: round by round, in groups of PEs at distance `span`. `own`
 * is the first partial result of this PE, and may be acc. */
CH_PART chorus_status ch_recursive_rounds(const struct ch_coll *c, enum ch_cell kind,
                                          uint32_t p, char *acc, const char *own, size_t bytes,
                                          struct ch_lanes g)
{
    for (uint32_t span = 1; span < p; span *= c->radix) {
        const uint32_t pes = (uint32_t)ch_exchange_group(p, c->radix, span);
        const uint32_t digit = c->me / span % pes;
        const struct ch_pes group = {c->me - digit * span, span, pes};
        chorus_status st = ch_send_lent(c, kind, group, own, bytes, g);

        if (st == CHORUS_OK && kind == CH_CELL_simple) st = ch_flush_lent(c, bytes, g);
        if (st == CHORUS_OK) st = ch_recv_combine(c, kind, group, acc, own, bytes, g);
        if (st != CHORUS_OK) return st;
        own = acc;
    }
    return CHORUS_OK;
}

/* One chunk on one of the first p PEs, which also combines the vector of PE me + p. */
CH_PART chorus_status ch_recursive_inner(const struct ch_coll *c, enum ch_cell kind, uint32_t p,
                                         char *dst, const char *src, size_t bytes,
                                         struct ch_lanes g)
{
    const struct ch_pes folded = {c->me, p, c->me + p < c->n ? 2u : 1u};
    const int is_alone =
        folded.count == 1 && p > 1; /* the first partial result is then its source */
    chorus_status st =
        is_alone ? CHORUS_OK : ch_recv_combine(c, kind, folded, dst, src, bytes, g);

    if (st == CHORUS_OK)
        st = ch_recursive_rounds(c, kind, p, dst, is_alone ? src : dst, bytes, g);
    return st == CHORUS_OK ? ch_send(c, kind, folded, dst, 0, bytes, g) : st;
}

/* One chunk on one of the other PEs: send it to PE me % p, and receive the result from
 * there. */
CH_PART chorus_status ch_recursive_outer(const struct ch_coll *c, enum ch_cell kind, uint32_t p,
                                         char *dst, const char *src, size_t bytes,
                                         struct ch_lanes g)
{
    const uint32_t inner = c->me % p;
    const chorus_status st = ch_send(c, kind, ch_pes_one(inner), src, 0, bytes, g);

    return st == CHORUS_OK ? ch_recv(c, kind, inner, dst, bytes, g) : st;
}

/* reduce by recursive exchange, as described above: chunk by chunk. */
CH_FN chorus_status ch_reduce_recursive(const struct ch_coll *c, enum ch_cell kind,
                                        struct ch_lanes g)
{
    const uint32_t p = (uint32_t)ch_exchange_pes(c->n, c->radix);
    const size_t bytes = ch_bytes(c);

    for (size_t at = 0, part; at < bytes; at += part) {
        chorus_status st;

        part = ch_chunk_bytes_at(c, kind, at);
        st = c->me < p ? ch_recursive_inner(c, kind, p, c->dst + at, c->src + at, part, g)
                       : ch_recursive_outer(c, kind, p, c->dst + at, c->src + at, part, g);
        if (st != CHORUS_OK) return st;
    }
    return CHORUS_OK;
}

CH_FN chorus_status ch_reduce_recursive_simple(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_reduce_recursive(c, CH_CELL_simple, g);
}

CH_FN chorus_status ch_reduce_recursive_ll(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_reduce_recursive(c, CH_CELL_ll, g);
}

/*
 * reduce by recursive halving and doubling with radix k, for any n, by direct access to the
 * memory of the peers.
 *
 *   needs    map, whole, symmetric_dest, symmetric_source
 *   steps    ch_halving_steps(n, k)
 *   wire     ch_halving_wire(n, k, m, e)
 *   scratch  two words per PE; dest holds partial results
 *   inplace  safe: a slice of source or dest is read by one PE alone, before that PE writes
 *            it
 *   result   each element combined by one PE, in groups by the digits of the PE number in
 *            base k: bitwise equal on every PE
 *   source   Rabenseifner (ICCS 2004), radix k, with direct access to peers; the groups of
 *            reduce:recursive_exchange
 *
 * In the first round, PEs with neighbouring numbers exchange data. Most of the data is thus
 * exchanged within a socket, and about a k-th of each vector between sockets. The first p PEs
 * take part, with p as in reduce:recursive_exchange. The sources of each other PE `me` are read
 * by the first group of PE me - p, which also writes the result into its dest.
 */

/* A round: the PEs whose vectors are combined, and the slice of them that this PE combines. */
struct ch_round {
    struct ch_pes group, rest; /* number of PEs that do not take part */
    struct ch_slice mine;
};

/* The round of PE `me`, of the p PEs that take part, in which groups consist of PEs at distance
 * `span`. */
CH_FN struct ch_round ch_round_of(const struct ch_coll *c, uint32_t p, uint32_t me,
                                  uint32_t span)
{
    struct ch_round r = {{me, 1, 1}, {me + p, 1, 0}, {0, c->count}};

    for (uint32_t s = 1; s <= span; s *= c->radix) {
        const uint32_t pes = (uint32_t)ch_exchange_group(p, c->radix, s);
        const uint32_t digit = me / s % pes;
        const struct ch_slice share = ch_slice_of(r.mine.count, pes, digit);

        r.mine.first += share.first;
        r.mine.count = share.count;
        r.group.first = me - digit * s;
        r.group.step = s;
        r.group.count = pes;
    }
    r.rest.first = r.group.first + p;
    r.rest.step = 1;
    r.rest.count = span > 1 || r.rest.first >= c->n
                       ? 0
                       : (uint32_t)ch_min(r.group.count, c->n - r.rest.first);
    return r;
}

/* PE i of a round: first those of the group, then those that do not take part. */
CH_FN uint32_t ch_round_pe(const struct ch_round *r, uint32_t i)
{
    return i < r->group.count ? r->group.first + i * r->group.step
                              : r->rest.first + i - r->group.count;
}

/* dst = this PE's slice of the vectors at src of the round's PEs, combined. */
CH_FN void ch_round_combine(const struct ch_coll *c, const struct ch_round *r, const char *src,
                            struct ch_lanes g)
{
    const uint32_t count = r->group.count + r->rest.count;
    const size_t at = r->mine.first * c->elem_bytes;

    for (uint32_t i = g.lane; i < count; i += g.width)
        c->slots[i].memory = ch_peer_address(c, ch_round_pe(r, i), src + at);
    ch_combine_slots(c, c->dst + at, count, r->mine.count * c->elem_bytes, g);
}

/* Write this PE's slice of dst to the other PEs of the group. */
CH_FN void ch_round_store_slice(const struct ch_coll *c, const struct ch_round *r,
                                struct ch_lanes g)
{
    char *at = c->dst + r->mine.first * c->elem_bytes;

    for (uint32_t i = 0; i < r->group.count; i++) {
        const uint32_t pe = ch_round_pe(r, i);

        if (pe != c->me)
            ch_copy(ch_peer_address(c, pe, at), at, r->mine.count * c->elem_bytes, g);
    }
}

/* ch_signal to the other PEs of the group. */
CH_FN void ch_round_signal(const struct ch_coll *c, const struct ch_round *r, uint32_t word,
                           uint64_t value, enum ch_sense sense, struct ch_lanes g)
{
    ch_lanes_sync(g); /* other lanes' accesses precede the stores */
    for (uint32_t i = g.lane; i < r->group.count; i += g.width)
        if (ch_round_pe(r, i) != c->me)
            ch_lane_signal(c, ch_round_pe(r, i), word, value, sense);
}

/* ch_await from the first `count` PEs of the round. */
CH_FN chorus_status ch_round_await(const struct ch_coll *c, const struct ch_round *r,
                                   uint32_t count, uint32_t word, uint64_t least,
                                   struct ch_lanes g)
{
    chorus_status st = CHORUS_OK;

    for (uint32_t i = g.lane; i < count && st == CHORUS_OK; i += g.width)
        if (ch_round_pe(r, i) != c->me) st = ch_lane_await(c, ch_round_pe(r, i), word, least);
    return ch_lanes_agree(st, g);
}

/* Halving: in each round, a PE combines a smaller slice of more PEs. */
CH_FN chorus_status ch_halving_rounds(const struct ch_coll *c, uint32_t p, uint64_t epoch,
                                      struct ch_lanes g)
{
    for (uint32_t span = 1; span < p; span *= c->radix) {
        const struct ch_round r = ch_round_of(c, p, c->me, span);
        const uint32_t word = span == 1 ? CH_WORD_READY : CH_WORD_DONE;
        chorus_status st;

        /* source, or the combined part of dest, may be read; dest may be written */
        ch_round_signal(c, &r, word, epoch, span == 1 ? CH_ENTRY : CH_DATA, g);
        st = ch_round_await(c, &r, r.group.count + r.rest.count, word, epoch, g);
        if (st != CHORUS_OK) return st;
        ch_round_combine(c, &r, span == 1 ? c->src : c->dst, g);
    }
    return CHORUS_OK;
}

/* Doubling: the same rounds in reverse order; each PE writes its slice into the dest of its
 * group. */
CH_FN chorus_status ch_doubling_rounds(const struct ch_coll *c, uint32_t p, uint64_t epoch,
                                       struct ch_lanes g)
{
    for (uint32_t span = (uint32_t)ch_last_span(p, c->radix); span > 0; span /= c->radix) {
        const struct ch_round r = ch_round_of(c, p, c->me, span);
        chorus_status st;

        ch_lanes_sync(g); /* each lane writes data that others have combined */
        ch_round_store_slice(c, &r, g);
        ch_round_signal(c, &r, CH_WORD_DONE, epoch, CH_DATA, g);
        st = ch_round_await(c, &r, r.group.count, CH_WORD_DONE, epoch, g);
        if (st != CHORUS_OK) return st;
    }
    return CHORUS_OK;
}

/* reduce by recursive halving and doubling, as described above. */
CH_FN chorus_status ch_reduce_halving(const struct ch_coll *c, struct ch_lanes g)
{
    const uint32_t p = (uint32_t)ch_exchange_pes(c->n, c->radix);
    const uint64_t halving = ch_next_epochs(c, 2, g), doubling = halving + 1;
    chorus_status st;

    if (c->n == 1) {
        ch_copy(c->dst, c->src, ch_bytes(c), g);
        return CHORUS_OK;
    }
    if (c->me >= p) {
        const struct ch_round r = ch_round_of(c, p, c->me - p, 1);

        ch_round_signal(c, &r, CH_WORD_READY, halving, CH_ENTRY, g);
        return ch_await(c, c->me - p, CH_WORD_DONE, doubling, g);
    }
    st = ch_halving_rounds(c, p, halving, g);
    if (st == CHORUS_OK) st = ch_doubling_rounds(c, p, doubling, g);
    if (st != CHORUS_OK || c->me + p >= c->n) return st;
    ch_copy(ch_peer_address(c, c->me + p, c->dst), c->dst, ch_bytes(c), g);
    ch_signal(c, c->me + p, CH_WORD_DONE, doubling, CH_DATA, g);
    return CHORUS_OK;
}

/*
 * reduce along a ring: a reduce-scatter and then an all-gather, each of which sends slices
 * from PE to PE.
 *
 *   needs    put, whole
 *   steps    2 * (n - 1) * ch_divide_up(c, 2 * n)
 *   wire     2 * m - ch_least_two(m, e, n)
 *   scratch  a FIFO to the next PE
 *   inplace  safe: a slice of source is read before dest has its result
 *   result   slice p combined in the order p, p + 1 .. p - 1, by one PE each, and then
 *            forwarded: bitwise equal on every PE
 *   source   Patarasu and Yuan (2009); two messages of each slice are in flight
 */

/*
 * Turn `t` of 0 .. 2 n - 2 for one leg (0 or 1) of the slices of a piece, `count` elements at
 * byte `at`: this PE receives a slice from the previous PE, except in turn 0, and sends it to
 * the next, except in the last turn. Slice p starts at PE p, is complete after n - 1 turns, on
 * PE p - 1, and has reached all PEs after n - 1 more.
 */
CH_FN chorus_status ch_reduce_ring_turn(const struct ch_coll *c, size_t at, size_t count,
                                        uint32_t t, uint32_t leg, struct ch_lanes g)
{
    const uint32_t p = (c->me + 2 * c->n - t) % c->n;
    const struct ch_slice slice = ch_slice_of(count, c->n, p);
    const struct ch_leg l = ch_leg_of(c, slice.count * c->elem_bytes, leg);
    const size_t from = at + slice.first * c->elem_bytes + l.first;
    chorus_status st;

    if (l.bytes == 0) return CHORUS_OK;
    if (t == 0)
        return ch_send(c, CH_CELL_simple, ch_pes_one(ch_next_pe(c)), c->src + from, 0, l.bytes,
                       g);
    if (t < c->n - 1) return ch_recv_combine_send(c, c->src + from, l.bytes, g);
    if (t == c->n - 1)
        st = ch_recv_combine_prev(c, c->dst + from, c->src + from, l.bytes, g);
    else
        st = ch_recv(c, CH_CELL_simple, ch_prev_pe(c), c->dst + from, l.bytes, g);
    if (st != CHORUS_OK || t == 2 * c->n - 2) return st;
    return ch_send(c, CH_CELL_simple, ch_pes_one(ch_next_pe(c)), c->dst + from, 0, l.bytes, g);
}

/* reduce along a ring, as described above: piece by piece. */
CH_FN chorus_status ch_reduce_ring(const struct ch_coll *c, struct ch_lanes g)
{
    const size_t most = c->n * (ch_relay_bytes(c) / c->elem_bytes);

    if (c->n == 1) {
        ch_copy(c->dst, c->src, ch_bytes(c), g);
        return CHORUS_OK;
    }
    for (size_t done = 0; done < c->count; done += most)
        for (uint32_t i = 0; i < CH_LEGS * (2 * c->n - 1); i++) {
            const chorus_status st =
                ch_reduce_ring_turn(c, done * c->elem_bytes, ch_min(most, c->count - done),
                                    i / CH_LEGS, i % CH_LEGS, g);

            if (st != CHORUS_OK) return st;
        }
    return CHORUS_OK;
}

/*
 * reduce_to in one shot by direct loads: the root reads the sources of all PEs and combines
 * them.
 *
 *   needs    map, symmetric_source
 *   steps    1
 *   wire     (n - 1) * m
 *   scratch  two words per PE
 *   inplace  safe: the root reads a batch of all sources before it stores their combination
 *   result   combined in PE order 0..n-1
 *   source   reduce in one shot by loads, with one PE that reads
 */
CH_FN chorus_status ch_reduce_to_pull(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_next_epoch(c, g);
    chorus_status st;

    if (c->me != c->root) {
        ch_signal(c, c->root, CH_WORD_READY, epoch, CH_ENTRY, g);
        return ch_await(c, c->root, CH_WORD_DONE, epoch, g); /* source may be reused */
    }
    st = ch_await_all(c, CH_WORD_READY, epoch, g); /* sources may be read */
    if (st != CHORUS_OK) return st;
    ch_combine_all(c, c->dst, c->src, ch_bytes(c), CH_TO_ME, g);
    ch_signal_all(c, CH_WORD_DONE, epoch, CH_CREDIT, g);
    return CHORUS_OK;
}

/*
 * reduce_to in one shot: every PE sends its source to the root through sync memory, and the
 * root combines them.
 *
 *   needs    put
 *   steps    1
 *   wire     m
 *   scratch  a FIFO for each peer
 *   inplace  safe: the root combines a chunk where its own chunk is
 *   result   combined in PE order 0..n-1
 *   source   reduce in one shot, with one PE that receives
 */
CH_FN chorus_status ch_reduce_to_one_shot(const struct ch_coll *c, enum ch_cell kind,
                                          struct ch_lanes g)
{
    const int is_root = c->me == c->root;
    chorus_status st = CHORUS_OK;

    for (size_t at = 0; at < ch_bytes(c) && st == CHORUS_OK;) {
        const size_t bytes = ch_chunk_bytes_at(c, kind, at);

        st = is_root
                 ? ch_recv_combine(c, kind, ch_pes_all(c), c->dst + at, c->src + at, bytes, g)
                 : ch_send(c, kind, ch_pes_one(c->root), c->src + at, 0, bytes, g);
        at += bytes;
    }
    return st;
}

CH_FN chorus_status ch_reduce_to_one_shot_simple(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_reduce_to_one_shot(c, CH_CELL_simple, g);
}

CH_FN chorus_status ch_reduce_to_one_shot_ll(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_reduce_to_one_shot(c, CH_CELL_ll, g);
}

#endif /* CH_ALGO_REDUCE_ROUNDS_H */
