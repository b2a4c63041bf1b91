/* SPDX-License-Identifier: Apache-2.0 */
/* The command line: what is understood, and what is said of the rest. */
#include "bench/options.h"
#include "bench/names.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 32 };

/* Read a line of words with single spaces. */
static bool read_line(const char *line, struct ch_sweep_options *options)
{
    static char copy[256];
    char *argv[WORDS_MAX + 1] = {"sweep"}, *rest = copy;
    int argc = 1;

    (void)snprintf(copy, sizeof(copy), "%s", line);
    for (char *word; (word = strsep(&rest, " ")) != NULL && argc < WORDS_MAX;)
        if (*word != '\0') argv[argc++] = word;
    return ch_sweep_options_read(argc, argv, options);
}

START_TEST(read__no_words__gives_defaults)
{
    struct ch_sweep_options options;

    ck_assert(read_line("", &options));
    ck_assert_uint_eq(options.bytes_min, 8);
    ck_assert_uint_eq(options.bytes_max, 1 << 20);
    ck_assert_uint_eq(options.factor, 2);
    ck_assert_uint_eq(options.step, 0);
    ck_assert_uint_eq(options.colls, (1u << CH_SWEEP_COUNT) - 1);
    ck_assert_uint_eq(options.types, 1u << CHORUS_TYPE_f32);
    ck_assert_uint_eq(options.ops, 1u << CHORUS_OP_sum);
    ck_assert(options.checks);
}
END_TEST

START_TEST(read__letters_of_nccl_tests__set_what_they_name)
{
    struct ch_sweep_options options;

    ck_assert(
        read_line("-b 4K -e 2M -i 64K -n 7 -w 0 -c 0 -d float,i8 -o max -r -1", &options));
    ck_assert_uint_eq(options.bytes_min, 4 << 10);
    ck_assert_uint_eq(options.bytes_max, 2 << 20);
    ck_assert_uint_eq(options.step, 64 << 10);
    ck_assert_uint_eq(options.factor, 0);
    ck_assert_uint_eq(options.iterations, 7);
    ck_assert_uint_eq(options.warmup, 0);
    ck_assert(!options.checks);
    ck_assert_uint_eq(options.types, 1u << CHORUS_TYPE_f32 | 1u << CHORUS_TYPE_i8);
    ck_assert_uint_eq(options.ops, 1u << CHORUS_OP_max);
    ck_assert_int_eq(options.root, -1);
    ck_assert(read_line("--coll=reduce,sync --team strided:3 --mode stream -d all", &options));
    ck_assert_uint_eq(options.colls, 1u << CH_SWEEP_reduce | 1u << CH_SWEEP_sync);
    ck_assert_int_eq(options.stride, 3);
    ck_assert(options.mode == CH_SWEEP_STREAM);
    ck_assert_uint_eq(options.types, (1u << CHORUS_TYPE_COUNT) - 1);
    ck_assert(read_line("--ctas 1,16,4 --vs nvshmem=/a/b.so.3,nccl --mode graph", &options));
    ck_assert_uint_eq(options.n_ctas, 3);
    ck_assert_int_eq(options.ctas[1], 16);
    ck_assert_int_eq(options.mode, CH_SWEEP_GRAPH);
    ck_assert(options.vs[CH_PEER_nccl].is_wanted);
    ck_assert_str_eq(options.vs[CH_PEER_nccl].path, "");
    ck_assert_str_eq(options.vs[CH_PEER_nvshmem].path, "/a/b.so.3");
}
END_TEST

static const struct {
    const char *line, *says;
} refused[] = {
    {"--cols reduce", "unknown option \"--cols\"; did you mean \"--coll\"?"},
    {"--bogus", "unknown option \"--bogus\"; --help lists"},
    {"-q 1", "unknown option \"-q\""},
    {"-n", "\"-n\": expected a value"},
    {"--help=1", "takes no value"},
    {"word", "\"word\": expected options only"},
    {"--coll fcolect",
     "--coll: unknown \"fcolect\"; did you mean \"fcollect\"? Known: barrier,"},
    {"--coll allgather", "--coll: unknown \"allgather\"; did you mean \"fcollect\"? Known:"},
    {"--coll reduce,xyz,sync", "--coll: unknown \"xyz\""},
    {"-d floot", "-d: unknown \"floot\"; did you mean \"float\"?"},
    {"-o average", "-o: unknown \"average\"; expected a list of: and, or, xor"},
    {"-b 3x", "-b \"3x\": expected bytes"},
    {"-b 64k", "1G; did you mean \"64K\"?"},
    {"-n +5", "-n \"+5\": expected a whole number"},
    {"-r -01", "-r \"-01\": expected a whole number from -1"},
    {"-b 0", "-b \"0\": expected bytes from 1"},
    {"-e -4", "-e \"-4\": expected bytes"},
    {"-e 99999999999G", "-e \"99999999999G\": expected bytes"},
    {"-b 2K -e 1K", "-b 2048 is more than -e 1024"},
    {"-f 2 -i 8", "-f and -i are both given"},
    {"-f 1", "-f \"1\": expected a whole number from 2"},
    {"-n 0", "-n \"0\": expected a whole number from 1"},
    {"-n 5x", "-n \"5x\": expected a whole number"},
    {"-c 2", "-c \"2\": expected a whole number from 0 to 1"},
    {"-r -2", "-r \"-2\": expected a whole number from -1"},
    {"--team half", "--team \"half\": expected world, or strided:K such as strided:2"},
    {"--team strided:0", "K \"0\": expected a whole number from 1"},
    {"--mode async", "--mode \"async\": expected blocking, stream or graph"},
    {"--ctas 1,0", "--ctas \"0\": expected a whole number from 1"},
    {"--ctas 1,", "--ctas \"\": expected a whole number"},
    {"--vs ncll", "--vs: unknown \"ncll\"; expected a list of: nccl, nccl_windows, nvshmem"},
    {"--diff a.csv", "--diff \"a.csv\": expected two files, --diff A.csv B.csv"},
    {"--diff a.csv b.csv c.csv", "\"c.csv\": expected options only; see --help"},
    {"--plot rows.pdf", "--plot \"rows.pdf\": expected a file name that ends in .svg or .png"},
};

START_TEST(read__bad_line__says_what_was_found_and_expected)
{
    struct ch_sweep_options options;

    ck_assert(!read_line(refused[_i].line, &options));
    ck_assert_msg(strstr(options.error, refused[_i].says) != NULL, "\"%s\" says \"%s\"",
                  refused[_i].line, options.error);
}
END_TEST

START_TEST(nearest__word_far_from_all__is_none)
{
    static const struct ch_typed_name words[] = {{"one_shot", 0}, {"two_shot", 1}};

    ck_assert_str_eq(ch_names_nearest(words, 2, "oneshot", 7), "one_shot");
    ck_assert_ptr_null(ch_names_nearest(words, 2, "ring", 4));
    ck_assert_ptr_null(ch_names_nearest(words, 2, "", 0));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bench");
    TCase *tcase = tcase_create("options");
    SRunner *runner;
    int failed;

    tcase_add_test(tcase, read__no_words__gives_defaults);
    tcase_add_test(tcase, read__letters_of_nccl_tests__set_what_they_name);
    tcase_add_loop_test(tcase, read__bad_line__says_what_was_found_and_expected, 0,
                        sizeof(refused) / sizeof(refused[0]));
    tcase_add_test(tcase, nearest__word_far_from_all__is_none);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
