/* SPDX-License-Identifier: Apache-2.0 */
/* pes.h: sets of PEs, and how the lanes of a CTA divide the PEs of a set among them. */
#ifndef CH_PES_H
#define CH_PES_H

#include "coll/coll.h"
#include "coll/shape.h"

/* PEs first, first + step, ... (`count` of them), modulo the team. */
struct ch_pes {
    uint32_t first, step, count;
};

CH_FN uint32_t ch_pe(const struct ch_coll *c, struct ch_pes pes, uint32_t i)
{
    const uint32_t pe = pes.first + i * pes.step;

    return pe < c->n ? pe : pe - c->n;
}

CH_FN struct ch_pes ch_only(uint32_t pe)
{
    const struct ch_pes one = {pe, 0, 1};

    return one;
}

/* All PEs of the team. */
CH_FN struct ch_pes ch_all(const struct ch_coll *c)
{
    const struct ch_pes all = {0, 1, c->n};

    return all;
}

/* All PEs except this one, beginning after it. */
CH_FN struct ch_pes ch_others(const struct ch_coll *c)
{
    const struct ch_pes others = {ch_after(c, 1), 1, c->n - 1};

    return others;
}

/* A set divided among lanes: in groups, each for every `step`-th PE from `first` on. */
struct ch_turns {
    uint32_t first, step;
    struct ch_lanes lanes;
};

/* Computed without branches, because a kernel needs the result before it waits for its turn,
 * and again after that: compilers keep equal expressions, but compute equal branches again. */
CH_FN struct ch_turns ch_turns_of(uint32_t count, struct ch_lanes g)
{
    const struct ch_turns all = {0, 1, g};
    const uint32_t units_log2 = ch_log2((uint32_t)ch_max(g.width / CH_LANES_UNIT, 1));
    const uint32_t count_log2 = ch_log2(2 * (uint32_t)ch_max(count, 1) - 1); /* rounded up */
    const uint32_t groups_log2 = (uint32_t)ch_min(count_log2, units_log2);
    const uint32_t width_log2 = ch_log2(g.width) - groups_log2;
    struct ch_turns own;

    if (groups_log2 == 0 && !ch_is_power(g.width)) return all;
    own.step = 1u << groups_log2;
    own.first = g.lane >> width_log2;
    /* There are more lanes than needed, or more groups than PEs. The address of the first PE is
     * computed in any case, and place `count` of a set of all other PEs is this PE. */
    if (own.first >= (uint32_t)ch_min(own.step, count)) own.first = count;
    own.lanes.width = 1u << width_log2;
    own.lanes.lane = g.lane & (own.lanes.width - 1);
    return own;
}

#endif /* CH_PES_H */
