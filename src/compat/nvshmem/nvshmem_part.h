/* SPDX-License-Identifier: Apache-2.0 */
/* nvshmem_part.h: a header that NVSHMEM has besides nvshmem.h, which here has everything. */
#include <nvshmem.h>
