/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvls.h: decides whether the multicast of NVLink switches may be used: only if CHORUS_NVLS
 * requests it, and no variable is set by which a site disables it for other libraries.
 */
#ifndef CH_NVLS_H
#define CH_NVLS_H

#include <stdbool.h>

/* secure_getenv, or a function of a test. */
typedef char *ch_environment(const char *name);

/* The name of the variable that disables multicast; null: it may be used. is_asked: the value
 * of CHORUS_NVLS. */
const char *ch_nvls_forbidden(bool is_asked, ch_environment *get);

#endif /* CH_NVLS_H */
