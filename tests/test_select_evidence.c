/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every row of a shipped table rests on a measurement: the line of tuning/raw that it cites is
 * there, is of the same algorithm, lies in the row's ranges, and no line of its file of the
 * same collective, type, operator, bytes and PEs is faster (by the median) by more than
 * chorus-tune lets pass for simpler tables.
 */
#include "select_fixture.h"

#include "base/text.h"

#include <glob.h>

/* The columns of a measurement that a row answers for, in the order of the file. */
enum {
    COLL,
    ALGO,
    PROTO,
    CTAS,
    DTYPE,
    OP,
    PES,
    BYTES,
    COUNT,
    TIME_MIN,
    TIME_P50,
    TIME_P99,
    ALGBW,
    BUSBW,
    WRONG,
    COLUMNS
};

struct measurement {
    char text[512];
    const char *column[COLUMNS];
};

/* False for a comment, the heading, or a line with too few columns. */
static bool parse(struct measurement *m)
{
    char *at = m->text;

    if (*at == '#' || strncmp(at, "coll,", 5) == 0) return false;
    for (int i = 0; i < COLUMNS; i++) {
        if (at == NULL) return false;
        m->column[i] = at;
        at = strchr(at, ',');
        if (at != NULL) *at++ = '\0';
    }
    return true;
}

/* Line `line` of a file, from 1. */
static bool read_line(FILE *in, unsigned long line, struct measurement *m)
{
    rewind(in);
    for (unsigned long i = 1; fgets(m->text, sizeof(m->text), in) != NULL; i++)
        if (i == line) return parse(m);
    return false;
}

static bool is_same(const struct measurement *m, int column, const char *text)
{
    return strcmp(m->column[column], text) == 0;
}

static bool is_in(const struct measurement *m, int column, struct ch_range range)
{
    uint64_t value;

    return ch_number_whole(m->column[column], 0, UINT64_MAX, &value) && value >= range.lo &&
           (value < range.hi || range.hi == UINT64_MAX);
}

static bool has_bit(const struct measurement *m, int column, const char *const names[],
                    size_t count, uint32_t bits)
{
    struct ch_reason why;
    size_t index;

    if (is_same(m, column, "none")) return true; /* the collective has no such thing */
    return ch_name_find("name", names, count, m->column[column], &index, &why) &&
           (bits >> index & 1u) != 0;
}

/* Is the line of an algorithm that a rule may name for that machine? Files also have lines of
 * algorithms that are gone, and of multicast in software, which is for hardware now. */
static bool is_choice(const struct measurement *m)
{
    for (int a = 0; a < CH_ALGO_COUNT; a++)
        if (is_same(m, COLL, ch_coll_names[ch_algos[a].coll]) &&
            is_same(m, ALGO, ch_algos[a].name) &&
            is_same(m, PROTO, ch_proto_names[ch_algos[a].proto]))
            return (ch_algos[a].needs & CH_NEED_multicast) == 0;
    return false;
}

/* What chorus-tune --near is by default, as a factor. */
static const double near_enough = 1.02;

/* The first line that is of the same call, right, and faster; 0 if there is none. */
static unsigned long find_faster(FILE *in, const struct measurement *cited)
{
    static const int key[] = {COLL, DTYPE, OP, PES, BYTES};
    struct measurement m;

    rewind(in);
    for (unsigned long line = 1; fgets(m.text, sizeof(m.text), in) != NULL; line++) {
        size_t same = 0;

        if (!parse(&m) || !is_same(&m, WRONG, "0") || !is_choice(&m)) continue;
        for (size_t i = 0; i < sizeof(key) / sizeof(key[0]); i++)
            same += is_same(&m, key[i], cited->column[key[i]]);
        if (same == sizeof(key) / sizeof(key[0]) &&
            strtod(m.column[TIME_P50], NULL) * near_enough <
                strtod(cited->column[TIME_P50], NULL))
            return line;
    }
    return 0;
}

/* What is wrong with a row's evidence in an open file; false if nothing is. */
static bool is_doubtful(FILE *in, unsigned long line, const struct ch_rule *rule,
                        struct ch_reason *why)
{
    struct measurement cited;
    char ctas[16];
    unsigned long faster;

    (void)snprintf(ctas, sizeof(ctas), "%u", rule->ctas);
    if (!read_line(in, line, &cited))
        ch_why_set(why, "%s is no measurement", rule->from);
    else if (!is_same(&cited, WRONG, "0"))
        ch_why_set(why, "%s was not found right", rule->from);
    else if (!is_same(&cited, COLL, ch_coll_names[rule->coll]) ||
             !is_same(&cited, ALGO, rule->algo->name) ||
             !is_same(&cited, PROTO, ch_proto_names[rule->algo->proto]) ||
             !is_same(&cited, CTAS, ctas))
        ch_why_set(why, "%s is of another algorithm", rule->from);
    else if (!is_in(&cited, PES, rule->pes) || !is_in(&cited, BYTES, rule->bytes) ||
             !has_bit(&cited, DTYPE, ch_type_names, CHORUS_TYPE_COUNT, rule->types) ||
             !has_bit(&cited, OP, ch_op_names, CHORUS_OP_COUNT, rule->ops))
        ch_why_set(why, "%s is not of a call that the row covers", rule->from);
    else if ((faster = find_faster(in, &cited)) != 0)
        ch_why_set(why, "line %lu is faster than %s", faster, rule->from);
    else
        return false;
    return true;
}

/* Check all rows of a table against the files in `raw`; how many are in doubt, the last in why.
 */
static unsigned check_table(const char *path, const char *raw, struct ch_reason *why)
{
    struct ch_table *table;
    unsigned doubtful = 0;

    ck_assert_msg(ch_table_read(path, &table) == CHORUS_OK, "%s", ch_error_message());
    ck_assert_msg(ch_table_check(table) == CHORUS_OK, "%s", ch_error_message());
    for (size_t i = 0; i < table->n_rules; i++) {
        const struct ch_rule *rule = &table->rules[i];
        char file[512];
        FILE *in;

        if (strcmp(rule->from, "fallback") == 0) continue;
        (void)snprintf(file, sizeof(file), "%s/%.*s", raw, (int)strcspn(rule->from, ":"),
                       rule->from);
        in = fopen(file, "r");
        if (in == NULL) {
            ch_why_set(why, "%s is not there", file);
            doubtful++;
            continue;
        }
        doubtful += is_doubtful(in, strtoul(strchr(rule->from, ':') + 1, NULL, 10), rule, why);
        (void)fclose(in);
    }
    ch_table_free(table);
    return doubtful;
}

START_TEST(evidence__shipped_tables__rest_on_their_measurements)
{
    struct ch_reason why = {""};
    glob_t tables;

    ck_assert_int_eq(glob(CHORUS_TUNING_FOLDER "/*.yaml", 0, NULL, &tables), 0);
    ck_assert_uint_ge(tables.gl_pathc, 2);
    for (size_t i = 0; i < tables.gl_pathc; i++)
        ck_assert_msg(check_table(tables.gl_pathv[i], CHORUS_TUNING_FOLDER "/raw", &why) == 0,
                      "%s: %s", tables.gl_pathv[i], why.text);
    globfree(&tables);
}
END_TEST

/* The check itself, on a table whose evidence is sound and on others where it is not. */
static const char measured[] =
    "# machine: none\n"
    "coll,algo,proto,ctas,dtype,op,pes,bytes,count,time_us_min,time_us_p50,time_us_p99,"
    "algbw_GBps,busbw_GBps,wrong,rule\n"
    "reduce,one_shot,ll,1,f32,sum,4,1024,256,1.0,2.0,3.0,1,1,0,forced\n"
    "reduce,two_shot,simple,1,f32,sum,4,1024,256,0.5,2.5,3.0,1,1,0,forced\n"
    "reduce,recursive_exchange,ll,1,f32,sum,4,1024,256,0.5,1.5,3.0,1,1,7,forced\n"
    "reduce,two_shot,simple,1,f16,sum,4,1024,512,0.5,1.0,3.0,1,1,0,forced\n"
    "reduce,one_shot,ll128,1,f32,max,4,1024,256,1.0,2.0,3.0,1,1,,forced\n"
    "reduce,one_shot,ll128,1,f32,sum,4,1024,256,1.0,2.03,3.0,1,1,0,forced\n"
    "reduce,one_shot,ll128,1,f32,sum,4,1024,256,1.0,2.05,3.0,1,1,0,forced\n";

static const struct {
    const char *row, *doubt;
} rows[] = {
    {"bytes: 1K..2K, pes: 4, algo: one_shot, proto: ll, from: \"a.csv:3\"", NULL},
    {"dtype: f16, algo: two_shot, from: \"a.csv:6\"", NULL},
    {"algo: two_shot, from: \"a.csv:4\"", "line 3 is faster than a.csv:4"},
    {"algo: one_shot, proto: ll128, from: \"a.csv:8\"", NULL},
    {"algo: one_shot, proto: ll128, from: \"a.csv:9\"", "line 3 is faster than a.csv:9"},
    {"algo: one_shot, proto: ll128, from: \"a.csv:3\"", "a.csv:3 is of another algorithm"},
    {"algo: one_shot, proto: ll, ctas: 2, from: \"a.csv:3\"",
     "a.csv:3 is of another algorithm"},
    {"algo: recursive_exchange, proto: ll, from: \"a.csv:5\"", "a.csv:5 was not found right"},
    {"op: max, algo: one_shot, proto: ll128, from: \"a.csv:7\"", "a.csv:7 was not found right"},
    {"algo: one_shot, proto: ll, from: \"a.csv:1\"", "a.csv:1 is no measurement"},
    {"algo: one_shot, proto: ll, from: \"a.csv:2\"", "a.csv:2 is no measurement"},
    {"algo: one_shot, proto: ll, from: \"a.csv:10\"", "a.csv:10 is no measurement"},
    {"bytes: 0..1K, algo: one_shot, proto: ll, from: \"a.csv:3\"",
     "a.csv:3 is not of a call that the row covers"},
    {"pes: 8, algo: one_shot, proto: ll, from: \"a.csv:3\"",
     "a.csv:3 is not of a call that the row covers"},
    {"dtype: f64, algo: one_shot, proto: ll, from: \"a.csv:3\"",
     "a.csv:3 is not of a call that the row covers"},
    {"op: max, algo: one_shot, proto: ll, from: \"a.csv:3\"",
     "a.csv:3 is not of a call that the row covers"},
};

START_TEST(evidence__row__in_doubt_when_it_should_be)
{
    struct ch_reason why = {""};
    char text[512], csv[64];

    (void)snprintf(csv, sizeof(csv), "%s/a.csv", config);
    write_file(csv, measured);
    (void)snprintf(text, sizeof(text),
                   HEAD "  - {coll: reduce, machine: m, %s}\n"
                        "  - {coll: reduce, algo: two_shot, from: fallback}\n",
                   rows[_i].row);
    write_file(table_path, text);
    ck_assert_uint_eq(check_table(table_path, config, &why), rows[_i].doubt != NULL);
    ck_assert_str_eq(why.text, rows[_i].doubt != NULL ? rows[_i].doubt : "");
    (void)unlink(csv);
}
END_TEST

START_TEST(evidence__file_not_there__in_doubt)
{
    struct ch_reason why;

    write_file(table_path, HEAD "  - {coll: reduce, algo: two_shot, from: \"none.csv:3\"}\n");
    ck_assert_uint_eq(check_table(table_path, config, &why), 1);
}
END_TEST

static void add(TCase *tests)
{
    tcase_add_test(tests, evidence__shipped_tables__rest_on_their_measurements);
    tcase_add_loop_test(tests, evidence__row__in_doubt_when_it_should_be, 0,
                        (int)(sizeof(rows) / sizeof(rows[0])));
    tcase_add_test(tests, evidence__file_not_there__in_doubt);
}

int main(void)
{
    return run_tests("select evidence", add);
}
