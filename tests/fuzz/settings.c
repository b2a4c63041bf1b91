/* SPDX-License-Identifier: Apache-2.0 */
/* settings: lines NAME=VALUE are the environment; they are taken, or refused by name. */
#include "fuzz.h"

#include "api/context.h"
#include "base/error.h"
#include "base/option.h"
#include "select/table.h"

#include <string.h>

enum { LINES_MAX = 16 };

static void ignore(enum ch_log_level level, const char *line)
{
    (void)level;
    FUZZ_CHECK(line[0] != '\0');
}

/* Sets the variable of a line, or takes it away again. */
static void set(const char *line, bool is_set)
{
    const size_t bytes = strcspn(line, "=");
    char name[256];

    if (line[bytes] == '\0') return;
    (void)snprintf(name, sizeof(name), "CHORUS_%.*s", (int)bytes, line);
    if (is_set)
        (void)setenv(name, line + bytes + 1, 1);
    else
        (void)unsetenv(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char *lines[LINES_MAX], *text;
    struct ch_forced forced[CHORUS_COLL_COUNT];
    struct ch_options options;
    size_t n;

    text = fuzz_lines(data, bytes, lines, LINES_MAX, &n);
    for (size_t i = 0; i < n; i++)
        set(lines[i], true);
    ch_log_configure(CH_LOG_WARN, ignore);
    ch_warn_of_unknown_variables();
    if (ch_options_read(&options) != CHORUS_OK) {
        FUZZ_CHECK(strncmp(ch_error_message(), "CHORUS_", 7) == 0);
    } else {
        FUZZ_CHECK(options.ctas <= CH_COUNT_MAX);
        FUZZ_CHECK((unsigned)options.heap < CHORUS_HEAP_COUNT);
        (void)ch_log_level_of(options.log);
        if (ch_force_read(options.algo, forced) != CHORUS_OK)
            FUZZ_CHECK(strstr(ch_error_message(), "CHORUS_ALGO") != NULL);
    }
    for (size_t i = 0; i < n; i++)
        set(lines[i], false);
    free(text);
    return 0;
}
