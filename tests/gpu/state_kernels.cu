/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state_kernels.cu: kernels of a file that nobody prepares, launched by <<<>>>. It is linked to
 * test_gpu_state, and, compiled again, is the library that this loads later.
 */
#include "chorus/chorus_device.cuh"

#include "state_kernels.h"

/* Pass this PE's number on by a put of one thread and one of the block. */
static __global__ void pass_on(int *at, int *bad)
{
    const int me = chorus_my_pe(), n = chorus_n_pes(), next = (me + 1) % n;
    const int before = (me + n - 1) % n;

    if (threadIdx.x == 0) {
        chorus_int_p(&at[0], me + 1, next);
        at[1] = me + 1;
    }
    __syncthreads();
    chorusx_int_put_block(&at[2], &at[1], 1, next);
    if (chorusx_barrier_block(CHORUS_TEAM_WORLD) != CHORUS_OK || at[0] != before + 1 ||
        at[2] != before + 1)
        (void)atomicAdd(bad, 1);
}

extern "C" __attribute__((visibility("default"))) int STATE_LAUNCH(int *at, int *bad)
{
    pass_on<<<1, 32>>>(at, bad);
    return (int)cudaDeviceSynchronize();
}

/* Calls of a thread, a block and a wait. */
static __global__ void call(int *at, uint64_t *sig, int what)
{
    if (what == STATE_P) chorus_int_p(at, 1, 0);
    if (what == STATE_BARRIER) (void)chorusx_barrier_block(CHORUS_TEAM_WORLD);
    if (what == STATE_WAIT) (void)chorus_signal_wait_until(sig, CHORUS_CMP_EQ, 1);
    if (what == STATE_QUIET) chorus_quiet();
    if (what == STATE_PUT) chorusx_int_put_block(at, at + 1, 1, 0);
    if (what == STATE_PTR) *at = chorus_ptr(at, 0) != 0;
}

extern "C" int STATE_CALL(int what)
{
    void *memory = 0;

    if (cudaMalloc(&memory, 64) != cudaSuccess || cudaMemset(memory, 0, 64) != cudaSuccess)
        return -1;
    call<<<1, 32>>>((int *)memory, (uint64_t *)memory + 4, what);
    return (int)cudaDeviceSynchronize();
}
