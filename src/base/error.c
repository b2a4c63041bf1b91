/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include "base/log.h"
#include "base/names.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGE_BYTES = 1024, FUNCTION_BYTES = 101 };

static _Thread_local char message[MESSAGE_BYTES];

static void put_names(void)
{
    ch_names_put(ch_names_prefix(), message, sizeof(message));
}

void ch_error_set(chorus_status code, const char *file, int line, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    put_names();
    CH_LOG(DEBUG, "%s:%d: %s: %s", file, line, ch_status_text(code), message);
}

void ch_error_prefix(const char *function)
{
    char named[FUNCTION_BYTES], told[MESSAGE_BYTES];

    (void)snprintf(named, sizeof(named), "%s", function);
    ch_names_put(ch_names_prefix(), named, sizeof(named));
    if (strncmp(message, named, strlen(named)) == 0) return;
    memcpy(told, message, sizeof(told));
    (void)snprintf(message, sizeof(message), "%s: %.900s", named, told);
}

void ch_error_rename(const char *function)
{
    const size_t bytes = ch_names_call(message);
    char told[MESSAGE_BYTES];

    memcpy(told, message, sizeof(told));
    (void)snprintf(message, sizeof(message), "%.100s%s%.900s", function, bytes == 0 ? ": " : "",
                   told + bytes);
}

void ch_error_add(const char *text)
{
    const size_t used = strlen(message);

    (void)snprintf(message + used, sizeof(message) - used, "%s", text);
    put_names();
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
