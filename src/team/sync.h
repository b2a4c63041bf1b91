/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync.h: what lies in sync memory, and what a CTA remembers between calls.
 *
 * Per duplicate and PE:
 *
 *     words   [CH_WORD_COUNT][n], a cache line each: word w of peer p is written by p alone
 *     rings   [CH_RING_COUNT][n]: ring r of peer p is written by p alone, CH_SLOTS slots
 *
 * A ring is a FIFO from one PE to another. Its slots are numbered from 0 for ever; slot i lies
 * at i % CH_SLOTS. The writer fills slot i once the reader has said (CH_WORD_TAKEN) that slot
 * i - CH_SLOTS is free. Packets and lines carry flag i + 1, so no flag is ever used twice and
 * none needs clearing; simple slots are announced by a word (CH_WORD_FILLED).
 * All counters only grow, so waits compare with "at least" and nothing is reset between calls.
 */
#ifndef CH_SYNC_H
#define CH_SYNC_H

#include "base/exec.h"

#include <stddef.h>
#include <stdint.h>

#define CH_SLOTS 8u

enum ch_ring { CH_RING_simple, CH_RING_ll, CH_RING_ll128, CH_RING_COUNT };

enum ch_word {
    CH_WORD_BARRIER, /* epoch: the peer reached the barrier of that epoch */
    CH_WORD_READY,   /* epoch: the peer is in the call: its dest may be written, source read */
    CH_WORD_DONE,    /* epoch: the peer wrote and read all that it will in the call */
    CH_WORD_FILLED,  /* slots of the simple ring that the peer filled here */
    CH_WORD_TAKEN,   /* [CH_RING_COUNT]: slots of the ring to the peer that it has freed */
    CH_WORD_COUNT = CH_WORD_TAKEN + CH_RING_COUNT
};

/* The same on every PE of the team. Offsets are from the start of the duplicate. */
struct ch_sync_layout {
    size_t slot_data_bytes[CH_RING_COUNT]; /* a chunk; a multiple of 16, and of CH_UNIT_BYTES
                                              where it is not smaller than that */
    size_t slot_bytes[CH_RING_COUNT];
    size_t ring_offset[CH_RING_COUNT];
    size_t dup_bytes; /* one duplicate, a multiple of 128 */
};

/* A peer as algorithms see it. */
struct ch_peer {
    uint32_t world;       /* its number in the job */
    ptrdiff_t shift;      /* add to an address in this PE's heap: the same object on the peer */
    char *sync;           /* the peer's sync memory, duplicate 0, as mapped here */
    struct ch_door *door; /* where it sleeps */
};

/* Positions in the rings of one pair. */
struct ch_link {
    uint64_t sent;  /* slots filled there */
    uint64_t freed; /* of those, freed, as last read from CH_WORD_TAKEN */
    uint64_t taken; /* slots taken here */
    uint64_t told;  /* of those, as last told in the peer's CH_WORD_TAKEN */
};

/* What a CTA remembers between calls; private to it. On GPUs it lies in device memory, so that
 * a captured graph can be replayed. */
struct ch_dup {
    uint64_t epoch;        /* of the last call */
    struct ch_link *links; /* [CH_RING_COUNT * n] */
};

/* For a team of n, from the option CHORUS_SLOT; slots shrink as n grows. */
void ch_sync_layout_init(struct ch_sync_layout *layout, uint32_t n, size_t slot_bytes);

CH_FN uint64_t *ch_sync_word(char *dup, uint32_t n, enum ch_word word, uint32_t writer)
{
    return (uint64_t *)(void *)(dup + ((size_t)word * n + writer) * CH_LINE_BYTES);
}

CH_FN char *ch_sync_slot(char *dup, const struct ch_sync_layout *layout, enum ch_ring ring,
                         uint32_t writer, uint64_t slot)
{
    return dup + layout->ring_offset[ring] +
           ((size_t)writer * CH_SLOTS + slot % CH_SLOTS) * layout->slot_bytes[ring];
}

#endif /* CH_SYNC_H */
