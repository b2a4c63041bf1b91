/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grow.c: the only part of allocation that communicates with other PEs; and memory of the
 * program in place of the heap's.
 *
 * Growth consists of two votes: first whether every PE has the memory, then whether every PE
 * has committed it. One vote would not be enough: a PE that reads the machine's free memory
 * after a peer has begun to commit its part would see too little.
 * If a network needs keys, a third vote follows: whether every PE's network has those of all
 * others.
 */
#include "heap/inside.h"

#include "boot/boot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WHY_BYTES = 512 };

/* Must be equal on all PEs. */
struct demand {
    uint64_t bytes_asked, limit;
    uint64_t key; /* key of the memory, for peers of other hosts; differs */
};

chorus_status ch_heap_fail_no_room(const struct ch_heap *heap, size_t bytes_asked,
                                   const char *why)
{
    struct ch_heap_info info;

    ch_heap_info_get(heap, &info);
    return CH_FAIL(CHORUS_ERR_NOMEM,
                   "%zu bytes were requested from the symmetric heap; %zu of %zu are free, the "
                   "largest block is %zu; %s",
                   bytes_asked, info.free_bytes, info.reserved_bytes, info.largest_free_bytes,
                   why);
}

/* ERR_ARG if two PEs demand different sizes. */
static chorus_status compare_demands(const struct demand *all, uint32_t n)
{
    for (uint32_t pe = 1; pe < n; pe++)
        if (all[pe].bytes_asked != all[0].bytes_asked || all[pe].limit != all[0].limit)
            return CH_FAIL(
                CHORUS_ERR_ARG,
                "PE 0 requests %llu bytes from the symmetric heap, and PE %u requests %llu; "
                "all PEs must make the same allocations in the same order",
                (unsigned long long)all[0].bytes_asked, pe,
                (unsigned long long)all[pe].bytes_asked);
    return CHORUS_OK;
}

/* OK on all PEs if has_it is OK on each, and all demand the same size; `all` then contains the
 * demands of all PEs. */
static chorus_status vote_on_growth(struct ch_heap *heap, const struct demand *mine,
                                    chorus_status has_it, struct demand *all)
{
    const struct ch_vote vote = {"growth", has_it, mine, sizeof(*mine)};

    CH_TRY(ch_boot_vote(heap->boot, &vote, all));
    return compare_demands(all, heap->n);
}

/* Number of PEs of the job on this host. */
static uint32_t count_near(const struct ch_heap *heap)
{
    uint32_t n = 0;

    for (uint32_t pe = 0; pe < heap->n; pe++)
        n += ch_boot_is_near(heap->boot, pe);
    return n;
}

/* ERR_NOMEM unless this host has `bytes` for each of its PEs, and this PE room for the data
 * structures. All PEs of this host grow by the same size, so PEs with their own control group
 * may get less than they could. */
static chorus_status check_memory_left(struct ch_heap *heap, size_t bytes)
{
    const uint32_t n = count_near(heap);
    struct ch_memory memory;

    if (ch_arena_reserve(&heap->arena) != CHORUS_OK)
        return CH_FAIL(CHORUS_ERR_NOMEM, "could not get memory from its host: %s",
                       strerror(ENOMEM));
    if (heap->data != NULL) return CHORUS_OK; /* the machine's memory is not checked */
    ch_memory_left("", &memory);
    if (bytes <= memory.bytes / n) return CHORUS_OK;
    return CH_FAIL(
        CHORUS_ERR_NOMEM,
        "could not get memory from its host: %u PEs need %zu bytes each, and %s has %zu left",
        n, bytes, memory.of, memory.bytes);
}

/* A limit in whole pages, at most the reserved size. */
static size_t in_pages(const struct ch_heap *heap, size_t limit)
{
    const size_t most = heap->symmetric_bytes;
    const size_t page = heap->data != NULL ? heap->data->granule_bytes : CH_HEAP_PAGE_BYTES;
    const size_t whole = (limit + page - 1) / page * page;

    return whole < most ? whole : most;
}

/* The limit to which the heap grows if it needs `limit`: at least a step above `old`, so that
 * small allocations seldom communicate. */
static size_t next_limit(const struct ch_heap *heap, size_t old, size_t limit)
{
    if (heap->step_bytes > heap->symmetric_bytes - old) return heap->symmetric_bytes;
    return in_pages(heap, limit < old + heap->step_bytes ? old + heap->step_bytes : limit);
}

/* The bytes [lo, hi) of PE pe's symmetric part, at its own address. */
static struct ch_memory_part part_at_owner(const struct ch_heap *heap, uint32_t pe, size_t lo,
                                           size_t hi)
{
    const bool is_on_gpu = heap->data != NULL;
    const size_t at = is_on_gpu ? heap->data->symmetric_offset : heap->layout.symmetric_offset;

    return (struct ch_memory_part){.base = ch_heap_data_at_owner(heap, pe) + at + lo,
                                   .bytes = hi - lo,
                                   .kind = is_on_gpu ? CH_MEMORY_GPU : CH_MEMORY_HOST,
                                   .dma_buf = -1};
}

/* Back [lo, hi) of this PE's symmetric part, for this PE and for peers that access it, which
 * need *key_out. */
static chorus_status commit_own(const struct ch_heap *heap, size_t lo, size_t hi,
                                uint64_t *key_out)
{
    const struct ch_segment *const own = &heap->segments[heap->me];
    const size_t base = heap->layout.symmetric_offset;
    const int error = ch_segment_commit(own, base + lo, base + hi);
    const struct ch_memory_part part = part_at_owner(heap, heap->me, lo, hi);
    chorus_status st = CHORUS_OK;

    if (error != 0)
        return CH_FAIL(CHORUS_ERR_NOMEM, "could not get memory from its host: %s",
                       strerror(error));
    if (heap->registration.attach != NULL)
        st = heap->registration.attach(heap->registration.self, &part, key_out);
    if (st != CHORUS_OK) ch_segment_decommit(own, base + lo, base + hi);
    return st;
}

/* Give the network the keys of all PEs for [lo, hi) of their symmetric parts. */
static chorus_status add_peer_parts(const struct ch_heap *heap, size_t lo, size_t hi,
                                    const struct demand *all)
{
    for (uint32_t pe = 0; pe < heap->n; pe++) {
        const struct ch_memory_part part = part_at_owner(heap, pe, lo, hi);

        CH_TRY(
            heap->registration.add_peer_part(heap->registration.self, pe, &part, all[pe].key));
    }
    return CHORUS_OK;
}

/* Once each PE has attached [lo, hi) of its symmetric part, or has failed with `made`: give the
 * network the keys, on all PEs or return a failure on all. */
static chorus_status exchange_keys(struct ch_heap *heap, size_t lo, size_t hi,
                                   const struct demand *mine, chorus_status made,
                                   struct demand *all)
{
    CH_TRY(vote_on_growth(heap, mine, made, all));
    if (heap->registration.attach == NULL) return CHORUS_OK;
    return vote_on_growth(heap, mine, add_peer_parts(heap, lo, hi, all), all);
}

/* Undo the attachment of what begins at lo, and drop the keys of peers that the network has. */
static void unregister(const struct ch_heap *heap, size_t lo)
{
    const struct ch_heap_registration *registration = &heap->registration;

    if (registration->attach == NULL) return;
    registration->detach(registration->self, part_at_owner(heap, heap->me, lo, lo).base);
    for (uint32_t pe = 0; pe < heap->n; pe++)
        registration->drop_peer_part(registration->self, pe,
                                     part_at_owner(heap, pe, lo, lo).base);
}

/* Let peers of other hosts access [lo, hi) of the symmetric parts, which are on GPUs, on all
 * PEs or on none. */
static chorus_status register_data(struct ch_heap *heap, size_t lo, size_t hi,
                                   struct demand *mine, struct demand *all)
{
    const struct ch_memory_part part = part_at_owner(heap, heap->me, lo, hi);
    chorus_status made, st;

    if (heap->registration.attach == NULL) return CHORUS_OK;
    made = heap->registration.attach(heap->registration.self, &part, &mine->key);
    st = exchange_keys(heap, lo, hi, mine, made, all);
    if (st != CHORUS_OK && made == CHORUS_OK) unregister(heap, lo);
    return st;
}

/* Back [lo, hi) of every PE's symmetric part, or of none. */
static chorus_status commit_all(struct ch_heap *heap, size_t lo, size_t hi, struct demand *mine,
                                struct demand *all)
{
    const size_t base = heap->layout.symmetric_offset;
    chorus_status made, st;

    if (heap->data != NULL) {
        CH_TRY(ch_data_grow(heap->data, lo, hi));
        st = register_data(heap, lo, hi, mine, all);
        if (st != CHORUS_OK) ch_data_drop_last(heap->data);
        return st;
    }
    made = commit_own(heap, lo, hi, &mine->key);
    st = exchange_keys(heap, lo, hi, mine, made, all);
    if (st != CHORUS_OK && made == CHORUS_OK) {
        unregister(heap, lo);
        ch_segment_decommit(&heap->segments[heap->me], base + lo, base + hi);
    }
    return st;
}

/* Raise the limit to `next` on all PEs or on none. all: memory for the demands of all PEs. */
static chorus_status grow_to(struct ch_heap *heap, size_t next, size_t bytes_asked,
                             struct demand *all)
{
    const size_t old = heap->arena.limit;
    struct demand mine = {bytes_asked, next, 0};

    CH_TRY(vote_on_growth(heap, &mine, check_memory_left(heap, next - old), all));
    if (next == old) return CHORUS_OK; /* only the data structures had to grow */
    CH_TRY(commit_all(heap, old, next, &mine, all));
    ch_arena_grow(&heap->arena, next);
    __atomic_store_n(&heap->extent.committed_bytes, next, __ATOMIC_RELAXED);
    return CHORUS_OK;
}

/* As grow_to, with the memory for the demands. */
static chorus_status grow(struct ch_heap *heap, size_t next, size_t bytes_asked)
{
    struct demand *all = malloc(heap->n * sizeof(*all));
    chorus_status st;

    if (all == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the answers of %u PEs", heap->n);
    st = grow_to(heap, next, bytes_asked, all);
    free(all);
    return st;
}

chorus_status ch_heap_grow(struct ch_heap *heap, size_t limit, size_t bytes_asked)
{
    const size_t old = heap->arena.limit;
    const size_t least = limit == old ? old : in_pages(heap, limit),
                 next = limit == old ? old : next_limit(heap, old, limit);
    chorus_status st = grow(heap, next, bytes_asked);
    char why[WHY_BYTES];

    if (st == CHORUS_ERR_NOMEM && least < next) { /* on all PEs; there is no room for a step */
        ch_error_forget();
        st = grow(heap, least, bytes_asked);
    }
    if (st != CHORUS_ERR_NOMEM) return st;
    (void)snprintf(why, sizeof(why), "%s", ch_error_message());
    return ch_heap_fail_no_room(heap, bytes_asked, why);
}

/* Make memory of the program at addr the object at [lo, lo + bytes), where nothing is mapped,
 * on all PEs or on none. */
static chorus_status adopt_at(struct ch_heap *heap, size_t lo, size_t bytes, void *addr,
                              struct demand *all)
{
    struct demand mine = {bytes, lo + bytes, 0};
    const size_t at = heap->data->symmetric_offset + lo;
    const bool is_behind =
        lo == heap->arena.limit; /* else the heap has the block from before */
    chorus_status has_room = CHORUS_OK, st;

    if (bytes > heap->symmetric_bytes - lo)
        has_room = ch_heap_fail_no_room(heap, bytes, "free some, or raise CHORUS_HEAP_MAX");
    else if (ch_arena_reserve(&heap->arena) != CHORUS_OK)
        has_room = CHORUS_ERR_SYSTEM;
    CH_TRY(vote_on_growth(heap, &mine, has_room, all));
    CH_TRY(ch_data_adopt(heap->data, at, at + bytes, addr));
    st = register_data(heap, lo, lo + bytes, &mine, all);
    if (st != CHORUS_OK && is_behind)
        ch_data_drop_last(heap->data);
    else if (st != CHORUS_OK)
        ch_data_disown(heap->data, at);
    if (st != CHORUS_OK || !is_behind) return st;
    ch_arena_grow(&heap->arena, lo + bytes);
    ch_arena_use_last(&heap->arena, bytes);
    __atomic_store_n(&heap->extent.committed_bytes, lo + bytes, __ATOMIC_RELAXED);
    return CHORUS_OK;
}

chorus_status ch_heap_adopt(struct ch_heap *heap, void *addr, size_t bytes, void **object_out)
{
    struct demand *all = malloc(heap->n * sizeof(*all));
    size_t lo = heap->arena.limit, at; /* unless the place of a disowned object fits */
    chorus_status st;

    if (all == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory to ask %u PEs", heap->n);
    if (ch_data_find_empty(heap->data, bytes, &at)) lo = at - heap->data->symmetric_offset;
    st = adopt_at(heap, lo, bytes, addr, all);
    free(all);
    if (st == CHORUS_OK) *object_out = heap->extent.symmetric + lo;
    return st;
}

void ch_heap_disown(struct ch_heap *heap, const void *object)
{
    unregister(heap, ch_heap_offset(heap, object));
    ch_data_disown(heap->data, (size_t)((const char *)object - heap->data->bases[heap->me]));
}

size_t ch_heap_granule_bytes(const struct ch_heap *heap)
{
    return heap->data->granule_bytes;
}
