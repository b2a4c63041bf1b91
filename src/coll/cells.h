/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cells.h: a message of packets or lines, once it is known where it lies, with which flag.
 *
 * Whoever takes one waits for each of its cells by itself: what is on its way is taken as it
 * comes. `ring` is a constant at every call, so only its branch is left after inlining.
 */
#ifndef CH_CELLS_H
#define CH_CELLS_H

#include "coll/batch.h"
#include "coll/pes.h"
#include "coll/vocab.h"

/* Store the message. */
CH_FN void ch_cells_fill(enum ch_ring ring, char *cells, uint64_t flag, const char *src,
                         size_t bytes, struct ch_lanes g)
{
    for (struct ch_batch b = ch_batch_first(ring, src, bytes, g); ch_batch_more(&b);
         ch_batch_next(&b)) {
        struct ch_value v;

        ch_value_load(&v, src, &b);
        ch_value_send(ring, cells, &v, &b, flag);
    }
}

/* Take the message that is next from `peer`. *st keeps the first failure. */
CH_FN void ch_cells_empty(const struct ch_coll *c, enum ch_ring ring, uint32_t peer,
                          const char *cells, uint64_t flag, char *dst, size_t bytes,
                          struct ch_lanes g, chorus_status *st)
{
    for (struct ch_batch b = ch_batch_first(ring, dst, bytes, g); ch_batch_more(&b);
         ch_batch_next(&b)) {
        struct ch_value v;

        ch_value_ask(ring, cells, &v, &b);
        ch_value_stage(&v, dst, &b);
        ch_value_take(c, ring, peer, cells, &v, &b, flag, st);
        ch_value_store(dst, &v, &b);
    }
}

/* Where the data of a set's PEs lies, but for this one's, which is at `own`: in slots, or, if
 * these are null, in the places of an exchange. */
struct ch_sources {
    struct ch_pes from; /* this PE is one of them */
    const char *own;
    const struct ch_slot *slots;
    uint64_t exchange;
};

/* Where the message of `writer` lies on `owner` in the exchange of that number. */
CH_FN struct ch_slot ch_place(const struct ch_coll *c, enum ch_ring ring, uint32_t owner,
                              uint32_t writer, uint64_t exchange)
{
    const uint32_t place = (uint32_t)(exchange % 2) * c->n + writer;
    struct ch_slot slot;

    slot.memory = c->peers[owner].sync + c->sync_offset + c->layout->place_offset[ring] +
                  (size_t)place * c->layout->place_bytes[ring];
    slot.flag = exchange;
    slot.end = 0; /* places have no positions */
    return slot;
}

CH_FN struct ch_slot ch_source(const struct ch_coll *c, enum ch_ring ring,
                               const struct ch_sources *s, uint32_t i)
{
    if (s->slots != 0) return s->slots[i];
    return ch_place(c, ring, c->me, ch_pe(c, s->from, i), s->exchange);
}

/* What simple rings have is plain, and there: it was waited for as a whole. */
CH_FN void ch_source_ask(enum ch_ring ring, const char *cells, struct ch_value *v,
                         const struct ch_batch *b)
{
    if (ring == CH_RING_simple)
        ch_value_load(v, cells, b);
    else
        ch_value_ask(ring, cells, v, b);
}

CH_FN void ch_source_take(const struct ch_coll *c, enum ch_ring ring, uint32_t peer,
                          const struct ch_slot *slot, struct ch_value *v,
                          const struct ch_batch *b, chorus_status *st)
{
    if (ring == CH_RING_simple) return;
    ch_value_private(v);
    ch_value_take(c, ring, peer, slot->memory, v, b, slot->flag, st);
}

/* dst = the data of the set's PEs combined in its order. dst may be own. */
CH_FN void ch_combine(const struct ch_coll *c, enum ch_ring ring, const struct ch_sources *s,
                      char *dst, size_t bytes, struct ch_lanes g, chorus_status *st)
{
    for (struct ch_batch b = ch_batch_first(ring, dst, bytes, g); ch_batch_more(&b);
         ch_batch_next(&b)) {
        struct ch_value v[CH_AHEAD], own;
        struct ch_acc acc;

        ch_value_load(&own, s->own, &b);
        for (uint32_t i = 0; i < s->from.count; i += CH_AHEAD) {
            CH_EACH_AHEAD (u)
                if (i + u < s->from.count && ch_pe(c, s->from, i + u) != c->me)
                    ch_source_ask(ring, ch_source(c, ring, s, i + u).memory, &v[u], &b);
            CH_EACH_AHEAD (u)
                if (i + u < s->from.count) {
                    const uint32_t pe = ch_pe(c, s->from, i + u);
                    const struct ch_slot slot = ch_source(c, ring, s, i + u);

                    if (pe == c->me)
                        ch_value_share(&v[u], &own);
                    else
                        ch_source_take(c, ring, pe, &slot, &v[u], &b, st);
                    if (i + u == 0)
                        ch_acc_first(c, &acc, &v[u], &b);
                    else
                        ch_acc_next(c, &acc, &v[u], &b);
                }
        }
        ch_value_stage(&v[0], dst, &b);
        ch_acc_last(c, &v[0], &acc, &b);
        ch_value_store(dst, &v[0], &b);
    }
}

#endif /* CH_CELLS_H */
