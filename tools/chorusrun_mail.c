/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chorusrun_mail.c: exchanges of PEs. A round is complete when all PEs have sent their data;
 * all PEs then get the same reply. A PE has at most one message in flight, because it waits
 * for the answer. While slow PEs still read the reply of a round, fast PEs may be one round
 * ahead.
 */
#include "chorusrun.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void mail_open(struct mail *mail, int sock)
{
    *mail = (struct mail){.sock = sock};
    ch_message_init(&mail->in);
}

static void forget_message(struct job *job, struct mail *mail)
{
    if (mail->is_waiting) job->n_waiting--;
    mail->is_waiting = false;
    ch_message_forget(&mail->in);
}

void mail_close(struct job *job, struct mail *mail)
{
    if (mail->sock < 0) return;
    forget_message(job, mail);
    reply_release(mail->reply);
    mail->reply = NULL;
    (void)close(mail->sock);
    mail->sock = -1;
}

enum { EVERY_NODE = -1 };

/* Answer all PEs that wait, on one host of the job. The reply may be null: there was no memory
 * for one. */
static void reply_to_waiting(struct job *job, int node, struct reply *reply)
{
    if (reply == NULL) {
        job_end(job, STATUS_CANNOT_RUN, "no memory for an exchange");
        return;
    }
    reply->refs = 1; /* a reference of this function, so that a fast PE does not free it */
    for (uint32_t i = 0; i < job->n_started; i++) {
        struct pe *pe = &job->pes[i];
        if (!pe->mail.is_waiting) continue;
        if (node != EVERY_NODE && pe->mail.in.head.code != node) continue;
        forget_message(job, &pe->mail);
        pe->mail.reply = reply;
        pe->mail.bytes_sent = 0;
        pe->mail.fds_sent = 0;
        reply->refs++;
        mail_send(job, pe);
    }
    reply_release(reply);
}

static void fail_waiting(struct job *job, chorus_status code, const char *reason)
{
    const size_t bytes = strlen(reason);
    struct reply *reply = reply_make(CH_WIRE_FAIL, code, 0, bytes);

    if (reply != NULL) memcpy(reply->data + sizeof(struct ch_wire_head), reason, bytes);
    reply_to_waiting(job, EVERY_NODE, reply);
}

void mail_fail_all(struct job *job, const char *reason)
{
    if (job->reason[0] == '\0') (void)snprintf(job->reason, sizeof(job->reason), "%s", reason);
    if (job->n_waiting > 0) fail_waiting(job, CHORUS_ERR_ABORTED, job->reason);
}

/* Have the messages of all PEs the same form as that of PE 0? Otherwise the round fails. */
static bool all_alike(struct job *job)
{
    const struct ch_wire_head *first = &job->pes[0].mail.in.head;
    char reason[CH_WIRE_REASON_BYTES];

    for (uint32_t i = 1; i < job->args->n; i++) {
        const struct ch_wire_head *head = &job->pes[i].mail.in.head;
        if (head->bytes == first->bytes && head->n_fds == first->n_fds) continue;
        (void)snprintf(reason, sizeof(reason), "PE %u gave %llu bytes%s, PE 0 %llu bytes%s", i,
                       (unsigned long long)head->bytes, head->n_fds ? " and a descriptor" : "",
                       (unsigned long long)first->bytes,
                       first->n_fds ? " and a descriptor" : "");
        fail_waiting(job, CHORUS_ERR_ARG, reason);
        return false;
    }
    return true;
}

static bool is_on(const struct pe *pe, int node)
{
    return pe->mail.in.head.n_fds > 0 && pe->mail.in.head.code == node;
}

/* The answer to the PEs of a host, with copies of their own descriptors. */
static struct reply *make_result(const struct job *job, int node, const char *blobs,
                                 size_t bytes)
{
    const uint32_t n = job->args->n;
    struct reply *reply;
    uint32_t n_fds = 0;

    for (uint32_t i = 0; i < n; i++)
        n_fds += is_on(&job->pes[i], node);
    reply = reply_make(CH_WIRE_RESULT, CHORUS_OK, n_fds, bytes);
    if (reply == NULL) return NULL;
    if (bytes > 0) memcpy(reply->data + sizeof(struct ch_wire_head), blobs, bytes);
    for (uint32_t i = 0; i < n; i++) {
        struct mail *mail = &job->pes[i].mail;
        if (!is_on(&job->pes[i], node)) continue;
        where_watch(&job->pes[i], mail->in.fd);
        reply->fds[reply->n_fds++] = mail->in.fd;
        mail->in.fd = -1;
    }
    return reply;
}

/* All PEs have sent their data. With descriptors, each host has its own answer: for each, take
 * the first PE that is still waiting. */
static void finish_round(struct job *job)
{
    const uint32_t n = job->args->n;
    const size_t bytes = (size_t)job->pes[0].mail.in.head.bytes;
    const bool with_fds = job->pes[0].mail.in.head.n_fds > 0;
    char *blobs;

    if (!all_alike(job)) return;
    blobs = malloc(n * bytes + 1);
    for (uint32_t i = 0; i < n && bytes > 0 && blobs != NULL; i++)
        memcpy(blobs + i * bytes, job->pes[i].mail.in.body, bytes);
    for (uint32_t i = 0; i < n; i++) {
        const int code = job->pes[i].mail.in.head.code, node = with_fds ? code : EVERY_NODE;
        if (!job->pes[i].mail.is_waiting) continue;
        reply_to_waiting(job, node,
                         blobs == NULL ? NULL : make_result(job, node, blobs, n * bytes));
        if (blobs == NULL) break;
    }
    free(blobs);
}

/* Will PE `gone` be missing in the exchange in which `pe` waits? It has left the job as often
 * as that PE has joined it, or it ended before it joined again. */
static bool is_missing(const struct pe *gone, const struct pe *pe)
{
    return gone->n_joins > pe->n_joins ||
           (gone->has_left && (gone->n_joins == pe->n_joins || !gone->is_alive));
}

/* It may have left because its wait for a PE that has not joined failed. */
static void fail_for(struct job *job, const struct pe *gone)
{
    char reason[CH_WIRE_REASON_BYTES], absent[sizeof(struct who) + 32] = "";
    struct who w;

    for (uint32_t i = 0; i < job->n_started && absent[0] == '\0'; i++)
        if (!job->pes[i].has_joined && job->pes[i].is_alive)
            (void)snprintf(absent, sizeof(absent), "; %s has not joined it",
                           who(&job->pes[i], &w));
    (void)snprintf(reason, sizeof(reason), "PE %u left the job%s", gone->number, absent);
    fail_waiting(job, CHORUS_ERR_ABORTED, reason);
}

/* Of several such PEs the first that left, since the others may have left because of it. */
static void look_for_missing(struct job *job, const struct pe *pe)
{
    const struct pe *first = NULL;

    for (uint32_t i = 0; i < job->n_started; i++) {
        const struct pe *gone = &job->pes[i];
        if (is_missing(gone, pe) && (first == NULL || gone->left_as < first->left_as))
            first = gone;
    }
    if (first != NULL) fail_for(job, first);
}

void mail_miss(struct job *job, const struct pe *pe)
{
    for (uint32_t i = 0; i < job->n_started && job->n_waiting > 0; i++)
        if (job->pes[i].mail.is_waiting && is_missing(pe, &job->pes[i])) fail_for(job, pe);
}

static void exchange_complete(struct job *job, struct pe *pe)
{
    pe->mail.is_waiting = true;
    pe->mail.stage = CH_WIRE_OWED;
    job->n_waiting++;
    if (job->reason[0] != '\0')
        fail_waiting(job, CHORUS_ERR_ABORTED, job->reason);
    else if (job->n_waiting == job->args->n)
        finish_round(job);
    if (pe->mail.is_waiting && job->n_left > 0) look_for_missing(job, pe);
}

/* The next bytes on this socket are unknown: no PE can continue. */
static void give_up(struct job *job, struct pe *pe, const char *why)
{
    job_hear(job, pe, &(struct news){NEWS_BROKE, 0, why});
    mail_close(job, &pe->mail);
}

static void abort_job(struct job *job, struct pe *pe, int status)
{
    job_hear(job, pe, &(struct news){NEWS_ABORTED, status, ""});
    mail_close(
        job, &pe->mail); /* it has nothing to report, and must not report it again and again */
}

/* The process that created the pair of this socket. */
static pid_t process_of(int sock)
{
    struct ucred who = {0};
    socklen_t bytes = sizeof(who);

    return getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &who, &bytes) == 0 ? who.pid : 0;
}

/* Another process of this PE that tries to join can no longer write; what it has written is
 * discarded, and with it the end of its socket, from which it learns that it was refused. */
static void keep_lifeline(struct pe *pe)
{
    char dropped[256];

    pe->lifeline = pe->mail.sock;
    (void)shutdown(pe->lifeline, SHUT_RD);
    while (recv(pe->lifeline, dropped, sizeof(dropped), MSG_DONTWAIT) > 0)
        continue;
}

/* From now on the PE uses `sock`, which no wrapper of it has. */
static void join_job(struct job *job, struct pe *pe, const struct ch_wire_join *join, int sock)
{
    char why[CH_WIRE_REASON_BYTES];

    job_hear(job, pe, &(struct news){NEWS_JOINED, process_of(sock), ""});
    if (!ch_wire_join_check(join, pe->number, job->args->n, why)) {
        (void)close(sock);
        give_up(job, pe, why);
        return;
    }
    if (pe->lifeline < 0)
        keep_lifeline(pe);
    else
        mail_close(job, &pe->mail); /* that of the previous job */
    where_forget(pe);
    mail_open(&pe->mail, sock);
    pe->mail.stage = CH_WIRE_INSIDE;
}

static void show(struct pe *pe, int fd)
{
    where_watch(pe, fd);
    (void)close(fd);
}

/* The PE may join again by this socket. */
static void leave_job(struct job *job, struct pe *pe)
{
    reply_release(pe->mail.reply);
    pe->mail.reply = NULL;
    pe->mail.stage = CH_WIRE_OUTSIDE;
    job_hear(job, pe, &(struct news){NEWS_LEFT, 0, ""});
}

static void message_complete(struct job *job, struct pe *pe)
{
    const struct ch_wire_head head = pe->mail.in.head;
    struct ch_wire_join join;
    int sock;

    if (head.kind == CH_WIRE_EXCHANGE) {
        exchange_complete(job, pe);
        return;
    }
    if (head.kind == CH_WIRE_JOIN) memcpy(&join, pe->mail.in.body, sizeof(join));
    sock = pe->mail.in.fd;
    pe->mail.in.fd = -1;
    forget_message(job, &pe->mail);
    if (head.kind == CH_WIRE_JOIN)
        join_job(job, pe, &join, sock);
    else if (head.kind == CH_WIRE_SHOW)
        show(pe, sock);
    else if (head.kind == CH_WIRE_ASK)
        return; /* the answer of its exchange is being sent */
    else if (head.kind == CH_WIRE_LEAVE)
        leave_job(job, pe);
    else
        abort_job(job, pe, head.code);
}

/* Read some bytes, and the descriptors that are sent with them. Returns as read(2); EMFILE: one
 * could not be received. */
static ssize_t receive_some(struct mail *mail)
{
    union ch_wire_control control;
    int fds[CH_WIRE_CONTROL_FDS];
    struct iovec part;
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
    ssize_t n;

    part.iov_base = ch_message_room(&mail->in, &part.iov_len);
    m.msg_control = &control;
    m.msg_controllen = sizeof(control);
    n = recvmsg(mail->sock, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (n <= 0) return n;
    ch_message_take_fds(&mail->in, fds, ch_wire_extract_fds(&m, fds));
    if ((m.msg_flags & MSG_CTRUNC) == 0) return n;
    errno = EMFILE;
    return -1;
}

/* "PE 1 (pid 70), which has not joined the job, and 2 more" */
static void name_missing(const struct job *job, char text_out[CH_WIRE_REASON_BYTES])
{
    const uint32_t n_missing = job->args->n - job->n_waiting;
    char more[32] = "";
    struct who w;
    uint32_t i = 0;

    while (i + 1 < job->n_started && job->pes[i].mail.is_waiting)
        i++;
    if (n_missing > 1) (void)snprintf(more, sizeof(more), ", and %u more", n_missing - 1);
    (void)snprintf(text_out, CH_WIRE_REASON_BYTES, "%s%s%s", who(&job->pes[i], &w),
                   job->pes[i].has_joined ? "" : ", which has not joined the job", more);
}

/* The PE waits, so its socket has room for the names. */
static void tell_missing(const struct job *job, const struct mail *mail)
{
    struct ch_wire_head head = ch_wire_head_of(CH_WIRE_TOLD);
    char text[CH_WIRE_REASON_BYTES];
    struct iovec parts[2] = {{&head, sizeof(head)}, {text, 0}};
    const struct msghdr m = {.msg_iov = parts, .msg_iovlen = 2};

    name_missing(job, text);
    head.bytes = parts[1].iov_len = strlen(text);
    if (sendmsg(mail->sock, &m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) return; /* it will notice */
}

/* A PE that waits may ask which PEs are missing. If it sends any other message, it gave up the
 * exchange, which is then undone. */
static void hear_waiting(struct job *job, struct mail *mail)
{
    struct ch_wire_head head;
    ssize_t n;

    while ((n = recv(mail->sock, &head, sizeof(head), MSG_PEEK | MSG_DONTWAIT)) ==
               (ssize_t)sizeof(head) &&
           head.kind == CH_WIRE_ASK) {
        if (recv(mail->sock, &head, sizeof(head), MSG_DONTWAIT) != n) break;
        tell_missing(job, mail);
    }
    if (n >= 0) forget_message(job, mail);
}

static void end_of_mail(struct job *job, struct pe *pe)
{
    mail_close(job, &pe->mail);
    if (pe->has_joined && !pe->has_left && !pe->has_aborted)
        job_hear(job, pe, &(struct news){NEWS_MISSED, 0, ""});
}

void mail_receive(struct job *job, struct pe *pe)
{
    struct mail *mail = &pe->mail;

    if (mail->sock >= 0 && mail->is_waiting) hear_waiting(job, mail);
    while (mail->sock >= 0 && !mail->is_waiting) {
        const ssize_t n = receive_some(mail);
        enum ch_message_state state = CH_MESSAGE_PART;

        if (n > 0)
            state = ch_message_add_bytes(&mail->in, (size_t)n, mail->stage);
        else if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        else if (n < 0 && errno == EMFILE)
            give_up(job, pe, "gave a descriptor, and chorusrun has too many; raise ulimit -n");
        else
            end_of_mail(job, pe);
        if (state == CH_MESSAGE_WHOLE) message_complete(job, pe);
        if (state == CH_MESSAGE_FAULT) give_up(job, pe, mail->in.fault);
    }
}
