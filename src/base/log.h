/* SPDX-License-Identifier: Apache-2.0 */
/* log.h: the logger. It prints only what CHORUS_LOG selects, or passes it to a callback. */
#ifndef CH_LOG_H
#define CH_LOG_H

#include <stdarg.h>

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

/* sink null: standard error. pe < 0: lines contain no PE. Call before threads log. */
void ch_log_configure(enum ch_log_level level, ch_log_sink sink);

/* Set the PE that the lines of this thread contain; -1: none. */
void ch_log_name_pe(int pe);

void ch_log_write(enum ch_log_level level, const char *format, ...)
    __attribute__((cold, format(printf, 2, 3)));

/* The level is tested first: arguments of a line that is not logged are not evaluated. */
#define CH_LOG(LEVEL, ...)                                                                 \
    do {                                                                                   \
        if (CH_LOG_##LEVEL <= ch_log_level_max) ch_log_write(CH_LOG_##LEVEL, __VA_ARGS__); \
    } while (0)

#endif /* CH_LOG_H */
