/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chorusrun_mail.c: exchanges of PEs. A round is over when all have sent theirs; everyone
 * then gets the same reply. A PE has one message under way at most, because it waits for the
 * answer; while slow PEs still read the reply of a round, quick ones may be one round ahead.
 */
#include "chorusrun.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void mail_open(struct mail *mail, int sock)
{
    *mail = (struct mail){.sock = sock, .fd = -1};
}

static void forget_message(struct job *job, struct mail *mail)
{
    if (mail->is_waiting) job->n_waiting--;
    mail->is_waiting = false;
    mail->head_got = mail->blob_got = 0;
    free(mail->blob);
    mail->blob = NULL;
    if (mail->fd >= 0) (void)close(mail->fd);
    mail->fd = -1;
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

/* Answer all who wait. The reply may be null: there was no memory for one. */
static void reply_to_waiting(struct job *job, struct reply *reply)
{
    if (reply == NULL) {
        job_end(job, STATUS_CANNOT_RUN, "no memory for an exchange");
        return;
    }
    reply->refs = 1; /* ours, so that a quick PE does not free it */
    for (uint32_t i = 0; i < job->n_started; i++) {
        struct pe *pe = &job->pes[i];
        if (!pe->mail.is_waiting) continue;
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
    reply_to_waiting(job, reply);
}

void mail_fail_all(struct job *job, const char *reason)
{
    if (job->reason[0] == '\0') (void)snprintf(job->reason, sizeof(job->reason), "%s", reason);
    if (job->n_waiting > 0) fail_waiting(job, CHORUS_ERR_ABORTED, job->reason);
}

/* Is everyone's message of the form of PE 0's? Else the round fails. */
static bool all_alike(struct job *job)
{
    const struct ch_wire_head *first = &job->pes[0].mail.head;
    char reason[REASON_BYTES];

    for (uint32_t i = 1; i < job->args->n; i++) {
        const struct ch_wire_head *head = &job->pes[i].mail.head;
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

/* All have sent theirs. */
static void finish_round(struct job *job)
{
    const uint32_t n = job->args->n;
    const size_t bytes = (size_t)job->pes[0].mail.head.bytes;
    const bool with_fds = job->pes[0].mail.head.n_fds > 0;
    struct reply *reply;

    if (!all_alike(job)) return;
    reply = reply_make(CH_WIRE_RESULT, CHORUS_OK, with_fds ? n : 0, n * bytes);
    for (uint32_t i = 0; i < n && reply != NULL; i++) {
        struct mail *mail = &job->pes[i].mail;
        char *to = reply->data + sizeof(struct ch_wire_head) + i * bytes;
        if (bytes > 0) memcpy(to, mail->blob, bytes);
        if (!with_fds) continue;
        reply->fds[reply->n_fds++] = mail->fd;
        mail->fd = -1;
    }
    reply_to_waiting(job, reply);
}

static void exchange_complete(struct job *job, struct pe *pe)
{
    pe->mail.is_waiting = true;
    job->n_waiting++;
    if (job->reason[0] != '\0')
        fail_waiting(job, CHORUS_ERR_ABORTED, job->reason);
    else if (job->n_waiting == job->args->n)
        finish_round(job);
}

/* What comes next on this socket is unknown: nobody can go on. */
static void give_up(struct job *job, struct pe *pe, const char *why)
{
    job_end(job, STATUS_NOT_LEFT, "PE %u (pid %d) %s", (unsigned)(pe - job->pes), (int)pe->pid,
            why);
    mail_close(job, &pe->mail);
}

static void abort_job(struct job *job, struct pe *pe, int status)
{
    pe->has_aborted = true;
    if (status == 0)
        job_end(job, 0, NULL);
    else
        job_end(job, status & 0xff, "PE %u (pid %d) ended the job with status %d",
                (unsigned)(pe - job->pes), (int)pe->pid, status);
}

/* A head is here, and the blob it announces. */
static void message_complete(struct job *job, struct pe *pe)
{
    const struct ch_wire_head head = pe->mail.head;
    char reason[REASON_BYTES];

    if (head.kind == CH_WIRE_EXCHANGE) {
        exchange_complete(job, pe);
        return;
    }
    forget_message(job, &pe->mail);
    if (head.kind == CH_WIRE_JOIN) {
        pe->has_joined = true;
    } else if (head.kind == CH_WIRE_LEAVE) {
        pe->has_left = true;
        (void)snprintf(reason, sizeof(reason), "PE %u left the job", (unsigned)(pe - job->pes));
        mail_fail_all(job, reason);
    } else {
        abort_job(job, pe, head.code);
    }
}

/* The head is here: is it one a PE may send, and is there room for what follows? */
static bool head_complete(struct mail *mail)
{
    const struct ch_wire_head *head = &mail->head;
    const bool is_exchange = head->kind == CH_WIRE_EXCHANGE;

    if (head->magic != CH_WIRE_MAGIC || head->kind < CH_WIRE_JOIN || head->kind > CH_WIRE_ABORT)
        return false;
    if (head->bytes > (is_exchange ? CH_WIRE_BLOB_MAX : 0)) return false;
    if (head->n_fds != (mail->fd >= 0)) return false;
    if (head->bytes == 0) return true;
    mail->blob = malloc((size_t)head->bytes);
    return mail->blob != NULL;
}

/* Read some bytes, and the descriptor if it comes with them. As read(2); EMFILE: the
 * descriptor could not be taken. */
static ssize_t receive_some(struct mail *mail, void *to, size_t bytes)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {to, bytes};
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
    const struct cmsghdr *c;
    ssize_t n;

    m.msg_control = &control;
    m.msg_controllen = sizeof(control);
    n = recvmsg(mail->sock, &m, MSG_CMSG_CLOEXEC);
    if (n <= 0) return n;
    if (m.msg_flags & MSG_CTRUNC) {
        errno = EMFILE;
        return -1;
    }
    c = CMSG_FIRSTHDR(&m);
    if (c != NULL && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int))) {
        if (mail->fd >= 0) (void)close(mail->fd);
        memcpy(&mail->fd, CMSG_DATA(c), sizeof(int));
    }
    return n;
}

/* A PE that waits says nothing, unless it gave the exchange up: then the exchange is undone. */
static void withdraw(struct job *job, struct mail *mail)
{
    char byte;

    if (recv(mail->sock, &byte, 1, MSG_PEEK) >= 0) forget_message(job, mail);
}

/* n more bytes of the head, or of the blob, are here. */
static void message_grew(struct job *job, struct pe *pe, bool in_head, size_t n)
{
    struct mail *mail = &pe->mail;

    if (in_head) {
        mail->head_got += n;
        if (mail->head_got < sizeof(mail->head)) return;
        if (!head_complete(mail)) {
            give_up(job, pe,
                    "is of another version of Chorus; use the chorusrun of its version");
            return;
        }
    } else {
        mail->blob_got += n;
    }
    if (mail->blob_got == mail->head.bytes) message_complete(job, pe);
}

void mail_receive(struct job *job, struct pe *pe)
{
    struct mail *mail = &pe->mail;

    if (mail->sock >= 0 && mail->is_waiting) withdraw(job, mail);
    while (mail->sock >= 0 && !mail->is_waiting) {
        const bool in_head = mail->head_got < sizeof(mail->head);
        const ssize_t n = in_head ? receive_some(mail, (char *)&mail->head + mail->head_got,
                                                 sizeof(mail->head) - mail->head_got)
                                  : receive_some(mail, mail->blob + mail->blob_got,
                                                 (size_t)mail->head.bytes - mail->blob_got);
        if (n > 0)
            message_grew(job, pe, in_head, (size_t)n);
        else if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        else if (n < 0 && errno == EMFILE)
            give_up(job, pe, "gave a descriptor, and chorusrun has too many; raise ulimit -n");
        else
            mail_close(job, mail); /* its exit will tell whether that was all right */
    }
}
