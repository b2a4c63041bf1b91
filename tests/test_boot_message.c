/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between PEs and chorusrun on buffers: what is refused, and that nothing is leaked.
 */
#include "boot/message.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT_OF(array) (int)(sizeof(array) / sizeof((array)[0]))

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static int count_open(void)
{
    int n = 0;

    for (int fd = 0; fd < 1024; fd++)
        n += is_open(fd);
    return n;
}

/* Feed `bytes` bytes, `step` at a time; the state after the last that was taken. */
static enum ch_message_state feed(struct ch_message *m, const void *data, size_t bytes,
                                  size_t step, enum ch_wire_stage stage)
{
    enum ch_message_state state = CH_MESSAGE_PART;
    size_t at = 0;

    while (at < bytes && state == CH_MESSAGE_PART) {
        size_t room, here;
        char *to = ch_message_room(m, &room);
        ck_assert_uint_gt(room, 0);
        here = room < step ? room : step;
        if (here > bytes - at) here = bytes - at;
        memcpy(to, (const char *)data + at, here);
        at += here;
        state = ch_message_add_bytes(m, here, stage);
    }
    return state;
}

/* One byte at a time, some, all at once. */
static const size_t steps[] = {1, 7, 4096};

START_TEST(message__in_pieces__comes_whole)
{
    struct {
        struct ch_wire_head head;
        char body[104];
    } sent = {ch_wire_head_of(CH_WIRE_EXCHANGE), ""};
    struct ch_message m;

    sent.head.bytes = sizeof(sent.body);
    for (size_t i = 0; i < sizeof(sent.body); i++)
        sent.body[i] = (char)(3 * i + (size_t)_i);
    ch_message_init(&m);
    ck_assert_int_eq(feed(&m, &sent, sizeof(sent), steps[_i], CH_WIRE_INSIDE),
                     CH_MESSAGE_WHOLE);
    ck_assert_int_eq(memcmp(m.body, sent.body, sizeof(sent.body)), 0);
    ck_assert_int_eq(m.fd, -1);
    ch_message_forget(&m);
    ck_assert_int_eq(feed(&m, &sent, sizeof(sent) - 1, steps[_i], CH_WIRE_INSIDE),
                     CH_MESSAGE_PART);
    ch_message_forget(&m);
}
END_TEST

#define JOIN_BYTES sizeof(struct ch_wire_join)

static const struct {
    struct ch_wire_head head;
    enum ch_wire_stage stage;
    const char *says;
} refused[] = {
    {{0, CH_WIRE_JOIN, 0, 0, JOIN_BYTES}, CH_WIRE_OUTSIDE, "has another version of Chorus"},
    {{CH_WIRE_MAGIC - 1, CH_WIRE_JOIN, 0, 0, 0}, CH_WIRE_OUTSIDE, "has another version"},
    {{CH_WIRE_MAGIC, 0, 0, 0, 0}, CH_WIRE_INSIDE, "in a format that chorusrun does not know"},
    {{CH_WIRE_MAGIC, CH_WIRE_RESULT, 0, 0, 0}, CH_WIRE_INSIDE, "in a format"},
    {{CH_WIRE_MAGIC, CH_WIRE_FAIL, -1, 0, 0}, CH_WIRE_INSIDE, "in a format"},
    {{CH_WIRE_MAGIC, CH_WIRE_JOIN, 0, 1, JOIN_BYTES - 1}, CH_WIRE_OUTSIDE, "in a format"},
    {{CH_WIRE_MAGIC, CH_WIRE_JOIN, 0, 0, JOIN_BYTES}, CH_WIRE_OUTSIDE, "in a format"},
    {{CH_WIRE_MAGIC, CH_WIRE_EXCHANGE, 0, 0, CH_WIRE_BLOB_MAX + 1}, CH_WIRE_INSIDE, "a format"},
    {{CH_WIRE_MAGIC, CH_WIRE_EXCHANGE, 0, 2, 8}, CH_WIRE_INSIDE, "in a format"},
    {{CH_WIRE_MAGIC, CH_WIRE_EXCHANGE, -1, 0, 8}, CH_WIRE_INSIDE, "in a format"},
    {{CH_WIRE_MAGIC, CH_WIRE_EXCHANGE, 0, 1, 8}, CH_WIRE_INSIDE, "in a format"}, /* none came */
    {{CH_WIRE_MAGIC, CH_WIRE_LEAVE, 0, 0, 8}, CH_WIRE_INSIDE, "in a format"},
    {{CH_WIRE_MAGIC, CH_WIRE_LEAVE, 0, 1, 0}, CH_WIRE_INSIDE, "in a format"},
    {{CH_WIRE_MAGIC, CH_WIRE_SHOW, 0, 0, 0}, CH_WIRE_INSIDE, "in a format"},
    {{CH_WIRE_MAGIC, CH_WIRE_SHOW, 0, 1, 8}, CH_WIRE_INSIDE, "in a format"},
    {{CH_WIRE_MAGIC, CH_WIRE_ABORT, 256, 0, 0}, CH_WIRE_INSIDE, "in a format"},
    {{CH_WIRE_MAGIC, CH_WIRE_ABORT, -1, 0, 0}, CH_WIRE_INSIDE, "in a format"},
    {{CH_WIRE_MAGIC, CH_WIRE_EXCHANGE, 0, 0, 8}, CH_WIRE_OUTSIDE, "before it joined the job"},
    {{CH_WIRE_MAGIC, CH_WIRE_LEAVE, 0, 0, 0}, CH_WIRE_OUTSIDE, "before it joined the job"},
    {{CH_WIRE_MAGIC, CH_WIRE_JOIN, 0, 1, JOIN_BYTES}, CH_WIRE_INSIDE, "joined the job twice"},
    {{CH_WIRE_MAGIC, CH_WIRE_JOIN, 0, 1, JOIN_BYTES}, CH_WIRE_OWED, "joined the job twice"},
    {{CH_WIRE_MAGIC, CH_WIRE_EXCHANGE, 0, 0, 8}, CH_WIRE_OWED, "before its last one had ended"},
};

START_TEST(message__not_allowed__is_refused_with_its_head)
{
    struct ch_message m;

    ch_message_init(&m);
    ck_assert_int_eq(
        feed(&m, &refused[_i].head, sizeof(refused[_i].head), 5, refused[_i].stage),
        CH_MESSAGE_FAULT);
    ck_assert_msg(strstr(m.fault, refused[_i].says) != NULL, "no \"%s\" in: %s",
                  refused[_i].says, m.fault);
    ch_message_forget(&m);
}
END_TEST

/* A PE that has no answer yet may give up and go. */
START_TEST(message__while_an_answer_is_owed__may_leave_or_end_the_job)
{
    struct ch_wire_head head = ch_wire_head_of(_i == 0 ? CH_WIRE_LEAVE : CH_WIRE_ABORT);
    struct ch_message m;

    head.code = _i == 0 ? 0 : 255;
    ch_message_init(&m);
    ck_assert_int_eq(feed(&m, &head, sizeof(head), sizeof(head), CH_WIRE_OWED),
                     CH_MESSAGE_WHOLE);
}
END_TEST

/* Where the surplus descriptor comes: with the head, or with the body. */
START_TEST(message__descriptors_too_many__all_are_closed)
{
    struct ch_wire_head head = ch_wire_head_of(CH_WIRE_EXCHANGE);
    const int fds[3] = {dup(0), dup(0), dup(0)};
    const char body[8] = "body";
    struct ch_message m;

    head.bytes = sizeof(body);
    head.n_fds = 1;
    ch_message_init(&m);
    ch_message_take_fds(&m, fds, _i == 0 ? 3 : 1);
    if (_i == 0) {
        ck_assert_int_eq(feed(&m, &head, sizeof(head), sizeof(head), CH_WIRE_INSIDE),
                         CH_MESSAGE_FAULT);
    } else {
        ck_assert_int_eq(feed(&m, &head, sizeof(head), sizeof(head), CH_WIRE_INSIDE),
                         CH_MESSAGE_PART);
        ch_message_take_fds(&m, fds + 1, 2);
        ck_assert_int_eq(feed(&m, body, sizeof(body), sizeof(body), CH_WIRE_INSIDE),
                         CH_MESSAGE_FAULT);
    }
    ck_assert(!is_open(fds[1]) && !is_open(fds[2]));
    ch_message_forget(&m);
    ck_assert(!is_open(fds[0]));
}
END_TEST

/* Two descriptors fit where there is room for one: the second lies in the padding. */
START_TEST(control__descriptor_in_the_padding__is_found)
{
    union ch_wire_control control = {.room = ""};
    struct msghdr h = {.msg_control = &control, .msg_controllen = CMSG_SPACE(sizeof(int))};
    const int sent[2] = {71, 72};
    int fds[CH_WIRE_CONTROL_FDS];

    control.head.cmsg_level = SOL_SOCKET;
    control.head.cmsg_type = SCM_RIGHTS;
    control.head.cmsg_len = CMSG_LEN(sizeof(sent));
    memcpy(CMSG_DATA(&control.head), sent, sizeof(sent));
    ck_assert_uint_eq(ch_wire_extract_fds(&h, fds), 2);
    ck_assert_int_eq(memcmp(fds, sent, sizeof(sent)), 0);
    control.head.cmsg_len = 4096; /* past the end of what was received */
    ck_assert_uint_eq(ch_wire_extract_fds(&h, fds), 2);
    control.head.cmsg_len = 3; /* shorter than its own head */
    ck_assert_uint_eq(ch_wire_extract_fds(&h, fds), 0);
    control.head.cmsg_len = CMSG_LEN(sizeof(sent));
    control.head.cmsg_type = SCM_CREDENTIALS;
    ck_assert_uint_eq(ch_wire_extract_fds(&h, fds), 0);
}
END_TEST

static void send_fds(int sock, uint32_t n)
{
    union ch_wire_control control = {.room = ""};
    char byte = 0;
    struct iovec part = {&byte, 1};
    struct msghdr h = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control};

    h.msg_controllen = CMSG_SPACE(n * sizeof(int));
    control.head.cmsg_level = SOL_SOCKET;
    control.head.cmsg_type = SCM_RIGHTS;
    control.head.cmsg_len = CMSG_LEN(n * sizeof(int));
    memset(CMSG_DATA(&control.head), 0, n * sizeof(int)); /* n times descriptor 0 */
    ck_assert_int_eq(sendmsg(sock, &h, MSG_NOSIGNAL), 1);
}

/* A launcher that sends 3 descriptors for 1, or 253 for 64. */
START_TEST(descriptors__more_than_asked_for__are_closed)
{
    const uint32_t wanted = _i == 0 ? 1 : 64;
    int pair[2], fds[64], before;

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    before = count_open();
    send_fds(pair[1], _i == 0 ? 3 : CH_WIRE_CONTROL_FDS);
    ck_assert_int_eq(ch_wire_recv_fds(pair[0], wanted, fds, 0), CHORUS_OK);
    ck_assert_int_eq(count_open() - before, (int)wanted);
}
END_TEST

static const struct {
    struct ch_wire_head head;
    bool is_right;
} answers[] = {
    {{CH_WIRE_MAGIC, CH_WIRE_RESULT, 0, 3, 24}, true},
    {{CH_WIRE_MAGIC, CH_WIRE_FAIL, CHORUS_ERR_ABORTED, 0, 24}, true},
    {{CH_WIRE_MAGIC, CH_WIRE_FAIL, CHORUS_OK, 0, 24}, false},
    {{CH_WIRE_MAGIC, CH_WIRE_FAIL, 5, 0, 24}, false},
    {{CH_WIRE_MAGIC, CH_WIRE_FAIL, -1000, 0, 24}, false},
    {{CH_WIRE_MAGIC, CH_WIRE_FAIL, CHORUS_ERR_ABORTED, 1, 24}, false},
    {{CH_WIRE_MAGIC, CH_WIRE_FAIL, CHORUS_ERR_ABORTED, 0, CH_WIRE_REASON_BYTES}, false},
    {{CH_WIRE_MAGIC, CH_WIRE_RESULT, 1, 3, 24}, false},
    {{CH_WIRE_MAGIC, CH_WIRE_RESULT, 0, 2, 24}, false},
    {{CH_WIRE_MAGIC, CH_WIRE_RESULT, 0, 3, 32}, false},
    {{CH_WIRE_MAGIC, CH_WIRE_EXCHANGE, 0, 3, 24}, false},
    {{CH_WIRE_MAGIC - 1, CH_WIRE_RESULT, 0, 3, 24}, false},
};

START_TEST(answer__of_another_form__is_refused)
{
    ck_assert_int_eq(ch_wire_answer_check(&answers[_i].head, 24, 3),
                     answers[_i].is_right ? CHORUS_OK : CHORUS_ERR_SYSTEM);
}
END_TEST

START_TEST(join__of_another_pe_job_or_version__says_what_it_should_be)
{
    struct ch_wire_join join = ch_wire_join_of(1, 3);
    char why[CH_WIRE_REASON_BYTES];

    ck_assert(ch_wire_join_check(&join, 1, 3, why));
    ck_assert(!ch_wire_join_check(&join, 2, 3, why));
    ck_assert_ptr_nonnull(strstr(why, "joined as PE 1 of 3, but was started as PE 2 of 3"));
    ck_assert(!ch_wire_join_check(&join, 1, 4, why));
    ck_assert_ptr_nonnull(strstr(why, "joined as PE 1 of 3, but was started as PE 1 of 4"));
    join.version_minor += 7;
    ck_assert(!ch_wire_join_check(&join, 1, 3, why));
    ck_assert_ptr_nonnull(strstr(why, "use the chorusrun of its version"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("boot_message");
    TCase *tc = tcase_create("all");
    SRunner *runner;
    int n_failed;

    tcase_add_loop_test(tc, message__in_pieces__comes_whole, 0, COUNT_OF(steps));
    tcase_add_loop_test(tc, message__not_allowed__is_refused_with_its_head, 0,
                        COUNT_OF(refused));
    tcase_add_loop_test(tc, message__while_an_answer_is_owed__may_leave_or_end_the_job, 0, 2);
    tcase_add_loop_test(tc, message__descriptors_too_many__all_are_closed, 0, 2);
    tcase_add_test(tc, control__descriptor_in_the_padding__is_found);
    tcase_add_loop_test(tc, descriptors__more_than_asked_for__are_closed, 0, 2);
    tcase_add_loop_test(tc, answer__of_another_form__is_refused, 0, COUNT_OF(answers));
    tcase_add_test(tc, join__of_another_pe_job_or_version__says_what_it_should_be);
    suite_add_tcase(suite, tc);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
