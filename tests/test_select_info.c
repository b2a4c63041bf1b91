/* SPDX-License-Identifier: Apache-2.0 */
/* chorus-info: its answers, its refusals and its exit codes. */
#include "select_fixture.h"

#include <sys/wait.h>

static char output[16384];

/* Run `environment chorus-info arguments`; both streams are in `output`. The exit code. */
static int run(const char *environment, const char *arguments)
{
    char command[1024];
    size_t used;
    FILE *in;

    (void)snprintf(command, sizeof(command), "%s %s 2>&1 %s", environment, CHORUS_INFO,
                   arguments);
    in = popen(command, "r");
    ck_assert_ptr_nonnull(in);
    used = fread(output, 1, sizeof(output) - 1, in);
    output[used] = '\0';
    return WEXITSTATUS(pclose(in));
}

/* clang-format off */
static const struct {
    const char *arguments, *message; /* message: after "chorus-info: " */
} refusals[] = {
    {"", "no command; expected explain, algorithms, options, version, start, links, check, job or record"},
    {"explan", "unknown command \"explan\"; expected explain, algorithms, options, version, start, links, check, job or record; did you mean \"explain\"?"},
    {"explain", "explain needs an argument; see --help"},
    {"version 2", "version takes no argument; see --help"},
    {"explain redcue --pes 2 --bytes 8", "unknown collective \"redcue\"; expected barrier, broadcast, fcollect, alltoall, reduce, reducescatter, collect, alltoalls, inscan, exscan, gather, scatter, reduce_to or alltoallv; did you mean \"reduce\"?"},
    {"explain allgather --pes 2 --bytes 8", "unknown collective \"allgather\"; expected barrier, broadcast, fcollect, alltoall, reduce, reducescatter, collect, alltoalls, inscan, exscan, gather, scatter, reduce_to or alltoallv; did you mean \"fcollect\"?"},
    {"explain reduce --pess 2 --bytes 8", "unknown option \"--pess\"; expected --help, --usage, --version, --bytes, --pes, --nodes, --beside, --dtype, --op, --in-place, --elsewhere, --machine, --gpu, --cores, --pe, --last, --json, --perfetto or --summary; did you mean \"--pes\"?"},
    {"explain reduce -n 2", "unknown option \"-n\"; expected --help, --usage, --version, --bytes, --pes, --nodes, --beside, --dtype, --op, --in-place, --elsewhere, --machine, --gpu, --cores, --pe, --last, --json, --perfetto or --summary"},
    {"explain reduce --bytes=8", "explain needs --pes; expected a number from 1, with K, M or G for powers of 1024"},
    {"explain reduce --pes 2", "explain needs --bytes; expected a number from 0, with K, M or G for powers of 1024"},
    {"explain reduce --pes 0 --bytes 8", "--pes is \"0\"; expected a number from 1, with K, M or G for powers of 1024"},
    {"explain reduce --pes -1 --bytes 8", "--pes is \"-1\"; expected a number from 1, with K, M or G for powers of 1024"},
    {"explain reduce --pes=-1 --bytes 8", "--pes is \"-1\"; expected a number from 1, with K, M or G for powers of 1024"},
    {"explain reduce --pes 2 --bytes --pes", "--bytes is \"--pes\"; expected a number from 0, with K, M or G for powers of 1024"},
    {"explain reduce --pes 2 --bytes=8 -1", "unknown option \"-1\"; expected --help, --usage, --version, --bytes, --pes, --nodes, --beside, --dtype, --op, --in-place, --elsewhere, --machine, --gpu, --cores, --pe, --last, --json, --perfetto or --summary"},
    {"explain reduce --pes 2 --bytes 64k", "--bytes is \"64k\"; expected a number from 0, with K, M or G for powers of 1024; did you mean \"64K\"?"},
    {"explain reduce --pes 2 --bytes 6", "--bytes is 6, which is not whole f32; expected a multiple of 4"},
    {"explain reduce --pes 2 --bytes 8 --dtype f23", "unknown dtype \"f23\"; expected i8, i16, ...; did you mean \"f32\"?"},
    {"explain reduce --pes 2 --bytes 8 --op summ", "unknown op \"summ\"; expected and, or, xor, min, max, sum or prod; did you mean \"sum\"?"},
    {"explain reduce --pes 2 --bytes 8 --machine cude", "unknown machine \"cude\"; expected host or cuda; did you mean \"cuda\"?"},
    {"explain reduce --pes 2 --bytes 8 --nodes 3", "--nodes is 3; expected at most --pes, 2"},
    {"explain reduce --pes 2 --bytes 8 --beside", "--beside is of GPUs; expected --machine cuda"},
    {"explain reduce --pes 2 --bytes 8 --cores mine", "unknown cores \"mine\"; expected own or shared"},
    {"explain reduce --pes 2 --bytes 8 --op xor", "--op xor does not take f32; expected an integer type as --dtype"},
    {"check /nonexistent/t.yaml", "/nonexistent/t.yaml: cannot be opened: No such file or directory; expected a rule table"},
    {"check /dev/null", "/dev/null: is not a regular file; expected a rule table"},
};
/* clang-format on */

/* If `expected` has "..." in a list, replace the names there in `text` by it. */
static void cut_list(char *text, const char *expected)
{
    const char *dots = strstr(expected, "...");
    char *rest = dots != NULL ? strstr(text, dots + strlen("...")) : NULL;

    if (rest == NULL || (size_t)(rest - text) < strlen(expected) - strlen(dots)) return;
    memmove(text + (dots - expected) + strlen("..."), rest, strlen(rest) + 1);
    memcpy(text + (dots - expected), "...", strlen("..."));
}

START_TEST(info__bad_command_line__one_message_and_exit_2)
{
    char expected[1024];

    ck_assert_int_eq(run("", refusals[_i].arguments), 2);
    (void)snprintf(expected, sizeof(expected), "chorus-info: %s\n", refusals[_i].message);
    cut_list(output, expected);
    ck_assert_str_eq(output, expected);
}
END_TEST

START_TEST(info__too_many_words__exit_2)
{
    ck_assert_int_eq(run("", "explain reduce broadcast"), 2);
    ck_assert_str_eq(output, "chorus-info: unexpected argument \"broadcast\"; see --help\n");
}
END_TEST

/* The way that goes first, and of each other what is missing. */
START_TEST(info__start__says_which_way_and_why_no_other)
{
    static const struct {
        const char *environment, *says;
    } ways[] = {
        {"A=b", "no:  torchrun             RANK is not set\n"},
        {"A=b", "yes: no launcher          this process is a job of one PE\n"},
        {"RANK=0 WORLD_SIZE=2 MASTER_ADDR=a",
         "no:  torchrun             MASTER_PORT is not set\n"},
        {"RANK=0 WORLD_SIZE=2 MASTER_ADDR=a MASTER_PORT=1",
         "yes: torchrun             RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT are set\n"},
        {"RANK=0 WORLD_SIZE=2 MASTER_ADDR=a MASTER_PORT=1",
         "no:  no launcher          an earlier one is used\n"},
        {"CHORUS_BOOT_FD=", "no:  chorusrun            CHORUS_BOOT_FD is empty\n"},
        {"CHORUS_BOOT_FD=9", "yes: chorusrun            CHORUS_BOOT_FD is set\n"},
        {"CHORUS_BOOT_FD=9 CHORUS_ROOT=a:1", "yes: chorusrun --hosts    CHORUS_ROOT is set\n"},
    };

    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        ck_assert_int_eq(run(ways[i].environment, "start"), 0);
        ck_assert_msg(strstr(output, ways[i].says) != NULL, "with %s no \"%s\" in: %s",
                      ways[i].environment, ways[i].says, output);
    }
}
END_TEST

START_TEST(info__bad_environment__exit_2)
{
    ck_assert_int_eq(run("CHORUS_ALGO=reduce:pull", "explain reduce --pes 2 --bytes 8"), 2);
    ck_assert_str_eq(output, with_algos("chorus-info: CHORUS_ALGO is \"reduce:pull\": unknown "
                                        "reduce algorithm \"pull\"; expected @reduce\n"));
    ck_assert_int_eq(run("CHORUS_TIMEOUT=soon", "options"), 2);
    ck_assert_str_eq(output,
                     "chorus-info: CHORUS_TIMEOUT is \"soon\"; expected seconds such as "
                     "30 or 0.5\n");
}
END_TEST

START_TEST(info__explain__plan_rule_and_what_was_passed)
{
    char environment[128], expected[1024];

    write_file(table_path, HEAD THREE_RULES);
    (void)snprintf(environment, sizeof(environment), "CHORUS_TUNING=%s", table_path);
    ck_assert_int_eq(
        run(environment, "explain reduce --bytes 64K --pes 4 --dtype f64 --cores own"), 0);
    (void)snprintf(
        expected, sizeof(expected),
        "reduce, 65536 bytes of f64, sum, 4 PEs on 1 node, reach mapped, cores own, machine "
        "host\n"
        "plan   two_shot:simple, ctas 1\n"
        "rule   %s:6: {coll: reduce, bytes: 4K..inf, dtype: [f64, f32], op: sum, algo: "
        "two_shot, from: fallback}\n"
        "steps  2 = 2\n"
        "wire   2 * (n - 1) * s = 98304 bytes\n"
        "passed %s:5: bytes 65536 is not in 64..1K\n",
        table_path, table_path);
    ck_assert_str_eq(output, expected);
}
END_TEST

/* Users of OpenSHMEM know the names that stand in its functions. */
START_TEST(info__explain_dtype__takes_the_names_of_the_api)
{
    static const char *const pairs[][2] = {
        {"float", "f32"}, {"double", "f64"}, {"int", "i32"}, {"long", "i64"},
        {"size", "u64"},  {"half", "f16"},   {"f80", "f80"},
    };
    char arguments[128], expected[64];

    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        (void)snprintf(arguments, sizeof(arguments),
                       "explain reduce --pes 2 --bytes 64 --dtype %s", pairs[i][0]);
        ck_assert_int_eq(run("", arguments), 0);
        (void)snprintf(expected, sizeof(expected), "reduce, 64 bytes of %s, sum, ",
                       pairs[i][1]);
        ck_assert_ptr_eq(strstr(output, expected), output);
    }
}
END_TEST

START_TEST(info__explain_in_place__offers_less)
{
    const char *force = "CHORUS_ALGO=reducescatter:all_pull";

    ck_assert_int_eq(run(force, "explain reducescatter --bytes 64 --pes 4"), 0);
    ck_assert_int_eq(
        run(force, "explain reducescatter --bytes 64 --pes 4 --in-place --cores shared"), 1);
    ck_assert_str_eq(
        output, "reducescatter, 64 bytes of f32, sum, 4 PEs on 1 node, reach mapped, cores "
                "shared, machine host\n"
                "chorus-info: reducescatter of f32 is forced to all_pull:simple, which needs "
                "apart: source and dest do not overlap; force another or none\n");
}
END_TEST

/* Without a GPU here: the table is that of GPUs, engines copy, and a team has more CTAs. */
START_TEST(info__explain_cuda__as_a_job_on_gpus)
{
    char environment[128], expected[1024];

    write_file(table_path,
               "version: 1\nmachine: m\nmeasured: never\nserves: {machine: cuda}\nrules:\n"
               "  - {coll: alltoall, algo: copy_engine, ctas: 100, from: fallback}\n"
               "  - {coll: alltoall, algo: all_push, proto: ll, ctas: 100, from: fallback}\n");
    (void)snprintf(environment, sizeof(environment), "CHORUS_TUNING=%s", table_path);
    ck_assert_int_eq(
        run(environment, "explain alltoall --bytes 8 --pes 3 --machine cuda --cores own"), 0);
    (void)snprintf(
        expected, sizeof(expected),
        "alltoall, 8 bytes of f32, 3 PEs on 1 node, reach mapped, cores own, machine cuda\n"
        "plan   copy_engine:simple, ctas 64\n"
        "rule   %s:6: {coll: alltoall, algo: copy_engine, ctas: 100, from: "
        "fallback}\n"
        "steps  1 = 1\n"
        "wire   (n - 1) * m = 16 bytes\n",
        table_path);
    ck_assert_str_eq(output, expected);
    ck_assert_int_eq(
        run(environment, "explain alltoall --bytes 8 --pes 3 --machine host --cores shared"),
        0);
    (void)snprintf(expected, sizeof(expected), "passed %s: machine host is not cuda\n",
                   table_path);
    ck_assert_ptr_nonnull(strstr(output, expected));
    ck_assert_ptr_nonnull(strstr(output, "\nrule   tuning/host.yaml:"));
}
END_TEST

/* Calls to GPUs of other hosts have as many CTAs as the pool in host memory has duplicates. */
START_TEST(info__explain_cuda_nodes__as_a_job_on_gpus_of_several_hosts)
{
    static const struct {
        const char *pes, *plan;
    } teams[] = {{"2", "\nplan   ring:simple, ctas 4\n"},
                 {"16", "\nplan   ring:simple, ctas 4\n"},
                 {"32", "\nplan   ring:simple, ctas 2\n"},
                 {"33", "\nplan   ring:simple, ctas 1\n"}};
    char environment[128], arguments[128];

    write_file(table_path,
               "version: 1\nmachine: m\nmeasured: never\n"
               "serves: {machine: cuda, reach: network}\nrules:\n"
               "  - {coll: fcollect, algo: ring, proto: simple, ctas: 8, from: fallback}\n");
    (void)snprintf(environment, sizeof(environment), "CHORUS_TUNING=%s", table_path);
    for (size_t i = 0; i < sizeof(teams) / sizeof(teams[0]); i++) {
        (void)snprintf(arguments, sizeof(arguments),
                       "explain fcollect --bytes 1M --pes %s --machine cuda --nodes 2",
                       teams[i].pes);
        ck_assert_int_eq(run(environment, arguments), 0);
        ck_assert_ptr_nonnull(strstr(output, " on 2 nodes, reach network, "));
        ck_assert_msg(strstr(output, teams[i].plan) != NULL, "%s", output);
    }
    ck_assert_int_eq(run("CHORUS_CTAS=1", arguments), 0);
    ck_assert_ptr_nonnull(strstr(output, "\nrule   tuning/cuda_far.yaml:"));
}
END_TEST

/* GPUs of one host without access to each other; groups of those with access count as nodes. */
START_TEST(info__explain_beside__as_a_job_on_gpus_without_access)
{
    const char *arguments = "explain fcollect --bytes 1M --pes 4 --machine cuda --beside";
    char environment[128];

    ck_assert_int_eq(run("", arguments), 0);
    ck_assert_ptr_nonnull(strstr(output, ", 4 PEs on 4 nodes, reach beside, "));
    ck_assert_ptr_nonnull(strstr(output, "\nplan   ring:simple, ctas 16\n"));
    ck_assert_ptr_nonnull(strstr(output, "\nrule   tuning/cuda_beside.yaml:"));
    ck_assert_int_eq(run("", "explain fcollect --bytes 1M --pes 4 --machine cuda --beside "
                             "--nodes 2"),
                     0);
    ck_assert_ptr_nonnull(strstr(output, ", 4 PEs on 2 nodes, reach beside, "));
    ck_assert_int_eq(run("", "explain fcollect --bytes 1M --pes 2 --machine cuda --beside "
                             "--nodes 1"),
                     0);
    ck_assert_ptr_nonnull(strstr(output, " on 1 node, reach mapped, "));
    write_file(table_path,
               "version: 1\nmachine: m\nmeasured: never\n"
               "serves: {machine: cuda, reach: beside}\nrules:\n"
               "  - {coll: fcollect, algo: ring, proto: simple, ctas: 32, from: fallback}\n");
    (void)snprintf(environment, sizeof(environment), "CHORUS_TUNING=%s", table_path);
    ck_assert_int_eq(run(environment, arguments), 0);
    ck_assert_msg(strstr(output, "\nplan   ring:simple, ctas 16\n") != NULL, "%s", output);
}
END_TEST

/* The shipped tables were measured on one GPU; a table for another GPU is for that alone. */
START_TEST(info__explain_gpu__as_a_job_on_that_one)
{
    const char *arguments = "explain reduce --bytes 64K --pes 2 --machine cuda --gpu 'A 100'";
    char environment[128];

    ck_assert_int_eq(run("", arguments), 0);
    ck_assert_ptr_nonnull(strstr(output, ", machine cuda, gpu A 100\n"));
    ck_assert_ptr_nonnull(strstr(output, "\nrule   tuning/h200x2.yaml:"));
    ck_assert_ptr_nonnull(strstr(
        output, "\ngpu    the table was measured on NVIDIA H200, not on A 100: a guess\n"));
    write_file(table_path, "version: 1\nmachine: m\nmeasured: never\ngpu: A 100\n"
                           "serves: {gpu: A 100}\nrules:\n"
                           "  - {coll: reduce, algo: two_shot, from: fallback}\n");
    (void)snprintf(environment, sizeof(environment), "CHORUS_TUNING=%s", table_path);
    ck_assert_int_eq(run(environment, arguments), 0);
    ck_assert_ptr_null(strstr(output, "\ngpu    "));
    ck_assert_ptr_nonnull(strstr(output, "\nplan   two_shot:simple"));
}
END_TEST

START_TEST(info__explain_cores__as_asked_or_as_here)
{
    ck_assert_int_eq(run("", "explain barrier --pes 1000000"), 0);
    ck_assert_ptr_nonnull(strstr(output, ", cores shared, machine host\n"));
    ck_assert_ptr_nonnull(strstr(output, "\nrule   tuning/host.yaml:"));
    ck_assert_int_eq(run("", "explain barrier --pes 1000000 --cores own"), 0);
    ck_assert_ptr_nonnull(strstr(output, "\nrule   tuning/host_own.yaml:"));
    ck_assert_ptr_nonnull(strstr(output, "passed tuning/host.yaml: cores own is not shared\n"));
    ck_assert_int_eq(run("", "explain barrier --pes 1"), 0);
    ck_assert_ptr_nonnull(strstr(output, ", cores own, machine host\n"));
}
END_TEST

/* Of four PEs on two hosts two are gateways, and each has one other to wait for. */
START_TEST(info__explain_nodes__as_a_job_on_several_hosts)
{
    ck_assert_int_eq(run("", "explain barrier --pes 4 --nodes 2 --cores own"), 0);
    ck_assert_ptr_nonnull(
        strstr(output, "barrier, 4 PEs on 2 nodes, reach network, cores own"));
    ck_assert_ptr_nonnull(strstr(output, "\nplan   hierarchical:signal, ctas 1\n"));
    ck_assert_ptr_nonnull(strstr(output, "\nrule   tuning/network_own.yaml:"));
    ck_assert_ptr_nonnull(strstr(output, "= 3\nwire "));
    ck_assert_ptr_nonnull(strstr(output, "= 2 signals\n"));
    ck_assert_int_eq(run("", "explain barrier --pes 2 --nodes 2 --cores own"), 0);
    ck_assert_ptr_nonnull(strstr(output, "\nplan   dissemination:signal"));
    /* Too many for a map of each. */
    ck_assert_int_eq(run("", "explain barrier --pes 1000000 --nodes 1000"), 0);
    ck_assert_ptr_nonnull(strstr(output, "\nsteps  ch_nodes_barrier_steps(h)\n"));
}
END_TEST

START_TEST(info__explain_bad_table__place_and_exit_2)
{
    char environment[128], expected[512];

    write_file(table_path, HEAD "  - {coll: reduce, algo: two_shot, from: hearsay}\n");
    (void)snprintf(environment, sizeof(environment), "CHORUS_TUNING=%s", table_path);
    ck_assert_int_eq(run(environment, "explain reduce --bytes 64K --pes 4"), 2);
    (void)snprintf(
        expected, sizeof(expected),
        "chorus-info: %s:5:42: from is \"hearsay\"; expected the measurement it rests "
        "on, \"file.csv:line\", or fallback\n",
        table_path);
    ck_assert_str_eq(output, expected);
}
END_TEST

START_TEST(info__algorithms__every_one_a_line)
{
    unsigned lines = 0;

    ck_assert_int_eq(run("", "algorithms"), 0);
    for (const char *at = output; (at = strchr(at, '\n')) != NULL; at++)
        lines++;
    ck_assert_uint_eq(lines, CH_ALGO_COUNT + 3); /* a heading, and where to read more */
    ck_assert_ptr_nonnull(strstr(output, "\n# The page algorithms.md "));
    ck_assert_ptr_nonnull(strstr(
        output, "\nreducescatter all_pull           simple   map,apart,symmetric_source 1"
                "                                     (n - 1) * s\n"));
}
END_TEST

START_TEST(info__options__with_the_values_in_force)
{
    ck_assert_int_eq(run("CHORUS_TIMEOUT=12", "options"), 0);
    ck_assert_ptr_nonnull(strstr(output, "\nCHORUS_TIMEOUT=12  (from the environment)\n    "));
    ck_assert_ptr_nonnull(strstr(output, "\nCHORUS_CTAS=0\n    "));
}
END_TEST

START_TEST(info__check__counts_the_rules)
{
    char arguments[128], expected[512];

    write_file(table_path, HEAD THREE_RULES);
    (void)snprintf(arguments, sizeof(arguments), "check %s", table_path);
    ck_assert_int_eq(run("", arguments), 0);
    (void)snprintf(expected, sizeof(expected),
                   "%s: 3 rules for m, measured never\n"
                   "    barrier       0\n    broadcast     0\n    fcollect      0\n"
                   "    alltoall      0\n    reduce        3\n    reducescatter 0\n"
                   "    collect       0\n    alltoalls     0\n    inscan        0\n"
                   "    exscan        0\n    gather        0\n    scatter       0\n"
                   "    reduce_to     0\n    alltoallv     0\n",
                   table_path);
    ck_assert_str_eq(output, expected);
}
END_TEST

/* Whatever the machine has, the heap that CHORUS_HEAP asks for is the one spoken of. */
/* Where measurements lie beside a table, each line that it cites is one of them. */
START_TEST(info__check__cited_lines_are_there)
{
    static const struct {
        const char *from, *says; /* null: accepted */
    } cites[] = {
        {"m.csv:2", NULL},
        {"mm.csv:2", "from names \"mm.csv\", which is neither in "},
        {"m.csv:3", "from is \"m.csv:3\", but that line does not begin with "
                    "\"reduce,two_shot,simple,1,\""},
        {"m.csv:1", "that line does not begin with"},
    };
    char arguments[128], csv[96], table[256];

    (void)snprintf(csv, sizeof(csv), "%s/m.csv", config);
    (void)snprintf(arguments, sizeof(arguments), "check %s", table_path);
    for (size_t i = 0; i < sizeof(cites) / sizeof(cites[0]); i++) {
        (void)snprintf(table, sizeof(table),
                       HEAD "  - {coll: reduce, algo: two_shot, from: \"%s\"}\n",
                       cites[i].from);
        write_file(table_path, table);
        ck_assert_msg(run("", arguments) == 0, "without measurements: %s", output);
        write_file(csv, "coll,algo\nreduce,two_shot,simple,1,f32\n");
        ck_assert_int_eq(run("", arguments), cites[i].says == NULL ? 0 : 2);
        ck_assert_msg(cites[i].says == NULL || strstr(output, cites[i].says) != NULL, "%s",
                      output);
        (void)unlink(csv);
    }
}
END_TEST

START_TEST(info__version__says_which_kernels_and_heap_and_why)
{
    ck_assert_int_eq(run("", "version"), 0);
    ck_assert_ptr_nonnull(
        strstr(output, "\nkernels: " CHORUS_KERNELS "\nreductions on hosts: "));
    ck_assert_ptr_nonnull(strstr(output, "\nheap: "));
    ck_assert_int_eq(run("CHORUS_HEAP=host ", "version"), 0);
    ck_assert_ptr_nonnull(strstr(output, "heap: host, because CHORUS_HEAP is host; "));
    ck_assert_int_eq(run("CHORUS_HEAP=cuda ", "version"), 0);
    ck_assert(strstr(output, "heap: cuda, if every PE has a GPU; the first one's is GPU ") ||
              strstr(output, "heap: none, because CHORUS_HEAP is cuda: "));
    ck_assert_int_eq(run("CHORUS_HEAP=auto ", "version"), 0);
    ck_assert(strstr(output, "heap: cuda, if") || strstr(output, "heap: host: "));
    ck_assert_int_eq(run("CHORUS_HEAP=gpu ", "version"), 2);
    ck_assert_str_eq(output,
                     "chorus-info: CHORUS_HEAP is \"gpu\"; expected auto, host or cuda\n");
}
END_TEST

START_TEST(info__version_option__as_of_other_programs)
{
    ck_assert_int_eq(run("", "--version"), 0);
    ck_assert_str_eq(output, "chorus-info (chorus) " CHORUS_VERSION "\n");
}
END_TEST

START_TEST(info__mistyped_variable__warns)
{
    ck_assert_int_eq(run("CHORUS_TIMOUT=3 CHORUS_PE=1 CHORUS_OF_ANOTHER=1", "options"), 0);
    ck_assert_ptr_nonnull(strstr(
        output,
        " warn: CHORUS_TIMOUT is not a variable of Chorus; did you mean CHORUS_TIMEOUT?\n"));
    ck_assert_ptr_null(strstr(output, "CHORUS_PE is no"));
    ck_assert_ptr_null(strstr(output, "CHORUS_OF_ANOTHER is no"));
    ck_assert_int_eq(run("CHORUS_TUNNING=x", "explain reduce --pes 2 --bytes 8"), 0);
    ck_assert_ptr_nonnull(strstr(output, "did you mean CHORUS_TUNING?"));
}
END_TEST

START_TEST(info__answer_cannot_be_written__says_so)
{
    ck_assert_int_eq(run("", "version >/dev/full"), 2);
    ck_assert_str_eq(output, "chorus-info: cannot write the output\n");
}
END_TEST

static void add(TCase *tests)
{
    tcase_add_loop_test(tests, info__bad_command_line__one_message_and_exit_2, 0,
                        (int)(sizeof(refusals) / sizeof(refusals[0])));
    tcase_add_test(tests, info__too_many_words__exit_2);
    tcase_add_test(tests, info__start__says_which_way_and_why_no_other);
    tcase_add_test(tests, info__bad_environment__exit_2);
    tcase_add_test(tests, info__explain__plan_rule_and_what_was_passed);
    tcase_add_test(tests, info__explain_dtype__takes_the_names_of_the_api);
    tcase_add_test(tests, info__explain_in_place__offers_less);
    tcase_add_test(tests, info__explain_cuda__as_a_job_on_gpus);
    tcase_add_test(tests, info__explain_cuda_nodes__as_a_job_on_gpus_of_several_hosts);
    tcase_add_test(tests, info__explain_beside__as_a_job_on_gpus_without_access);
    tcase_add_test(tests, info__explain_gpu__as_a_job_on_that_one);
    tcase_add_test(tests, info__explain_cores__as_asked_or_as_here);
    tcase_add_test(tests, info__explain_nodes__as_a_job_on_several_hosts);
    tcase_add_test(tests, info__explain_bad_table__place_and_exit_2);
    tcase_add_test(tests, info__algorithms__every_one_a_line);
    tcase_add_test(tests, info__options__with_the_values_in_force);
    tcase_add_test(tests, info__check__counts_the_rules);
    tcase_add_test(tests, info__check__cited_lines_are_there);
    tcase_add_test(tests, info__version__says_which_kernels_and_heap_and_why);
    tcase_add_test(tests, info__version_option__as_of_other_programs);
    tcase_add_test(tests, info__mistyped_variable__warns);
    tcase_add_test(tests, info__answer_cannot_be_written__says_so);
}

int main(void)
{
    return run_tests("select info", add);
}
