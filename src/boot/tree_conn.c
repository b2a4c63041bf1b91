/* SPDX-License-Identifier: Apache-2.0 */
/* tree_conn.c: a connection between two nodes, which never blocks. */
#include "boot/tree_inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

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

/* Wait for the socket to be writable only while there are bytes to send. */
static void watch_out(struct ch_tree *tree, struct ch_tree_conn *conn, bool wants_out)
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
    if (conn->fd >= 0) watch_out(tree, conn, conn->out_used > 0);
}

/* False: no memory. First moves the unsent bytes to the beginning of the buffer. */
static bool make_room(struct ch_tree_conn *conn, size_t bytes)
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
    if (!make_room(conn, sizeof(*head) + bytes)) {
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

/* The address for the next bytes; 0 bytes: the message is complete. */
static char *room_of(struct ch_tree_conn *conn, size_t *bytes_out)
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
        char *const room = room_of(conn, &bytes);
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
