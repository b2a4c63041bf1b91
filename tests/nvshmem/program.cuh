/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.cuh: what programs with kernels have in common. Data differ by PE, round and index;
 * destinations are poisoned before each round; kernels count in n_wrong what is wrong.
 */
#ifndef PROGRAM_CUH
#define PROGRAM_CUH

#include "program.h"

#include <cuda_runtime.h>
#include <nvshmem.h>
#include <nvshmemx.h>

#define CUDA(call) cuda_check((call), #call, __FILE__, __LINE__)

static __device__ int n_wrong;

static inline void cuda_check(cudaError_t error, const char *call, const char *file, int line)
{
    if (error == cudaSuccess) return;
    fprintf(stderr, "%s:%d: %s: %s\n", file, line, call, cudaGetErrorString(error));
    exit(EXIT_FAILURE);
}

/* As most programs choose it; PEs share GPUs if there are fewer. */
static inline void use_gpu_of_node(void)
{
    int n_gpus = 0;

    CUDA(cudaGetDeviceCount(&n_gpus));
    CUDA(cudaSetDevice(nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE) % n_gpus));
}

/* From 1 to 251, so that every type holds it exactly. */
static __host__ __device__ inline int element(int pe, int round, size_t i)
{
    return (int)((i * 5 + (size_t)pe * 37 + (size_t)round * 11) % 251) + 1;
}

static __device__ inline size_t thread_of_grid(void)
{
    return blockIdx.x * (size_t)blockDim.x + threadIdx.x;
}

static __device__ inline size_t threads_of_grid(void)
{
    return gridDim.x * (size_t)blockDim.x;
}

template <typename T> __global__ void fill(T *at, size_t count, int pe, int round)
{
    for (size_t i = thread_of_grid(); i < count; i += threads_of_grid())
        at[i] = (T)(float)element(pe, round, i);
}

/* Count what differs from times the elements that fill writes. */
template <typename T>
__global__ void compare(const T *at, size_t count, int pe, int round, int times = 1)
{
    for (size_t i = thread_of_grid(); i < count; i += threads_of_grid())
        if ((float)at[i] != (float)(times * element(pe, round, i))) atomicAdd(&n_wrong, 1);
}

template <typename T> void poison(T *at, size_t count)
{
    CUDA(cudaMemset(at, 0xa5, count * sizeof(T)));
    CUDA(cudaDeviceSynchronize());
}

/* The end of a program, whose kernels have ended. */
static inline int end_job(const char *name)
{
    const int me = nvshmem_my_pe(), n_pes = nvshmem_n_pes();
    int wrong = -1;

    CUDA(cudaDeviceSynchronize());
    CUDA(cudaMemcpyFromSymbol(&wrong, n_wrong, sizeof(wrong)));
    nvshmem_finalize();
    return program_end(name, me, n_pes, wrong);
}

#endif /* PROGRAM_CUH */
