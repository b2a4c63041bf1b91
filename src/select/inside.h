/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inside.h: what the files of this folder share: algorithms by name, forced choices, whether a
 * rule applies to a request, and the members of a struct ch_select.
 */
#ifndef CH_INSIDE_H
#define CH_INSIDE_H

#include "select/table.h"
#include "select/select.h"

/* --- algorithms by name ------------------------------------------------------------------- */

/* Is `name` an algorithm of `coll`? If not, *why_out lists the algorithms. */
CH_MUST_CHECK bool ch_algo_is_of(chorus_coll coll, const char *name, struct ch_reason *why_out);

/*
 * The algorithm `name` of `coll` with protocol `proto`; null proto: its only one. `name` must
 * be an algorithm of `coll`, so false means that the protocol is wrong.
 */
CH_MUST_CHECK bool ch_algo_with(chorus_coll coll, const char *name, const char *proto,
                                const struct ch_algo **algo_out, struct ch_reason *why_out);

struct ch_forced {
    const struct ch_algo *algo; /* null: the tables choose */
    uint32_t ctas;
};

/* Read CHORUS_ALGO, "coll:algo[:proto[:ctas]][,...]", into forced[CHORUS_COLL_COUNT]. */
CH_MUST_CHECK chorus_status ch_force_read(const char *text, struct ch_forced forced[]);

/* --- rules and requests ------------------------------------------------------------------- */

/*
 * Does a rule apply to a request, and if not, why? One function for choosing and for
 * explaining.
 */

/* The first condition that prevents a rule of the request's collective from applying. */
enum ch_miss {
    CH_MISS_NONE,
    CH_MISS_BYTES,
    CH_MISS_PES,
    CH_MISS_NODES,
    CH_MISS_REACH,
    CH_MISS_CORES,
    CH_MISS_TYPE,
    CH_MISS_OP,
    CH_MISS_MACHINE,
    CH_MISS_GPU,
    CH_MISS_NEEDS,
};
enum ch_miss ch_rule_miss(const struct ch_rule *rule, const struct ch_request *request);

/* In words: "bytes 65536 is not in 0..16K". */
void ch_miss_text(enum ch_miss miss, const struct ch_rule *rule,
                  const struct ch_request *request, struct ch_reason *why_out);

/* The first of `needs` that `offers` does not meet, in words. */
void ch_needs_text(uint32_t needs, uint32_t offers, struct ch_reason *why_out);

/* --- tables and plans --------------------------------------------------------------------- */

#define CH_SYSTEM_TABLE "/etc/chorus/tuning.yaml"

enum { CH_FILES_MAX = 3 }; /* the option's, the user's, the system's */

/* The tables that are compiled in, most specific first; tuning/compile.c writes them. */
extern const struct ch_table ch_shipped[];
extern const size_t ch_n_shipped;

enum { CH_SEEN_WORDS = 64 }; /* 4096 shapes; shapes with the same bit share a line of the log */

struct ch_select {
    struct ch_forced forced[CHORUS_COLL_COUNT];
    struct ch_table *files[CH_FILES_MAX]; /* owned; most specific first */
    size_t n_files;
    uint64_t digest;
    uint64_t *seen; /* a bit for each shape that was logged */
};

/* Table i of all, most specific first: the files, and then the shipped ones; null: there are no
 * more. */
static inline const struct ch_table *ch_select_table(const struct ch_select *select, size_t i)
{
    if (i < select->n_files) return select->files[i];
    return i - select->n_files < ch_n_shipped ? &ch_shipped[i - select->n_files] : NULL;
}

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
