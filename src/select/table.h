/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.h: tables of rules, and requests: how a table is read, algorithms by name, forced
 * choices, whether a rule applies to a request and why not, and which rules requests can reach;
 * for this folder.
 */
#ifndef CH_TABLE_H
#define CH_TABLE_H

#include "base/error.h"
#include "base/text.h"
#include "select/select.h"

#include <stdbool.h>
#include <stddef.h>
#include <yaml.h>

/* ---- from bytes to a table ---- */

/*
 * libyaml loads the document as a tree whose nodes have positions, so that the first pass and
 * every later check can give file:line:column. (libcyaml, which loads into structs over
 * libyaml, keeps no positions and does not support "one name or a list of names".)
 */

/* A table, and the memory of its strings. */
struct ch_table_file {
    struct ch_table table; /* first, so that a pointer to it can free the whole */
    struct ch_rule *rules;
    yaml_document_t document;
    char *path, *text; /* null if the table was read from the memory of the caller */
};

/* A table that is being read. */
struct ch_reader {
    const char *path;
    yaml_document_t *document;
};

/* Refuse the table because of a node, with what was found and what is expected. */
#define CH_REFUSE(reader, node, format, ...)                         \
    CH_FAIL(CHORUS_ERR_TABLE, "%s:%zu:%zu: " format, (reader)->path, \
            (node)->start_mark.line + 1, (node)->start_mark.column + 1, __VA_ARGS__)

/* The text of a scalar; null if the node is a mapping or a sequence. */
const char *ch_node_text(const yaml_node_t *node);

/*
 * Fill values[0, count) with the values of a mapping's keys, null for absent ones. Refuses
 * other keys, and duplicate keys. `kind` names the mapping in messages: "rule".
 */
CH_MUST_CHECK chorus_status ch_node_keys(const struct ch_reader *reader, yaml_node_t *mapping,
                                         const char *kind, const char *const keys[],
                                         size_t count, yaml_node_t *values[]);

/* Read one rule. Its strings point into the document. */
CH_MUST_CHECK chorus_status ch_rule_read(const struct ch_reader *reader, yaml_node_t *node,
                                         struct ch_rule *rule_out);

/* Read the calls that a table is for: the filters of a rule, which match everything if `node`
 * is null, except teams that a network reaches, which a table must list. */
CH_MUST_CHECK chorus_status ch_serves_read(const struct ch_reader *reader, yaml_node_t *node,
                                           struct ch_rule *serves_out);

/* Read a table from memory, UTF-8 whose lines end in LF or CR LF; `text` and `path` outlive it.
 */
CH_MUST_CHECK chorus_status ch_table_parse(const char *path, const char *text, size_t bytes,
                                           struct ch_table_file **file_out);

/* ---- algorithms by name ---- */

/* Is `name` an algorithm of `coll`? If not, *why_out lists the algorithms. */
CH_MUST_CHECK bool ch_algo_is_of(chorus_coll coll, const char *name, struct ch_reason *why_out);

/*
 * Find the algorithm `name` of `coll` with protocol `proto`; null proto: its only one. `name`
 * must be an algorithm of `coll`, so false, with *why_out, means that the protocol is wrong.
 */
CH_MUST_CHECK bool ch_algo_with(chorus_coll coll, const char *name, const char *proto,
                                const struct ch_algo **algo_out, struct ch_reason *why_out);

struct ch_forced {
    const struct ch_algo *algo; /* null: the tables choose */
    uint32_t ctas;
};

/* Read CHORUS_ALGO, "coll:algo[:proto[:ctas]][,...]", into forced[CHORUS_COLL_COUNT]. */
CH_MUST_CHECK chorus_status ch_force_read(const char *text, struct ch_forced forced[]);

/* ---- rules and requests ---- */

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
/* Which condition keeps the rule from applying to the request? CH_MISS_NONE: it applies. */
enum ch_miss ch_rule_miss(const struct ch_rule *rule, const struct ch_request *request);

/* Write in words why the rule does not apply: "bytes 65536 is not in 0..16K". */
void ch_miss_text(enum ch_miss miss, const struct ch_rule *rule,
                  const struct ch_request *request, struct ch_reason *why_out);

/* Write in words the first of `needs` that `offers` does not meet. */
void ch_needs_text(uint32_t needs, uint32_t offers, struct ch_reason *why_out);

/* ---- tables and plans ---- */

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
 * Exceptions: if it has no rule for a call with buffers outside the symmetric heap, or of a
 * team of more than CH_DEVICE_PES_MAX PEs on GPUs, the next table is used. */
bool ch_table_serves(const struct ch_table *table, const struct ch_request *request);

/* Is the first table that serves the request also the last that is considered? Yes, unless the
 * request is such an exception. */
bool ch_is_last(const struct ch_request *request);

/* ch_select_plan without its log. */
CH_MUST_CHECK chorus_status ch_select_find(const struct ch_select *select,
                                           const struct ch_request *request,
                                           struct ch_plan *plan_out);

/* Log a plan and the earlier rules that did not apply, if no request of its shape was logged
 * yet. */
void ch_select_log(const struct ch_select *select, const struct ch_request *request,
                   const struct ch_plan *plan);

/* ---- which rules of a table can a request reach? ---- */

/*
 * The requests that a rule covers are a box: a range or a set for each property that rules have
 * conditions on.
 *
 * Needs are a set, too. Whether an earlier rule wins depends on which needs a request meets.
 * Only the needs of some algorithm of the collective matter, and those that every request
 * meets (ch_needs_always_met): one bit for each.
 */

enum { CH_BOX_BYTES, CH_BOX_PES, CH_BOX_NODES, CH_BOX_MACHINE, CH_BOX_GPU, CH_BOX_RANGES };
enum { CH_BOX_REACH, CH_BOX_CORES, CH_BOX_TYPES, CH_BOX_OPS, CH_BOX_OFFERS, CH_BOX_SETS };
enum { CH_BOX_SIDES = CH_BOX_RANGES + CH_BOX_SETS }; /* numbered in this order */

struct ch_box {
    struct ch_range range[CH_BOX_RANGES];
    uint64_t set[CH_BOX_SETS];
};

/* Requests of one collective, with types that have the same operators and meet the same
 * needs. */
struct ch_space {
    uint32_t offers; /* needs that such a request meets on some machine */
    struct ch_box all;
};

enum { CH_SPACES_MAX = CHORUS_TYPE_COUNT };

/* The rules of a table as boxes, and the requests among the calls that it serves. */
struct ch_boxes {
    const struct ch_table *table; /* borrowed */
    struct ch_box *boxes;         /* owned; by rule, for all spaces of its collective */
    struct ch_space spaces[CHORUS_COLL_COUNT][CH_SPACES_MAX]; /* none is empty */
    size_t n_spaces[CHORUS_COLL_COUNT];
};

/* Compute the boxes of a table's rules, and the spaces of its requests. Words of `machine` and
 * `gpu` get numbers; a rule without one covers all numbers, and one for other words. */
CH_MUST_CHECK chorus_status ch_boxes_open(const struct ch_table *table, struct ch_boxes *out);
void ch_boxes_close(struct ch_boxes *boxes);

/* Compute the requests of a space that the box of a rule of its collective covers, if the needs
 * of its algorithm are met there; false: there are none. */
bool ch_box_within(const struct ch_space *space, const struct ch_rule *rule,
                   const struct ch_box *box, struct ch_box *part_out);

/* Is a request in both boxes? */
bool ch_box_overlaps(const struct ch_box *a, const struct ch_box *b);

/* Return a bit for each side on which `box` does not cover all of `cell`. 0: it covers the
 * cell. */
uint32_t ch_box_partial(const struct ch_box *box, const struct ch_box *cell);

/* The values in both ranges; lo >= hi: there are none. */
struct ch_range ch_range_clip(struct ch_range a, struct ch_range b);

/* ---- the search ---- */

/*
 * Find the first of a table's rules [0, n) that no request can reach because of earlier rules;
 * n if there is none. Each of the n rules covers some request. *looks_out: number of
 * comparisons of a rule with a part of the requests, which determines the time of the search.
 */
CH_MUST_CHECK chorus_status ch_reach_find(const struct ch_boxes *boxes, size_t n,
                                          size_t *first_out, uint64_t *looks_out);

/* ---- tiles: which of several overlapping rectangles are visible? ---- */

/* x_lo <= x < x_hi, y_lo <= y < y_hi, neither empty. */
struct ch_tile {
    uint64_t x_lo, x_hi, y_lo, y_hi;
    uint32_t owner;
};

/*
 * Set shows[owner] for each tile that has a point outside all earlier tiles. *looks_out: number
 * of nodes of the tree of y that were examined, of the order of n log n.
 */
CH_MUST_CHECK chorus_status ch_tiles_show(const struct ch_tile tiles[], uint32_t n,
                                          bool shows[], uint64_t *looks_out);

#endif /* CH_TABLE_H */
