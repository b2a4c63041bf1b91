/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mapped.c: peers whose segments this PE can load and store. An operation is complete when its
 * call returns, so every context behaves as the default one.
 */
#include "transport/transport.h"

#include <stdlib.h>

struct ch_transport {
    uint32_t n; /* number of PEs of the job */
    struct ch_near peers[];
};

static chorus_status mapped_open(const struct ch_transport_terms *terms,
                                 struct ch_transport **self_out)
{
    struct ch_heap *const heap = terms->heap;
    const uint32_t n = ch_heap_n_pes(heap);
    const char *const own = ch_heap_base(heap, ch_heap_me(heap));
    struct ch_transport *self;

    self = calloc(1, sizeof(*self) + n * sizeof(self->peers[0]));
    if (self == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for a transport to %u PEs", n);
    self->n = n;
    for (uint32_t pe = 0; pe < n; pe++)
        if (ch_heap_is_mapped(heap, pe))
            self->peers[pe] =
                (struct ch_near){ch_heap_base(heap, pe) - own, ch_heap_door(heap, pe)};
    *self_out = self;
    return CHORUS_OK;
}

static void mapped_close(struct ch_transport *self)
{
    free(self);
}

static const struct ch_near *mapped_near(const struct ch_transport *self)
{
    return self->peers;
}

static void *mapped_map(struct ch_transport *self, const void *symmetric, uint32_t pe)
{
    return ch_near_address(&self->peers[pe], symmetric);
}

static chorus_status mapped_put(struct ch_transport *self, uint32_t ctx, void *symmetric_dest,
                                const void *source, size_t bytes, uint32_t pe)
{
    (void)ctx;
    ch_near_put(&self->peers[pe], symmetric_dest, source, bytes);
    return CHORUS_OK;
}

static chorus_status mapped_get(struct ch_transport *self, uint32_t ctx, void *dest,
                                const void *symmetric_source, size_t bytes, uint32_t pe)
{
    (void)ctx;
    ch_near_get(&self->peers[pe], dest, symmetric_source, bytes);
    return CHORUS_OK;
}

static chorus_status mapped_fence(struct ch_transport *self, uint32_t ctx)
{
    (void)self, (void)ctx;
    __atomic_thread_fence(__ATOMIC_ACQ_REL);
    return CHORUS_OK;
}

static chorus_status mapped_quiet(struct ch_transport *self, uint32_t ctx)
{
    (void)self, (void)ctx;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return CHORUS_OK;
}

static chorus_status mapped_amo(struct ch_transport *self, uint32_t ctx, enum ch_amo op,
                                void *symmetric, size_t bytes, uint64_t value, uint64_t compare,
                                uint32_t pe, uint64_t *fetched_out)
{
    uint64_t fetched;

    (void)ctx;
    CH_TRY(ch_amo_check(symmetric, bytes));
    fetched = ch_near_amo(&self->peers[pe], op, symmetric, bytes, value, compare);
    if (fetched_out != NULL) *fetched_out = fetched;
    return CHORUS_OK;
}

const struct ch_transport_ops ch_transport_mapped = {
    .name = "mapped",
    .caps = CH_CAP_MAP | CH_CAP_PUT | CH_CAP_AMO,
    .open = mapped_open,
    .close = mapped_close,
    .near = mapped_near,
    .map = mapped_map,
    .put = mapped_put,
    .get = mapped_get,
    .fence = mapped_fence,
    .quiet = mapped_quiet,
    .amo = mapped_amo,
};
