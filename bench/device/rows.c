/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/device/rows.h"

#include <string.h>

const char *const ch_row_names[CH_ROW_COUNT] = {
#define X(name, text) #name,
    CH_ROW_LIST(X)
#undef X
};

static bool read_word(struct ch_row_options *options, const char *word, bool may_stream)
{
    if (may_stream && strcmp(word, "--stream") == 0) {
        options->on_stream = true;
        return true;
    }
    if (strcmp(word, "--help") == 0) {
        options->has_help = true;
        return true;
    }
    for (int row = 0; row < CH_ROW_COUNT; row++)
        if (strcmp(word, ch_row_names[row]) == 0) {
            options->is_asked[row] = true;
            return true;
        }
    (void)snprintf(options->error, sizeof(options->error),
                   "\"%s\": expected the name of a row; see --help", word);
    return false;
}

bool ch_row_options_read(int argc, char **argv, bool may_stream, struct ch_row_options *out)
{
    bool has_row = false;

    *out = (struct ch_row_options){.on_stream = false};
    for (int i = 1; i < argc; i++)
        if (!read_word(out, argv[i], may_stream)) return false;
    for (int row = 0; row < CH_ROW_COUNT; row++)
        has_row |= out->is_asked[row];
    for (int row = 0; row < CH_ROW_COUNT && !has_row; row++)
        out->is_asked[row] = true;
    return true;
}

void ch_row_options_help(FILE *out, const char *program, bool may_stream)
{
    (void)fprintf(out, "usage: %s%s [ROW...]\n\n", program, may_stream ? " [--stream]" : "");
    (void)fprintf(out,
                  "Check and time calls; PE 0 prints a CSV. All rows if none is named%s:\n",
                  may_stream ? ".\n--stream: put alone, queued on a stream. Rows" : "");
#define X(name, text) (void)fprintf(out, "  %-14s %s\n", #name, text);
    CH_ROW_LIST(X)
#undef X
}
