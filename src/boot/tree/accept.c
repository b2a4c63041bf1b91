/* SPDX-License-Identifier: Apache-2.0 */
/*
 * accept.c: unauthenticated connections: PEs that join, and other programs that connect
 * to the port. Such a connection costs a descriptor and a few hundred bytes until it has sent
 * a complete hello, or for terms.hello_ns; nothing is allocated for it.
 */
#include "boot/tree/inside.h"

#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- processes that present another secret ---- */

/*
 * For the job they are unverified, so they must not end its start; but a PE that was started
 * with a wrong secret is then missing, and the other PEs need the reason.
 */

/* Copy a name from an unauthenticated process, up to the first character that no name of a host
 * has. */
static void copy_name(char out[CH_TREE_HOST_BYTES], const char name[CH_TREE_HOST_BYTES])
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";

    memcpy(out, name, CH_TREE_HOST_BYTES - 1);
    out[CH_TREE_HOST_BYTES - 1] = '\0';
    out[strspn(out, allowed)] = '\0';
    if (out[0] == '\0') (void)snprintf(out, CH_TREE_HOST_BYTES, "?");
}

/* Did the same process make both connections? It tries several addresses of the root, each from
 * an address of its own. */
static bool is_same_process(const struct ch_tree_named *a, const struct ch_tree_named *b)
{
    return a->pe == b->pe && a->n == b->n && strcmp(a->host, b->host) == 0;
}

/* Count a connection with another secret, and keep what its hello states. */
static void note_foreign(struct ch_tree *tree, const struct ch_tree_unverified *s)
{
    struct ch_tree_foreign *const f = &tree->foreign;
    struct ch_tree_named one = {.pe = s->hello.pe, .n = s->hello.n};

    f->n++;
    copy_name(one.host, s->hello.host);
    ch_tree_address_of_peer(s->fd, one.from);
    for (uint32_t i = 0; i < f->n_named; i++)
        if (is_same_process(&f->named[i], &one)) return;
    if (f->n_named < sizeof(f->named) / sizeof(f->named[0])) f->named[f->n_named++] = one;
}

/* The advice precedes the names, which may be too long for a message. */
void ch_tree_foreign_text(const struct ch_tree *tree, char text_out[CH_TREE_TEXT_BYTES])
{
    const struct ch_tree_foreign *const f = &tree->foreign;
    size_t used;

    text_out[0] = '\0';
    if (f->n == 0) return;
    used = (size_t)snprintf(text_out, CH_TREE_TEXT_BYTES,
                            "; %llu connection%s another secret than the job's (%s), from",
                            (unsigned long long)f->n, f->n == 1 ? " had" : "s had",
                            CH_TREE_SECRET_ADVICE);
    for (uint32_t i = 0; i < f->n_named && used < CH_TREE_TEXT_BYTES; i++) {
        const struct ch_tree_named *const one = &f->named[i];
        used += (size_t)snprintf(text_out + used, CH_TREE_TEXT_BYTES - used,
                                 "%s PE %u of %u on host %.32s at %s", i == 0 ? "" : ",",
                                 one->pe, one->n, one->host, one->from);
    }
}

/* ---- connections ---- */

/* How long a process without a descriptor for the next connection waits for the hello of an
 * earlier one. A PE sends it as soon as it has the challenge. */
enum { HELLO_MS = 20 };

/* Close the connection. Its descriptor becomes the spare one if that is missing, before another
 * thread gets it. */
static void close_unverified(struct ch_tree *tree, struct ch_tree_unverified *s)
{
    if (s->fd < 0) return;
    if (tree->listener.fd >= 0 && tree->spare < 0 &&
        dup3(tree->epoll, s->fd, O_CLOEXEC) == s->fd)
        tree->spare = s->fd;
    else
        (void)close(s->fd);
    s->fd = -1;
}

void ch_tree_stop_listening(struct ch_tree *tree)
{
    if (tree->spare >= 0) (void)close(tree->spare);
    if (tree->last_spare >= 0) (void)close(tree->last_spare);
    tree->spare = tree->last_spare = -1;
    if (tree->listener.fd < 0) return;
    ch_tree_listener_close(&tree->listener);
    for (int i = 0; i < CH_TREE_UNVERIFIED; i++)
        close_unverified(tree, &tree->unverified[i]);
}

void ch_tree_drop_late_unverified(struct ch_tree *tree)
{
    const uint64_t now = ch_clock_ns();
    const uint64_t most_ns =
        tree->terms.hello_ns != 0 ? tree->terms.hello_ns : CH_TREE_STRANGER_NS;

    if (tree->listener.fd < 0) return;
    for (int i = 0; i < CH_TREE_UNVERIFIED; i++)
        if (now - tree->unverified[i].since_ns > most_ns)
            close_unverified(tree, &tree->unverified[i]);
}

/* Make fd the newest unverified connection, in place of the oldest, and send it a challenge. */
static void send_challenge(struct ch_tree *tree, int fd)
{
    struct ch_tree_unverified *const s = &tree->unverified[tree->next_unverified];

    tree->next_unverified = (tree->next_unverified + 1) % CH_TREE_UNVERIFIED;
    close_unverified(tree, s);
    *s = (struct ch_tree_unverified){.fd = fd, .since_ns = ch_clock_ns()};
    ch_tree_socket_set(fd, tree->terms.link_ns);
    ch_tree_challenge_make(&s->challenge);
    /* The kernel buffers this number of bytes of a new socket in any case; a socket that does
     * not is closed. */
    if (send(fd, &s->challenge, sizeof(s->challenge), MSG_NOSIGNAL | MSG_DONTWAIT) !=
            (ssize_t)sizeof(s->challenge) ||
        !ch_tree_watch_fd(tree, fd, s))
        close_unverified(tree, s);
}

/* Returns the oldest unverified connection; null: there is none. */
static struct ch_tree_unverified *oldest_unverified(struct ch_tree *tree)
{
    for (uint32_t i = 0; i < CH_TREE_UNVERIFIED; i++) {
        struct ch_tree_unverified *const s =
            &tree->unverified[(tree->next_unverified + i) % CH_TREE_UNVERIFIED];

        if (s->fd >= 0) return s;
    }
    return NULL;
}

void ch_tree_abort_at_limit(struct ch_tree *tree)
{
    char why[CH_TREE_TEXT_BYTES], who[32] = "the launcher";

    if (tree->terms.me != CH_TREE_NO_PE)
        (void)snprintf(who, sizeof(who), "PE %u", tree->terms.me);
    (void)snprintf(why, sizeof(why),
                   "%s on host %s has no descriptor left for a connection from another "
                   "PE; " CH_LIMIT_ADVICE,
                   who, tree->host);
    ch_tree_abort(tree, 1, why);
}

/* Close a spare descriptor. False: it is closed already. */
static bool close_spare(int *fd)
{
    if (*fd < 0) return false;
    (void)close(*fd);
    *fd = -1;
    return true;
}

/* No descriptor is left for the next connection, which may be that of a PE: it gets that of the
 * oldest unauthenticated connection, which may be that of a PE too and is given time to prove
 * it. If there is none, it gets the spare one. Other programs may connect, too, so only when a
 * PE has taken the place of the spare one is it certain that PEs need more than there are: the
 * start fails. */
static void free_descriptor(struct ch_tree *tree)
{
    struct ch_tree_unverified *const s = oldest_unverified(tree);

    if (s != NULL) {
        (void)poll(&(struct pollfd){.fd = s->fd, .events = POLLIN}, 1, HELLO_MS);
        ch_tree_read_unverified(tree, s);
        close_unverified(tree, s);
        return;
    }
    if (close_spare(&tree->spare)) return;
    ch_tree_abort_at_limit(tree);
    if (!close_spare(&tree->last_spare)) ch_tree_stop_listening(tree);
}

void ch_tree_accept(struct ch_tree *tree)
{
    for (int i = 0; i < CH_TREE_ACCEPTS && tree->listener.fd >= 0; i++) {
        const int fd = accept4(tree->listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd >= 0) {
            send_challenge(tree, fd);
        } else if (errno == EMFILE || errno == ENFILE) {
            free_descriptor(tree);
            return;
        } else if (errno != ECONNABORTED && errno != EINTR) {
            return;
        }
    }
}

/* Complete the answer to the hello with its sender and MAC, and send it. */
static void send_answer(struct ch_tree *tree, const struct ch_tree_unverified *s,
                        struct ch_tree_answer *a)
{
    a->pe = a->kind == CH_TREE_REDIRECT ? a->pe : tree->terms.me;
    (void)snprintf(a->host, sizeof(a->host), "%s", tree->host);
    ch_tree_answer_seal(a, tree->terms.secret, &s->challenge, &s->hello);
    (void)send(s->fd, a, sizeof(*a), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Refuse a hello that was made without the secret. The answer has no MAC: with one, another
 * process could test guesses of the secret without this process. */
static void refuse_stranger(struct ch_tree *tree, const struct ch_tree_unverified *s)
{
    const struct ch_tree_answer a = {
        .magic = CH_TREE_MAGIC, .kind = CH_TREE_REFUSED, .status = CHORUS_ERR_ARG};
    char from[CH_TREE_ADDRESS_TEXT];

    if (ch_tree_hello_is_foreign(&s->hello, tree->terms.secret)) note_foreign(tree, s);
    ch_tree_address_of_peer(s->fd, from);
    CH_LOG(INFO, "a connection from %s was refused: it does not have the job's secret", from);
    (void)send(s->fd, &a, sizeof(a), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Returns a place for a further child; null: all are used. */
static struct ch_tree_conn *find_free_child(struct ch_tree *tree)
{
    for (int i = 0; i < CH_TREE_CHILDREN; i++)
        if (tree->children[i].fd < 0) return &tree->children[i];
    return NULL;
}

/* Answer the hello with the address of a child, of each child in turn. */
static void redirect_to_child(struct ch_tree *tree, const struct ch_tree_unverified *s)
{
    const struct ch_tree_conn *const child = &tree->children[tree->next_child];
    struct ch_tree_answer a = {.kind = CH_TREE_REDIRECT, .pe = child->pe};

    tree->next_child = (tree->next_child + 1) % CH_TREE_CHILDREN;
    a.n_addresses = child->n_addresses;
    memcpy(a.addresses, child->addresses, sizeof(a.addresses));
    send_answer(tree, s, &a);
}

/* Answer the hello with a welcome, move the connection to `conn`, a free place for a child, and
 * inform the root. */
static void accept_child(struct ch_tree *tree, struct ch_tree_unverified *s,
                         struct ch_tree_conn *conn)
{
    const struct ch_tree_hello *const hello = &s->hello;
    struct ch_tree_head head = {
        .kind = CH_TREE_JOINED, .pe = hello->pe, .bytes = CH_TREE_HOST_BYTES};
    struct ch_tree_answer a = {.kind = CH_TREE_WELCOME};
    const int fd = s->fd;

    send_answer(tree, s, &a);
    (void)epoll_ctl(tree->epoll, EPOLL_CTL_DEL, fd, NULL);
    s->fd = -1;
    *conn = (struct ch_tree_conn){.fd = -1, .pe = hello->pe};
    memcpy(conn->host, hello->host, sizeof(conn->host));
    conn->n_addresses = hello->n_addresses;
    memcpy(conn->addresses, hello->addresses, sizeof(conn->addresses));
    if (!ch_tree_conn_open(tree, conn, fd)) {
        ch_tree_note_lost(tree, conn, errno);
        return;
    }
    if (tree->is_root)
        ch_tree_note_joined(tree, hello->pe, hello->host);
    else
        ch_tree_conn_send(tree, &tree->up, &head, hello->host);
}

/* The peer has the secret: a reason to refuse it is a reason to end the job. */
static void refuse_and_abort(struct ch_tree *tree, const struct ch_tree_unverified *s,
                             const char *why)
{
    struct ch_tree_answer a = {.kind = CH_TREE_REFUSED, .status = CHORUS_ERR_ARG};

    (void)snprintf(a.reason, sizeof(a.reason), "PE %u %.480s", s->hello.pe, why);
    send_answer(tree, s, &a);
    ch_tree_abort(tree, 1, a.reason);
}

/* Refuse the hello with the reason that was sent to the other PEs: the start has failed
 * already. */
static void refuse_after_failure(struct ch_tree *tree, const struct ch_tree_unverified *s)
{
    struct ch_tree_answer a = {.kind = CH_TREE_REFUSED, .status = CHORUS_ERR_ABORTED};

    (void)snprintf(a.reason, sizeof(a.reason), "%s",
                   tree->is_over ? tree->why_over : tree->why_failed);
    send_answer(tree, s, &a);
    if (tree->is_root && s->hello.pe < tree->terms.n)
        (void)snprintf(tree->hosts[s->hello.pe], CH_TREE_HOST_BYTES, "?");
}

/* Was the hello sent to this node? */
static bool is_for_me(const struct ch_tree *tree, const struct ch_tree_hello *hello)
{
    return hello->to == tree->terms.me || (hello->to == CH_TREE_ANY && tree->is_root);
}

/* The hello has been received completely: check it, and accept, redirect or refuse its
 * sender. */
static void handle_hello(struct ch_tree *tree, struct ch_tree_unverified *s)
{
    char why[CH_TREE_TEXT_BYTES];
    struct ch_tree_conn *conn;

    if (!ch_tree_hello_check(&s->hello, tree->terms.secret, &s->challenge)) {
        refuse_stranger(tree, s);
        return;
    }
    if (!is_for_me(tree, &s->hello)) return; /* two hosts have the same address */
    if (tree->is_over || tree->why_failed[0] != '\0') {
        refuse_after_failure(tree, s);
        return;
    }
    if (!ch_tree_hello_fits(&s->hello, tree->terms.n, why)) {
        refuse_and_abort(tree, s, why);
        return;
    }
    conn = find_free_child(tree);
    if (conn != NULL)
        accept_child(tree, s, conn);
    else
        redirect_to_child(tree, s);
}

/* May further bytes complete a hello? */
static bool is_hello_so_far(const struct ch_tree_unverified *s)
{
    if (s->got >= sizeof(s->hello)) return false;
    return s->got < sizeof(s->hello.magic) || s->hello.magic == CH_TREE_MAGIC;
}

void ch_tree_read_unverified(struct ch_tree *tree, struct ch_tree_unverified *s)
{
    while (s->fd >= 0) {
        const size_t bytes = sizeof(s->hello) - s->got;
        const ssize_t n = recv(s->fd, (char *)&s->hello + s->got, bytes, MSG_DONTWAIT);

        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return;
        if (n > 0) s->got += (size_t)n;
        if (n > 0 && is_hello_so_far(s)) continue;
        if (n > 0 && s->got == sizeof(s->hello)) handle_hello(tree, s);
        close_unverified(tree, s);
    }
}
