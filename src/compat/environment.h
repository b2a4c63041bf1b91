/* SPDX-License-Identifier: Apache-2.0 */
/* environment.h: translates the variables of OpenSHMEM into those of Chorus. */
#ifndef CH_COMPAT_ENVIRONMENT_H
#define CH_COMPAT_ENVIRONMENT_H

#include <stddef.h>

/* Apply SHMEM_SYMMETRIC_SIZE and SHMEM_DEBUG, if the variables of Chorus are not set. The size
 * is that of the program's allocations, to which that of the variables is added. */
void ch_environment_before(size_t globals_bytes);

/* SHMEM_VERSION and SHMEM_INFO: PE 0 prints the requested text, once. */
void ch_environment_after(void);

#endif /* CH_COMPAT_ENVIRONMENT_H */
