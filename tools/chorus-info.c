/* SPDX-License-Identifier: Apache-2.0 */
/* chorus-info: the library's settings and algorithms, and the reasons of its choices. Only the
 * command links is run as a job. */
#include "chorus-info.h"

#include "base/text.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The C library reads this name. */
__attribute__((visibility("default"))) const char *argp_program_version =
    "chorus-info (chorus) " CHORUS_VERSION;

enum { EXIT_UNSERVED = 1, EXIT_BAD_INPUT = 2 };
enum {
    KEY_BYTES = 0x100,
    KEY_PES,
    KEY_NODES,
    KEY_BESIDE,
    KEY_DTYPE,
    KEY_OP,
    KEY_IN_PLACE,
    KEY_ELSEWHERE,
    KEY_MACHINE,
    KEY_GPU,
    KEY_CORES,
    KEY_RECORD, /* from here on: of record; KEY_JSON also of links */
    KEY_PE = KEY_RECORD,
    KEY_LAST,
    KEY_JSON,
    KEY_PERFETTO,
    KEY_SUMMARY
}; /* no short options */

/* clang-format off */
/* Commands: name, takes an operand. */
#define COMMAND_LIST(X) \
    X(explain, true) X(algorithms, false) X(options, false) X(version, false) X(start, false) X(links, false) \
    X(check, true) X(job, true) X(record, true)

static const struct argp_option options[] = {
    {"bytes", KEY_BYTES, "BYTES", 0, "explain: bytes of the message, such as 64K", 0},
    {"pes", KEY_PES, "PES", 0, "explain: PEs of the team", 0},
    {"nodes", KEY_NODES, "NODES", 0, "explain: number of hosts of these PEs (1)", 0},
    {"beside", KEY_BESIDE, NULL, 0, "explain: GPUs of one host without access to each other; NODES are groups with access (PES)", 0},
    {"dtype", KEY_DTYPE, "TYPE", 0, "explain: element type, as f32 or float (f32)", 0},
    {"op", KEY_OP, "OP", 0, "explain: operator of a reduction (sum)", 0},
    {"in-place", KEY_IN_PLACE, NULL, 0, "explain: source and dest are the same memory", 0},
    {"elsewhere", KEY_ELSEWHERE, NULL, 0, "explain: source and dest are outside the symmetric heap", 0},
    {"machine", KEY_MACHINE, "CLASS", 0, "explain: host (default) or cuda, for a heap on GPUs", 0},
    {"gpu", KEY_GPU, "NAME", 0, "explain: name of the GPUs, as in rule tables (the GPU here)", 0},
    {"cores", KEY_CORES, "CORES", 0, "explain: own if each PE has a core, or shared (as on this machine)", 0},
    {"pe", KEY_PE, "PES", 0, "record: list the calls of these PEs, such as 0,2; may be repeated (all)", 0},
    {"last", KEY_LAST, "N", 0, "record: list the last N calls of each PE (all that it has)", 0},
    {"json", KEY_JSON, NULL, 0, "links, record: print JSON", 0},
    {"perfetto", KEY_PERFETTO, "FILE", 0, "record: write a timeline for Perfetto (Chrome's JSON trace format) instead of the list", 0},
    {"summary", KEY_SUMMARY, NULL, 0, "record: do not list calls", 0},
    {0},
};
/* clang-format on */

static const char *const command_names[] = {
#define X(name, has_operand) #name,
    COMMAND_LIST(X)
#undef X
};

static const bool command_has_operand[] = {
#define X(name, has_operand) has_operand,
    COMMAND_LIST(X)
#undef X
};

static chorus_status (*const command_runs[])(const struct info_args *args) = {
#define X(name, has_operand) info_##name,
    COMMAND_LIST(X)
#undef X
};

enum { COMMANDS = sizeof(command_names) / sizeof(command_names[0]) };

/* Options of record, and of links. */
static error_t parse_record(int key, char *text, struct info_args *args,
                            struct argp_state *state)
{
    args->has_record_option |= key != KEY_JSON;
    switch (key) {
    case KEY_PE:
        if (args->n_shown == INFO_SHOWN_MAX)
            argp_failure(state, EXIT_BAD_INPUT, 0,
                         "--pe is given more than %d times; give a list such as 0,2",
                         INFO_SHOWN_MAX);
        args->shown[args->n_shown++] = text;
        return 0;
    case KEY_LAST:
        args->last = text;
        return 0;
    case KEY_JSON:
        args->is_json = true;
        return 0;
    case KEY_PERFETTO:
        args->trace = text;
        return 0;
    default:
        args->is_summary = true;
        return 0;
    }
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    struct info_args *args = state->input;

    if (key >= KEY_RECORD && key <= KEY_SUMMARY) return parse_record(key, text, args, state);
    switch (key) {
    case KEY_BYTES:
        args->bytes = text;
        return 0;
    case KEY_PES:
        args->pes = text;
        return 0;
    case KEY_DTYPE:
        args->dtype = text;
        return 0;
    case KEY_NODES:
        args->nodes = text;
        return 0;
    case KEY_BESIDE:
        args->is_beside = true;
        return 0;
    case KEY_OP:
        args->op = text;
        return 0;
    case KEY_IN_PLACE:
        args->is_in_place = true;
        return 0;
    case KEY_ELSEWHERE:
        args->is_elsewhere = true;
        return 0;
    case KEY_MACHINE:
        args->machine = text;
        return 0;
    case KEY_GPU:
        args->gpu = text;
        return 0;
    case KEY_CORES:
        args->cores = text;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 1)
            argp_failure(state, EXIT_BAD_INPUT, 0, "unexpected argument \"%s\"; see --help",
                         text);
        *(state->arg_num == 0 ? &args->command : &args->operand) = text;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* argp reports an unknown option, but not the known ones, nor the nearest. *takes_next_out: the
 * next argument is its value, whatever it looks like. */
static bool knows_option(const char *word, bool *takes_next_out, struct ch_reason *why)
{
    const size_t length = strcspn(word, "=");
    const char *names[sizeof(options) / sizeof(options[0]) + 3] = {"--help", "--usage",
                                                                   "--version"};
    char dashed[sizeof(options) / sizeof(options[0])][32], found[64];
    size_t count = 3, index;

    for (size_t i = 0; options[i].name != NULL; i++) {
        (void)snprintf(dashed[i], sizeof(dashed[i]), "--%s", options[i].name);
        names[count++] = dashed[i];
    }
    (void)snprintf(found, sizeof(found), "%.*s", (int)length, word);
    if (!ch_name_find("option", names, count, found, &index, why)) return false;
    *takes_next_out = index >= 3 && options[index - 3].arg != NULL && word[length] == '\0';
    return true;
}

static int fail(const char *message)
{
    (void)fprintf(stderr, "chorus-info: %s\n", message);
    return EXIT_BAD_INPUT;
}

static int run(const struct info_args *args)
{
    chorus_status status;
    struct ch_reason why;
    size_t i;

    if (args->command == NULL) {
        ch_why_set(&why, "no command; expected ");
        ch_why_list(&why, command_names, COMMANDS);
        return fail(why.text);
    }
    if (!ch_name_find("command", command_names, COMMANDS, args->command, &i, &why))
        return fail(why.text);
    if (command_has_operand[i] != (args->operand != NULL)) {
        ch_why_set(&why, "%s %s; see --help", args->command,
                   args->operand == NULL ? "needs an argument" : "takes no argument");
        return fail(why.text);
    }
    if (args->has_record_option && command_runs[i] != info_record)
        return fail("--pe, --last, --perfetto and --summary are options of record");
    if (args->is_json && command_runs[i] != info_record && command_runs[i] != info_links)
        return fail("--json is an option of links and record");
    status = command_runs[i](args);
    if (status == CHORUS_OK) return EXIT_SUCCESS;
    (void)fflush(stdout); /* the output of explain precedes the message of its failure */
    (void)fail(ch_error_message());
    return status == CHORUS_ERR_UNSUPPORTED ? EXIT_UNSERVED : EXIT_BAD_INPUT;
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        options,
        parse_option,
        "explain COLL | algorithms | options | version | start | links | check FILE | job PID "
        "| "
        "record FILE",
        "Print settings and algorithms of Chorus, and why a call gets its algorithm.\v"
        "explain COLL   the plan for a call, its rule, and why earlier rules did not apply\n"
        "algorithms     every algorithm, with its needs and costs\n"
        "options        the environment variables, with their current values\n"
        "version        the version, the kernels in the library, the instructions of "
        "reductions, and where objects of a job "
        "started here would be\n"
        "start          how this process would find the other PEs of its job, and why\n"
        "links          as the program of a job: how each PE reaches each other PE, and why\n"
        "check FILE     read a rule table and print the number of its rules\n"
        "job PID        what each PE of a running job is doing; PID is that of chorusrun, or "
        "of a PE\n"
        "record FILE    the last calls of each PE of a job, from chorusrun --record, who waits "
        "for whom, and where PEs differ",
        NULL,
        NULL,
        NULL};
    struct info_args args = {0};
    struct ch_reason why;
    int code;

    argp_err_exit_status = EXIT_BAD_INPUT;
    (void)setvbuf(stderr, NULL, _IOLBF, 0); /* PEs write a line at a time */
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        bool takes_next = false;

        if (argv[i][0] == '-' && !knows_option(argv[i], &takes_next, &why))
            return fail(why.text);
        i += takes_next;
    }
    if (argp_parse(&argp, argc, argv, 0, NULL, &args) != 0) return EXIT_BAD_INPUT;
    code = run(&args);
    if (fclose(stdout) != 0 && code == EXIT_SUCCESS) return fail("cannot write the output");
    return code;
}
