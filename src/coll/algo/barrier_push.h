/* SPDX-License-Identifier: Apache-2.0 */
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
#ifndef CH_BARRIER_PUSH_H
#define CH_BARRIER_PUSH_H

#include "coll/primitives/exchange.h"

CH_FN chorus_status ch_barrier_push(const struct ch_coll *c, struct ch_lanes g)
{
    uint64_t exchange;
    const chorus_status st = ch_meet(c, CH_CELL_ll, &exchange, CH_ENTRY, g);

    return st == CHORUS_OK ? ch_hear_all(c, CH_WORD_MET, exchange, g) : st;
}

#endif /* CH_BARRIER_PUSH_H */
