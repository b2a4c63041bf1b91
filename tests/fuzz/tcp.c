/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcp: what may come over the connections of the network tcp: to a guest, whose other end may
 * be anybody, or from a PE that sends frames. The input is a list of deeds: bytes, frames with
 * any head, replies, the end. Only attached memory changes.
 */
#include "fuzz.h"

#include "transport/tcp/tcp.h"

#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PARTS = 2, PART = 4096, MEMORY = 4 * PART, DEEDS_MAX = 64, GETS = 3, GET = 300 };

/* The attached parts, with as much unattached memory around them. */
static _Alignas(PART) char memory[MEMORY];
static char got[GETS][GET];

enum deed { DEED_BYTES, DEED_FRAME, DEED_REPLY, DEED_ASK, DEED_READ, DEED_COUNT };

static struct ch_options options = {.net = "lo", .timeout_ns = 1};
static struct ch_door door;

static struct ch_endpoint *open_net(void)
{
    static const uint32_t nodes[2] = {0, 1};
    static const char *const hosts[2] = {"alpha", "beta"};
    const struct ch_link_terms terms = {
        .options = &options, .me = 0, .n = 2, .nodes = nodes, .hosts = hosts, .door = &door};
    struct ch_endpoint *ep;
    uint64_t key;

    FUZZ_CHECK(ch_link_tcp.open(&terms, &ep) == CHORUS_OK);
    for (int i = 0; i < PARTS; i++) {
        const struct ch_memory_part part = {.base = memory + PART + i * PART, .bytes = PART};

        FUZZ_CHECK(ch_link_tcp.attach(ep, &part, &key) == CHORUS_OK);
    }
    return ep;
}

/* A link that is up, over one end of a pair of sockets. */
static struct ch_tcp_link *open_link(struct ch_endpoint *ep, int fd)
{
    struct ch_tcp_link *link = ch_tcp_link_get_or_make(ep, 1);

    FUZZ_CHECK(link != NULL);
    link->fd = fd;
    link->state = CH_TCP_UP;
    ep->n_calls--;
    ep->up[ep->n_up++] = 1;
    ch_tcp_watch(ep, fd, ch_tcp_watch_word(CH_TCP_WATCH_LINK, 1), 0, EPOLLIN);
    link->watched = EPOLLIN;
    return link;
}

static void send_frame(int sock, struct fuzz_input *in)
{
    struct ch_frame head = {.kind = fuzz_byte(in)};
    const size_t offset = (size_t)fuzz_byte(in) << 8 | fuzz_byte(in);
    uint64_t value = (uint64_t)fuzz_byte(in) << 8 | fuzz_byte(in);
    uint8_t bits;

    head.op = fuzz_byte(in);
    head.width = fuzz_byte(in);
    bits = fuzz_byte(in);
    head.wants_reply = bits & 1;
    head.parts = bits >> 1;
    head.there = (uintptr_t)memory + offset % MEMORY;
    if (value >= 0xff00) value |= UINT64_MAX << 16; /* so that sums wrap around */
    head.value = value;
    (void)send(sock, &head, sizeof(head), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void do_deed(struct ch_endpoint *ep, int sock, struct fuzz_input *in)
{
    const struct ch_frame reply = {.kind = CH_FRAME_REPLY, .value = GET};
    const enum deed deed = (enum deed)(fuzz_byte(in) % DEED_COUNT);
    char drain[4096];
    const uint8_t *bytes;
    size_t n;

    switch (deed) {
    case DEED_BYTES:
        n = fuzz_byte(in);
        bytes = fuzz_bytes(in, n, &n);
        if (n > 0) (void)send(sock, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
        break;
    case DEED_FRAME:
        send_frame(sock, in);
        break;
    case DEED_REPLY:
        (void)send(sock, &reply, sizeof(reply), MSG_NOSIGNAL | MSG_DONTWAIT);
        break;
    case DEED_ASK:
        (void)ch_link_tcp.is_done(ep, 0, 1);
        break;
    default:
        (void)recv(sock, drain, sizeof(drain), MSG_DONTWAIT);
    }
}

static void expect_untouched(void)
{
    for (size_t i = 0; i < PART; i++)
        FUZZ_CHECK(memory[i] == 0x5a && memory[MEMORY - 1 - i] == 0x5a);
}

/* Frames of a PE that is known. */
static void run_link(struct ch_endpoint *ep, int fd, int sock, struct fuzz_input *in)
{
    bool has_moved;

    (void)open_link(ep, fd);
    for (int i = 0; i < GETS; i++)
        ch_link_tcp.get(ep, 0, 1, got[i], memory + PART, GET);
    for (int i = 0; i < DEEDS_MAX && in->at < in->end; i++) {
        do_deed(ep, sock, in);
        if (ch_link_tcp.progress(ep, &has_moved) != CHORUS_OK)
            FUZZ_CHECK(ch_error_message()[0] != '\0' && !ch_link_tcp.is_done(ep, 0, 1));
    }
    (void)close(sock);
    for (int i = 0; i < 3; i++)
        (void)ch_link_tcp.progress(ep, &has_moved);
    FUZZ_CHECK(ep->links[1]->state != CH_TCP_UP);
}

/* Whoever connects. None of them knows the secret, or hits on a nonce. */
static void run_guest(struct ch_endpoint *ep, int fd, int sock, struct fuzz_input *in)
{
    struct ch_tcp_call *const guest = &ep->accepted[0];

    guest->fd = fd;
    for (int i = 0; i < DEEDS_MAX && in->at < in->end; i++) {
        do_deed(ep, sock, in);
        ch_tcp_accepted_step(ep, guest);
    }
    (void)close(sock);
    ch_tcp_accepted_step(ep, guest);
    ch_tcp_accepted_step(ep, guest);
    FUZZ_CHECK(guest->fd < 0 && ep->links[1] == NULL && ep->status == CHORUS_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct fuzz_input in = {data, data + bytes};
    const int next_fd = fuzz_next_fd();
    struct ch_endpoint *ep;
    int pair[2];

    memset(memory, 0x5a, sizeof(memory));
    FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
    ep = open_net();
    if ((fuzz_byte(&in) & 1) != 0)
        run_guest(ep, pair[0], pair[1], &in);
    else
        run_link(ep, pair[0], pair[1], &in);
    ch_link_tcp.close(ep);
    expect_untouched();
    FUZZ_CHECK(fuzz_next_fd() == next_fd);
    return 0;
}
