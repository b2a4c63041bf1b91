/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launcher.c: a PE that chorusrun started, on one or several hosts. It joins by the socket that
 * it inherited; all later messages use a socket of its own (message.h says why).
 */
#include "base/clock.h"
#include "base/option.h"
#include "boot/message.h"
#include "boot/tree/tree.h"
#include "boot/ways.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A process that has left may join again by its own socket, which it keeps. */
static struct {
    int sock;  /* -1: none */
    pid_t pid; /* the process that joined; a child that it forked is not a PE */
} left = {-1, 0};

struct launcher_boot {
    struct ch_boot base;
    int sock;          /* to chorusrun, used only by this process */
    int inherited;     /* closed when chorusrun ends */
    int is_broken;     /* an exchange failed before its end: the next bytes on the socket are
                          unknown */
    bool has_given_up; /* exchanges fail, for the reason in `why`; atomic */
    char why[CH_WIRE_REASON_BYTES];
};

static chorus_status fail_timeout(const struct ch_boot *boot, const char *missing)
{
    return CH_FAIL(CHORUS_ERR_TIMEOUT,
                   "exchange among all PEs: not all of %u PEs came within %.3g s%s%s", boot->n,
                   (double)boot->timeout_ns / (double)CH_NS_PER_S,
                   missing[0] != '\0' ? "; missing: " : "", missing);
}

/* Returns `status`, which a ch_wire_ function returned; sets the message for ERR_TIMEOUT, which
 * these functions do not. */
static chorus_status add_timeout_message(const struct ch_boot *boot, chorus_status status)
{
    return status == CHORUS_ERR_TIMEOUT ? fail_timeout(boot, "") : status;
}

/* Receive the reason of a FAIL with this head, and fail with it. */
static chorus_status recv_failure(const struct launcher_boot *boot,
                                  const struct ch_wire_head *head, uint64_t deadline_ns)
{
    char reason[CH_WIRE_REASON_BYTES];

    CH_TRY(add_timeout_message(
        &boot->base, ch_wire_recv(boot->sock, reason, (size_t)head->bytes, deadline_ns)));
    reason[head->bytes] = '\0';
    return CH_FAIL((chorus_status)head->code, "exchange among all PEs: %s", reason);
}

static uint32_t count_near(const struct ch_boot *boot)
{
    uint32_t n_near = 0;

    for (uint32_t pe = 0; pe < boot->n; pe++)
        n_near += ch_boot_is_near(boot, pe);
    return n_near;
}

/* Descriptors were received for the PEs of this host only; put each at its PE's index. */
static void spread_fds(const struct ch_boot *boot, uint32_t n_near, int *fds)
{
    for (uint32_t pe = boot->n; pe-- > 0;)
        fds[pe] = ch_boot_is_near(boot, pe) ? fds[--n_near] : -1;
}

/* Time for chorusrun to name the missing PEs. */
#define NAMES_NS CH_NS_PER_S

/* Ask chorusrun which PEs are missing, and receive the next head. If it is that of the answer,
 * missing_out gets their names; else it is the head of the exchange's answer, and missing_out
 * is "". */
static chorus_status ask_for_missing(const struct launcher_boot *boot, uint64_t deadline_ns,
                                     struct ch_wire_head *head_out,
                                     char missing_out[CH_WIRE_REASON_BYTES])
{
    const struct ch_wire_head question = ch_wire_head_of(CH_WIRE_ASK);

    missing_out[0] = '\0';
    CH_TRY(ch_wire_send(boot->sock, &question, sizeof(question), -1, deadline_ns));
    CH_TRY(ch_wire_recv(boot->sock, head_out, sizeof(*head_out), deadline_ns));
    if (!ch_wire_is_missing_list(head_out)) return CHORUS_OK;
    CH_TRY(ch_wire_recv(boot->sock, missing_out, (size_t)head_out->bytes, deadline_ns));
    missing_out[head_out->bytes] = '\0';
    return CHORUS_OK;
}

/* Wait for chorusrun's answer to an exchange, report the missing PEs if that takes long, and
 * receive the head of the answer. */
static chorus_status recv_head(const struct launcher_boot *boot, uint64_t deadline_ns,
                               struct ch_wire_head *head_out)
{
    const struct ch_boot *base = &boot->base;
    char missing[CH_WIRE_REASON_BYTES] = "";
    chorus_status status = CHORUS_OK;

    if (ch_boot_may_warn(base))
        status = ch_wire_await(boot->sock, ch_clock_ns() + base->warn_ns);
    if (status == CHORUS_ERR_TIMEOUT) {
        status = ask_for_missing(boot, deadline_ns, head_out, missing);
        if (status == CHORUS_OK && missing[0] == '\0') return CHORUS_OK;
        if (status == CHORUS_OK) base->warn(base->warn_arg, missing, base->warn_ns);
    }
    if (status == CHORUS_OK) status = ch_wire_await(boot->sock, deadline_ns);
    if (status == CHORUS_ERR_TIMEOUT) {
        status = ask_for_missing(boot, ch_clock_ns() + NAMES_NS, head_out, missing);
        if (status == CHORUS_OK && missing[0] == '\0') return CHORUS_OK;
        return fail_timeout(base, missing);
    }
    CH_TRY(status);
    return add_timeout_message(
        base, ch_wire_recv(boot->sock, head_out, sizeof(*head_out), deadline_ns));
}

/* Receive chorusrun's answer to an exchange: for each PE `bytes` bytes and, if with_fds, a
 * descriptor. */
static chorus_status recv_result(struct launcher_boot *boot, size_t bytes, int with_fds,
                                 void *blobs_out, int *fds_out, uint64_t deadline_ns)
{
    const uint32_t n_fds = with_fds ? count_near(&boot->base) : 0;
    struct ch_wire_head head;
    chorus_status st;

    CH_TRY(recv_head(boot, deadline_ns, &head));
    CH_TRY(ch_wire_answer_check(&head, bytes * boot->base.n, n_fds));
    if (head.kind == CH_WIRE_FAIL) {
        boot->is_broken = 0; /* the answer has been received completely */
        return recv_failure(boot, &head, deadline_ns);
    }
    CH_TRY(add_timeout_message(
        &boot->base, ch_wire_recv(boot->sock, blobs_out, (size_t)head.bytes, deadline_ns)));
    st = ch_wire_recv_fds(boot->sock, n_fds, fds_out, deadline_ns);
    if (st == CHORUS_ERR_SYSTEM) boot->is_broken = 0; /* nothing of the answer is left */
    CH_TRY(add_timeout_message(&boot->base, st));
    if (with_fds) spread_fds(&boot->base, n_fds, fds_out);
    return CHORUS_OK;
}

/* Perform an exchange through chorusrun; see ch_boot_ops. */
static chorus_status swap_with_launcher(struct launcher_boot *boot, const void *blob,
                                        size_t bytes, int fd, void *blobs_out, int *fds_out)
{
    const uint64_t timeout_ns = boot->base.timeout_ns;
    const uint64_t deadline_ns = timeout_ns == 0 ? 0 : ch_clock_ns() + timeout_ns;
    struct ch_wire_head head = ch_wire_head_of(CH_WIRE_EXCHANGE);

    head.bytes = bytes;
    head.n_fds = fd >= 0;
    head.code = (int32_t)ch_boot_node(&boot->base, boot->base.me);
    CH_TRY(add_timeout_message(&boot->base,
                               ch_wire_send(boot->sock, &head, sizeof(head), fd, deadline_ns)));
    CH_TRY(add_timeout_message(&boot->base,
                               ch_wire_send(boot->sock, blob, bytes, -1, deadline_ns)));
    return recv_result(boot, bytes, fd >= 0, blobs_out, fds_out, deadline_ns);
}

static bool has_given_up(const struct launcher_boot *boot)
{
    return __atomic_load_n(&boot->has_given_up, __ATOMIC_ACQUIRE);
}

static chorus_status fail_given_up(const struct launcher_boot *boot)
{
    return CH_FAIL(CHORUS_ERR_ABORTED, "exchange among all PEs: %s", boot->why);
}

static chorus_status launcher_exchange(struct ch_boot *base, const void *blob, size_t bytes,
                                       int fd, void *blobs_out, int *fds_out)
{
    struct launcher_boot *boot = (struct launcher_boot *)base;
    chorus_status st;

    if (bytes > CH_WIRE_BLOB_MAX)
        return CH_FAIL(CHORUS_ERR_ARG,
                       "exchange among all PEs: this PE sends %zu bytes; expected at most %d",
                       bytes, CH_WIRE_BLOB_MAX);
    if (has_given_up(boot))
        return fail_given_up(boot); /* chorusrun may still owe the answer of an exchange */
    if (boot->is_broken)
        return CH_FAIL(CHORUS_ERR_ABORTED,
                       "exchange among all PEs: an earlier exchange failed before its end");
    boot->is_broken = 1;
    st = swap_with_launcher(boot, blob, bytes, fd, blobs_out, fds_out);
    if (st == CHORUS_OK) boot->is_broken = 0;
    return st != CHORUS_OK && has_given_up(boot) ? fail_given_up(boot) : st;
}

/*
 * Have the system kill this process when chorusrun ends. The parent-death signal that chorusrun
 * requests reaches only its own children, not a program under a wrapper, and a program with
 * other rights (setuid) loses it. A PE may compute for a long time without reading a socket, so
 * the socket raises a signal: chorusrun writes nothing to this socket after JOIN, so that it
 * becomes readable only when chorusrun ends.
 */
static chorus_status die_with_launcher(int inherited)
{
    struct pollfd f = {inherited, 0, 0};

    (void)fcntl(inherited, F_SETFD,
                FD_CLOEXEC); /* a program that this PE starts is not the PE */
    (void)fcntl(inherited, F_SETSIG, SIGKILL);
    (void)fcntl(inherited, F_SETOWN, getpid());
    (void)fcntl(inherited, F_SETFL, O_ASYNC);
    if (poll(&f, 1, 0) > 0 && (f.revents & POLLHUP) != 0) return CHORUS_ERR_ABORTED;
    return CHORUS_OK;
}

/* Undo die_with_launcher: wrappers share this open file, and its mode with it. */
static void outlive_launcher(int inherited)
{
    (void)fcntl(inherited, F_SETFL, 0);
}

/* Send one message without an answer, with a descriptor or -1. Fails only if chorusrun has
 * ended, and with it the job. */
static void send_without_answer(const struct launcher_boot *boot, enum ch_wire_kind kind,
                                int code, int fd)
{
    struct ch_wire_head head = ch_wire_head_of(kind);

    head.code = code;
    head.n_fds = fd >= 0;
    if (ch_wire_send(boot->sock, &head, sizeof(head), fd, 0) != CHORUS_OK) return;
}

static void launcher_abort_job(struct ch_boot *boot, int status)
{
    send_without_answer((struct launcher_boot *)boot, CH_WIRE_ABORT, status, -1);
}

/* An exchange of another thread finds the end of the socket; later ones are not begun. */
static void launcher_give_up(struct ch_boot *base, const char *why)
{
    struct launcher_boot *boot = (struct launcher_boot *)base;

    if (has_given_up(boot)) return;
    (void)snprintf(boot->why, sizeof(boot->why), "%s", why);
    __atomic_store_n(&boot->has_given_up, true, __ATOMIC_RELEASE);
    (void)shutdown(boot->sock, SHUT_RD);
}

static void launcher_show(struct ch_boot *boot, int fd)
{
    send_without_answer((struct launcher_boot *)boot, CH_WIRE_SHOW, 0, fd);
}

static void launcher_close(struct ch_boot *base)
{
    struct launcher_boot *boot = (struct launcher_boot *)base;

    outlive_launcher(boot->inherited);
    send_without_answer(boot, CH_WIRE_LEAVE, 0, -1);
    left.sock = boot->sock;
    left.pid = getpid();
    ch_boot_forget_nodes(base);
    free(boot);
}

static const struct ch_boot_ops launcher_ops = {
    .name = "launcher",
    .exchange = launcher_exchange,
    .close = launcher_close,
    .abort_job = launcher_abort_job,
    .give_up = launcher_give_up,
    .show = launcher_show,
};

/* Read a number lo..hi that chorusrun sets with the variable that showed that it started this
 * PE. */
static chorus_status read_number(enum ch_variable_id id, uint64_t lo, uint64_t hi,
                                 uint64_t *out)
{
    const enum ch_variable_id given =
        ch_variable_get(CH_VARIABLE_BOOT_FD) != NULL ? CH_VARIABLE_BOOT_FD : CH_VARIABLE_ROOT;
    const char *const name = ch_variable_name(id);

    if (ch_variable_get(id) != NULL) return ch_way_read_number(name, "chorusrun", lo, hi, out);
    return CH_FAIL(CHORUS_ERR_ARG,
                   "%s is set but %s is not; start the program with chorusrun, or unset both",
                   ch_variable_name(given), name);
}

/* Fail if `sock` is not a UNIX socket: the descriptor may be closed, or another file by now. */
static chorus_status check_socket(int sock)
{
    const char *const name = ch_variable_name(CH_VARIABLE_BOOT_FD);
    socklen_t bytes = sizeof(int);
    int domain = -1;

    if (getsockopt(sock, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) == 0 && domain == AF_UNIX)
        return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_ARG,
                   "%s is %d, which is not a socket of chorusrun in this process; if a PE "
                   "started this program, unset %s to run it as a job of one PE",
                   name, sock, name);
}

/* Send JOIN to chorusrun, with the other end of a socket that only this process uses. The
 * inherited socket is non-blocking if a process has joined by it. */
static chorus_status join_job(struct launcher_boot *boot)
{
    struct {
        struct ch_wire_head head;
        struct ch_wire_join body;
    } message = {ch_wire_head_of(CH_WIRE_JOIN), ch_wire_join_of(boot->base.me, boot->base.n)};
    chorus_status st;
    int pair[2];

    message.head.bytes = sizeof(message.body);
    message.head.n_fds = 1;
    if (left.sock >= 0 ? left.pid != getpid() : fcntl(boot->inherited, F_GETOWN) != 0)
        return CHORUS_ERR_ABORTED;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "cannot make a socket to chorusrun: %s%s",
                       strerror(errno), errno == EMFILE ? "; " CH_LIMIT_ADVICE : "");
    st = ch_wire_send(left.sock >= 0 ? left.sock : boot->inherited, &message, sizeof(message),
                      pair[1], 0);
    (void)close(pair[1]);
    boot->sock = pair[0];
    if (left.sock >= 0) (void)close(left.sock);
    left.sock = -1;
    return st;
}

static chorus_status launcher_open(uint64_t timeout_ns, struct ch_boot **boot_out)
{
    uint64_t n, me, n_cores, inherited;
    struct launcher_boot *boot;
    chorus_status st;

    CH_TRY(read_number(CH_VARIABLE_BOOT_FD, 0, INT_MAX, &inherited));
    CH_TRY(read_number(CH_VARIABLE_N_PES, 1, CH_WIRE_PES_MAX, &n));
    CH_TRY(read_number(CH_VARIABLE_PE, 0, n - 1, &me));
    CH_TRY(read_number(CH_VARIABLE_N_CORES, 1, INT_MAX, &n_cores));
    CH_TRY(check_socket((int)inherited));
    boot = malloc(sizeof(*boot));
    if (boot == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for a boot");
    *boot = (struct launcher_boot){{.ops = &launcher_ops,
                                    .me = (uint32_t)me,
                                    .n = (uint32_t)n,
                                    .n_cores = (uint32_t)n_cores,
                                    .timeout_ns = timeout_ns,
                                    .listen = CH_BOOT_LOOPBACK,
                                    .spare = ch_variable_get(CH_VARIABLE_SPARE)},
                                   .sock = -1,
                                   .inherited = (int)inherited};
    st = join_job(boot);
    if (st == CHORUS_OK) st = die_with_launcher(boot->inherited);
    if (st == CHORUS_OK) {
        *boot_out = &boot->base;
        return CHORUS_OK;
    }
    if (boot->sock >= 0) (void)close(boot->sock);
    free(boot);
    if (st != CHORUS_ERR_ABORTED) return st;
    return CH_FAIL(st, "chorusrun has ended, or another process of this PE has joined the job "
                       "already; only one of them can");
}

static bool launcher_applies(char why_out[CH_WAY_WHY_BYTES])
{
    return ch_way_read_variable(ch_variable_name(CH_VARIABLE_BOOT_FD), why_out) != NULL;
}

const struct ch_way ch_way_launcher = {"chorusrun", launcher_applies, launcher_open, true};

/* ---- chorusrun on several hosts ---- */

/* An agent starts the PE, which informs it when it joins and leaves, as it informs chorusrun on
 * one host, and ends when the agent ends. chorusrun itself is the root of the tree. */

/* Reads 64 hex digits from a descriptor and closes it, so that programs that this one starts do
 * not inherit the secret. */
static chorus_status read_secret(unsigned char secret_out[CH_BOOT_SECRET_BYTES])
{
    char text[2 * CH_BOOT_SECRET_BYTES + 1] = "";
    size_t got = 0;
    uint64_t fd;
    ssize_t n;

    CH_TRY(ch_way_read_number(ch_variable_name(CH_VARIABLE_SECRET_FD), "chorusrun", 0, INT_MAX,
                              &fd));
    while (got < sizeof(text) - 1 &&
           (n = read((int)fd, text + got, sizeof(text) - 1 - got)) != 0) {
        if (n < 0 && errno != EINTR) break;
        if (n > 0) got += (size_t)n;
    }
    (void)close((int)fd);
    (void)unsetenv(ch_variable_name(CH_VARIABLE_SECRET_FD));
    if (ch_tree_secret_parse(text, secret_out)) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_ARG,
                   "descriptor %d, which %s names, does not have the job's secret; start the "
                   "program with chorusrun, and let only one process of each PE join",
                   (int)fd, ch_variable_name(CH_VARIABLE_SECRET_FD));
}

static chorus_status hosts_open(uint64_t timeout_ns, struct ch_boot **boot_out)
{
    struct ch_tree_start start = {.timeout_ns = timeout_ns};
    chorus_status status;

    CH_TRY(ch_way_check_host(ch_variable_name(CH_VARIABLE_ROOT)));
    CH_TRY(ch_way_launcher.open(timeout_ns, &start.agent));
    start.me = start.agent->me;
    start.n = start.agent->n;
    start.n_cores = start.agent->n_cores;
    start.root = ch_variable_get(CH_VARIABLE_ROOT);
    status = read_secret(start.secret);
    if (status != CHORUS_OK) {
        start.agent->ops->close(start.agent);
        return status;
    }
    CH_TRY(ch_boot_open_tree(&start, boot_out));
    (*boot_out)->spare = ch_variable_get(CH_VARIABLE_SPARE);
    return CHORUS_OK;
}

static bool hosts_applies(char why_out[CH_WAY_WHY_BYTES])
{
    return ch_way_read_variable(ch_variable_name(CH_VARIABLE_ROOT), why_out) != NULL;
}

const struct ch_way ch_way_hosts = {"chorusrun --hosts", hosts_applies, hosts_open, false};
