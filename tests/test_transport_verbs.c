/* SPDX-License-Identifier: Apache-2.0 */
/* What can be tested of verbs without a device; tests/rxe has the rest. */
#include "transport/link.h"
#include "transport/verbs/state.h"

#include <arpa/inet.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>

static void expect_message(const char *part)
{
    ck_assert_msg(strstr(ch_error_message(), part) != NULL, "\"%s\" is not in \"%s\"", part,
                  ch_error_message());
}

/* --- the choice of a GID --- */

static struct ibv_gid_entry gid(const char *address, uint32_t type, uint32_t port)
{
    struct ibv_gid_entry entry = {.gid_type = type, .port_num = port};

    ck_assert_int_eq(inet_pton(AF_INET6, address, entry.gid.raw), 1);
    return entry;
}

START_TEST(gid__of_several__is_v2_with_an_ipv4_address)
{
    const struct ibv_gid_entry entries[] = {
        gid("fe80::1", IBV_GID_TYPE_ROCE_V1, 1),
        gid("fe80::1", IBV_GID_TYPE_ROCE_V2, 1),
        gid("2001:db8::1", IBV_GID_TYPE_ROCE_V2, 1),
        gid("::ffff:10.0.0.1", IBV_GID_TYPE_ROCE_V1, 1),
        gid("::ffff:10.0.0.2", IBV_GID_TYPE_ROCE_V2, 2),
        gid("::ffff:10.0.0.1", IBV_GID_TYPE_ROCE_V2, 1),
        gid("::ffff:10.0.0.3", IBV_GID_TYPE_ROCE_V2, 1),
    };

    ck_assert_int_eq(ch_verbs_gid_choose(entries, 7, 1), 5);
    ck_assert_int_eq(ch_verbs_gid_choose(entries, 5, 1), 2);
    ck_assert_int_eq(ch_verbs_gid_choose(entries, 2, 1), 1);
    ck_assert_int_eq(ch_verbs_gid_choose(entries, 1, 1), 0);
    ck_assert_int_eq(ch_verbs_gid_choose(entries, 7, 2), 4);
    ck_assert_int_eq(ch_verbs_gid_choose(entries, 7, 3), -1);
    ck_assert_int_eq(ch_verbs_gid_choose(entries, 0, 1), -1);
}
END_TEST

START_TEST(gid__of_v1_alone__is_the_one_with_an_ipv4_address)
{
    const struct ibv_gid_entry entries[] = {
        gid("fe80::1", IBV_GID_TYPE_ROCE_V1, 1),
        gid("::ffff:10.0.0.1", IBV_GID_TYPE_ROCE_V1, 1),
        gid("2001:db8::1", IBV_GID_TYPE_ROCE_V1, 1),
    };

    ck_assert_int_eq(ch_verbs_gid_choose(entries, 3, 1), 1);
}
END_TEST

/* --- CHORUS_VERBS --- */

static const struct {
    const char *text, *name;
    uint8_t port;
    int gid;
} wishes[] = {
    {"", "", 0, -1},
    {"mlx5_0", "mlx5_0", 0, -1},
    {"mlx5_0:2", "mlx5_0", 2, -1},
    {"mlx5_bond_0:1:0", "mlx5_bond_0", 1, 0},
    {"rxe0:255:255", "rxe0", 255, 255},
};

START_TEST(wish__in_each_form__is_read)
{
    struct ch_verbs_choice choice;

    ck_assert_int_eq(ch_verbs_choice_read(wishes[_i].text, &choice), CHORUS_OK);
    ck_assert_str_eq(choice.name, wishes[_i].name);
    ck_assert_int_eq(choice.port, wishes[_i].port);
    ck_assert_int_eq(choice.gid, wishes[_i].gid);
}
END_TEST

static const char *const bad_wishes[] = {
    ":",
    ":1",
    "rxe0:",
    "rxe0:0",
    "rxe0:256",
    "rxe0:1:",
    "rxe0:1:256",
    "rxe0::1",
    "rxe0:1:-1",
    "rxe0:1:1:",
    "rxe0:1:1:1",
    "rxe0:x",
    "rxe0: 1",
    "rxe0:1:1 ",
    "rxe0:00000001",
    "a-name-of-a-device-that-is-longer-than-any-that-the-kernel-would-give",
};

START_TEST(wish__that_is_none__is_refused_with_the_form)
{
    struct ch_verbs_choice choice;

    ck_assert_int_eq(ch_verbs_choice_read(bad_wishes[_i], &choice), CHORUS_ERR_ARG);
    expect_message(bad_wishes[_i]);
    expect_message("expected device[:port[:GID index]]");
}
END_TEST

/* --- no device --- */

static chorus_status open_with(const char *choice, struct ch_endpoint **ep_out)
{
    static const uint32_t nodes[] = {0, 1};
    static const char *const hosts[] = {"alpha", "beta"};
    static struct ch_door door;
    static struct ch_options options;
    const struct ch_link_terms terms = {
        .options = &options, .n = 2, .nodes = nodes, .hosts = hosts, .door = &door};

    ck_assert_int_eq(ch_options_read(&options), CHORUS_OK);
    options.verbs = choice;
    return ch_link_verbs.open(&terms, ep_out);
}

/* Where this machine has a device, opening it is what is tested. */
START_TEST(open__without_a_device__says_so_and_lets_others_try)
{
    struct ch_endpoint *ep = NULL;
    const chorus_status st = open_with("", &ep);

    if (st != CHORUS_OK) {
        ck_assert_int_eq(st, CHORUS_ERR_UNSUPPORTED);
        ck_assert_ptr_null(ep);
        expect_message(" ");
    }
    ch_link_verbs.close(ep);
}
END_TEST

START_TEST(open__device_that_is_not_there__is_an_error)
{
    struct ch_endpoint *ep = NULL;

    ck_assert_int_eq(open_with("nosuchdevice", &ep), CHORUS_ERR_ARG);
    expect_message("this host has no RDMA device");
    ck_assert_int_eq(open_with("nosuchdevice:0", &ep), CHORUS_ERR_ARG);
    expect_message("CHORUS_VERBS is \"nosuchdevice:0\"");
    ck_assert_ptr_null(ep);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("transport_verbs");
    TCase *tcase = tcase_create("verbs");
    SRunner *runner;
    int failed;

    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, gid__of_several__is_v2_with_an_ipv4_address);
    tcase_add_test(tcase, gid__of_v1_alone__is_the_one_with_an_ipv4_address);
    tcase_add_loop_test(tcase, wish__in_each_form__is_read, 0,
                        (int)(sizeof(wishes) / sizeof(wishes[0])));
    tcase_add_loop_test(tcase, wish__that_is_none__is_refused_with_the_form, 0,
                        (int)(sizeof(bad_wishes) / sizeof(bad_wishes[0])));
    tcase_add_test(tcase, open__without_a_device__says_so_and_lets_others_try);
    tcase_add_test(tcase, open__device_that_is_not_there__is_an_error);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
