/* SPDX-License-Identifier: Apache-2.0 */
/* tiles.h: which of several overlapping rectangles are visible? */
#ifndef CH_TILES_H
#define CH_TILES_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif /* CH_TILES_H */
