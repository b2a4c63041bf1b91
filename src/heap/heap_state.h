/* SPDX-License-Identifier: Apache-2.0 */
/* heap_state.h: the state of a heap; only for the files of this folder. */
#ifndef CH_HEAP_STATE_H
#define CH_HEAP_STATE_H

#include "heap/arena.h"
#include "heap/data.h"
#include "heap/heap.h"
#include "heap/segment.h"

#include <pthread.h>

struct ch_heap {
    struct ch_heap_extent extent; /* the first member, see ch_heap_contains */
    size_t symmetric_bytes;       /* the largest size to which it can grow */
    struct ch_segment *segments;  /* [n], owned */
    uint64_t *homes; /* [n], owned: the address at which each PE has mapped its own segment */
    uint32_t me, n;
    struct ch_boot *boot;                     /* borrowed */
    struct ch_heap_registration registration; /* attach is null: no keys are needed */
    struct ch_layout layout;
    struct ch_data *data;  /* owned: the parts on GPUs; null: the heap is in the segments */
    size_t step_bytes;     /* least growth of the symmetric part */
    struct ch_arena arena; /* of the symmetric part, up to extent.committed_bytes */

    pthread_mutex_t local_lock; /* guards local */
    struct ch_arena local; /* allocator of the local part; its limit is the end of its file */
};

/* Growth is a multiple of this, which the page size of every host divides, or of a GPU's
 * granularity. */
#define CH_HEAP_PAGE_BYTES ((size_t)65536)

/* Raise the symmetric part's limit to at least `limit`, on all PEs or on none. Collective. */
CH_MUST_CHECK chorus_status ch_heap_grow(struct ch_heap *heap, size_t limit,
                                         size_t bytes_asked);

/* Reports the message of every ERR_NOMEM. */
chorus_status ch_heap_no_room(const struct ch_heap *heap, size_t bytes_asked, const char *why);

#endif /* CH_HEAP_STATE_H */
