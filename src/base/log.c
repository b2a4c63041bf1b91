/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE_BYTES = 2048 };

enum ch_log_level ch_log_level_max = CH_LOG_WARN;

static ch_log_sink current_sink;
static _Thread_local int thread_pe = -1;

static const char *const level_names[CH_LOG_LEVEL_COUNT] = {
#define X(NAME, name) #name,
    CH_LOG_LEVELS(X)
#undef X
};

int ch_log_level_of(const char *name)
{
    for (int i = 0; i < CH_LOG_LEVEL_COUNT; i++)
        if (strcmp(name, level_names[i]) == 0) return i;
    return -1;
}

void ch_log_configure(enum ch_log_level level, ch_log_sink sink)
{
    ch_log_level_max = level;
    current_sink = sink;
}

void ch_log_name_pe(int pe)
{
    thread_pe = pe;
}

/* One write(2) a line, so that lines of several PEs do not mix. */
static void to_stderr(enum ch_log_level level, const char *line)
{
    char out[LINE_BYTES + 64];
    int bytes;

    if (thread_pe < 0)
        bytes = snprintf(out, sizeof(out), "chorus %s: %s\n", level_names[level], line);
    else
        bytes = snprintf(out, sizeof(out), "chorus %d %s: %s\n", thread_pe, level_names[level],
                         line);
    if (bytes < 0) return;
    if ((size_t)bytes >= sizeof(out)) bytes = (int)sizeof(out) - 1;
    if (write(STDERR_FILENO, out, (size_t)bytes) < 0) return; /* nowhere left to complain */
}

void ch_log_write(enum ch_log_level level, const char *format, ...)
{
    char line[LINE_BYTES];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    if (current_sink != NULL)
        current_sink(level, line);
    else
        to_stderr(level, line);
}
