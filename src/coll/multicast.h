/* SPDX-License-Identifier: Apache-2.0 */
/*
 * multicast.h: one store that reaches all PEs of the team, one load that combines theirs.
 *
 * Addresses are this PE's, of symmetric memory, and mean the same place on every PE. Callers
 * see to it that all PEs are in the call and that nobody else writes what is read or touches
 * what is written until it is told. Each place of a result is combined by one PE alone, if all
 * are to have the same bits: in which order the sources are combined is the machine's affair.
 *
 * This is software multicast, n loads or n stores, for every type and operator; it combines in
 * PE order. A machine that has multicast in hardware (NVLink SHARP: multimem.ld_reduce and
 * multimem.st) may do each of the three in its own way for the types and operators it knows.
 */
#ifndef CH_MULTICAST_H
#define CH_MULTICAST_H

#include "coll/vocab.h"

/* dst, on this PE alone = src of all PEs combined. */
CH_FN void ch_multicast_reduce(const struct ch_coll *c, char *dst, const char *src,
                               size_t bytes, struct ch_lanes g)
{
    ch_combine_all(c, dst, src, bytes, CH_TO_ME, g);
}

/* dst, on every PE = src of all PEs combined. dst may be src. */
CH_FN void ch_multicast_reduce_all(const struct ch_coll *c, char *dst, const char *src,
                                   size_t bytes, struct ch_lanes g)
{
    ch_combine_all(c, dst, src, bytes, CH_TO_ALL, g);
}

/* dst, on every PE = src, this PE's. dst may be src. */
CH_FN void ch_multicast_store(const struct ch_coll *c, char *dst, const char *src, size_t bytes,
                              struct ch_lanes g)
{
    for (struct ch_batch b = ch_batch_first(CH_PLAIN, dst, bytes, g); ch_batch_more(&b);
         ch_batch_next(&b)) {
        struct ch_value v;

        ch_value_load(&v, src, &b);
        for (uint32_t k = 0; k < c->n; k++)
            ch_value_store(ch_on_peer(c, ch_after(c, k), dst), &v, &b);
    }
}

#endif /* CH_MULTICAST_H */
