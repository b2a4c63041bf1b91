/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gather_rows.cu: features of vertices of a graph, spread over the PEs; each PE gathers those
 * of its edges, by g and by gets of a warp, and counts the edges of vertices by atomics.
 */
#include "program.cuh"

static const int n_vertices = 50, n_edges = 400, width = 32; /* of each PE */

static __host__ __device__ int end_of_edge(int edge, int me, int n_pes)
{
    return (edge * 31 + me * 17 + 5) % (n_vertices * n_pes);
}

__global__ void make(float *features, int me, int round)
{
    features[blockIdx.x * width + threadIdx.x] =
        (float)element(me, round, blockIdx.x * width + threadIdx.x);
}

/* An edge is a block of one warp. */
__global__ void gather(float *gathered, const float *features, int me, int n_pes)
{
    const int edge = (int)blockIdx.x, end = end_of_edge(edge, me, n_pes),
              lane = (int)threadIdx.x;
    const float *const row = features + end % n_vertices * width;

    if (edge % 2 == 0)
        nvshmemx_float_get_warp(gathered + edge * width, row, width, end / n_vertices);
    else
        gathered[edge * width + lane] = nvshmem_float_g(row + lane, end / n_vertices);
}

__global__ void count_edges(unsigned int *degrees, int me, int n_pes)
{
    const int end = end_of_edge((int)blockIdx.x, me, n_pes);

    nvshmem_uint_atomic_fetch_add(degrees + end % n_vertices, 1u, end / n_vertices);
}

__global__ void check(const float *gathered, const unsigned int *degrees, int me, int n_pes,
                      int round)
{
    const int edge = (int)blockIdx.x, end = end_of_edge(edge, me, n_pes),
              lane = (int)threadIdx.x;
    unsigned int n = 0;

    if (gathered[edge * width + lane] !=
        (float)element(end / n_vertices, round, (size_t)(end % n_vertices * width + lane)))
        atomicAdd(&n_wrong, 1);
    if (edge >= n_vertices || lane != 0) return;
    for (int pe = 0; pe < n_pes; pe++)
        for (int i = 0; i < n_edges; i++)
            n += end_of_edge(i, pe, n_pes) == me * n_vertices + edge;
    if (degrees[edge] != n) atomicAdd(&n_wrong, 1);
}

int main(void)
{
    nvshmem_init();
    const int me = nvshmem_my_pe(), n_pes = nvshmem_n_pes();
    use_gpu_of_node();
    float *const features = (float *)nvshmem_malloc(n_vertices * width * sizeof(float));
    float *const gathered = (float *)nvshmem_malloc(n_edges * width * sizeof(float));
    unsigned int *const degrees = (unsigned int *)nvshmem_malloc(n_vertices * sizeof(*degrees));
    for (int round = 0; round < 4; round++) {
        make<<<n_vertices, width>>>(features, me, round);
        CUDA(cudaMemset(degrees, 0, n_vertices * sizeof(*degrees)));
        poison(gathered, (size_t)(n_edges * width));
        nvshmem_barrier_all();
        gather<<<n_edges, width>>>(gathered, features, me, n_pes);
        count_edges<<<n_edges, 1>>>(degrees, me, n_pes);
        nvshmemx_barrier_all_on_stream(0);
        check<<<n_edges, width>>>(gathered, degrees, me, n_pes, round);
        CUDA(cudaDeviceSynchronize());
        nvshmem_barrier_all();
    }
    nvshmem_free(degrees);
    nvshmem_free(gathered);
    nvshmem_free(features);
    return end_job("gather_rows");
}
