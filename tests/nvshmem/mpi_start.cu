/* SPDX-License-Identifier: Apache-2.0 */
/* mpi_start.cu: a job that MPI started: ranks are PEs, and MPI moves data beside NVSHMEM. */
#include "program.cuh"

#include <mpi.h>

__global__ void add_to_all(int *sum, int value)
{
    const int pe = (int)threadIdx.x;

    if (pe < nvshmem_n_pes()) nvshmem_int_atomic_add(sum, value, pe);
}

__global__ void expect(const int *sum, int value)
{
    if (*sum != value) n_wrong++;
}

int main(int argc, char **argv)
{
    nvshmemx_init_attr_t attr = NVSHMEMX_INIT_ATTR_INITIALIZER;
    MPI_Comm comm;
    int rank, n_ranks, value, total, status;

    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &n_ranks);
    attr.mpi_comm = &comm;
    status = nvshmemx_init_attr(NVSHMEMX_INIT_WITH_MPI_COMM, &attr);
    if (status != 0 || nvshmem_my_pe() != rank || nvshmem_n_pes() != n_ranks) {
        fprintf(stderr, "rank %d of %d: nvshmemx_init_attr returns %d\n", rank, n_ranks,
                status);
        return EXIT_FAILURE;
    }
    use_gpu_of_node();
    int *const sum = (int *)nvshmem_calloc(1, sizeof(int));
    for (int round = 1; round <= 5; round++) {
        CUDA(cudaMemset(sum, 0, sizeof(int)));
        CUDA(cudaDeviceSynchronize());
        MPI_Barrier(comm);
        value = element(rank, round, 0);
        add_to_all<<<1, 64>>>(sum, value);
        nvshmemx_barrier_all_on_stream(0);
        MPI_Allreduce(&value, &total, 1, MPI_INT, MPI_SUM, comm);
        expect<<<1, 1>>>(sum, total);
        CUDA(cudaDeviceSynchronize());
    }
    nvshmem_free(sum);
    status = end_job("mpi_start");
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return status;
}
