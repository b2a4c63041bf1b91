/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mapped.c: peers whose segments this PE can load and store. Nothing is ever in flight: an
 * operation is done when its call returns, so every context behaves as the default one.
 *
 * A transfer that is one aligned word is one atomic access: a PE that waits for the word sees
 * all of it or nothing. Words are stored with release and loaded with acquire, more than
 * put and get promise; it costs nothing on x86, and tools that do not know fences (such as
 * ThreadSanitizer) see the order that put, fence, put makes.
 */
#include "transport/transport.h"

#include "base/exec_host.h"

#include <stdlib.h>
#include <string.h>

struct peer {
    ptrdiff_t shift; /* add to an own address: the same place on the peer */
    struct ch_door *door;
};

struct ch_transport {
    const struct ch_patience *patience; /* borrowed */
    struct peer peers[];
};

static chorus_status mapped_open(const struct ch_transport_terms *terms,
                                 struct ch_transport **self_out)
{
    struct ch_heap *const heap = terms->heap;
    const uint32_t n = ch_heap_n_pes(heap);
    const char *const own = ch_heap_base(heap, ch_heap_me(heap));
    struct ch_transport *self;

    self = malloc(sizeof(*self) + n * sizeof(self->peers[0]));
    if (self == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for a transport to %u PEs", n);
    self->patience = terms->patience;
    for (uint32_t pe = 0; pe < n; pe++)
        if (ch_heap_is_mapped(heap, pe))
            self->peers[pe] =
                (struct peer){ch_heap_base(heap, pe) - own, ch_heap_door(heap, pe)};
    *self_out = self;
    return CHORUS_OK;
}

static void mapped_close(struct ch_transport *self)
{
    free(self);
}

static void *mapped_map(struct ch_transport *self, const void *symmetric, uint32_t pe)
{
    /* Through integers: the two addresses are in different objects. */
    return (void *)((uintptr_t)symmetric + (uintptr_t)self->peers[pe].shift);
}

static chorus_status mapped_put(struct ch_transport *self, uint32_t ctx, void *symmetric_dest,
                                const void *source, size_t bytes, uint32_t pe)
{
    void *const dest = mapped_map(self, symmetric_dest, pe);

    (void)ctx;
    ch_put_bytes(dest, source, bytes);
    ch_notify(self->patience, self->peers[pe].door);
    return CHORUS_OK;
}

static chorus_status mapped_get(struct ch_transport *self, uint32_t ctx, void *dest,
                                const void *symmetric_source, size_t bytes, uint32_t pe)
{
    const void *const source = mapped_map(self, symmetric_source, pe);

    (void)ctx;
    ch_get_bytes(dest, source, bytes);
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
    void *const word = mapped_map(self, symmetric, pe);
    uint64_t fetched;

    (void)ctx;
    CH_TRY(ch_amo_check(symmetric, bytes));
    fetched = ch_amo_apply(op, word, bytes, value, compare);
    if (fetched_out != NULL) *fetched_out = fetched;
    if (op != CH_AMO_FETCH) ch_notify(self->patience, self->peers[pe].door);
    return CHORUS_OK;
}

const struct ch_transport_ops ch_transport_mapped = {
    .name = "mapped",
    .caps = CH_CAP_MAP | CH_CAP_PUT | CH_CAP_AMO,
    .open = mapped_open,
    .close = mapped_close,
    .map = mapped_map,
    .put = mapped_put,
    .get = mapped_get,
    .fence = mapped_fence,
    .quiet = mapped_quiet,
    .amo = mapped_amo,
};
