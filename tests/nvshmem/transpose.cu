/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transpose.cu: a matrix that PEs hold by rows, transposed in three ways: strided puts, strided
 * gets by a block, and an all-to-all of tiles inside a kernel.
 */
#include "program.cuh"

static const int b = 24; /* rows of a PE */

/* Element (row, column) of the matrix. */
static __device__ int value(int row, int column, int round)
{
    return element(row, round, (size_t)column);
}

__global__ void make(int *rows, int n, int me, int round)
{
    for (int i = (int)threadIdx.x; i < b * n; i += (int)blockDim.x)
        rows[i] = value(me * b + i / n, i % n, round);
}

/* Row r of this PE is column r of all: b elements of it at each PE, n apart. */
__global__ void by_iput(int *out, const int *rows, int n, int me)
{
    const int r = (int)threadIdx.x, pe = (int)blockIdx.x;

    if (r < b) nvshmem_int_iput(out + me * b + r, rows + r * n + pe * b, n, 1, (size_t)b, pe);
}

__global__ void by_iget(int *out, const int *rows, int n, int me)
{
    const int pe = (int)blockIdx.x;

    for (int r = 0; r < b; r++)
        nvshmemx_int_iget_block(out + r * n + pe * b, rows + me * b + r, 1, n, (size_t)b, pe);
}

/* Tiles that are transposed here, exchanged, and put in place. */
__global__ void by_alltoall(int *out, const int *rows, int *tiles, int *received, int n)
{
    for (int i = (int)threadIdx.x; i < b * n; i += (int)blockDim.x) {
        const int r = i / n, column = i % n;
        tiles[column / b * b * b + column % b * b + r] = rows[i];
    }
    __syncthreads();
    nvshmemx_int_alltoall_block(NVSHMEM_TEAM_WORLD, received, tiles, (size_t)(b * b));
    for (int i = (int)threadIdx.x; i < b * n; i += (int)blockDim.x) {
        const int r = i / n, column = i % n;
        out[i] = received[column / b * b * b + r * b + column % b];
    }
}

__global__ void check(const int *out, int n, int me, int round)
{
    for (int i = (int)threadIdx.x; i < b * n; i += (int)blockDim.x)
        if (out[i] != value(i % n, me * b + i / n, round)) atomicAdd(&n_wrong, 1);
}

int main(void)
{
    nvshmem_init();
    const int me = nvshmem_my_pe(), n_pes = nvshmem_n_pes(), n = b * n_pes;
    const size_t count = (size_t)b * (size_t)n;
    int *matrix[4];

    use_gpu_of_node();
    for (int i = 0; i < 4; i++)
        matrix[i] = (int *)nvshmem_malloc(count * sizeof(int));
    for (int round = 0; round < 6; round++) {
        for (int i = 0; i < 4; i++)
            poison(matrix[i], count);
        make<<<1, 128>>>(matrix[0], n, me, round);
        nvshmemx_barrier_all_on_stream(0);
        if (round % 3 == 0) by_iput<<<n_pes, 32>>>(matrix[1], matrix[0], n, me);
        if (round % 3 == 1) by_iget<<<n_pes, 64>>>(matrix[1], matrix[0], n, me);
        if (round % 3 == 2)
            by_alltoall<<<1, 128>>>(matrix[1], matrix[0], matrix[2], matrix[3], n);
        nvshmemx_barrier_all_on_stream(0);
        check<<<1, 128>>>(matrix[1], n, me, round);
        CUDA(cudaDeviceSynchronize());
        nvshmem_barrier_all();
    }
    for (int i = 0; i < 4; i++)
        nvshmem_free(matrix[i]);
    return end_job("transpose");
}
