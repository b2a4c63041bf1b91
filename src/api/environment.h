/* SPDX-License-Identifier: Apache-2.0 */
/* environment.h: warnings about environment variables whose names are similar to settings. */
#ifndef CH_ENVIRONMENT_H
#define CH_ENVIRONMENT_H

#include <stdint.h>

/* Warn of each CHORUS_ variable that does not exist but has a name similar to one that does.
 * Variables with other names are ignored, since other programs may use them. */
void ch_environment_warn(void);

/* Log a line at level info: version, PEs, kind of heap, digest of the tables, variables that
 * the user has set, without the values of secrets. */
void ch_environment_tell(uint32_t n_pes, uint32_t n_nodes, const char *where, uint64_t digest);

#endif /* CH_ENVIRONMENT_H */
