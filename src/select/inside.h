/* SPDX-License-Identifier: Apache-2.0 */
/* inside.h: what a struct ch_select holds, for the files of this room. */
#ifndef CH_INSIDE_H
#define CH_INSIDE_H

#include "select/force.h"
#include "select/select.h"

#define CH_SYSTEM_TABLE "/etc/chorus/tuning.yaml"

enum { CH_SOURCES_MAX = 5 }; /* the option's, the user's, the system's, two compiled in */

struct ch_source {
    struct ch_table *table; /* owned */
    const char *class;      /* the machine class it is for; null: any */
};

struct ch_select {
    struct ch_forced forced[CHORUS_COLL_COUNT];
    struct ch_source sources[CH_SOURCES_MAX]; /* most specific first */
    size_t n_sources;
    uint64_t digest;
};

/* The table that decides for a request: the first for its machine that mentions its collective.
 */
const struct ch_table *ch_select_table(const struct ch_select *select,
                                       const struct ch_request *request);

/* ch_select_plan, without its log. */
CH_MUST_CHECK chorus_status ch_select_find(const struct ch_select *select,
                                           const struct ch_request *request,
                                           struct ch_plan *plan_out);

#endif /* CH_INSIDE_H */
