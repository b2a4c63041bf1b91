/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring.h: messages through the rings of sync.h, in one of three protocols.
 *
 * ch_send fills cells of the ring to a peer; ch_recv and ch_fold take them. Landing in sync
 * memory is what makes these safe before the peer has entered the call. A message is at most
 * ch_chunk bytes. A sender waits for room, so a PE must not send a peer more than two chunks
 * that the peer cannot take before it has sent its own.
 * `ring` is a constant at every call, so only its branch is left after inlining.
 *
 * Each of the three begins with a sync: what other lanes left in src, dst and the positions of
 * the ring is there. None ends with one.
 */
#ifndef CH_RING_H
#define CH_RING_H

#include "coll/batch.h"
#include "coll/vocab.h"

CH_FN size_t ch_chunk(const struct ch_coll *c, enum ch_ring ring)
{
    return c->layout->chunk_bytes[ring];
}

CH_FN struct ch_link *ch_link_of(const struct ch_coll *c, enum ch_ring ring, uint32_t peer)
{
    return &c->dup->links[(size_t)ring * c->n + peer];
}

/* The message of `bytes` that this PE sends `peer` next. */
CH_FN struct ch_message ch_outgoing(const struct ch_coll *c, enum ch_ring ring, uint32_t peer,
                                    size_t bytes)
{
    return ch_message_after(c->peers[peer].sync + c->sync_offset, c->layout, ring, c->me,
                            ch_link_of(c, ring, peer)->sent, bytes);
}

/* The message of `bytes` that is next from `peer`. */
CH_FN struct ch_message ch_incoming(const struct ch_coll *c, enum ch_ring ring, uint32_t peer,
                                    size_t bytes)
{
    return ch_message_after(c->peers[c->me].sync + c->sync_offset, c->layout, ring, peer,
                            ch_link_of(c, ring, peer)->taken, bytes);
}

/* Until the cells up to `end` may be filled. */
CH_FN chorus_status ch_wait_for_room(const struct ch_coll *c, enum ch_ring ring, uint32_t peer,
                                     uint64_t end, struct ch_lanes g)
{
    struct ch_link *link = ch_link_of(c, ring, peer);
    const uint64_t cells = (uint64_t)1 << c->layout->cells_log2[ring];
    chorus_status st;

    if (end - link->freed <= cells) return CHORUS_OK;
    st = ch_hear(c, peer, CH_WORD_TAKEN + ring, end - cells, g);
    if (g.lane == 0)
        link->freed = ch_word_load(ch_word_at(c, c->me, CH_WORD_TAKEN + ring, peer));
    return st;
}

/* Send `bytes` (1 to ch_chunk) to `peer`. src may be reused on return. */
CH_FN chorus_status ch_send(const struct ch_coll *c, enum ch_ring ring, uint32_t peer,
                            const char *src, size_t bytes, struct ch_lanes g)
{
    struct ch_message m;
    chorus_status st;

    ch_lanes_sync(g); /* lane 0 has stored `sent`, other lanes their share of src */
    m = ch_outgoing(c, ring, peer, bytes);
    st = ch_wait_for_room(c, ring, peer, m.end, g);
    if (st != CHORUS_OK) return st;
    if (ring == CH_RING_simple) {
        ch_copy(m.memory, src, bytes, g);
        ch_tell(c, peer, CH_WORD_FILLED, m.end, CH_DATA, g); /* pairs with ch_arrived */
    } else {
        struct ch_value v;

        for (struct ch_batch b = ch_batch_first(ring, src, bytes, g); ch_batch_more(&b);
             ch_batch_next(&b)) {
            ch_value_load(&v, src, &b);
            ch_value_send(ring, m.memory, &v, &b, m.flag);
        }
    }
    ch_lanes_sync(g); /* all lanes have read `sent` and stored their share */
    if (g.lane == 0) {
        ch_link_of(c, ring, peer)->sent = m.end;
        if (ring != CH_RING_simple) ch_notify(c->patience, c->peers[peer].door);
    }
    return CHORUS_OK;
}

/* The simple protocol waits for the message as a whole, before any of it is loaded. */
CH_FN chorus_status ch_arrived(const struct ch_coll *c, enum ch_ring ring, uint32_t peer,
                               size_t bytes, struct ch_lanes g)
{
    if (ring != CH_RING_simple) return CHORUS_OK;
    return ch_hear(c, peer, CH_WORD_FILLED, ch_incoming(c, ring, peer, bytes).end, g);
}

/* The message that was next from `peer` is done with; its cells may be filled again. The sender
 * is told after a quarter of a ring: seldom enough to cost nothing, often enough for two chunks
 * to be under way. */
CH_FN void ch_taken(const struct ch_coll *c, enum ch_ring ring, uint32_t peer, size_t bytes,
                    struct ch_lanes g)
{
    struct ch_link *link = ch_link_of(c, ring, peer);
    const struct ch_message m = ch_incoming(c, ring, peer, bytes);

    ch_lanes_sync(g); /* all lanes have read the cells and `taken` */
    if (g.lane != 0) return;
    link->taken = m.end;
    if (m.end - link->told < ((uint64_t)1 << c->layout->cells_log2[ring]) / 4) return;
    link->told = m.end;
    ch_say(c, peer, CH_WORD_TAKEN + ring, m.end, CH_CREDIT); /* pairs with ch_wait_for_room */
}

/* Receive the message of `bytes` that is next from `peer` into dst, this PE's. */
CH_FN chorus_status ch_recv(const struct ch_coll *c, enum ch_ring ring, uint32_t peer,
                            char *dst, size_t bytes, struct ch_lanes g)
{
    struct ch_message m;
    chorus_status st;

    ch_lanes_sync(g); /* lane 0 has stored `taken` */
    m = ch_incoming(c, ring, peer, bytes);
    st = ch_arrived(c, ring, peer, bytes, g);
    if (st != CHORUS_OK) return st;
    if (ring == CH_RING_simple) {
        ch_copy(dst, m.memory, bytes, g);
    } else {
        struct ch_value v;

        for (struct ch_batch b = ch_batch_first(ring, dst, bytes, g); ch_batch_more(&b);
             ch_batch_next(&b)) {
            ch_value_stage(&v, dst, &b);
            ch_value_take(c, ring, peer, m.memory, &v, &b, m.flag, &st);
            ch_value_store(dst, &v, &b);
        }
        st = ch_agree(st, g);
        if (st != CHORUS_OK) return st;
    }
    ch_taken(c, ring, peer, bytes, g);
    return CHORUS_OK;
}

/* The PEs whose data a fold combines: first, first + step, ... (count of them), in this order.
 */
struct ch_sources {
    uint32_t first, step, count;
};

CH_FN uint32_t ch_source(struct ch_sources from, uint32_t i)
{
    return from.first + i * from.step;
}

/* One lane: what source `pe` of a fold contributes to a batch; waits for it. */
CH_FN void ch_source_value(const struct ch_coll *c, enum ch_ring ring, uint32_t pe,
                           const char *own, size_t bytes, struct ch_value *v,
                           const struct ch_batch *b, chorus_status *st)
{
    const struct ch_message m = ch_incoming(c, ring, pe, bytes);

    if (pe == c->me) {
        ch_value_load(v, own, b);
    } else if (ring == CH_RING_simple) {
        ch_value_load(v, m.memory, b);
    } else {
        ch_value_private(v);
        ch_value_take(c, ring, pe, m.memory, v, b, m.flag, st);
    }
}

/*
 * dst = the sources' data combined in their order: `own` for this PE, which is one of them, and
 * the message that is next from each of the others. dst may be own.
 */
CH_FN chorus_status ch_fold(const struct ch_coll *c, enum ch_ring ring, struct ch_sources from,
                            char *dst, const char *own, size_t bytes, struct ch_lanes g)
{
    chorus_status st = CHORUS_OK;

    ch_lanes_sync(g); /* lane 0 has stored `taken` */
    for (uint32_t i = 0; i < from.count && st == CHORUS_OK; i++)
        if (ch_source(from, i) != c->me) st = ch_arrived(c, ring, ch_source(from, i), bytes, g);
    if (st != CHORUS_OK) return st;
    for (struct ch_batch b = ch_batch_first(ring, dst, bytes, g); ch_batch_more(&b);
         ch_batch_next(&b)) {
        struct ch_value v;
        struct ch_acc acc;

        for (uint32_t i = 0; i < from.count; i++) {
            const uint32_t pe = ch_source(from, i);

            ch_source_value(c, ring, pe, own, bytes, &v, &b, &st);
            if (i == 0)
                ch_acc_first(c, &acc, &v, &b);
            else
                ch_acc_next(c, &acc, &v, &b);
        }
        ch_value_stage(&v, dst, &b);
        ch_acc_last(c, &v, &acc, &b);
        ch_value_store(dst, &v, &b);
    }
    st = ch_agree(st, g);
    for (uint32_t i = 0; i < from.count && st == CHORUS_OK; i++)
        if (ch_source(from, i) != c->me) ch_taken(c, ring, ch_source(from, i), bytes, g);
    return st;
}

#endif /* CH_RING_H */
