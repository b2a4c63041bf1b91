/* SPDX-License-Identifier: Apache-2.0 */
/*
 * join.c: finds a parent, beginning at the root. This is the only part of a tree that
 * waits.
 */
#include "boot/tree/inside.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Time limit of one attempt: to connect, the first time and later, and for each message. */
#define CONNECT_FIRST_NS (CH_NS_PER_S / 2)
#define CONNECT_NS (2 * CH_NS_PER_S)
#define ANSWER_NS (5 * CH_NS_PER_S)

/* Pause between attempts at all addresses; and the number of them that may fail with "wrong
 * secret" before this is final. */
enum { PAUSE_MIN_MS = 10, PAUSE_MAX_MS = 500, WRONG_MAX = 3 };

/* The addresses of the next attempt, and the last reason of a failure. */
struct search {
    struct ch_tree *tree;
    const char *root;
    uint64_t deadline_ns; /* UINT64_MAX: none */
    uint32_t to;
    uint32_t n;
    struct ch_tree_address at[CH_TREE_ADDRESSES];
    uint32_t n_rounds, n_wrong;
    struct ch_tree_answer answer;
    char why[CH_TREE_TEXT_BYTES];
    bool is_at_limit; /* this process has no descriptor left */
};

enum outcome { OUTCOME_NONE, OUTCOME_IN, OUTCOME_REDIRECT, OUTCOME_REFUSED };

/* Returns the point in time wait_ns from now, or the deadline of the search if that is earlier.
 */
static uint64_t deadline_after(const struct search *s, uint64_t wait_ns)
{
    const uint64_t at = ch_clock_ns() + wait_ns;

    return at < s->deadline_ns ? at : s->deadline_ns;
}

/* Receive exactly `bytes` bytes until this time. False: it passed, or the connection ended. */
static bool receive(int fd, void *data, size_t bytes, uint64_t until_ns)
{
    struct pollfd p = {fd, POLLIN, 0};
    size_t got = 0;

    while (got < bytes) {
        const ssize_t n = recv(fd, (char *)data + got, bytes - got, MSG_DONTWAIT);
        const uint64_t now = ch_clock_ns();

        if (n > 0) got += (size_t)n;
        if (n == 0) return false;
        if (n > 0 || (n < 0 && errno == EINTR)) continue;
        if (errno != EAGAIN || now >= until_ns) return false;
        (void)poll(&p, 1, (int)((until_ns - now) / CH_NS_PER_MS) + 1);
    }
    return true;
}

/* Set what the hello states about this process; ch_tree_hello_seal completes it. */
static void fill_hello(const struct ch_tree *tree, struct ch_tree_hello *hello)
{
    hello->pe = tree->terms.me;
    hello->n = tree->terms.n;
    (void)snprintf(hello->host, sizeof(hello->host), "%s", tree->host);
    hello->n_addresses = ch_tree_own_addresses(&tree->listener, hello->addresses);
}

/* Keep, for a message, why the attempt at address i failed. */
static void note_reason(struct search *s, uint32_t i, const char *what, const char *more)
{
    char text[CH_TREE_ADDRESS_TEXT];

    ch_tree_address_print(&s->at[i], text);
    (void)snprintf(s->why, sizeof(s->why), "%s: %s%s", text, what, more);
}

/* Perform the handshake with the program at address i, over fd; s->answer is its answer. */
static enum outcome shake_hands(struct search *s, uint32_t i, int fd)
{
    const unsigned char *const secret = s->tree->terms.secret;
    struct ch_tree_hello hello = {.to = s->to};
    struct ch_tree_challenge challenge;

    if (!receive(fd, &challenge, sizeof(challenge), deadline_after(s, ANSWER_NS))) {
        note_reason(s, i, "accepts connections, but does not answer", "");
        return OUTCOME_NONE;
    }
    if (challenge.magic != CH_TREE_MAGIC) {
        note_reason(s, i, "is another program, or another version of Chorus", "");
        return OUTCOME_NONE;
    }
    fill_hello(s->tree, &hello);
    ch_tree_hello_seal(&hello, secret, &challenge);
    if (send(fd, &hello, sizeof(hello), MSG_NOSIGNAL) != (ssize_t)sizeof(hello) ||
        !receive(fd, &s->answer, sizeof(s->answer), deadline_after(s, ANSWER_NS))) {
        note_reason(s, i, "ended the connection", "");
        return OUTCOME_NONE;
    }
    if (!ch_tree_answer_check(&s->answer, secret, &challenge, &hello)) {
        s->n_wrong++;
        note_reason(
            s, i,
            "has another secret: it is of another job, or this process was started with a "
            "wrong "
            "one; ",
            CH_TREE_SECRET_ADVICE);
        return OUTCOME_NONE;
    }
    if (s->answer.kind == CH_TREE_WELCOME) return OUTCOME_IN;
    return s->answer.kind == CH_TREE_REDIRECT ? OUTCOME_REDIRECT : OUTCOME_REFUSED;
}

/* Try all addresses, up to one that answers; returns its answer, and for OUTCOME_IN the
 * connection in *fd_out. */
static enum outcome try_all(struct search *s, int *fd_out)
{
    for (uint32_t i = 0; i < s->n; i++) {
        const uint64_t wait_ns = s->n_rounds == 0 ? CONNECT_FIRST_NS : CONNECT_NS;
        int fd;
        enum outcome outcome;

        if (ch_clock_ns() >= s->deadline_ns && s->why[0] != '\0') break;
        fd = ch_tree_connect(&s->at[i], s->tree->terms.link_ns, deadline_after(s, wait_ns));
        if (fd < 0) {
            s->is_at_limit = errno == EMFILE || errno == ENFILE;
            note_reason(s, i, strerror(errno), s->is_at_limit ? "; " CH_LIMIT_ADVICE : "");
            if (s->is_at_limit) break;
            continue;
        }
        outcome = shake_hands(s, i, fd);
        if (outcome == OUTCOME_IN) {
            *fd_out = fd;
            return outcome;
        }
        (void)close(fd);
        if (outcome != OUTCOME_NONE) return outcome;
    }
    return OUTCOME_NONE;
}

/* Search at the root's addresses next. A failure to resolve the name replaces the earlier
 * reason. */
static void start_at_root(struct search *s)
{
    char why[sizeof(s->why)];

    s->to = CH_TREE_ANY;
    s->n = ch_tree_addresses_parse(s->root, s->at, why, sizeof(why));
    if (s->n == 0) memcpy(s->why, why, sizeof(why));
}

/* Search at the addresses of the last answer next. */
static void follow_redirect(struct search *s)
{
    s->to = s->answer.pe;
    s->n = s->answer.n_addresses;
    memcpy(s->at, s->answer.addresses, sizeof(s->at));
}

/* Sleep for a random time, which grows with the number of rounds. */
static void back_off(const struct search *s)
{
    const uint32_t most = (uint32_t)PAUSE_MIN_MS << (s->n_rounds < 6 ? s->n_rounds : 6);
    const uint32_t ms =
        PAUSE_MIN_MS + randombytes_uniform(most < PAUSE_MAX_MS ? most : PAUSE_MAX_MS);
    const struct timespec pause = {.tv_nsec = (long)(ms * CH_NS_PER_MS)};

    (void)nanosleep(&pause, NULL);
}

/* Search until a node accepts this process as a child; *fd_out is the connection to it. */
static chorus_status find_parent(struct search *s, int *fd_out)
{
    const uint64_t since_ns = ch_clock_ns();

    start_at_root(s);
    for (;;) {
        switch (try_all(s, fd_out)) {
        case OUTCOME_IN:
            return CHORUS_OK;
        case OUTCOME_REDIRECT:
            follow_redirect(s);
            continue;
        case OUTCOME_REFUSED:
            return CH_FAIL((chorus_status)s->answer.status, "exchange among all PEs: %s",
                           s->answer.reason);
        case OUTCOME_NONE:
            break;
        }
        if (s->n_wrong >= WRONG_MAX || s->is_at_limit)
            return CH_FAIL(s->is_at_limit ? CHORUS_ERR_SYSTEM : CHORUS_ERR_ARG,
                           "cannot join the job at %s as PE %u: %s", s->root, s->tree->terms.me,
                           s->why);
        if (ch_clock_ns() >= s->deadline_ns)
            return CH_FAIL(CHORUS_ERR_TIMEOUT,
                           "PE %u could not join the job at %s within %.3g s: %s",
                           s->tree->terms.me, s->root,
                           (double)(ch_clock_ns() - since_ns) / (double)CH_NS_PER_S, s->why);
        back_off(s);
        s->n_rounds++;
        start_at_root(s);
    }
}

chorus_status ch_tree_join(const struct ch_tree_terms *terms, const char *addresses,
                           uint64_t deadline_ns, struct ch_tree **tree_out)
{
    struct ch_tree *tree = ch_tree_make(terms);
    struct search s = {.tree = tree,
                       .root = addresses,
                       .deadline_ns = deadline_ns == 0 ? UINT64_MAX : deadline_ns};
    chorus_status status;
    int fd = -1;

    if (tree == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM,
                       "no memory or descriptors to join a job; " CH_LIMIT_ADVICE);
    CH_TRY_GOTO(status, ch_tree_listen_at(terms->listen, 0, &tree->listener), out_tree);
    CH_TRY_GOTO(status, find_parent(&s, &fd), out_tree);
    tree->up.pe = s.answer.pe;
    memcpy(tree->up.host, s.answer.host, sizeof(tree->up.host));
    if (ch_tree_conn_open(tree, &tree->up, fd) &&
        ch_tree_watch_fd(tree, tree->listener.fd, &tree->listener)) {
        *tree_out = tree;
        return CHORUS_OK;
    }
    status = CH_FAIL(CHORUS_ERR_SYSTEM, "cannot watch a connection: %s", strerror(errno));

out_tree:
    ch_tree_close(tree);
    return status;
}
