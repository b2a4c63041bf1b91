/* SPDX-License-Identifier: Apache-2.0 */
/* environment.h: warnings about environment variables whose names are similar to settings. */
#ifndef CH_ENVIRONMENT_H
#define CH_ENVIRONMENT_H

#include <stdint.h>

/* Warn of each CHORUS_ variable that is no setting but looks like one mistyped. Other names are
 * left to those who use them. */
void ch_environment_warn(void);

/* A line in the log at level info: version, PEs, where objects lie, tables, settings that are
 * set. */
void ch_environment_tell(uint32_t n_pes, uint32_t n_nodes, const char *where, uint64_t digest);

#endif /* CH_ENVIRONMENT_H */
