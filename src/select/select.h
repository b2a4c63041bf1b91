/* SPDX-License-Identifier: Apache-2.0 */
/*
 * select.h: which algorithm serves a request, and why. These functions are pure: they use no
 * device, no PE and no clock.
 */
#ifndef CH_SELECT_H
#define CH_SELECT_H

#include "base/error.h"
#include "coll/algorithm.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* How a team reaches its farthest peer; beside: on GPUs of one host that are not near each
 * other. Values are bits, for the filter of rules. */
/* clang-format off */
#define CH_REACH_LIST(X) X(self, 1u) X(mapped, 2u) X(network, 4u) X(beside, 8u)
/* clang-format on */
enum {
#define X(name, bit) CH_REACH_##name = (bit),
    CH_REACH_LIST(X)
#undef X
};
enum {
#define X(name, bit) +1
    CH_REACH_COUNT = 0 CH_REACH_LIST(X)
#undef X
};
extern const char *const ch_reach_names[CH_REACH_COUNT]; /* the name of value 1 << i */

/* Whether each PE of the job has its own core, or some share one. Values are bits, too. */
/* clang-format off */
#define CH_CORES_LIST(X) X(own, 1u) X(shared, 2u)
/* clang-format on */
enum {
#define X(name, bit) CH_CORES_##name = (bit),
    CH_CORES_LIST(X)
#undef X
};
enum {
#define X(name, bit) +1
    CH_CORES_COUNT = 0 CH_CORES_LIST(X)
#undef X
};
extern const char *const ch_cores_names[CH_CORES_COUNT];

/* Needs that are met by every request of a team with one of these reaches: a last rule may have
 * them. */
static inline uint32_t ch_needs_always_met(uint32_t reach)
{
    const uint32_t symmetric = CH_NEED_SYMMETRIC; /* else the next table is considered */

    if (reach == CH_REACH_network) return symmetric | CH_NEED_put | CH_NEED_nodes;
    if ((reach & CH_REACH_network) != 0) return symmetric | CH_NEED_put;
    return symmetric | CH_NEED_put | CH_NEED_packets |
           ((reach & CH_REACH_beside) != 0 ? 0 : CH_NEED_map);
}

/* A call, as values that are equal on all PEs of the team. */
struct ch_request {
    chorus_coll coll;
    uint64_t bytes; /* of the whole message: count * bytes of an element, of one PE's
                       contribution for fcollect, one block for alltoall, the whole vector for
                       the others; 0 if the PEs may have different counts */
    uint32_t pes, nodes;
    uint32_t reach;   /* one CH_REACH_ bit */
    uint32_t cores;   /* one CH_CORES_ bit */
    chorus_type type; /* barrier: CHORUS_TYPE_u8 */
    chorus_op op;     /* for collectives that combine elements; else CHORUS_OP_sum */
    uint32_t offers;  /* CH_NEED_ bits that hold for this request */
    uint32_t ctas_max;
    uint32_t ctas_slim;   /* additional CTAs for algorithms that are wide */
    uint64_t chunk_bytes; /* option CHORUS_CHUNK; used only by the formulas. 0: any message fits
                             in one chunk */
    const char *machine,
        *gpu; /* "host" and "" without a GPU; compared as written in the rule */
};

/* Half-open ranges: lo <= x < hi; UINT64_MAX as hi is inf and includes everything. */
struct ch_range {
    uint64_t lo, hi;
};

struct ch_rule {
    chorus_coll coll;
    struct ch_range bytes, pes, nodes;
    uint32_t reach, cores;      /* CH_REACH_ and CH_CORES_ bits accepted */
    uint32_t types;             /* bit per chorus_type accepted */
    uint32_t ops;               /* bit per chorus_op accepted */
    const char *machine, *gpu;  /* null: any */
    const struct ch_algo *algo; /* null: the calls that the table serves */
    uint32_t ctas, radix;       /* at least 1; CH_RADIX_MIN and more */
    const char *from;           /* "file.csv:line" or "fallback" */
    uint32_t line, column;      /* line in its table, from 1 */
};

struct ch_table {
    const char *path;               /* as it is shown to users */
    const char *machine, *measured; /* texts for readers: what was measured, when and how */
    const char *gpu;                /* the GPU of the measurements; null: not given */
    struct ch_rule serves;          /* its filters: the calls for which the table is */
    const struct ch_rule *rules;
    size_t n_rules;
    const char *text; /* contents of the file */
    size_t bytes;     /* bytes of text */
    uint64_t digest;  /* a hash of text */
};

/* The algorithm and parameters of a call. algo is never null in a plan that was returned. */
struct ch_plan {
    const struct ch_algo *algo;
    uint32_t ctas, radix;
    const struct ch_table *table; /* null: the choice was forced */
    const struct ch_rule *rule;   /* null: the choice was forced */
};

/* Is the sync memory of the team in the pool in host memory (team.h)? */
bool ch_request_is_in_pool(const struct ch_request *request);

/* The CH_NEED_ bits that a request of this type meets on hosts, on a team of this reach.
 * `facts`: those of the buffers that hold on all PEs, among CH_NEED_apart and
 * CH_NEED_SYMMETRIC. */
uint32_t ch_offers(chorus_type type, uint32_t reach, uint32_t facts);

/* The same for a request of a team of so many PEs on GPUs, from what it would meet on hosts.
 * With more than CH_DEVICE_PES_MAX PEs kernels send only words and plain messages. */
uint32_t ch_offers_on_gpu(uint32_t pes, uint32_t offers);

/* The tables that are used, most specific first, and the forced choices. Owned by the caller;
 * created once. */
struct ch_select;

/*
 * Read the tables: `tuning`, the user's ($XDG_CONFIG_HOME/chorus/tuning.yaml, or under
 * $HOME/.config), the system's (/etc/chorus/tuning.yaml), those shipped for a
 * class of machine, the built-in one. The first that is for a call, and mentions its
 * collective, serves it. `algo` and `tuning` are the values of the options of these names (""
 * for none). ERR_TABLE: a message with file:line:column for a table; ERR_ARG for a bad forced
 * choice.
 */
CH_MUST_CHECK chorus_status ch_select_open(const char *algo, const char *tuning,
                                           struct ch_select **select_out);
void ch_select_close(struct ch_select *select); /* null is a no-op */

/* A hash of the tables and forced choices: PEs compare it at start. */
uint64_t ch_select_digest(const struct ch_select *select);

/*
 * Find the plan for a request: ctas are at most those that the team and the GPUs have, the
 * radix at most pes (and at least CH_RADIX_MIN). The first plan of a shape is logged at debug
 * level, with the rules passed over. ERR_UNSUPPORTED when no rule's algorithm has its needs
 * met; for a forced algorithm whose needs are not met too (never another in its place).
 */
CH_MUST_CHECK chorus_status ch_select_plan(const struct ch_select *select,
                                           const struct ch_request *request,
                                           struct ch_plan *plan_out);

/* Print the plan, its rule and why each earlier rule did not apply. */
CH_MUST_CHECK chorus_status ch_select_explain(const struct ch_select *select,
                                              const struct ch_request *request, FILE *out);

/* Find the algorithm of `coll` with the name "name" or "name:proto"; ERR_ARG lists the
 * choices. */
CH_MUST_CHECK chorus_status ch_algo_find(chorus_coll coll, const char *text,
                                         const struct ch_algo **algo_out);

/* Read one table. ERR_TABLE with "file:line:column: found; expected". */
CH_MUST_CHECK chorus_status ch_table_read(const char *path, struct ch_table **table_out);

/* Refuse a rule that no request can reach, and a collective without an unconditional last rule.
 * This takes much longer than reading, and jobs do not do it. */
CH_MUST_CHECK chorus_status ch_table_check(const struct ch_table *table);
void ch_table_free(struct ch_table *table); /* null is a no-op */

#endif /* CH_SELECT_H */
