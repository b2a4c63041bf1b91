/* SPDX-License-Identifier: Apache-2.0 */
/* error.c: messages of failures, texts of codes, and the lines of the log. */
#include "base/error.h"

#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* --- failures ----------------------------------------------------------------------------- */
enum { MESSAGE_BYTES = 1024, FUNCTION_BYTES = 101 };

static _Thread_local char message[MESSAGE_BYTES];

/* In this thread's message, replace the library's names by those of the program's interface. */
static void replace_names(void)
{
    ch_names_replace(ch_names_prefix(), message, sizeof(message));
}

void ch_error_set(chorus_status code, const char *file, int line, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    replace_names();
    CH_LOG(DEBUG, "%s:%d: %s: %s", file, line, ch_status_text(code), message);
}

void ch_error_prefix(const char *function)
{
    char named[FUNCTION_BYTES], told[MESSAGE_BYTES];

    (void)snprintf(named, sizeof(named), "%s", function);
    ch_names_replace(ch_names_prefix(), named, sizeof(named));
    if (strncmp(message, named, strlen(named)) == 0) return;
    memcpy(told, message, sizeof(told));
    (void)snprintf(message, sizeof(message), "%s: %.900s", named, told);
}

void ch_error_rename(const char *function)
{
    const size_t bytes = ch_names_call_bytes(message);
    char told[MESSAGE_BYTES];

    memcpy(told, message, sizeof(told));
    (void)snprintf(message, sizeof(message), "%.100s%s%.900s", function, bytes == 0 ? ": " : "",
                   told + bytes);
}

void ch_error_add(const char *text)
{
    const size_t used = strlen(message);

    (void)snprintf(message + used, sizeof(message) - used, "%s", text);
    replace_names();
}

const char *ch_error_message(void)
{
    return message;
}

void ch_error_forget(void)
{
    message[0] = '\0';
}

const char *ch_status_name(int code)
{
    switch (code) {
#define X(name, value, text) \
    case value:              \
        return #name;
        CHORUS_STATUS_LIST(X)
#undef X
    default:
        return "unknown code";
    }
}

const char *ch_status_text(int code)
{
    switch (code) {
#define X(name, value, text) \
    case value:              \
        return text;
        CHORUS_STATUS_LIST(X)
#undef X
    default:
        return "unknown status";
    }
}

/* --- the log ------------------------------------------------------------------------------ */
enum { LINE_BYTES = 2048, NS_PER_MS = 1000000 };

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

/* Write the line to standard error, with time, PE and level, by one write(2), so that lines of
 * several PEs do not mix. */
static void write_log_line(enum ch_log_level level, const char *line)
{
    char out[LINE_BYTES + 96], at[32], pe[24] = "";
    struct timespec now = {0, 0};
    struct tm parts;
    int bytes;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (localtime_r(&now.tv_sec, &parts) == NULL ||
        strftime(at, sizeof(at), "%H:%M:%S", &parts) == 0)
        at[0] = '\0';
    if (thread_pe >= 0) (void)snprintf(pe, sizeof(pe), " PE %d", thread_pe);
    bytes = snprintf(out, sizeof(out), "chorus %s.%03ld%s %s: %s\n", at,
                     now.tv_nsec / NS_PER_MS, pe, level_names[level], line);
    if (bytes < 0) return;
    if ((size_t)bytes >= sizeof(out)) bytes = (int)sizeof(out) - 1;
    if (write(STDERR_FILENO, out, (size_t)bytes) < 0)
        return; /* there is no other stream for the message */
}

void ch_log_write(enum ch_log_level level, const char *format, ...)
{
    char line[LINE_BYTES];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    ch_names_replace(ch_names_prefix(), line, sizeof(line));
    if (current_sink != NULL)
        current_sink(level, line);
    else
        write_log_line(level, line);
}
