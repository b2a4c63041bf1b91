/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.c: where the queues are in the pinned memory of each PE, and the memory of PEs that
 * operations may name.
 *
 * The inner network attaches memory of hosts, and memory of GPUs if it can (direct.c). Else
 * only the place of the latter is noted, and the key informs peers of that.
 */
#include "transport/staged/inside.h"

enum {
    CHUNK_MIN = 1 << 10,
    CHUNK_MAX = 512 << 10,
    CHUNK_WANTED = 64 << 10, /* with fewer bytes, a queue has FEW_SLOTS slots */
    FEW_SLOTS = 4,
};

/* ---- memory of the queues ---- */

/* Bytes of the slots of one queue. */
static size_t queue_bytes(struct ch_staged_layout layout)
{
    return layout.slots * (CH_STAGED_HEAD + layout.chunk);
}

/* The chunk with so many slots in each of two queues; 0: they do not fit. */
static size_t chunk_of(size_t bytes, uint32_t slots)
{
    const size_t slot = bytes / 2 / slots / CH_STAGED_HEAD * CH_STAGED_HEAD;

    if (slot < CH_STAGED_HEAD + CHUNK_MIN) return 0;
    return slot < CH_STAGED_HEAD + CHUNK_MAX ? slot - CH_STAGED_HEAD : CHUNK_MAX;
}

struct ch_staged_layout ch_staged_layout(uint32_t n, size_t bytes)
{
    struct ch_staged_layout layout = {.slots = CH_STAGED_SLOTS};
    size_t each;

    if (n < 2 || bytes < CH_STAGED_ENDS) return layout;
    each = (bytes - CH_STAGED_ENDS) / (n - 1);
    if (each < sizeof(struct ch_staged_words)) return layout;
    each -= sizeof(struct ch_staged_words);
    layout.chunk = chunk_of(each, layout.slots);
    if (layout.chunk >= CHUNK_WANTED) return layout;
    layout.slots = FEW_SLOTS;
    layout.chunk = chunk_of(each, layout.slots);
    return layout;
}

/* Distance from the start of PE `at`'s memory to its queues with PE `with`. */
static size_t offset_of(struct ch_staged_layout layout, uint32_t at, uint32_t with)
{
    const size_t each = sizeof(struct ch_staged_words) + 2 * queue_bytes(layout);

    return CH_STAGED_ENDS + (with < at ? with : with - 1) * each;
}

void ch_staged_place_queues(const struct ch_endpoint *ep, struct ch_staged_peer *peer,
                            uint64_t there)
{
    const uint32_t me = ep->terms.link.me;
    char *here = ep->terms.memory + offset_of(ep->layout, me, peer->pe);
    char *at_peer = (char *)(uintptr_t)(there + offset_of(ep->layout, peer->pe, me));
    char *mapped = NULL;

    peer->words = (struct ch_staged_words *)(void *)here;
    peer->inbound = here + sizeof(*peer->words);
    peer->words_there = (struct ch_staged_words *)(void *)at_peer;
    peer->inbound_there = at_peer + sizeof(*peer->words);
    if (ep->inner->map != NULL)
        mapped = ep->inner->map(ep->inner_ep, peer->pe, peer->inbound_there,
                                queue_bytes(ep->layout));
    peer->mirror = mapped != NULL ? mapped : peer->inbound + queue_bytes(ep->layout);
}

/* ---- memory of PEs ---- */

/* Has the inner network attached a part with this key? */
static bool is_inside(enum ch_memory_kind kind, uint64_t key)
{
    return kind == CH_MEMORY_HOST || key != CH_STAGED_GPU_KEY;
}

chorus_status ch_staged_attach(struct ch_endpoint *ep, const struct ch_memory_part *memory,
                               uint64_t *key_out)
{
    struct ch_part part = {
        .base = (uintptr_t)memory->base, .bytes = memory->bytes, .kind = memory->kind};
    chorus_status status;

    if (part.kind == CH_MEMORY_GPU)
        part.key = ch_staged_register(ep, memory);
    else
        CH_TRY(ep->inner->attach(ep->inner_ep, memory, &part.key));
    status = part.key == CH_STAGED_GPU_KEY && part.kind == CH_MEMORY_HOST
                 ? CH_FAIL(CHORUS_ERR_SYSTEM, "%s gave memory of a host the key of GPUs",
                           ep->inner->name)
                 : ch_parts_add(&ep->parts, part);
    if (status != CHORUS_OK && is_inside(part.kind, part.key))
        ep->inner->detach(ep->inner_ep, memory->base);
    if (status == CHORUS_OK) *key_out = part.key;
    return status;
}

/* Copies to the memory, which a peer may have caused, end first. */
void ch_staged_detach(struct ch_endpoint *ep, void *base)
{
    struct ch_part part;

    if (!ch_parts_remove(&ep->parts, (uintptr_t)base, &part)) return;
    if (part.kind == CH_MEMORY_GPU) ch_staged_drain(ep);
    if (is_inside(part.kind, part.key)) ep->inner->detach(ep->inner_ep, base);
}

/* Note where a peer has a part on its GPU. */
static chorus_status note_peer_part(struct ch_staged_peer *peer,
                                    const struct ch_memory_part *there, uint64_t key)
{
    return ch_parts_add(&peer->parts, (struct ch_part){.base = (uintptr_t)there->base,
                                                       .bytes = there->bytes,
                                                       .kind = CH_MEMORY_GPU,
                                                       .key = key});
}

chorus_status ch_staged_add_peer_key(struct ch_endpoint *ep, uint32_t pe,
                                     const struct ch_memory_part *there, uint64_t key)
{
    struct ch_staged_peer *peer = ep->peers[pe];
    chorus_status status = CHORUS_OK;
    struct ch_part part;

    if (peer != NULL && there->kind == CH_MEMORY_GPU) CH_TRY(note_peer_part(peer, there, key));
    if (is_inside(there->kind, key) && (ep->inner_caps & CH_LINK_KEYS) != 0)
        status = ep->inner->add_peer_key(ep->inner_ep, pe, there, key);
    if (status != CHORUS_OK && peer != NULL)
        (void)ch_parts_remove(&peer->parts, (uintptr_t)there->base, &part);
    return status;
}

void ch_staged_drop_peer_key(struct ch_endpoint *ep, uint32_t pe, const char *there)
{
    struct ch_part part = {.kind = CH_MEMORY_HOST};

    if (ep->peers[pe] != NULL)
        (void)ch_parts_remove(&ep->peers[pe]->parts, (uintptr_t)there, &part);
    if (is_inside(part.kind, part.key) && (ep->inner_caps & CH_LINK_KEYS) != 0)
        ep->inner->drop_peer_key(ep->inner_ep, pe, there);
}

enum ch_staged_place ch_staged_place_of(struct ch_endpoint *ep, uint64_t there, uint64_t bytes)
{
    enum ch_staged_place place = CH_STAGED_NOWHERE;

    while (bytes != 0) {
        const struct ch_part *part = ch_parts_find(&ep->parts, (uintptr_t)there);
        enum ch_staged_place here;
        uint64_t left;

        if (part == NULL) return CH_STAGED_NOWHERE;
        here = part->kind == CH_MEMORY_GPU ? CH_STAGED_GPU : CH_STAGED_HOST;
        if (place != CH_STAGED_NOWHERE && place != here) return CH_STAGED_NOWHERE;
        place = here;
        left = part->bytes - (there - part->base);
        if (left >= bytes) return place;
        there += left;
        bytes -= left;
    }
    return place;
}
