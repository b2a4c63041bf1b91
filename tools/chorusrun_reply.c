/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chorusrun_reply.c: answers to PEs, sent as far as their sockets accept them.
 */
#include "chorusrun.h"

#include "boot/message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct reply *reply_make(enum ch_wire_kind kind, int code, uint32_t n_fds, size_t bytes)
{
    struct ch_wire_head head = ch_wire_head_of(kind);
    struct reply *reply = calloc(1, sizeof(*reply) + sizeof(head) + bytes);

    if (reply == NULL) return NULL;
    head.code = code;
    head.n_fds = n_fds;
    head.bytes = bytes;
    reply->bytes = sizeof(head) + bytes;
    memcpy(reply->data, &head, sizeof(head));
    if (n_fds == 0) return reply;
    reply->fds = calloc(n_fds, sizeof(int));
    if (reply->fds == NULL) {
        free(reply);
        return NULL;
    }
    return reply;
}

void reply_release(struct reply *reply)
{
    if (reply == NULL || --reply->refs > 0) return;
    for (uint32_t i = 0; i < reply->n_fds; i++)
        (void)close(reply->fds[i]);
    free(reply->fds);
    free(reply);
}

/* Returns false when the socket accepts no more now. */
static bool send_some(struct mail *mail)
{
    const struct reply *reply = mail->reply;
    const uint32_t fds_left = reply->n_fds - mail->fds_sent;
    ssize_t n;

    if (mail->bytes_sent < reply->bytes) {
        n = send(mail->sock, reply->data + mail->bytes_sent, reply->bytes - mail->bytes_sent,
                 MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0) mail->bytes_sent += (size_t)n;
        return n > 0;
    }
    n = ch_wire_send_fds_once(mail->sock, reply->fds + mail->fds_sent,
                              fds_left < CH_WIRE_FDS ? fds_left : CH_WIRE_FDS);
    if (n > 0) mail->fds_sent += fds_left < CH_WIRE_FDS ? fds_left : CH_WIRE_FDS;
    return n > 0;
}

void mail_send(struct job *job, struct pe *pe)
{
    struct mail *mail = &pe->mail;

    mail->is_crowded = false;
    while (mail->reply != NULL) {
        if (mail->bytes_sent == mail->reply->bytes && mail->fds_sent == mail->reply->n_fds) {
            reply_release(mail->reply);
            mail->reply = NULL;
            if (mail->stage == CH_WIRE_OWED) mail->stage = CH_WIRE_INSIDE;
        } else if (!send_some(mail)) {
            if (errno == EINTR) continue;
            /* The number of descriptors in flight is limited per user; other processes must
             * receive theirs first. */
            if (errno == ETOOMANYREFS)
                mail->is_crowded = job->must_retry = true;
            else if (errno != EAGAIN)
                mail_close(job, mail);
            return;
        }
    }
}

short mail_events(const struct mail *mail)
{
    return mail->reply != NULL && !mail->is_crowded ? POLLIN | POLLOUT : POLLIN;
}
