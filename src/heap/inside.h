/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inside.h: the state of a heap, and of its device segments if it is on GPUs; used only by the
 * files of this folder.
 *
 * A PE's device segment is reserved at its largest size by every PE at start:
 *
 *     | sync part: sync memory of teams | symmetric part: user's objects |
 *
 * Memory is added in chunks, each created by its PE and mapped by all: one for the sync part,
 * whose size is fixed, then one for each growth of the symmetric part.
 */
#ifndef CH_HEAP_INSIDE_H
#define CH_HEAP_INSIDE_H

#include "base/option.h"
#include "boot/boot.h"
#include "device/device.h"
#include "heap/arena.h"
#include "heap/heap.h"
#include "heap/segment.h"

#include <pthread.h>
#include <stdbool.h>

/* Bytes [lo, hi) of every segment, created together. */
struct ch_chunk {
    size_t lo, hi;
    uint64_t multicast; /* the handle of its multicast object, if there is multicast */
    bool is_empty;      /* memory of the program was here, and its registration has ended */
};

struct ch_data {
    struct ch_device *device; /* owned */
    struct ch_boot *boot;     /* borrowed */
    uint32_t me, n;
    bool by_fabric; /* how memory is shared with other processes: see struct ch_pass */
    int spare_fd;   /* borrowed: a descriptor for exchanges in which all PEs must send one and
                       only PE 0 has one */
    char gpu[64];   /* the name of all PEs' devices; "" if they differ */
    uint32_t n_sharing;    /* number of PEs that use this PE's device, itself included */
    bool *is_here;         /* [n], owned: in this process, where its handles are valid */
    char **reserved;       /* [n], owned: address ranges */
    char **bases;          /* [n], owned: addresses at which segments begin in the ranges */
    size_t reserved_bytes; /* bytes of each range */
    size_t granule_bytes;  /* chunks are multiples of this: the largest granularity of all
                              devices */
    size_t sync_bytes;
    size_t symmetric_offset; /* in every segment */
    size_t symmetric_bytes;  /* the largest size to which it can grow */
    struct ch_chunk *chunks; /* [n_chunks], owned: in the order of growth */
    size_t n_chunks;
    bool has_multicast;       /* of all PEs' segments, in hardware; see below */
    char *multicast_reserved; /* owned: its address range */
    char *multicast;          /* the address of a segment's beginning in it */
    void *door_host, *door;   /* those of this PE, at the addresses of the CPU and of kernels */

    pthread_mutex_t sync_lock; /* guards sync */
    struct ch_arena sync;      /* allocator of the sync part; its limit is the whole part */
};

/* What a PE publishes for the others when the data side is opened. */
struct ch_data_peer {
    struct ch_device_id device;
    bool is_here; /* in this process */
    bool wants_multicast;
};

/* What the data side borrows from this PE's segment. */
struct ch_data_own {
    void *door; /* a page */
    int fd;
};

/* Collective over the job; opens on all PEs or on none, with a message that names the PE that
 * failed. */
CH_MUST_CHECK chorus_status ch_data_open(struct ch_boot *boot, const struct ch_options *options,
                                         const struct ch_data_peer *peers,
                                         struct ch_data_own own, struct ch_data **data_out);
void ch_data_close(struct ch_data *data); /* null is a no-op; not collective */

/* Back bytes [lo, hi) of every PE's symmetric part with memory, or of none. Collective;
 * ERR_NOMEM, on all PEs, names the PE whose device is full. */
CH_MUST_CHECK chorus_status ch_data_grow(struct ch_data *data, size_t lo, size_t hi);

/* A vote of all PEs on a step that each PE takes. */
CH_MUST_CHECK chorus_status ch_data_vote(const struct ch_data *data, chorus_status mine);

/* Create the next chunk of every segment, its bytes [lo, hi): on all PEs or on none.
 * Collective. Afterwards only the mappings keep its memory allocated. */
CH_MUST_CHECK chorus_status ch_data_add_chunk(struct ch_data *data, size_t lo, size_t hi);
/* The same with memory that the program has mapped at addr. */
CH_MUST_CHECK chorus_status ch_data_adopt(struct ch_data *data, size_t lo, size_t hi,
                                          void *addr);
/* Undo it. Not collective. */
void ch_data_disown(struct ch_data *data, size_t lo);
/* Where memory of so many bytes was given back; false: nowhere. */
bool ch_data_find_empty(const struct ch_data *data, size_t bytes, size_t *lo_out);
/* Unmap these bytes of the first n PEs' segments. Not collective. */
void ch_data_unmap(const struct ch_data *data, uint32_t n, size_t lo, size_t hi);

/* See heap.h. */
CH_MUST_CHECK chorus_status ch_data_sync_alloc(struct ch_data *data, size_t from, size_t bytes,
                                               void **ptr_out);
void ch_data_sync_free(struct ch_data *data, void *ptr);

/* ---- addresses that reach all PEs of the job at once (chunk.c) ---- */

/*
 * Each chunk of the device segments gets a multicast object over the devices of all PEs. It is
 * mapped in a separate range that has the layout of a segment, so that equal offsets name the
 * same location.
 */

/* Does every PE request multicast, on a device that supports it and that no other PE uses? */
bool ch_multicast_serves(const struct ch_data_peer *peers, uint32_t n);

/* Create the object of this chunk, whose memory on this PE is `memory`. Collective: all PEs
 * have it on return or none, with a message that names the PE that failed. */
CH_MUST_CHECK chorus_status ch_multicast_make(const struct ch_data *data,
                                              struct ch_chunk *chunk, uint64_t memory);
void ch_multicast_undo(const struct ch_data *data, const struct ch_chunk *chunk);

/* ---- the state of a heap ---- */

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

#endif /* CH_HEAP_INSIDE_H */
