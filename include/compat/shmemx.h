/* SPDX-License-Identifier: Apache-2.0 */
/* shmemx.h: extensions of other implementations that became calls of the standard, by their
 * names of before. */
#ifndef SHMEMX_H
#define SHMEMX_H

#include "shmem.h"

#endif /* SHMEMX_H */
