/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fcollect by copy engines: every PE has its block copied into everyone's dest.
 *
 *   needs    map, copy_engine, symmetric_dest
 *   steps    1
 *   wire     (n - 1) * m
 *   scratch  two words per PE
 *   inplace  safe: source may be this PE's block of dest
 *   result   a copy
 *   source   all push, with the copying left to engines
 */
#ifndef CH_FCOLLECT_ENGINE_H
#define CH_FCOLLECT_ENGINE_H

#include "coll/primitives/engine.h"

CH_FN chorus_status ch_fcollect_engine(const struct ch_coll *c, struct ch_lanes g)
{
    return ch_engine_all(c, 0, g);
}

#endif /* CH_FCOLLECT_ENGINE_H */
