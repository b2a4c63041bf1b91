/* SPDX-License-Identifier: Apache-2.0 */
/* mapped.c: links to peers whose segments this PE can load and store. */
#include "heap/heap.h"
#include "transport/link.h"

#include <stdlib.h>

struct ch_endpoint {
    uint32_t n;
    struct ch_door *doors[]; /* [n]; null: the PE is not mapped */
};

static chorus_status mapped_open(const struct ch_link_terms *terms, struct ch_endpoint **ep_out)
{
    const uint32_t n = ch_heap_n_pes(terms->heap);
    struct ch_endpoint *ep = calloc(1, sizeof(*ep) + n * sizeof(ep->doors[0]));

    if (ep == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for a transport to %u PEs", n);
    ep->n = n;
    for (uint32_t pe = 0; pe < n; pe++)
        if (ch_heap_is_mapped(terms->heap, pe)) ep->doors[pe] = ch_heap_door(terms->heap, pe);
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
    ch_door_ring(ep->doors[pe]);
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
    if (op != CH_AMO_FETCH) ch_door_ring(ep->doors[pe]);
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
