/* SPDX-License-Identifier: Apache-2.0 */
/* collective.h: properties in which collectives differ. */
#ifndef CH_COLLECTIVE_H
#define CH_COLLECTIVE_H

#include "chorus/lists.h"

#include <assert.h>
#include <stdbool.h>

/* Sets of collectives. */
enum {
#define X(coll) CH_COLLS_##coll = 1 << CHORUS_COLL_##coll,
    CHORUS_COLL_LIST(X)
#undef X
        CH_COLLS_REDUCING = CH_COLLS_reduce | CH_COLLS_reducescatter | CH_COLLS_reduce_to |
                            CH_COLLS_inscan | CH_COLLS_exscan,
    CH_COLLS_ROOTED =
        CH_COLLS_broadcast | CH_COLLS_gather | CH_COLLS_scatter | CH_COLLS_reduce_to,
    CH_COLLS_UNEVEN = CH_COLLS_collect | CH_COLLS_alltoallv,
    CH_COLLS_PLAIN = CH_COLLS_barrier | CH_COLLS_broadcast | CH_COLLS_fcollect |
                     CH_COLLS_alltoall | CH_COLLS_reduce | CH_COLLS_reducescatter,
};
static_assert(CHORUS_COLL_COUNT <= 31, "a set has no room for all collectives");

/* Does the collective combine elements? */
static inline bool ch_coll_reduces(chorus_coll coll)
{
    return CH_COLLS_REDUCING >> coll & 1;
}

static inline bool ch_coll_has_root(chorus_coll coll)
{
    return CH_COLLS_ROOTED >> coll & 1;
}

/* May the PEs have different counts? Rules then get no number of bytes. */
static inline bool ch_coll_is_uneven(chorus_coll coll)
{
    return CH_COLLS_UNEVEN >> coll & 1;
}

/* Are both buffers used on every PE, in whole blocks of contiguous elements? */
static inline bool ch_coll_is_plain(chorus_coll coll)
{
    return CH_COLLS_PLAIN >> coll & 1;
}

#endif /* CH_COLLECTIVE_H */
