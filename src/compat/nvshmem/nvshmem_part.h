/* SPDX-License-Identifier: Apache-2.0 */
/* nvshmem_part.h: a header that NVSHMEM has besides nvshmem.h, which here has everything. */
#ifndef NVSHMEM_PART_H
#define NVSHMEM_PART_H

#include <nvshmem.h>

#endif /* NVSHMEM_PART_H */
