/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reach.h: which rules of a table can a request reach?
 *
 * The requests that a rule covers are a box: a range or a set for each property that rules have
 * conditions on.
 *
 * Needs are a set, too. Whether an earlier rule wins depends on which needs a request meets.
 * Only the needs of some algorithm of the collective matter, and those that every request
 * meets (ch_needs_always_met): one bit for each.
 */
#ifndef CH_REACH_H
#define CH_REACH_H

#include "select/select.h"

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

/* Words of `machine` and `gpu` get numbers; a rule without one covers all numbers, and one for
 * other words. */
CH_MUST_CHECK chorus_status ch_boxes_open(const struct ch_table *table, struct ch_boxes *out);
void ch_boxes_close(struct ch_boxes *boxes);

/* The requests of a space that the box of a rule of its collective covers, if the needs of its
 * algorithm are met there; false: there are none. */
bool ch_box_within(const struct ch_space *space, const struct ch_rule *rule,
                   const struct ch_box *box, struct ch_box *part_out);

bool ch_box_overlaps(const struct ch_box *a, const struct ch_box *b);

/* A bit for each side on which `box` does not cover all of `cell`. 0: it covers the cell. */
uint32_t ch_box_partial(const struct ch_box *box, const struct ch_box *cell);

struct ch_range ch_range_clip(struct ch_range a, struct ch_range b);

/* --- the search --------------------------------------------------------------------------- */

/*
 * The first of a table's rules [0, n) that no request can reach because of earlier rules; n if
 * there is none. Each of the n rules covers some request. *looks_out: number of comparisons of
 * a rule with a part of the requests, which determines the time of the search.
 */
CH_MUST_CHECK chorus_status ch_reach_find(const struct ch_boxes *boxes, size_t n,
                                          size_t *first_out, uint64_t *looks_out);

/* --- tiles: which of several overlapping rectangles are visible? -------------------------- */

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

#endif /* CH_REACH_H */
