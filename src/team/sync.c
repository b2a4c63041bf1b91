/* SPDX-License-Identifier: Apache-2.0 */
#include "team/sync.h"

/* Rings of one duplicate take at most this; with more peers, slots shrink. */
#define RINGS_BYTES_MAX ((size_t)8 << 20)

/* A chunk is a multiple of the widest element, so that no element lies in two chunks. */
#define CHUNK_BYTES_MIN ((size_t)16)

/* An LL slot carries a quarter of a simple one: small messages are what packets are for. */
enum { LL_FRACTION = 4 };

static size_t round_up(size_t value, size_t to)
{
    return (value + to - 1) / to * to;
}

static size_t chunk_bytes(size_t wanted)
{
    const size_t grain = wanted >= CH_UNIT_BYTES ? CH_UNIT_BYTES : CHUNK_BYTES_MIN;

    return wanted < grain ? grain : wanted / grain * grain;
}

static size_t rings_init(struct ch_sync_layout *layout, uint32_t n, size_t slot_bytes)
{
    const size_t simple = chunk_bytes(slot_bytes), ll = chunk_bytes(slot_bytes / LL_FRACTION);
    size_t offset = round_up((size_t)CH_WORD_COUNT * n * CH_LINE_BYTES, sizeof(struct ch_line));

    layout->slot_data_bytes[CH_RING_simple] = simple;
    layout->slot_bytes[CH_RING_simple] = round_up(simple, CH_LINE_BYTES);
    layout->slot_data_bytes[CH_RING_ll] = ll;
    layout->slot_bytes[CH_RING_ll] = round_up(ll, 8) / 8 * sizeof(struct ch_packet);
    layout->slot_data_bytes[CH_RING_ll128] = ll;
    layout->slot_bytes[CH_RING_ll128] =
        (ll + CH_LINE_DATA - 1) / CH_LINE_DATA * sizeof(struct ch_line);
    for (int ring = 0; ring < CH_RING_COUNT; ring++) {
        layout->ring_offset[ring] = offset;
        offset += (size_t)n * CH_SLOTS * layout->slot_bytes[ring];
        offset = round_up(offset, sizeof(struct ch_line));
    }
    return offset;
}

void ch_sync_layout_init(struct ch_sync_layout *layout, uint32_t n, size_t slot_bytes)
{
    layout->dup_bytes = rings_init(layout, n, slot_bytes);
    while (layout->dup_bytes > RINGS_BYTES_MAX && slot_bytes > CH_UNIT_BYTES) {
        slot_bytes /= 2;
        layout->dup_bytes = rings_init(layout, n, slot_bytes);
    }
}
