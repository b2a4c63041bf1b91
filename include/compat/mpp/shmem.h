/* SPDX-License-Identifier: Apache-2.0 */
/* mpp/shmem.h: where SGI's SHMEM had the header. */
#ifndef MPP_SHMEM_H
#define MPP_SHMEM_H

#include "../shmem.h"

#endif /* MPP_SHMEM_H */
