/* SPDX-License-Identifier: Apache-2.0 */
/* mpi.c: distributes a job's id over an MPI communicator, by the public interface only. */
#include "chorus/chorusx_mpi.h"

#include <mpi.h>

/* What process 0 sends to all: the id, and whether it could be made. */
struct parcel {
    int status;
    chorusx_uniqueid_t id;
};

int chorusx_set_attr_mpi_comm(const void *mpi_comm, chorusx_init_attr_t *attr)
{
    struct parcel parcel = {.status = CHORUS_OK};
    MPI_Comm comm;
    int rank, n_ranks;

    if (mpi_comm == NULL || attr == NULL) return CHORUS_ERR_ARG;
    comm = *(const MPI_Comm *)mpi_comm;
    if (MPI_Comm_rank(comm, &rank) != MPI_SUCCESS) return CHORUS_ERR_SYSTEM;
    if (MPI_Comm_size(comm, &n_ranks) != MPI_SUCCESS) return CHORUS_ERR_SYSTEM;
    if (rank == 0) parcel.status = chorusx_get_uniqueid(&parcel.id);
    if (MPI_Bcast(&parcel, (int)sizeof(parcel), MPI_BYTE, 0, comm) != MPI_SUCCESS)
        return CHORUS_ERR_SYSTEM;
    if (parcel.status != CHORUS_OK) return parcel.status;
    return chorusx_set_attr_uniqueid_args(rank, n_ranks, &parcel.id, attr);
}
