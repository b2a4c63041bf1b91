/* SPDX-License-Identifier: Apache-2.0 */
/* routed.c: uses for each peer its memory if that is mapped, otherwise the network. */
#include "transport/network.h"
#include "transport/transport.h"

#include <stdlib.h>

struct ch_transport {
    struct ch_transport *mapped;
    struct ch_network *network;
    struct ch_near *near; /* [n], owned: routes of peers that are not mapped */
    ptrdiff_t shifts[];   /* add to an address of this PE to get the peer's own address of the
                             same object */
};

static const struct ch_transport_ops *const near_ops = &ch_transport_mapped;

static bool is_near(const struct ch_transport *self, uint32_t pe)
{
    return ch_network_route(self->network, pe) == NULL;
}

static void routed_close(struct ch_transport *self)
{
    if (self == NULL) return;
    near_ops->close(self->mapped);
    free(self->near);
    free(self);
}

static chorus_status routed_open(const struct ch_transport_terms *terms,
                                 struct ch_transport **self_out)
{
    const uint32_t n = ch_heap_n_pes(terms->heap), me = ch_heap_me(terms->heap);
    struct ch_transport *self = calloc(1, sizeof(*self) + n * sizeof(self->shifts[0]));
    chorus_status st;

    if (self != NULL) self->near = calloc(n, sizeof(*self->near));
    st = self != NULL && self->near != NULL
             ? near_ops->open(terms, &self->mapped)
             : CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for a transport to %u PEs", n);
    if (st != CHORUS_OK) {
        routed_close(self);
        return st;
    }
    self->network = terms->network;
    for (uint32_t pe = 0; pe < n; pe++) {
        self->shifts[pe] = ch_heap_home(terms->heap, pe) - ch_heap_home(terms->heap, me);
        if (is_near(self, pe)) self->near[pe] = near_ops->near(self->mapped)[pe];
    }
    *self_out = self;
    return CHORUS_OK;
}

static const struct ch_near *routed_near(const struct ch_transport *self)
{
    return self->near;
}

/* The peer's own address of the symmetric object. */
static char *there(const struct ch_transport *self, const void *symmetric, uint32_t pe)
{
    return (char *)((uintptr_t)symmetric + (uintptr_t)self->shifts[pe]);
}

static void *routed_map(struct ch_transport *self, const void *symmetric, uint32_t pe)
{
    return is_near(self, pe) ? near_ops->map(self->mapped, symmetric, pe) : NULL;
}

static chorus_status routed_put(struct ch_transport *self, uint32_t ctx, void *symmetric_dest,
                                const void *source, size_t bytes, uint32_t pe)
{
    if (is_near(self, pe))
        return near_ops->put(self->mapped, ctx, symmetric_dest, source, bytes, pe);
    if (bytes == 0) return CHORUS_OK;
    return ch_network_put(self->network, ctx, pe, there(self, symmetric_dest, pe), source,
                          bytes);
}

static chorus_status routed_put_nbi(struct ch_transport *self, uint32_t ctx,
                                    void *symmetric_dest, const void *source, size_t bytes,
                                    uint32_t pe)
{
    if (is_near(self, pe))
        return near_ops->put(self->mapped, ctx, symmetric_dest, source, bytes, pe);
    if (bytes == 0) return CHORUS_OK;
    return ch_network_put_nbi(self->network, ctx, pe, there(self, symmetric_dest, pe), source,
                              bytes);
}

static chorus_status routed_get(struct ch_transport *self, uint32_t ctx, void *dest,
                                const void *symmetric_source, size_t bytes, uint32_t pe)
{
    if (is_near(self, pe))
        return near_ops->get(self->mapped, ctx, dest, symmetric_source, bytes, pe);
    if (bytes == 0) return CHORUS_OK;
    return ch_network_get(self->network, ctx, pe, dest, there(self, symmetric_source, pe),
                          bytes);
}

static chorus_status routed_get_nbi(struct ch_transport *self, uint32_t ctx, void *dest,
                                    const void *symmetric_source, size_t bytes, uint32_t pe)
{
    if (is_near(self, pe))
        return near_ops->get(self->mapped, ctx, dest, symmetric_source, bytes, pe);
    if (bytes == 0) return CHORUS_OK;
    return ch_network_get_nbi(self->network, ctx, pe, dest, there(self, symmetric_source, pe),
                              bytes);
}

static chorus_status routed_put_signal(struct ch_transport *self, uint32_t ctx,
                                       const struct ch_put_signal *put, uint32_t pe,
                                       bool is_nbi)
{
    struct ch_put_signal at_peer = *put;

    if (!is_near(self, pe)) {
        at_peer.dest = there(self, put->dest, pe);
        at_peer.word = (uint64_t *)(void *)there(self, put->word, pe);
        return ch_network_put_signal(self->network, ctx, pe, &at_peer, is_nbi);
    }
    CH_TRY(near_ops->put(self->mapped, ctx, put->dest, put->source, put->bytes, pe));
    CH_TRY(near_ops->fence(self->mapped, ctx));
    return near_ops->amo(self->mapped, ctx, put->op, put->word, sizeof(*put->word), put->value,
                         0, pe, NULL);
}

static chorus_status routed_fence(struct ch_transport *self, uint32_t ctx)
{
    CH_TRY(near_ops->fence(self->mapped, ctx));
    return ch_network_fence(self->network, ctx);
}

static chorus_status routed_quiet(struct ch_transport *self, uint32_t ctx)
{
    CH_TRY(near_ops->quiet(self->mapped, ctx));
    return ch_network_quiet(self->network, ctx, CH_NET_ALL);
}

static chorus_status routed_quiet_pe(struct ch_transport *self, uint32_t ctx, uint32_t pe)
{
    if (is_near(self, pe)) return near_ops->quiet(self->mapped, ctx);
    return ch_network_quiet(self->network, ctx, pe);
}

static chorus_status routed_amo(struct ch_transport *self, uint32_t ctx, enum ch_amo op,
                                void *symmetric, size_t bytes, uint64_t value, uint64_t compare,
                                uint32_t pe, uint64_t *fetched_out)
{
    if (is_near(self, pe))
        return near_ops->amo(self->mapped, ctx, op, symmetric, bytes, value, compare, pe,
                             fetched_out);
    CH_TRY(ch_amo_check(symmetric, bytes));
    return ch_network_amo(self->network, ctx, pe, op, there(self, symmetric, pe), bytes, value,
                          compare, fetched_out);
}

const struct ch_transport_ops ch_transport_routed = {
    .name = "routed",
    .caps = CH_CAP_MAP | CH_CAP_PUT | CH_CAP_AMO,
    .open = routed_open,
    .close = routed_close,
    .near = routed_near,
    .map = routed_map,
    .put = routed_put,
    .put_nbi = routed_put_nbi,
    .get = routed_get,
    .get_nbi = routed_get_nbi,
    .put_signal = routed_put_signal,
    .fence = routed_fence,
    .quiet = routed_quiet,
    .quiet_pe = routed_quiet_pe,
    .amo = routed_amo,
};
