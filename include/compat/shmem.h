/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shmem.h: OpenSHMEM over Chorus: programs compile by oshcc or oshcxx, or with -I of this
 * folder and of the one above, and are linked with -lchorus-shmem. docs/openshmem.md says more.
 */
#ifndef SHMEM_H
#define SHMEM_H

#include "shmem_api.h"

#if defined(__cplusplus)
#include "shmem_overloads.h"
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#include "shmem_generic.h"
#endif

#endif /* SHMEM_H */
