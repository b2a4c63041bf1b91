/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire_pe: a PE for the tests of chorusrun that writes to its socket by itself. Its argument
 * says how it breaks the protocol. PE 1 does; the others wait for the end of the job.
 */
#include "boot/boot.h"
#include "boot/message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Far beyond any test. */
enum { LONG_S = 60, WRONG = 90 };

static int sock;
static uint32_t me, n;

static void require(bool is_true, const char *what)
{
    if (is_true) return;
    (void)fprintf(stderr, "wire_pe: not true: %s\n", what);
    exit(WRONG);
}

static void put(const void *data, size_t bytes, int fd)
{
    require(ch_wire_send(sock, data, bytes, fd, 0) == CHORUS_OK, "all bytes were sent");
}

static void join(void)
{
    struct ch_wire_head head = ch_wire_head_of(CH_WIRE_JOIN);
    const struct ch_wire_join body = ch_wire_join_of(me, n);
    int pair[2];

    require(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "there are sockets");
    head.bytes = sizeof(body);
    head.n_fds = 1;
    put(&head, sizeof(head), pair[1]);
    put(&body, sizeof(body), -1);
    (void)close(pair[1]);
    sock = pair[0];
}

/* Larger answers than a socket holds: the second request comes before the first is read. */
static void ask_again(void)
{
    struct ch_wire_head head = ch_wire_head_of(CH_WIRE_EXCHANGE);
    char *blob = calloc(1, CH_WIRE_BLOB_MAX);

    require(blob != NULL, "there is memory");
    head.bytes = CH_WIRE_BLOB_MAX;
    put(&head, sizeof(head), -1);
    put(blob, CH_WIRE_BLOB_MAX, -1);
    if (me == 1) put(&head, sizeof(head), -1);
}

/* Two descriptors with a message that has one; both fit in the room for one. */
static void join_with_descriptors(void)
{
    union ch_wire_control control = {.room = ""};
    struct ch_wire_head head = ch_wire_head_of(CH_WIRE_JOIN);
    struct iovec part = {&head, sizeof(head)};
    struct msghdr h = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control};

    head.bytes = sizeof(struct ch_wire_join);
    head.n_fds = 1;
    h.msg_controllen = CMSG_SPACE(2 * sizeof(int));
    control.head.cmsg_level = SOL_SOCKET;
    control.head.cmsg_type = SCM_RIGHTS;
    control.head.cmsg_len = CMSG_LEN(2 * sizeof(int));
    memset(CMSG_DATA(&control.head), 0, 2 * sizeof(int));
    if (me == 1) require(sendmsg(sock, &h, MSG_NOSIGNAL) > 0, "the head was sent");
}

static void join_twice(void)
{
    join();
    if (me == 1) join();
}

static void not_join(void)
{
    const struct ch_wire_head head = ch_wire_head_of(CH_WIRE_EXCHANGE);

    if (me == 1) put(&head, sizeof(head), -1);
}

static void join_and_ask_again(void)
{
    join();
    ask_again();
}

static uint32_t number(const char *name)
{
    const char *text = getenv(name);

    require(text != NULL, name);
    return (uint32_t)strtoul(text, NULL, 10);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } acts[] = {
        {"ask_again", join_and_ask_again},
        {"join_with_descriptors", join_with_descriptors},
        {"join_twice", join_twice},
        {"not_join", not_join},
    };

    me = number("CHORUS_PE");
    n = number("CHORUS_N_PES");
    sock = (int)number("CHORUS_BOOT_FD");
    for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++)
        if (argc == 2 && strcmp(argv[1], acts[i].name) == 0) acts[i].run();
    for (int s = 0; s < LONG_S; s++)
        (void)sleep(1);
    return WRONG;
}
