/* SPDX-License-Identifier: Apache-2.0 */
#include "team/sync.h"

/* A chunk is a multiple of the widest element, so that no element is split. */
#define CHUNK_BYTES_MIN ((size_t)16)

/* Simple chunks that are not smaller than this are multiples of a GPU's cache line. */
#define LINE_BYTES ((size_t)128)

/* A chunk of packets or lines is a quarter of a simple one: they are for small messages. */
enum { LL_FRACTION = 4 };

static size_t round_up(size_t value, size_t to)
{
    return (value + to - 1) / to * to;
}

/* Bytes of a chunk of this kind where a chunk of plain data should have `wanted` bytes. */
static size_t chunk_of(enum ch_cell kind, size_t wanted)
{
    const size_t bytes = kind == CH_CELL_simple ? wanted : wanted / LL_FRACTION;
    const size_t most = kind == CH_CELL_simple ? LINE_BYTES : CH_UNIT_BYTES;
    const size_t grain = bytes >= most ? most : CHUNK_BYTES_MIN;

    return bytes < grain ? grain : bytes / grain * grain;
}

/* The smallest exponent of a power of two that is not below value. */
static uint32_t log2_up(uint64_t value)
{
    uint32_t log2 = 0;

    while (((uint64_t)1 << log2) < value)
        log2++;
    return log2;
}

/* Bytes, with flags, of the cells of data of `bytes`. */
static size_t bytes_of_cells(enum ch_cell kind, size_t bytes)
{
    return ch_cells(kind, bytes) * ch_cell_bytes(kind);
}

/* The larger of both, rounded up to whole lines. */
static size_t round_up_to_least(size_t bytes, size_t least)
{
    return round_up(bytes > least ? bytes : least, sizeof(struct ch_line));
}

/* Bytes of a slot, for a chunk, or on one host for several of plain data; and of packets, all n
 * slots together hold the messages of exchanges in rounds, for any radix: a PE receives up to n
 * / 2 * log2(n) blocks there, of two units or more, in fewer than n messages, each a multiple
 * of a line. */
static size_t slot_bytes(enum ch_cell kind, uint32_t n, size_t chunk, bool is_far)
{
    const size_t chunks = kind == CH_CELL_simple && !is_far ? ch_slot_chunks(n) : 1;
    const size_t units = kind == CH_CELL_ll ? CH_MESSAGE_UNITS + log2_up(n) : 0;

    return round_up_to_least(chunks * bytes_of_cells(kind, chunk), units * CH_SLOT_UNIT);
}

/* Bytes of `own` memory: for a block of every PE, and the same again if PEs act for others. */
static size_t own_bytes(enum ch_cell kind, uint32_t n, size_t chunk)
{
    if (kind == CH_CELL_ll128) return 0;
    return round_up_to_least(bytes_of_cells(kind, chunk), (size_t)2 * n * CH_SLOT_UNIT);
}

void ch_sync_layout_init(struct ch_sync_layout *layout, uint32_t n, size_t chunk_bytes,
                         bool is_far)
{
    size_t offset =
        round_up((size_t)CH_WORD_COUNT * n * CH_CACHE_LINE_BYTES, sizeof(struct ch_line));

    for (int i = 0; i < CH_CELL_COUNT; i++) {
        const enum ch_cell kind = (enum ch_cell)i;
        const bool is_used = kind == CH_CELL_simple || !is_far;
        const size_t chunk = chunk_of(kind, is_used ? chunk_bytes : 0);

        layout->chunk_bytes[kind] = chunk;
        layout->slot_bytes[kind] = (uint32_t)slot_bytes(kind, n, chunk, is_far);
        layout->slot_offset[kind] = offset;
        offset += (size_t)2 * n * layout->slot_bytes[kind];
        if (kind == CH_CELL_simple) layout->slim_bytes = offset;
        layout->own_bytes[kind] = (uint32_t)own_bytes(kind, n, chunk);
        layout->own_offset[kind] = offset;
        offset += (size_t)2 * layout->own_bytes[kind];
        layout->cells_log2[kind] = log2_up(CH_FIFO_CHUNKS * ch_message_cells(kind, chunk));
        layout->fifo_bytes[kind] = ch_cell_bytes(kind) << layout->cells_log2[kind];
        layout->fifo_offset[kind] = offset;
        offset = round_up(offset + n * layout->fifo_bytes[kind], sizeof(struct ch_line));
    }
    layout->dup_bytes = offset;
    layout->n_whole = UINT32_MAX;
}

size_t ch_sync_chunk_bytes(uint32_t n, size_t wanted, bool is_far, size_t most)
{
    struct ch_sync_layout layout;

    for (;; wanted /= 2) {
        ch_sync_layout_init(&layout, n, wanted, is_far);
        if (layout.dup_bytes <= most || wanted <= CH_UNIT_BYTES) return wanted;
    }
}

/* --- mirrors ------------------------------------------------------------------------------ */
/* A place in a mirror that this PE writes. */
struct place {
    size_t at, bytes;
};

enum { PLACES_OF_DUP = 3, PLACES_MAX = PLACES_OF_DUP * CH_POOL_DUPS, STEPS_TRIED = 256 };

/* List the places in the mirror of a peer that is not mapped, to which packets and lines are
 * not sent: the two slots and the FIFO of this PE for plain data. Words are sent without a
 * copy. Returns the bytes of all. */
static size_t list_places(const struct ch_sync_layout *layout, uint32_t n, uint32_t me,
                          uint32_t n_dups, struct place places[])
{
    const size_t slot = layout->slot_bytes[CH_CELL_simple],
                 fifo = layout->fifo_bytes[CH_CELL_simple];

    for (uint32_t d = 0; d < n_dups; d++, places += PLACES_OF_DUP) {
        const size_t dup = ch_dup_offset(layout, d);

        places[0] = (struct place){dup + layout->slot_offset[CH_CELL_simple] + me * slot, slot};
        places[1] = (struct place){places[0].at + n * slot, slot};
        places[2] = (struct place){dup + layout->fifo_offset[CH_CELL_simple] + me * fifo, fifo};
    }
    return n_dups * (2 * slot + fifo);
}

/* Are these places in mirrors that begin `step` apart different memory for any two mirrors? */
static bool are_apart(struct place a, struct place b, size_t step)
{
    const size_t distance = (b.at % step + step - a.at % step) % step;

    return distance >= a.bytes && step - distance >= b.bytes;
}

/* The same for all of the places. */
static bool are_all_apart(const struct place places[], uint32_t count, size_t step)
{
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < i; j++)
            if (!are_apart(places[i], places[j], step)) return false;
    return true;
}

/* The least of some steps with which places stay apart. With many duplicates, which only teams
 * of hosts have, whose mirrors get pages as these are used, mirrors do not overlap. */
size_t ch_sync_mirror_step(const struct ch_sync_layout *layout, uint32_t n, uint32_t me,
                           uint32_t n_dups)
{
    const size_t whole = ch_dup_offset(layout, n_dups);
    struct place places[PLACES_MAX];
    size_t least, more;

    if (n_dups > CH_POOL_DUPS) return whole;
    least = list_places(layout, n, me, n_dups, places);
    more = round_up(least / STEPS_TRIED + 1, LINE_BYTES);
    for (size_t step = least; step < whole; step += more)
        if (are_all_apart(places, n_dups * PLACES_OF_DUP, step)) return step;
    return whole;
}

/* --- hosts of the PEs --------------------------------------------------------------------- */
/* Number the hosts by first appearance; returns their number. leader[v] is the first PE of host
 * v. */
static uint32_t number_hosts(const uint32_t hosts[], uint32_t n, uint32_t *leader,
                             uint32_t *node)
{
    uint32_t count = 0;

    for (uint32_t pe = 0; pe < n; pe++) {
        node[pe] = 0;
        if (pe > 0 && hosts[pe - 1] == hosts[pe]) node[pe] = node[pe - 1];
        while (node[pe] < count && hosts[leader[node[pe]]] != hosts[pe])
            node[pe]++;
        if (node[pe] == count) leader[count++] = pe;
    }
    return count;
}

void ch_nodes_init(struct ch_nodes *nodes, const uint32_t hosts[], uint32_t n, uint32_t *words)
{
    uint32_t *node = words, *local = node + n, *pes = local + n, *first = pes + n;

    nodes->count = number_hosts(hosts, n, first, node);
    for (uint32_t v = 0; v <= nodes->count; v++)
        first[v] = 0;
    for (uint32_t pe = 0; pe < n; pe++)
        local[pe] = first[node[pe] + 1]++; /* until the loop has filled in the PEs of a host,
                                              its entry is shifted by one */
    nodes->least = n;
    nodes->most = 0;
    for (uint32_t v = 0; v < nodes->count; v++) {
        if (first[v + 1] < nodes->least) nodes->least = first[v + 1];
        if (first[v + 1] > nodes->most) nodes->most = first[v + 1];
        first[v + 1] += first[v];
    }
    for (uint32_t pe = 0; pe < n; pe++)
        pes[first[node[pe]] + local[pe]] = pe;
    nodes->node = node;
    nodes->local = local;
    nodes->first = first;
    nodes->pes = pes;
}
