/* SPDX-License-Identifier: Apache-2.0 */
/* mapped.c: links to peers whose segments this PE can load and store, and these accesses. */
#include "heap/heap.h"
#include "transport/link.h"

#include <stdlib.h>
#include <string.h>

struct ch_endpoint {
    struct ch_heap *heap; /* borrowed */
};

static chorus_status mapped_open(const struct ch_link_terms *terms, struct ch_endpoint **ep_out)
{
    struct ch_endpoint *ep = calloc(1, sizeof(*ep));

    if (ep == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for a transport to %u PEs",
                       ch_heap_n_pes(terms->heap));
    ep->heap = terms->heap;
    *ep_out = ep;
    return CHORUS_OK;
}

static void mapped_close(struct ch_endpoint *ep)
{
    free(ep);
}

static chorus_status mapped_put(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe, char *there,
                                const void *src, size_t bytes)
{
    (void)ctx;
    ch_put_bytes(there, src, bytes);
    ch_door_ring(ch_heap_door(ep->heap, pe));
    return CHORUS_OK;
}

static chorus_status mapped_get(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe, void *dst,
                                const char *there, size_t bytes)
{
    (void)ep, (void)ctx, (void)pe;
    ch_get_bytes(dst, there, bytes);
    return CHORUS_OK;
}

static chorus_status mapped_amo(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe,
                                enum ch_amo op, void *there, size_t bytes, uint64_t value,
                                uint64_t compare, uint64_t *fetched_out)
{
    const uint64_t fetched = ch_amo_access(op, there, bytes, value, compare);

    (void)ctx;
    if (op != CH_AMO_FETCH) ch_door_ring(ch_heap_door(ep->heap, pe));
    if (fetched_out != NULL) *fetched_out = fetched;
    return CHORUS_OK;
}

const struct ch_link_ops ch_link_mapped = {
    .name = "mapped",
    .open = mapped_open,
    .close = mapped_close,
    .put = mapped_put,
    .get = mapped_get,
    .amo = mapped_amo,
};

/* ---- accesses of the CPU, amo.h ---- */

chorus_status ch_amo_check(const void *word, size_t bytes)
{
    if ((bytes == 4 || bytes == 8) && ((uintptr_t)word & (bytes - 1)) == 0) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_ARG,
                   "an atomic operation on %zu bytes at %p; expected 4 or 8 bytes, aligned to "
                   "their number",
                   bytes, word);
}

uint64_t ch_amo_apply(enum ch_amo op, void *word, size_t bytes, uint64_t value,
                      uint64_t compare)
{
    return ch_amo_access(op, word, bytes, value, compare);
}

/* Are the bytes at a and at b one aligned word of 1, 2, 4 or 8 bytes each? */
static bool is_word(const void *a, const void *b, size_t bytes)
{
    const bool is_width = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;

    return is_width && (((uintptr_t)a | (uintptr_t)b) & (bytes - 1)) == 0;
}

/* Store a word of 1, 2, 4 or 8 bytes by one access, with release. */
static void store_word(void *dest, const void *source, size_t bytes)
{
    switch (bytes) {
    case 1:
        __atomic_store_n((uint8_t *)dest, *(const uint8_t *)source, __ATOMIC_RELEASE);
        return;
    case 2:
        __atomic_store_n((uint16_t *)dest, *(const uint16_t *)source, __ATOMIC_RELEASE);
        return;
    case 4:
        __atomic_store_n((uint32_t *)dest, *(const uint32_t *)source, __ATOMIC_RELEASE);
        return;
    default:
        __atomic_store_n((uint64_t *)dest, *(const uint64_t *)source, __ATOMIC_RELEASE);
    }
}

/* Load a word of 1, 2, 4 or 8 bytes by one access, with acquire. */
static void load_word(void *dest, const void *source, size_t bytes)
{
    switch (bytes) {
    case 1:
        *(uint8_t *)dest = __atomic_load_n((const uint8_t *)source, __ATOMIC_ACQUIRE);
        return;
    case 2:
        *(uint16_t *)dest = __atomic_load_n((const uint16_t *)source, __ATOMIC_ACQUIRE);
        return;
    case 4:
        *(uint32_t *)dest = __atomic_load_n((const uint32_t *)source, __ATOMIC_ACQUIRE);
        return;
    default:
        *(uint64_t *)dest = __atomic_load_n((const uint64_t *)source, __ATOMIC_ACQUIRE);
    }
}

void ch_put_any(void *dest, const void *source, size_t bytes)
{
    if (is_word(dest, source, bytes))
        store_word(dest, source, bytes);
    else if (bytes != 0)
        memmove(
            dest, source,
            bytes); /* for an operation of a PE on its own memory, the two may be the same */
}

void ch_get_any(void *dest, const void *source, size_t bytes)
{
    if (is_word(dest, source, bytes))
        load_word(dest, source, bytes);
    else if (bytes != 0)
        memmove(dest, source, bytes);
}
