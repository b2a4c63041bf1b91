/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_gpu_ring.c: lanes of a GPU post requests (base/ring.h) and this thread takes them.
 *
 * Hundreds of lanes share 16 slots, so most requests wait for a credit. Each request must come
 * once and whole, in the order of its lane, with its source as the lane has stored it. If this
 * thread takes nothing, the waits of the lanes fail.
 */
#include "base/clock.h"
#include "base/ring.h"
#include "gpu_pes.h"
#include "ring_kernel.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

enum { CAPACITY_LOG2 = 4, POSTS = 3000, SECONDS_MAX = 60 };

struct scene {
    struct ring_run run;
    struct ch_ring_consumer consumer;
    char *pinned; /* all that is pinned */
    int failures[RING_POSTERS];
    uint32_t done[RING_POSTERS]; /* requests of each lane that were taken */
    cudaStream_t stream;
};

static _Thread_local struct scene scene; /* of a PE, which may be a thread */

/* A part of the pinned memory, which is zero. */
static void *part(size_t *at, size_t bytes)
{
    void *const memory = scene.pinned + *at;

    *at += (bytes + 63) / 64 * 64;
    return memory;
}

static void open_scene(uint64_t timeout_ns)
{
    struct ring_run *const run = &scene.run;
    const size_t all = (size_t)RING_POSTERS * 128 + 65536;
    void *on_gpu = NULL, *pinned = NULL;
    size_t at = 0;

    memset(&scene, 0, sizeof(scene));
    EXPECT(cudaHostAlloc(&pinned, all, cudaHostAllocMapped) == cudaSuccess);
    EXPECT(cudaMalloc(&on_gpu, 4096 + sizeof(scene.failures)) == cudaSuccess);
    EXPECT(cudaMemset(on_gpu, 0, 4096 + sizeof(scene.failures)) == cudaSuccess);
    EXPECT(cudaStreamCreateWithFlags(&scene.stream, cudaStreamNonBlocking) == cudaSuccess);
    memset(pinned, 0, all);
    scene.pinned = pinned;
    run->slots = part(&at, sizeof(struct ch_ring_slot) << CAPACITY_LOG2);
    run->freed = part(&at, sizeof(uint64_t));
    run->aborted = part(&at, sizeof(uint32_t));
    run->words = part(&at, RING_POSTERS * sizeof(uint64_t));
    run->sources = part(&at, RING_POSTERS * RING_SOURCE_WORDS * sizeof(uint64_t));
    run->shared = on_gpu;
    run->failures = (int *)(void *)((char *)on_gpu + 4096);
    run->capacity_log2 = CAPACITY_LOG2;
    run->posts = POSTS;
    run->timeout_ns = timeout_ns;
    scene.consumer.slots = run->slots;
    scene.consumer.freed = run->freed;
    scene.consumer.capacity_log2 = CAPACITY_LOG2;
    EXPECT(cudaDeviceSynchronize() == cudaSuccess);
}

static void close_scene(void)
{
    EXPECT(cudaStreamDestroy(scene.stream) == cudaSuccess);
    EXPECT(cudaFree(scene.run.shared) == cudaSuccess);
    EXPECT(cudaFreeHost(scene.pinned) == cudaSuccess);
}

/* The kernel has ended: what its lanes return. */
static void get_failures(void)
{
    EXPECT(cudaStreamSynchronize(scene.stream) == cudaSuccess);
    gpu_copy(scene.failures, scene.run.failures, sizeof(scene.failures));
}

/* Returns whether the request is the next one of its lane. */
static bool is_next(const struct ch_ring_request *r)
{
    const uint32_t lane = ch_request_pe(r);
    const uint32_t number = lane < RING_POSTERS ? scene.done[lane] : 0;
    static const enum ch_ring_op ops[] = {CH_RING_PUT, CH_RING_PUT_INLINE, CH_RING_FLUSH};
    const uint64_t *data =
        ch_request_op(r) == CH_RING_PUT ? (const uint64_t *)(uintptr_t)r->source : &r->source;

    if (lane >= RING_POSTERS || ch_request_op(r) != ops[number % 3]) return false;
    scene.done[lane]++;
    if (ch_request_op(r) == CH_RING_FLUSH) {
        ch_ring_complete((uint64_t *)(uintptr_t)r->word, r->value);
        return r->value == number && (uint64_t *)(uintptr_t)r->word == &scene.run.words[lane];
    }
    if (r->there != number) return false;
    if (ch_request_op(r) == CH_RING_PUT &&
        data != scene.run.sources + (size_t)lane * RING_SOURCE_WORDS)
        return false;
    for (uint32_t i = 0; i < (ch_request_op(r) == CH_RING_PUT ? RING_SOURCE_WORDS : 4); i++)
        if (data[i] != RING_WORD(lane, number, i)) return false;
    return true;
}

static void requests_come_once_and_whole(void)
{
    const uint64_t all = (uint64_t)RING_POSTERS * POSTS, begin = ch_clock_ns();
    bool is_right = true, is_late = false;
    uint32_t failed = 0;

    open_scene((uint64_t)SECONDS_MAX * CH_NS_PER_S);
    EXPECT(ring_launch(&scene.run, scene.stream) == 0);
    while (is_right && !is_late && scene.consumer.next < all) {
        struct ch_ring_request r;

        if (ch_ring_take(&scene.consumer, &r))
            is_right = is_next(&r);
        else
            is_late = ch_clock_ns() - begin > (uint64_t)SECONDS_MAX * CH_NS_PER_S;
    }
    EXPECT(is_right && !is_late);
    /* If something was wrong, lanes still wait. */
    if (!is_right || is_late)
        __atomic_store_n((uint32_t *)(uintptr_t)scene.run.aborted, 1, __ATOMIC_RELEASE);
    get_failures();
    for (uint32_t lane = 0; lane < RING_POSTERS; lane++)
        failed += scene.failures[lane] != CHORUS_OK;
    EXPECT(failed == 0);
    EXPECT(scene.consumer.waited > 0);
    if (gpu_me() == 0)
        printf("%llu requests in %.3f s, %llu of which waited for a credit\n",
               (unsigned long long)scene.consumer.next,
               (double)(ch_clock_ns() - begin) / (double)CH_NS_PER_S,
               (unsigned long long)scene.consumer.waited);
    close_scene();
}

/* Nobody takes: waits end by the timeout or an abort. A lane that finds the ring broken, or
 * whose flush is not carried out, returns a failure, too. */
static void expect_all_failed(int failure)
{
    uint32_t other = 0, requests = 0;
    struct ch_ring_request r;

    get_failures();
    for (uint32_t lane = 0; lane < RING_POSTERS; lane++)
        other += scene.failures[lane] != failure;
    EXPECT(other == 0);
    while (ch_ring_take(&scene.consumer, &r))
        requests++;
    EXPECT(requests == 1u << CAPACITY_LOG2);
    close_scene();
}

static void a_full_ring_times_out(void)
{
    open_scene(CH_NS_PER_S / 2);
    EXPECT(ring_launch(&scene.run, scene.stream) == 0);
    expect_all_failed(CHORUS_ERR_TIMEOUT);
}

static void a_full_ring_is_aborted(void)
{
    open_scene(0);
    EXPECT(ring_launch(&scene.run, scene.stream) == 0);
    __atomic_store_n((uint32_t *)(uintptr_t)scene.run.aborted, 1, __ATOMIC_RELEASE);
    expect_all_failed(CHORUS_ERR_ABORTED);
}

#define CASES(X) \
    X(requests_come_once_and_whole) X(a_full_ring_times_out) X(a_full_ring_is_aborted)
GPU_MAIN(CASES)
