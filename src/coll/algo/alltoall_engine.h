/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alltoall by copy engines: the engines of a GPU copy its blocks into the dest of every other
 * PE, after all PEs have entered the call.
 *
 *   needs    map, copy_engine, symmetric_dest
 *   steps    1
 *   wire     (n - 1) * m
 *   scratch  two words per PE
 *   inplace  not possible: the call refuses buffers that overlap
 *   result   a copy
 *   source   all push; engines make the copies
 */
#ifndef CH_ALLTOALL_ENGINE_H
#define CH_ALLTOALL_ENGINE_H

#include "coll/primitives/engine.h"

CH_FN chorus_status ch_alltoall_engine(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_engine_all(c, c->stride, g);
}

#endif /* CH_ALLTOALL_ENGINE_H */
