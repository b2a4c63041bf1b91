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

static chorus_status mapped_open(struct ch_heap *heap, const struct ch_patience *patience,
                                 struct ch_transport **self_out)
{
    const uint32_t n = ch_heap_n_pes(heap);
    const char *const own = ch_heap_base(heap, ch_heap_me(heap));
    struct ch_transport *self;

    for (uint32_t pe = 0; pe < n; pe++)
        if (!ch_heap_is_mapped(heap, pe))
            return CH_FAIL(CHORUS_ERR_UNSUPPORTED,
                           "transport mapped needs all PEs on one host; PE %u is not mapped",
                           pe);
    self = malloc(sizeof(*self) + n * sizeof(self->peers[0]));
    if (self == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for a transport to %u PEs", n);
    self->patience = patience;
    for (uint32_t pe = 0; pe < n; pe++)
        self->peers[pe] = (struct peer){ch_heap_base(heap, pe) - own, ch_heap_door(heap, pe)};
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

static bool is_word(const void *a, const void *b, size_t bytes)
{
    const bool is_width = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;

    return is_width && (((uintptr_t)a | (uintptr_t)b) & (bytes - 1)) == 0;
}

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

static chorus_status mapped_put(struct ch_transport *self, uint32_t ctx, void *symmetric_dest,
                                const void *source, size_t bytes, uint32_t pe)
{
    void *const dest = mapped_map(self, symmetric_dest, pe);

    (void)ctx;
    if (is_word(dest, source, bytes))
        store_word(dest, source, bytes);
    else if (bytes != 0)
        memmove(dest, source, bytes); /* to itself, source and dest may be one */
    ch_notify(self->patience, self->peers[pe].door);
    return CHORUS_OK;
}

static chorus_status mapped_get(struct ch_transport *self, uint32_t ctx, void *dest,
                                const void *symmetric_source, size_t bytes, uint32_t pe)
{
    const void *const source = mapped_map(self, symmetric_source, pe);

    (void)ctx;
    if (is_word(dest, source, bytes))
        load_word(dest, source, bytes);
    else if (bytes != 0)
        memmove(dest, source, bytes);
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

/* What was in *word before. */
static uint32_t amo_on_4(uint32_t *word, enum ch_amo op, uint32_t value, uint32_t compare)
{
    switch (op) {
    case CH_AMO_SET:
    case CH_AMO_SWAP:
        return __atomic_exchange_n(word, value, __ATOMIC_SEQ_CST);
    case CH_AMO_ADD:
        return __atomic_fetch_add(word, value, __ATOMIC_SEQ_CST);
    case CH_AMO_AND:
        return __atomic_fetch_and(word, value, __ATOMIC_SEQ_CST);
    case CH_AMO_OR:
        return __atomic_fetch_or(word, value, __ATOMIC_SEQ_CST);
    case CH_AMO_XOR:
        return __atomic_fetch_xor(word, value, __ATOMIC_SEQ_CST);
    case CH_AMO_FETCH:
        return __atomic_load_n(word, __ATOMIC_SEQ_CST);
    case CH_AMO_COMPARE_SWAP:
        (void)__atomic_compare_exchange_n(word, &compare, value, false, __ATOMIC_SEQ_CST,
                                          __ATOMIC_SEQ_CST);
    }
    return compare; /* where a failed compare leaves what was there */
}

/* The same, twice as wide. */
static uint64_t amo_on_8(uint64_t *word, enum ch_amo op, uint64_t value, uint64_t compare)
{
    switch (op) {
    case CH_AMO_SET:
    case CH_AMO_SWAP:
        return __atomic_exchange_n(word, value, __ATOMIC_SEQ_CST);
    case CH_AMO_ADD:
        return __atomic_fetch_add(word, value, __ATOMIC_SEQ_CST);
    case CH_AMO_AND:
        return __atomic_fetch_and(word, value, __ATOMIC_SEQ_CST);
    case CH_AMO_OR:
        return __atomic_fetch_or(word, value, __ATOMIC_SEQ_CST);
    case CH_AMO_XOR:
        return __atomic_fetch_xor(word, value, __ATOMIC_SEQ_CST);
    case CH_AMO_FETCH:
        return __atomic_load_n(word, __ATOMIC_SEQ_CST);
    case CH_AMO_COMPARE_SWAP:
        (void)__atomic_compare_exchange_n(word, &compare, value, false, __ATOMIC_SEQ_CST,
                                          __ATOMIC_SEQ_CST);
    }
    return compare; /* where a failed compare leaves what was there */
}

static chorus_status mapped_amo(struct ch_transport *self, uint32_t ctx, enum ch_amo op,
                                void *symmetric, size_t bytes, uint64_t value, uint64_t compare,
                                uint32_t pe, uint64_t *fetched_out)
{
    void *const word = mapped_map(self, symmetric, pe);
    uint64_t fetched;

    (void)ctx;
    if ((bytes != 4 && bytes != 8) || ((uintptr_t)word & (bytes - 1)) != 0)
        return CH_FAIL(CHORUS_ERR_ARG,
                       "an atomic of %zu bytes at %p; it must be 4 or 8, aligned to its size",
                       bytes, symmetric);
    if (bytes == 4)
        fetched = amo_on_4((uint32_t *)word, op, (uint32_t)value, (uint32_t)compare);
    else
        fetched = amo_on_8((uint64_t *)word, op, value, compare);
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
