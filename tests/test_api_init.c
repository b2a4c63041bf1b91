/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Setup and end of a PE: the order of calls, refusals, and what is said when a job ends badly.
 * Every test has a process of its own, which Check forks.
 */
#include "chorus/chorusx.h"

#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TEXT_BYTES = 4096 };

static int reported;
static char report[TEXT_BYTES];

static void keep_report(int code, const char *message)
{
    reported = code;
    strncpy(report, message, sizeof(report) - 1);
}

#define ASSERT_MESSAGE(text, part) \
    ck_assert_msg(strstr((text), (part)) != NULL, "\"%s\" is not in \"%s\"", (part), (text))

#define ASSERT_FAILS(call, code, part)                \
    do {                                              \
        ck_assert_int_eq((call), (code));             \
        ASSERT_MESSAGE(chorusx_last_error(), (part)); \
    } while (0)

#define ASSERT_REPORT(code, part)           \
    do {                                    \
        ck_assert_int_eq(reported, (code)); \
        ASSERT_MESSAGE(report, (part));     \
        reported = 0;                       \
    } while (0)

START_TEST(init__twice__is_refused_and_the_first_stands)
{
    ck_assert_int_eq(chorus_init(), CHORUS_OK);
    ASSERT_FAILS(chorus_init(), CHORUS_ERR_STATE, "chorus_init called twice");
    ck_assert_int_eq(chorus_n_pes(), 1);
    chorus_finalize();
}
END_TEST

/* Calls of each kind: with a result that says no, with a code, with nothing. */
static void assert_refused(const char *when)
{
    int provided = 7, word = 0;
    chorus_team_t team;
    chorusx_heap_info_t info;

    (void)chorusx_set_error_handler(keep_report);
    ASSERT_FAILS(chorus_my_pe(), -1, when);
    ASSERT_FAILS(chorus_n_pes(), -1, when);
    chorus_query_thread(&provided);
    ASSERT_MESSAGE(chorusx_last_error(), "chorus_query_thread called ");
    ck_assert_int_eq(provided, 7);
    ck_assert_int_eq(reported, 0); /* who asks is answered, and the job goes on */
    ck_assert_ptr_null(chorus_malloc(8));
    ASSERT_REPORT(CHORUS_ERR_STATE, when);
    chorus_free(&word);
    ASSERT_REPORT(CHORUS_ERR_STATE, when);
    chorus_int_p(&word, 1, 0);
    ASSERT_REPORT(CHORUS_ERR_STATE, when);
    ck_assert_int_eq(chorus_int_atomic_fetch(&word, 0), 0);
    ASSERT_REPORT(CHORUS_ERR_STATE, when);
    chorus_int_wait_until(&word, CHORUS_CMP_EQ, 1);
    ASSERT_REPORT(CHORUS_ERR_STATE, when);
    chorus_quiet();
    ASSERT_REPORT(CHORUS_ERR_STATE, when);
    chorus_barrier_all();
    ASSERT_REPORT(CHORUS_ERR_STATE, when);
    chorus_finalize();
    ASSERT_REPORT(CHORUS_ERR_STATE, when);
    ASSERT_FAILS(chorus_team_sync(CHORUS_TEAM_WORLD), CHORUS_ERR_STATE, when);
    ASSERT_FAILS(chorus_team_my_pe(CHORUS_TEAM_WORLD), -1, when);
    ASSERT_FAILS(chorusx_team_create(CHORUS_TEAM_WORLD, &word, 1, &team), CHORUS_ERR_STATE,
                 when);
    ASSERT_FAILS(chorusx_heap_info(&info), CHORUS_ERR_STATE, when);
    ck_assert_int_eq(chorus_pe_accessible(0), 0);
    ck_assert_int_eq(chorus_addr_accessible(&word, 0), 0);
    ck_assert_int_eq(reported, 0);
}

START_TEST(calls__before_init__are_refused)
{
    ck_assert_int_eq(chorusx_init_status(), 0);
    assert_refused("before chorus_init");
}
END_TEST

START_TEST(calls__after_finalize__are_refused)
{
    ck_assert_int_eq(chorus_init(), CHORUS_OK);
    ck_assert_int_eq(chorusx_init_status(), 1);
    chorus_finalize();
    ck_assert_int_eq(chorusx_init_status(), 2);
    assert_refused("after chorus_finalize");
}
END_TEST

/* Nothing of the job before is left: neither objects nor teams. */
START_TEST(init__after_finalize__is_a_new_job)
{
    chorusx_heap_info_t info;
    chorus_team_t team = CHORUS_TEAM_INVALID;
    const int pes[1] = {0};

    for (int round = 0; round < 3; round++) {
        ck_assert_int_eq(chorus_init(), CHORUS_OK);
        ck_assert_int_eq(chorusx_init_status(), 1);
        ck_assert_int_eq(chorusx_heap_info(&info), CHORUS_OK);
        ck_assert_uint_eq(info.blocks, 0);
        ck_assert_ptr_nonnull(chorus_malloc(100));
        if (team != CHORUS_TEAM_INVALID) ck_assert_int_eq(chorus_team_my_pe(team), -1);
        ck_assert_int_eq(chorusx_team_create(CHORUS_TEAM_WORLD, pes, 1, &team), CHORUS_OK);
        chorus_finalize();
        ck_assert_int_eq(chorusx_init_status(), 2);
    }
}
END_TEST

static void join_again(void *arg)
{
    (void)arg;
    chorus_finalize();
    ASSERT_FAILS(chorus_init(), CHORUS_ERR_STATE,
                 "by a PE that is a thread; a thread can join its job only once");
}

START_TEST(init__after_finalize_of_a_thread__is_refused)
{
    ck_assert_int_eq(chorusx_run_threads(1, join_again, NULL), CHORUS_OK);
}
END_TEST

START_TEST(init_thread__each_level__is_granted)
{
    int provided = -1, queried = -1;

    ck_assert_int_eq(chorus_init_thread(_i, &provided), CHORUS_OK);
    ck_assert_int_eq(provided, _i);
    chorus_query_thread(&queried);
    ck_assert_int_eq(queried, _i);
    chorus_finalize();
}
END_TEST

START_TEST(init_thread__no_such_level__is_refused)
{
    int provided = -1;

    ASSERT_FAILS(chorus_init_thread(4, &provided), CHORUS_ERR_ARG,
                 "chorus_init_thread: requested is 4");
    ck_assert_int_eq(provided, -1);
    ck_assert_int_eq(chorus_init(), CHORUS_OK);
    chorus_finalize();
}
END_TEST

static const struct {
    const char *name, *value;
    int code;
    const char *part;
} bad_environments[] = {
    {"CHORUS_LOG", "loud", CHORUS_ERR_ARG, "CHORUS_LOG is \"loud\"; expected none, error"},
    {"CHORUS_HEAP", "foo", CHORUS_ERR_ARG,
     "CHORUS_HEAP is \"foo\"; expected auto, host or cuda"},
    {"CHORUS_SYNC_MAX", "some", CHORUS_ERR_ARG, "CHORUS_SYNC_MAX is \"some\"; expected bytes"},
    {"CHORUS_NVLS", "yes", CHORUS_ERR_ARG, "CHORUS_NVLS is \"yes\"; expected 0 or 1"},
    {"CHORUS_FABRIC", "2", CHORUS_ERR_ARG, "CHORUS_FABRIC is \"2\"; expected 0 or 1"},
    {"CHORUS_EARLY", "no", CHORUS_ERR_ARG, "CHORUS_EARLY is \"no\"; expected 0 or 1"},
    {"CHORUS_CHECK", "x", CHORUS_ERR_ARG, "CHORUS_CHECK is \"x\"; expected 0 (no checks)"},
    {"CHORUS_RECORD", "all", CHORUS_ERR_ARG,
     "CHORUS_RECORD is \"all\"; expected calls or full"},
    {"CHORUS_CTAS", "2x", CHORUS_ERR_ARG,
     "CHORUS_CTAS is \"2x\"; expected a whole number, 0 to"},
    {"CHORUS_TIMEOUT", "soon", CHORUS_ERR_ARG, "CHORUS_TIMEOUT is \"soon\""},
    {"CHORUS_TUNING", "/no/such/table.yaml", CHORUS_ERR_TABLE, "/no/such/table.yaml"},
    {"CHORUS_ALGO", "reduce:no_such", CHORUS_ERR_ARG, "no_such"},
};

/* What went wrong is said; once it is put right, the same process can start. */
START_TEST(init__bad_environment__is_undone)
{
    ck_assert_int_eq(setenv(bad_environments[_i].name, bad_environments[_i].value, 1), 0);
    ASSERT_FAILS(chorus_init(), bad_environments[_i].code, bad_environments[_i].part);
    ck_assert_int_eq(chorusx_init_status(), 0);
    ck_assert_int_eq(unsetenv(bad_environments[_i].name), 0);
    ck_assert_int_eq(chorus_init(), CHORUS_OK);
    chorus_finalize();
}
END_TEST

/* A heap on GPUs, or a failure that says which of the things it needs is missing. */
static void assert_on_gpu_or_told(int code)
{
    static const char *const missing[] = {"no driver for GPUs here", "no GPU here",
                                          "built without CUDA"};
    chorusx_heap_info_t info;
    bool is_told = false;

    if (code == CHORUS_OK) {
        ck_assert_int_eq(chorusx_heap_info(&info), CHORUS_OK);
        ck_assert_int_eq(info.heap, CHORUS_HEAP_cuda);
        ck_assert_int_ge(info.device, 0);
        return;
    }
    ck_assert(code == CHORUS_ERR_SYSTEM || code == CHORUS_ERR_UNSUPPORTED);
    ASSERT_MESSAGE(chorusx_last_error(), "heap on GPUs: PE 0: ");
    ASSERT_MESSAGE(chorusx_last_error(), "set CHORUS_HEAP=host");
    for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++)
        is_told = is_told || strstr(chorusx_last_error(), missing[i]) != NULL;
    ck_assert_msg(is_told, "\"%s\" names nothing that is missing", chorusx_last_error());
    ck_assert_int_eq(chorusx_init_status(), 0);
}

static void assert_host_heap(void)
{
    chorusx_heap_info_t info;

    ck_assert_int_eq(chorusx_heap_info(&info), CHORUS_OK);
    ck_assert_int_eq(info.heap, CHORUS_HEAP_host);
    ck_assert_int_eq(info.device, -1);
}

START_TEST(init__heap_on_gpus__is_there_or_says_what_is_missing)
{
    int code;

    ck_assert_int_eq(setenv("CHORUS_HEAP", "cuda", 1), 0);
    code = chorus_init();
    assert_on_gpu_or_told(code);
    if (code == CHORUS_OK) {
        chorus_finalize();
        return;
    }
    /* Nothing is left of the failure. */
    ck_assert_int_eq(setenv("CHORUS_HEAP", "auto", 1), 0);
    ck_assert_int_eq(chorus_init(), CHORUS_OK);
    assert_host_heap();
    chorus_finalize();
}
END_TEST

START_TEST(init__heap_auto__leaves_no_message)
{
    ck_assert_int_eq(setenv("CHORUS_HEAP", "auto", 1), 0);
    ck_assert_int_eq(chorus_init(), CHORUS_OK);
    ck_assert_str_eq(chorusx_last_error(), "");
    chorus_finalize();
}
END_TEST

START_TEST(init_attr__what_it_says__wins_over_the_environment)
{
    const chorusx_init_attr_t attr = {.heap = CHORUS_HEAP_host};

    ck_assert_int_eq(setenv("CHORUS_HEAP", "cuda", 1), 0);
    ck_assert_int_eq(chorusx_init_attr(CHORUSX_INIT_HEAP, &attr), CHORUS_OK);
    assert_host_heap();
    ASSERT_FAILS(chorusx_init_attr(0, NULL), CHORUS_ERR_STATE,
                 "chorusx_init_attr called twice");
    chorus_finalize();
}
END_TEST

START_TEST(init_attr__device__asks_for_a_heap_there)
{
    const chorusx_init_attr_t attr = {.device = 0};
    const int code = chorusx_init_attr(CHORUSX_INIT_DEVICE, &attr);

    assert_on_gpu_or_told(code);
    if (code == CHORUS_OK) chorus_finalize();
}
END_TEST

START_TEST(init_attr__what_is_no_attribute__is_refused)
{
    chorusx_init_attr_t attr = {.heap = CHORUS_HEAP_host, .device = -1};

    ASSERT_FAILS(chorusx_init_attr(16, &attr), CHORUS_ERR_ARG,
                 "chorusx_init_attr: flags has the unknown bit 0x10");
    ASSERT_FAILS(chorusx_init_attr(CHORUSX_INIT_HEAP, NULL), CHORUS_ERR_ARG, "attr is null");
    ASSERT_FAILS(chorusx_init_attr(CHORUSX_INIT_DEVICE, &attr), CHORUS_ERR_ARG,
                 "device is -1; expected 0 or more");
    attr.device = 0;
    ASSERT_FAILS(chorusx_init_attr(CHORUSX_INIT_HEAP | CHORUSX_INIT_DEVICE, &attr),
                 CHORUS_ERR_ARG, "device is 0, but heap selects host memory");
    attr.heap = CHORUS_HEAP_COUNT;
    ASSERT_FAILS(chorusx_init_attr(CHORUSX_INIT_HEAP, &attr), CHORUS_ERR_ARG,
                 "heap is 3; expected a CHORUS_HEAP_ constant");
    attr.threads = CHORUS_THREAD_MULTIPLE + 1;
    ASSERT_FAILS(chorusx_init_attr(CHORUSX_INIT_THREADS, &attr), CHORUS_ERR_ARG,
                 "attr->threads is 4; expected a CHORUS_THREAD_ constant");
    ck_assert_int_eq(chorusx_init_attr(0, NULL), CHORUS_OK);
    chorus_finalize();
}
END_TEST

START_TEST(init_attr__threads__are_granted)
{
    const chorusx_init_attr_t attr = {.threads = CHORUS_THREAD_MULTIPLE};
    int provided = -1;

    ck_assert_int_eq(chorusx_init_attr(CHORUSX_INIT_THREADS, &attr), CHORUS_OK);
    chorus_query_thread(&provided);
    ck_assert_int_eq(provided, CHORUS_THREAD_MULTIPLE);
    chorus_finalize();
}
END_TEST

START_TEST(info__version_and_name__are_the_header_s)
{
    char name[CHORUS_MAX_NAME_LEN];
    int major = -1, minor = -1;

    chorus_info_get_version(&major, &minor);
    ck_assert_int_eq(major, CHORUS_MAJOR_VERSION);
    ck_assert_int_eq(minor, CHORUS_MINOR_VERSION);
    chorus_info_get_name(name);
    ck_assert_str_eq(name, CHORUS_VENDOR_STRING);
    ck_assert_str_eq(chorusx_strerror(CHORUS_ERR_TIMEOUT),
                     "a peer did not arrive within the time set");
    ck_assert_str_eq(chorusx_strerror(-77), "unknown status");
}
END_TEST

static void count_in(void *arg)
{
    (void)__atomic_fetch_add((int *)arg, 1 << (8 * chorus_my_pe()), __ATOMIC_RELAXED);
    if (chorus_init() != CHORUS_ERR_STATE)
        (void)__atomic_fetch_add((int *)arg, 100, __ATOMIC_RELAXED);
}

START_TEST(run_threads__again_and_beside_a_process_pe__each_is_a_job)
{
    int seen = 0;

    ck_assert_int_eq(chorus_init(), CHORUS_OK);
    for (int i = 1; i <= 5; i++) {
        ck_assert_int_eq(chorusx_run_threads(3, count_in, &seen), CHORUS_OK);
        ck_assert_int_eq(seen, i * 0x010101);
    }
    ck_assert_int_eq(chorus_n_pes(), 1); /* this thread's PE is the process's still */
    chorus_finalize();
    ck_assert_int_eq(chorusx_run_threads(1, count_in, &seen), CHORUS_OK);
}
END_TEST

static void leave_early(void *arg)
{
    (void)arg;
    chorus_barrier_all();
    chorus_finalize();
}

START_TEST(run_threads__pe_finalizes_itself__is_fine)
{
    ck_assert_int_eq(chorusx_run_threads(3, leave_early, NULL), CHORUS_OK);
    ck_assert_int_eq(chorusx_init_status(), 0);
}
END_TEST

static void stay_too_long(void *arg)
{
    long *word = chorus_calloc(1, sizeof(*word));

    (void)arg;
    if (chorus_my_pe() == 0) return;
    for (int i = 0; i < 3; i++)
        chorus_long_wait_until(word, CHORUS_CMP_EQ, 1); /* as long as PE 0 waits, each time */
}

START_TEST(run_threads__pe_comes_too_late__all_end_and_give_all_back)
{
    ck_assert_int_eq(setenv("CHORUS_TIMEOUT", "1", 1), 0);
    (void)chorusx_set_error_handler(keep_report);
    ASSERT_FAILS(chorusx_run_threads(2, stay_too_long, NULL), CHORUS_ERR_TIMEOUT,
                 "PE 0: chorus_finalize: exchange among all PEs: 1 of 2 PEs came within 1 s; "
                 "PE 1 did not");
    ASSERT_REPORT(CHORUS_ERR_TIMEOUT, "PE 1 waited");
    ck_assert_int_eq(unsetenv("CHORUS_TIMEOUT"), 0);
    ck_assert_int_eq(chorusx_run_threads(2, leave_early, NULL), CHORUS_OK);
}
END_TEST

/* Fills the heap; every PE must come to the same end of it, with the same numbers. */
static void fill_heap(void *arg)
{
    enum { BYTES = 300000 };
    chorusx_heap_info_t info;
    char expected[256];
    void *last = NULL, *block;
    int *bad = arg;

    while ((block = chorus_malloc(BYTES)) != NULL)
        last = block;
    if (chorusx_heap_info(&info) != CHORUS_OK) (*bad)++;
    (void)snprintf(expected, sizeof(expected),
                   "300000 bytes were requested from the symmetric heap; %zu of 2097152 are "
                   "free, the largest block is %zu",
                   info.free_bytes, info.largest_free_bytes);
    if (strstr(chorusx_last_error(), expected) == NULL || info.blocks != 6) (*bad)++;
    if (info.largest_free_bytes >= BYTES || info.largest_free_bytes > info.free_bytes) (*bad)++;
    chorus_free(last);
    if (chorus_calloc(BYTES / 4, 4) != last) (*bad)++;
}

START_TEST(malloc__heap_is_full__is_null_on_all_pes_with_the_numbers)
{
    int bad = 0;

    ck_assert_int_eq(setenv("CHORUS_HEAP_MAX", "2M", 1), 0);
    ck_assert_int_eq(chorusx_run_threads(_i, fill_heap, &bad), CHORUS_OK);
    ck_assert_int_eq(bad, 0);
}
END_TEST

START_TEST(run_threads__no_pes__is_refused)
{
    ASSERT_FAILS(chorusx_run_threads(0, leave_early, NULL), CHORUS_ERR_ARG,
                 "chorusx_run_threads: n_pes is 0");
    ASSERT_FAILS(chorusx_run_threads(-3, leave_early, NULL), CHORUS_ERR_ARG, "n_pes is -3");
}
END_TEST

START_TEST(run_threads__start_fails__says_why)
{
    ck_assert_int_eq(setenv("CHORUS_TUNING", "/no/such/table.yaml", 1), 0);
    ASSERT_FAILS(chorusx_run_threads(3, leave_early, NULL), CHORUS_ERR_TABLE,
                 "/no/such/table.yaml");
}
END_TEST

START_TEST(explain__algorithm_is_forced__says_so)
{
    chorusx_plan plan;

    ck_assert_int_eq(setenv("CHORUS_ALGO", "reduce:one_shot:ll", 1), 0);
    ck_assert_int_eq(chorus_init(), CHORUS_OK);
    ck_assert_int_eq(chorusx_explain(CHORUS_TEAM_WORLD, CHORUS_COLL_reduce, CHORUS_TYPE_f32,
                                     CHORUS_OP_sum, 1 << 20, &plan),
                     CHORUS_OK);
    ck_assert_str_eq(plan.rule, "forced");
    ck_assert_str_eq(plan.algo, "one_shot");
    ck_assert_str_eq(plan.proto, "ll");
    chorus_finalize();
}
END_TEST

/* A wait whose word is never set ends after the time set, and says which word it was. */
START_TEST(wait__nobody_sets_the_word__times_out_with_who_and_what)
{
    long *words;
    size_t indices[3];
    const int mask[3] = {1, 0, 0};

    ck_assert_int_eq(setenv("CHORUS_TIMEOUT", "0.05", 1), 0);
    ck_assert_int_eq(chorus_init(), CHORUS_OK);
    (void)chorusx_set_error_handler(keep_report);
    words = chorus_calloc(3, sizeof(*words));
    words[1] = -4;
    chorus_long_wait_until(&words[1], CHORUS_CMP_GE, 7);
    ASSERT_REPORT(CHORUS_ERR_TIMEOUT,
                  "chorus_long_wait_until: PE 0 waited 0.05 s for element 0 of 1");
    ASSERT_MESSAGE(report, "to be >= 7, but it is -4");
    chorus_long_wait_until_all(words, 3, mask, CHORUS_CMP_EQ, -4);
    ASSERT_REPORT(CHORUS_ERR_TIMEOUT, "for element 2 of 3");
    ASSERT_MESSAGE(report, "to be == -4, but it is 0");
    ck_assert_uint_eq(chorus_long_wait_until_any(words, 3, mask, CHORUS_CMP_GT, 0), SIZE_MAX);
    ASSERT_REPORT(CHORUS_ERR_TIMEOUT, "chorus_long_wait_until_any:");
    ck_assert_uint_eq(chorus_long_wait_until_some(words, 3, indices, mask, CHORUS_CMP_GT, 0),
                      0);
    ASSERT_REPORT(CHORUS_ERR_TIMEOUT, "chorus_long_wait_until_some:");
    ck_assert_uint_eq(chorus_signal_wait_until((uint64_t *)words, CHORUS_CMP_EQ, 1), 0);
    ASSERT_REPORT(CHORUS_ERR_TIMEOUT, "chorus_signal_wait_until:");
    chorus_finalize();
}
END_TEST

/* Run `body` in a child; its standard error and its exit status. */
static int run_child(void (*body)(void), char error_out[TEXT_BYTES])
{
    size_t got = 0;
    ssize_t bytes;
    int ends[2], status;
    pid_t pid;

    ck_assert_int_eq(pipe(ends), 0);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        (void)dup2(ends[1], STDERR_FILENO);
        (void)close(ends[0]);
        (void)close(ends[1]);
        body();
        _exit(99);
    }
    (void)close(ends[1]);
    while ((bytes = read(ends[0], error_out + got, TEXT_BYTES - 1 - got)) > 0)
        got += (size_t)bytes;
    error_out[got] = '\0';
    (void)close(ends[0]);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void start_and_end(void)
{
    _exit(chorus_init());
}

/* A setting that is mistyped has no effect, so the first PE says so; unless logs are off. */
START_TEST(init__mistyped_setting__warns)
{
    static char text[TEXT_BYTES];

    ck_assert_int_eq(setenv("CHORUS_TIMOUT", "3", 1), 0);
    ck_assert_int_eq(run_child(start_and_end, text), 0);
    ck_assert_ptr_nonnull(strstr(text, " PE 0 warn: CHORUS_TIMOUT is not a variable of Chorus; "
                                       "did you mean CHORUS_TIMEOUT?\n"));
    ck_assert_ptr_eq(strchr(text, '\n'), text + strlen(text) - 1);
    ck_assert_int_eq(setenv("CHORUS_LOG", "error", 1), 0);
    ck_assert_int_eq(run_child(start_and_end, text), 0);
    ck_assert_str_eq(text, "");
}
END_TEST

static void put_to_nowhere(void *arg)
{
    int *word = chorus_malloc(sizeof(*word));

    (void)arg;
    if (chorus_my_pe() == 1) chorus_int_p(word, 1, -1);
    chorus_int_wait_until(word, CHORUS_CMP_EQ, 77); /* the others are woken and end quietly */
}

static void one_thread_fails(void)
{
    exit(chorusx_run_threads(3, put_to_nowhere, NULL) == CHORUS_OK ? 0 : 2); /* not reached */
}

static void call_too_early(void)
{
    chorus_quiet();
}

static void exit_seven(void *arg)
{
    (void)arg;
    if (chorus_my_pe() == 2) chorus_global_exit(7);
    chorus_barrier_all();
}

static void one_thread_exits(void)
{
    exit(chorusx_run_threads(3, exit_seven, NULL) == CHORUS_OK ? 0 : 2); /* not reached */
}

START_TEST(default_handler__one_pe_fails__names_it_and_ends_the_job)
{
    char error[TEXT_BYTES];

    ck_assert_int_eq(run_child(one_thread_fails, error), 1);
    ck_assert_str_eq(
        error,
        "chorus: PE 1: chorus_int_p: pe is -1; expected 0 to 2, since the job has 3 PEs\n");
}
END_TEST

START_TEST(default_handler__before_init__names_no_pe)
{
    char error[TEXT_BYTES];

    ck_assert_int_eq(run_child(call_too_early, error), 1);
    ck_assert_str_eq(error, "chorus: chorus_quiet called before chorus_init; expected a call "
                            "between chorus_init and chorus_finalize\n");
}
END_TEST

START_TEST(global_exit__one_pe__gives_the_status)
{
    char error[TEXT_BYTES];

    ck_assert_int_eq(run_child(one_thread_exits, error), 7);
    ck_assert_str_eq(error, "");
}
END_TEST

START_TEST(set_error_handler__again__gives_the_one_before)
{
    ck_assert(chorusx_set_error_handler(keep_report) == NULL);
    ck_assert(chorusx_set_error_handler(NULL) == keep_report);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("api_init");
    TCase *tcase = tcase_create("process");
    SRunner *runner = srunner_create(suite);
    int n_failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, init__mistyped_setting__warns);
    tcase_add_test(tcase, init__twice__is_refused_and_the_first_stands);
    tcase_add_test(tcase, calls__before_init__are_refused);
    tcase_add_test(tcase, calls__after_finalize__are_refused);
    tcase_add_test(tcase, init__after_finalize__is_a_new_job);
    tcase_add_test(tcase, init__after_finalize_of_a_thread__is_refused);
    tcase_add_loop_test(tcase, init_thread__each_level__is_granted, 0, 4);
    tcase_add_test(tcase, init_thread__no_such_level__is_refused);
    tcase_add_loop_test(tcase, init__bad_environment__is_undone, 0,
                        (int)(sizeof(bad_environments) / sizeof(bad_environments[0])));
    tcase_add_test(tcase, init__heap_on_gpus__is_there_or_says_what_is_missing);
    tcase_add_test(tcase, init__heap_auto__leaves_no_message);
    tcase_add_test(tcase, init_attr__what_it_says__wins_over_the_environment);
    tcase_add_test(tcase, init_attr__device__asks_for_a_heap_there);
    tcase_add_test(tcase, init_attr__what_is_no_attribute__is_refused);
    tcase_add_test(tcase, init_attr__threads__are_granted);
    tcase_add_test(tcase, info__version_and_name__are_the_header_s);
    tcase_add_test(tcase, run_threads__again_and_beside_a_process_pe__each_is_a_job);
    tcase_add_test(tcase, run_threads__pe_finalizes_itself__is_fine);
    tcase_add_test(tcase, run_threads__pe_comes_too_late__all_end_and_give_all_back);
    tcase_add_loop_test(tcase, malloc__heap_is_full__is_null_on_all_pes_with_the_numbers, 1, 4);
    tcase_add_test(tcase, run_threads__no_pes__is_refused);
    tcase_add_test(tcase, run_threads__start_fails__says_why);
    tcase_add_test(tcase, explain__algorithm_is_forced__says_so);
    tcase_add_test(tcase, wait__nobody_sets_the_word__times_out_with_who_and_what);
    tcase_add_test(tcase, default_handler__one_pe_fails__names_it_and_ends_the_job);
    tcase_add_test(tcase, default_handler__before_init__names_no_pe);
    tcase_add_test(tcase, global_exit__one_pe__gives_the_status);
    tcase_add_test(tcase, set_error_handler__again__gives_the_one_before);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
