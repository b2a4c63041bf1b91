/* SPDX-License-Identifier: Apache-2.0 */
/* Which PEs are on which host: pretended, named, and settings that disagree. */
#include "boot/boot.h"

#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PES = 5, WHY_BYTES = 512 };

struct pe {
    pthread_t thread;
    struct ch_boot *boot;
    struct ch_options options;
    chorus_status told;
    char message[WHY_BYTES];
    int fds[PES];
};

static void *take_part(void *arg)
{
    struct pe *pe = arg;
    const int fd = memfd_create("test", MFD_CLOEXEC);
    uint32_t all[PES];

    pe->told = ch_boot_locate(pe->boot, &pe->options);
    if (pe->told == CHORUS_OK)
        pe->told = pe->boot->ops->exchange(pe->boot, &pe->boot->me, sizeof(uint32_t), fd, all,
                                           pe->fds);
    (void)snprintf(pe->message, sizeof(pe->message), "%s", ch_error_message());
    (void)close(fd);
    return NULL;
}

static void prepare(struct pe pes[PES], uint32_t nodes)
{
    struct ch_boot *boots[PES];

    ck_assert_int_eq(ch_boot_open_threads(PES, 0, boots), CHORUS_OK);
    for (int i = 0; i < PES; i++) {
        pes[i] = (struct pe){.boot = boots[i]};
        ck_assert_int_eq(ch_options_read(&pes[i].options), CHORUS_OK);
        pes[i].options.nodes = nodes;
    }
}

static void run(struct pe pes[PES])
{
    for (int i = 0; i < PES; i++)
        ck_assert_int_eq(pthread_create(&pes[i].thread, NULL, take_part, &pes[i]), 0);
    for (int i = 0; i < PES; i++)
        ck_assert_int_eq(pthread_join(pes[i].thread, NULL), 0);
}

/* `map` has a digit a PE. */
static void assert_map(struct pe pes[PES], const char *map, uint32_t n_nodes)
{
    for (uint32_t i = 0; i < PES; i++) {
        ck_assert_msg(pes[i].told == CHORUS_OK, "%s", pes[i].message);
        ck_assert_uint_eq(pes[i].boot->n_nodes, n_nodes);
        ck_assert_int_eq(pes[i].boot->nodes == NULL, n_nodes == 1);
        for (uint32_t pe = 0; pe < PES; pe++) {
            ck_assert_uint_eq(ch_boot_node(pes[i].boot, pe), (uint32_t)(map[pe] - '0'));
            ck_assert_int_eq(pes[i].fds[pe] >= 0, map[pe] == map[i]);
            if (pes[i].fds[pe] >= 0) (void)close(pes[i].fds[pe]);
        }
    }
}

static void finish(struct pe pes[PES])
{
    for (int i = 0; i < PES; i++)
        pes[i].boot->ops->close(pes[i].boot);
}

static void assert_all_told(struct pe pes[PES], const char *part)
{
    run(pes);
    for (int i = 0; i < PES; i++) {
        ck_assert_int_eq(pes[i].told, CHORUS_ERR_ARG);
        ck_assert_msg(strstr(pes[i].message, part) != NULL, "PE %d was told \"%s\"", i,
                      pes[i].message);
    }
    finish(pes);
}

START_TEST(nodes__pretended__are_blocks_as_even_as_possible)
{
    static const char *const maps[] = {"00000", "00000", "00011", "00112", "00123", "01234"};
    static const uint32_t n_nodes[] = {1, 1, 2, 3, 4, 5};
    struct pe pes[PES];

    prepare(pes, (uint32_t)_i);
    run(pes);
    assert_map(pes, maps[_i], n_nodes[_i]);
    if (_i == 3) ck_assert_str_eq(pes[0].boot->hosts[2], "pretended-2");
    if (_i == 3) ck_assert_str_eq(pes[0].boot->why_apart, "CHORUS_NODES pretends another host");
    finish(pes);
}
END_TEST

START_TEST(nodes__named__are_numbered_by_first_appearance)
{
    static const char *const names[PES] = {"b", "a", "b", "long.name.of.a.host", "a"};
    struct pe pes[PES];

    prepare(pes, 0);
    for (int i = 0; i < PES; i++)
        pes[i].options.node = names[i];
    run(pes);
    assert_map(pes, "01021", 3);
    ck_assert_str_eq(pes[4].boot->hosts[0], "b");
    ck_assert_str_eq(pes[4].boot->hosts[2], "long.name.of.a.host");
    ck_assert_str_eq(pes[4].boot->why_apart, "CHORUS_NODE names another host");
    finish(pes);
}
END_TEST

START_TEST(nodes__settings_disagree__all_are_told_alike)
{
    struct pe pes[PES];

    prepare(pes, 2);
    pes[3].options.nodes = 3;
    assert_all_told(
        pes, "CHORUS_NODES is 3 on PE 3 and 2 on PE 0; set it to the same value on all PEs");
    prepare(pes, 0);
    pes[2].options.node = "x";
    assert_all_told(pes, "CHORUS_NODE is set on PE 2 and not set on PE 0; set it for all PEs");
    prepare(pes, PES + 1);
    assert_all_told(pes, "CHORUS_NODES is 6, but the job has 5 PEs");
    prepare(pes, 2);
    pes[1].options.node = "x";
    assert_all_told(pes, "PE 1: CHORUS_NODES and CHORUS_NODE are both set; unset one");
    prepare(pes, 0);
    pes[4].options.node = "a name of 64 characters, which is one more than there is room for";
    assert_all_told(pes,
                    "PE 4: CHORUS_NODE is \"a name of 64 charact...\"; expected less than");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("boot_nodes");
    TCase *tc = tcase_create("all");
    SRunner *runner;
    int n_failed;

    tcase_add_loop_test(tc, nodes__pretended__are_blocks_as_even_as_possible, 0, 6);
    tcase_add_test(tc, nodes__named__are_numbered_by_first_appearance);
    tcase_add_test(tc, nodes__settings_disagree__all_are_told_alike);
    suite_add_tcase(suite, tc);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
