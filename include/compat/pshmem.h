/* SPDX-License-Identifier: Apache-2.0 */
/* pshmem.h: the pshmem_ functions, for tools; shmem.h declares them together with the shmem_
 * functions. */
#ifndef PSHMEM_H
#define PSHMEM_H

#include "shmem.h"

#endif /* PSHMEM_H */
