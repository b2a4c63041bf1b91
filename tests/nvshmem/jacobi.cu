/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jacobi.cu: Laplace's equation by rows of a grid; each PE stores its border rows in those of
 * its neighbours, by p from the threads that compute them. Compared with the same on one GPU.
 */
#include "program.cuh"

static const int nx = 96, rows = 24, n_steps = 60;

/* With a row above and one below, which the neighbours, or the edges, have. */
__device__ float average(const float *from, int y, int x)
{
    const int left = (x + nx - 1) % nx, right = (x + 1) % nx;

    return 0.25f * (from[y * nx + left] + from[y * nx + right] + from[(y - 1) * nx + x] +
                    from[(y + 1) * nx + x]);
}

__global__ void step(float *to, const float *from, int me, int n_pes)
{
    const int i = (int)thread_of_grid(), y = i / nx + 1, x = i % nx;

    if (y > rows) return;
    const float value = average(from, y, x);
    to[y * nx + x] = value;
    if (y == 1 && me > 0) nvshmem_float_p(to + (rows + 1) * nx + x, value, me - 1);
    if (y == rows && me + 1 < n_pes) nvshmem_float_p(to + x, value, me + 1);
}

__global__ void step_of_all(float *to, const float *from, int all_rows)
{
    const int i = (int)thread_of_grid(), y = i / nx + 1, x = i % nx;

    if (y <= all_rows) to[y * nx + x] = average(from, y, x);
}

__global__ void compare_rows(const float *mine, const float *all, int me)
{
    const int i = (int)thread_of_grid();

    if (i < rows * nx && mine[nx + i] != all[me * rows * nx + nx + i]) atomicAdd(&n_wrong, 1);
}

/* A warm edge above the first row, in a grid that has this row. */
static void set_edge(float *grid, bool has_edge)
{
    float edge[nx];

    for (int x = 0; x < nx; x++)
        edge[x] = 1.0f + (float)x;
    if (has_edge) CUDA(cudaMemcpy(grid, edge, sizeof(edge), cudaMemcpyHostToDevice));
}

int main(void)
{
    nvshmem_init();
    const int me = nvshmem_my_pe(), n_pes = nvshmem_n_pes(), all_rows = rows * n_pes;
    const unsigned blocks = (rows * nx + 127) / 128, all_blocks = blocks * (unsigned)n_pes;
    float *mine[2], *all[2];

    use_gpu_of_node();
    for (int i = 0; i < 2; i++) {
        mine[i] = (float *)nvshmem_calloc((rows + 2) * nx, sizeof(float));
        CUDA(cudaMalloc(&all[i], (all_rows + 2) * nx * sizeof(float)));
        CUDA(cudaMemset(all[i], 0, (all_rows + 2) * nx * sizeof(float)));
        set_edge(mine[i], me == 0);
        set_edge(all[i], true);
    }
    nvshmemx_barrier_all_on_stream(0);
    for (int i = 0; i < n_steps; i++) {
        step<<<blocks, 128>>>(mine[(i + 1) % 2], mine[i % 2], me, n_pes);
        nvshmemx_barrier_all_on_stream(0);
        step_of_all<<<all_blocks, 128>>>(all[(i + 1) % 2], all[i % 2], all_rows);
    }
    compare_rows<<<blocks, 128>>>(mine[n_steps % 2], all[n_steps % 2], me);
    CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < 2; i++) {
        nvshmem_free(mine[i]);
        CUDA(cudaFree(all[i]));
    }
    return end_job("jacobi");
}
