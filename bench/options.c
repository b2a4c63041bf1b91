/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/options.h"

#include "bench/values.h"
#include "bench/vs.h"
#include "bench/names.h"

#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#define ARRAY_COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum {
    KEY_COLL = 256,
    KEY_ALGO,
    KEY_CTAS,
    KEY_RADIX,
    KEY_TEAM,
    KEY_MODE,
    KEY_VS,
    KEY_CSV,
    KEY_JSON,
    KEY_PLOT,
    KEY_DIFF,
    KEY_VERSION
};

static const struct argp_option known[] = {
    {NULL, 0, NULL, 0, "What to sweep:", 1},
    {"coll", KEY_COLL, "LIST", 0, "Collectives, or all [all]", 1},
    {"minbytes", 'b', "BYTES", 0, "Smallest message; K, M and G are powers of 1024 [8]", 1},
    {"maxbytes", 'e', "BYTES", 0, "Largest message [1M]", 1},
    {"stepfactor", 'f', "FACTOR", 0, "Factor between successive message sizes [2]", 1},
    {"stepbytes", 'i', "BYTES", 0, "Difference of successive message sizes, in place of -f", 1},
    {"datatype", 'd', "LIST", 0, "Element types, or all [f32]", 1},
    {"op", 'o', "LIST", 0, "Operators of reduce and reducescatter, or all [sum]", 1},
    {"root", 'r', "PE", 0, "Root of broadcast; -1: each PE in turn [0]", 1},
    {NULL, 0, NULL, 0, "How to run it:", 2},
    {"algo", KEY_ALGO, "LIST", 0,
     "auto: the rule table's choice; all: each algorithm, forced; NAME[:PROTO]: this one "
     "[auto]",
     2},
    {"ctas", KEY_CTAS, "LIST", 0, "CTAs of a forced algorithm, each in turn [1]", 2},
    {"radix", KEY_RADIX, "N", 0, "Radix of a forced algorithm that takes one", 2},
    {"team", KEY_TEAM, "TEAM", 0, "world, or strided:K for every K-th PE [world]", 2},
    {"mode", KEY_MODE, "MODE", 0, "blocking, stream, or graph (on GPUs) [blocking]", 2},
    {"vs", KEY_VS, "LIST", 0,
     "Also time nccl, nccl_windows, nvshmem; NAME=FILE: path of the library", 2},
    {NULL, 0, NULL, 0, "How to measure:", 3},
    {"iters", 'n', "N", 0, "Timed iterations of each row [20]", 3},
    {"warmup_iters", 'w', "N", 0, "Calls before them, not timed [5]", 3},
    {"check", 'c', "0|1", 0, "Check the data of each timed call [1]", 3},
    {NULL, 0, NULL, 0, "Where results go, besides the table on standard output:", 4},
    {"csv", KEY_CSV, "FILE", 0, "Rows as CSV, after comments on machine and command", 4},
    {"json", KEY_JSON, "FILE", 0, "The same as JSON, one object per line", 4},
    {"plot", KEY_PLOT, "FILE", 0, "Latency and bandwidth by bytes, as FILE.svg or FILE.png", 4},
    {"diff", KEY_DIFF, "FILE", 0,
     "No sweep: print the rows that differ by more than noise, --diff A.csv B.csv", 5},
    {"help", 'h', NULL, 0, "Print this text", -1},
    {"version", KEY_VERSION, NULL, 0, "Print the version", -1},
    {0},
};

static const struct ch_typed_name coll_words[] = {
#define X(COLL) {#COLL, CH_SWEEP_##COLL},
    CH_SWEEP_LIST(X)
#undef X
};

/* Names of types as in the tables, and as in the functions of the API. */
static const struct ch_typed_name type_words[] = {
#define X(T, ctype, class, bytes) {#T, CHORUS_TYPE_##T},
    CHORUS_TYPE_LIST(X)
#undef X
#define X(NAME, ctype, type) {#NAME, type},
        CHORUS_REDUCE_ARITHMETIC_TYPES(X)
#undef X
};

static const struct ch_typed_name op_words[] = {
#define X(OP) {#OP, CHORUS_OP_##OP},
    CHORUS_OP_LIST(X)
#undef X
};

static bool read_ctas(struct ch_sweep_options *options, const char *text)
{
    char item[32];

    options->n_ctas = 0;
    for (const char *at = text;; at++) {
        const size_t length = strcspn(at, ",");
        long n;

        if (options->n_ctas == CH_SWEEP_CTAS_MAX)
            return CH_REFUSE(options, "--ctas \"%s\": expected at most %u values", text,
                             CH_SWEEP_CTAS_MAX);
        (void)snprintf(item, sizeof(item), "%.*s", (int)length, at);
        if (!ch_read_number(options, "--ctas", item, 1, INT_MAX, &n)) return false;
        options->ctas[options->n_ctas++] = (int)n;
        at += length;
        if (*at == '\0') return true;
    }
}

static const struct ch_typed_name mode_words[] = {
    {"blocking", CH_SWEEP_BLOCKING},
    {"stream", CH_SWEEP_STREAM},
    {"graph", CH_SWEEP_GRAPH},
};

static bool read_team(struct ch_sweep_options *options, const char *text)
{
    static const char strided[] = "strided:";
    long stride = 0;

    if (strncmp(text, strided, strlen(strided)) == 0) {
        if (!ch_read_number(options, "--team strided:K, K", text + strlen(strided), 1, INT_MAX,
                            &stride))
            return false;
    } else if (strcmp(text, "world") != 0) {
        return CH_REFUSE(options,
                         "--team \"%s\": expected world, or strided:K such as strided:2", text);
    }
    options->stride = (int)stride;
    return true;
}

static bool read_mode(struct ch_sweep_options *options, const char *text)
{
    for (size_t i = 0; i < ARRAY_COUNT(mode_words); i++) {
        options->mode = (enum ch_sweep_mode)mode_words[i].number;
        if (strcmp(mode_words[i].name, text) == 0) return true;
    }
    return CH_REFUSE(options, "--mode \"%s\": expected blocking, stream or graph", text);
}

static bool read_plot(struct ch_sweep_options *options, const char *text)
{
    const char *const dot = strrchr(text, '.');

    options->plot = text;
    if (dot != NULL && (strcmp(dot, ".svg") == 0 || strcmp(dot, ".png") == 0)) return true;
    return CH_REFUSE(options, "--plot \"%s\": expected a file name that ends in .svg or .png",
                     text);
}

/* Options whose value is a number. False: `key` is not one of them. */
static bool read_numeric(struct ch_sweep_options *options, int key, const char *text,
                         bool *valid_out)
{
    long n = 0;

    switch (key) {
    case 'n':
        *valid_out = ch_read_number(options, "-n", text, 1, 1000000, &n);
        options->iterations = (uint32_t)n;
        return true;
    case 'w':
        *valid_out = ch_read_number(options, "-w", text, 0, 1000000, &n);
        options->warmup = (uint32_t)n;
        return true;
    case 'c':
        *valid_out = ch_read_number(options, "-c", text, 0, 1, &n);
        options->checks = n != 0;
        return true;
    case 'f':
        *valid_out = ch_read_number(options, "-f", text, 2, 1000000, &n);
        options->factor = (uint64_t)n;
        return true;
    case 'r':
        *valid_out = ch_read_number(options, "-r", text, -1, INT_MAX, &n);
        options->root = (int)n;
        return true;
    case KEY_RADIX:
        *valid_out = ch_read_number(options, "--radix", text, 2, INT_MAX, &n);
        options->radix = (int)n;
        return true;
    default:
        return false;
    }
}

#define READ_WORDS(options, words, what, text, bits)                             \
    ch_names_read(words, ARRAY_COUNT(words), what, text, bits, (options)->error, \
                  sizeof((options)->error))

/* Options whose value is text or a number of bytes, and those without a value. */
static bool read_other(struct ch_sweep_options *options, int key, const char *text)
{
    switch (key) {
    case 'b':
        return ch_read_bytes(options, 'b', text, &options->bytes_min);
    case 'e':
        return ch_read_bytes(options, 'e', text, &options->bytes_max);
    case 'i':
        return ch_read_bytes(options, 'i', text, &options->step);
    case 'd':
        return READ_WORDS(options, type_words, "-d", text, &options->types);
    case 'o':
        return READ_WORDS(options, op_words, "-o", text, &options->ops);
    case KEY_COLL:
        return READ_WORDS(options, coll_words, "--coll", text, &options->colls);
    case KEY_ALGO:
        options->algos = text;
        return true;
    case KEY_TEAM:
        return read_team(options, text);
    case KEY_MODE:
        return read_mode(options, text);
    case KEY_CTAS:
        return read_ctas(options, text);
    case KEY_VS:
        return ch_read_vs(options, text);
    case KEY_CSV:
        options->csv = text;
        return true;
    case KEY_JSON:
        options->json = text;
        return true;
    case KEY_PLOT:
        return read_plot(options, text);
    case KEY_DIFF:
        options->diff[0] = text;
        return true;
    case 'h':
        options->ask = CH_SWEEP_HELP;
        return true;
    default:
        options->ask = CH_SWEEP_VERSION;
        return true;
    }
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct ch_sweep_options *const options = state->input;
    bool is_valid = true;

    if (key == ARGP_KEY_ARG && options->diff[0] != NULL && options->diff[1] == NULL) {
        options->diff[1] = text;
        return 0;
    }
    if (key == ARGP_KEY_ARG) {
        (void)CH_REFUSE(options, "\"%s\": expected options only; see --help", text);
        return EINVAL;
    }
    if (key > KEY_VERSION) return ARGP_ERR_UNKNOWN; /* argp prints the position */
    if (!read_numeric(options, key, text, &is_valid)) is_valid = read_other(options, key, text);
    return is_valid ? 0 : EINVAL;
}

static const struct argp grammar = {known, parse, NULL, NULL, NULL, NULL, NULL};

/* --- messages for unknown options
 * ------------------------------------------------------------ */

/* The option that `text` names, in full or by a prefix; null if there is none. */
static const struct argp_option *find_long(const char *text, size_t length)
{
    for (size_t i = 0; i < ARRAY_COUNT(known); i++)
        if (known[i].name != NULL && strncmp(known[i].name, text, length) == 0)
            return &known[i];
    return NULL;
}

static const struct argp_option *find_short(char letter)
{
    for (size_t i = 0; i < ARRAY_COUNT(known); i++)
        if (letter != '\0' && known[i].key == letter) return &known[i];
    return NULL;
}

static void explain_unknown(struct ch_sweep_options *options, const char *text, size_t length)
{
    struct ch_typed_name words[ARRAY_COUNT(known)];
    const char *nearest;
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_COUNT(known); i++)
        if (known[i].name != NULL) words[n++] = (struct ch_typed_name){known[i].name, 0};
    nearest = ch_names_nearest(words, n, text + 2, length > 2 ? length - 2 : 0);
    if (nearest != NULL)
        (void)CH_REFUSE(options, "unknown option \"%.*s\"; did you mean \"--%s\"?", (int)length,
                        text, nearest);
    else
        (void)CH_REFUSE(options, "unknown option \"%.*s\"; --help lists the options",
                        (int)length, text);
}

/* argp refused an option of argv without a message: find it and report it. */
static void explain_refusal(int argc, char **argv, struct ch_sweep_options *options)
{
    for (int i = 1; i < argc; i++) {
        const char *const text = argv[i];
        const bool is_long = strncmp(text, "--", 2) == 0;
        const size_t length = strcspn(text, "=");
        const struct argp_option *option;

        if (text[0] != '-' || text[1] == '\0') continue;
        option = is_long ? find_long(text + 2, length - 2) : find_short(text[1]);
        if (option == NULL) {
            explain_unknown(options, text, is_long ? length : 2);
            return;
        }
        if (option->arg == NULL && text[length] == '=') {
            (void)CH_REFUSE(options, "\"%s\": the option takes no value", text);
            return;
        }
        if (option->arg != NULL && text[length] == '\0' && (is_long || text[2] == '\0')) i++;
    }
    (void)CH_REFUSE(options, "\"%s\": expected a value after it, or the rest of its name",
                    argv[argc - 1]);
}

/* --- the whole ---------------------------------------------------------------------------- */

static bool is_whole(struct ch_sweep_options *options)
{
    if (options->diff[0] != NULL && options->diff[1] == NULL)
        return CH_REFUSE(options, "--diff \"%s\": expected two files, --diff A.csv B.csv",
                         options->diff[0]);
    if (options->factor != 0 && options->step != 0)
        return CH_REFUSE(options, "-f and -i are both given; one decides the next message");
    if (options->bytes_min > options->bytes_max)
        return CH_REFUSE(options, "-b %llu is more than -e %llu; swap them",
                         (unsigned long long)options->bytes_min,
                         (unsigned long long)options->bytes_max);
    if (options->factor == 0 && options->step == 0) options->factor = 2;
    return true;
}

bool ch_sweep_options_read(int argc, char **argv, struct ch_sweep_options *options_out)
{
    const unsigned quiet = ARGP_NO_ERRS | ARGP_NO_HELP | ARGP_NO_EXIT;
    struct ch_sweep_options *const options = options_out;

    *options = (struct ch_sweep_options){
        .bytes_min = 8,
        .bytes_max = 1 << 20,
        .iterations = 20,
        .warmup = 5,
        .checks = true,
        .types = 1u << CHORUS_TYPE_f32,
        .ops = 1u << CHORUS_OP_sum,
        .colls = (1u << CH_SWEEP_COUNT) - 1,
        .algos = "auto",
        .n_ctas = 1,
    };
    if (argp_parse(&grammar, argc, argv, quiet, NULL, options) == 0) return is_whole(options);
    if (options->error[0] == '\0') explain_refusal(argc, argv, options);
    return false;
}

void ch_sweep_options_help(FILE *out, const char *program)
{
    argp_help(&grammar, out, ARGP_HELP_USAGE | ARGP_HELP_LONG, (char *)(uintptr_t)program);
}
