/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segment.h: the shared memory of a PE: a memfd without a name, mapped at its largest size,
 * with pages only where they were committed, or where a PE has stored. Pages are allocated on
 * the NUMA node that the PE started on.
 */
#ifndef CH_SEGMENT_H
#define CH_SEGMENT_H

#include "base/error.h"
#include "base/record.h"

#include <stddef.h>
#include <stdint.h>

/* The record of the PE's calls follows the page of its door; CH_HEAD_BYTES is where both end.
 */
#define CH_DOOR_BYTES ((size_t)4096)
#define CH_HEAD_BYTES (CH_DOOR_BYTES + (sizeof(struct ch_record) + 4095) / 4096 * 4096)

/* Offsets in a segment; the same for all PEs of a job. */
struct ch_layout {
    size_t local_offset, local_bytes;         /* behind the door's page and the record */
    size_t symmetric_offset, symmetric_bytes; /* mapped by its PE at a multiple of
                                                 CH_HEAP_ALIGN_MAX, by others of a page */
    size_t total_bytes;
    uint32_t n_pes;
};

/* A mapping of one PE's segment in this process. Zeroed: none. */
struct ch_segment {
    char *base; /* the door */
    size_t bytes;
    int fd;        /* of this PE's own segment; else -1 */
    int is_shared; /* PEs of this process use the mapping too: the last of them unmaps it */
};

/* symmetric_bytes is the wish: what CHORUS_HEAP_MAX says, or 0 for the machine's memory;
 * sync_bytes, for the local part, what CHORUS_SYNC_MAX says. */
void ch_layout_init(struct ch_layout *layout, size_t symmetric_bytes, size_t sync_bytes,
                    uint32_t n_pes);

/* This PE's own segment: its door is committed and zero. `users` PEs of this process will
 * close the mapping: this one and those that share it. Disclaim what is too many. */
CH_MUST_CHECK chorus_status ch_segment_create(const struct ch_layout *layout, uint32_t users,
                                              struct ch_segment *segment_out);
void ch_segment_disclaim(const struct ch_segment *segment, uint32_t users);

/* A peer's in the same process, at its own address; one of the peer's `users`. */
void ch_segment_share(const struct ch_layout *layout, char *base,
                      struct ch_segment *segment_out);
/* All others of segments[0..n), which are zeroed, from their descriptors, which the caller
 * keeps; those without a descriptor (-1) are not mapped. After a failure, too, the caller
 * closes them. */
CH_MUST_CHECK chorus_status ch_segments_map(const struct ch_layout *layout, const int *fds,
                                            uint32_t n, struct ch_segment *segments);
void ch_segment_close(struct ch_segment *segment); /* undoes all three; zeroed is a no-op */

/* Back [lo, hi) of the own segment with memory, or none of it. 0 or an errno. */
int ch_segment_commit(const struct ch_segment *segment, size_t lo, size_t hi);
void ch_segment_decommit(const struct ch_segment *segment, size_t lo, size_t hi);

/* Let all below `hi` be used: memory comes page by page, when someone first stores there. 0 or
 * an errno. */
int ch_segment_extend(const struct ch_segment *segment, size_t hi);

/* Fill [lo, hi) of the own segment with zeros. What has no pages behind it gets none. */
void ch_segment_zero(const struct ch_segment *segment, size_t lo, size_t hi);

#endif /* CH_SEGMENT_H */
