/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of rule tables: what it accepts, and every refusal with its place and words. */
#include "select/select.h"

#include "select_names.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* They take more addresses than a test may leave them. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { HAS_SANITIZER = 1 };
#else
enum { HAS_SANITIZER = 0 };
#endif

#define HEAD "version: 1\nmachine: m\nmeasured: never\nrules:\n"
#define SERVES(filter) "version: 1\nmachine: m\nmeasured: never\nserves: " filter "\nrules:\n"
#define LAST "  - {coll: reduce, algo: two_shot, from: fallback}\n"

static char path[32];

static void make_path(void)
{
    int fd;

    (void)snprintf(path, sizeof(path), "/tmp/chorus-table-XXXXXX");
    fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    (void)close(fd);
}

static void drop_path(void)
{
    (void)unlink(path);
}

/* Read and check a table. */
static chorus_status read_text(const char *text, struct ch_table **table_out)
{
    FILE *out = fopen(path, "w");
    chorus_status status;

    ck_assert_ptr_nonnull(out);
    ck_assert_int_ge(fputs(text, out), 0);
    ck_assert_int_eq(fclose(out), 0);
    status = ch_table_read(path, table_out);
    if (status != CHORUS_OK) return status;
    status = ch_table_check(*table_out);
    if (status != CHORUS_OK) {
        ch_table_free(*table_out);
        *table_out = NULL;
    }
    return status;
}

struct refusal {
    const char *text, *message; /* message: after the path */
};

/* clang-format off */
static const struct refusal refusals[] = {
    /* The document. */
    {"", ":1:1: the file is empty; expected a mapping with version, machine, measured and rules"},
    {"# nothing\n", ":1:1: the file is empty; expected a mapping with version, machine, measured and rules"},
    {"- 1\n", ":1:1: the table is not a mapping; expected key: value pairs"},
    {"reduce\n", ":1:1: the table is not a mapping; expected key: value pairs"},
    {"version: 1\nrules: [\n", ":3:1: not YAML: did not find expected node content while parsing a flow node; expected a mapping with version, machine, measured and rules"},
    {HEAD LAST "---\nversion: 1\n", ":7:1: a second document; expected one, a mapping with version, machine, measured and rules"},
    {HEAD LAST "---\nversion: [\n", ":8:1: not YAML: did not find expected node content while parsing a flow node; expected a mapping with version, machine, measured and rules"},
    {"version: 2\nmachine: m\nmeasured: n\nrules:\n" LAST, ":1:10: version is \"2\"; expected 1, the only one there is"},
    {"version: [1]\nmachine: m\nmeasured: n\nrules:\n" LAST, ":1:10: version is \"\"; expected 1, the only one there is"},
    {"machine: m\nmeasured: n\nrules:\n" LAST, ":1:1: table without version; expected a mapping with version, machine, measured and rules"},
    {"version: 1\nmeasured: n\nrules:\n" LAST, ":1:1: table without machine; expected a mapping with version, machine, measured and rules"},
    {"version: 1\nmachine: m\nrules:\n" LAST, ":1:1: table without measured; expected a mapping with version, machine, measured and rules"},
    {"version: 1\nmachine: m\nmeasured: n\n", ":1:1: table without rules; expected a mapping with version, machine, measured and rules"},
    {"version: 1\nmachine: [m]\nmeasured: n\nrules:\n" LAST, ":2:10: machine is not text; expected a line for the reader"},
    {"version: 1\nmachine: m\nmeasured: {n: 1}\nrules:\n" LAST, ":3:11: measured is not text; expected a line for the reader"},
    {"version: 1\nmachine: m\nmeasured: n\ngpu: [H200]\nrules:\n" LAST, ":4:6: gpu is not text; expected a line for the reader"},
    {HEAD "  []\n", ":5:3: rules is empty; expected a list of rules"},
    {HEAD "  reduce\n", ":5:3: rules is not a list; expected a list of rules"},
    {"version: 1\nmachine: m\nmeasured: n\nrule:\n" LAST, ":4:1: unknown key of a table \"rule\"; expected version, machine, measured, gpu, serves or rules; did you mean \"rules\"?"},
    {"version: 1\nversion: 1\nmachine: m\nmeasured: n\nrules:\n" LAST, ":2:1: version is given twice; expected it once in a table"},
    {SERVES("cuda") LAST, ":4:9: the filter is not a mapping; expected key: value pairs"},
    {SERVES("{machines: cuda}") LAST, ":4:10: unknown key of a filter \"machines\"; expected pes, reach, cores, machine or gpu; did you mean \"machine\"?"},
    {SERVES("{pes: 3..3}") LAST, ":4:15: pes 3..3 is empty; expected lo below hi, which is the first value not covered"},
    {SERVES("{gpu: [H200]}") LAST, ":4:15: gpu is not a word; expected a GPU's name"},
    {"[a]: 1\n", ":1:1: a key of the table is not a word; expected one"},

    /* Text that editors and YAML see differently, or that takes long. */
    {"version: 1\rmachine: m\r", ":1:11: a line ends in another character than LF; expected lines that end in LF, or in CR LF"},
    {HEAD LAST "# one\xc2\x85# two\n", ":6:6: a line ends in another character than LF; expected lines that end in LF, or in CR LF"},
    {HEAD LAST "# one\xe2\x80\xa8# two\n", ":6:6: a line ends in another character than LF; expected lines that end in LF, or in CR LF"},
    {"\xff\xfev", ":1:1: UTF-16; expected UTF-8"},
    {HEAD "# \xff\n", ":5:3: not YAML: invalid leading UTF-8 octet; expected a mapping with version, machine, measured and rules"},
    {HEAD "  - {coll: reduce, gpu: \"H\\0X\", algo: two_shot, from: fallback}\n" LAST, ":5:25: \"H\" goes on after a NUL; expected text without"},
    {"version: 1\nmachine: \"\\0\"\nmeasured: n\nrules:\n" LAST, ":2:10: \"\" goes on after a NUL; expected text without"},
    {HEAD "  - {coll: reduce, \"algo\\0\": two_shot, from: fallback}\n", ":5:20: \"algo\" goes on after a NUL; expected text without"},
    {HEAD "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", ":5:65: too many brackets in one another; expected a mapping with version, machine, measured and rules"},

    /* Keys and names of a rule. */
    {HEAD "  - reduce\n", ":5:5: the rule is not a mapping; expected key: value pairs"},
    {HEAD "  - {coll: reduce, byte: 0..8, algo: two_shot, from: fallback}\n", ":5:20: unknown key of a rule \"byte\"; expected coll, bytes, pes, nodes, reach, cores, dtype, op, machine, gpu, algo, proto, ctas, radix or from; did you mean \"bytes\"?"},
    {HEAD "  - {coll: reduce, pes: 2, pes: 3, algo: two_shot, from: fallback}\n", ":5:28: pes is given twice; expected it once in a rule"},
    {HEAD "  - {algo: two_shot, from: fallback}\n", ":5:5: rule without coll; expected the collective the rule is for"},
    {HEAD "  - {coll: redcue, algo: two_shot, from: fallback}\n", ":5:12: unknown collective \"redcue\"; expected barrier, broadcast, fcollect, alltoall, reduce, reducescatter, collect, alltoalls, inscan, exscan, gather, scatter, reduce_to or alltoallv; did you mean \"reduce\"?"},
    {HEAD "  - {coll: quux, algo: two_shot, from: fallback}\n", ":5:12: unknown collective \"quux\"; expected barrier, broadcast, fcollect, alltoall, reduce, reducescatter, collect, alltoalls, inscan, exscan, gather, scatter, reduce_to or alltoallv"},
    {HEAD "  - {coll: , algo: two_shot, from: fallback}\n", ":5:12: coll is not a word; expected the collective the rule is for"},
    {HEAD "  - {coll: reduce, from: fallback}\n", ":5:5: rule without algo; expected the algorithm to use"},
    {HEAD "  - {coll: reduce, algo: twoshot, from: fallback}\n", ":5:26: unknown reduce algorithm \"twoshot\"; expected @reduce; did you mean \"two_shot\"?"},
    {HEAD "  - {coll: reduce, algo: pull, from: fallback}\n", ":5:26: unknown reduce algorithm \"pull\"; expected @reduce"},
    {HEAD "  - {coll: reduce, algo: one_shot, from: fallback}\n", ":5:26: one_shot has several protocols and none is given; expected simple, ll or ll128"},
    {HEAD "  - {coll: reduce, algo: one_shot, proto: l128, from: fallback}\n", ":5:43: unknown protocol of one_shot \"l128\"; expected simple, ll or ll128; did you mean \"ll128\"?"},
    {HEAD "  - {coll: reduce, algo: two_shot, proto: ll, from: fallback}\n", ":5:43: unknown protocol of two_shot \"ll\"; expected simple"},
    {HEAD "  - {coll: reduce, algo: two_shot, proto: [simple], from: fallback}\n", ":5:43: proto is not a word; expected a protocol"},
    {HEAD "  - {coll: reduce, dtype: float, algo: two_shot, from: fallback}\n", ":5:27: unknown dtype \"float\"; expected @types"},
    {HEAD "  - {coll: reduce, dtype: [f32, f23], algo: two_shot, from: fallback}\n", ":5:33: unknown dtype \"f23\"; expected @types; did you mean \"f32\"?"},
    {HEAD "  - {coll: reduce, op: add, algo: two_shot, from: fallback}\n", ":5:24: unknown op \"add\"; expected and, or, xor, min, max, sum or prod; did you mean \"and\"?"},
    {HEAD "  - {coll: reduce, op: [], algo: two_shot, from: fallback}\n", ":5:24: op is an empty list; expected at least one name"},
    {HEAD "  - {coll: reduce, op: [[sum]], algo: two_shot, from: fallback}\n", ":5:25: op is not a name; expected one or a list of them"},
    {HEAD "  - {coll: reduce, reach: maped, algo: two_shot, from: fallback}\n", ":5:27: unknown reach \"maped\"; expected self, mapped, network or beside; did you mean \"mapped\"?"},
    {HEAD "  - {coll: reduce, cores: mine, algo: two_shot, from: fallback}\n", ":5:27: unknown cores \"mine\"; expected own or shared"},
    {SERVES("{cores: owned}") LAST, ":4:17: unknown cores \"owned\"; expected own or shared; did you mean \"own\"?"},
    {HEAD "  - {coll: reduce, machine: [host], algo: two_shot, from: fallback}\n", ":5:29: machine is not a word; expected a machine class, such as host"},

    /* Numbers. */
    {HEAD "  - {coll: reduce, bytes: 16K..0, algo: two_shot, from: fallback}\n", ":5:27: bytes 16K..0 is inverted; expected lo below hi, which is the first value not covered"},
    {HEAD "  - {coll: reduce, pes: 8..8, algo: two_shot, from: fallback}\n", ":5:25: pes 8..8 is empty; expected lo below hi, which is the first value not covered"},
    {HEAD "  - {coll: reduce, bytes: 0..64k, algo: two_shot, from: fallback}\n", ":5:27: bytes \"0..64k\" is not a range; expected lo..hi or one number, such as 0..16K, 1M..inf or 8; did you mean \"64K\"?"},
    {HEAD "  - {coll: reduce, bytes: 64KiB..1M, algo: two_shot, from: fallback}\n", ":5:27: bytes \"64KiB..1M\" is not a range; expected lo..hi or one number, such as 0..16K, 1M..inf or 8; did you mean \"64K\"?"},
    {HEAD "  - {coll: reduce, bytes: inf, algo: two_shot, from: fallback}\n", ":5:27: bytes \"inf\" is not a range; expected lo..hi or one number, such as 0..16K, 1M..inf or 8"},
    {HEAD "  - {coll: reduce, bytes: ..8, algo: two_shot, from: fallback}\n", ":5:27: bytes \"..8\" is not a range; expected lo..hi or one number, such as 0..16K, 1M..inf or 8"},
    {HEAD "  - {coll: reduce, bytes: 18446744073709551616, algo: two_shot, from: fallback}\n", ":5:27: bytes \"18446744073709551616\" is not a range; expected lo..hi or one number, such as 0..16K, 1M..inf or 8"},
    {HEAD "  - {coll: reduce, nodes: -1, algo: two_shot, from: fallback}\n", ":5:27: nodes \"-1\" is not a range; expected lo..hi or one number, such as 0..16K, 1M..inf or 8"},
    {HEAD "  - {coll: reduce, pes: [2, 8], algo: two_shot, from: fallback}\n", ":5:25: pes is not a word; expected lo..hi or one number, such as 0..16K, 1M..inf or 8"},
    {HEAD "  - {coll: reduce, algo: two_shot, ctas: 0, from: fallback}\n", ":5:42: ctas is \"0\"; expected a whole number from 1 to 4294967295"},
    {HEAD "  - {coll: reduce, algo: two_shot, ctas: two, from: fallback}\n", ":5:42: ctas is \"two\"; expected a whole number from 1 to 4294967295"},
    {HEAD "  - {coll: barrier, algo: dissemination, radix: 1, from: fallback}\n", ":5:49: radix is \"1\"; expected a whole number from 2 to 64"},
    {HEAD "  - {coll: reduce, algo: two_shot, radix: 2, from: fallback}\n", ":5:43: radix for two_shot, which takes none; expected a rule without it"},

    /* Evidence. */
    {HEAD "  - {coll: reduce, algo: two_shot}\n", ":5:5: rule without from; expected the measurement it rests on, \"file.csv:line\", or fallback"},
    {HEAD "  - {coll: reduce, algo: two_shot, from: guess}\n", ":5:42: from is \"guess\"; expected the measurement it rests on, \"file.csv:line\", or fallback"},
    {HEAD "  - {coll: reduce, algo: two_shot, from: \"host.csv:0\"}\n", ":5:42: from is \"host.csv:0\"; expected the measurement it rests on, \"file.csv:line\", or fallback"},
    {HEAD "  - {coll: reduce, algo: two_shot, from: \"host.csv:1x\"}\n", ":5:42: from is \"host.csv:1x\"; expected the measurement it rests on, \"file.csv:line\", or fallback"},
    {HEAD "  - {coll: reduce, algo: two_shot, from: \"host.txt:1\"}\n", ":5:42: from is \"host.txt:1\"; expected the measurement it rests on, \"file.csv:line\", or fallback"},

    /* Rules that no request can reach. */
    {HEAD LAST "  - {coll: reduce, bytes: 0..8, algo: two_shot, from: fallback}\n", ":6:5: no request can reach this rule: line 5 takes all that it covers; expected a rule that some request is left for: remove it or move it up"},
    {HEAD "  - {coll: reduce, bytes: 0..8, algo: two_shot, from: fallback}\n"
          "  - {coll: reduce, bytes: 4..16, algo: two_shot, from: fallback}\n"
          "  - {coll: reduce, bytes: 2..12, pes: 4, algo: two_shot, from: fallback}\n" LAST, ":7:5: no request can reach this rule: those before it take all that it covers; expected a rule that some request is left for: remove it or move it up"},
    {HEAD "  - {coll: reduce, pes: 2..4, dtype: [f32, f16], algo: two_shot, from: fallback}\n"
          "  - {coll: reduce, pes: 4..8, dtype: [f32, f64], algo: two_shot, from: fallback}\n"
          "  - {coll: reduce, pes: 2..8, dtype: f32, op: [sum, min], algo: two_shot, from: fallback}\n" LAST, ":7:5: no request can reach this rule: those before it take all that it covers; expected a rule that some request is left for: remove it or move it up"},
    {HEAD "  - {coll: reduce, reach: self, algo: two_shot, from: fallback}\n"
          "  - {coll: reduce, reach: [mapped, network], op: [sum, min, max], algo: two_shot, from: fallback}\n"
          "  - {coll: reduce, op: [sum, max], algo: two_shot, from: fallback}\n" LAST, ":7:5: no request can reach this rule: those before it take all that it covers; expected a rule that some request is left for: remove it or move it up"},
    {HEAD "  - {coll: reduce, machine: host, algo: two_shot, from: fallback}\n"
          "  - {coll: reduce, machine: host, nodes: 1, algo: two_shot, from: fallback}\n" LAST, ":6:5: no request can reach this rule: line 5 takes all that it covers; expected a rule that some request is left for: remove it or move it up"},
    {HEAD "  - {coll: reduce, algo: recursive_exchange, proto: ll, from: fallback}\n"
          "  - {coll: reduce, dtype: f32, algo: two_shot, from: fallback}\n"
          "  - {coll: reduce, bytes: 0..8, algo: recursive_exchange, proto: simple, from: fallback}\n" LAST, ":7:5: no request can reach this rule: line 5 takes all that it covers; expected a rule that some request is left for: remove it or move it up"},
    {HEAD "  - {coll: reduce, dtype: f32, op: xor, algo: two_shot, from: fallback}\n" LAST, ":5:5: no request can have what this rule asks for; expected types, operators and ranges that the collective and the algorithm allow"},
    {HEAD "  - {coll: reduce, dtype: [f16, bf16], algo: recursive_exchange, proto: ll, from: fallback}\n" LAST, ":5:5: no request can have what this rule asks for; expected types, operators and ranges that the collective and the algorithm allow"},
    {HEAD "  - {coll: broadcast, op: max, algo: pull, from: fallback}\n" LAST, ":5:5: no request can have what this rule asks for; expected types, operators and ranges that the collective and the algorithm allow"},
    {HEAD "  - {coll: barrier, bytes: 1..inf, algo: dissemination, from: fallback}\n" LAST, ":5:5: no request can have what this rule asks for; expected types, operators and ranges that the collective and the algorithm allow"},
    {HEAD "  - {coll: reduce, pes: 0, algo: two_shot, from: fallback}\n" LAST, ":5:5: no request can have what this rule asks for; expected types, operators and ranges that the collective and the algorithm allow"},

    {SERVES("{pes: 1..3}") "  - {coll: reduce, pes: 3..8, algo: two_shot, from: fallback}\n" LAST, ":6:5: no request can have what this rule asks for; expected types, operators and ranges that the collective and the algorithm allow"},
    {SERVES("{cores: own}") "  - {coll: reduce, cores: shared, algo: two_shot, from: fallback}\n" LAST, ":6:5: no request can have what this rule asks for; expected types, operators and ranges that the collective and the algorithm allow"},
    {HEAD "  - {coll: reduce, cores: own, algo: two_shot, from: fallback}\n"
          "  - {coll: reduce, cores: shared, algo: two_shot, from: fallback}\n" LAST, ":7:5: no request can reach this rule: those before it take all that it covers; expected a rule that some request is left for: remove it or move it up"},
    {HEAD "  - {coll: reduce, cores: own, algo: two_shot, from: fallback}\n", ":5:5: the last rule for reduce does not serve every request; expected a last rule without filters, whose algorithm needs nothing but put, or map in a table that serves no network"},
    {SERVES("{machine: host}") "  - {coll: fcollect, algo: copy_engine, from: fallback}\n" LAST, ":6:5: no request can have what this rule asks for; expected types, operators and ranges that the collective and the algorithm allow"},
    {HEAD "  - {coll: fcollect, machine: host, algo: multicast, from: fallback}\n" LAST, ":5:5: no request can have what this rule asks for; expected types, operators and ranges that the collective and the algorithm allow"},
    {SERVES("{machine: cuda}") "  - {coll: reduce, machine: host, algo: two_shot, from: fallback}\n" LAST, ":6:5: no request can have what this rule asks for; expected types, operators and ranges that the collective and the algorithm allow"},
    {SERVES("{pes: 1..3}") "  - {coll: reduce, pes: 1..4, algo: two_shot, from: fallback}\n" LAST, ":7:5: no request can reach this rule: line 6 takes all that it covers; expected a rule that some request is left for: remove it or move it up"},

    /* The last rule of a collective. */
    {SERVES("{pes: 1..4}") "  - {coll: reduce, pes: 1..3, algo: two_shot, from: fallback}\n", ":6:5: the last rule for reduce does not serve every request; expected a last rule without filters, whose algorithm needs nothing but put, or map in a table that serves no network"},
    {HEAD "  - {coll: reduce, bytes: 0..1M, algo: two_shot, from: fallback}\n", ":5:5: the last rule for reduce does not serve every request; expected a last rule without filters, whose algorithm needs nothing but put, or map in a table that serves no network"},
    {HEAD "  - {coll: reduce, machine: host, algo: two_shot, from: fallback}\n", ":5:5: the last rule for reduce does not serve every request; expected a last rule without filters, whose algorithm needs nothing but put, or map in a table that serves no network"},
    {HEAD "  - {coll: reduce, dtype: [i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, f80, c64], algo: two_shot, from: fallback}\n", ":5:5: the last rule for reduce does not serve every request; expected a last rule without filters, whose algorithm needs nothing but put, or map in a table that serves no network"},
    {HEAD LAST "  - {coll: reducescatter, algo: all_pull, from: fallback}\n", ":6:5: the last rule for reducescatter does not serve every request; expected a last rule without filters, whose algorithm needs nothing but put, or map in a table that serves no network"},
    {HEAD LAST "  - {coll: barrier, reach: mapped, algo: dissemination, from: fallback}\n", ":6:5: the last rule for barrier does not serve every request; expected a last rule without filters, whose algorithm needs nothing but put, or map in a table that serves no network"},
};
/* clang-format on */

START_TEST(table__bad_text__refused_at_its_place)
{
    const struct refusal *r = &refusals[_i];
    struct ch_table *table = NULL;
    char expected[1200];

    ck_assert_msg(read_text(r->text, &table) == CHORUS_ERR_TABLE, "accepted:\n%s", r->text);
    (void)snprintf(expected, sizeof(expected), "%s%s", path, with_algos(r->message));
    ck_assert_str_eq(ch_error_message(), expected);
    ck_assert_ptr_null(table);
}
END_TEST

START_TEST(table__no_such_file__says_so)
{
    struct ch_table *table;

    ck_assert_int_eq(ch_table_read("/nonexistent/t.yaml", &table), CHORUS_ERR_TABLE);
    ck_assert_str_eq(ch_error_message(),
                     "/nonexistent/t.yaml: cannot be opened: No such file or "
                     "directory; expected a rule table");
}
END_TEST

/* What has no end, or never comes: without the check this test would not end either. */
START_TEST(table__no_regular_file__refused_at_once)
{
    static const char *const kinds[] = {"/tmp", "/dev/null", "/dev/zero", path};
    struct ch_table *table;
    char expected[128];

    (void)unlink(path);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_eq(ch_table_read(kinds[_i], &table), CHORUS_ERR_TABLE);
    (void)snprintf(expected, sizeof(expected),
                   "%s: is not a regular file; expected a rule table", kinds[_i]);
    ck_assert_str_eq(ch_error_message(), expected);
}
END_TEST

/* A good table, and a comment that makes it as long as asked. */
static void write_long(size_t bytes)
{
    static char text[(1 << 20) + 1] = HEAD LAST "#";
    FILE *out = fopen(path, "w");

    memset(text + strlen(HEAD LAST "#"), 'x', sizeof(text) - strlen(HEAD LAST "#"));
    ck_assert_ptr_nonnull(out);
    ck_assert_uint_eq(fwrite(text, 1, bytes, out), bytes);
    ck_assert_int_eq(fclose(out), 0);
}

START_TEST(table__longer_than_1_MiB__refused)
{
    struct ch_table *table;
    char expected[128];

    write_long(1 << 20);
    ck_assert_int_eq(ch_table_read(path, &table), CHORUS_OK);
    ch_table_free(table);
    write_long((1 << 20) + 1);
    ck_assert_int_eq(ch_table_read(path, &table), CHORUS_ERR_TABLE);
    (void)snprintf(expected, sizeof(expected),
                   "%s: is longer than 1048576 bytes; expected a rule table of at most 1 MiB",
                   path);
    ck_assert_str_eq(ch_error_message(), expected);
}
END_TEST

/* A table whose tree is longer than itself. */
static void write_many(void)
{
    FILE *out = fopen(path, "w");

    ck_assert_ptr_nonnull(out);
    ck_assert_int_ge(fputs(HEAD, out), 0);
    for (int i = 0; i < 9000; i++)
        (void)fprintf(out, "  - {coll: reduce, bytes: %d, algo: two_shot, from: fallback}\n",
                      i);
    ck_assert_int_ge(fputs(LAST, out), 0);
    ck_assert_int_eq(fclose(out), 0);
}

/* So little is left to the process that no table, or no tree of one, finds room. */
START_TEST(table__no_memory__says_so)
{
    const size_t left[] = {512 << 10, 3 << 20};
    const struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
    struct rlimit few = all;
    struct ch_table *table;
    size_t pages;
    FILE *in;

    write_many();
    in = fopen("/proc/self/statm", "r");
    ck_assert_ptr_nonnull(in);
    ck_assert_int_eq(fscanf(in, "%zu", &pages), 1);
    (void)fclose(in);
    few.rlim_cur = pages * (size_t)sysconf(_SC_PAGESIZE) + left[_i];
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &few), 0);
    ck_assert_int_eq(ch_table_read(path, &table), CHORUS_ERR_SYSTEM);
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &all), 0);
    ck_assert_ptr_nonnull(strstr(ch_error_message(), "no memory to read the table"));
}
END_TEST

START_TEST(table__all_keys__read_as_written)
{
    struct ch_table *table;
    const struct ch_rule *r;

    ck_assert_int_eq(read_text(HEAD
                               "  - {coll: reduce, bytes: 4K..2M, pes: 8, nodes: 1..2,\n"
                               "     reach: [self, mapped], dtype: [f32, i8], op: sum,\n"
                               "     machine: host, gpu: H200, algo: recursive_exchange,\n"
                               "     proto: ll, ctas: 3, radix: 4, from: \"a.csv:12\"}\n" LAST,
                               &table),
                     CHORUS_OK);
    ck_assert_str_eq(table->machine, "m");
    ck_assert_str_eq(table->measured, "never");
    ck_assert_uint_eq(table->n_rules, 2);
    r = &table->rules[0];
    ck_assert_int_eq(r->coll, CHORUS_COLL_reduce);
    ck_assert_uint_eq(r->bytes.lo, 4096);
    ck_assert_uint_eq(r->bytes.hi, 2 << 20);
    ck_assert_uint_eq(r->pes.lo, 8);
    ck_assert_uint_eq(r->pes.hi, 9);
    ck_assert_uint_eq(r->nodes.hi, 2);
    ck_assert_uint_eq(r->reach, CH_REACH_self | CH_REACH_mapped);
    ck_assert_uint_eq(r->types, 1u << CHORUS_TYPE_f32 | 1u << CHORUS_TYPE_i8);
    ck_assert_uint_eq(r->ops, 1u << CHORUS_OP_sum);
    ck_assert_str_eq(r->machine, "host");
    ck_assert_str_eq(r->gpu, "H200");
    ck_assert_int_eq(r->algo->id, CH_ALGO_ch_reduce_recursive_ll);
    ck_assert_uint_eq(r->ctas, 3);
    ck_assert_uint_eq(r->radix, 4);
    ck_assert_str_eq(r->from, "a.csv:12");
    ck_assert_uint_eq(r->line, 5);
    ck_assert_uint_eq(r->column, 5);
    ch_table_free(table);
}
END_TEST

START_TEST(table__serves__read_as_written)
{
    struct ch_table *table;

    ck_assert_int_eq(
        read_text(SERVES("{machine: cuda, gpu: H200, pes: 1..3, cores: own}") LAST, &table),
        CHORUS_OK);
    ck_assert_str_eq(table->serves.machine, "cuda");
    ck_assert_str_eq(table->serves.gpu, "H200");
    ck_assert_uint_eq(table->serves.pes.lo, 1);
    ck_assert_uint_eq(table->serves.pes.hi, 3);
    ck_assert_uint_eq(table->serves.cores, CH_CORES_own);
    ch_table_free(table);
    ck_assert_int_eq(read_text(HEAD LAST, &table), CHORUS_OK);
    ck_assert_ptr_null(table->serves.machine);
    ck_assert_ptr_null(table->serves.gpu);
    ck_assert_uint_eq(table->serves.pes.hi, UINT64_MAX);
    ch_table_free(table);
}
END_TEST

/* What looks covered and is not: a need, a machine, a type or one byte is left. */
START_TEST(table__rule_with_something_left__accepted)
{
    static const char *const left[] = {
        "  - {coll: reduce, algo: recursive_exchange, proto: ll, from: fallback}\n",
        "  - {coll: reduce, machine: host, algo: two_shot, from: fallback}\n",
        "  - {coll: reduce, gpu: H200, algo: two_shot, from: fallback}\n",
        "  - {coll: reduce, bytes: 1..inf, algo: two_shot, from: fallback}\n",
        "  - {coll: reduce, pes: 2..inf, algo: two_shot, from: fallback}\n",
        "  - {coll: reduce, reach: mapped, algo: two_shot, from: fallback}\n",
        "  - {coll: reduce, cores: shared, algo: two_shot, from: fallback}\n",
        "  - {coll: reduce, op: [and, or, xor, min, max, sum], algo: two_shot, from: "
        "fallback}\n",
        "  - {coll: reduce, bytes: 0..8, algo: two_shot, from: fallback}\n"
        "  - {coll: reduce, bytes: 9..inf, algo: two_shot, from: fallback}\n",
        "  - {coll: fcollect, bytes: 1M..inf, algo: copy_engine, from: fallback}\n"
        "  - {coll: fcollect, algo: ring, from: fallback}\n",
    };
    char text[1024];
    struct ch_table *table;

    (void)snprintf(text, sizeof(text), "%s%s%s", HEAD, left[_i], LAST);
    ck_assert_msg(read_text(text, &table) == CHORUS_OK, "%s", ch_error_message());
    ch_table_free(table);
}
END_TEST

START_TEST(table__crlf__served)
{
    struct ch_table *table;

    ck_assert_int_eq(
        read_text("\xef\xbb\xbfversion: 1\r\nmachine: m\r\nmeasured: n\r\nrules:\r\n"
                  "  - {coll: reduce, algo: two_shot, from: fallback}\r\n",
                  &table),
        CHORUS_OK);
    ck_assert_str_eq(table->machine, "m");
    ck_assert_uint_eq(table->rules[0].line, 5);
    ch_table_free(table);
}
END_TEST

START_TEST(table__free_null__is_nothing)
{
    ch_table_free(NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("select table");
    TCase *tests = tcase_create("table");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(tests, make_path, drop_path);
    tcase_add_loop_test(tests, table__bad_text__refused_at_its_place, 0,
                        (int)(sizeof(refusals) / sizeof(refusals[0])));
    tcase_add_test(tests, table__no_such_file__says_so);
    tcase_add_loop_test(tests, table__no_regular_file__refused_at_once, 0, 4);
    tcase_add_test(tests, table__longer_than_1_MiB__refused);
    if (!HAS_SANITIZER) tcase_add_loop_test(tests, table__no_memory__says_so, 0, 2);
    tcase_add_test(tests, table__crlf__served);
    tcase_add_test(tests, table__all_keys__read_as_written);
    tcase_add_test(tests, table__serves__read_as_written);
    tcase_add_loop_test(tests, table__rule_with_something_left__accepted, 0, 10);
    tcase_add_test(tests, table__free_null__is_nothing);
    suite_add_tcase(suite, tests);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
