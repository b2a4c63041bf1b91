/* SPDX-License-Identifier: Apache-2.0 */
/* mpp/shmemx.h: where SGI's SHMEM had the header. */
#ifndef MPP_SHMEMX_H
#define MPP_SHMEMX_H

#include "../shmemx.h"

#endif /* MPP_SHMEMX_H */
