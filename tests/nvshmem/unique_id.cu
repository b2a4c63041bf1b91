/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unique_id.cu: two processes that no launcher knows: the first makes an identifier and sends
 * it to the second through a pipe. Started alone, without chorusrun.
 */
#include "program.cuh"

#include <sys/wait.h>
#include <unistd.h>

__global__ void swap_halves(double *dest, const double *source, size_t count, int peer)
{
    nvshmemx_double_put_block(dest, source, count, peer);
}

static int run_pe(int rank, const nvshmemx_uniqueid_t *id)
{
    const size_t count = 500;
    nvshmemx_init_attr_t attr = NVSHMEMX_INIT_ATTR_INITIALIZER;

    nvshmemx_set_attr_uniqueid_args(rank, 2, id, &attr);
    if (nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attr) != 0) return EXIT_FAILURE;
    use_gpu_of_node();
    double *const dest = (double *)nvshmem_malloc(count * sizeof(double));
    double *const source = (double *)nvshmem_malloc(count * sizeof(double));
    for (int round = 0; round < 5; round++) {
        fill<<<1, 256>>>(source, count, rank, round);
        poison(dest, count);
        nvshmem_barrier_all();
        swap_halves<<<1, 256>>>(dest, source, count, 1 - rank);
        nvshmemx_barrier_all_on_stream(0);
        compare<<<1, 256>>>(dest, count, 1 - rank, round);
        CUDA(cudaDeviceSynchronize());
    }
    nvshmem_free(source);
    nvshmem_free(dest);
    return end_job("unique_id");
}

int main(void)
{
    nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
    int ends[2], child_status = EXIT_FAILURE, status;
    pid_t child;

    if (pipe(ends) != 0) return EXIT_FAILURE;
    child = fork();
    if (child < 0) return EXIT_FAILURE;
    if (child == 0)
        return read(ends[0], &id, sizeof(id)) == sizeof(id) ? run_pe(1, &id) : EXIT_FAILURE;
    if (nvshmemx_get_uniqueid(&id) != 0 || write(ends[1], &id, sizeof(id)) != sizeof(id))
        return EXIT_FAILURE;
    status = run_pe(0, &id);
    if (waitpid(child, &child_status, 0) != child || child_status != 0) status = EXIT_FAILURE;
    return status;
}
