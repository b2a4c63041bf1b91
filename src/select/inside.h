/* SPDX-License-Identifier: Apache-2.0 */
/* inside.h: the members of a struct ch_select, for the files of this folder. */
#ifndef CH_INSIDE_H
#define CH_INSIDE_H

#include "select/force.h"
#include "select/select.h"

#define CH_SYSTEM_TABLE "/etc/chorus/tuning.yaml"

enum { CH_SOURCES_MAX = 10 }; /* the option's, the user's, the system's, seven compiled in */

enum { CH_SEEN_WORDS = 64 }; /* 4096 shapes; two that share a bit share a line of the log */

struct ch_select {
    struct ch_forced forced[CHORUS_COLL_COUNT];
    struct ch_table *sources[CH_SOURCES_MAX]; /* owned; most specific first */
    size_t n_sources;
    uint64_t digest;
    uint64_t *seen; /* a bit per shape that was logged */
};

/* FNV-1a, 64 bits (Fowler, Noll, Vo). */
#define CH_FNV1A_START 0xcbf29ce484222325ull
uint64_t ch_fnv1a(uint64_t hash, const void *bytes, size_t count);

/* Does a table mention a collective? */
bool ch_table_mentions(const struct ch_table *table, chorus_coll coll);

/* Is a table for such calls, and mentions their collective? The first that is decides, but for
 * buffers outside the symmetric heap: of such calls, those that no rule serves go to the next.
 */
bool ch_table_serves(const struct ch_table *table, const struct ch_request *request);

/* Are no other tables asked after the first that serves the request? */
bool ch_is_last(const struct ch_request *request);

/* ch_select_plan, without its log. */
CH_MUST_CHECK chorus_status ch_select_find(const struct ch_select *select,
                                           const struct ch_request *request,
                                           struct ch_plan *plan_out);

/* Log a plan and the rules passed over, if its like was not logged yet. */
void ch_select_log(const struct ch_select *select, const struct ch_request *request,
                   const struct ch_plan *plan);

#endif /* CH_INSIDE_H */
