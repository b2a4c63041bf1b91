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

/* Copy what needs no cells, in the batches of a message, which are little code. dst may be src.
 */
CH_FN void ch_cells_bypass(enum ch_ring ring, const char *src, char *dst, size_t bytes,
                           struct ch_lanes g)
{
    for (struct ch_batch b = ch_batch_first(ring, dst, bytes, g); ch_batch_more(&b);
         ch_batch_next(&b)) {
        struct ch_value v;

        ch_value_load(&v, src, &b);
        ch_value_store(dst, &v, &b);
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

/* Where the data of a set's PEs lies: in the call's slots or in the places of an exchange, but
 * for this one's, which is at `own`; or all as plain data in the CTA's scratch, at p * step. */
enum ch_where { CH_IN_SLOTS, CH_IN_PLACES, CH_IN_SCRATCH };
struct ch_sources {
    struct ch_pes from; /* this PE is one of them */
    const char *own;
    enum ch_where where; /* constant after inlining */
    uint64_t exchange;
    uint32_t step;
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

/* Where source i of a set lies. Without a flag it is at `own`, or i is after the set. */
CH_FN struct ch_slot ch_source(const struct ch_coll *c, enum ch_ring ring,
                               const struct ch_sources *s, uint32_t i)
{
    const uint32_t at = i < s->from.count ? i : 0, pe = ch_pe(c, s->from, at);
    struct ch_slot slot = {c->scratch + pe * s->step, 1, 0};

    if (s->where == CH_IN_SLOTS) slot = c->slots[at];
    if (s->where == CH_IN_PLACES) slot = ch_place(c, ring, c->me, pe, s->exchange);
    if (i >= s->from.count || (pe == c->me && s->where != CH_IN_SCRATCH)) slot.flag = 0;
    return slot;
}

/* Plain data is there: it was waited for as a whole. */
CH_FN void ch_sources_take(const struct ch_coll *c, enum ch_ring ring,
                           const struct ch_sources *s, uint32_t i,
                           const struct ch_slot slots[CH_AHEAD], struct ch_value v[CH_AHEAD],
                           const struct ch_batch *b, chorus_status *st)
{
    struct ch_wanted wanted[CH_AHEAD];

    if (ring == CH_RING_simple || s->where == CH_IN_SCRATCH) {
        CH_EACH_AHEAD (u)
            if (s->where == CH_IN_SCRATCH)
                ch_value_fetch(&v[u], slots[u].memory, b);
            else if (slots[u].flag != 0)
                ch_value_load(&v[u], slots[u].memory, b);
        return;
    }
    CH_EACH_AHEAD (u) {
        wanted[u].cells = slots[u].memory;
        wanted[u].flag = slots[u].flag;
        wanted[u].peer = ch_pe(c, s->from, i + u);
        wanted[u].is_memory = s->where == CH_IN_PLACES || slots[u].flag != 0;
        ch_value_private(&v[u]);
        if (wanted[u].is_memory) ch_value_ask(ring, wanted[u].cells, &v[u], b);
    }
    ch_values_take(c, ring, wanted, v, b, st);
}

/* dst = the data of the set's PEs combined in its order. dst may be own. */
CH_FN void ch_combine(const struct ch_coll *c, enum ch_ring ring, const struct ch_sources *s,
                      char *dst, size_t bytes, struct ch_lanes g, chorus_status *st)
{
    for (struct ch_batch b = ch_batch_first(ring, dst, bytes, g); ch_batch_more(&b);
         ch_batch_next(&b)) {
        struct ch_value v[CH_AHEAD], own;
        struct ch_acc acc;

        if (s->where != CH_IN_SCRATCH) ch_value_load(&own, s->own, &b);
        for (uint32_t i = 0; i < s->from.count; i += CH_AHEAD) {
            struct ch_slot slots[CH_AHEAD];

            CH_EACH_AHEAD (u)
                slots[u] = ch_source(c, ring, s, i + u);
            ch_sources_take(c, ring, s, i, slots, v, &b, st);
            CH_EACH_AHEAD (u)
                if (i + u < s->from.count) {
                    if (s->where != CH_IN_SCRATCH && slots[u].flag == 0)
                        ch_value_share(&v[u], &own);
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
