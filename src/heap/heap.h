/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap.h: the symmetric heap of a PE, and the mappings of those of its peers.
 *
 * A PE's segment is one memfd, reserved at its largest size by every PE at start and
 * committed on demand:
 *
 *     | doorbell, record | local part: memory of teams | symmetric part: user's objects |
 *
 * The same offset in the symmetric part of every PE is the same object. The local part is
 * not symmetric: each PE allocates there by itself and sends the offsets to the others.
 * PEs that share a process share one mapping of each segment.
 *
 * If the heap is on GPUs, the memory that algorithms access is there (inside.h): the symmetric
 * part, and sync memory. The segments then contain only doorbells, and memory for exchanges of
 * the library itself. The *data side* is the memory of both: in the segments, or on GPUs.
 */
#ifndef CH_HEAP_H
#define CH_HEAP_H

#include "base/door.h"
#include "base/error.h"
#include "base/option.h"
#include "base/record.h"
#include "boot/boot.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ch_device;
struct ch_heap;
struct ch_memory_part; /* device/device.h */

struct ch_heap_info {
    size_t reserved_bytes;     /* largest size of the symmetric part */
    size_t committed_bytes;    /* backed by memory now */
    size_t used_bytes;         /* in allocated blocks, rounding included */
    size_t free_bytes;         /* reserved_bytes - used_bytes */
    size_t largest_free_bytes; /* the largest block that can be allocated now, counting possible
                                  growth */
    size_t high_water_bytes;   /* the largest value that used_bytes has had */
    size_t blocks;             /* number of allocated blocks */
    size_t local_used_bytes;   /* sync memory of this PE's teams */
};

/* Reserve, exchange descriptors, map all peers. Collective over the job. The heap is on GPUs if
 * the options say so; with auto, if every PE has a GPU and the GPUs can access each other. */
CH_MUST_CHECK chorus_status ch_heap_open(struct ch_boot *boot, const struct ch_options *options,
                                         struct ch_heap **heap_out);
void ch_heap_close(struct ch_heap *heap); /* undoes open; null is a no-op; not collective */

/*
 * Registers this PE's memory for peers of other hosts. attach: registers memory of this PE that
 * was committed, and returns a key; add_peer_part: receives the key of PE `pe` for the same
 * range of its symmetric part, once all PEs have attached theirs; drop_peer_part forgets it.
 */
struct ch_heap_registration {
    chorus_status (*attach)(void *self, const struct ch_memory_part *part, uint64_t *key_out);
    void (*detach)(void *self, void *base);
    chorus_status (*add_peer_part)(void *self, uint32_t pe, const struct ch_memory_part *there,
                                   uint64_t key);
    void (*drop_peer_part)(void *self, uint32_t pe, const char *there);
    void *self;
};

/* Use these functions from now on; called before anything was allocated; the heap keeps a
 * copy. */
void ch_heap_set_registration(struct ch_heap *heap,
                              const struct ch_heap_registration *registration);

/* The largest alignment of an allocation. */
#define CH_HEAP_ALIGN_MAX ((size_t)1 << 30)

/*
 * Allocate in the symmetric part. Collective: all PEs make the same calls in the same order, so
 * every PE computes the same offset without communication. Only growth communicates (boot's
 * exchange). align is a power of two; bytes 0 returns null and CHORUS_OK. ERR_NOMEM on all PEs
 * or on none, with a message that has the requested, free and largest sizes; the heap is then
 * unchanged.
 */
CH_MUST_CHECK chorus_status ch_heap_alloc(struct ch_heap *heap, size_t align, size_t bytes,
                                          void **ptr_out);
/* Resize the block at ptr in place, or move it. Keeps the contents up to the smaller of both
 * sizes; null ptr allocates; bytes 0 frees and returns null. Collective. */
CH_MUST_CHECK chorus_status ch_heap_realloc(struct ch_heap *heap, void *ptr, size_t bytes,
                                            void **ptr_out);
/*
 * Make memory of the program an object of a heap on GPUs, too, until it is disowned. The
 * program has mapped it on the GPU at addr: bytes, whole granules. The object is at the end of
 * the heap, or at the addresses of a disowned one, which serve only memory of as many bytes.
 * Collective; disown is not, but no PE uses the object then. Errors as ch_device_retain;
 * ERR_NOMEM; ERR_ARG if PEs differ in bytes.
 */
CH_MUST_CHECK chorus_status ch_heap_adopt(struct ch_heap *heap, void *addr, size_t bytes,
                                          void **object_out);
void ch_heap_disown(struct ch_heap *heap, const void *object);
/* The size of which adopted memory is a multiple, in bytes. Only of a heap on GPUs. */
size_t ch_heap_granule_bytes(const struct ch_heap *heap);

/* Free the block that begins at ptr; collective. Null is a no-op. ERR_NOT_SYMMETRIC: outside
 * the heap; ERR_ARG: not the start of a block (an inner pointer, or freed already). The heap is
 * then as it was. */
CH_MUST_CHECK chorus_status ch_heap_free(struct ch_heap *heap, void *ptr);

/* Allocate in the local part: only on this PE, from any of its threads; zeroed, aligned to two
 * cache lines (a struct ch_line). */
CH_MUST_CHECK chorus_status ch_heap_local_alloc(struct ch_heap *heap, size_t bytes,
                                                void **ptr_out);
void ch_heap_local_free(struct ch_heap *heap, void *ptr); /* null is a no-op */

/* Allocate sync memory on the data side in the same way; the zeros are visible to kernels and
 * peers. */
CH_MUST_CHECK chorus_status ch_heap_sync_alloc(struct ch_heap *heap, size_t bytes,
                                               void **ptr_out);
void ch_heap_sync_free(struct ch_heap *heap, void *ptr); /* null is a no-op */
/* Allocate sync memory at the lowest free offset that is not below `from`, with pages on a
 * host: PEs that try one offset after another find one that is free on all of them. */
CH_MUST_CHECK chorus_status ch_heap_sync_alloc_from(struct ch_heap *heap, size_t from,
                                                    size_t bytes, void **ptr_out);
/* The offset of a block of sync memory, in the sense of `from`. */
size_t ch_heap_sync_offset(const struct ch_heap *heap, const void *ptr);

/* Are some PEs of a job on GPUs not near each other? The same result on all PEs; false on
 * hosts. If so, each PE has a pool in its segment, which its GPU and those of the same host
 * load and store at the addresses of the CPU. Allocate there, zeroed, and free, from any thread
 * of this PE. */
bool ch_heap_has_pool(const struct ch_heap *heap);
CH_MUST_CHECK chorus_status ch_heap_pool_alloc(struct ch_heap *heap, size_t bytes,
                                               void **ptr_out);
void ch_heap_pool_free(struct ch_heap *heap, void *ptr); /* null is a no-op */
/* PE pe's whole pool, at its own address, for networks. */
struct ch_memory_part ch_heap_pool_at_owner(const struct ch_heap *heap, uint32_t pe);

/* Fill symmetric memory of this PE with zeros. */
CH_MUST_CHECK chorus_status ch_heap_zero(const struct ch_heap *heap, void *ptr, size_t bytes);

/* The allocated block that contains this address; false: there is none. */
bool ch_heap_block(const struct ch_heap *heap, const void *ptr, char **start_out,
                   size_t *bytes_out);

/* The allocated block after the one at *start, or the first if that is null; false: there is
 * none. */
bool ch_heap_next_block(const struct ch_heap *heap, char **start);

/* This PE's committed symmetric memory; the first member of struct ch_heap. */
struct ch_heap_extent {
    char *symmetric;
    size_t committed_bytes; /* read by any thread, so atomic */
};

/* Is [ptr, ptr + bytes) inside committed symmetric memory of this PE? Used on the fast path. */
static inline bool ch_heap_contains(const struct ch_heap *heap, const void *ptr, size_t bytes)
{
    const struct ch_heap_extent *extent = (const struct ch_heap_extent *)(const void *)heap;
    const size_t offset = (uintptr_t)ptr - (uintptr_t)extent->symmetric;
    const size_t end = __atomic_load_n(&extent->committed_bytes, __ATOMIC_RELAXED);

    return offset <= end && bytes <= end - offset;
}

/* The distance of an address from the start of the symmetric part; equal on all PEs for the
 * same object. */
static inline size_t ch_heap_offset(const struct ch_heap *heap, const void *ptr)
{
    const struct ch_heap_extent *extent = (const struct ch_heap_extent *)(const void *)heap;

    return (uintptr_t)ptr - (uintptr_t)extent->symmetric;
}

/* This PE's number in the job, and the number of PEs of the job. */
uint32_t ch_heap_me(const struct ch_heap *heap);
uint32_t ch_heap_n_pes(const struct ch_heap *heap);

/* The address at which PE pe itself has mapped its segment. */
char *ch_heap_base_at_owner(const struct ch_heap *heap, uint32_t pe);
/* The address at which PE pe's segment, with its doorbell, is mapped here; null: it is not
 * mapped. Any local address of this PE's segment plus (base of pe - base of me) is the same
 * offset on pe. */
char *ch_heap_base(const struct ch_heap *heap, uint32_t pe);
/* The address here of bytes of PE pe's segment that are at `there` at that PE itself; null:
 * they are not all in its segment, or it is not mapped. */
char *ch_heap_mapped_at(const struct ch_heap *heap, uint32_t pe, const void *there,
                        size_t bytes);
/* The address at which PE pe's data side is mapped here; null: it is not near. The CPU may
 * access it only if ch_heap_device is null. */
char *ch_heap_data_base(const struct ch_heap *heap, uint32_t pe);

/* The address at which PE pe itself has its data side. */
char *ch_heap_data_at_owner(const struct ch_heap *heap, uint32_t pe);
/* Is PE pe's data side mapped here: on hosts its segment, on GPUs that of a near PE? */
bool ch_heap_is_near(const struct ch_heap *heap, uint32_t pe);
/* Of a heap on GPUs: the group of PEs near each other that each PE is in, equal on all PEs. */
const uint32_t *ch_heap_groups(const struct ch_heap *heap);

/* Classes of peers of a heap on GPUs, as docs/design/far.md defines them. */
/* clang-format off */
#define CH_CLASS_LIST(X) X(near) X(beside) X(far)
/* clang-format on */
enum ch_class {
#define X(name) CH_CLASS_##name,
    CH_CLASS_LIST(X)
#undef X
};
/* The class of PE pe, which is near if it is this PE; and why, as a text for users, which the
 * heap keeps. Only of a heap on GPUs. */
enum ch_class ch_heap_class(const struct ch_heap *heap, uint32_t pe);
const char *ch_heap_why_class(const struct ch_heap *heap, uint32_t pe);

/* The distance from an address of this PE's data side to the address of the same offset on all
 * PEs of the job, by multicast in hardware; 0: there is none. */
ptrdiff_t ch_heap_multicast_shift(const struct ch_heap *heap);

/* The GPU on which this PE's objects are; null: they are in its segment. */
const struct ch_device *ch_heap_device(const struct ch_heap *heap);
/* Number of PEs of the job on that GPU, this one included; 0 without one. */
uint32_t ch_heap_n_sharing(const struct ch_heap *heap);
/* The name of every PE's GPU, for rules; "" if they differ, or without GPUs. */
const char *ch_heap_gpu_name(const struct ch_heap *heap);
/* This PE's doorbell at the address for kernels on that GPU; null without one. */
struct ch_door *ch_heap_door_on_device(const struct ch_heap *heap);

/* The doorbell of a PE, which is mapped. */
struct ch_door *ch_heap_door(const struct ch_heap *heap, uint32_t pe);
/* The record of a PE's calls; null if the PE is not mapped. */
struct ch_record *ch_heap_record(const struct ch_heap *heap, uint32_t pe);
/* The address at which PE pe itself has its record. */
char *ch_heap_record_at_owner(const struct ch_heap *heap, uint32_t pe);
/* Is PE pe's segment mapped here? */
bool ch_heap_is_mapped(const struct ch_heap *heap, uint32_t pe);

/* Return the sizes of the heap as they are now. */
void ch_heap_info_get(const struct ch_heap *heap, struct ch_heap_info *out);

/* Check the invariants of all data structures; ERR_STATE with a message at the first
 * violation. */
CH_MUST_CHECK chorus_status ch_heap_check(const struct ch_heap *heap);

#endif /* CH_HEAP_H */
