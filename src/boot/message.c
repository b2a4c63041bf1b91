/* SPDX-License-Identifier: Apache-2.0 */
#include "boot/message.h"

#include "base/clock.h"
#include "base/option.h"
#include "boot/ways.h"
#include "chorus/chorus.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static const char wrong_version[] =
    "has another version of Chorus; use the chorusrun of its version";
static const char wrong_form[] =
    "sent a message in a format that chorusrun does not know; use the chorusrun of its version";

struct ch_wire_head ch_wire_head_of(enum ch_wire_kind kind)
{
    return (struct ch_wire_head){.magic = CH_WIRE_MAGIC, .kind = kind};
}

struct ch_wire_join ch_wire_join_of(uint32_t pe, uint32_t n)
{
    return (struct ch_wire_join){pe, n, CHORUS_MAJOR_VERSION, CHORUS_MINOR_VERSION};
}

bool ch_wire_join_check(const struct ch_wire_join *join, uint32_t pe, uint32_t n,
                        char why_out[CH_WIRE_REASON_BYTES])
{
    const struct ch_wire_join right = ch_wire_join_of(pe, n);

    if (join->version_major != right.version_major ||
        join->version_minor != right.version_minor) {
        (void)snprintf(
            why_out, CH_WIRE_REASON_BYTES,
            "has Chorus %u.%u, and chorusrun is of %u.%u; use the chorusrun of its version",
            join->version_major, join->version_minor, right.version_major, right.version_minor);
        return false;
    }
    if (join->pe == pe && join->n == n) return true;
    (void)snprintf(
        why_out, CH_WIRE_REASON_BYTES,
        "joined as PE %u of %u, but was started as PE %u of %u; leave %s and %s as chorusrun "
        "sets them",
        join->pe, join->n, pe, n, ch_variable_name(CH_VARIABLE_PE),
        ch_variable_name(CH_VARIABLE_N_PES));
    return false;
}

void ch_message_init(struct ch_message *m)
{
    *m = (struct ch_message){.fd = -1};
}

void ch_message_forget(struct ch_message *m)
{
    free(m->body);
    if (m->fd >= 0) ch_fd_close_all(&m->fd, 1);
    ch_message_init(m);
}

void *ch_message_room(struct ch_message *m, size_t *bytes_out)
{
    if (m->head_got < sizeof(m->head)) {
        *bytes_out = sizeof(m->head) - m->head_got;
        return (char *)&m->head + m->head_got;
    }
    *bytes_out = (size_t)m->head.bytes - m->body_got;
    return m->body + m->body_got;
}

/* Returns the fault of a head that no PE sends; null if it has none. */
static const char *find_form_fault(const struct ch_wire_head *head)
{
    switch (head->kind) {
    case CH_WIRE_JOIN:
        return head->bytes != sizeof(struct ch_wire_join) || head->n_fds != 1 ? wrong_form
                                                                              : NULL;
    case CH_WIRE_EXCHANGE:
        return head->bytes > CH_WIRE_BLOB_MAX || head->n_fds > 1 || head->code < 0 ? wrong_form
                                                                                   : NULL;
    case CH_WIRE_SHOW:
        return head->bytes != 0 || head->n_fds != 1 ? wrong_form : NULL;
    case CH_WIRE_LEAVE:
    case CH_WIRE_ASK:
        return head->bytes != 0 || head->n_fds != 0 ? wrong_form : NULL;
    case CH_WIRE_ABORT:
        return head->bytes != 0 || head->n_fds != 0 || head->code < 0 || head->code > 255
                   ? wrong_form
                   : NULL;
    default:
        return wrong_form;
    }
}

/* Returns why a PE at this stage may not send such a message; null if it may. */
static const char *find_stage_fault(uint32_t kind, enum ch_wire_stage stage)
{
    if (kind == CH_WIRE_JOIN)
        return stage != CH_WIRE_OUTSIDE ? "joined the job twice (init)" : NULL;
    if (stage == CH_WIRE_OUTSIDE) return "sent a message before it joined the job";
    if (kind == CH_WIRE_EXCHANGE && stage == CH_WIRE_OWED)
        return "began an exchange before its last one had ended";
    return NULL;
}

/* The head is complete. Returns its fault, or null after allocating memory for the body. */
static const char *check_head(struct ch_message *m, enum ch_wire_stage stage)
{
    const char *fault;

    if (m->head.magic != CH_WIRE_MAGIC) return wrong_version;
    fault = find_form_fault(&m->head);
    if (fault == NULL) fault = find_stage_fault(m->head.kind, stage);
    if (fault != NULL || m->head.bytes == 0) return fault;
    m->body = malloc((size_t)m->head.bytes);
    return m->body == NULL ? "sent more bytes than chorusrun has memory for" : NULL;
}

enum ch_message_state ch_message_add_bytes(struct ch_message *m, size_t bytes,
                                           enum ch_wire_stage stage)
{
    if (m->head_got < sizeof(m->head)) {
        m->head_got += bytes;
        if (m->head_got < sizeof(m->head)) return CH_MESSAGE_PART;
        m->fault = check_head(m, stage);
    } else {
        m->body_got += bytes;
    }
    if (m->fault == NULL && m->n_fds != m->head.n_fds) m->fault = wrong_form;
    if (m->fault != NULL) return CH_MESSAGE_FAULT;
    return m->body_got == m->head.bytes ? CH_MESSAGE_WHOLE : CH_MESSAGE_PART;
}

void ch_message_take_fds(struct ch_message *m, const int *fds, uint32_t n)
{
    uint32_t taken = 0;

    if (n > 0 && m->fd < 0) m->fd = fds[taken++];
    ch_fd_close_all(fds + taken, n - taken);
    m->n_fds += n;
}

static bool is_failure(int code)
{
#define X(name, value, text) \
    if (code == (value)) return (value) != CHORUS_OK;
    CHORUS_STATUS_LIST(X)
#undef X
    return false;
}

chorus_status ch_wire_answer_check(const struct ch_wire_head *head, size_t bytes,
                                   uint32_t n_fds)
{
    const bool is_result = head->kind == CH_WIRE_RESULT && head->code == CHORUS_OK &&
                           head->bytes == bytes && head->n_fds == n_fds;
    const bool is_fail = head->kind == CH_WIRE_FAIL && is_failure(head->code) &&
                         head->bytes < CH_WIRE_REASON_BYTES && head->n_fds == 0;

    if (head->magic == CH_WIRE_MAGIC && (is_result || is_fail)) return CHORUS_OK;
    return CH_FAIL(
        CHORUS_ERR_SYSTEM,
        "chorusrun sent an answer in an unknown format; use the chorusrun of this library");
}

/* Returns the number of descriptors of one control message, which ends before `end`. */
static uint32_t count_fds(const struct cmsghdr *c, const char *end)
{
    const char *data = (const char *)CMSG_DATA(c);
    size_t bytes;

    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS || data > end) return 0;
    bytes = c->cmsg_len > CMSG_LEN(0) ? c->cmsg_len - CMSG_LEN(0) : 0;
    if (bytes > (size_t)(end - data)) bytes = (size_t)(end - data);
    return (uint32_t)(bytes / sizeof(int));
}

uint32_t ch_wire_extract_fds(const struct msghdr *m, int fds_out[CH_WIRE_CONTROL_FDS])
{
    const char *end = (const char *)m->msg_control + m->msg_controllen;
    struct msghdr all = *m; /* CMSG_NXTHDR takes a pointer that is not const */
    uint32_t n = 0;

    for (struct cmsghdr *c = CMSG_FIRSTHDR(&all); c != NULL; c = CMSG_NXTHDR(&all, c)) {
        uint32_t here = count_fds(c, end);
        if (here > CH_WIRE_CONTROL_FDS - n) here = CH_WIRE_CONTROL_FDS - n;
        memcpy(fds_out + n, CMSG_DATA(c), here * sizeof(int));
        n += here;
    }
    return n;
}

/* ---- the PE's side of the socket pair ---- */

/* Bytes and descriptors, with a time limit. */

/* Time to wait before passing a descriptor again if the system has too many in flight. */
enum { CROWDED_MS = 1 };

static chorus_status fail_launcher_ended(void)
{
    return CH_FAIL(CHORUS_ERR_ABORTED, "chorusrun has ended, and the job with it");
}

/* Fail since this PE cannot `what` chorusrun, for the reason in errno. */
static chorus_status fail_socket(const char *what)
{
    if (errno == ECONNRESET || errno == EPIPE) return fail_launcher_ended();
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

/* Sleep until the socket has one of `events`, or a short while if that is 0; the caller tries
 * again. ERR_TIMEOUT: the deadline has passed. */
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
    return rc < 0 && errno != EINTR ? fail_socket("wait for") : CHORUS_OK;
}

static void attach_fd(struct msghdr *m, union ch_wire_control *control, int fd)
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
        if (fd >= 0) attach_fd(&m, &control, fd);
        n = sendmsg(sock, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0) {
            sent += (size_t)n;
            fd = -1; /* was sent with the first byte */
        } else if (errno == EAGAIN) {
            CH_TRY(wait_ready(sock, POLLOUT, deadline_ns));
        } else if (errno == ETOOMANYREFS) {
            CH_TRY(wait_ready(sock, 0, deadline_ns));
        } else if (errno != EINTR) {
            return fail_socket("write to");
        }
    }
    return CHORUS_OK;
}

ssize_t ch_wire_send_fds_once(int sock, const int *fds, uint32_t n)
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

        if (ch_wire_send_fds_once(sock, fds + sent, now) > 0)
            sent += now;
        else if (errno == EAGAIN)
            CH_TRY(wait_ready(sock, POLLOUT, deadline_ns));
        else if (errno == ETOOMANYREFS)
            CH_TRY(wait_ready(sock, 0, deadline_ns));
        else if (errno != EINTR)
            return fail_socket("write to");
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
            return fail_launcher_ended();
        else if (errno == EAGAIN)
            CH_TRY(wait_ready(sock, POLLIN, deadline_ns));
        else if (errno != EINTR)
            return fail_socket("read from");
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
            return fail_socket("read from");
    }
    return CHORUS_OK;
}

/* Take the descriptors of one message: fds_out gets the first `want`, the others are closed.
 * Returns the number that it got. */
static uint32_t detach_fds(const struct msghdr *m, uint32_t want, int *fds_out)
{
    int fds[CH_WIRE_CONTROL_FDS];
    const uint32_t n = ch_wire_extract_fds(m, fds), kept = n < want ? n : want;

    memcpy(fds_out, fds, kept * sizeof(int));
    ch_fd_close_all(fds + kept, n - kept);
    return kept;
}

/* Receive one message with at most `want` descriptors; *got_out is their number. */
static chorus_status recv_fds_once(int sock, uint32_t want, int *fds_out, uint32_t *got_out,
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
        if (n == 0) return fail_launcher_ended();
        if (n > 0) {
            *got_out = detach_fds(&m, want, fds_out);
            return CHORUS_OK;
        }
        if (errno == EAGAIN)
            CH_TRY(wait_ready(sock, POLLIN, deadline_ns));
        else if (errno != EINTR)
            return fail_socket("read descriptors from");
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
        CH_TRY_GOTO(st, recv_fds_once(sock, want, fds_out + got, &here, deadline_ns),
                    out_close);
        got += here;
    }
    if (got == n) return CHORUS_OK;
    st = CH_FAIL(CHORUS_ERR_SYSTEM,
                 "only %u of %u descriptors could be received; " CH_LIMIT_ADVICE, got, n);

out_close:
    ch_fd_close_all(fds_out, got);
    return st;
}
