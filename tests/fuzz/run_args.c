/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_args: each line is a word of chorusrun's command line. Its reader is compiled with
 * run_args.h, so that it comes back here where it would print and exit.
 */
#include "fuzz.h"

#include "chorusrun.h"
#include "run_args.h"

#include <errno.h>
#include <setjmp.h>

#undef argp_parse

enum { WORDS_MAX = 32 };

static jmp_buf refusal;
static bool is_refused; /* inside argp_parse, which must end by itself to free what it has */
static const struct argp *parsed;

void fuzz_exit(int status)
{
    FUZZ_CHECK(status == STATUS_USAGE);
    longjmp(refusal, 1);
}

void fuzz_argp_error(const struct argp_state *state, const char *format, ...)
{
    (void)state;
    (void)format;
    is_refused = true;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    const error_t error = parsed->parser(key, text, state);

    return is_refused ? EINVAL : error;
}

error_t fuzz_argp_parse(const struct argp *argp, int argc, char **argv, unsigned flags,
                        int *index, void *input)
{
    struct argp own = *argp;

    parsed = argp;
    own.parser = parse;
    if (argp_parse(&own, argc, argv, flags | ARGP_SILENT, index, input) != 0)
        fuzz_exit(STATUS_USAGE);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static char program[] = "chorusrun";
    char *words[WORDS_MAX + 2] = {program};
    char *volatile text;
    struct args args;
    size_t n;

    text = fuzz_lines(data, bytes, words + 1, WORDS_MAX, &n);
    words[n + 1] = NULL;
    is_refused = false;
    if (setjmp(refusal) == 0) {
        args_read((int)n + 1, words, &args);
        /* The front says the rest to an agent. Without a number, main takes that of the cores.
         */
        FUZZ_CHECK(args.is_agent ||
                   (args.n <= CH_WIRE_PES_MAX && (args.n > 0 || args.n_hosts == 0)));
        FUZZ_CHECK(args.is_agent || (args.command != NULL && args.command[0] != NULL));
    }
    free(text);
    return 0;
}
