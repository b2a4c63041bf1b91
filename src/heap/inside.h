/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inside.h: what the files of this folder share: arenas, the device segments of a heap on GPUs,
 * and the state of a heap.
 */
#ifndef CH_HEAP_INSIDE_H
#define CH_HEAP_INSIDE_H

#include "base/error.h"
#include "base/option.h"
#include "boot/boot.h"
#include "device/device.h"
#include "heap/heap.h"
#include "heap/segment.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* ---- arenas (arena.c) ---- */

/*
 * A first-fit allocator over the offsets [0, limit). It accesses only its own data structures,
 * and the same sequence of calls gives the same offsets on every PE.
 *
 * Blocks, in use or free, cover the range without gaps, and are stored in one array in order
 * of their offset: a block is found by bisection, its neighbours are the entries next to it,
 * and two free blocks are never adjacent. An insertion moves the rest of the array, 16 bytes
 * for each block, which is cheap for the thousands of blocks of a symmetric heap.
 */

/* Offsets and sizes are multiples of this: two blocks never share a cache line. */
#define CH_ARENA_GRANULE ((size_t)64)

/* A block ends at the next block's offset. */
struct ch_arena_block {
    size_t offset;
    bool is_used;
};

struct ch_arena {
    struct ch_arena_block *blocks; /* [n_blocks + 1], owned; the last is at limit, and used */
    size_t n_blocks, capacity;     /* capacity includes the last entry */
    size_t limit;
    size_t n_used, used_bytes, high_water_bytes;
};

/* An empty arena, limit 0. */
CH_MUST_CHECK chorus_status ch_arena_init(struct ch_arena *a);
void ch_arena_clear(struct ch_arena *a); /* undoes init; a zeroed arena is a no-op */

/* Ensure room in the array for one ch_arena_grow and one ch_arena_alloc. ERR_SYSTEM if there is
 * no memory. */
CH_MUST_CHECK chorus_status ch_arena_reserve(struct ch_arena *a);

/* Raise the limit, a multiple of the granule. After ch_arena_reserve. */
void ch_arena_grow(struct ch_arena *a, size_t limit);

/*
 * Allocate at the lowest offset that fits. align is a power of two; bytes is not 0 and far
 * below SIZE_MAX. False if no block fits, or the array is full: raise the limit to
 * ch_arena_limit_for, reserve, and call again.
 */
bool ch_arena_alloc(struct ch_arena *a, size_t align, size_t bytes, size_t *offset_out);
/* As ch_arena_alloc, at the lowest offset that fits and is not below `from`. */
bool ch_arena_alloc_from(struct ch_arena *a, size_t from, size_t align, size_t bytes,
                         size_t *offset_out);
/* Allocate the last `bytes` bytes below the limit, a multiple of the granule, all of them free.
 * After ch_arena_reserve. */
void ch_arena_use_last(struct ch_arena *a, size_t bytes);
/* The lowest limit with which ch_arena_alloc_from finds a block that fits. */
size_t ch_arena_limit_for(const struct ch_arena *a, size_t from, size_t align, size_t bytes);

/* What an offset below limit is: the start of a block in use, inside one, or free. */
enum ch_arena_place { CH_PLACE_BLOCK, CH_PLACE_INNER, CH_PLACE_FREE };
/* What is `offset`? In all cases *start_out and *bytes_out describe the block, in use or free,
 * that contains it. */
enum ch_arena_place ch_arena_find(const struct ch_arena *a, size_t offset, size_t *start_out,
                                  size_t *bytes_out);

/* Free the block that begins at offset, a CH_PLACE_BLOCK. */
void ch_arena_free(struct ch_arena *a, size_t offset);
/* Resize such a block in place to `bytes`; false if that is not possible. */
bool ch_arena_resize(struct ch_arena *a, size_t offset, size_t bytes);

/* The size of the largest free block if the limit were raised to `ceiling`. */
size_t ch_arena_largest(const struct ch_arena *a, size_t ceiling);

/* Check all blocks: no gaps, order, granule, coalescing, counts. ERR_STATE at the first
 * violation. */
CH_MUST_CHECK chorus_status ch_arena_check(const struct ch_arena *a);

/* ---- the device segments of a heap on GPUs ---- */

/*
 * A PE's device segment is reserved at its largest size by every PE at start:
 *
 *     | sync part: sync memory of teams | symmetric part: user's objects |
 *
 * Memory is added in chunks (not those of messages), each created by its PE and mapped by all:
 * one for the sync part, whose size is fixed, then one for each growth of the symmetric part.
 */

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
    bool is_across; /* some PEs of different hosts are near each other, by fabric handles; the
                       same on all PEs */
    int spare_fd;   /* borrowed: a descriptor for exchanges in which all PEs must send one and
                       only PE 0 has one */
    char gpu[64];   /* the name of all PEs' devices; "" if they differ */
    uint32_t n_sharing; /* number of PEs that use this PE's device, itself included */
    bool *is_here;      /* [n], owned: in this process, where its handles are valid */
    uint32_t *groups;   /* [n], owned: the group of near PEs that each is in, by its first PE */
    uint8_t *reasons;   /* [n], owned: why each PE is near, beside or far; see class.c */
    char **refusals;    /* [n], owned as their texts: why a PE cannot be mapped, as CUDA reports
                           it; null: it can be, or CUDA was not asked */
    char **homes;       /* [n], owned: the address of each PE's segment at that PE */
    char **reserved;    /* [n], owned: address ranges */
    char **bases;       /* [n], owned: addresses at which segments begin in the ranges; null:
                           that PE is not near */
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

/* Open the data side on GPUs. Collective over the job; opens on all PEs or on none, with a
 * message that names the PE that failed. */
CH_MUST_CHECK chorus_status ch_data_open(struct ch_boot *boot, const struct ch_options *options,
                                         const struct ch_data_peer *peers,
                                         struct ch_data_own own, struct ch_data **data_out);
void ch_data_close(struct ch_data *data); /* null is a no-op; not collective */

/* Is PE pe in the group of this PE? */
static inline bool ch_data_is_near(const struct ch_data *data, uint32_t pe)
{
    return data->groups[pe] == data->groups[data->me];
}
/* Are all PEs of the job near each other? The same result on all. Once the pool is open, its
 * absence says so: ch_heap_has_pool. */
bool ch_data_is_one_group(const struct ch_data *data);

/* What the PEs have found out about a peer. */
struct ch_data_reach {
    const struct ch_device_id *device; /* of the peer */
    bool is_p2p_on;                    /* CHORUS_P2P of this PE */
    bool may_map, may_be_mapped; /* this PE the peer's memory; the peer this PE's memory */
};
/* Keep why PE pe cannot be mapped, as CUDA reports it, a message; then, once the groups are
 * known, why the PE is near, beside or far, for ch_heap_why_class. */
void ch_data_keep_refusal(struct ch_data *data, uint32_t pe, const char *why);
void ch_data_keep_reason(struct ch_data *data, uint32_t pe, const struct ch_data_reach *reach);

/* ---- the trial of fabric handles (trial.c) ---- */

/* A piece of memory of this PE that those of other hosts try to map. */
struct ch_trial {
    uint64_t handle;
    bool has_handle;
};

/* Is there a trial? The same result on all PEs: not on one host, nor if CHORUS_NODES pretends
 * several. */
bool ch_trial_is_needed(const struct ch_data *data, const struct ch_options *options);
/* Create this PE's piece if it offers fabric handles, which it no longer does if that fails. If
 * all PEs offer them, set may_map for each PE of another host. Collective, also if this PE has
 * failed with `mine`. A vote must follow before close, as peers may still map the piece. */
CH_MUST_CHECK chorus_status ch_trial_open(struct ch_data *data, struct ch_trial *trial,
                                          chorus_status mine, bool *offers_io, bool *may_map);
void ch_trial_close(const struct ch_data *data,
                    struct ch_trial *trial); /* also after a failure */

/* Back bytes [lo, hi) of every PE's symmetric part with memory, or of none. Collective;
 * ERR_NOMEM, on all PEs, names the PE whose device is full. */
CH_MUST_CHECK chorus_status ch_data_grow(struct ch_data *data, size_t lo, size_t hi);

/* A vote of all PEs on a step that each PE takes. */
CH_MUST_CHECK chorus_status ch_data_vote(const struct ch_data *data, chorus_status mine);

/* Create the next chunk of every segment, its bytes [lo, hi): on all PEs or on none.
 * Collective. Afterwards only the mappings keep its memory allocated. */
CH_MUST_CHECK chorus_status ch_data_add_chunk(struct ch_data *data, size_t lo, size_t hi);
/* As ch_data_add_chunk, with memory that the program has mapped at addr; [lo, hi) is an empty
 * chunk or follows the last one. */
CH_MUST_CHECK chorus_status ch_data_adopt(struct ch_data *data, size_t lo, size_t hi,
                                          void *addr);
/* Unmap the adopted chunk that begins at lo; it is then empty. Not collective. */
void ch_data_disown(struct ch_data *data, size_t lo);
/* Undo the addition or adoption of the last chunk. Not collective. */
void ch_data_drop_last(struct ch_data *data);
/* Find an empty chunk of `bytes`, which begins at *lo_out; false: there is none. */
bool ch_data_find_empty(const struct ch_data *data, size_t bytes, size_t *lo_out);
/* Unmap these bytes of the first n PEs' segments. Not collective. */
void ch_data_unmap(const struct ch_data *data, uint32_t n, size_t lo, size_t hi);

/* Allocate and free in the sync part, as ch_heap_sync_alloc_from and ch_heap_sync_free. */
CH_MUST_CHECK chorus_status ch_data_sync_alloc(struct ch_data *data, size_t from, size_t bytes,
                                               void **ptr_out);
void ch_data_sync_free(struct ch_data *data, void *ptr);

/* ---- addresses that reach all PEs of the job at once (chunk.c) ---- */

/*
 * Each chunk of the device segments gets a multicast object over the devices of all PEs. It is
 * mapped in a separate range that has the layout of a segment, so that equal offsets name the
 * same location.
 */

/* Does every PE request multicast, on a device that supports it and that no other PE uses, and
 * are all on one host? */
bool ch_multicast_is_possible(const struct ch_boot *boot, const struct ch_data_peer *peers);

/* Unmap the chunk's multicast object on this PE, and release it. */
void ch_multicast_undo(const struct ch_data *data, const struct ch_chunk *chunk);

/* ---- the state of a heap ---- */

/* See pool.c; its base is null if all PEs are near each other. */
struct ch_pool {
    char *base;
    uint32_t n_registered; /* the pools of PEs below this are registered with CUDA */
    struct ch_arena arena; /* guarded by local_lock */
};

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
    struct ch_pool pool;
};

/* Make the pools of all PEs, or of none; a no-op if all are near each other. Collective; called
 * before anything else is allocated in the local part. */
CH_MUST_CHECK chorus_status ch_heap_pool_open(struct ch_heap *heap);
void ch_heap_pool_close(struct ch_heap *heap); /* also after open has failed */

/* Growth is a multiple of this, which the page size of every host divides, or of a GPU's
 * granularity. */
#define CH_HEAP_PAGE_BYTES ((size_t)65536)

/* Raise the symmetric part's limit to at least `limit`, on all PEs or on none; if it has that
 * limit, only make room in the data structures. bytes_asked: what the program requested, for
 * the vote and for messages. Collective. */
CH_MUST_CHECK chorus_status ch_heap_grow(struct ch_heap *heap, size_t limit,
                                         size_t bytes_asked);

/* Fail with ERR_NOMEM; the message has bytes_asked, the free and largest sizes, and `why`. */
chorus_status ch_heap_fail_no_room(const struct ch_heap *heap, size_t bytes_asked,
                                   const char *why);

#endif /* CH_HEAP_INSIDE_H */
