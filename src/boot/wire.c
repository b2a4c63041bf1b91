/* SPDX-License-Identifier: Apache-2.0 */
/* wire.c: the PE's side of its socket pair with chorusrun: bytes and descriptors, with a time
 * limit. */
#include "boot/message.h"

#include "base/clock.h"
#include "boot/ways.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

/* Time to wait before passing a descriptor again if the system has too many in flight. */
enum { CROWDED_MS = 1 };

static chorus_status gone(void)
{
    return CH_FAIL(CHORUS_ERR_ABORTED, "chorusrun has ended, and the job with it");
}

static chorus_status refused(const char *what)
{
    if (errno == ECONNRESET || errno == EPIPE) return gone();
    return CH_FAIL(CHORUS_ERR_SYSTEM, "cannot %s chorusrun: %s", what, strerror(errno));
}

/* Milliseconds to the deadline, rounded up, for poll; -1 if there is none. */
static int ms_left(uint64_t deadline_ns)
{
    const uint64_t now = ch_clock_ns();
    uint64_t ms;

    if (deadline_ns == 0) return -1;
    if (now >= deadline_ns) return 0;
    ms = (deadline_ns - now + CH_NS_PER_MS - 1) / CH_NS_PER_MS;
    return ms > INT_MAX ? INT_MAX : (int)ms;
}

/* Sleep until the socket is ready; the caller tries again. events 0: a short while. */
static chorus_status wait_ready(int sock, short events, uint64_t deadline_ns)
{
    struct pollfd p = {sock, events, 0};
    const int left = ms_left(deadline_ns);
    int rc;

    if (events == 0 && left != 0)
        rc = poll(NULL, 0, CROWDED_MS) + 1;
    else
        rc = poll(&p, 1, left);
    if (rc == 0) return CHORUS_ERR_TIMEOUT;
    return rc < 0 && errno != EINTR ? refused("wait for") : CHORUS_OK;
}

static void attach(struct msghdr *m, union ch_wire_control *control, int fd)
{
    memset(control, 0, sizeof(*control));
    m->msg_control = control;
    m->msg_controllen = CMSG_SPACE(sizeof(fd));
    control->head.cmsg_level = SOL_SOCKET;
    control->head.cmsg_type = SCM_RIGHTS;
    control->head.cmsg_len = CMSG_LEN(sizeof(fd));
    memcpy(CMSG_DATA(&control->head), &fd, sizeof(fd));
}

chorus_status ch_wire_send(int sock, const void *data, size_t bytes, int fd,
                           uint64_t deadline_ns)
{
    size_t sent = 0;

    while (sent < bytes) {
        /* sendmsg does not write through iov_base, which is not const because recvmsg uses the
         * same type. */
        struct iovec part = {(char *)(uintptr_t)data + sent, bytes - sent};
        struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
        union ch_wire_control control;
        ssize_t n;
        if (fd >= 0) attach(&m, &control, fd);
        n = sendmsg(sock, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0) {
            sent += (size_t)n;
            fd = -1; /* was sent with the first byte */
        } else if (errno == EAGAIN) {
            CH_TRY(wait_ready(sock, POLLOUT, deadline_ns));
        } else if (errno == ETOOMANYREFS) {
            CH_TRY(wait_ready(sock, 0, deadline_ns));
        } else if (errno != EINTR) {
            return refused("write to");
        }
    }
    return CHORUS_OK;
}

ssize_t ch_wire_pass(int sock, const int *fds, uint32_t n)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(CH_WIRE_FDS * sizeof(int))];
    } control = {.room = ""};
    char byte = 0;
    struct iovec part = {&byte, 1};
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};

    m.msg_control = &control;
    m.msg_controllen = CMSG_SPACE(n * sizeof(int));
    control.head.cmsg_level = SOL_SOCKET;
    control.head.cmsg_type = SCM_RIGHTS;
    control.head.cmsg_len = CMSG_LEN(n * sizeof(int));
    memcpy(CMSG_DATA(&control.head), fds, n * sizeof(int));
    return sendmsg(sock, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
}

chorus_status ch_wire_send_fds(int sock, uint32_t n, const int *fds, uint64_t deadline_ns)
{
    uint32_t sent = 0;

    while (sent < n) {
        const uint32_t now = n - sent < CH_WIRE_FDS ? n - sent : CH_WIRE_FDS;

        if (ch_wire_pass(sock, fds + sent, now) > 0)
            sent += now;
        else if (errno == EAGAIN)
            CH_TRY(wait_ready(sock, POLLOUT, deadline_ns));
        else if (errno == ETOOMANYREFS)
            CH_TRY(wait_ready(sock, 0, deadline_ns));
        else if (errno != EINTR)
            return refused("write to");
    }
    return CHORUS_OK;
}

chorus_status ch_wire_recv(int sock, void *data, size_t bytes, uint64_t deadline_ns)
{
    size_t got = 0;

    while (got < bytes) {
        const ssize_t n = recv(sock, (char *)data + got, bytes - got, MSG_DONTWAIT);
        if (n > 0)
            got += (size_t)n;
        else if (n == 0)
            return gone();
        else if (errno == EAGAIN)
            CH_TRY(wait_ready(sock, POLLIN, deadline_ns));
        else if (errno != EINTR)
            return refused("read from");
    }
    return CHORUS_OK;
}

chorus_status ch_wire_await(int sock, uint64_t deadline_ns)
{
    char byte;

    while (recv(sock, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0) {
        if (errno == EAGAIN)
            CH_TRY(wait_ready(sock, POLLIN, deadline_ns));
        else if (errno != EINTR)
            return refused("read from");
    }
    return CHORUS_OK;
}

/* The descriptors of one message, of which `want` are expected; others are closed. */
static uint32_t detach(const struct msghdr *m, uint32_t want, int *fds_out)
{
    int fds[CH_WIRE_CONTROL_FDS];
    const uint32_t n = ch_wire_fds(m, fds), kept = n < want ? n : want;

    memcpy(fds_out, fds, kept * sizeof(int));
    ch_fd_close_all(fds + kept, n - kept);
    return kept;
}

static chorus_status recv_some(int sock, uint32_t want, int *fds_out, uint32_t *got_out,
                               uint64_t deadline_ns)
{
    union ch_wire_control control;
    char byte;
    struct iovec part = {&byte, 1};

    for (;;) {
        struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
        ssize_t n;
        m.msg_control = &control;
        m.msg_controllen = sizeof(control);
        n = recvmsg(sock, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (n == 0) return gone();
        if (n > 0) {
            *got_out = detach(&m, want, fds_out);
            return CHORUS_OK;
        }
        if (errno == EAGAIN)
            CH_TRY(wait_ready(sock, POLLIN, deadline_ns));
        else if (errno != EINTR)
            return refused("read descriptors from");
    }
}

chorus_status ch_wire_recv_fds(int sock, uint32_t n, int *fds_out, uint64_t deadline_ns)
{
    chorus_status st = CHORUS_OK;
    uint32_t got = 0;

    /* All messages are read also if descriptors are missing, so that others can follow. */
    for (uint32_t at = 0; at < n; at += CH_WIRE_FDS) {
        const uint32_t want = n - at < CH_WIRE_FDS ? n - at : CH_WIRE_FDS;
        uint32_t here = 0;
        CH_TRY_GOTO(st, recv_some(sock, want, fds_out + got, &here, deadline_ns), out_close);
        got += here;
    }
    if (got == n) return CHORUS_OK;
    st = CH_FAIL(CHORUS_ERR_SYSTEM,
                 "only %u of %u descriptors could be received; " CH_LIMIT_ADVICE, got, n);

out_close:
    ch_fd_close_all(fds_out, got);
    return st;
}
