/* SPDX-License-Identifier: Apache-2.0 */
/*
 * barrier by dissemination, radix k (k = n: one round, everyone to everyone).
 *
 *   needs    map
 *   steps    ch_rounds(n, k)
 *   wire     ch_fan(n, k)
 *   scratch  one word per PE
 *   inplace  has no buffers
 *   result   every PE has entered before any PE leaves; earlier stores are visible
 *   source   Hensgen, Finkel and Manber (1988), with k - 1 signals a round
 */
#ifndef CH_BARRIER_DISSEMINATION_H
#define CH_BARRIER_DISSEMINATION_H

#include "coll/pes.h"
#include "coll/vocab.h"

CH_FN chorus_status ch_barrier_dissemination(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_epoch(c, g);

    for (uint32_t span = 1; span < c->n; span *= c->radix) {
        chorus_status st = CHORUS_OK;

        ch_lanes_sync(g); /* what any lane heard in the last round precedes the stores below */
        for (uint32_t j = 1 + g.lane; ch_is_target(c, span, j); j += g.width)
            ch_say(c, ch_after(c, j * span), CH_WORD_BARRIER, epoch,
                   CH_ENTRY); /* heard below */
        for (uint32_t j = 1 + g.lane; ch_is_target(c, span, j) && st == CHORUS_OK; j += g.width)
            st = ch_listen(c, ch_after(c, c->n - j * span), CH_WORD_BARRIER, epoch);
        st = ch_agree(st, g);
        if (st != CHORUS_OK) return st;
    }
    return CHORUS_OK;
}

#endif /* CH_BARRIER_DISSEMINATION_H */
