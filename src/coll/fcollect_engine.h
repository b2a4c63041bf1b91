/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fcollect by copy engines: every PE has its block copied into everyone's dest.
 *
 *   needs    map, copy_engine
 *   steps    1
 *   wire     (n - 1) * m
 *   scratch  two words per PE
 *   inplace  safe: source may be this PE's block of dest
 *   result   a copy
 *   source   all push, with the copying left to engines
 */
#ifndef CH_FCOLLECT_ENGINE_H
#define CH_FCOLLECT_ENGINE_H

#include "coll/engine.h"

CH_FN chorus_status ch_fcollect_engine(const struct ch_coll *c, struct ch_lanes g)
{
    char *mine = c->dst + c->me * c->stride;
    const chorus_status st = ch_engine_enter(c, g);

    if (st != CHORUS_OK) return st;
    for (uint32_t k = 0; k < c->n; k++)
        ch_copy(ch_on_peer(c, ch_after(c, k), mine), c->src, ch_bytes(c), g);
    return ch_engine_leave(c, g);
}

#endif /* CH_FCOLLECT_ENGINE_H */
