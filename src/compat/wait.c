/* SPDX-License-Identifier: Apache-2.0 */
/* wait.c: waits and tests, and the deprecated cache functions, which do nothing. */
#include "compat/setup.h"

#define DEFINE_WAIT(NAME, T, kind) SHMEM_WAIT_CALLS(DEFINE_P, DEFINE_F, , NAME##_, T)
CHORUS_WAIT_TYPES(DEFINE_WAIT)

DEFINE_F(, uint64_t, signal_wait_until, (OWN(sig_addr), cmp, cmp_value), uint64_t *sig_addr,
         int cmp, uint64_t cmp_value)

#define DEFINE_OLD_WAIT(NAME, T, kind)                                                   \
    DEFINE_OLD_P(, NAME##_wait, NAME##_wait_until, (OWN(ivar), SHMEM_CMP_NE, cmp_value), \
                 T *ivar, T cmp_value)
SHMEM_OLD_INT_TYPES(DEFINE_OLD_WAIT)
DEFINE_OLD_P(, wait, long_wait_until, (OWN(ivar), SHMEM_CMP_NE, cmp_value), long *ivar,
             long cmp_value)
DEFINE_OLD_P(, wait_until, long_wait_until, (OWN(ivar), cmp, cmp_value), long *ivar, int cmp,
             long cmp_value)

DEFINE(void, set_cache_inv, void)
{
}

DEFINE(void, set_cache_line_inv, void *dest)
{
    (void)dest;
}

DEFINE(void, clear_cache_inv, void)
{
}

DEFINE(void, clear_cache_line_inv, void *dest)
{
    (void)dest;
}

DEFINE(void, udcflush, void)
{
}

DEFINE(void, udcflush_line, void *dest)
{
    (void)dest;
}
