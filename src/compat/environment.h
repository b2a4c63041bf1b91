/* SPDX-License-Identifier: Apache-2.0 */
/* environment.h: translates the variables of OpenSHMEM into those of Chorus. */
#ifndef CH_COMPAT_ENVIRONMENT_H
#define CH_COMPAT_ENVIRONMENT_H

#include <stddef.h>

/* SHMEM_SYMMETRIC_SIZE and SHMEM_DEBUG, where the variable of Chorus is not set itself. The
 * size is of what the program allocates: variables come on top. */
void ch_environment_before(size_t globals_bytes);

/* SHMEM_VERSION and SHMEM_INFO: PE 0 prints what they ask for, once. */
void ch_environment_after(void);

#endif /* CH_COMPAT_ENVIRONMENT_H */
