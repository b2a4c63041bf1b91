/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cells.h: sets of PEs, how the lanes of a CTA divide the PEs of a set among them, and messages
 * of packets or lines whose address and flag are known.
 *
 * The receiver waits for each cell separately, so it can read the first cells while the others
 * are still being stored. `kind` is a constant at every call, so only its branch is left after
 * inlining.
 */
#ifndef CH_CELLS_H
#define CH_CELLS_H

#include "coll/coll.h"
#include "coll/primitives/batch.h"
#include "coll/primitives/primitives.h"
#include "coll/shape.h"

/* --- sets of PEs -------------------------------------------------------------------------- */

/* PEs first, first + step, ... (`count` of them), modulo the team. */
struct ch_pes {
    uint32_t first, step, count;
};

/* PE i of a set. */
CH_FN uint32_t ch_pes_at(const struct ch_coll *c, struct ch_pes pes, uint32_t i)
{
    const uint32_t pe = pes.first + i * pes.step;

    return pe < c->n ? pe : pe - c->n;
}

/* The set of one PE. */
CH_FN struct ch_pes ch_pes_one(uint32_t pe)
{
    const struct ch_pes one = {pe, 0, 1};

    return one;
}

/* All PEs of the team. */
CH_FN struct ch_pes ch_pes_all(const struct ch_coll *c)
{
    const struct ch_pes all = {0, 1, c->n};

    return all;
}

/* All PEs except this one, beginning after it. */
CH_FN struct ch_pes ch_pes_others(const struct ch_coll *c)
{
    const struct ch_pes others = {ch_pe_after(c, 1), 1, c->n - 1};

    return others;
}

/* A set divided among lanes: in groups, each for every `step`-th PE from `first` on. */
struct ch_turns {
    uint32_t first, step;
    struct ch_lanes lanes;
};

/* This lane's share if the lanes of g divide a set of `count` PEs. Computed without branches,
 * because a kernel needs the result before it waits for its turn, and again after that:
 * compilers keep equal expressions, but compute equal branches again. */
CH_FN struct ch_turns ch_turns_of(uint32_t count, struct ch_lanes g)
{
    const struct ch_turns all = {0, 1, g};
    const uint32_t units_log2 = ch_log2((uint32_t)ch_max(g.width / CH_LANES_UNIT, 1));
    const uint32_t count_log2 = ch_log2(2 * (uint32_t)ch_max(count, 1) - 1); /* rounded up */
    const uint32_t groups_log2 = (uint32_t)ch_min(count_log2, units_log2);
    const uint32_t width_log2 = ch_log2(g.width) - groups_log2;
    struct ch_turns own;

    if (groups_log2 == 0 && !ch_is_power(g.width)) return all;
    own.lanes = g;
    own.step = 1u << groups_log2;
    own.first = g.lane >> width_log2;
    /* There are more lanes than needed, or more groups than PEs. The address of the first PE is
     * computed in any case, and place `count` of a set of all other PEs is this PE. */
    if (own.first >= (uint32_t)ch_min(own.step, count)) own.first = count;
    own.lanes.width = 1u << width_log2;
    own.lanes.lane = g.lane & (own.lanes.width - 1);
    return own;
}

/* --- messages ----------------------------------------------------------------------------- */

/* Store the `bytes` at src as packets or lines with this flag at `cells`, in the receiver's
 * memory. */
CH_FN void ch_cells_send(enum ch_cell kind, char *cells, uint64_t flag, const char *src,
                         size_t bytes, struct ch_lanes g)
{
    for (struct ch_batch b = ch_batch_first(kind, src, bytes, g); ch_batch_more(&b);
         ch_batch_next(&b)) {
        struct ch_value v;

        ch_value_load(&v, src, &b);
        ch_value_send(kind, cells, &v, &b, flag);
    }
}

/* Copy plain data in the batches of a message, which need little code. dst may be src. */
CH_FN void ch_cells_copy_plain(enum ch_cell kind, const char *src, char *dst, size_t bytes,
                               struct ch_lanes g)
{
    for (struct ch_batch b = ch_batch_first(kind, dst, bytes, g); ch_batch_more(&b);
         ch_batch_next(&b)) {
        struct ch_value v;

        ch_value_load_more(&v, src, &b);
        ch_value_store(dst, &v, &b);
    }
}

/* Receive `bytes` into dst: the message from `peer` whose packets or lines with this flag
 * arrive at `cells`. *st keeps the first failure. */
CH_FN void ch_cells_recv(const struct ch_coll *c, enum ch_cell kind, uint32_t peer,
                         const char *cells, uint64_t flag, char *dst, size_t bytes,
                         struct ch_lanes g, chorus_status *st)
{
    for (struct ch_batch b = ch_batch_first(kind, dst, bytes, g); ch_batch_more(&b);
         ch_batch_next(&b)) {
        struct ch_value v;

        ch_value_poll(kind, cells, &v, &b);
        ch_value_stage(&v, dst, &b);
        ch_value_wait(c, kind, peer, cells, &v, &b, flag, st);
        ch_value_store(dst, &v, &b);
    }
}

/* The places of the data of a set's PEs: in the call's slots or in the slots of an exchange,
 * except that of this PE, which is at `own`. */
enum ch_where { CH_IN_SLOTS, CH_IN_EXCHANGE };
struct ch_sources {
    struct ch_pes from; /* this PE is one of them */
    const char *own;
    enum ch_where where; /* constant after inlining */
    uint64_t exchange;
    int is_padded; /* a constant: the first own_bytes of the messages are data */
    size_t own_bytes;
};

/* The two slots for messages of one PE, which successive exchanges use in turn. */
struct ch_slot_pair {
    char *even;   /* the slot of exchanges with even numbers */
    uint32_t odd; /* distance to the other slot in bytes */
    uint64_t tag; /* of the call */
};

/* The two slots on `owner` for messages of `writer`. */
CH_FN struct ch_slot_pair ch_slots_of(const struct ch_coll *c, enum ch_cell kind,
                                      uint32_t owner, uint32_t writer)
{
    const uint32_t bytes = c->layout->slot_bytes[kind];
    struct ch_slot_pair p;

    p.even = c->peers[owner].sync + c->sync_offset + c->layout->slot_offset[kind] +
             (size_t)writer * bytes;
    p.odd = c->n * bytes;
    p.tag = c->tag;
    return p;
}

/* The two slots that only `owner` writes, for messages that others read there. */
CH_FN struct ch_slot_pair ch_own_slots(const struct ch_coll *c, enum ch_cell kind,
                                       uint32_t owner)
{
    struct ch_slot_pair p;

    p.even = c->peers[owner].sync + c->sync_offset + c->layout->own_offset[kind];
    p.odd = c->layout->own_bytes[kind];
    p.tag = c->tag;
    return p;
}

/* The slot for the exchange of this number. */
CH_FN struct ch_slot ch_slot_at(struct ch_slot_pair p, uint64_t exchange)
{
    struct ch_slot slot;

    slot.memory = p.even + (size_t)((uint32_t)exchange % 2) * p.odd;
    slot.flag = CH_TAG_BITS == 0 ? exchange : exchange << CH_TAG_BITS | p.tag;
    slot.end = 0; /* slots have no positions */
    return slot;
}

/* Must source i of a set be waited for? Not if it is this PE, whose data is at `own`. */
CH_FN int ch_is_waited_for(const struct ch_coll *c, const struct ch_sources *s, uint32_t i)
{
    return i < s->from.count && ch_pes_at(c, s->from, i) != c->me;
}

/* Source i of a set or, if it needs no wait, another one that does: polling that one twice
 * costs less than a branch, which would delay the loads after it. */
CH_FN struct ch_wanted ch_source_to_poll(const struct ch_coll *c, enum ch_cell kind,
                                         const struct ch_sources *s, uint32_t i)
{
    const uint32_t at = ch_is_waited_for(c, s, i) ? i : ch_pes_at(c, s->from, 0) == c->me;
    struct ch_wanted w;
    struct ch_slot slot;

    w.peer = ch_pes_at(c, s->from, at);
    slot = s->where == CH_IN_SLOTS
               ? c->slots[at]
               : ch_slot_at(ch_slots_of(c, kind, c->me, w.peer), s->exchange);
    w.cells = slot.memory;
    w.flag = slot.flag;
    return w;
}

/* v = the plain data of sources i to i + ahead, after a wait for all of it. */
CH_FN void ch_sources_load(const struct ch_coll *c, const struct ch_sources *s, uint32_t i,
                           uint32_t ahead, struct ch_value v[CH_AHEAD],
                           const struct ch_batch *b)
{
    CH_EACH_AHEAD (u)
        if (u < ahead) {
            const struct ch_wanted w = ch_source_to_poll(c, CH_CELL_simple, s, i + u);

            ch_value_load(&v[u], ch_is_waited_for(c, s, i + u) ? w.cells : s->own, b);
        }
}

/* Begin to poll the messages of sources i to i + ahead; ch_sources_wait must follow. */
CH_FN void ch_sources_poll(const struct ch_coll *c, enum ch_cell kind,
                           const struct ch_sources *s, uint32_t i, uint32_t ahead,
                           struct ch_wanted wanted[CH_AHEAD], struct ch_value v[CH_AHEAD],
                           const struct ch_batch *b)
{
    CH_EACH_AHEAD (u)
        if (u < ahead) {
            wanted[u] = ch_source_to_poll(c, kind, s, i + u);
            ch_value_use_scratch(&v[u]);
            ch_value_poll(kind, wanted[u].cells, &v[u], b);
        }
}

/* Wait for the messages that ch_sources_poll polls. v = their data, and for this PE `own`;
 * inside kernels that is loaded here, as it would take registers during the wait. */
CH_FN void ch_sources_wait(const struct ch_coll *c, enum ch_cell kind,
                           const struct ch_sources *s, uint32_t i, uint32_t ahead,
                           const struct ch_wanted wanted[CH_AHEAD], struct ch_value v[CH_AHEAD],
                           const struct ch_value *own, const struct ch_batch *b,
                           chorus_status *st)
{
    if (CH_AHEAD > 1 || ch_is_waited_for(c, s, i))
        ch_values_wait(c, kind, wanted, v, ahead, b, st);
    CH_EACH_AHEAD (u)
        if (u < ahead && !ch_is_waited_for(c, s, i + u)) {
            if (CH_INSIDE_KERNELS)
                ch_value_load_more(
                    &v[u], (const char *)(uintptr_t)ch_opaque_after_loads((uintptr_t)s->own),
                    b);
            else
                ch_value_share(&v[u], own);
        }
}

/* v = the contribution of this PE itself. */
CH_FN void ch_own_load(const struct ch_sources *s, struct ch_value *v, const struct ch_batch *b)
{
    if (s->is_padded)
        ch_value_load_padded(v, s->own, s->own_bytes, b);
    else
        ch_value_load(v, s->own, b);
}

/* acc = batch b of the first `count` sources combined, with `ahead` loads in flight. */
CH_FN void ch_combine_sources(const struct ch_coll *c, enum ch_cell kind,
                              const struct ch_sources *s, uint32_t count, uint32_t ahead,
                              struct ch_accumulator *acc, const struct ch_batch *b,
                              chorus_status *st)
{
    struct ch_value v[CH_AHEAD], own;

    for (uint32_t i = 0; i < count; i += ahead) {
        if (kind == CH_CELL_simple) {
            ch_sources_load(c, s, i, ahead, v, b);
        } else {
            struct ch_wanted wanted[CH_AHEAD];

            ch_sources_poll(c, kind, s, i, ahead, wanted, v, b);
            if (i == 0 && !CH_INSIDE_KERNELS)
                ch_own_load(s, &own, b); /* while the messages are being polled */
            ch_sources_wait(c, kind, s, i, ahead, wanted, v, &own, b, st);
        }
        ch_acc_combine(c, acc, i == 0, v, count - i, b);
    }
}

/* Batch b of dst = that batch of the first `count` sources combined. */
CH_FN void ch_combine_batch(const struct ch_coll *c, enum ch_cell kind,
                            const struct ch_sources *s, uint32_t count, uint32_t ahead,
                            char *dst, const struct ch_batch *b, chorus_status *st)
{
    struct ch_value v;
    struct ch_accumulator acc;

    ch_combine_sources(c, kind, s, count, ahead, &acc, b, st);
    ch_value_stage(&v, dst, b);
    ch_acc_to_value(c, &v, &acc, b);
    ch_value_store(dst, &v, b);
}

/* dst = the plain data of the set's PEs combined in its order, through the call's slots. */
CH_PART void ch_combine_by_slots(const struct ch_coll *c, const struct ch_sources *s, char *dst,
                                 size_t bytes, struct ch_lanes g)
{
    for (uint32_t i = g.lane; i < s->from.count; i += g.width) {
        const uint32_t pe = ch_pes_at(c, s->from, i);

        if (pe == c->me)
            c->slots[i].memory = (char *)(uintptr_t)s->own;
        else if (s->where == CH_IN_EXCHANGE)
            c->slots[i] = ch_slot_at(ch_slots_of(c, CH_CELL_simple, c->me, pe), s->exchange);
    }
    ch_combine_slots(c, dst, s->from.count, bytes, g);
}

/* dst = the data of the set's PEs combined in its order. dst may be own. Sets of two PEs are
 * frequent, and need much less work. */
CH_FN void ch_combine(const struct ch_coll *c, enum ch_cell kind, const struct ch_sources *s,
                      char *dst, size_t bytes, struct ch_lanes g, chorus_status *st)
{
    if (s->from.count == 1) {
        ch_cells_copy_plain(kind, s->own, dst, bytes, g);
        return;
    }
    if (CH_IN_PROGRAM && kind == CH_CELL_simple) {
        ch_combine_by_slots(c, s, dst, bytes, g);
        return;
    }
    for (struct ch_batch b = ch_batch_first(kind, dst, bytes, g); ch_batch_more(&b);
         ch_batch_next(&b))
        if (CH_AHEAD > 2 && s->from.count == 2)
            ch_combine_batch(c, kind, s, 2, 2, dst, &b, st);
        else
            ch_combine_batch(c, kind, s, s->from.count, ch_loads_ahead(c), dst, &b, st);
}

#endif /* CH_CELLS_H */
