/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvls.h: may the multicast of NVLink switches be used? Only where CHORUS_NVLS asks for it, and
 * nothing by which a site switches it off for other libraries is set.
 */
#ifndef CH_NVLS_H
#define CH_NVLS_H

#include <stdbool.h>

/* secure_getenv, or a test's. */
typedef char *ch_environment(const char *name);

/* The variable that says no; null: it may be used. is_asked: the value of CHORUS_NVLS. */
const char *ch_nvls_forbidden(bool is_asked, ch_environment *get);

#endif /* CH_NVLS_H */
