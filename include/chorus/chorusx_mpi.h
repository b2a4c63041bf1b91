/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chorusx_mpi.h: a job of the processes of an MPI communicator. It is a separate library,
 * libchorus-mpi, which is built if MPI is installed; libchorus does not depend on MPI.
 */
#ifndef CHORUSX_MPI_H
#define CHORUSX_MPI_H

#include "chorus/chorusx.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Fill in attr so that chorusx_init_attr with CHORUSX_INIT_UNIQUEID joins a job whose PEs are
 * the processes of an MPI communicator, in its order.
 *
 * @param mpi_comm  [in] address of an MPI_Comm, which is used until the return
 * @param attr      [out] its members rank, n_ranks and id; others are unchanged
 *
 * Collective: every process of the communicator, after MPI_Init.
 * Threads:    one thread of the process, as MPI allows.
 * Ordering:   implies no barrier.
 * Errors:     ERR_ARG for null; ERR_SYSTEM where MPI fails or no socket can be had, on all.
 * Source:     NVSHMEM, the mpi_comm of nvshmemx_init_attr.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_set_attr_mpi_comm(const void *mpi_comm, chorusx_init_attr_t *attr);

#ifdef __cplusplus
}
#endif

#endif /* CHORUSX_MPI_H */
