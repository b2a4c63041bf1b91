/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi.c: a program of MPI whose ranks are PEs too: mpirun -np 4 ./mpi. MPI gives each rank its
 * part of the data, Chorus moves what ranks need of each other, MPI checks.
 */
#include <chorus/chorusx.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank = 0, n_ranks = 0, part = 0, sum = 0;

    (void)MPI_Init(&argc, &argv);
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    (void)MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    if (chorus_init() != 0) {
        (void)fprintf(stderr, "%s\n", chorusx_last_error());
        (void)MPI_Abort(MPI_COMM_WORLD, 1);
    }
    int *parts = n_ranks > 0 ? calloc((size_t)n_ranks, sizeof(*parts)) : NULL;
    int *from_left = chorus_malloc(sizeof(*from_left));
    if (parts == NULL || from_left == NULL) {
        (void)MPI_Abort(MPI_COMM_WORLD, 1);
        free(parts);
        return 1;
    }

    for (int i = 0; i < n_ranks; i++)
        parts[i] = 100 + i;
    (void)MPI_Scatter(parts, 1, MPI_INT, &part, 1, MPI_INT, 0, MPI_COMM_WORLD);
    chorus_int_p(from_left, part, (rank + 1) % n_ranks);
    chorus_barrier_all();
    (void)MPI_Allreduce(from_left, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);

    const int is_right = chorus_my_pe() == rank && chorus_n_pes() == n_ranks &&
                         *from_left == 100 + (rank + n_ranks - 1) % n_ranks &&
                         sum == 100 * n_ranks + n_ranks * (n_ranks - 1) / 2;
    if (rank == 0)
        printf("mpi and chorus on %d PEs: the sum is %d, %s\n", n_ranks, sum,
               is_right ? "right" : "wrong");
    free(parts);
    chorus_finalize();
    (void)MPI_Finalize();
    return is_right ? 0 : 1;
}
