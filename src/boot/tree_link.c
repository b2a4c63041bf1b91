/* SPDX-License-Identifier: Apache-2.0 */
/* tree_link.c: a connection between two nodes, which never blocks. */
#include "boot/tree_inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ROOM_MIN = 4096 };

bool ch_link_open(struct ch_tree *tree, struct ch_tree_link *link, int fd)
{
    link->fd = fd;
    return ch_tree_watch_fd(tree, fd, link);
}

void ch_link_close(struct ch_tree_link *link)
{
    if (link->fd < 0) return;
    (void)close(link->fd);
    free(link->out);
    free(link->body);
    *link = (struct ch_tree_link){.fd = -1};
}

/* Wait for the socket to be writable only while there are bytes to send. */
static void watch_out(struct ch_tree *tree, struct ch_tree_link *link, bool wants_out)
{
    struct epoll_event event = {.events = wants_out ? EPOLLIN | EPOLLOUT : EPOLLIN,
                                .data.ptr = link};

    if (wants_out == link->is_watched_out) return;
    link->is_watched_out = wants_out;
    (void)epoll_ctl(tree->epoll, EPOLL_CTL_MOD, link->fd, &event);
}

/* A failed write is handled by the next read, which fails too. */
void ch_link_flush(struct ch_tree *tree, struct ch_tree_link *link)
{
    while (link->fd >= 0 && link->out_sent < link->out_used) {
        const ssize_t n = send(link->fd, link->out + link->out_sent,
                               link->out_used - link->out_sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0)
            link->out_sent += (size_t)n;
        else if (errno != EINTR)
            break;
    }
    if (link->out_sent == link->out_used) link->out_sent = link->out_used = 0;
    if (link->fd >= 0) watch_out(tree, link, link->out_used > 0);
}

/* False: no memory. First moves the unsent bytes to the beginning of the buffer. */
static bool make_room(struct ch_tree_link *link, size_t bytes)
{
    size_t room = link->out_room > 0 ? link->out_room : ROOM_MIN;
    char *out;

    if (link->out_sent > 0) {
        link->out_used -= link->out_sent;
        memmove(link->out, link->out + link->out_sent, link->out_used);
        link->out_sent = 0;
    }
    while (room < link->out_used + bytes)
        room *= 2;
    if (room == link->out_room) return true;
    out = realloc(link->out, room);
    if (out == NULL) return false;
    link->out = out;
    link->out_room = room;
    return true;
}

void ch_link_send(struct ch_tree *tree, struct ch_tree_link *link,
                  const struct ch_tree_head *head, const void *body)
{
    const size_t bytes = (size_t)head->bytes;

    if (link->fd < 0) return;
    if (!make_room(link, sizeof(*head) + bytes)) {
        (void)shutdown(link->fd,
                       SHUT_RDWR); /* both sides detect that the connection has ended */
        return;
    }
    memcpy(link->out + link->out_used, head, sizeof(*head));
    if (bytes > 0) memcpy(link->out + link->out_used + sizeof(*head), body, bytes);
    link->out_used += sizeof(*head) + bytes;
    ch_link_flush(tree, link);
}

void ch_link_forget_message(struct ch_tree_link *link)
{
    free(link->body);
    link->body = NULL;
    link->got = 0;
}

/* The address for the next bytes; 0 bytes: the message is complete. */
static char *room_of(struct ch_tree_link *link, size_t *bytes_out)
{
    if (link->got < sizeof(link->head)) {
        *bytes_out = sizeof(link->head) - link->got;
        return (char *)&link->head + link->got;
    }
    *bytes_out = sizeof(link->head) + (size_t)link->head.bytes - link->got;
    return link->body == NULL ? NULL : link->body + (link->got - sizeof(link->head));
}

int ch_link_receive(struct ch_tree *tree, struct ch_tree_link *link)
{
    for (;;) {
        size_t bytes;
        char *const room = room_of(link, &bytes);
        ssize_t n;

        if (bytes == 0) return 1;
        n = recv(link->fd, room, bytes, MSG_DONTWAIT);
        if (n == 0) errno = 0;
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return 0;
        if (n <= 0) return -1;
        link->got += (size_t)n;
        if (link->got != sizeof(link->head)) continue;
        errno = EPROTO;
        if (!ch_tree_head_check(&link->head, tree->terms.n)) return -1;
        if (link->head.bytes > 0) link->body = malloc((size_t)link->head.bytes);
        errno = ENOMEM;
        if (link->head.bytes > 0 && link->body == NULL) return -1;
    }
}
