/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels on a CPU: the lanes of kernel_fake.h meet, vote and exchange values as those of GPUs.
 */
#include "apps/kernel_fake.h"

#include "api_pes.h"

enum { BLOCKS = 3, THREADS = 40, SEEDS = 20 };

struct sums {
    unsigned n_ended, by_block[BLOCKS], last;
};

/* The last block to add up its share sees those of all. */
__global__ void add_up(struct sums *sums)
{
    CH_SHARED(unsigned, sum);

    if (threadIdx.x == 0) *sum = 0;
    __syncthreads();
    atomicAdd(sum, threadIdx.x);
    __syncthreads();
    if (threadIdx.x != 0) return;
    sums->by_block[blockIdx.x] = *sum;
    __threadfence();
    if (atomicAdd(&sums->n_ended, 1u) != gridDim.x - 1) return;
    for (unsigned b = 0; b < gridDim.x; b++)
        sums->last += sums->by_block[b];
}

static void run_add_up(void *arg)
{
    add_up(arg);
}

static void launch__blocks_add_up__the_last_has_all(void)
{
    for (unsigned seed = 1; seed <= SEEDS; seed++) {
        struct sums sums = {0};

        fake_seed(seed);
        fake_launch(run_add_up, &sums, BLOCKS, THREADS);
        EXPECT(sums.last == BLOCKS * THREADS * (THREADS - 1) / 2);
    }
}

/* --- warps -------------------------------------------------------------------------------- */
__global__ void exchange(unsigned *wrong)
{
    const unsigned lane = threadIdx.x % 32, n = threadIdx.x < 32 ? 32 : blockDim.x - 32;
    const float halved = __shfl_down_sync(0xffffffffu, (float)lane / 2, 1);
    const int first = __shfl_sync(0xffffffffu, -(int)lane, 0);
    const unsigned even = __ballot_sync(0xffffffffu, lane % 2 == 0);

    if (halved != (float)(lane + 1 < n ? lane + 1 : lane) / 2 || first != 0)
        atomicAdd(wrong, 1u);
    if (even != (n == 32 ? 0x55555555u : 0x55u)) atomicAdd(wrong, 1u);
    if (__any_sync(0xffffffffu, lane == n) || !__all_sync(0xffffffffu, lane < n))
        atomicAdd(wrong, 1u);
    if (__syncthreads_count(threadIdx.x % 3 == 0) != (int)(blockDim.x + 2) / 3)
        atomicAdd(wrong, 1u);
    if (__syncthreads_or(threadIdx.x == blockDim.x) || !__syncthreads_and(1))
        atomicAdd(wrong, 1u);
}

static void run_exchange(void *arg)
{
    exchange(arg);
}

static void lanes__of_warps__exchange_values(void)
{
    unsigned wrong = 0;

    fake_launch(run_exchange, &wrong, BLOCKS, THREADS);
    EXPECT(wrong == 0);
}

/* --- PEs ---------------------------------------------------------------------------------- */
/* Each block puts a value to the next PE, and waits for that of the previous one. */
__global__ void pass_on(uint64_t *words)
{
    uint64_t *const sent = words + blockIdx.x, *const got = words + BLOCKS + blockIdx.x,
                    *const came = words + 2 * BLOCKS + blockIdx.x;

    if (threadIdx.x == 0) *sent = 100u * (unsigned)chorus_my_pe() + blockIdx.x;
    chorusx_putmem_signal_nbi_block(got, sent, sizeof(*sent), came, 1, CHORUS_SIGNAL_ADD,
                                    (chorus_my_pe() + 1) % chorus_n_pes());
    if (threadIdx.x == 0) (void)chorus_signal_wait_until(came, CHORUS_CMP_GE, 1);
    __syncthreads();
}

static void run_pass_on(void *arg)
{
    pass_on(arg);
}

static void kernels__of_all_pes__pass_values_on(void)
{
    uint64_t *words = chorus_calloc(3 * BLOCKS, sizeof(*words));

    fake_launch(run_pass_on, words, BLOCKS, 4);
    for (unsigned b = 0; b < BLOCKS; b++)
        EXPECT(words[BLOCKS + b] == 100u * (unsigned)api_previous() + b);
    chorus_barrier_all();
    chorus_free(words);
}

#define KERNEL_LIST(X)                         \
    X(launch__blocks_add_up__the_last_has_all) \
    X(lanes__of_warps__exchange_values)        \
    X(kernels__of_all_pes__pass_values_on)
API_MAIN(KERNEL_LIST)
