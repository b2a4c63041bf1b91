/* SPDX-License-Identifier: Apache-2.0 */
/* chorus/status.h: every code a call can return, with its fixed text. */
#ifndef CHORUS_STATUS_H
#define CHORUS_STATUS_H

/* clang-format off */
/* One row per code: name, value, text. Values are ABI: append, never renumber. */
#define CHORUS_STATUS_LIST(X)                                              \
    X(OK, 0, "success")                                                    \
    X(ERR_ARG, -1, "an argument is outside its documented range")          \
    X(ERR_NOMEM, -2, "the symmetric heap is full")                         \
    X(ERR_NOT_SYMMETRIC, -3, "address is not in the symmetric heap")       \
    X(ERR_UNSUPPORTED, -4, "no algorithm serves this request here")        \
    X(ERR_TIMEOUT, -5, "a peer did not arrive within the time set")        \
    X(ERR_SYSTEM, -6, "the operating system or driver refused")            \
    X(ERR_ABORTED, -7, "the job is ending because another PE failed")      \
    X(ERR_STATE, -8, "the call is not allowed in the library's state now") \
    X(ERR_TABLE, -9, "a rule table is not valid")
/* clang-format on */

typedef enum chorus_status {
#define X(name, value, text) CHORUS_##name = (value),
    CHORUS_STATUS_LIST(X)
#undef X
} chorus_status;

/* Before each function that returns a code: the compiler warns of calls that ignore it. Define
 * CHORUS_NO_WARN_UNUSED before including any header to have no such warnings. */
#if defined(CHORUS_NO_WARN_UNUSED)
#define CHORUS_MUST_CHECK
#elif (defined(__cplusplus) && __cplusplus >= 201703L) || \
    (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 202311L)
#define CHORUS_MUST_CHECK [[nodiscard]]
#else
#define CHORUS_MUST_CHECK __attribute__((warn_unused_result))
#endif

/* An exported function that returns a code. */
#define CHORUS_CODE CHORUS_MUST_CHECK CHORUS_API

#endif /* CHORUS_STATUS_H */
