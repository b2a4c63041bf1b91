/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reach.c: divides the requests into cells until it is clear, for each cell, which rules are
 * used there.
 *
 * In a cell, only those rules matter that overlap it, up to the first that covers it. Two
 * dimensions are connected if a rule leaves a part of the cell uncovered in both. Rules whose
 * dimensions are not connected are independent: each leaves parts uncovered in its own
 * dimensions only, in every combination. A rule is therefore used for some request if it is
 * visible among the earlier rules of its own dimensions, and the other dimensions are not
 * completely covered by then. If at most two dimensions are connected, the rules on these are
 * rectangles, and tiles.c finds the visible ones. All other cells are divided at the middle of
 * their bounds. A cell is finished when each of its rules is known to be used somewhere.
 *
 * For n rules with conditions on two properties this takes about n log n steps, however they
 * overlap. A rule that no request can reach ends the search, and rules long after it must not
 * delay it: so the first 64 rules are examined, then twice as many, until all are.
 */
#include "select/table.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_RULES = 64 };
#define NO_MEMORY CH_FAIL(CHORUS_ERR_SYSTEM, "no memory to check the rules of a table")

struct search {
    const struct ch_box *boxes;
    bool *is_reached; /* by rule */
    uint64_t looks;
};

/* A rule in a cell. */
struct entry {
    uint32_t rule;
    uint32_t partial; /* sides on which it does not cover the cell */
};

/* A part of the requests, and the rules that may be used there, in order. */
struct cell {
    struct ch_box box;
    struct entry *entries; /* owned */
    uint32_t n;
    uint32_t crowded;             /* sides that belong to a group of more than two */
    uint32_t faces[CH_BOX_SIDES]; /* other sides that belong to a group; also single sides with
                                     many bounds */
    int n_faces;
};

/* Remove the rules after the last one that is not yet known to be used; none may be left. */
static void drop_reached_tail(const struct search *s, struct cell *cell)
{
    while (cell->n > 0 && s->is_reached[cell->entries[cell->n - 1].rule])
        cell->n--;
}

/* Determine which rules of `from` matter in the cell. */
static void collect_rules(struct search *s, const struct entry from[], uint32_t n,
                          struct cell *cell)
{
    cell->n = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct ch_box *box = &s->boxes[from[i].rule];
        struct entry *e = &cell->entries[cell->n];

        s->looks++;
        if (!ch_box_overlaps(box, &cell->box)) continue;
        *e = (struct entry){from[i].rule, ch_box_partial(box, &cell->box)};
        cell->n++;
        if (e->partial == 0) break;
    }
    drop_reached_tail(s, cell);
}

/* --- faces -------------------------------------------------------------------------------- */

/* Determine which sides of the cell belong together: its faces and its crowded sides. */
static void find_faces(struct cell *cell)
{
    uint32_t groups[CH_BOX_SIDES]; /* the rest of the sides */
    int n = 0;

    for (uint32_t i = 0; i < cell->n; i++) {
        uint32_t sides = cell->entries[i].partial;
        int kept = 0;

        if (sides == 0) continue;
        for (int g = 0; g < n; g++)
            if ((groups[g] & sides) != 0)
                sides |= groups[g];
            else
                groups[kept++] = groups[g];
        groups[kept] = sides;
        n = kept + 1;
    }
    cell->crowded = 0;
    cell->n_faces = 0;
    for (int g = 0; g < n; g++) {
        if (__builtin_popcount(groups[g]) <= 2) {
            cell->faces[cell->n_faces++] = groups[g];
            continue;
        }
        cell->crowded |= groups[g];
        for (uint32_t left = groups[g]; left != 0; left &= left - 1)
            cell->faces[cell->n_faces++] = left & -left;
    }
}

/* Find the next run of bits that are set, from bit *from_io on; then *from_io is the bit after
 * it. False: there is none. */
static bool next_bit_run(uint64_t set, unsigned *from_io, struct ch_range *out)
{
    unsigned lo = *from_io, hi;

    while (lo < 64 && (set >> lo & 1u) == 0)
        lo++;
    if (lo == 64) return false;
    for (hi = lo; hi < 64 && (set >> hi & 1u) != 0;)
        hi++;
    *out = (struct ch_range){lo, hi};
    *from_io = hi;
    return true;
}

/* The range of a box on a side of the cell, as several ranges if it is a set; returns their
 * number. A side from CH_BOX_SIDES on has one range, of one value. */
static int ranges_of(const struct ch_box *box, const struct ch_box *cell, int side,
                     struct ch_range out[])
{
    unsigned from = 0;
    int n = 0;

    if (side >= CH_BOX_SIDES) {
        out[0] = (struct ch_range){0, 1};
        return 1;
    }
    if (side < CH_BOX_RANGES) {
        out[0] = ch_range_clip(box->range[side], cell->range[side]);
        return 1;
    }
    side -= CH_BOX_RANGES;
    while (next_bit_run(box->set[side] & cell->set[side], &from, &out[n]))
        n++;
    return n;
}

/* Append the rectangles of a box on a face; `tiles` null: count them. Returns the new
 * number. */
static uint32_t add_tiles(const struct ch_box *box, const struct ch_box *cell, uint32_t face,
                          uint32_t owner, struct ch_tile tiles[], uint32_t n)
{
    const int a = __builtin_ctz(face);
    const int b = (face & (face - 1)) != 0 ? 31 - __builtin_clz(face) : CH_BOX_SIDES;
    struct ch_range xs[32], ys[32]; /* the largest number of runs in a set of 64 */
    const int n_xs = ranges_of(box, cell, a, xs), n_ys = ranges_of(box, cell, b, ys);

    for (int x = 0; x < n_xs; x++)
        for (int y = 0; y < n_ys; y++, n++)
            if (tiles != NULL)
                tiles[n] = (struct ch_tile){xs[x].lo, xs[x].hi, ys[y].lo, ys[y].hi, owner};
    return n;
}

/* List the tiles of the rules on the face, and a last tile, of the cell, for the part that they
 * leave. Returns their number; `tiles` null: only count them. */
static uint32_t list_tiles(const struct search *s, const struct cell *cell, uint32_t face,
                           struct ch_tile tiles[])
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < cell->n; i++) {
        const struct entry *e = &cell->entries[i];

        if (e->partial != 0 && (e->partial & ~face) == 0)
            n = add_tiles(&s->boxes[e->rule], &cell->box, face, i, tiles, n);
    }
    return add_tiles(&cell->box, &cell->box, face, cell->n, tiles, n);
}

/* Set shows[i] for each entry of the cell that is visible on a face. If nothing of the cell is
 * left, *end_io becomes at most the last visible entry. */
static chorus_status judge_face(struct search *s, const struct cell *cell, uint32_t face,
                                bool shows[], uint32_t *end_io)
{
    const uint32_t n = list_tiles(s, cell, face, NULL);
    struct ch_tile *tiles = malloc(n * sizeof(*tiles));
    uint32_t last = 0;
    uint64_t looks;
    chorus_status status;

    if (tiles == NULL) return NO_MEMORY;
    (void)list_tiles(s, cell, face, tiles);
    shows[cell->n] = false;
    status = ch_tiles_show(tiles, n, shows, &looks);
    s->looks += looks;
    for (uint32_t i = 0; i < n; i++)
        if (shows[tiles[i].owner]) last = tiles[i].owner;
    if (last < *end_io) *end_io = last;
    free(tiles);
    return status;
}

/* Does the rule end inside the cell on several sides, some of them crowded? Then it is on no
 * face. */
static bool is_crowded(const struct cell *cell, const struct entry *e)
{
    return (e->partial & cell->crowded) != 0 && (e->partial & (e->partial - 1)) != 0;
}

/* Apply the results of the faces: rules after the one that uses up the cell are not used here,
 * nor are rules that are not visible; visible rules before the first rule that is on no face
 * are used. */
static chorus_status judge_faces(struct search *s, struct cell *cell)
{
    bool *shows = calloc(cell->n + 1, sizeof(*shows));
    uint32_t end = cell->n, n = 0;
    chorus_status status = CHORUS_OK;
    bool is_first = true;

    if (shows == NULL) return NO_MEMORY;
    for (int f = 0; f < cell->n_faces && status == CHORUS_OK; f++)
        status = judge_face(s, cell, cell->faces[f], shows, &end);
    for (uint32_t i = 0; i < cell->n && i <= end; i++) {
        const struct entry e = cell->entries[i];
        const bool is_on_face = !is_crowded(cell, &e);

        is_first = is_first && is_on_face;
        if (is_on_face && !shows[i] && e.partial != 0) continue;
        if (is_first) s->is_reached[e.rule] = true;
        cell->entries[n++] = e;
    }
    cell->n = n;
    free(shows);
    drop_reached_tail(s, cell);
    return status;
}

/* --- other rules -------------------------------------------------------------------------- */

/* The side on which most crowded rules end inside the cell; -1 if no rule is crowded. */
static int busiest_side(const struct cell *cell)
{
    size_t counts[CH_BOX_SIDES] = {0};
    int best = -1;

    for (uint32_t i = 0; i < cell->n; i++)
        for (int side = 0; is_crowded(cell, &cell->entries[i]) && side < CH_BOX_SIDES; side++)
            counts[side] += cell->entries[i].partial >> side & 1u;
    for (int side = 0; side < CH_BOX_SIDES; side++)
        if (counts[side] > (best < 0 ? 0 : counts[best])) best = side;
    return best;
}

static int by_value(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Divide a cell at the middle one of the bounds that crowded rules have on a side. halves: two
 * copies of its box. */
static chorus_status divide_range(const struct search *s, const struct cell *cell, int side,
                                  struct ch_box halves[2])
{
    const struct ch_range all = cell->box.range[side];
    uint64_t *bounds = malloc(2 * cell->n * sizeof(*bounds)), middle;
    size_t n = 0;

    if (bounds == NULL) return NO_MEMORY;
    for (uint32_t i = 0; i < cell->n; i++) {
        const struct ch_range range = s->boxes[cell->entries[i].rule].range[side];

        if (!is_crowded(cell, &cell->entries[i])) continue;
        if (range.lo > all.lo) bounds[n++] = range.lo;
        if (range.hi < all.hi) bounds[n++] = range.hi;
    }
    qsort(bounds, n, sizeof(bounds[0]), by_value);
    middle = bounds[n / 2];
    free(bounds);
    halves[0].range[side].hi = middle;
    halves[1].range[side].lo = middle;
    return CHORUS_OK;
}

/* Divide a cell into the part that the first crowded rule has of a set, and the rest. */
static void divide_set(const struct search *s, const struct cell *cell, int side,
                       struct ch_box halves[2])
{
    const struct entry *e = cell->entries;
    const int i = side - CH_BOX_RANGES;

    while (!is_crowded(cell, e) || (e->partial >> side & 1u) == 0)
        e++;
    halves[0].set[i] &= s->boxes[e->rule].set[i];
    halves[1].set[i] &= ~s->boxes[e->rule].set[i];
}

/* Find the rules of `from` that are used in the box. */
static chorus_status explore(struct search *s, const struct ch_box *box,
                             const struct entry from[], uint32_t n)
{
    struct cell cell = {.box = *box, .entries = malloc(n * sizeof(*cell.entries))};
    struct ch_box halves[2] = {*box, *box};
    chorus_status status = CHORUS_OK;
    int side;

    if (cell.entries == NULL) return NO_MEMORY;
    collect_rules(s, from, n, &cell);
    find_faces(&cell);
    CH_TRY_GOTO(status, judge_faces(s, &cell), out_free);
    side = busiest_side(&cell);
    if (side < 0) goto out_free;
    if (side < CH_BOX_RANGES)
        CH_TRY_GOTO(status, divide_range(s, &cell, side, halves), out_free);
    else
        divide_set(s, &cell, side, halves);
    for (int i = 0; i < 2; i++)
        CH_TRY_GOTO(status, explore(s, &halves[i], cell.entries, cell.n), out_free);

out_free:
    free(cell.entries);
    return status;
}

/* --- the whole ---------------------------------------------------------------------------- */

/* Find the rules of a collective that are used, among the first n rules of the table. */
static chorus_status explore_coll(struct search *s, const struct ch_boxes *boxes, size_t n,
                                  chorus_coll coll)
{
    struct entry *entries = malloc(n * sizeof(*entries));
    chorus_status status = CHORUS_OK;
    struct ch_box part;

    if (entries == NULL) return NO_MEMORY;
    for (size_t i = 0; i < boxes->n_spaces[coll] && status == CHORUS_OK; i++) {
        const struct ch_space *space = &boxes->spaces[coll][i];
        uint32_t n_entries = 0;

        for (size_t k = 0; k < n; k++) {
            const struct ch_rule *rule = &boxes->table->rules[k];

            if (rule->coll == coll && ch_box_within(space, rule, &s->boxes[k], &part))
                entries[n_entries++] = (struct entry){(uint32_t)k, 0};
        }
        if (n_entries > 0) status = explore(s, &space->all, entries, n_entries);
    }
    free(entries);
    return status;
}

chorus_status ch_reach_find(const struct ch_boxes *boxes, size_t n, size_t *first_out,
                            uint64_t *looks_out)
{
    struct search s = {boxes->boxes, calloc(n + 1, sizeof(bool)), 0};
    chorus_status status = CHORUS_OK;
    size_t first = 0;

    if (s.is_reached == NULL) return NO_MEMORY;
    for (size_t some = FIRST_RULES; first < n && status == CHORUS_OK; some *= 2) {
        const size_t hi = some < n ? some : n;

        for (uint32_t coll = 0; coll < CHORUS_COLL_COUNT && status == CHORUS_OK; coll++)
            status = explore_coll(&s, boxes, hi, (chorus_coll)coll);
        while (first < hi && s.is_reached[first])
            first++;
        if (first < hi) break;
    }
    free(s.is_reached);
    if (status != CHORUS_OK) return status;
    *first_out = first;
    *looks_out = s.looks;
    return CHORUS_OK;
}
