/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grow.c: the one part of allocation that asks the other PEs.
 *
 * Two votes: everyone has the memory, so go on; everyone committed it, so use it. One vote
 * would not do: a PE that looks at the machine's free memory after a peer has begun to take
 * its share sees less than there was.
 */
#include "heap/heap_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct vote {
    uint64_t bytes_asked, limit;
    int64_t error; /* errno, 0 for yes */
};

chorus_status ch_heap_no_room(const struct ch_heap *heap, size_t bytes_asked, const char *why)
{
    struct ch_heap_info info;

    ch_heap_info_get(heap, &info);
    return CH_FAIL(
        CHORUS_ERR_NOMEM,
        "%zu bytes asked of the symmetric heap; %zu of %zu are free, the largest block "
        "is %zu; %s",
        bytes_asked, info.free_bytes, info.reserved_bytes, info.largest_free_bytes, why);
}

static chorus_status count_votes(const struct ch_heap *heap, const struct vote *all)
{
    char why[160];

    for (uint32_t pe = 1; pe < heap->n; pe++)
        if (all[pe].bytes_asked != all[0].bytes_asked || all[pe].limit != all[0].limit)
            return CH_FAIL(
                CHORUS_ERR_ARG,
                "PE 0 asks the symmetric heap for %llu bytes, PE %u for %llu; all PEs "
                "must make the same allocations in the same order",
                (unsigned long long)all[0].bytes_asked, pe,
                (unsigned long long)all[pe].bytes_asked);
    for (uint32_t pe = 0; pe < heap->n; pe++) {
        if (all[pe].error == 0) continue;
        (void)snprintf(why, sizeof(why), "PE %u could not get memory from its machine: %s", pe,
                       strerror((int)all[pe].error));
        return ch_heap_no_room(heap, (size_t)all[0].bytes_asked, why);
    }
    return CHORUS_OK;
}

/* The same answer on every PE: CHORUS_OK if nobody had an error. */
static chorus_status agree(struct ch_heap *heap, const struct vote *mine)
{
    struct vote *const all = malloc(heap->n * sizeof(*all));
    chorus_status st;

    if (all == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory to ask %u PEs", heap->n);
    st = heap->boot->ops->exchange(heap->boot, mine, sizeof(*mine), -1, all, NULL);
    if (st == CHORUS_OK) st = count_votes(heap, all);
    free(all);
    return st;
}

/* All PEs are on this machine and grow alike. */
static int foresee(struct ch_heap *heap, size_t bytes)
{
    if (ch_arena_reserve(&heap->arena) != CHORUS_OK) return ENOMEM;
    if (heap->data != NULL) return 0; /* the machine's memory is not asked */
    return bytes > ch_memory_available() / heap->n ? ENOMEM : 0;
}

/* At least a step, so that small allocations seldom ask; at most what is reserved. */
static size_t next_limit(const struct ch_heap *heap, size_t old, size_t limit)
{
    const size_t most = heap->symmetric_bytes;
    const size_t page = heap->data != NULL ? heap->data->granule_bytes : CH_HEAP_PAGE_BYTES;
    size_t next = limit;

    if (heap->step_bytes > most - old) return most;
    if (next < old + heap->step_bytes) next = old + heap->step_bytes;
    next = (next + page - 1) / page * page;
    return next < most ? next : most;
}

/* The same on GPUs, whose refusal stands in the message. */
static chorus_status commit_on_gpus(struct ch_heap *heap, size_t lo, size_t hi,
                                    size_t bytes_asked)
{
    const chorus_status st = ch_data_grow(heap->data, lo, hi);
    char why[240];

    if (st != CHORUS_ERR_NOMEM) return st;
    (void)snprintf(why, sizeof(why), "%s", ch_error_message());
    return ch_heap_no_room(heap, bytes_asked, why);
}

/* Back [lo, hi) of every PE's symmetric part, or none. */
static chorus_status commit_all(struct ch_heap *heap, size_t lo, size_t hi, struct vote *mine)
{
    const struct ch_segment *const own = &heap->segments[heap->me];
    const size_t base = heap->layout.symmetric_offset;
    chorus_status st;

    if (heap->data != NULL) return commit_on_gpus(heap, lo, hi, (size_t)mine->bytes_asked);
    mine->error = ch_segment_commit(own, base + lo, base + hi);
    st = agree(heap, mine);
    if (st != CHORUS_OK && mine->error == 0) ch_segment_decommit(own, base + lo, base + hi);
    return st;
}

chorus_status ch_heap_grow(struct ch_heap *heap, size_t limit, size_t bytes_asked)
{
    const size_t old = heap->arena.limit;
    const size_t next = limit == old ? old : next_limit(heap, old, limit);
    struct vote mine = {bytes_asked, next, foresee(heap, next - old)};

    CH_TRY(agree(heap, &mine));
    if (next == old) return CHORUS_OK; /* only the bookkeeping had to grow */
    CH_TRY(commit_all(heap, old, next, &mine));
    ch_arena_grow(&heap->arena, next);
    __atomic_store_n(&heap->committed_bytes, next, __ATOMIC_RELAXED);
    return CHORUS_OK;
}
