/* SPDX-License-Identifier: Apache-2.0 */
/* force.h: algorithms that the user forces in place of the tables. */
#ifndef CH_FORCE_H
#define CH_FORCE_H

#include "coll/algorithm.h"
#include "base/error.h"

struct ch_forced {
    const struct ch_algo *algo; /* null: the tables choose */
    uint32_t ctas;
};

/* Read CHORUS_ALGO, "coll:algo[:proto[:ctas]][,...]", into forced[CHORUS_COLL_COUNT]. */
CH_MUST_CHECK chorus_status ch_force_read(const char *text, struct ch_forced forced[]);

#endif /* CH_FORCE_H */
