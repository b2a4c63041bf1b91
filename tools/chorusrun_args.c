/* SPDX-License-Identifier: Apache-2.0 */
#include "chorusrun.h"

#include "base/clock.h"
#include "base/option.h"
#include "base/text.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_TIMEOUT = 256, KEY_TAG, KEY_RECORD, KEY_HOSTS, KEY_LAUNCHER, KEY_AGENT };

/* ssh asks no questions, which no user could answer, and detects within 5 s that a host is
 * lost. */
static const char ssh[] = "ssh -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=1 "
                          "-o ServerAliveCountMax=4 -T";

/* The C library reads this name. */
__attribute__((visibility("default"))) const char *argp_program_version =
    "chorusrun (chorus) " CHORUS_VERSION;

static const struct argp_option options[] = {
    {NULL, 'n', "N", 0,
     "Start N PEs, also -np N [the sum of --hosts, or the cores that may be used]", 0},
    {"timeout", KEY_TIMEOUT, "S", 0, "End the job after S seconds, with status 124", 0},
    {"tag", KEY_TAG, NULL, 0, "Begin each line of output with the number of its PE: [3]", 0},
    {"hosts", KEY_HOSTS, "A:N,B:N", 0, "Start this number of PEs on each of these hosts", 0},
    {"launcher", KEY_LAUNCHER, "COMMAND", 0,
     "Command that runs a command on a host; both are appended to it [ssh]", 0},
    {NULL, 'x', "NAME[=VALUE]", 0, "Also set this variable of the environment for the PEs", 0},
    {"agent", KEY_AGENT, NULL, OPTION_HIDDEN, NULL, 0},
    {"record", KEY_RECORD, "FILE", 0,
     "If the job fails, keep the last 1,024 calls of each PE in FILE", 0},
    {0}};

static uint32_t pes_of(struct argp_state *state, const char *text)
{
    const struct args *args = state->input;
    uint64_t n = 0;

    if (args->n != 0)
        argp_error(state, "-n is %u and \"%.32s\"; give the number of PEs once", args->n, text);
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

static void read_hosts(struct argp_state *state, const char *text)
{
    char why[CH_WIRE_REASON_BYTES];

    if (args_read_hosts(text, state->input, why) != NULL) argp_error(state, "%s", why);
}

/* With a value, the variable is also set here, where the code that passes it on reads it. */
static void read_export(struct argp_state *state, char *text)
{
    struct args *args = state->input;
    char *equals = strchr(text, '=');
    bool is_set;

    if (equals == text || (equals == NULL && getenv(text) == NULL))
        argp_error(state, "-x is \"%s\"; expected a variable that is set, or NAME=VALUE", text);
    else if (args->n_exports == EXPORTS_MAX)
        argp_error(state, "-x comes more than %d times", EXPORTS_MAX);
    else
        args->exports[args->n_exports++] = text;
    if (equals == text || equals == NULL) return;
    *equals = '\0';
    is_set = setenv(text, equals + 1, 1) == 0;
    *equals = '=';
    if (!is_set)
        argp_error(state, "-x is \"%.*s=%s\", for which there is no memory",
                   (int)(equals - text), text, ch_variable_shown(text, equals + 1));
}

/* Without -n, all PEs of the hosts. */
static void check_hosts(struct argp_state *state, struct args *args)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < args->n_hosts; i++)
        n += args->hosts[i].n_pes;
    if (n > CH_WIRE_PES_MAX)
        argp_error(state, "--hosts has %llu PEs; expected at most %d", (unsigned long long)n,
                   CH_WIRE_PES_MAX);
    if (args->n == 0) args->n = (uint32_t)n;
    if (args->n_hosts > 0 && n != args->n)
        argp_error(state, "-n is %u, but --hosts has %llu PE%s on %u host%s; make them agree",
                   args->n, (unsigned long long)n, n == 1 ? "" : "s", args->n_hosts,
                   args->n_hosts == 1 ? "" : "s");
    if (args->n_hosts == 0 && args->launcher != ssh)
        argp_error(state, "--launcher is for --hosts, which is missing");
    if (args->launcher[strspn(args->launcher, " ")] == '\0')
        argp_error(state, "--launcher is empty; expected a command such as ssh");
}

static void check(struct argp_state *state, struct args *args)
{
    if (args->is_agent) return;
    if (args->command == NULL)
        argp_error(state, "the program is missing; give it as in: chorusrun -n 4 program");
    check_hosts(state, args);
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
    case KEY_HOSTS:
        read_hosts(state, text);
        return 0;
    case KEY_LAUNCHER:
        args->launcher = text;
        return 0;
    case 'x':
        read_export(state, text);
        return 0;
    case KEY_AGENT:
        args->is_agent = true;
        return 0;
    case KEY_RECORD:
        args->record = text;
        return 0;
    case ARGP_KEY_ARG:
        /* The program; the arguments after it are its own. */
        args->command = &state->argv[state->next - 1];
        state->next = state->argc;
        return 0;
    case ARGP_KEY_END:
        check(state, args);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Is `text` an option that argp knows? *takes_next_out: its value is the next argument. */
static bool is_known(const char *text, bool *takes_next_out)
{
    static const char *const alone[] = {"--tag",     "--agent", "--help", "--usage",
                                        "--version", "-?",      "-V"};
    static const char *const valued[] = {"--timeout", "--hosts", "--launcher", "--record"};

    *takes_next_out = strcmp(text, "-n") == 0 || strcmp(text, "-x") == 0;
    for (size_t i = 0; i < sizeof(valued) / sizeof(valued[0]); i++) {
        const size_t bytes = strlen(valued[i]);
        if (strncmp(text, valued[i], bytes) == 0 && text[bytes] == '=') return true;
        if (strcmp(text, valued[i]) == 0) *takes_next_out = true;
    }
    if (*takes_next_out || strncmp(text, "-n", 2) == 0 || strncmp(text, "-x", 2) == 0)
        return true;
    for (size_t i = 0; i < sizeof(alone) / sizeof(alone[0]); i++)
        if (strcmp(text, alone[i]) == 0) return true;
    return false;
}

/* argp names an unknown option, but not the known ones. -np, as in MPI, becomes -n. */
static void refuse_unknown(int argc, char **argv)
{
    static char n[] = "-n";

    for (int i = 1; i < argc && argv[i][0] == '-'; i++) {
        bool takes_next;

        if (strcmp(argv[i], "--") == 0) return;
        if (strcmp(argv[i], "-np") == 0) argv[i] = n;
        if (!is_known(argv[i], &takes_next)) {
            (void)fprintf(
                stderr,
                "chorusrun: unknown option \"%s\"; expected -n N, --timeout S, --record FILE, "
                "--tag, "
                "--hosts LIST, --launcher COMMAND, -x NAME, --help or --version, then the "
                "program\n",
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
        .doc = "Start a Chorus job: N PEs on this machine, or on several hosts, each running "
               "PROGRAM.\v"
               "When a PE fails, the job ends with its status."};

    *out = (struct args){.launcher = ssh};
    refuse_unknown(argc, argv);
    argp_err_exit_status = STATUS_USAGE;
    (void)argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, out);
}
