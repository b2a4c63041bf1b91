/* SPDX-License-Identifier: Apache-2.0 */
#include "api_pes.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES = 1400, REPORT_BYTES = 1024 };

/* The first failure of the process. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char failure[TEXT_BYTES];

/* What the handler last got on this thread; code 0: nothing. */
static _Thread_local int reported;
static _Thread_local char report[REPORT_BYTES];

static const struct api_case *all_cases;
static const struct api_case *current;

static void keep_failure(const char *file, int line, const char *what, const char *detail)
{
    const int pe = chorusx_init_status() == 1 ? chorus_my_pe() : -1;

    (void)pthread_mutex_lock(&lock);
    if (failure[0] == '\0')
        (void)snprintf(failure, sizeof(failure), "PE %d: %s:%d: %s%s%s", pe, file, line, what,
                       detail[0] == '\0' ? "" : "; found: ", detail);
    (void)pthread_mutex_unlock(&lock);
}

void api_expect(bool holds, const char *condition, const char *file, int line)
{
    if (!holds) keep_failure(file, line, condition, "");
}

static void keep_report(int code, const char *message)
{
    reported = code;
    (void)snprintf(report, sizeof(report), "%s", message);
}

void api_expect_report(int code, const char *part, const char *file, int line)
{
    const bool as_told = reported == code && strstr(report, part) != NULL;

    if (!as_told) keep_failure(file, line, part, reported == 0 ? "no report" : report);
    reported = 0;
}

void api_expect_failure(int got, int code, const char *part, const char *call, const char *file,
                        int line)
{
    if (got != code)
        keep_failure(file, line, call, chorusx_strerror(got));
    else if (strstr(chorusx_last_error(), part) == NULL)
        keep_failure(file, line, part, chorusx_last_error());
}

static void run_body(void *arg)
{
    const struct api_case *test = arg;

    test->body();
    if (reported != 0) keep_failure(test->name, 0, "a report that nobody expected", report);
    reported = 0;
}

/* How many numbers of PEs each case runs with: 1 to 4, or 3 alone. */
static int numbers(void)
{
    return getenv("CHORUS_TEST_SMALL") != NULL ? 1 : API_PES_MAX;
}

/* Loops over cases times numbers of PEs. */
START_TEST(on_threads)
{
    const int n_pes = numbers() == 1 ? 3 : _i % API_PES_MAX + 1;

    current = &all_cases[_i / numbers()];
    (void)chorusx_set_error_handler(keep_report);
    ck_assert_msg(chorusx_run_threads(n_pes, run_body, (void *)(uintptr_t)current) == CHORUS_OK,
                  "%s on %d PEs: %s", current->name, n_pes, chorusx_last_error());
    ck_assert_msg(failure[0] == '\0', "%s on %d PEs: %s", current->name, n_pes, failure);
}
END_TEST

static int run_on_threads(int n_cases)
{
    Suite *suite = suite_create("api");
    TCase *tcase = tcase_create("threads");
    SRunner *runner = srunner_create(suite);
    int n_failed;

    tcase_set_timeout(tcase, 180); /* a virtual machine may stand still for a minute */
    tcase_add_loop_test(tcase, on_threads, 0, n_cases * numbers());
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int run_as_pe(int n_cases)
{
    if (chorus_init() != CHORUS_OK) {
        (void)fprintf(stderr, "chorus_init: %s\n", chorusx_last_error());
        return EXIT_FAILURE;
    }
    (void)chorusx_set_error_handler(keep_report);
    for (int i = 0; i < n_cases; i++) {
        run_body((void *)(uintptr_t)&all_cases[i]);
        chorus_barrier_all();
        if (failure[0] == '\0') continue;
        (void)fprintf(stderr, "%s: %s\n", all_cases[i].name, failure);
        chorus_global_exit(EXIT_FAILURE);
    }
    chorus_finalize();
    return EXIT_SUCCESS;
}

int api_main(int argc, char **argv, const struct api_case *cases, int n_cases)
{
    all_cases = cases;
    if (argc > 1 && strcmp(argv[1], "pes") == 0) return run_as_pe(n_cases);
    return run_on_threads(n_cases);
}

#define STORE_INT(ctype) *(ctype *)value_out = (ctype)k;
#define STORE_UINT(ctype) STORE_INT(ctype)
#define STORE_FLOAT(ctype) STORE_INT(ctype)
#define STORE_COMPLEX(ctype) STORE_INT(ctype)
#define STORE_HALF(ctype) ((ctype *)value_out)->bits = (uint16_t)k;

void api_store(chorus_type type, void *value_out, unsigned k)
{
    switch (type) {
#define X(T, ctype, class, bytes) \
    case CHORUS_TYPE_##T:         \
        STORE_##class(ctype) break;
        CHORUS_TYPE_LIST(X)
#undef X
    default:
        ck_abort_msg("no type %d", (int)type);
    }
}

#define SAME_INT(ctype) *(const ctype *)a == *(const ctype *)b
#define SAME_UINT(ctype) SAME_INT(ctype)
#define SAME_FLOAT(ctype) SAME_INT(ctype)
#define SAME_COMPLEX(ctype) SAME_INT(ctype)
#define SAME_HALF(ctype) ((const ctype *)a)->bits == ((const ctype *)b)->bits

bool api_same(chorus_type type, const void *a, const void *b)
{
    switch (type) {
#define X(T, ctype, class, bytes) \
    case CHORUS_TYPE_##T:         \
        return SAME_##class(ctype);
        CHORUS_TYPE_LIST(X)
#undef X
    default:
        return false;
    }
}

int api_me(void)
{
    return chorus_my_pe();
}

int api_n(void)
{
    return chorus_n_pes();
}

int api_next(void)
{
    return (chorus_my_pe() + 1) % chorus_n_pes();
}

int api_previous(void)
{
    return (chorus_my_pe() + chorus_n_pes() - 1) % chorus_n_pes();
}
