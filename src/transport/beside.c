/* SPDX-License-Identifier: Apache-2.0 */
/*
 * beside.c: operations on memory of PEs of the same host take effect before their call returns,
 * in every context, so nothing of them is ever outstanding.
 */
#include "transport/beside.h"

#include "base/exec_host.h"
#include "heap/heap.h"

#include <stdio.h>
#include <stdlib.h>

struct ch_endpoint {
    struct ch_beside_terms terms;
    chorus_status status; /* of the first operation that named wrong memory */
    char why[256];
};

static bool is_outer(const struct ch_endpoint *ep, uint32_t pe)
{
    return !ch_heap_is_mapped(ep->terms.heap, pe);
}

chorus_status ch_beside_open(const struct ch_beside_terms *terms, struct ch_endpoint **ep_out)
{
    struct ch_endpoint *ep = calloc(1, sizeof(*ep));

    if (ep == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for a network to %u PEs", terms->n);
    ep->terms = *terms;
    *ep_out = ep;
    return CHORUS_OK;
}

static void beside_close(struct ch_endpoint *ep)
{
    if (ep == NULL) return;
    if (ep->terms.outer != NULL) ep->terms.outer->close(ep->terms.outer_ep);
    free(ep);
}

/* Words that PEs of this host store are not reported, and their GPU memory is not accessed. */
static uint32_t beside_caps(const struct ch_endpoint *ep)
{
    const uint32_t outer =
        ep->terms.outer != NULL ? ep->terms.outer->caps(ep->terms.outer_ep) : 0;

    return (outer & ~(uint32_t)CH_LINK_GPU) | CH_LINK_PASSIVE;
}

/* ---- memory ---- */

static void *beside_map(struct ch_endpoint *ep, uint32_t pe, const void *there, size_t bytes)
{
    return ch_heap_mapped_at(ep->terms.heap, pe, there, bytes);
}

/* The address here of a mapped peer's memory. Null: it is not in the peer's segment; the first
 * such operation is kept as the failure of the network. */
static void *find(struct ch_endpoint *ep, uint32_t pe, const void *there, size_t bytes)
{
    void *here = beside_map(ep, pe, there, bytes);

    if (here != NULL || ep->status != CHORUS_OK) return here;
    ep->status = CHORUS_ERR_SYSTEM;
    (void)snprintf(ep->why, sizeof(ep->why),
                   "PE %u on this host: an operation names %zu bytes at %p, which are not in "
                   "the memory that it shares; was memory of this PE's kernels changed?",
                   pe, bytes, there);
    return NULL;
}

static chorus_status beside_attach(struct ch_endpoint *ep, const struct ch_memory_part *part,
                                   uint64_t *key_out)
{
    *key_out = 0;
    return ep->terms.outer == NULL ? CHORUS_OK
                                   : ep->terms.outer->attach(ep->terms.outer_ep, part, key_out);
}

static void beside_detach(struct ch_endpoint *ep, void *base)
{
    if (ep->terms.outer != NULL) ep->terms.outer->detach(ep->terms.outer_ep, base);
}

static chorus_status beside_add_peer_key(struct ch_endpoint *ep, uint32_t pe,
                                         const struct ch_memory_part *there, uint64_t key)
{
    return is_outer(ep, pe) ? ep->terms.outer->add_peer_key(ep->terms.outer_ep, pe, there, key)
                            : CHORUS_OK;
}

static void beside_drop_peer_key(struct ch_endpoint *ep, uint32_t pe, const char *there)
{
    if (is_outer(ep, pe)) ep->terms.outer->drop_peer_key(ep->terms.outer_ep, pe, there);
}

/* ---- operations ---- */

/* A source that is the destination is there already: this PE's GPU has stored it. */
static chorus_status beside_put(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe, char *there,
                                const void *src, size_t bytes)
{
    void *here;

    if (is_outer(ep, pe))
        return ep->terms.outer->put(ep->terms.outer_ep, ctx, pe, there, src, bytes);
    here = find(ep, pe, there, bytes);
    if (here == NULL) return CHORUS_OK;
    if (here != src) ch_put_bytes(here, src, bytes);
    ch_door_ring(ch_heap_door(ep->terms.heap, pe));
    return CHORUS_OK;
}

static chorus_status beside_get(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe, void *dst,
                                const char *there, size_t bytes)
{
    const void *here;

    if (is_outer(ep, pe))
        return ep->terms.outer->get(ep->terms.outer_ep, ctx, pe, dst, there, bytes);
    here = find(ep, pe, there, bytes);
    if (here != NULL) ch_get_bytes(dst, here, bytes);
    return CHORUS_OK;
}

static chorus_status beside_amo(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe,
                                enum ch_amo op, void *there, size_t bytes, uint64_t value,
                                uint64_t compare, uint64_t *fetched_out)
{
    uint64_t fetched;
    void *here;

    if (is_outer(ep, pe))
        return ep->terms.outer->amo(ep->terms.outer_ep, ctx, pe, op, there, bytes, value,
                                    compare, fetched_out);
    here = find(ep, pe, there, bytes);
    if (here == NULL) return CHORUS_OK;
    fetched = ch_amo_access(op, here, bytes, value, compare);
    if (fetched_out != NULL) *fetched_out = fetched;
    if (op != CH_AMO_FETCH) ch_door_ring(ch_heap_door(ep->terms.heap, pe));
    return CHORUS_OK;
}

static chorus_status beside_put_signal(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe,
                                       const struct ch_put_signal *put)
{
    const struct ch_link_ops *outer = ep->terms.outer;

    if (is_outer(ep, pe) && outer->put_signal != NULL)
        return outer->put_signal(ep->terms.outer_ep, ctx, pe, put);
    if (put->bytes != 0) CH_TRY(beside_put(ep, ctx, pe, put->dest, put->source, put->bytes));
    return beside_amo(ep, ctx, pe, put->op, put->word, sizeof(*put->word), put->value, 0, NULL);
}

/* ---- their ends ---- */

/* Does the outer network know of operations to pe, or to CH_LINK_ALL? */
static bool concerns_outer(const struct ch_endpoint *ep, uint32_t pe)
{
    return ep->terms.outer != NULL && (pe == CH_LINK_ALL || is_outer(ep, pe));
}

static bool beside_is_sent(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe)
{
    return ep->status == CHORUS_OK &&
           (!concerns_outer(ep, pe) || ep->terms.outer->is_sent(ep->terms.outer_ep, ctx, pe));
}

static bool beside_is_done(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe)
{
    return ep->status == CHORUS_OK &&
           (!concerns_outer(ep, pe) || ep->terms.outer->is_done(ep->terms.outer_ep, ctx, pe));
}

static void beside_abandon(struct ch_endpoint *ep, uint32_t pe)
{
    if (concerns_outer(ep, pe)) ep->terms.outer->abandon(ep->terms.outer_ep, pe);
}

static bool beside_receive(struct ch_endpoint *ep, uint32_t pe, void *slot, void *dst,
                           size_t bytes)
{
    return concerns_outer(ep, pe) && ep->terms.outer->receive != NULL &&
           ep->terms.outer->receive(ep->terms.outer_ep, pe, slot, dst, bytes);
}

static bool beside_received(struct ch_endpoint *ep, uint32_t pe)
{
    return concerns_outer(ep, pe) && ep->terms.outer->received(ep->terms.outer_ep, pe);
}

/* ---- progress ---- */

static chorus_status beside_progress(struct ch_endpoint *ep, bool *moved_out)
{
    if (ep->terms.outer != NULL)
        CH_TRY(ep->terms.outer->progress(ep->terms.outer_ep, moved_out));
    return ep->status == CHORUS_OK ? CHORUS_OK : CH_FAIL(ep->status, "%s", ep->why);
}

static int beside_watch(struct ch_endpoint *ep)
{
    return ep->terms.outer == NULL ? -1 : ep->terms.outer->watch(ep->terms.outer_ep);
}

static void beside_unwatch(struct ch_endpoint *ep)
{
    if (ep->terms.outer != NULL && ep->terms.outer->unwatch != NULL)
        ep->terms.outer->unwatch(ep->terms.outer_ep);
}

static void beside_sleep(struct ch_endpoint *ep)
{
    if (ep->terms.outer != NULL && ep->terms.outer->sleep != NULL)
        ep->terms.outer->sleep(ep->terms.outer_ep);
}

static void beside_describe(const struct ch_endpoint *ep, uint32_t pe,
                            char why_out[CH_LINK_WHY_BYTES])
{
    if (is_outer(ep, pe))
        ep->terms.outer->describe(ep->terms.outer_ep, pe, why_out);
    else
        (void)snprintf(why_out, CH_LINK_WHY_BYTES, "pinned memory of this host");
}

const struct ch_link_ops ch_link_beside = {
    .name = "beside",
    .close = beside_close,
    .caps = beside_caps,
    .map = beside_map,
    .attach = beside_attach,
    .detach = beside_detach,
    .add_peer_key = beside_add_peer_key,
    .drop_peer_key = beside_drop_peer_key,
    .put = beside_put,
    .put_signal = beside_put_signal,
    .get = beside_get,
    .amo = beside_amo,
    .receive = beside_receive,
    .received = beside_received,
    .is_sent = beside_is_sent,
    .is_done = beside_is_done,
    .abandon = beside_abandon,
    .progress = beside_progress,
    .watch = beside_watch,
    .unwatch = beside_unwatch,
    .sleep = beside_sleep,
    .describe = beside_describe,
};
