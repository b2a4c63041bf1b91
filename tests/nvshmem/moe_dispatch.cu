/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moe_dispatch.cu: tokens go to the PE of their expert. A PE reserves a slot there by an
 * atomic, a warp moves the token, and a counter at the receiver says how many to expect from
 * each.
 */
#include "program.cuh"

static const int n_tokens = 300, width = 64;

static __host__ __device__ int expert_of(int token, int me, int round, int n_pes)
{
    return (token * 7 + me * 3 + round + token / 5) % n_pes;
}

/* A token's first word says whose it is, the others are its data. */
__global__ void make_tokens(int *tokens, int me, int round)
{
    const int token = (int)blockIdx.x, x = (int)threadIdx.x;

    tokens[token * width + x] =
        x == 0 ? me * n_tokens + token : element(me, round, (size_t)(token * width + x));
}

__global__ void dispatch(int *inbox, unsigned int *n_reserved, int *counts, const int *tokens,
                         int me, int round)
{
    const int lane = (int)threadIdx.x % 32, n_pes = nvshmem_n_pes();
    const int warp = (int)(blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32);
    const int n_warps = (int)(gridDim.x * (blockDim.x / 32));

    for (int token = warp; token < n_tokens; token += n_warps) {
        const int pe = expert_of(token, me, round, n_pes);
        unsigned int slot = 0;

        if (lane == 0) slot = nvshmem_uint_atomic_fetch_add(n_reserved, 1u, pe);
        slot = __shfl_sync(0xffffffffu, slot, 0);
        nvshmemx_int_put_nbi_warp(inbox + (size_t)slot * width, tokens + token * width, width,
                                  pe);
        if (lane == 0) nvshmem_int_atomic_inc(counts + me, pe);
    }
    nvshmem_quiet();
}

/* Count tokens that are not where they belong, or are not whole; each slot is a block. */
__global__ void check(const int *inbox, const unsigned int *n_reserved, int *n_from, int me,
                      int round, int n_pes)
{
    const int *const token = inbox + (size_t)blockIdx.x * width;

    if (blockIdx.x >= *n_reserved) return;
    const int from = token[0] / n_tokens, number = token[0] % n_tokens, x = (int)threadIdx.x;
    if (token[0] < 0 || from >= n_pes || expert_of(number, from, round, n_pes) != me ||
        (x != 0 && token[x] != element(from, round, (size_t)(number * width + x))))
        atomicAdd(&n_wrong, 1);
    else if (x == 0)
        atomicAdd(n_from + from, 1);
}

__global__ void check_counts(const int *counts, const int *n_from, int me, int round, int n_pes)
{
    for (int pe = 0; pe < n_pes; pe++) {
        int n = 0;
        for (int token = 0; token < n_tokens; token++)
            n += expert_of(token, pe, round, n_pes) == me;
        if (counts[pe] != n || n_from[pe] != n) n_wrong++;
    }
}

int main(void)
{
    nvshmem_init();
    const int me = nvshmem_my_pe(), n_pes = nvshmem_n_pes(), n_slots = n_pes * n_tokens;
    int *n_from;

    use_gpu_of_node();
    int *const inbox = (int *)nvshmem_malloc((size_t)n_slots * width * sizeof(int));
    int *const tokens = (int *)nvshmem_malloc((size_t)n_tokens * width * sizeof(int));
    int *const counts = (int *)nvshmem_malloc((size_t)n_pes * sizeof(int));
    unsigned int *const n_reserved = (unsigned int *)nvshmem_malloc(sizeof(*n_reserved));
    CUDA(cudaMalloc(&n_from, (size_t)n_pes * sizeof(int)));
    for (int round = 0; round < 4; round++) {
        make_tokens<<<n_tokens, width>>>(tokens, me, round);
        CUDA(cudaMemset(n_from, 0, (size_t)n_pes * sizeof(int)));
        CUDA(cudaMemset(counts, 0, (size_t)n_pes * sizeof(int)));
        CUDA(cudaMemset(n_reserved, 0, sizeof(*n_reserved)));
        poison(inbox, (size_t)n_slots * width);
        nvshmem_barrier_all();
        dispatch<<<4, 128>>>(inbox, n_reserved, counts, tokens, me, round);
        nvshmemx_barrier_all_on_stream(0);
        check<<<n_slots, width>>>(inbox, n_reserved, n_from, me, round, n_pes);
        check_counts<<<1, 1>>>(counts, n_from, me, round, n_pes);
        CUDA(cudaDeviceSynchronize());
    }
    nvshmem_free(n_reserved);
    nvshmem_free(counts);
    nvshmem_free(tokens);
    nvshmem_free(inbox);
    return end_job("moe_dispatch");
}
