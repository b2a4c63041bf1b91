/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segment.h: the shared memory of a PE: a memfd without a name, mapped at its largest size,
 * with pages only where they were committed, or where a PE has stored. Pages are allocated on
 * the NUMA node that the PE started on. And how much memory of this host may be allocated.
 */
#ifndef CH_SEGMENT_H
#define CH_SEGMENT_H

#include "base/error.h"
#include "base/record.h"

#include <stddef.h>
#include <stdint.h>

/* The record of the PE's calls follows the page of its doorbell; CH_HEAD_BYTES is the end of
 * both. */
#define CH_DOOR_BYTES ((size_t)4096)
#define CH_HEAD_BYTES (CH_DOOR_BYTES + (sizeof(struct ch_record) + 4095) / 4096 * 4096)

/* Offsets in a segment; the same for all PEs of a job. */
struct ch_layout {
    size_t local_offset, local_bytes;         /* behind the doorbell's page and the record */
    size_t symmetric_offset, symmetric_bytes; /* aligned to CH_HEAP_ALIGN_MAX in its PE's
                                                 mapping, to a page in others */
    size_t total_bytes;
    uint32_t n_pes;
};

/* A mapping of one PE's segment in this process. Zeroed: none. */
struct ch_segment {
    char *base; /* the doorbell */
    size_t bytes;
    int fd;        /* of this PE's own segment; else -1 */
    int is_shared; /* number of PEs of this process that use the mapping: the last of them
                      unmaps it */
};

/* Compute the layout of a job's segments. symmetric_bytes is the requested size:
 * CHORUS_HEAP_MAX, or 0 for the machine's memory; sync_bytes, for the local part, is
 * CHORUS_SYNC_MAX. */
void ch_layout_init(struct ch_layout *layout, size_t symmetric_bytes, size_t sync_bytes,
                    uint32_t n_pes);

/* Create this PE's own segment: its doorbell is committed and zero. `users` PEs of this process
 * will close the mapping: this one and those that share it. */
CH_MUST_CHECK chorus_status ch_segment_create(const struct ch_layout *layout, uint32_t users,
                                              struct ch_segment *segment_out);
/* Subtract `users` from the number of PEs that will close the mapping, which was too large. */
void ch_segment_drop_users(const struct ch_segment *segment, uint32_t users);

/* Use the mapping of a peer in the same process, at its address; this PE is one of the peer's
 * `users`. */
void ch_segment_share(const struct ch_layout *layout, char *base,
                      struct ch_segment *segment_out);
/* Map all other segments of segments[0..n), which are zeroed, from their descriptors, which the
 * caller keeps; segments without a descriptor (-1) are not mapped. The caller closes them, also
 * after a failure. */
CH_MUST_CHECK chorus_status ch_segments_map(const struct ch_layout *layout, const int *fds,
                                            uint32_t n, struct ch_segment *segments);
void ch_segment_close(struct ch_segment *segment); /* undoes all three; zeroed is a no-op */

/* Back [lo, hi) of this PE's segment with memory, or none of it. Returns 0 or an errno. */
int ch_segment_commit(const struct ch_segment *segment, size_t lo, size_t hi);
/* Give the pages of [lo, hi) of this PE's segment back to the system. */
void ch_segment_decommit(const struct ch_segment *segment, size_t lo, size_t hi);

/* Allow the use of everything below `hi`: pages are allocated when they are first stored to.
 * Returns 0 or an errno. */
int ch_segment_extend(const struct ch_segment *segment, size_t hi);

/* Fill [lo, hi) of this PE's segment with zeros. Ranges without pages get none. */
void ch_segment_zero(const struct ch_segment *segment, size_t lo, size_t hi);

/* ---- how much memory may be allocated before the kernel kills processes ---- */

/*
 * Linux promises more memory than there is, and kills processes when it runs out. Before an
 * allocation, the library therefore determines what is left of the machine, and of each
 * control group whose limit applies to this process. A part is left to other programs.
 */

enum { CH_MEMORY_OF_BYTES = 256 };

struct ch_memory {
    size_t bytes;                /* bytes that may be allocated now */
    char of[CH_MEMORY_OF_BYTES]; /* what limits it: "the machine", "the control group /a" */
};

/* The memory that is left. `root` is prepended to the names of all files that are read: "",
 * except in tests. */
void ch_memory_left(const char *root, struct ch_memory *out);

#endif /* CH_SEGMENT_H */
