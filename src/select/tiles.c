/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tiles.c: a line sweeps along x. A tree over y holds the tiles that the line crosses, each in
 * the nodes that its y range consists of, as in any segment tree. A node stores the first tile
 * that covers all of it, the last tile that is visible in it, and one that is visible in it
 * and was not yet reported. The root thus gives the unreported visible tiles one by one, each
 * at the cost of its nodes.
 */
#include "select/table.h"

#include <stdlib.h>

#define NONE UINT32_MAX /* after every tile */

/* The tiles that are in the node and not in its parent, as a heap. A tile that has ended is
 * removed when it becomes the first. */
struct node {
    uint32_t *heap;
    uint32_t n_heap;
    uint32_t deepest; /* the last tile that is visible if no other nodes are considered; NONE:
                         some point is uncovered */
    uint32_t fresh;   /* in the same sense, the first tile that is visible and was not reported;
                         or NONE */
};

struct sweep {
    const struct ch_tile *tiles;
    uint32_t n;
    uint64_t *ys; /* bounds; piece i is from ys[i] to ys[i + 1] */
    size_t n_pieces;
    struct node *nodes;      /* 1 is the root; the children of i are 2i and 2i + 1 */
    uint32_t *heaps;         /* memory of the nodes' heaps */
    uint32_t *begins, *ends; /* tiles, ordered by their lower and upper bounds in x */
    bool *is_on, *is_reported;
    uint64_t looks;
};

enum change { COUNT, ADD, REFRESH };

/* --- heaps -------------------------------------------------------------------------------- */

/* Add a tile to the node's heap, whose first tile is the lowest. */
static void heap_push(struct node *node, uint32_t tile)
{
    uint32_t at = node->n_heap++;

    for (; at > 0 && node->heap[(at - 1) / 2] > tile; at = (at - 1) / 2)
        node->heap[at] = node->heap[(at - 1) / 2];
    node->heap[at] = tile;
}

/* Remove the first tile of the node's heap. */
static void heap_pop(struct node *node)
{
    const uint32_t last = node->heap[--node->n_heap];
    uint32_t at = 0;

    for (uint32_t child; (child = 2 * at + 1) < node->n_heap; at = child) {
        if (child + 1 < node->n_heap && node->heap[child + 1] < node->heap[child]) child++;
        if (node->heap[child] >= last) break;
        node->heap[at] = node->heap[child];
    }
    node->heap[at] = last;
}

/* --- the tree ----------------------------------------------------------------------------- */

/* Compute the values of node i from its tiles and its children. */
static void update_node(struct sweep *s, size_t i, bool is_leaf)
{
    struct node *node = &s->nodes[i];
    const struct node *a = &s->nodes[2 * i], *b = &s->nodes[2 * i + 1];
    const uint32_t deepest = is_leaf ? NONE : a->deepest > b->deepest ? a->deepest : b->deepest;
    const uint32_t fresh = is_leaf ? NONE : a->fresh < b->fresh ? a->fresh : b->fresh;
    uint32_t first;

    while (node->n_heap > 0 && !s->is_on[node->heap[0]])
        heap_pop(node);
    first = node->n_heap > 0 ? node->heap[0] : NONE;
    node->deepest = first < deepest ? first : deepest;
    node->fresh = fresh < first ? fresh : NONE;
    if (first < deepest && first < node->fresh && !s->is_reported[first]) node->fresh = first;
}

/* Apply a change to the nodes that a tile consists of, below node i, which is of the pieces
 * [lo, hi). */
static void change_nodes(struct sweep *s, enum change what, uint32_t tile, size_t i, size_t lo,
                         size_t hi)
{
    const struct ch_tile *t = &s->tiles[tile];
    const size_t middle = lo + (hi - lo) / 2;

    if (t->y_hi <= s->ys[lo] || s->ys[hi] <= t->y_lo) return;
    s->looks++;
    if (t->y_lo <= s->ys[lo] && s->ys[hi] <= t->y_hi) {
        if (what == COUNT) s->nodes[i].n_heap++;
        if (what == ADD) heap_push(&s->nodes[i], tile);
    } else {
        change_nodes(s, what, tile, 2 * i, lo, middle);
        change_nodes(s, what, tile, 2 * i + 1, middle, hi);
    }
    if (what != COUNT) update_node(s, i, hi - lo == 1);
}

static int by_value(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Set the bounds in y of the pieces: those of all tiles, in order, each once. */
static void set_piece_bounds(struct sweep *s)
{
    size_t n = 0;

    for (uint32_t i = 0; i < s->n; i++) {
        s->ys[n++] = s->tiles[i].y_lo;
        s->ys[n++] = s->tiles[i].y_hi;
    }
    qsort(s->ys, n, sizeof(s->ys[0]), by_value);
    n = 1;
    for (uint32_t i = 1; i < 2 * s->n; i++)
        if (s->ys[i] != s->ys[n - 1]) s->ys[n++] = s->ys[i];
    s->n_pieces = n - 1;
}

/* Create empty heaps, each with room for the tiles that may be in its node. */
static chorus_status make_heaps(struct sweep *s, size_t n_nodes)
{
    size_t used = 0;

    for (uint32_t i = 0; i < s->n; i++)
        change_nodes(s, COUNT, i, 1, 0, s->n_pieces);
    for (size_t i = 0; i < n_nodes; i++)
        used += s->nodes[i].n_heap;
    s->heaps = malloc(used * sizeof(*s->heaps));
    if (s->heaps == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory to check the rules of a table");
    used = 0;
    for (size_t i = 0; i < n_nodes; i++) {
        s->nodes[i].heap = s->heaps + used;
        used += s->nodes[i].n_heap;
        s->nodes[i].n_heap = 0;
        s->nodes[i].deepest = s->nodes[i].fresh = NONE;
    }
    return CHORUS_OK;
}

/* --- the line ----------------------------------------------------------------------------- */

static int by_begin(const void *a, const void *b, void *tiles)
{
    const struct ch_tile *t = tiles;
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (t[x].x_lo > t[y].x_lo) - (t[x].x_lo < t[y].x_lo);
}

static int by_end(const void *a, const void *b, void *tiles)
{
    const struct ch_tile *t = tiles;
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (t[x].x_hi > t[y].x_hi) - (t[x].x_hi < t[y].x_hi);
}

/* Report the tiles that are visible on the line. */
static void report_visible(struct sweep *s, bool shows[])
{
    for (uint32_t tile; (tile = s->nodes[1].fresh) != NONE;) {
        s->is_reported[tile] = true;
        shows[s->tiles[tile].owner] = true;
        change_nodes(s, REFRESH, tile, 1, 0, s->n_pieces);
    }
}

/* Move the line along x, and report the tiles that are visible on it. */
static void sweep_line(struct sweep *s, bool shows[])
{
    const struct ch_tile *t = s->tiles;

    for (uint32_t b = 0, e = 0; e < s->n;) {
        const uint64_t end = t[s->ends[e]].x_hi;
        const uint64_t x = b < s->n && t[s->begins[b]].x_lo < end ? t[s->begins[b]].x_lo : end;

        for (; e < s->n && t[s->ends[e]].x_hi == x; e++) {
            s->is_on[s->ends[e]] = false;
            change_nodes(s, REFRESH, s->ends[e], 1, 0, s->n_pieces);
        }
        for (; b < s->n && t[s->begins[b]].x_lo == x; b++) {
            s->is_on[s->begins[b]] = true;
            change_nodes(s, ADD, s->begins[b], 1, 0, s->n_pieces);
        }
        report_visible(s, shows);
    }
}

/* Allocate the arrays whose length depends on the tiles. */
static chorus_status make_lists(struct sweep *s)
{
    s->ys = malloc(2 * s->n * sizeof(*s->ys));
    s->begins = malloc(s->n * sizeof(*s->begins));
    s->ends = malloc(s->n * sizeof(*s->ends));
    s->is_on = calloc(s->n, sizeof(*s->is_on));
    s->is_reported = calloc(s->n, sizeof(*s->is_reported));
    if (s->ys == NULL || s->begins == NULL || s->ends == NULL || s->is_on == NULL ||
        s->is_reported == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory to check the rules of a table");
    for (uint32_t i = 0; i < s->n; i++)
        s->begins[i] = s->ends[i] = i;
    qsort_r(s->begins, s->n, sizeof(*s->begins), by_begin, (void *)(uintptr_t)s->tiles);
    qsort_r(s->ends, s->n, sizeof(*s->ends), by_end, (void *)(uintptr_t)s->tiles);
    set_piece_bounds(s);
    s->nodes = calloc(4 * s->n_pieces, sizeof(*s->nodes));
    if (s->nodes == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory to check the rules of a table");
    return make_heaps(s, 4 * s->n_pieces);
}

chorus_status ch_tiles_show(const struct ch_tile tiles[], uint32_t n, bool shows[],
                            uint64_t *looks_out)
{
    struct sweep s = {.tiles = tiles, .n = n};
    const chorus_status status = make_lists(&s);

    if (status == CHORUS_OK) sweep_line(&s, shows);
    *looks_out = s.looks;
    free(s.ys);
    free(s.begins);
    free(s.ends);
    free(s.is_on);
    free(s.is_reported);
    free(s.nodes);
    free(s.heaps);
    return status;
}
