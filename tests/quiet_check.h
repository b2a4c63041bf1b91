/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quiet_check.h: included first in what is compiled with Check. Of each assertion, Check writes
 * to a file that it was reached, to name the last one before a crash; in tests that assert in
 * loops this takes up to nine tenths of the time. With this, assertions that hold write
 * nothing.
 */
#ifndef CH_QUIET_CHECK_H
#define CH_QUIET_CHECK_H

#include <check.h>

#if CHECK_MINOR_VERSION >= 15 /* the others have other parameters */
#undef ck_assert_msg
#define ck_assert_msg(expr, ...) \
    ((expr)                      \
         ? (void)0               \
         : _ck_assert_failed(__FILE__, __LINE__, "Assertion '" #expr "' failed", __VA_ARGS__))
#endif

#endif /* CH_QUIET_CHECK_H */
