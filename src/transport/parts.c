/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/parts.h"

#include <stdlib.h>
#include <string.h>

/* The first part after this address, in the order of addresses. */
static size_t behind(const struct ch_parts *parts, uintptr_t there)
{
    size_t lo = 0, hi = parts->n;

    while (lo < hi) {
        const size_t middle = lo + (hi - lo) / 2;

        if (parts->all[middle].base <= there)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

chorus_status ch_parts_add(struct ch_parts *parts, struct ch_part part)
{
    const size_t at = behind(parts, part.base);
    struct ch_part *all = realloc(parts->all, (parts->n + 1) * sizeof(*all)); /* this is rare */

    if (all == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for %zu parts of a heap", parts->n + 1);
    memmove(all + at + 1, all + at, (parts->n - at) * sizeof(*all));
    all[at] = part;
    parts->all = all;
    parts->n++;
    return CHORUS_OK;
}

bool ch_parts_remove(struct ch_parts *parts, uintptr_t base, struct ch_part *part_out)
{
    const size_t at = behind(parts, base);

    if (at == 0 || parts->all[at - 1].base != base) return false;
    *part_out = parts->all[at - 1];
    memmove(parts->all + at - 1, parts->all + at, (parts->n - at) * sizeof(*parts->all));
    parts->n--;
    parts->last = 0;
    return true;
}

void ch_parts_free(struct ch_parts *parts)
{
    free(parts->all);
    *parts = (struct ch_parts){NULL, 0, 0};
}

const struct ch_part *ch_parts_find(struct ch_parts *parts, uintptr_t there)
{
    if (parts->n == 0) return NULL;
    if (there - parts->all[parts->last].base >= parts->all[parts->last].bytes) {
        const size_t at = behind(parts, there);

        if (at == 0 || there - parts->all[at - 1].base >= parts->all[at - 1].bytes) return NULL;
        parts->last = at - 1;
    }
    return &parts->all[parts->last];
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
