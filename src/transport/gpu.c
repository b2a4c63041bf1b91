/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu.c: links to peers whose GPU memory this PE's GPU can load and store. The host moves data
 * by the copy engines, on a stream of the PE, and waits for each operation.
 *
 * A transfer of one aligned word is one store, as of an atomic: a PE that waits for the word
 * sees all of it or nothing. Copies and stores are executed while kernels occupy the whole
 * GPU. Atomics that compute are kernels themselves, and wait for a free multiprocessor.
 */
#include "transport/link.h"

#include "base/exec_host.h"
#include "device/device.h"
#include "heap/heap.h"
#include "transport/amo.h"
#include "transport/post.h"

#include <pthread.h>
#include <stdlib.h>

struct ch_endpoint {
    struct ch_heap *heap; /* borrowed, as are the next two */
    const struct ch_wait_policy *policy;
    const struct ch_device *device;
    pthread_mutex_t lock; /* guards *fetched: an atomic operation takes microseconds */
    uint64_t *fetched;    /* pinned; kernels store old values here */
};

static void gpu_close(struct ch_endpoint *ep)
{
    if (ep == NULL) return;
    if (ep->fetched != NULL) ch_device_pinned_free(ep->device, ep->fetched);
    (void)pthread_mutex_destroy(&ep->lock);
    free(ep);
}

static chorus_status gpu_open(const struct ch_link_terms *terms, struct ch_endpoint **ep_out)
{
    struct ch_endpoint *ep = calloc(1, sizeof(*ep));
    chorus_status st;
    void *pinned = NULL;

    if (ep == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for a transport to %u PEs",
                       ch_heap_n_pes(terms->heap));
    ep->heap = terms->heap;
    ep->policy = terms->policy;
    ep->device = ch_heap_device(terms->heap);
    (void)pthread_mutex_init(&ep->lock, NULL);
    st = ch_device_pinned_alloc(ep->device, sizeof(*ep->fetched), &pinned);
    ep->fetched = pinned;
    if (st == CHORUS_OK) st = ch_amo_load(ep->device);
    if (st == CHORUS_OK && ch_heap_has_pool(ep->heap)) st = ch_post_load(ep->device);
    if (st != CHORUS_OK) {
        gpu_close(ep);
        return st;
    }
    *ep_out = ep;
    return CHORUS_OK;
}

/* Wake the peer if it sleeps. The doorbell of a near peer on another host is not mapped: its
 * sleeps last at most a millisecond. */
static void wake_peer(const struct ch_endpoint *ep, uint32_t pe)
{
    if (ch_heap_is_mapped(ep->heap, pe)) ch_notify(ep->policy, ch_heap_door(ep->heap, pe));
}

/* Is this one aligned word of 4 or 8 bytes? */
static bool is_word(const void *address, size_t bytes)
{
    return (bytes == 4 || bytes == 8) && ((uintptr_t)address & (bytes - 1)) == 0;
}

/* Copy an aligned word of 4 or 8 bytes to a peer by one store. The source may be on a GPU too,
 * so the word is fetched first. */
static chorus_status put_word(const struct ch_endpoint *ep, void *dest, const void *source,
                              size_t bytes)
{
    union {
        uint32_t narrow;
        uint64_t wide;
    } word = {.wide = 0};

    CH_TRY(ch_device_copy(ep->device, &word, source, bytes));
    return ch_device_store(ep->device, dest, bytes == 4 ? word.narrow : word.wide, bytes);
}

static chorus_status gpu_put(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe, char *there,
                             const void *src, size_t bytes)
{
    (void)ctx;
    if (is_word(there, bytes))
        CH_TRY(put_word(ep, there, src, bytes));
    else if (there != src)
        CH_TRY(ch_device_copy(ep->device, there, src, bytes));
    wake_peer(ep, pe);
    return CHORUS_OK;
}

static chorus_status gpu_get(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe, void *dst,
                             const char *there, size_t bytes)
{
    (void)ctx, (void)pe;
    return dst == there ? CHORUS_OK : ch_device_copy(ep->device, dst, there, bytes);
}

static chorus_status gpu_load(struct ch_endpoint *ep, void *out, const void *symmetric,
                              size_t bytes)
{
    return ch_device_copy(ep->device, out, symmetric, bytes);
}

/* Perform an atomic operation by a kernel, and wait for it; *fetched_out gets the old value. */
static chorus_status run_kernel(struct ch_endpoint *ep, struct ch_amo_request *request,
                                uint64_t *fetched_out)
{
    chorus_status st;

    (void)pthread_mutex_lock(&ep->lock);
    request->fetched = ep->fetched;
    st = ch_amo_launch(ep->device, ch_device_stream(ep->device), request);
    if (st == CHORUS_OK) st = ch_device_wait(ep->device);
    *fetched_out = *ep->fetched;
    (void)pthread_mutex_unlock(&ep->lock);
    return st;
}

/* Perform an atomic operation, by a kernel if it needs one. *fetched_out gets the old value,
 * except of CH_AMO_SET. */
static chorus_status perform_amo(struct ch_endpoint *ep, struct ch_amo_request *request,
                                 uint64_t *fetched_out)
{
    if (request->op == CH_AMO_SET)
        return ch_device_store(ep->device, request->word, request->value, request->bytes);
    if (request->op == CH_AMO_FETCH)
        return ch_device_copy(ep->device, fetched_out, request->word, request->bytes);
    return run_kernel(ep, request, fetched_out);
}

static chorus_status gpu_amo(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe, enum ch_amo op,
                             void *there, size_t bytes, uint64_t value, uint64_t compare,
                             uint64_t *fetched_out)
{
    struct ch_amo_request request = {
        .op = op,
        .bytes = (unsigned)bytes,
        .word = there,
        .value = value,
        .compare = compare,
    };
    uint64_t fetched = 0; /* of 4 bytes, the lower half: machines with GPUs are little-endian */

    (void)ctx;
    CH_TRY(perform_amo(ep, &request, &fetched));
    if (fetched_out != NULL) *fetched_out = fetched;
    if (op != CH_AMO_FETCH) wake_peer(ep, pe);
    return CHORUS_OK;
}

const struct ch_link_ops ch_link_gpu = {
    .name = "cuda",
    .open = gpu_open,
    .close = gpu_close,
    .put = gpu_put,
    .get = gpu_get,
    .amo = gpu_amo,
    .load = gpu_load,
};
