/* SPDX-License-Identifier: Apache-2.0 */
/* inside.h: the members of a struct ch_select, for the files of this folder. */
#ifndef CH_INSIDE_H
#define CH_INSIDE_H

#include "select/force.h"
#include "select/select.h"

#define CH_SYSTEM_TABLE "/etc/chorus/tuning.yaml"

enum { CH_SOURCES_MAX = 11 }; /* the option's, the user's, the system's, eight shipped ones */

enum { CH_SEEN_WORDS = 64 }; /* 4096 shapes; shapes with the same bit share a line of the log */

struct ch_select {
    struct ch_forced forced[CHORUS_COLL_COUNT];
    struct ch_table *sources[CH_SOURCES_MAX]; /* owned; most specific first */
    size_t n_sources;
    uint64_t digest;
    uint64_t *seen; /* a bit for each shape that was logged */
};

/* FNV-1a, 64 bits (Fowler, Noll, Vo). */
#define CH_FNV1A_START 0xcbf29ce484222325ull
uint64_t ch_fnv1a(uint64_t hash, const void *bytes, size_t count);

/* Does a table contain rules of a collective? */
bool ch_table_mentions(const struct ch_table *table, chorus_coll coll);

/* Is a table for such calls, with rules of their collective? The first such table decides.
 * Exception: if it has no rule for a call with buffers outside the symmetric heap, the next
 * table is used. */
bool ch_table_serves(const struct ch_table *table, const struct ch_request *request);

/* Are no later tables considered once this one serves the request? */
bool ch_is_last(const struct ch_request *request);

/* ch_select_plan without its log. */
CH_MUST_CHECK chorus_status ch_select_find(const struct ch_select *select,
                                           const struct ch_request *request,
                                           struct ch_plan *plan_out);

/* Log a plan and the earlier rules that did not apply, if no request of its shape was logged
 * yet. */
void ch_select_log(const struct ch_select *select, const struct ch_request *request,
                   const struct ch_plan *plan);

#endif /* CH_INSIDE_H */
