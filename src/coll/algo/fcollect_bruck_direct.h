/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fcollect in rounds, by direct stores: in each round a PE writes all blocks that it has into
 * the dest of k - 1 other PEs, and afterwards has k times as many.
 *
 *   needs    put, symmetric_dest
 *   steps    ch_rounds(n, k)
 *   wire     (n - 1) * m
 *   scratch  two words per PE
 *   inplace  safe: source may be this PE's block of dest
 *   result   a copy
 *   source   Bruck, Ho, Kipnis, Upfal and Weathersby (1997), radix k; each PE waits until the
 *            PEs that it writes to have entered
 */
#ifndef CH_FCOLLECT_BRUCK_DIRECT_H
#define CH_FCOLLECT_BRUCK_DIRECT_H

#include "coll/shape_rounds.h"
#include "coll/primitives/primitives.h"

/* Copy `count` blocks, from PE `first` on and modulo the team, from this PE's dest to a
 * peer's. */
CH_FN void ch_run_copy(const struct ch_coll *c, uint32_t peer, uint32_t first, uint32_t count,
                       struct ch_lanes g)
{
    for (uint32_t i = 0; i < count; i++) {
        char *block = c->dst + (first + i < c->n ? first + i : first + i - c->n) * c->stride;

        ch_put(c, peer, block, block, ch_bytes(c), g);
    }
}

/* One lane for each PE that will write to this one in any round: signals that it may. */
CH_FN void ch_run_invite(const struct ch_coll *c, uint64_t epoch, struct ch_lanes g)
{
    ch_lanes_sync(g); /* other lanes' accesses precede the stores */
    for (uint32_t span = 1; span < c->n; span *= c->radix)
        for (uint32_t j = 1 + g.lane; ch_is_target(c, span, j); j += g.width)
            ch_say(c, ch_after(c, j * span), CH_WORD_READY, epoch, CH_CREDIT);
}

/* The PEs of a round, as in ch_fcollect_round. */
CH_FN chorus_status ch_fcollect_direct_round(const struct ch_coll *c, uint64_t epoch,
                                             uint32_t span, struct ch_lanes g)
{
    chorus_status st = CHORUS_OK;

    for (uint32_t j = 1; ch_is_target(c, span, j) && st == CHORUS_OK; j++) {
        const uint32_t peer = ch_after(c, c->n - j * span);

        st = ch_hear(c, peer, CH_WORD_READY, epoch, g); /* its dest may be written */
        if (st != CHORUS_OK) return st;
        ch_run_copy(c, peer, c->me, (uint32_t)ch_run(c->n, span, j), g);
        ch_tell(c, peer, CH_WORD_DONE, epoch, CH_DATA, g); /* pairs with the wait below */
    }
    for (uint32_t j = 1 + g.lane; ch_is_target(c, span, j) && st == CHORUS_OK; j += g.width)
        st = ch_listen(c, ch_after(c, j * span), CH_WORD_DONE, epoch);
    return ch_agree(st, g);
}

CH_FN chorus_status ch_fcollect_bruck(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_epoch(c, g);
    chorus_status st = CHORUS_OK;

    ch_run_invite(c, epoch, g);
    ch_copy(c->dst + c->me * c->stride, c->src, ch_bytes(c), g);
    ch_lanes_sync(g); /* each lane sends blocks that others have copied */
    for (uint32_t span = 1; span < c->n && st == CHORUS_OK; span *= c->radix)
        st = ch_fcollect_direct_round(c, epoch, span, g);
    return st == CHORUS_OK ? ch_flush(c, g) : st;
}

#endif /* CH_FCOLLECT_BRUCK_DIRECT_H */
