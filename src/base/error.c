/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGE_BYTES = 1024 };

static _Thread_local char message[MESSAGE_BYTES];

void ch_error_set(chorus_status code, const char *file, int line, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    CH_LOG(DEBUG, "%s:%d: %s: %s", file, line, ch_status_text(code), message);
}

void ch_error_prefix(const char *function)
{
    const size_t bytes = strlen(function);
    char told[MESSAGE_BYTES];

    if (strncmp(message, function, bytes) == 0) return;
    memcpy(told, message, sizeof(told));
    (void)snprintf(message, sizeof(message), "%.100s: %.900s", function, told);
}

void ch_error_add(const char *text)
{
    const size_t used = strlen(message);

    (void)snprintf(message + used, sizeof(message) - used, "%s", text);
}

const char *ch_error_message(void)
{
    return message;
}

void ch_error_forget(void)
{
    message[0] = '\0';
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
