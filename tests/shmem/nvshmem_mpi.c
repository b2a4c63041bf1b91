/* SPDX-License-Identifier: Apache-2.0 */
/* nvshmemx_init_attr with an MPI communicator: PEs are its ranks. */
#include <mpi.h>
#include <nvshmem.h>
#include <nvshmemx.h>

int main(int argc, char **argv)
{
    nvshmemx_init_attr_t attr = NVSHMEMX_INIT_ATTR_INITIALIZER;
    MPI_Comm comm = MPI_COMM_WORLD;
    int rank = -1, n_ranks = 0, *word, is_wrong;

    (void)MPI_Init(&argc, &argv);
    (void)MPI_Comm_rank(comm, &rank);
    (void)MPI_Comm_size(comm, &n_ranks);
    if (nvshmemx_set_attr_mpi_comm_args(&comm, &attr) != NVSHMEMX_SUCCESS) return 2;
    if (nvshmemx_init_attr(NVSHMEMX_INIT_WITH_MPI_COMM, &attr) != NVSHMEMX_SUCCESS) return 2;
    is_wrong = nvshmem_my_pe() != rank || nvshmem_n_pes() != n_ranks;
    word = (int *)nvshmem_malloc(2 * sizeof(int));
    word[0] = rank;
    is_wrong |= nvshmem_int_sum_reduce(NVSHMEM_TEAM_WORLD, word + 1, word, 1) != 0;
    is_wrong |= word[1] != n_ranks * (n_ranks - 1) / 2;
    nvshmem_finalize();
    (void)MPI_Finalize();
    return is_wrong;
}
