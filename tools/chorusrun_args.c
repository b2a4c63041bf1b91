/* SPDX-License-Identifier: Apache-2.0 */
#include "chorusrun.h"

#include "base/clock.h"
#include "base/number.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_TIMEOUT = 256, KEY_TAG };

/* Seen by the C library, which reads it. */
__attribute__((visibility("default"))) const char *argp_program_version =
    "chorusrun (chorus) " CHORUS_VERSION;

static const struct argp_option options[] = {
    {NULL, 'n', "N", 0, "Start N PEs", 0},
    {"timeout", KEY_TIMEOUT, "S", 0, "End the job after S seconds, with status 124", 0},
    {"tag", KEY_TAG, NULL, 0, "Begin each line of output with the number of its PE: [3]", 0},
    {0}};

static uint32_t pes_of(struct argp_state *state, const char *text)
{
    uint64_t n = 0;

    if (!ch_number_whole(text, 1, CH_WIRE_PES_MAX, &n))
        argp_error(state, "-n is \"%s\"; expected a whole number from 1 to %d", text,
                   CH_WIRE_PES_MAX);
    return (uint32_t)n;
}

static uint64_t seconds_of(struct argp_state *state, const char *text)
{
    uint64_t ns = 0;

    if (!ch_number_seconds(text, &ns) || ns < CH_NS_PER_S / 1000)
        argp_error(state,
                   "--timeout is \"%s\"; expected seconds from 0.001 on, such as 30 or 0.5",
                   text);
    return ns;
}

static error_t read_option(int key, char *text, struct argp_state *state)
{
    struct args *args = state->input;

    switch (key) {
    case 'n':
        args->n = pes_of(state, text);
        return 0;
    case KEY_TIMEOUT:
        args->timeout_ns = seconds_of(state, text);
        return 0;
    case KEY_TAG:
        args->is_tagged = true;
        return 0;
    case ARGP_KEY_ARG:
        /* The program; what follows is its own. */
        args->command = &state->argv[state->next - 1];
        state->next = state->argc;
        return 0;
    case ARGP_KEY_END:
        if (args->n == 0)
            argp_error(state,
                       "the number of PEs is missing; give it as in: chorusrun -n 4 program");
        if (args->command == NULL)
            argp_error(state, "the program is missing; give it as in: chorusrun -n 4 program");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Is `text` an option that argp will know? *takes_next_out: its value is the next argument. */
static bool is_known(const char *text, bool *takes_next_out)
{
    static const char *const others[] = {"--tag", "--help", "--usage", "--version", "-?", "-V"};

    *takes_next_out = strcmp(text, "-n") == 0 || strcmp(text, "--timeout") == 0;
    if (*takes_next_out || strncmp(text, "-n", 2) == 0 || strncmp(text, "--timeout=", 10) == 0)
        return true;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (strcmp(text, others[i]) == 0) return true;
    return false;
}

/* argp names an unknown option, but not what it expected. */
static void refuse_unknown(int argc, char **argv)
{
    for (int i = 1; i < argc && argv[i][0] == '-'; i++) {
        bool takes_next;

        if (strcmp(argv[i], "--") == 0) return;
        if (!is_known(argv[i], &takes_next)) {
            (void)fprintf(
                stderr,
                "chorusrun: unknown option \"%s\"; expected -n N, --timeout S, --tag, "
                "--help or --version, then the program\n",
                argv[i]);
            exit(STATUS_USAGE);
        }
        i += takes_next;
    }
}

void args_read(int argc, char **argv, struct args *out)
{
    static const struct argp argp = {
        .options = options,
        .parser = read_option,
        .args_doc = "PROGRAM [ARGUMENT...]",
        .doc = "Start a Chorus job: N PEs on this machine, each running PROGRAM.\v"
               "When a PE fails, the job ends with its status."};

    *out = (struct args){0};
    refuse_unknown(argc, argv);
    argp_err_exit_status = STATUS_USAGE;
    (void)argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, out);
}
