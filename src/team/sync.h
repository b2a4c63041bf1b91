/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync.h: what algorithms need of a team: the layout of sync memory, what a CTA stores between
 * calls, the hosts of the PEs, and the child teams.
 *
 * Per duplicate and PE:
 *
 *     words   [CH_WORD_COUNT][n], a cache line each: only peer p writes word w of p
 *     slots  [CH_CELL_COUNT][2][n]: for exchange.h; in each of the two, only peer p writes
 *             slot p, except in rounds.h, which divides the n slots in another way
 *     own     [CH_CELL_COUNT][2]: for exchanges in rounds, which only this PE writes; none for
 *             lines
 *     fifos   [CH_CELL_COUNT][n]: only peer p writes FIFO r of p; a PE's own FIFOs are its
 *             boards, which all others read
 *
 * The length of all of this grows with n, not with n * n. If GPUs may use more CTAs, there are
 * as many slim duplicates behind the whole ones; these have words, and slots for plain data.
 *
 * A FIFO consists of cells, for messages from one PE to another: packets, lines, or 64 bytes of
 * plain data. A message uses consecutive cells; if the rest of the FIFO is too short for it, it
 * begins at the start. The number of a cell, skipped ones included, only grows; cell i is at
 * i % cells. The writer fills a cell after the reader has returned its credit (CH_WORD_TAKEN).
 * Packets and lines carry i / cells + 1 as their flag, so no flag is used twice in one cell and
 * none needs to be cleared; a word announces plain cells (CH_WORD_FILLED). All counters only
 * grow, so waits compare with "at least" and nothing is reset between calls.
 *
 * A team on several hosts has two child teams on each PE: `node`, the PEs of its host, and
 * `rail`, the PEs of all hosts that have the same number on their host. There are as many
 * complete rails as the host with the fewest PEs has PEs; a PE that is on none of these is a
 * rail by itself. Rail 0 consists of the leaders of the hosts. Child teams have their own sync
 * memory, so a call on one is like any other call.
 */
#ifndef CH_SYNC_H
#define CH_SYNC_H

#include "base/exec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ch_cell { CH_CELL_simple, CH_CELL_ll, CH_CELL_ll128, CH_CELL_COUNT };

/* The unit of a slot's size is a packet, or 16 bytes of plain data. */
#define CH_SLOT_UNIT 16u

/* A message of an exchange in rounds begins at a multiple of this number of units, which is a
 * line. */
#define CH_MESSAGE_UNITS 8u

/* Replaces a FIFO if both ends of the data are plain memory. */
#define CH_PLAIN CH_CELL_COUNT

enum ch_word {
    CH_WORD_BARRIER, /* epoch: the peer reached the barrier of that epoch */
    CH_WORD_READY,  /* epoch: the peer has entered the call: its dest may be written, its source
                       read */
    CH_WORD_DONE,   /* epoch: the peer has made all its accesses of the call */
    CH_WORD_FILLED, /* cells of the simple FIFO to this PE that the peer has filled */
    CH_WORD_GIVEN,  /* exchange: the peer's message of plain data has arrived */
    CH_WORD_MET, /* exchange of packets: the peer has entered it, without a message for this PE
                  */
    CH_WORD_TAKEN, /* [CH_CELL_COUNT]: cells of the FIFO to the peer that it has freed */
    CH_WORD_READ = CH_WORD_TAKEN + CH_CELL_COUNT, /* [CH_CELL_COUNT]: cells of this PE's board
                                                     that the peer has read */
    CH_WORD_COUNT = CH_WORD_READ + CH_CELL_COUNT
};

/* Bytes of a cell, and of the data in it. */
/* clang-format off */
#define CH_CELL_LIST(X)                                            \
    X(simple, CH_CACHE_LINE_BYTES, CH_CACHE_LINE_BYTES)                        \
    X(ll, sizeof(struct ch_packet), 8u)                            \
    X(ll128, sizeof(struct ch_line), CH_LINE_DATA)
/* clang-format on */

/* A FIFO has room for at least this many chunks: one that is being sent, one that is being
 * received, and the same number again for the time until the sender learns that any was
 * received. */
#define CH_FIFO_CHUNKS 8u

/* Equal on every PE of the team. Offsets are relative to the start of the duplicate. No
 * padding, as copies are compared as bytes (device.h). */
struct ch_sync_layout {
    size_t chunk_bytes[CH_CELL_COUNT]; /* bytes of the longest message; a multiple of 16, and if
                                          it is not smaller than that, of 128 (simple) or
                                          CH_UNIT_BYTES */
    uint32_t cells_log2[CH_CELL_COUNT];
    uint32_t slot_bytes[CH_CELL_COUNT]; /* for one message of an exchange */
    uint32_t own_bytes[CH_CELL_COUNT];  /* at least two units for each PE */
    uint32_t n_whole;                   /* number of duplicates that are not slim */
    size_t fifo_bytes[CH_CELL_COUNT];
    size_t fifo_offset[CH_CELL_COUNT];
    size_t slot_offset[CH_CELL_COUNT];
    size_t own_offset[CH_CELL_COUNT];
    size_t dup_bytes;  /* bytes of one duplicate, a multiple of 128 */
    size_t slim_bytes; /* bytes of its beginning, which is all of a slim one; a multiple of 128,
                          too */
};

/* A peer, with what algorithms need of it. */
struct ch_peer {
    ptrdiff_t shift; /* add to an address in this PE's heap to get the same object on the peer,
                        as mapped here or else at the peer's own address */
    char *sync; /* the peer's sync memory, duplicate 0, as mapped here; for a peer that is not
                   mapped, a local copy of what this PE writes there */
    struct ch_door *door; /* its doorbell */
};

/* The link to a peer that is not mapped. */
struct ch_remote {
    struct ch_link *link; /* null: it is mapped */
    ptrdiff_t sync;       /* add to an address in ch_peer.sync to get the address on the peer */
};

/* Positions in the FIFOs between two PEs, and in the peer's board, in cells. For a PE with
 * itself, `sent` and `freed` are those of its board: `freed` counts cells that all PEs have
 * read, by CH_WORD_READ. */
struct ch_positions {
    uint64_t sent;  /* cells filled in the peer's FIFO */
    uint64_t freed; /* of these, freed by the peer, as last read from CH_WORD_TAKEN */
    uint64_t taken; /* cells that this PE has freed in its own FIFO */
    uint64_t told;  /* of these, cells of the last credit sent in the peer's CH_WORD_TAKEN */
    uint64_t read;  /* cells that this PE has read of the peer's board */
    uint64_t read_told; /* of these, cells of the last credit sent in the peer's CH_WORD_READ */
};

/* A message in transfer: its address, the flag of its packets or lines, and its last cell. */
struct ch_slot {
    char *memory;
    uint64_t flag, end;
};

/* A bit in the number of a GPU's first duplicate: a call inside a kernel uses the team, or one
 * has failed. Bit and number change together, so a kernel that acquires the team gets the
 * number in one access. */
#define CH_TAKEN ((uint64_t)1 << 63)

/* The word of a team that its calls acquire with CHORUS_CHECK, on GPUs. */
enum ch_running { CH_RUNS_NOT, CH_RUNS_ON_STREAM, CH_RUNS_IN_KERNEL };

/* The private state of a CTA between calls. On GPUs it is in device memory, so that a captured
 * graph can be replayed. */
struct ch_dup {
    uint64_t failed; /* in a GPU's first duplicate, for all: calls do nothing, because an
                        earlier one failed */
    uint64_t epoch;  /* epoch of the last call */
    uint64_t exchanges[CH_CELL_COUNT]; /* of the last exchange; of packets, with CH_TAKEN */
    struct ch_positions *positions;    /* [CH_CELL_COUNT * n] */
    struct ch_slot *slots;             /* [n], of one call */
    uint64_t running; /* in a GPU's first duplicate, for all, with CHORUS_CHECK: an enum
                         ch_running */
    uint64_t ended;   /* the same: CTAs of calls on streams, except graphs, that have ended */
    uint64_t checked; /* the same, with CHORUS_CHECK: calls inside kernels that were compared
                       */
};

/* The state of a GPU's kernels for each CTA: a struct ch_dup in separate cache lines,
 * positions and slots. It follows the sync memory of the team. */
#define CH_DEVICE_POSITIONS_AT 128u
#define CH_DEVICE_SLOTS_AT(n) \
    (CH_DEVICE_POSITIONS_AT + CH_CELL_COUNT * (n) * sizeof(struct ch_positions))
#define CH_DEVICE_DUP_BYTES(n) \
    ((CH_DEVICE_SLOTS_AT(n) + (n) * sizeof(struct ch_slot) + 63) / 64 * 64)

/* The longest chunk of a team of n, up to what is wanted, with which a duplicate has at most
 * about `most` bytes: chunks become smaller as n grows.
 * is_far: some PEs are on other hosts; packets and lines, which these do not see one by one,
 * then have no room. */
size_t ch_sync_chunk_bytes(uint32_t n, size_t wanted, bool is_far, size_t most);

/* Approximate largest size of a duplicate. */
#define CH_DUP_BYTES_MAX ((size_t)8 << 20)

/* The same of a team whose sync memory is in the pool (heap.h): none of its duplicates is slim.
 * With far PEs it has up to CH_POOL_DUPS, and fewer if it has many PEs, so that chunks are
 * longer; with all mirrors, its memory is at most four times as long. A team whose PEs are
 * beside each other has no mirrors, and needs many CTAs, which store to the memory of hosts.
 * The team of all PEs has more memory than others. */
#define CH_POOL_DUPS 4u
#define CH_POOL_DUPS_BESIDE 16u
#define CH_POOL_DUPS_OF(n, is_far)                               \
    (!(is_far) ? ((n) <= 8 ? CH_POOL_DUPS_BESIDE : CH_POOL_DUPS) \
               : ((n) <= 16   ? CH_POOL_DUPS                     \
                  : (n) <= 32 ? 2u                               \
                              : 1u))
#define CH_POOL_DUP_BYTES_MAX(n, is_world, is_far)                                    \
    (((is_world) ? (size_t)24 << 20 : (size_t)3 << 20) / CH_POOL_DUPS_OF(n, is_far) / \
     (!(is_far) ? 1u                                                                  \
      : (n) < 4 ? (n)                                                                 \
                : 4u))

/* The bytes from one mirror to the next of a PE `me` of a team: a mirror is a copy of all of a
 * peer's sync memory, of which this PE only uses the places that it writes there, so mirrors
 * overlap. n_dups: all duplicates of the team. */
size_t ch_sync_mirror_step(const struct ch_sync_layout *layout, uint32_t n, uint32_t me,
                           uint32_t n_dups);

/* Set the layout for chunks of chunk_bytes, what ch_sync_chunk_bytes returned. No duplicate is
 * slim, until the caller sets their number. */
void ch_sync_layout_init(struct ch_sync_layout *layout, uint32_t n, size_t chunk_bytes,
                         bool is_far);

/* Number of chunks in a slot for plain data in a team of n PEs, if all are mapped: 8 / n for 2
 * to 7 PEs, else 1.
 * An algorithm for large messages is faster with long slots, since it waits after each slot
 * until its stores have arrived. */
CH_FN size_t ch_slot_chunks(uint64_t n)
{
    return n > 1 && n < 8 ? 8 / n : 1;
}

/* The offset of a duplicate in the sync memory of its team. */
CH_FN size_t ch_dup_offset(const struct ch_sync_layout *layout, uint32_t dup)
{
    const uint32_t whole = dup < layout->n_whole ? dup : layout->n_whole;

    return whole * layout->dup_bytes + (dup - whole) * layout->slim_bytes;
}

/* The address of the word that PE `writer` stores in the duplicate at `dup`; n: PEs of the
 * team. */
CH_FN uint64_t *ch_sync_word(char *dup, uint32_t n, enum ch_word word, uint32_t writer)
{
    return (uint64_t *)(void *)(dup + ((size_t)word * n + writer) * CH_CACHE_LINE_BYTES);
}

/* Bytes of a cell of this kind, flags included. */
CH_FN size_t ch_cell_bytes(enum ch_cell kind)
{
#define X(name, cell, data) \
    if (kind == CH_CELL_##name) return (cell);
    CH_CELL_LIST(X)
#undef X
    return 0;
}

/* Number of cells that data of `bytes` takes. */
CH_FN uint64_t ch_cells(enum ch_cell kind, size_t bytes)
{
#define X(name, cell, data) \
    if (kind == CH_CELL_##name) return (bytes + (data)-1) / (data);
    CH_CELL_LIST(X)
#undef X
    return 0;
}

/* Number of cells that a message of `bytes` takes in a FIFO: whole cache lines. Packets of two
 * messages in one line would let the writer of the second wait until the reader of the first
 * returns the line. */
CH_FN uint64_t ch_message_cells(enum ch_cell kind, size_t bytes)
{
    const uint64_t packets = CH_CACHE_LINE_BYTES / sizeof(struct ch_packet);
    const uint64_t cells = ch_cells(kind, bytes);

    return kind == CH_CELL_ll ? (cells + packets - 1) / packets * packets : cells;
}

/* A message in a FIFO: cells [begin, end), `memory` is the address of the first. */
struct ch_message {
    uint64_t begin, end;
    uint64_t flag; /* of its packets or lines */
    char *memory;
};

/* The message of `bytes` that comes after cell `position` of the FIFO from `writer`. */
CH_FN struct ch_message ch_message_after(char *dup, const struct ch_sync_layout *layout,
                                         enum ch_cell kind, uint32_t writer, uint64_t position,
                                         size_t bytes)
{
    const uint64_t cells = (uint64_t)1 << layout->cells_log2[kind];
    const uint64_t needed = ch_message_cells(kind, bytes), at = position & (cells - 1);
    struct ch_message m;

    m.begin = at + needed <= cells ? position : position - at + cells;
    m.end = m.begin + needed;
    m.flag = (m.begin >> layout->cells_log2[kind]) + 1;
    m.memory = dup + layout->fifo_offset[kind] + writer * layout->fifo_bytes[kind] +
               (m.begin & (cells - 1)) * ch_cell_bytes(kind);
    return m;
}

/* --- hosts and child teams ---------------------------------------------------------------- */
/* Hosts are numbered by their first PE in the team, the PEs of each in the team's order. */
struct ch_nodes {
    uint32_t count;        /* number of hosts */
    uint32_t least, most;  /* smallest and largest number of PEs of a host */
    const uint32_t *node;  /* [n] the host of each PE */
    const uint32_t *local; /* [n] its number on that host */
    const uint32_t *first; /* [count + 1] indices at which the PEs of a host begin in ... */
    const uint32_t *pes;   /* ... [n] all PEs, host by host */
};

/* Number of words that the arrays for n PEs need. */
#define CH_NODES_WORDS(n) (4 * (size_t)(n) + 1)

/* Set `nodes` for n PEs on the hosts hosts[0..n), which may be any numbers. words: memory for
 * its arrays, CH_NODES_WORDS(n) words, which it keeps using. */
void ch_nodes_init(struct ch_nodes *nodes, const uint32_t hosts[], uint32_t n, uint32_t *words);

/* Number of PEs of host `node`. */
CH_FN uint32_t ch_node_pes(const struct ch_nodes *nodes, uint32_t node)
{
    return nodes->first[node + 1] - nodes->first[node];
}

/* The PE of the team that has the number `local` on host `node`. */
CH_FN uint32_t ch_node_pe(const struct ch_nodes *nodes, uint32_t node, uint32_t local)
{
    return nodes->pes[nodes->first[node] + local];
}

/* The properties of a child team that calls on it need. */
struct ch_child {
    uint32_t me, n;
    const struct ch_peer *peers;         /* [n] */
    const struct ch_remote *remotes;     /* [n]; null: all are mapped */
    const struct ch_sync_layout *layout; /* its chunks have the length of the team's */
    struct ch_dup *dups;                 /* equal to the largest number of CTAs of calls */
    const uint32_t *pes;                 /* [n] their numbers in the team */
};

struct ch_levels {
    struct ch_nodes nodes;
    struct ch_child node, rail;
};

#endif /* CH_SYNC_H */
