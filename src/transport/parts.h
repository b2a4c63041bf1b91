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
    void *handle; /* handle of the network */
};

/* Zeroed before use; ch_parts_free frees it. */
struct ch_parts {
    struct ch_part *all; /* [n], ordered by address; they do not overlap */
    size_t n, last;      /* the result of the last search */
};

/* A pointer to a part is valid until parts are added or removed. */
CH_MUST_CHECK chorus_status ch_parts_add(struct ch_parts *parts, struct ch_part part);
/* Remove the part that begins at base. False: there is none. */
bool ch_parts_remove(struct ch_parts *parts, uintptr_t base, struct ch_part *part_out);
void ch_parts_free(struct ch_parts *parts);

/* The part that contains the byte at `there`; null: there is none. */
const struct ch_part *ch_parts_find(struct ch_parts *parts, uintptr_t there);
/* Are these bytes in parts? A heap that grows is attached in several parts, and an object may
 * span them. */
bool ch_parts_hold(struct ch_parts *parts, uintptr_t there, uint64_t bytes);

#endif /* CH_PARTS_H */
