/* SPDX-License-Identifier: Apache-2.0 */
/*
 * select.h: which algorithm serves a request, and why. Pure: no device, no PE, no clock.
 */
#ifndef CH_SELECT_H
#define CH_SELECT_H

#include "base/error.h"
#include "coll/algorithm.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Which peers a team reaches at the most. Values are bits, for the rules' filter. */
/* clang-format off */
#define CH_REACH_LIST(X) X(self, 1u) X(mapped, 2u) X(network, 4u)
/* clang-format on */
enum {
#define X(name, bit) CH_REACH_##name = (bit),
    CH_REACH_LIST(X)
#undef X
};

/* A call, seen as values that all PEs of the team agree on. */
struct ch_request {
    chorus_coll coll;
    uint64_t bytes; /* of the whole message: count * bytes of an element, of one PE's contribution
                       for fcollect, one block for alltoall, the whole vector for the others */
    uint32_t pes, nodes;
    uint32_t reach;   /* one CH_REACH_ bit */
    chorus_type type; /* barrier: CHORUS_TYPE_u8 */
    chorus_op op;     /* reduce, reducescatter; else CHORUS_OP_sum */
    uint32_t offers;  /* CH_NEED_ bits that hold for this request */
    uint32_t ctas_max;
    const char *machine, *gpu; /* "host" and "" without a GPU; compared as written in the rule */
};

/* Half-open ranges: lo <= x < hi; UINT64_MAX as hi is inf and includes everything. */
struct ch_range {
    uint64_t lo, hi;
};

struct ch_rule {
    chorus_coll coll;
    struct ch_range bytes, pes, nodes;
    uint32_t reach;          /* CH_REACH_ bits accepted */
    uint32_t types;          /* bit per chorus_type accepted */
    uint32_t ops;            /* bit per chorus_op accepted */
    const char *machine, *gpu; /* null: any */
    const struct ch_algo *algo;
    uint32_t ctas, radix; /* at least 1; CH_RADIX_MIN and more */
    const char *from;     /* "file.csv:line" or "fallback" */
    uint32_t line;        /* in its table */
};

struct ch_table {
    const char *path; /* as shown to users; "built-in" for the table compiled in */
    const char *machine, *measured;
    const struct ch_rule *rules;
    size_t n_rules;
    uint64_t digest; /* of the file's bytes: equal digests are equal tables */
};

/* What a call will do. algo is never null in a plan that was returned. */
struct ch_plan {
    const struct ch_algo *algo;
    uint32_t ctas, radix;
    const struct ch_table *table; /* null: forced */
    const struct ch_rule *rule;   /* null: forced */
};

/* Tables in force, most specific first, and forced choices. Owned by the caller; made once. */
struct ch_select;

/*
 * Read the tables: CHORUS_TUNING's file, the user's ($XDG_CONFIG_HOME/chorus/tuning.yaml), the
 * system's (/etc/chorus/tuning.yaml), the built-in one; only the first that exists serves,
 * except that a collective a table does not mention falls to the next.
 * `algo` and `tuning` are the options' strings ("" for none).
 * ERR_TABLE: a message with file:line:column for a table; ERR_ARG for a bad forced choice.
 */
CH_MUST_CHECK chorus_status ch_select_open(const char *algo, const char *tuning,
                                           struct ch_select **select_out);
void ch_select_close(struct ch_select *select); /* null is a no-op */

/* Of everything that decides: PEs compare it at start. */
uint64_t ch_select_digest(const struct ch_select *select);

/*
 * The plan for a request. ERR_UNSUPPORTED when no rule's algorithm has its needs met; for a
 * forced algorithm whose needs are not met too (never another in its place).
 */
CH_MUST_CHECK chorus_status ch_select_plan(const struct ch_select *select,
                                           const struct ch_request *request,
                                           struct ch_plan *plan_out);

/* Write the plan, its rule and why each earlier rule did not apply. */
CH_MUST_CHECK chorus_status ch_select_explain(const struct ch_select *select,
                                              const struct ch_request *request, FILE *out);

/* Read one table. ERR_TABLE with "file:line:column: what; expected what". */
CH_MUST_CHECK chorus_status ch_table_read(const char *path, struct ch_table **table_out);
void ch_table_free(struct ch_table *table); /* null is a no-op */

#endif /* CH_SELECT_H */
