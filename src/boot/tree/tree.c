/* SPDX-License-Identifier: Apache-2.0 */
/* tree.c: a node of the tree: its descriptors, and how it handles messages. */
#include "boot/tree/inside.h"

#include "base/clock.h"
#include "base/option.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { EVENTS = 64 };

/* How long a node that leaves waits until its last messages are sent. */
#define FLUSH_NS (2 * CH_NS_PER_S)

/* How long the root of a start that has failed waits for late PEs, to send them the reason. */
#define LINGER_NS (1 * CH_NS_PER_S)

bool ch_tree_watch_fd(struct ch_tree *tree, int fd, const void *what)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = (void *)(uintptr_t)what};

    return epoll_ctl(tree->epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

/* Write the name of this host for messages: the value of CHORUS_NODE, if it is set. */
static void name_host(char out[CH_TREE_HOST_BYTES])
{
    const char *const node = ch_variable_get(CH_VARIABLE_NODE);

    if (node != NULL && *node != '\0')
        (void)snprintf(out, CH_TREE_HOST_BYTES, "%s", node);
    else
        (void)gethostname(out, CH_TREE_HOST_BYTES - 1);
}

struct ch_tree *ch_tree_make(const struct ch_tree_terms *terms)
{
    struct ch_tree *tree = calloc(1, sizeof(*tree));

    if (tree == NULL) return NULL;
    tree->terms = *terms;
    tree->listener.fd = tree->up.fd = -1;
    for (int i = 0; i < CH_TREE_CHILDREN; i++)
        tree->children[i].fd = -1;
    for (int i = 0; i < CH_TREE_UNVERIFIED; i++)
        tree->unverified[i].fd = -1;
    name_host(tree->host);
    tree->epoll = epoll_create1(EPOLL_CLOEXEC);
    tree->spare = fcntl(tree->epoll, F_DUPFD_CLOEXEC, 0);
    tree->last_spare = fcntl(tree->epoll, F_DUPFD_CLOEXEC, 0);
    if (sodium_init() >= 0 && tree->last_spare >= 0) return tree;
    if (tree->epoll >= 0) (void)close(tree->epoll);
    if (tree->spare >= 0) (void)close(tree->spare);
    if (tree->last_spare >= 0) (void)close(tree->last_spare);
    free(tree);
    return NULL;
}

chorus_status ch_tree_make_root(const struct ch_tree_terms *terms,
                                struct ch_tree_listener *listener, struct ch_tree **tree_out)
{
    struct ch_tree *tree = ch_tree_make(terms);
    bool is_made = false;

    if (tree != NULL) {
        tree->is_root = true;
        tree->listener = *listener;
        *listener = (struct ch_tree_listener){.fd = -1};
        tree->hosts = calloc(terms->n, sizeof(*tree->hosts));
        is_made = tree->hosts != NULL && ch_round_open(tree) &&
                  ch_tree_watch_fd(tree, tree->listener.fd, &tree->listener);
    }
    ch_tree_listener_close(listener);
    if (!is_made) {
        ch_tree_close(tree);
        return CH_FAIL(CHORUS_ERR_SYSTEM,
                       "no memory or descriptors for a job of %u PEs; " CH_LIMIT_ADVICE,
                       terms->n);
    }
    if (terms->me != CH_TREE_NO_PE) ch_tree_note_joined(tree, terms->me, tree->host);
    *tree_out = tree;
    return CHORUS_OK;
}

int ch_tree_poll_fd(const struct ch_tree *tree)
{
    return tree->epoll;
}

void ch_tree_send_children(struct ch_tree *tree, const struct ch_tree_head *head,
                           const void *body)
{
    for (int i = 0; i < CH_TREE_CHILDREN; i++)
        ch_tree_conn_send(tree, &tree->children[i], head, body);
}

void ch_tree_send_all(struct ch_tree *tree, const struct ch_tree_conn *from,
                      const struct ch_tree_head *head, const void *body)
{
    for (int i = 0; i < CH_TREE_CHILDREN; i++)
        if (&tree->children[i] != from) ch_tree_conn_send(tree, &tree->children[i], head, body);
    if (&tree->up != from) ch_tree_conn_send(tree, &tree->up, head, body);
}

/* Handle, at the root, a message from a child that only the root can handle; send it up at
 * other nodes. */
static void pass_to_root(struct ch_tree *tree, const struct ch_tree_conn *conn)
{
    const struct ch_tree_head *head = &conn->head;

    if (!tree->is_root) {
        ch_tree_conn_send(tree, &tree->up, head, conn->body);
    } else if (head->kind == CH_TREE_JOINED) {
        conn->body[CH_TREE_HOST_BYTES - 1] = '\0';
        ch_tree_note_joined(tree, head->pe, conn->body);
    } else if (head->kind == CH_TREE_LEFT) {
        ch_tree_note_left(tree, head->pe);
    } else if (head->kind == CH_TREE_GATHER) {
        ch_round_add_part(tree, head, conn->body);
    } else if (head->round == tree->round.index) {
        double waited_s;
        memcpy(&waited_s, conn->body, sizeof(waited_s));
        ch_round_fail_late(tree, waited_s);
    }
}

/* Handle the complete message that was received from the parent or a child. */
static void handle_message(struct ch_tree *tree, struct ch_tree_conn *conn)
{
    const struct ch_tree_head *head = &conn->head;
    char reason[CH_TREE_TEXT_BYTES] = "";

    switch (head->kind) {
    case CH_TREE_JOINED:
    case CH_TREE_GATHER:
    case CH_TREE_LATE:
    case CH_TREE_LEFT:
        if (conn != &tree->up) pass_to_root(tree, conn);
        break;
    case CH_TREE_RESULT:
    case CH_TREE_FAIL:
        if (conn == &tree->up) ch_round_handle_result(tree, head, conn->body);
        break;
    case CH_TREE_BYE:
        conn->is_leaving = true;
        break;
    case CH_TREE_ABORT:
        if (head->bytes > 0) memcpy(reason, conn->body, (size_t)head->bytes);
        ch_tree_note_over(tree, conn, head, reason);
        break;
    }
}

/* Write and read as much as the socket of the parent or a child allows, and handle the
 * messages. */
static void serve_conn(struct ch_tree *tree, struct ch_tree_conn *conn)
{
    ch_tree_conn_flush(tree, conn);
    while (conn->fd >= 0) {
        const int got = ch_tree_conn_receive(tree, conn);

        if (got == 0) return;
        if (got < 0) {
            ch_tree_note_lost(tree, conn, errno);
            return;
        }
        handle_message(tree, conn);
        ch_tree_conn_forget_message(conn);
    }
}

/* Is `what`, of ch_tree_watch_fd, an unverified connection? */
static bool is_unverified(const struct ch_tree *tree, const void *what)
{
    return (uintptr_t)what >= (uintptr_t)tree->unverified &&
           (uintptr_t)what < (uintptr_t)(tree->unverified + CH_TREE_UNVERIFIED);
}

/* Connections of nodes are served first: many unauthenticated connections must not delay nodes
 * that have joined. */
void ch_tree_serve(struct ch_tree *tree)
{
    struct epoll_event events[EVENTS];
    const int n = epoll_wait(tree->epoll, events, EVENTS, 0);
    bool knocks = false;

    for (int i = 0; i < n; i++) {
        void *const what = events[i].data.ptr;
        if (what == &tree->listener)
            knocks = true;
        else if (!is_unverified(tree, what))
            serve_conn(tree, what);
    }
    for (int i = 0; i < n; i++)
        if (is_unverified(tree, events[i].data.ptr))
            ch_tree_read_unverified(tree, events[i].data.ptr);
    if (knocks) ch_tree_accept(tree);
    ch_tree_drop_late_unverified(tree);
}

void ch_tree_exchange(struct ch_tree *tree, const void *blob, size_t bytes, bool has_fd)
{
    const struct ch_tree_head head = {.kind = CH_TREE_GATHER,
                                      .pe = tree->terms.me,
                                      .round = tree->round.index,
                                      .bytes = bytes,
                                      .code = has_fd};

    tree->round.is_mine = true;
    if (tree->is_over)
        ch_round_fail_mine(tree, CHORUS_ERR_ABORTED, tree->why_over);
    else if (tree->why_failed[0] != '\0')
        ch_round_fail_mine(tree, CHORUS_ERR_ABORTED, tree->why_failed);
    else if (tree->is_root)
        ch_round_add_part(tree, &head, blob);
    else
        ch_tree_conn_send(tree, &tree->up, &head, blob);
}

void ch_tree_report_late(struct ch_tree *tree, double waited_s)
{
    const struct ch_tree_head head = {.kind = CH_TREE_LATE,
                                      .pe = tree->terms.me,
                                      .round = tree->round.index,
                                      .bytes = sizeof(waited_s)};

    if (tree->is_root)
        ch_round_fail_late(tree, waited_s);
    else
        ch_tree_conn_send(tree, &tree->up, &head, &waited_s);
}

void ch_tree_abandon(const struct ch_tree *tree)
{
    for (int i = 0; i < CH_TREE_CHILDREN; i++)
        if (tree->children[i].fd >= 0) (void)close(tree->children[i].fd);
    for (int i = 0; i < CH_TREE_UNVERIFIED; i++)
        if (tree->unverified[i].fd >= 0) (void)close(tree->unverified[i].fd);
    if (tree->up.fd >= 0) (void)close(tree->up.fd);
    if (tree->listener.fd >= 0) (void)close(tree->listener.fd);
    if (tree->spare >= 0) (void)close(tree->spare);
    if (tree->last_spare >= 0) (void)close(tree->last_spare);
    (void)close(tree->epoll);
}

/* Wait until all is written, until the rest cannot be written, or for FLUSH_NS. */
static void flush_all(struct ch_tree *tree)
{
    const uint64_t until_ns = ch_clock_ns() + FLUSH_NS;

    while (ch_clock_ns() < until_ns) {
        struct pollfd fds[CH_TREE_CHILDREN + 1];
        nfds_t n = 0;

        for (int i = 0; i <= CH_TREE_CHILDREN; i++) {
            struct ch_tree_conn *const conn =
                i < CH_TREE_CHILDREN ? &tree->children[i] : &tree->up;
            ch_tree_conn_flush(tree, conn);
            if (conn->fd >= 0 && conn->out_used > 0)
                fds[n++] = (struct pollfd){conn->fd, POLLOUT, 0};
        }
        if (n == 0) return;
        if (poll(fds, n, 100) < 0 && errno != EINTR) return;
        for (nfds_t i = 0; i < n; i++)
            if ((fds[i].revents & (POLLERR | POLLHUP)) != 0) return;
    }
}

/* Have all PEs joined, or been refused with the reason? */
static bool has_heard_all(const struct ch_tree *tree)
{
    for (uint32_t pe = 0; pe < tree->terms.n; pe++)
        if (tree->hosts[pe][0] == '\0') return false;
    return true;
}

/* Send late PEs the reason of a start that has failed, until all have it, or for LINGER_NS. */
static void serve_until_all_heard(struct ch_tree *tree)
{
    const uint64_t until_ns = ch_clock_ns() + LINGER_NS;
    struct pollfd p = {tree->epoll, POLLIN, 0};

    while (!has_heard_all(tree) && ch_clock_ns() < until_ns) {
        (void)poll(&p, 1, 100);
        ch_tree_serve(tree);
    }
}

void ch_tree_close(struct ch_tree *tree)
{
    const struct ch_tree_head bye = {.kind = CH_TREE_BYE, .pe = CH_TREE_NO_PE};

    if (tree == NULL) return;
    if (tree->is_over && tree->listener.fd >= 0 && tree->hosts != NULL &&
        tree->terms.me != CH_TREE_NO_PE) /* such a root ends the PEs, and then itself */
        serve_until_all_heard(tree);
    ch_tree_stop_listening(tree);
    if (!tree->is_over && tree->terms.me != CH_TREE_NO_PE)
        ch_tree_note_left(tree, tree->terms.me);
    ch_tree_send_all(tree, NULL, &bye, NULL);
    flush_all(tree);
    for (int i = 0; i < CH_TREE_CHILDREN; i++)
        ch_tree_conn_close(&tree->children[i]);
    ch_tree_conn_close(&tree->up);
    ch_round_close(tree);
    (void)close(tree->epoll);
    free(tree->hosts);
    free(tree);
}
