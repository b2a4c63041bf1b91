/* SPDX-License-Identifier: Apache-2.0 */
/* mpi_pe: an MPI program whose processes become PEs, in the reverse order of their ranks. */
#include "chorus/chorusx_mpi.h"

#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    chorusx_init_attr_t attr;
    MPI_Comm reversed;
    int rank, n, is_well;
    long *sum;

    if (MPI_Init(&argc, &argv) != MPI_SUCCESS) return 1;
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    (void)MPI_Comm_size(MPI_COMM_WORLD, &n);
    (void)MPI_Comm_split(MPI_COMM_WORLD, 0, n - rank, &reversed);
    if (chorusx_set_attr_mpi_comm(NULL, &attr) != CHORUS_ERR_ARG) return 2;
    if (chorusx_set_attr_mpi_comm(&reversed, &attr) != CHORUS_OK) return 3;
    if (chorusx_init_attr(CHORUSX_INIT_UNIQUEID, &attr) != CHORUS_OK) {
        (void)fprintf(stderr, "%s\n", chorusx_last_error());
        return 4;
    }
    is_well = chorus_my_pe() == n - 1 - rank && chorus_n_pes() == n;
    sum = chorus_calloc(2, sizeof(*sum));
    sum[0] = rank + 1;
    is_well &= chorus_long_sum_reduce(CHORUS_TEAM_WORLD, &sum[1], &sum[0], 1) == CHORUS_OK;
    is_well &= sum[1] == (long)n * (n + 1) / 2;
    chorus_finalize();
    (void)MPI_Comm_free(&reversed);
    (void)MPI_Finalize();
    return is_well ? 0 : 5;
}
