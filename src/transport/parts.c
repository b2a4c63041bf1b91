/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/parts.h"

#include <stdlib.h>

chorus_status ch_parts_add(struct ch_parts *parts, struct ch_part part)
{
    struct ch_part *all = realloc(parts->all, (parts->n + 1) * sizeof(*all)); /* seldom */

    if (all == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for %zu parts of a heap", parts->n + 1);
    parts->all = all;
    all[parts->n++] = part;
    return CHORUS_OK;
}

bool ch_parts_remove(struct ch_parts *parts, uintptr_t base, struct ch_part *part_out)
{
    for (size_t i = 0; i < parts->n; i++) {
        if (parts->all[i].base != base) continue;
        *part_out = parts->all[i];
        parts->all[i] = parts->all[--parts->n];
        parts->last = 0;
        return true;
    }
    return false;
}

void ch_parts_free(struct ch_parts *parts)
{
    free(parts->all);
    *parts = (struct ch_parts){NULL, 0, 0};
}

const struct ch_part *ch_parts_find(struct ch_parts *parts, uintptr_t there)
{
    for (size_t i = 0; i < parts->n; i++) {
        const size_t which = (parts->last + i) % parts->n;

        if (there - parts->all[which].base >= parts->all[which].bytes) continue;
        parts->last = which;
        return &parts->all[which];
    }
    return NULL;
}

bool ch_parts_hold(struct ch_parts *parts, uintptr_t there, uint64_t bytes)
{
    while (bytes != 0) {
        const struct ch_part *part = ch_parts_find(parts, there);
        size_t here;

        if (part == NULL) return false;
        here = part->bytes - (there - part->base);
        if (here >= bytes) return true;
        there += here;
        bytes -= here;
    }
    return true;
}
