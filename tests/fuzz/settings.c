/* SPDX-License-Identifier: Apache-2.0 */
/* settings: lines NAME=VALUE are the environment; they are taken, or refused by name. */
#include "fuzz.h"

#include "base/log.h"
#include "base/option.h"
#include "select/force.h"

#include <string.h>

enum { LINES_MAX = 16 };

static void clear(void)
{
#define X(NAME, field, KIND, initial, text) (void)unsetenv("CHORUS_" #NAME);
    CH_OPTION_LIST(X)
#undef X
}

static bool is_option(const char *name)
{
#define X(NAME, field, KIND, initial, text) \
    if (strcmp(name, #NAME) == 0) return true;
    CH_OPTION_LIST(X)
#undef X
    return false;
}

static void set(char *line)
{
    char name[64], *value = strchr(line, '=');

    if (value == NULL) return;
    *value++ = '\0';
    if (!is_option(line)) return;
    (void)snprintf(name, sizeof(name), "CHORUS_%s", line);
    (void)setenv(name, value, 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char *lines[LINES_MAX], *text;
    struct ch_forced forced[CHORUS_COLL_COUNT];
    struct ch_options options;
    size_t n;

    text = fuzz_lines(data, bytes, lines, LINES_MAX, &n);
    clear();
    for (size_t i = 0; i < n; i++)
        set(lines[i]);
    if (ch_options_read(&options) != CHORUS_OK) {
        FUZZ_CHECK(strncmp(ch_error_message(), "CHORUS_", 7) == 0);
    } else {
        FUZZ_CHECK(options.ctas <= CH_COUNT_MAX);
        FUZZ_CHECK((unsigned)options.heap < CHORUS_HEAP_COUNT);
        (void)ch_log_level_of(options.log);
        if (ch_force_read(options.algo, forced) != CHORUS_OK)
            FUZZ_CHECK(strstr(ch_error_message(), "CHORUS_ALGO") != NULL);
    }
    free(text);
    return 0;
}
