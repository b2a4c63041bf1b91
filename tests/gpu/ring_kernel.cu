/* SPDX-License-Identifier: Apache-2.0 */
/* ring_kernel.cu: the producers of test_gpu_ring.c. */
#include "base/ring.h"
#include "ring_kernel.h"

/* `there` is the number of the request. Only what the lane stores before its put, by plain
 * stores to pinned memory, says what the source holds. */
static __device__ struct ch_ring_request make_request(const struct ring_run *run, uint32_t lane,
                                                      uint32_t number)
{
    uint64_t *const source = run->sources + (size_t)lane * RING_SOURCE_WORDS;
    struct ch_ring_request r = {ch_request_head(CH_RING_PUT_INLINE, lane, CH_RING_INLINE_BYTES),
                                number,
                                RING_WORD(lane, number, 0),
                                RING_WORD(lane, number, 1),
                                RING_WORD(lane, number, 2),
                                RING_WORD(lane, number, 3)};

    if (number % 3 != 0) return r;
    for (uint32_t i = 0; i < RING_SOURCE_WORDS; i++)
        source[i] = RING_WORD(lane, number, i);
    r.head = ch_request_head(CH_RING_PUT, lane, 0);
    r.source = (uint64_t)(uintptr_t)source;
    r.bytes = RING_SOURCE_WORDS * sizeof(*source);
    return r;
}

static __global__ void post_all(const struct ring_run run)
{
    const struct ch_ring ring = {(struct ch_ring_slot *)run.slots, run.freed,
                                 (struct ch_ring_shared *)run.shared, run.capacity_log2};
    const struct ch_wait_policy policy = {run.aborted, run.timeout_ns};
    const uint32_t lane = blockIdx.x * blockDim.x + threadIdx.x;
    chorus_status st = CHORUS_OK;

    for (uint32_t number = 0; number < run.posts && st == CHORUS_OK; number++) {
        if (number % 3 == 2) {
            st = ch_ring_flush(&ring, &policy, ch_request_head(CH_RING_FLUSH, lane, 0),
                               &run.words[lane], number);
        } else {
            const struct ch_ring_request r = make_request(&run, lane, number);

            st = ch_ring_post(&ring, &policy, &r);
        }
    }
    run.failures[lane] = (int)st;
}

int ring_launch(const struct ring_run *run, void *stream)
{
    post_all<<<RING_POSTERS_CTAS, RING_POSTERS_LANES, 0, (cudaStream_t)stream>>>(*run);
    return (int)cudaGetLastError();
}
