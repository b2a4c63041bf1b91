/* SPDX-License-Identifier: Apache-2.0 */
/* parts.h: the memory of a PE that peers may access: parts, some of which are adjacent. */
#ifndef CH_PARTS_H
#define CH_PARTS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ch_part {
    uintptr_t base;
    size_t bytes;
    uint64_t key;
    void *handle; /* the network's own */
};

/* Zeroed at first; ch_parts_free at last. */
struct ch_parts {
    struct ch_part *all; /* [n], by address; none overlaps another */
    size_t n, last;      /* the one that was found last */
};

/* A pointer to a part is good until parts are added or removed. */
CH_MUST_CHECK chorus_status ch_parts_add(struct ch_parts *parts, struct ch_part part);
/* The one that begins at base, which is no part any more. False: there is none. */
bool ch_parts_remove(struct ch_parts *parts, uintptr_t base, struct ch_part *part_out);
void ch_parts_free(struct ch_parts *parts);

/* The part that holds the byte at `there`; null: none does. */
const struct ch_part *ch_parts_find(struct ch_parts *parts, uintptr_t there);
/* Are these bytes in parts? A heap that grows is attached part by part, and an object may lie
 * in several. */
bool ch_parts_hold(struct ch_parts *parts, uintptr_t there, uint64_t bytes);

#endif /* CH_PARTS_H */
