/* SPDX-License-Identifier: Apache-2.0 */
/* strided.h: elements with a stride, and messages of them. */
#ifndef CH_STRIDED_H
#define CH_STRIDED_H

#include "coll/primitives/fifo.h"

/* A vector whose elements are `step` bytes apart. */
struct ch_strided {
    char *at;
    size_t step;
};

CH_FN struct ch_strided ch_strided_at(const char *at, size_t step)
{
    const struct ch_strided s = {(char *)(uintptr_t)at, step};

    return s;
}

/* `bytes` of an element is a constant at every call, so that a copy is a load and a store. */
CH_FN void ch_copy_elements(struct ch_strided to, struct ch_strided from, size_t count,
                            size_t bytes, struct ch_lanes g)
{
    for (size_t i = g.lane; i < count; i += g.width)
        ch_copy_element(to.at + i * to.step, from.at + i * from.step, bytes);
}

/* `count` elements of the call's type. */
CH_FN void ch_copy_strided(const struct ch_coll *c, struct ch_strided to,
                           struct ch_strided from, size_t count, struct ch_lanes g)
{
    const size_t bytes = c->elem_bytes;

    if (to.step == bytes && from.step == bytes)
        ch_copy(to.at, from.at, count * bytes, g);
    else if (bytes == 1)
        ch_copy_elements(to, from, count, 1, g);
    else if (bytes == 2)
        ch_copy_elements(to, from, count, 2, g);
    else if (bytes == 4)
        ch_copy_elements(to, from, count, 4, g);
    else if (bytes == 8)
        ch_copy_elements(to, from, count, 8, g);
    else
        ch_copy_elements(to, from, count, 16, g);
}

/* The address of element `i` of the CTA's part of the block for PE `pe`, or from it. */
CH_FN struct ch_strided ch_in_source(const struct ch_coll *c, uint32_t pe, size_t i)
{
    const size_t step = c->pattern->src_step;

    return ch_strided_at(c->src + (pe * c->pattern->block_count + i) * step, step);
}

CH_FN struct ch_strided ch_in_dest(const struct ch_coll *c, uint32_t pe, size_t i)
{
    const size_t step = c->pattern->dst_step;

    return ch_strided_at(c->dst + (pe * c->pattern->block_count + i) * step, step);
}

/* Send each other PE `count` elements (1 to a chunk) of its block, from element `first` on. */
CH_FN chorus_status ch_send_strided(const struct ch_coll *c, size_t first, size_t count,
                                    struct ch_lanes g)
{
    const struct ch_pes others = ch_others(c);
    const size_t bytes = count * c->elem_bytes;
    chorus_status st = ch_standing(c);

    for (uint32_t i = g.lane; i < others.count && st == CHORUS_OK; i += g.width)
        st = ch_slot_to(c, CH_CELL_simple, ch_pe(c, others, i), bytes, &c->slots[i]);
    st = ch_agree(st, g); /* all slots are set */
    if (st != CHORUS_OK) return st;
    for (uint32_t i = 0; i < others.count; i++)
        ch_copy_strided(c, ch_strided_at(c->slots[i].memory, c->elem_bytes),
                        ch_in_source(c, ch_pe(c, others, i), first), count, g);
    ch_lanes_sync(g); /* all lanes have stored their share */
    for (uint32_t i = g.lane; i < others.count; i += g.width)
        ch_announce(c, CH_CELL_simple, ch_pe(c, others, i), &c->slots[i], c->slots[i].memory,
                    bytes);
    return CHORUS_OK;
}

/* Receive the blocks that each other PE sent in this way. */
CH_FN chorus_status ch_recv_strided(const struct ch_coll *c, size_t first, size_t count,
                                    struct ch_lanes g)
{
    const struct ch_pes others = ch_others(c);
    const chorus_status st = ch_expect(c, CH_CELL_simple, others, count * c->elem_bytes, g);

    if (st != CHORUS_OK) return st;
    for (uint32_t i = 0; i < others.count; i++)
        ch_copy_strided(c, ch_in_dest(c, ch_pe(c, others, i), first),
                        ch_strided_at(c->slots[i].memory, c->elem_bytes), count, g);
    return ch_release(c, CH_CELL_simple, others, CHORUS_OK, g);
}

#endif /* CH_STRIDED_H */
