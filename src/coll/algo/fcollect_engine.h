/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fcollect by copy engines: the engines of a GPU copy its block into the dest of every other
 * PE, after all PEs have entered the call.
 *
 *   needs    map, copy_engine, symmetric_dest
 *   steps    1
 *   wire     (n - 1) * m
 *   scratch  two words per PE
 *   inplace  safe: source may be this PE's block of dest
 *   result   a copy
 *   source   all push; engines make the copies
 */
#ifndef CH_FCOLLECT_ENGINE_H
#define CH_FCOLLECT_ENGINE_H

#include "coll/primitives/engine.h"

CH_FN chorus_status ch_fcollect_engine(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_engine_all(c, 0, g);
}

#endif /* CH_FCOLLECT_ENGINE_H */
