/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/p2p/p2p.h"

#include "base/text.h"

#include <argp.h>
#include <string.h>

enum { KEY_OP = 256, KEY_ROUNDS, KEY_WINDOW, KEY_CSV, KEY_VERSION };

#define BYTES_MOST ((uint64_t)1 << 30)

const char *const ch_p2p_names[CH_P2P_COUNT] = {
#define X(op, is_single, text) #op,
    CH_P2P_LIST(X)
#undef X
};

const bool ch_p2p_is_single[CH_P2P_COUNT] = {
#define X(op, is_single, text) is_single,
    CH_P2P_LIST(X)
#undef X
};

static const struct argp_option known[] = {
    {NULL, 0, NULL, 0, "What to time:", 1},
    {"op", KEY_OP, "LIST", 0, "Operations, or all [all]", 1},
    {"minbytes", 'b', "BYTES", 0, "Smallest message; K, M and G are powers of 1024 [8]", 1},
    {"maxbytes", 'e', "BYTES", 0, "Largest message [4M]", 1},
    {"stepfactor", 'f', "FACTOR", 0, "Factor between successive message sizes [8]", 1},
    {"window", KEY_WINDOW, "N", 0, "Calls before a quiet, where there are several [64]", 1},
    {NULL, 0, NULL, 0, "How to measure:", 2},
    {"iters", 'n', "N", 0, "Samples of each row [1000], fewer for large messages", 2},
    {"rounds", KEY_ROUNDS, "N", 0,
     "Rounds over all rows; each measures a part of the samples [10]", 2},
    {"warmup_iters", 'w', "N", 0, "Samples before each round that are not counted [5]", 2},
    {"check", 'c', "0|1", 0, "Check the data of each round [1]", 2},
    {NULL, 0, NULL, 0, "Where results go, besides the table on standard output:", 3},
    {"csv", KEY_CSV, "FILE", 0, "Rows as CSV, after comments on machine and command", 3},
    {"help", 'h', NULL, 0, "Print this text", -1},
    {"version", KEY_VERSION, NULL, 0, "Print the version", -1},
    {0},
};

#define REFUSE(options, ...) \
    (snprintf((options)->error, sizeof((options)->error), __VA_ARGS__), false)

static bool read_ops(struct ch_p2p_options *options, const char *list)
{
    options->ops = 0;
    for (const char *at = list;; at++) {
        const size_t length = strcspn(at, ",");
        uint32_t found = 0;

        for (uint32_t op = 0; op < CH_P2P_COUNT; op++)
            if (strlen(ch_p2p_names[op]) == length &&
                strncmp(at, ch_p2p_names[op], length) == 0)
                found = 1u << op;
        if (length == 3 && strncmp(at, "all", 3) == 0) found = (1u << CH_P2P_COUNT) - 1;
        if (found == 0)
            return REFUSE(options,
                          "--op \"%.*s\": expected all, or of put, put_signal, get, fetch_add, "
                          "puts, gets, put_signals, adds, copy, fetch_adds, c11_adds",
                          (int)length, at);
        options->ops |= found;
        at += length;
        if (*at == '\0') return true;
    }
}

static bool read_bytes(struct ch_p2p_options *options, int letter, const char *text,
                       uint64_t *out)
{
    struct ch_number_hint hint;

    if (ch_number_bytes(text, 1, BYTES_MOST, out)) return true;
    return REFUSE(options, "-%c \"%s\": expected bytes from 1 to 1G%s", letter, text,
                  ch_number_hint(text, &hint));
}

static bool read_number(struct ch_p2p_options *options, const char *name, const char *text,
                        uint64_t lo, uint64_t hi, uint64_t *out)
{
    if (ch_number_whole(text, lo, hi, out)) return true;
    return REFUSE(options, "%s \"%s\": expected a whole number from %llu to %llu", name, text,
                  (unsigned long long)lo, (unsigned long long)hi);
}

static bool read_option(struct ch_p2p_options *options, int key, const char *text)
{
    uint64_t checks = 1;

    switch (key) {
    case KEY_OP:
        return read_ops(options, text);
    case 'b':
        return read_bytes(options, key, text, &options->bytes_min);
    case 'e':
        return read_bytes(options, key, text, &options->bytes_max);
    case 'f':
        return read_number(options, "-f", text, 2, 1024, &options->factor);
    case KEY_WINDOW:
        return read_number(options, "--window", text, 1, CH_P2P_WINDOW_MAX, &options->window);
    case 'n':
        return read_number(options, "-n", text, 1, 1000000, &options->iterations);
    case KEY_ROUNDS:
        return read_number(options, "--rounds", text, 1, 1000, &options->rounds);
    case 'w':
        return read_number(options, "-w", text, 0, 1000000, &options->warmup);
    case 'c':
        if (!read_number(options, "-c", text, 0, 1, &checks)) return false;
        options->checks = checks == 1;
        return true;
    case KEY_CSV:
        options->csv = text;
        return true;
    default:
        options->ask = key == 'h' ? CH_P2P_HELP : CH_P2P_VERSION;
        return true;
    }
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct ch_p2p_options *options = state->input;

    if (key == ARGP_KEY_ARG)
        return REFUSE(options, "\"%s\": expected options only; see --help", text) ? 0 : EINVAL;
    if (key == 'h' || (key >= KEY_OP && key <= KEY_VERSION) ||
        (key != 0 && key < 128 && strchr("befnwc", key) != NULL))
        return read_option(options, key, text) ? 0 : EINVAL;
    return ARGP_ERR_UNKNOWN;
}

static const struct argp description = {
    known, parse, NULL, "Time one-sided calls from PE 0 to the last PE, and check their data.",
    NULL,  NULL,  NULL};

bool ch_p2p_options_read(int argc, char **argv, struct ch_p2p_options *out)
{
    *out = (struct ch_p2p_options){.bytes_min = 8,
                                   .bytes_max = 4u << 20,
                                   .factor = 8,
                                   .iterations = 1000,
                                   .rounds = 10,
                                   .warmup = 5,
                                   .window = 64,
                                   .ops = (1u << CH_P2P_COUNT) - 1,
                                   .checks = true};
    if (argp_parse(&description, argc, argv, ARGP_NO_HELP | ARGP_NO_EXIT | ARGP_NO_ERRS, NULL,
                   out) != 0) {
        if (out->error[0] == '\0')
            return REFUSE(out, "an option is unknown or lacks its value; see --help");
        return false;
    }
    if (out->bytes_min > out->bytes_max)
        return REFUSE(out, "-b %llu is more than -e %llu", (unsigned long long)out->bytes_min,
                      (unsigned long long)out->bytes_max);
    return true;
}

void ch_p2p_options_help(FILE *out, const char *program)
{
    char name[64];

    (void)snprintf(name, sizeof(name), "%s", program);
    argp_help(&description, out, ARGP_HELP_STD_HELP & ~(unsigned)ARGP_HELP_EXIT_OK, name);
    (void)fprintf(out, "\nOperations:\n");
#define X(op, is_single, text) (void)fprintf(out, "  %-12s %s\n", #op, text);
    CH_P2P_LIST(X)
#undef X
}
