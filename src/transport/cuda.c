/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda.c: peers whose GPU memory this PE's GPU can load and store. The host moves data by the
 * copy engines, on a stream of the PE, and waits for each operation. No operation is in flight
 * after its call, so every context behaves as the default one.
 *
 * A transfer of one aligned word is one store, as of an atomic: a PE that waits for the word
 * sees all of it or nothing. Copies and stores are executed while kernels occupy the whole
 * GPU. Atomics that compute are kernels themselves, and wait for a free multiprocessor.
 */
#include "transport/transport.h"

#include "base/exec_host.h"
#include "device/device.h"
#include "transport/amo_launch.h"

#include <pthread.h>
#include <stdlib.h>

struct peer {
    ptrdiff_t shift; /* add to an address of this PE to get the same offset on the peer */
    struct ch_door *door;
};

struct ch_transport {
    const struct ch_patience *patience; /* borrowed */
    const struct ch_device *device;     /* borrowed */
    pthread_mutex_t lock; /* guards *fetched: an atomic operation takes microseconds */
    uint64_t *fetched;    /* pinned; kernels store old values here */
    struct peer peers[];
};

static void cuda_close(struct ch_transport *self)
{
    if (self == NULL) return;
    if (self->fetched != NULL) ch_device_pinned_free(self->device, self->fetched);
    (void)pthread_mutex_destroy(&self->lock);
    free(self);
}

static chorus_status cuda_open(const struct ch_transport_terms *terms,
                               struct ch_transport **self_out)
{
    struct ch_heap *const heap = terms->heap;
    const uint32_t n = ch_heap_n_pes(heap);
    const char *const own = ch_heap_data_base(heap, ch_heap_me(heap));
    struct ch_transport *self = calloc(1, sizeof(*self) + n * sizeof(self->peers[0]));
    chorus_status st;
    void *pinned = NULL;

    if (self == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for a transport to %u PEs", n);
    self->patience = terms->patience;
    self->device = ch_heap_device(heap);
    (void)pthread_mutex_init(&self->lock, NULL);
    for (uint32_t pe = 0; pe < n; pe++)
        self->peers[pe] =
            (struct peer){ch_heap_data_base(heap, pe) - own, ch_heap_door(heap, pe)};
    st = ch_device_pinned_alloc(self->device, sizeof(*self->fetched), &pinned);
    self->fetched = pinned;
    if (st == CHORUS_OK) st = ch_amo_load(self->device);
    if (st != CHORUS_OK) {
        cuda_close(self);
        return st;
    }
    *self_out = self;
    return CHORUS_OK;
}

static void *cuda_map(struct ch_transport *self, const void *symmetric, uint32_t pe)
{
    return (void *)((uintptr_t)symmetric + (uintptr_t)self->peers[pe].shift);
}

static bool is_word(const void *address, size_t bytes)
{
    return (bytes == 4 || bytes == 8) && ((uintptr_t)address & (bytes - 1)) == 0;
}

/* The source may be on a GPU too: fetch the word, then store it. */
static chorus_status put_word(const struct ch_transport *self, void *dest, const void *source,
                              size_t bytes)
{
    union {
        uint32_t narrow;
        uint64_t wide;
    } word = {.wide = 0};

    CH_TRY(ch_device_copy(self->device, &word, source, bytes));
    return ch_device_store(self->device, dest, bytes == 4 ? word.narrow : word.wide, bytes);
}

static chorus_status cuda_put(struct ch_transport *self, uint32_t ctx, void *symmetric_dest,
                              const void *source, size_t bytes, uint32_t pe)
{
    void *const dest = cuda_map(self, symmetric_dest, pe);

    (void)ctx;
    if (is_word(dest, bytes))
        CH_TRY(put_word(self, dest, source, bytes));
    else if (bytes != 0 && dest != source)
        CH_TRY(ch_device_copy(self->device, dest, source, bytes));
    ch_notify(self->patience, self->peers[pe].door);
    return CHORUS_OK;
}

static chorus_status cuda_get(struct ch_transport *self, uint32_t ctx, void *dest,
                              const void *symmetric_source, size_t bytes, uint32_t pe)
{
    const void *const source = cuda_map(self, symmetric_source, pe);

    (void)ctx;
    if (bytes == 0 || dest == source) return CHORUS_OK;
    return ch_device_copy(self->device, dest, source, bytes);
}

static chorus_status cuda_load(struct ch_transport *self, void *out, const void *symmetric,
                               size_t bytes)
{
    return ch_device_copy(self->device, out, symmetric, bytes);
}

/* Every operation has waited for the device; only the order of this thread's own accesses
 * remains. */
static chorus_status cuda_fence(struct ch_transport *self, uint32_t ctx)
{
    (void)self, (void)ctx;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return CHORUS_OK;
}

static chorus_status run_kernel(struct ch_transport *self, struct ch_amo_request *request,
                                uint64_t *fetched_out)
{
    chorus_status st;

    (void)pthread_mutex_lock(&self->lock);
    request->fetched = self->fetched;
    st = ch_amo_launch(self->device, ch_device_stream(self->device), request);
    if (st == CHORUS_OK) st = ch_device_wait(self->device);
    *fetched_out = *self->fetched;
    (void)pthread_mutex_unlock(&self->lock);
    return st;
}

/* Operations that need no kernel. */
static chorus_status run_amo(struct ch_transport *self, struct ch_amo_request *request,
                             uint64_t *fetched_out)
{
    if (request->op == CH_AMO_SET)
        return ch_device_store(self->device, request->word, request->value, request->bytes);
    if (request->op == CH_AMO_FETCH)
        return ch_device_copy(self->device, fetched_out, request->word, request->bytes);
    return run_kernel(self, request, fetched_out);
}

static chorus_status cuda_amo(struct ch_transport *self, uint32_t ctx, enum ch_amo op,
                              void *symmetric, size_t bytes, uint64_t value, uint64_t compare,
                              uint32_t pe, uint64_t *fetched_out)
{
    struct ch_amo_request request = {
        .op = op,
        .bytes = (unsigned)bytes,
        .word = cuda_map(self, symmetric, pe),
        .value = value,
        .compare = compare,
    };
    uint64_t fetched = 0; /* of 4 bytes, the lower half: machines with GPUs are little-endian */

    (void)ctx;
    if (!is_word(request.word, bytes))
        return CH_FAIL(CHORUS_ERR_ARG,
                       "an atomic operation on %zu bytes at %p; expected 4 or 8 bytes, aligned "
                       "to their number",
                       bytes, symmetric);
    CH_TRY(run_amo(self, &request, &fetched));
    if (fetched_out != NULL) *fetched_out = fetched;
    if (op != CH_AMO_FETCH) ch_notify(self->patience, self->peers[pe].door);
    return CHORUS_OK;
}

const struct ch_transport_ops ch_transport_cuda = {
    .name = "cuda",
    .caps = CH_CAP_MAP | CH_CAP_PUT | CH_CAP_AMO,
    .open = cuda_open,
    .close = cuda_close,
    .map = cuda_map,
    .put = cuda_put,
    .get = cuda_get,
    .load = cuda_load,
    .fence = cuda_fence,
    .quiet = cuda_fence,
    .amo = cuda_amo,
};
