/* SPDX-License-Identifier: Apache-2.0 */
/* A sweep of a made-up program of one PE, which does right or wrong as it is told. */
#include "bench/backend.h"
#include "bench/measure.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How the program behaves, and what it saw. */
static struct {
    size_t spoil_at; /* byte of each result to spoil */
    bool spoils, skips_the_last_element;
    int code;         /* what calls return */
    uint64_t missed;  /* what a meeting returns */
    unsigned call_us; /* how long a call takes at the least */
    size_t calls, meetings, flushes;
    const void *first_source, *last_source;
    uint64_t last_word; /* of the source, to see that it changes */
    size_t same_words, poisoned;
} program;

static void *allocate(size_t bytes)
{
    return calloc(1, bytes);
}

static void meet_all(void)
{
}

static void part(void)
{
}

static void gather(const void *mine, size_t bytes, void *all_out)
{
    memcpy(all_out, mine, bytes);
}

/* One value all over, which is not that of fresh memory. */
static bool is_poisoned(const char *dest, size_t bytes)
{
    return dest[0] != 0 && memcmp(dest, dest + 1, bytes - 1) == 0;
}

static int call(const struct ch_work *work, void *dest, const void *source, uint32_t root)
{
    const size_t bytes = ch_work_dest_bytes(work, 1);
    uint64_t word = 0;

    ck_assert_uint_eq(root, 0);
    program.calls++;
    if (program.code != 0) return program.code;
    if (program.call_us != 0) (void)usleep(program.call_us);
    if (bytes == 0) return 0;
    if (is_poisoned(dest, bytes)) program.poisoned++;
    if (program.first_source == NULL) program.first_source = source;
    program.last_source = source;
    memcpy(&word, source, bytes < sizeof(word) ? bytes : sizeof(word));
    if (word == program.last_word) program.same_words++;
    program.last_word = word;
    memcpy(dest, source, program.skips_the_last_element ? bytes - 4 : bytes);
    if (work->coll == CH_SWEEP_exscan) memset(dest, 0, bytes); /* nobody is before PE 0 */
    if (program.spoils) ((char *)dest)[program.spoil_at] ^= 1;
    return 0;
}

static void flush(void)
{
    program.flushes++;
}

static uint64_t meet(const struct ch_work *work)
{
    (void)work;
    program.meetings++;
    return program.missed;
}

static void served(const struct ch_work *work, struct ch_served *served_out)
{
    (void)work;
    *served_out =
        (struct ch_served){.algo = "copy", .proto = "none", .rule = "a, \"b\"", .ctas = 1};
}

static const char *reason(void)
{
    return "it was told so";
}

static const struct ch_choice reduce_algos[] = {{"one_shot:simple", false},
                                                {"one_shot:ll", false},
                                                {"exchange:simple", true},
                                                {"ring:simple", false},
                                                {NULL, false}};

static const struct ch_backend backend = {
    .program = "made-up",
    .version = "1",
    .me = 0,
    .pes = 1,
    .root_gets = true,
    .chooses_algos = true,
    .algos[CH_SWEEP_reduce] = reduce_algos,
    .allocate = allocate,
    .release = free,
    .part = part,
    .sync = meet_all,
    .gather = gather,
    .call = call,
    .flush = flush,
    .meet = meet,
    .served = served,
    .reason = reason,
};

/* The exit status of the sweep that the words ask for. */
static int run(int argc, char **argv)
{
    static struct ch_sweep_options options;

    (void)ch_sweep_options_read(argc, argv, &options);
    return ch_sweep_run(&backend, &options, argc, argv);
}

#define RUN(...)                                                     \
    run((int)(sizeof((char *[]){__VA_ARGS__}) / sizeof(char *)) + 1, \
        (char *[]){"sweep", __VA_ARGS__, NULL})

static void behave_well(void)
{
    memset(&program, 0, sizeof(program));
}

START_TEST(run__right_data__exits_0)
{
    ck_assert_int_eq(RUN("-e", "4K", "-n", "3"), 0);
    ck_assert_uint_gt(program.meetings, 0);
}
END_TEST

START_TEST(run__one_spoiled_byte__exits_1)
{
    program.spoils = true;
    program.spoil_at = 63;
    ck_assert_int_eq(RUN("--coll", "reduce", "-b", "64", "-e", "64", "-n", "3"), 1);
    ck_assert_int_eq(RUN("--coll", "reduce,alltoall", "-b", "64", "-e", "64", "-n", "3"), 1);
    ck_assert_int_eq(RUN("--coll", "reduce", "-b", "64", "-e", "64", "-n", "3", "-c", "0"), 0);
}
END_TEST

START_TEST(run__last_element_not_written__exits_1)
{
    program.skips_the_last_element = true;
    ck_assert_int_eq(RUN("--coll", "reduce", "-b", "64", "-e", "64", "-n", "3"), 1);
}
END_TEST

START_TEST(run__barrier_that_waits_for_none__exits_1)
{
    program.missed = 1;
    ck_assert_int_eq(RUN("--coll", "sync,barrier", "-n", "3"), 1);
    ck_assert_int_eq(RUN("--coll", "sync", "-n", "3", "-c", "0"), 0);
}
END_TEST

START_TEST(run__refusals__exit_before_any_call)
{
    ck_assert_int_eq(RUN("--bogus"), 2);
    ck_assert_int_eq(RUN("-r", "1"), 2);
    ck_assert_int_eq(RUN("--algo", "two_shot"), 2);
    ck_assert_int_eq(RUN("--algo", "ring", "--coll", "sync"), 2);
    ck_assert_int_eq(RUN("--ctas", "3"), 2);
    ck_assert_int_eq(RUN("--radix", "3", "--algo", "auto,ring"), 2);
    ck_assert_int_eq(RUN("--mode", "graph"), 2);
    ck_assert_int_eq(RUN("--mode", "stream", "--vs", "nccl"), 2);
    ck_assert_int_eq(RUN("-o", "xor", "--coll", "reduce"), 2);
    ck_assert_int_eq(RUN("-e", "8", "-b", "1", "-d", "f80", "--coll", "reduce"), 2);
    ck_assert_int_eq(RUN("--csv", "/nonexistent/rows.csv"), 1);
    ck_assert_int_eq(RUN("--csv", "/dev/null", "--json", "/nonexistent/rows.json"), 1);
    ck_assert_uint_eq(program.calls, 0);
}
END_TEST

START_TEST(run__ctas_and_radix_of_a_forced_algorithm__are_taken)
{
    ck_assert_int_eq(RUN("--algo", "all", "--radix", "3", "--ctas", "3", "-e", "8"), 0);
    ck_assert_int_eq(RUN("--algo", "auto,exchange", "--radix", "3", "-e", "8"), 0);
    ck_assert_int_eq(RUN("--algo", "auto,one_shot:ll", "--ctas", "3", "-e", "8"), 0);
}
END_TEST

START_TEST(run__unsupported_by_the_program__is_left_out)
{
    program.code = CHORUS_ERR_UNSUPPORTED;
    ck_assert_int_eq(RUN("--coll", "reduce", "-e", "64"), 2);
    ck_assert_uint_eq(program.calls, 4); /* one a message: 8, 16, 32 and 64 bytes */
}
END_TEST

START_TEST(run__refused_by_the_program__ends_the_sweep)
{
    program.code = CHORUS_ERR_ARG;
    ck_assert_int_eq(RUN("--coll", "reduce", "-e", "64"), 2);
    ck_assert_uint_eq(program.calls, 1);
}
END_TEST

START_TEST(run__version_of_several_lines__is_one_line_of_the_csv)
{
    char path[] = "/tmp/test_bench_run.XXXXXX", line[256];
    char *argv[] = {"sweep", "--coll", "sync", "-n", "1", "--csv", path, NULL};
    struct ch_backend other = backend;
    struct ch_sweep_options options;
    const int fd = mkstemp(path);
    FILE *file;

    other.version = "1\nof\ttwo\n";
    ck_assert_int_ge(fd, 0);
    ck_assert(ch_sweep_options_read(7, argv, &options));
    ck_assert_int_eq(ch_sweep_run(&other, &options, 7, argv), 0);
    file = fdopen(fd, "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_ptr_nonnull(fgets(line, sizeof(line), file));
    ck_assert_str_eq(line, "# program: made-up 1 of two \n");
    ck_assert_ptr_nonnull(fgets(line, sizeof(line), file));
    ck_assert_int_eq(strncmp(line, "# machine: ", 11), 0);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(unlink(path), 0);
}
END_TEST

/* As gather, with a second PE that took ten times as long. */
static void gather_of_two(const void *mine, size_t bytes, void *all_out)
{
    double us[2];

    ck_assert_uint_eq(bytes, sizeof(us[0]));
    memcpy(&us[0], mine, sizeof(us[0]));
    us[1] = 10.0 * us[0];
    memcpy(all_out, us, sizeof(us));
}

static struct ch_row measure(enum ch_sweep_coll coll, size_t count, size_t area_bytes)
{
    struct ch_sweep_options options;
    const struct ch_work work = {.coll = coll, .type = CHORUS_TYPE_f32, .count = count};
    const struct ch_areas areas = {
        .source = calloc(1, area_bytes), .dest = calloc(1, area_bytes), .bytes = area_bytes};
    char *argv[] = {"sweep", "-n", "10", "-w", "2", NULL};
    double us[10];
    struct ch_row row;

    ck_assert(ch_sweep_options_read(5, argv, &options));
    ck_assert_int_eq(ch_measure(&backend, &options, &areas, &work, us, &row), 0);
    free(areas.source);
    free(areas.dest);
    return row;
}

/* A call that outlasts the clock's grain by far is timed alone; so an iteration is one call. */
START_TEST(measure__long_call__is_a_batch_of_one)
{
    struct ch_row row;

    program.call_us = 200;
    row = measure(CH_SWEEP_reduce, 16, 4096);
    ck_assert_uint_eq(program.calls, 2 + 3 + 10); /* warm-up, choice of the batch, timed */
    ck_assert_uint_eq(program.poisoned, 10);      /* those that are checked */
    ck_assert_double_ge(row.us_min, 200.0);
    ck_assert_double_ge(row.us_p50, row.us_min);
    ck_assert_double_ge(row.us_p99, row.us_p50);
}
END_TEST

/* Short calls come in batches, each call with buffers and data of its own. */
START_TEST(measure__short_calls__rotate_over_fresh_buffers)
{
    const struct ch_row row = measure(CH_SWEEP_reduce, 16, 4096);
    const ptrdiff_t apart =
        (const char *)program.last_source - (const char *)program.first_source;

    ck_assert_uint_gt(program.calls, 2 + 3 + 10);
    ck_assert_int_gt(apart, 0);
    ck_assert_int_lt(apart, 4096);
    ck_assert_uint_eq(program.same_words, 0);
    ck_assert_uint_eq(row.wrong, 0);
    ck_assert_double_lt(row.us_min, CH_BATCH_US);
}
END_TEST

START_TEST(measure__area_of_one_slot__is_a_batch_of_one)
{
    (void)measure(CH_SWEEP_reduce, 16, 64);
    ck_assert_uint_eq(program.calls, 2 + 3 + 10);
    ck_assert_uint_eq(program.same_words, 0);
}
END_TEST

START_TEST(measure__slower_peer__gives_the_time)
{
    struct ch_backend two = backend;
    struct ch_sweep_options options;
    const struct ch_work work = {.coll = CH_SWEEP_sync};
    char *argv[] = {"sweep", "-n", "5", NULL};
    double us[5];
    struct ch_row row;

    two.pes = 2;
    two.gather = gather_of_two;
    program.call_us = 200;
    ck_assert(ch_sweep_options_read(3, argv, &options));
    ck_assert_int_eq(
        ch_measure(&two, &options, &(struct ch_areas){.bytes = 0}, &work, us, &row), 0);
    ck_assert_double_ge(row.us_min, 2000.0);
    ck_assert_uint_eq(row.pes, 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bench");
    TCase *tcase = tcase_create("run");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tcase, behave_well, NULL);
    tcase_add_test(tcase, run__right_data__exits_0);
    tcase_add_test(tcase, run__one_spoiled_byte__exits_1);
    tcase_add_test(tcase, run__last_element_not_written__exits_1);
    tcase_add_test(tcase, run__barrier_that_waits_for_none__exits_1);
    tcase_add_test(tcase, run__refusals__exit_before_any_call);
    tcase_add_test(tcase, run__ctas_and_radix_of_a_forced_algorithm__are_taken);
    tcase_add_test(tcase, run__unsupported_by_the_program__is_left_out);
    tcase_add_test(tcase, run__refused_by_the_program__ends_the_sweep);
    tcase_add_test(tcase, run__version_of_several_lines__is_one_line_of_the_csv);
    tcase_add_test(tcase, measure__long_call__is_a_batch_of_one);
    tcase_add_test(tcase, measure__short_calls__rotate_over_fresh_buffers);
    tcase_add_test(tcase, measure__slower_peer__gives_the_time);
    tcase_add_test(tcase, measure__area_of_one_slot__is_a_batch_of_one);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
