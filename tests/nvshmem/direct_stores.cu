/* SPDX-License-Identifier: Apache-2.0 */
/*
 * direct_stores.cu: addresses of peers' memory by nvshmem_ptr, of hosts and in kernels, for
 * vector stores, loads and CUDA's own atomics.
 */
#include "program.cuh"

static const size_t count = 1024; /* of int4 */

/* Every PE stores a row at each peer; a peer that is not near gets it by a put. */
__global__ void store_rows(int4 *rows, const int4 *source, unsigned int *n_arrived, int me)
{
    const int pe = (int)blockIdx.x;
    int4 *const there = (int4 *)nvshmem_ptr(rows + (size_t)me * count, pe);

    if (there == NULL) {
        nvshmemx_putmem_block(rows + (size_t)me * count, source, count * sizeof(int4), pe);
    } else {
        for (size_t i = threadIdx.x; i < count; i += blockDim.x)
            there[i] = source[i];
    }
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x != 0) return;
    nvshmem_fence(); /* after a put, too */
    nvshmem_uint_atomic_inc(n_arrived, pe);
}

__global__ void await_rows(unsigned int *n_arrived, unsigned int n)
{
    nvshmem_uint_wait_until(n_arrived, NVSHMEM_CMP_EQ, n);
}

/* By a table of addresses from the host. */
__global__ void load_table(int *const *table, int n_pes, int round)
{
    for (int pe = 0; pe < n_pes; pe++)
        for (size_t i = threadIdx.x; table[pe] != NULL && i < count * 4; i += blockDim.x)
            if (table[pe][i] != element(pe, round, i)) atomicAdd(&n_wrong, 1);
}

int main(void)
{
    int **table, *addresses[64];

    nvshmem_init();
    const int me = nvshmem_my_pe(), n_pes = nvshmem_n_pes();
    if (n_pes > 64) return EXIT_FAILURE;
    use_gpu_of_node();
    int4 *const rows = (int4 *)nvshmem_malloc((size_t)n_pes * count * sizeof(int4));
    int4 *const source = (int4 *)nvshmem_malloc(count * sizeof(int4));
    unsigned int *const n_arrived = (unsigned int *)nvshmem_calloc(1, sizeof(*n_arrived));
    for (int pe = 0; pe < n_pes; pe++)
        addresses[pe] = (int *)nvshmem_ptr(source, pe);
    CUDA(cudaMalloc(&table, sizeof(addresses)));
    CUDA(cudaMemcpy(table, addresses, sizeof(addresses), cudaMemcpyHostToDevice));
    for (unsigned int round = 1; round <= 4; round++) {
        fill<<<4, 128>>>((int *)source, count * 4, me, (int)round);
        poison(rows, (size_t)n_pes * count);
        nvshmem_barrier_all();
        load_table<<<1, 256>>>(table, n_pes, (int)round);
        store_rows<<<n_pes, 256>>>(rows, source, n_arrived, me);
        await_rows<<<1, 1>>>(n_arrived, round * (unsigned int)n_pes);
        for (int pe = 0; pe < n_pes; pe++)
            compare<<<4, 128>>>((int *)(rows + (size_t)pe * count), count * 4, pe, (int)round);
        CUDA(cudaDeviceSynchronize());
        nvshmem_barrier_all();
    }
    CUDA(cudaFree(table));
    nvshmem_free(n_arrived);
    nvshmem_free(source);
    nvshmem_free(rows);
    return end_job("direct_stores");
}
