/* SPDX-License-Identifier: Apache-2.0 */
/*
 * multicast_software.h: the primitives of multicast.h for backends without multicast in
 * hardware.
 */
#ifndef CH_MULTICAST_SOFTWARE_H
#define CH_MULTICAST_SOFTWARE_H

#include "coll/primitives/primitives.h"

CH_FN void ch_multicast_reduce(const struct ch_coll *c, char *dst, const char *src,
                               size_t bytes, struct ch_lanes g)
{
    ch_combine_all(c, dst, src, bytes, CH_TO_ME, g);
}

CH_FN void ch_multicast_reduce_all(const struct ch_coll *c, char *dst, const char *src,
                                   size_t bytes, struct ch_lanes g)
{
    ch_combine_all(c, dst, src, bytes, CH_TO_ALL, g);
}

CH_FN void ch_multicast_store(const struct ch_coll *c, char *dst, const char *src, size_t bytes,
                              struct ch_lanes g)
{
    ch_store_all(c, dst, src, bytes, g);
}

CH_FN void ch_multicast_signal(const struct ch_coll *c, uint32_t word, uint64_t value,
                               enum ch_sense sense, struct ch_lanes g)
{
    ch_signal_all(c, word, value, sense, g);
}

#endif /* CH_MULTICAST_SOFTWARE_H */
