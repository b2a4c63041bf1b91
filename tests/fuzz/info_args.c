/* SPDX-License-Identifier: Apache-2.0 */
/* info_args: the first line is a collective, the others are options of chorus-info explain. */
#include "fuzz.h"

#include "chorus-info.h"

#include <string.h>

enum { LINES_MAX = 9 };

static void take(struct info_args *args, char *line)
{
    const struct {
        const char *name;
        const char **to;
    } known[] = {{"bytes", &args->bytes},    {"pes", &args->pes}, {"dtype", &args->dtype},
                 {"op", &args->op},          {"gpu", &args->gpu}, {"cores", &args->cores},
                 {"machine", &args->machine}};
    char *value = strchr(line, '=');

    if (value == NULL) return;
    *value++ = '\0';
    args->is_in_place ^= strcmp(line, "in-place") == 0;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(line, known[i].name) == 0) *known[i].to = value;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char *lines[LINES_MAX], *text;
    struct info_args args = {.command = "explain"};
    size_t n;

    text = fuzz_lines(data, bytes, lines, LINES_MAX, &n);
    args.operand = n > 0 ? lines[0] : "";
    for (size_t i = 1; i < n; i++)
        take(&args, lines[i]);
    if (info_explain(&args) != CHORUS_OK) FUZZ_CHECK(ch_error_message()[0] != '\0');
    free(text);
    return 0;
}
