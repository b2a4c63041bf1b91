/* SPDX-License-Identifier: Apache-2.0 */
/* A program of OpenSHMEM and MPI, started by mpirun: PEs are ranks, variables are symmetric. */
#include "expect.h"

#include <mpi.h>

static int word = -1;

int main(int argc, char **argv)
{
    int rank = -1, n_ranks = 0, sum = 0;

    (void)MPI_Init(&argc, &argv);
    shmem_init();
    find_neighbours();
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    (void)MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    EXPECT(rank == me && n_ranks == n);
    shmem_int_p(&word, me, next);
    shmem_barrier_all();
    EXPECT(word == previous);
    (void)MPI_Allreduce(&word, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    EXPECT(sum == n * (n - 1) / 2);
    shmem_finalize();
    (void)MPI_Finalize();
    return 0;
}
