/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conn.c: a connection between two nodes: what they send, its checks and the secret that
 * authenticates it; and the socket, which never blocks.
 */
#include "boot/tree/inside.h"

#include "chorus/chorus.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- messages ---- */

void ch_tree_secret_make(unsigned char secret_out[CH_BOOT_SECRET_BYTES])
{
    randombytes_buf(secret_out, CH_BOOT_SECRET_BYTES);
}

void ch_tree_secret_print(const unsigned char secret[CH_BOOT_SECRET_BYTES], char text_out[65])
{
    (void)sodium_bin2hex(text_out, 2 * CH_BOOT_SECRET_BYTES + 1, secret, CH_BOOT_SECRET_BYTES);
}

bool ch_tree_secret_parse(const char *text, unsigned char secret_out[CH_BOOT_SECRET_BYTES])
{
    unsigned char secret[CH_BOOT_SECRET_BYTES];
    size_t bytes = 0;

    if (strlen(text) != 2 * CH_BOOT_SECRET_BYTES) return false;
    if (sodium_hex2bin(secret, sizeof(secret), text, strlen(text), NULL, &bytes, NULL) != 0)
        return false;
    if (bytes != sizeof(secret)) return false;
    memcpy(secret_out, secret, sizeof(secret));
    return true;
}

void ch_tree_job_of_secret(const unsigned char secret[CH_BOOT_SECRET_BYTES],
                           unsigned char job_out[CH_TREE_JOB_BYTES])
{
    static const unsigned char what[] = "job";

    (void)crypto_generichash(job_out, CH_TREE_JOB_BYTES, what, sizeof(what), secret,
                             CH_BOOT_SECRET_BYTES);
}

void ch_tree_challenge_make(struct ch_tree_challenge *out)
{
    out->magic = CH_TREE_MAGIC;
    randombytes_buf(out->nonce, sizeof(out->nonce));
}

/* Compute a MAC over both nonces and the message. nonce: of the hello, for an answer to it;
 * null for a hello, which contains it. */
static void compute_mac(unsigned char mac_out[CH_TREE_MAC_BYTES], const unsigned char *secret,
                        const struct ch_tree_challenge *challenge, const unsigned char *nonce,
                        const void *message, size_t bytes)
{
    crypto_generichash_state state;

    (void)crypto_generichash_init(&state, secret, CH_BOOT_SECRET_BYTES, CH_TREE_MAC_BYTES);
    (void)crypto_generichash_update(&state, challenge->nonce, sizeof(challenge->nonce));
    if (nonce != NULL) (void)crypto_generichash_update(&state, nonce, CH_TREE_NONCE_BYTES);
    (void)crypto_generichash_update(&state, message, bytes);
    (void)crypto_generichash_final(&state, mac_out, CH_TREE_MAC_BYTES);
}

/* Does the text end with a null byte within its memory? */
static bool is_text(const char *text, size_t bytes)
{
    return memchr(text, '\0', bytes) != NULL;
}

void ch_tree_hello_seal(struct ch_tree_hello *hello, const unsigned char *secret,
                        const struct ch_tree_challenge *challenge)
{
    hello->magic = CH_TREE_MAGIC;
    hello->version_major = CHORUS_MAJOR_VERSION;
    hello->version_minor = CHORUS_MINOR_VERSION;
    ch_tree_job_of_secret(secret, hello->job);
    randombytes_buf(hello->nonce, sizeof(hello->nonce));
    compute_mac(hello->mac, secret, challenge, NULL, hello,
                offsetof(struct ch_tree_hello, mac));
}

bool ch_tree_hello_check(const struct ch_tree_hello *hello, const unsigned char *secret,
                         const struct ch_tree_challenge *challenge)
{
    unsigned char mac[CH_TREE_MAC_BYTES];

    compute_mac(mac, secret, challenge, NULL, hello, offsetof(struct ch_tree_hello, mac));
    return hello->magic == CH_TREE_MAGIC && sodium_memcmp(mac, hello->mac, sizeof(mac)) == 0 &&
           is_text(hello->host, sizeof(hello->host)) && hello->n_addresses <= CH_TREE_ADDRESSES;
}

bool ch_tree_hello_is_foreign(const struct ch_tree_hello *hello, const unsigned char *secret)
{
    unsigned char job[CH_TREE_JOB_BYTES];

    ch_tree_job_of_secret(secret, job);
    return hello->magic == CH_TREE_MAGIC && memcmp(job, hello->job, sizeof(job)) != 0;
}

bool ch_tree_hello_fits(const struct ch_tree_hello *hello, uint32_t n,
                        char why_out[CH_TREE_TEXT_BYTES])
{
    if (hello->version_major != CHORUS_MAJOR_VERSION ||
        hello->version_minor != CHORUS_MINOR_VERSION) {
        (void)snprintf(
            why_out, CH_TREE_TEXT_BYTES,
            "on host %s has Chorus %u.%u, and others have %d.%d; use one version on all hosts",
            hello->host, hello->version_major, hello->version_minor, CHORUS_MAJOR_VERSION,
            CHORUS_MINOR_VERSION);
        return false;
    }
    if (hello->n == n && hello->pe < n) return true;
    (void)snprintf(why_out, CH_TREE_TEXT_BYTES,
                   "on host %s was started as PE %u of %u, and others as of %u; start all "
                   "with the same number of PEs",
                   hello->host, hello->pe, hello->n, n);
    return false;
}

void ch_tree_answer_seal(struct ch_tree_answer *answer, const unsigned char *secret,
                         const struct ch_tree_challenge *challenge,
                         const struct ch_tree_hello *hello)
{
    answer->magic = CH_TREE_MAGIC;
    compute_mac(answer->mac, secret, challenge, hello->nonce, answer,
                offsetof(struct ch_tree_answer, mac));
}

bool ch_tree_answer_check(const struct ch_tree_answer *answer, const unsigned char *secret,
                          const struct ch_tree_challenge *challenge,
                          const struct ch_tree_hello *hello)
{
    unsigned char mac[CH_TREE_MAC_BYTES];

    compute_mac(mac, secret, challenge, hello->nonce, answer,
                offsetof(struct ch_tree_answer, mac));
    return answer->magic == CH_TREE_MAGIC &&
           sodium_memcmp(mac, answer->mac, sizeof(mac)) == 0 &&
           is_text(answer->host, sizeof(answer->host)) &&
           is_text(answer->reason, sizeof(answer->reason)) &&
           (answer->kind != CH_TREE_REFUSED || answer->status < 0) &&
           answer->n_addresses <= CH_TREE_ADDRESSES;
}

bool ch_tree_head_check(const struct ch_tree_head *head, uint32_t n)
{
    if (head->pe >= n && head->pe != CH_TREE_NO_PE) return false;
    switch (head->kind) {
    case CH_TREE_JOINED:
        return head->pe < n && head->bytes == CH_TREE_HOST_BYTES;
    case CH_TREE_GATHER:
        return head->pe < n && head->bytes <= CH_TREE_BLOB_MAX;
    case CH_TREE_LATE:
        return head->bytes == sizeof(double);
    case CH_TREE_RESULT:
        return head->bytes <= (uint64_t)n * CH_TREE_BLOB_MAX;
    case CH_TREE_FAIL:
        return head->bytes < CH_TREE_TEXT_BYTES && head->code < 0;
    case CH_TREE_ABORT:
        return head->bytes < CH_TREE_TEXT_BYTES;
    case CH_TREE_LEFT:
    case CH_TREE_BYE:
        return head->bytes == 0;
    default:
        return false;
    }
}

/* ---- sockets ---- */

enum { ROOM_MIN = 4096 };

bool ch_tree_conn_open(struct ch_tree *tree, struct ch_tree_conn *conn, int fd)
{
    conn->fd = fd;
    return ch_tree_watch_fd(tree, fd, conn);
}

void ch_tree_conn_close(struct ch_tree_conn *conn)
{
    if (conn->fd < 0) return;
    (void)close(conn->fd);
    free(conn->out);
    free(conn->body);
    *conn = (struct ch_tree_conn){.fd = -1};
}

/* Wait for the socket to be writable only while there are bytes to send (wants_out). */
static void watch_writable(struct ch_tree *tree, struct ch_tree_conn *conn, bool wants_out)
{
    struct epoll_event event = {.events = wants_out ? EPOLLIN | EPOLLOUT : EPOLLIN,
                                .data.ptr = conn};

    if (wants_out == conn->is_watched_out) return;
    conn->is_watched_out = wants_out;
    (void)epoll_ctl(tree->epoll, EPOLL_CTL_MOD, conn->fd, &event);
}

/* A failed write is handled by the next read, which fails too. */
void ch_tree_conn_flush(struct ch_tree *tree, struct ch_tree_conn *conn)
{
    while (conn->fd >= 0 && conn->out_sent < conn->out_used) {
        const ssize_t n = send(conn->fd, conn->out + conn->out_sent,
                               conn->out_used - conn->out_sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0)
            conn->out_sent += (size_t)n;
        else if (errno != EINTR)
            break;
    }
    if (conn->out_sent == conn->out_used) conn->out_sent = conn->out_used = 0;
    if (conn->fd >= 0) watch_writable(tree, conn, conn->out_used > 0);
}

/* Make room for `bytes` further bytes to send. False: no memory. First moves the unsent bytes
 * to the beginning of the buffer. */
static bool reserve_out(struct ch_tree_conn *conn, size_t bytes)
{
    size_t room = conn->out_room > 0 ? conn->out_room : ROOM_MIN;
    char *out;

    if (conn->out_sent > 0) {
        conn->out_used -= conn->out_sent;
        memmove(conn->out, conn->out + conn->out_sent, conn->out_used);
        conn->out_sent = 0;
    }
    while (room < conn->out_used + bytes)
        room *= 2;
    if (room == conn->out_room) return true;
    out = realloc(conn->out, room);
    if (out == NULL) return false;
    conn->out = out;
    conn->out_room = room;
    return true;
}

void ch_tree_conn_send(struct ch_tree *tree, struct ch_tree_conn *conn,
                       const struct ch_tree_head *head, const void *body)
{
    const size_t bytes = (size_t)head->bytes;

    if (conn->fd < 0) return;
    if (!reserve_out(conn, sizeof(*head) + bytes)) {
        (void)shutdown(conn->fd,
                       SHUT_RDWR); /* both sides detect that the connection has ended */
        return;
    }
    memcpy(conn->out + conn->out_used, head, sizeof(*head));
    if (bytes > 0) memcpy(conn->out + conn->out_used + sizeof(*head), body, bytes);
    conn->out_used += sizeof(*head) + bytes;
    ch_tree_conn_flush(tree, conn);
}

void ch_tree_conn_forget_message(struct ch_tree_conn *conn)
{
    free(conn->body);
    conn->body = NULL;
    conn->got = 0;
}

/* Returns the address for the next bytes, and how many are missing; 0: the message is
 * complete. */
static char *next_receive_room(struct ch_tree_conn *conn, size_t *bytes_out)
{
    if (conn->got < sizeof(conn->head)) {
        *bytes_out = sizeof(conn->head) - conn->got;
        return (char *)&conn->head + conn->got;
    }
    *bytes_out = sizeof(conn->head) + (size_t)conn->head.bytes - conn->got;
    return conn->body == NULL ? NULL : conn->body + (conn->got - sizeof(conn->head));
}

int ch_tree_conn_receive(struct ch_tree *tree, struct ch_tree_conn *conn)
{
    for (;;) {
        size_t bytes;
        char *const room = next_receive_room(conn, &bytes);
        ssize_t n;

        if (bytes == 0) return 1;
        n = recv(conn->fd, room, bytes, MSG_DONTWAIT);
        if (n == 0) errno = 0;
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return 0;
        if (n <= 0) return -1;
        conn->got += (size_t)n;
        if (conn->got != sizeof(conn->head)) continue;
        errno = EPROTO;
        if (!ch_tree_head_check(&conn->head, tree->terms.n)) return -1;
        if (conn->head.bytes > 0) conn->body = malloc((size_t)conn->head.bytes);
        errno = ENOMEM;
        if (conn->head.bytes > 0 && conn->body == NULL) return -1;
    }
}
