/* SPDX-License-Identifier: Apache-2.0 */
/*
 * data.h: the half of a heap on GPUs that lies there; for the files of this folder alone.
 *
 * A PE's device segment is reserved at its largest size by every PE at start:
 *
 *     | sync part: sync memory of teams | symmetric part: user's objects |
 *
 * Memory comes in chunks, each made by its PE and mapped by all: one for the sync part, whose
 * bytes are fixed, then one for each growth of the symmetric part.
 */
#ifndef CH_DATA_H
#define CH_DATA_H

#include "base/option.h"
#include "boot/boot.h"
#include "device/device.h"
#include "heap/arena.h"

#include <pthread.h>
#include <stdbool.h>

/* Bytes [lo, hi) of every segment, made at once. */
struct ch_chunk {
    size_t lo, hi;
    uint64_t multicast; /* its object's handle, where there is multicast */
    bool is_empty;      /* the program's memory was here, and was given back */
};

struct ch_data {
    struct ch_device *device; /* owned */
    struct ch_boot *boot;     /* borrowed */
    uint32_t me, n;
    bool by_fabric;        /* what other processes get of memory: see struct ch_pass */
    int spare_fd;          /* borrowed: given where all must and only PE 0 has one to give */
    char gpu[64];          /* the name that all PEs' devices have; "" if they differ */
    uint32_t n_sharing;    /* PEs that use this PE's device, itself too */
    bool *is_here;         /* [n], owned: of this process, so that handles are good here */
    char **reserved;       /* [n], owned: address ranges */
    char **bases;          /* [n], owned: where segments begin in them */
    size_t reserved_bytes; /* of each range */
    size_t granule_bytes;  /* chunks are multiples: the coarsest device's */
    size_t sync_bytes;
    size_t symmetric_offset; /* of every segment */
    size_t symmetric_bytes;  /* the most it can grow to */
    struct ch_chunk *chunks; /* [n_chunks], owned: the last one grew last */
    size_t n_chunks;
    bool has_multicast;       /* of all PEs' segments, in hardware; see multicast.h */
    char *multicast_reserved; /* owned: the range of its addresses */
    char *multicast;          /* where a segment's begin in it */
    void *door_host, *door;   /* this PE's, as the CPU and as kernels address it */

    pthread_mutex_t sync_lock; /* guards sync */
    struct ch_arena sync;      /* of the sync part; limit is all of it */
};

/* What a PE is to know of another to open the data side. */
struct ch_data_peer {
    struct ch_device_id device;
    bool is_here; /* in this process */
    bool wants_multicast;
};

/* What it borrows of this PE's segment. */
struct ch_data_own {
    void *door; /* a page */
    int fd;
};

/* Collective over the job; opens on all PEs or on none, with a message that names the PE that
 * could not. */
CH_MUST_CHECK chorus_status ch_data_open(struct ch_boot *boot, const struct ch_options *options,
                                         const struct ch_data_peer *peers,
                                         struct ch_data_own own, struct ch_data **data_out);
void ch_data_close(struct ch_data *data); /* null is a no-op; not collective */

/* Back bytes [lo, hi) of every PE's symmetric part with memory, or none. Collective; ERR_NOMEM,
 * on all PEs, names the one whose device is full. */
CH_MUST_CHECK chorus_status ch_data_grow(struct ch_data *data, size_t lo, size_t hi);

/* A vote of all PEs on a step that is theirs. */
CH_MUST_CHECK chorus_status ch_data_vote(const struct ch_data *data, chorus_status mine);

/* The next chunk of every segment, bytes [lo, hi) of it: on all PEs or on none. Collective.
 * Mappings alone keep its memory afterwards. */
CH_MUST_CHECK chorus_status ch_data_add_chunk(struct ch_data *data, size_t lo, size_t hi);
/* The same with memory that the program has mapped at addr. */
CH_MUST_CHECK chorus_status ch_data_adopt(struct ch_data *data, size_t lo, size_t hi,
                                          void *addr);
/* Undo it. Not collective. */
void ch_data_disown(struct ch_data *data, size_t lo);
/* Where memory of so many bytes was given back; false: nowhere. */
bool ch_data_find_empty(const struct ch_data *data, size_t bytes, size_t *lo_out);
/* Those bytes of the first n PEs' segments have no memory here any more. Not collective. */
void ch_data_unmap(const struct ch_data *data, uint32_t n, size_t lo, size_t hi);

/* See heap.h. */
CH_MUST_CHECK chorus_status ch_data_sync_alloc(struct ch_data *data, size_t bytes,
                                               void **ptr_out);
void ch_data_sync_free(struct ch_data *data, void *ptr);

#endif /* CH_DATA_H */
