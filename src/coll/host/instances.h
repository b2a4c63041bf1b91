/* SPDX-License-Identifier: Apache-2.0 */
/* instances.h: a function for each algorithm, depending on CH_ALL_MAPPED. Included by the files
 * that compile them. */
#ifndef CH_INSTANCES_H
#define CH_INSTANCES_H

#include "coll/all.h"

#define X(coll, name, proto, fn, ...)                      \
    static chorus_status run_##fn(const struct ch_coll *c) \
    {                                                      \
        const struct ch_lanes alone = {0, 1};              \
        return fn(c, alone);                               \
    }
CH_ALGO_LIST(X)
#undef X

#endif /* CH_INSTANCES_H */
