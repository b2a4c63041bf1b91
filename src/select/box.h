/* SPDX-License-Identifier: Apache-2.0 */
/*
 * box.h: the requests that a rule covers, as a box: a range or a set for each property that
 * rules have conditions on.
 *
 * Needs are a set, too. Whether an earlier rule wins depends on which needs a request meets.
 * Only the needs of some algorithm of the collective matter, and those that every request
 * meets (ch_needs_always_met): one bit for each.
 */
#ifndef CH_BOX_H
#define CH_BOX_H

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

#endif /* CH_BOX_H */
