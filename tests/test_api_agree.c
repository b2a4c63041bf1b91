/* SPDX-License-Identifier: Apache-2.0 */
/* What PEs compare at start: each difference is named, on every PE alike. */
#include "api/context.h"

#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PES = 3, MESSAGE_BYTES = 512 };

/* One PE: what it brings, and what it was told. */
struct pe {
    pthread_t thread;
    struct ch_boot *boot;
    struct ch_options options;
    uint64_t digest;
    const char *failure; /* null: it can start */
    chorus_status told;
    char message[MESSAGE_BYTES];
};

static void *take_part(void *arg)
{
    struct pe *pe = arg;
    chorus_status mine = CHORUS_OK;

    if (pe->failure != NULL) mine = CH_FAIL(CHORUS_ERR_TABLE, "%s", pe->failure);
    pe->told = ch_context_agree(pe->boot, &pe->options, pe->digest, mine);
    (void)snprintf(pe->message, sizeof(pe->message), "%s", ch_error_message());
    return NULL;
}

/* Equal PEs, to be changed by the test. */
static void prepare(struct pe pes[PES])
{
    struct ch_boot *boots[PES];

    ck_assert_int_eq(ch_boot_open_threads(PES, 0, boots), CHORUS_OK);
    memset(pes, 0, PES * sizeof(pes[0]));
    for (int i = 0; i < PES; i++) {
        pes[i].boot = boots[i];
        ck_assert_int_eq(ch_options_read(&pes[i].options), CHORUS_OK);
        pes[i].digest = 0xabc;
    }
}

static void run(struct pe pes[PES])
{
    for (int i = 0; i < PES; i++)
        ck_assert_int_eq(pthread_create(&pes[i].thread, NULL, take_part, &pes[i]), 0);
    for (int i = 0; i < PES; i++)
        ck_assert_int_eq(pthread_join(pes[i].thread, NULL), 0);
    for (int i = 0; i < PES; i++)
        pes[i].boot->ops->close(pes[i].boot);
}

static void assert_all(const struct pe pes[PES], chorus_status code, const char *part)
{
    for (int i = 0; i < PES; i++) {
        ck_assert_int_eq(pes[i].told, code);
        ck_assert_msg(strstr(pes[i].message, part) != NULL, "PE %d was told \"%s\"", i,
                      pes[i].message);
    }
}

START_TEST(agree__cores_counted_differently__names_both)
{
    struct pe pes[PES];

    prepare(pes);
    pes[2].boot->n_cores = 77;
    run(pes);
    assert_all(pes, CHORUS_ERR_ARG,
               "PE 2 found 77 cores for the PEs of its host, and PE 0 found ");
}
END_TEST

START_TEST(agree__all_alike__is_ok)
{
    struct pe pes[PES];

    prepare(pes);
    pes[1].options.timeout_ns = 5; /* each PE's own affair, as is what it logs */
    run(pes);
    for (int i = 0; i < PES; i++)
        ck_assert_int_eq(pes[i].told, CHORUS_OK);
}
END_TEST

START_TEST(agree__an_option_differs__names_it_and_the_pe)
{
    struct pe pes[PES];

    prepare(pes);
    pes[2].options.chunk = 8192;
    run(pes);
    assert_all(pes, CHORUS_ERR_ARG,
               "CHORUS_CHUNK is 8192 on PE 2 and 16384 on PE 0; set it alike");

    prepare(pes);
    pes[1].options.ctas = 9;
    run(pes);
    assert_all(pes, CHORUS_ERR_ARG, "CHORUS_CTAS is 9 on PE 1");

    prepare(pes);
    pes[1].options.heap_max = 1 << 20;
    run(pes);
    assert_all(pes, CHORUS_ERR_ARG, "CHORUS_HEAP_MAX is 1048576 on PE 1 and 0 on PE 0");

    prepare(pes);
    pes[2].options.heap_step = 1 << 20;
    run(pes);
    assert_all(pes, CHORUS_ERR_ARG, "CHORUS_HEAP_STEP is 1048576 on PE 2");

    prepare(pes);
    pes[2].options.sync_max = 1 << 20;
    run(pes);
    assert_all(pes, CHORUS_ERR_ARG, "CHORUS_SYNC_MAX is 1048576 on PE 2 and 671088640 on PE 0");

    prepare(pes);
    for (int i = 0; i < PES; i++)
        pes[i].options.heap = i == 1 ? CHORUS_HEAP_cuda : CHORUS_HEAP_auto;
    run(pes);
    assert_all(pes, CHORUS_ERR_ARG, "the heap asked for is cuda on PE 1 and auto on PE 0");
}
END_TEST

/* The order of the names decides nothing. */
START_TEST(agree__transports_differ__names_both)
{
    struct pe pes[PES];

    prepare(pes);
    for (int i = 0; i < PES; i++)
        pes[i].options.transport = i == 1 ? "mapped" : "mapped,tcp";
    run(pes);
    assert_all(pes, CHORUS_ERR_ARG,
               "CHORUS_TRANSPORT allows mapped on PE 1 and mapped,tcp on PE 0; set it alike");

    prepare(pes);
    for (int i = 0; i < PES; i++)
        pes[i].options.transport = i == 2 ? "no such" : "";
    run(pes);
    assert_all(
        pes, CHORUS_ERR_ARG,
        "CHORUS_TRANSPORT allows unknown names on PE 2 and mapped,verbs,ofi,tcp on PE 0");

    prepare(pes);
    for (int i = 0; i < PES; i++)
        pes[i].options.transport = i == 1 ? "tcp" : "^mapped,verbs,ofi,tcp";
    run(pes);
    assert_all(pes, CHORUS_ERR_ARG, "CHORUS_TRANSPORT allows tcp on PE 1 and nothing on PE 0");

    prepare(pes);
    for (int i = 0; i < PES; i++)
        pes[i].options.transport = i == 1 ? "tcp,mapped" : "mapped,tcp";
    run(pes);
    for (int i = 0; i < PES; i++)
        ck_assert_int_eq(pes[i].told, CHORUS_OK);
}
END_TEST

START_TEST(agree__tables_differ__names_the_pe)
{
    struct pe pes[PES];

    prepare(pes);
    pes[1].digest = 0xabd;
    run(pes);
    assert_all(pes, CHORUS_ERR_ARG, "PE 1 would choose other algorithms than PE 0");
}
END_TEST

START_TEST(agree__one_pe_cannot_start__all_get_its_reason)
{
    struct pe pes[PES];

    prepare(pes);
    pes[1].failure = "table.yaml:3:1: unknown key";
    run(pes);
    assert_all(pes, CHORUS_ERR_TABLE, "table.yaml:3:1: unknown key");
    ck_assert(strstr(pes[0].message, "start: PE 1: table.yaml") != NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("api_agree");
    TCase *tcase = tcase_create("threads");
    SRunner *runner = srunner_create(suite);
    int n_failed;

    tcase_add_test(tcase, agree__cores_counted_differently__names_both);
    tcase_add_test(tcase, agree__all_alike__is_ok);
    tcase_add_test(tcase, agree__an_option_differs__names_it_and_the_pe);
    tcase_add_test(tcase, agree__transports_differ__names_both);
    tcase_add_test(tcase, agree__tables_differ__names_the_pe);
    tcase_add_test(tcase, agree__one_pe_cannot_start__all_get_its_reason);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
