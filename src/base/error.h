/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error.h: failures, and the log. The first function that notices a failure gives the reason;
 * its callers return the code. The log prints only what CHORUS_LOG selects, or passes it to a
 * callback.
 */
#ifndef CH_ERROR_H
#define CH_ERROR_H

#include "chorus/status.h"

#define CH_MUST_CHECK __attribute__((warn_unused_result))

/* A function that is called on failures, or seldom: compilers keep it, and the registers that
 * it saves, out of the fast path of its callers. */
#define CH_COLD __attribute__((noinline, cold))

/* What messages say of EMFILE. */
#define CH_LIMIT_ADVICE "raise the limit with ulimit -n"

/*
 * Record code and message for this thread and log it once at level debug.
 * A message says what was asked, what was found and what to do.
 */
void ch_error_set(chorus_status code, const char *file, int line, const char *format, ...)
    __attribute__((cold, format(printf, 4, 5)));

/* Returns the same code, in a form by which the compiler knows that it is not CHORUS_OK. */
#define CH_FAIL(code, ...) (ch_error_set((code), __FILE__, __LINE__, __VA_ARGS__), (code))

/* Return a callee's failure: directly, or through a cleanup label. */
#define CH_TRY(call)                                    \
    do {                                                \
        const chorus_status try_status = (call);        \
        if (try_status != CHORUS_OK) return try_status; \
    } while (0)

#define CH_TRY_GOTO(status, call, label)       \
    do {                                       \
        (status) = (call);                     \
        if ((status) != CHORUS_OK) goto label; \
    } while (0)

/* A callee failed that does not know the name of the public call: put "function: " before the
 * message, unless it is there already. */
void ch_error_prefix(const char *function) __attribute__((cold));

/* The program's call `function` failed in a call of another name: put `function` in place of
 * the name with which the message begins, or before the message if it begins with none. */
void ch_error_rename(const char *function) __attribute__((cold));

/* Append to the message. */
void ch_error_add(const char *text) __attribute__((cold));

/* ch_error_prefix if `status` is a failure. Returns `status`. */
static inline chorus_status ch_error_prefix_if_failed(const char *function,
                                                      chorus_status status)
{
    if (__builtin_expect(status != CHORUS_OK, 0)) ch_error_prefix(function);
    return status;
}

/* This thread's last message, or "" when nothing failed. Valid until the next failure here. */
const char *ch_error_message(void);

/* The failure was expected: clear this thread's message. */
void ch_error_forget(void);

/* The fixed text of a code; "unknown status" for any other number. */
const char *ch_status_text(int code);

/* The name of a code, without its prefix: "ERR_ARG". */
const char *ch_status_name(int code);

/* --- the log ------------------------------------------------------------------------------ */
/* clang-format off */
#define CH_LOG_LEVELS(X) X(NONE, none) X(ERROR, error) X(WARN, warn) X(INFO, info) X(DEBUG, debug) X(TRACE, trace)
/* clang-format on */

enum ch_log_level {
#define X(NAME, name) CH_LOG_##NAME,
    CH_LOG_LEVELS(X)
#undef X
        CH_LOG_LEVEL_COUNT
};

/* Receives each line, without a newline. */
typedef void (*ch_log_sink)(enum ch_log_level level, const char *line);

/* The highest level that is written; read by CH_LOG before its arguments are evaluated. */
extern enum ch_log_level ch_log_level_max;

/* The level of a name; -1 if there is no such level. */
int ch_log_level_of(const char *name);

/* Log lines up to this level, to `sink`; null: to standard error. Call before threads log. */
void ch_log_configure(enum ch_log_level level, ch_log_sink sink);

/* Set the PE that the lines of this thread contain; -1: none. */
void ch_log_name_pe(int pe);

/* Write a line to the log; CH_LOG calls it, after it has tested the level. */
void ch_log_write(enum ch_log_level level, const char *format, ...)
    __attribute__((cold, format(printf, 2, 3)));

/* The level is tested first: arguments of a line that is not logged are not evaluated. */
#define CH_LOG(LEVEL, ...)                                                                 \
    do {                                                                                   \
        if (CH_LOG_##LEVEL <= ch_log_level_max) ch_log_write(CH_LOG_##LEVEL, __VA_ARGS__); \
    } while (0)

#endif /* CH_ERROR_H */
