/* SPDX-License-Identifier: Apache-2.0 */
/*
 * barrier by dissemination with radix k: in round r (from 0) each PE signals the PEs at the
 * distances k^r, 2 k^r ... (k - 1) k^r (ch_ahead). With k = n there is one round, in which
 * every PE signals every other.
 *
 *   needs    put
 *   steps    ch_rounds(n, k)
 *   wire     ch_fan(n, k)
 *   scratch  one word per PE
 *   inplace  has no buffers
 *   result   every PE has entered before any PE leaves; earlier stores are visible
 *   source   Hensgen, Finkel and Manber (1988), with k - 1 signals in a round
 */
#ifndef CH_BARRIER_DISSEMINATION_H
#define CH_BARRIER_DISSEMINATION_H

#include "coll/primitives/primitives.h"

CH_FN chorus_status ch_barrier_dissemination(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_epoch(c, g);

    return ch_disseminate(c, CH_WORD_BARRIER, epoch, CH_ENTRY, g);
}

#endif /* CH_BARRIER_DISSEMINATION_H */
