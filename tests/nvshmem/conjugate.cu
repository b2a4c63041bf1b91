/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conjugate.cu: conjugate gradients for a tridiagonal system, in one kernel on each PE: halos
 * by get, dot products by a reduce of the block. The solution is known.
 */
#include "program.cuh"

static const int count = 256; /* unknowns of a PE, one of each thread */

/* The sum over all threads of all PEs. */
__device__ double dot(double a, double b, double *partial, double *total)
{
    __shared__ double sums[count];

    sums[threadIdx.x] = a * b;
    __syncthreads();
    if (threadIdx.x == 0) {
        *partial = 0;
        for (int i = 0; i < count; i++)
            *partial += sums[i];
    }
    __syncthreads();
    nvshmemx_double_sum_reduce_block(NVSHMEM_TEAM_WORLD, total, partial, 1);
    return *total;
}

/* Row of the matrix (-1, 4, -1), times the vector whose part of this PE is p. */
__device__ double multiply(double *p, double mine, int me, int n_pes)
{
    const int i = (int)threadIdx.x;
    double left, right;

    p[i] = mine;
    __syncthreads();
    nvshmemx_barrier_all_block();
    left = i > 0 ? p[i - 1] : me > 0 ? nvshmem_double_g(p + count - 1, me - 1) : 0;
    right = i + 1 < count ? p[i + 1] : me + 1 < n_pes ? nvshmem_double_g(p, me + 1) : 0;
    nvshmemx_barrier_all_block(); /* before a peer writes p again */
    return 4 * mine - left - right;
}

__global__ void solve(double *p, double *scalars, int round)
{
    const int me = nvshmem_my_pe(), n_pes = nvshmem_n_pes(), i = (int)threadIdx.x;
    const double wanted = element(me, round, (size_t)i);
    double x = 0, r = multiply(p, wanted, me, n_pes), direction = r;
    double old = dot(r, r, scalars, scalars + 1);

    for (int k = 0; k < 200 && old > 1e-18; k++) {
        const double image = multiply(p, direction, me, n_pes);
        const double alpha = old / dot(direction, image, scalars, scalars + 1);
        x += alpha * direction;
        r -= alpha * image;
        const double now = dot(r, r, scalars, scalars + 1);
        direction = r + now / old * direction;
        old = now;
    }
    if (fabs(x - wanted) > 1e-6) atomicAdd(&n_wrong, 1);
}

int main(void)
{
    nvshmem_init();
    use_gpu_of_node();
    double *const p = (double *)nvshmem_malloc(count * sizeof(double));
    double *const scalars = (double *)nvshmem_malloc(2 * sizeof(double));
    for (int round = 0; round < 3; round++) {
        poison(p, count);
        poison(scalars, 2);
        nvshmem_barrier_all();
        solve<<<1, count>>>(p, scalars, round);
        CUDA(cudaDeviceSynchronize());
    }
    nvshmem_barrier_all();
    nvshmem_free(scalars);
    nvshmem_free(p);
    return end_job("conjugate");
}
