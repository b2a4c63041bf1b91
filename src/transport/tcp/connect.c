/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connect.c: opens connections from either side, until both ends have authenticated each
 * other.
 *
 * Two PEs may connect to each other at the same time; then the connection of the lower PE is
 * kept. The lower PE answers the other's hello with BUSY once it has sent its own, and the
 * higher PE closes its connection and uses the lower's. Before the lower PE has sent its
 * hello, no PE can have answered it, so it accepts the connection that arrives. An
 * unauthenticated connection is kept for a few seconds, and their number is limited.
 */
#include "transport/tcp/tcp.h"

#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* Time limits: for TCP to connect to one address, and for an accepted connection to send its
 * hello. */
#define CONNECT_NS (2 * CH_NS_PER_S)
#define ACCEPTED_NS (5 * CH_NS_PER_S)

/* For so long a PE without a descriptor for the next connection waits for the hello of an
 * earlier one. */
#define UNHEARD_NS (20 * CH_NS_PER_MS)

/* Number of connections that one call accepts. */
enum { ACCEPTS = 16, BACKLOG = 1024 };

/* Number of attempts to one address that may end before any byte arrives. */
enum { TRIES_MAX = 100 };

/* Number of ports that are tried where a PE listens at several addresses. */
enum { PORT_TRIES = 16 };

void ch_tcp_listen_end(struct ch_endpoint *ep)
{
    while (ep->n_listeners > 0)
        (void)close(ep->listeners[--ep->n_listeners]);
}

/* Listen at one address, or at all of its family. False: errno is the reason. */
static bool listen_at(struct ch_endpoint *ep, const union ch_tcp_sockaddr *addr,
                      socklen_t bytes)
{
    const int fd = socket(addr->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int off = 0;

    if (fd < 0) return false;
    ep->listeners[ep->n_listeners++] = fd; /* ch_tcp_listen_end closes it */
    if (addr->any.sa_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    ch_tcp_socket_prepare(ep, fd); /* connections inherit the setting */
    return bind(fd, &addr->any, bytes) == 0 && listen(fd, BACKLOG) == 0;
}

/* Returns the port of the first listening socket; 0: there is none. */
static uint16_t port_of(const struct ch_endpoint *ep)
{
    union ch_tcp_sockaddr addr = {.v6 = {0}};
    socklen_t bytes = sizeof(addr);

    if (ep->n_listeners == 0 || getsockname(ep->listeners[0], &addr.any, &bytes) != 0) return 0;
    return ntohs(addr.any.sa_family == AF_INET ? addr.v4.sin_port : addr.v6.sin6_port);
}

/* Listen at all addresses of this host. False: errno is the reason. */
static bool listen_everywhere(struct ch_endpoint *ep)
{
    const union ch_tcp_sockaddr six = {.v6 = {.sin6_family = AF_INET6}};
    const union ch_tcp_sockaddr four = {.v4 = {.sin_family = AF_INET}};

    CH_LOG(INFO,
           "tcp: listening at all addresses of this host; CHORUS_NET selects an interface");
    if (listen_at(ep, &six, sizeof(six.v6))) return true;
    ch_tcp_listen_end(ep); /* a host without IPv6 */
    return listen_at(ep, &four, sizeof(four.v4));
}

/* Listen with one port at all of the PE's addresses; if another program has it at one of them,
 * try another port. False: errno is the reason. */
static bool listen_chosen(struct ch_endpoint *ep)
{
    const struct ch_tcp_card *card = &ep->addresses->card;
    bool is_done = false;

    for (int tries = 0; tries < PORT_TRIES && !is_done; tries++) {
        ch_tcp_listen_end(ep);
        is_done = true;
        for (uint32_t i = 0; i < card->n && is_done; i++) {
            union ch_tcp_sockaddr addr;
            const socklen_t bytes =
                ch_tcp_address_fill(&card->addresses[i], port_of(ep), &addr);
            is_done = listen_at(ep, &addr, bytes);
        }
        if (!is_done && errno != EADDRINUSE) return false;
    }
    return is_done;
}

chorus_status ch_tcp_listen(struct ch_endpoint *ep, uint16_t *port_out)
{
    if (!(ep->addresses->is_chosen ? listen_chosen(ep) : listen_everywhere(ep)))
        return CH_FAIL(CHORUS_ERR_SYSTEM, "tcp: cannot listen for connections: %s%s",
                       strerror(errno), errno == EMFILE ? "; " CH_LIMIT_ADVICE : "");
    *port_out = port_of(ep);
    for (uint32_t i = 0; i < ep->n_listeners; i++)
        ch_tcp_watch(ep, ep->listeners[i], ch_tcp_watch_word(CH_TCP_WATCH_LISTENER, i), 0,
                     EPOLLIN);
    return CHORUS_OK;
}

void ch_tcp_call_end(struct ch_tcp_call *call)
{
    if (call->fd >= 0) (void)close(call->fd);
    call->fd = -1;
}

void ch_tcp_call_begin(struct ch_tcp_call *call, int fd, uint64_t time_ns)
{
    call->fd = fd;
    call->deadline_ns = ch_clock_ns() + time_ns;
    call->is_connected = call->has_said = false;
    call->n_in = 0;
}

int ch_tcp_call_check_connected(struct ch_tcp_call *call)
{
    struct sockaddr_storage peer;
    socklen_t peer_bytes = sizeof(peer), bytes = sizeof(int);
    int error = 0;

    (void)getsockopt(call->fd, SOL_SOCKET, SO_ERROR, &error, &bytes);
    errno = error;
    if (error != 0) return -1;
    call->is_connected = getpeername(call->fd, (struct sockaddr *)&peer, &peer_bytes) == 0;
    return call->is_connected;
}

int ch_tcp_call_read(struct ch_tcp_call *call, size_t bytes)
{
    while (call->n_in < bytes) {
        const ssize_t got = recv(call->fd, call->in + call->n_in, bytes - call->n_in, 0);

        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && errno == EAGAIN) return 0;
        if (got == 0) errno = 0;
        if (got <= 0) return -1;
        call->n_in += (size_t)got;
    }
    call->n_in = 0;
    return 1;
}

bool ch_tcp_call_send(const struct ch_tcp_call *call, const void *message, size_t bytes)
{
    return send(call->fd, message, bytes, MSG_NOSIGNAL) == (ssize_t)bytes;
}

/* Make the socket of a handshake that has succeeded that of its link, which is then up. */
static void set_up_link(struct ch_endpoint *ep, struct ch_tcp_link *link,
                        struct ch_tcp_call *call)
{
    char peer[CH_TCP_ADDRESS_TEXT];

    link->fd = call->fd;
    call->fd = -1;
    if (link->state == CH_TCP_DIALING || link->state == CH_TCP_WAITING) ep->n_calls--;
    ch_tcp_call_end(&link->dial);
    link->state = CH_TCP_UP;
    link->n_channels = ep->addresses->card.channels < ep->cards[link->pe].channels
                           ? ep->addresses->card.channels
                           : ep->cards[link->pe].channels;
    ch_tcp_peer_text(link->fd, peer);
    (void)snprintf(link->where, sizeof(link->where), "%s by %s", peer,
                   ch_tcp_interface_of(ep->addresses, link->fd));
    ep->up[ep->n_up++] = link->pe;
    ch_tcp_watch(ep, link->fd, ch_tcp_watch_word(CH_TCP_WATCH_LINK, link->pe), EPOLLIN,
                 EPOLLIN);
    link->watched = EPOLLIN;
    ch_tcp_flush(ep, link);
}

/* ---- connecting ---- */

/* Bind the socket to the interface that the user named, if any; otherwise the system's routing
 * table chooses one. False: errno is the reason. */
static bool bind_to_interface(const struct ch_endpoint *ep, int fd, bool is_v6)
{
    const struct ch_tcp_card *own = &ep->addresses->card;
    union ch_tcp_sockaddr addr;

    if (*ep->terms.options->net == '\0') return true;
    for (uint32_t i = 0; i < own->n; i++) {
        if (own->addresses[i].is_v6 != is_v6) continue;
        const socklen_t bytes = ch_tcp_address_fill(&own->addresses[i], 0, &addr);
        return bind(fd, &addr.any, bytes) == 0;
    }
    errno = EADDRNOTAVAIL;
    return false;
}

int ch_tcp_connect_to(struct ch_endpoint *ep, const struct ch_tcp_address *address,
                      uint16_t port)
{
    union ch_tcp_sockaddr addr;
    const socklen_t bytes = ch_tcp_address_fill(address, port, &addr);
    const int fd = socket(addr.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int error;

    if (fd < 0) return -1;
    ch_tcp_socket_prepare(ep, fd);
    if (bind_to_interface(ep, fd, address->is_v6) &&
        (connect(fd, &addr.any, bytes) == 0 || errno == EINPROGRESS))
        return fd;
    error = errno;
    (void)close(fd);
    errno = error;
    return -1;
}

/* Record why the address could not be used, and go on to the next. */
static void note_failure(struct ch_endpoint *ep, struct ch_tcp_link *link, const char *why)
{
    const size_t used = strlen(link->tried);
    struct ch_tcp_address address;
    char text[CH_TCP_ADDRESS_TEXT] = "?";

    if (ch_tcp_address_pick(ep->addresses, &ep->cards[link->pe], link->dial.at, &address))
        ch_tcp_address_text(&address, text);
    (void)snprintf(link->tried + used, sizeof(link->tried) - used, "%s%s: %s",
                   used == 0 ? "" : "; ", text, why);
    ch_tcp_call_end(&link->dial);
    link->dial.at++;
    link->dial.n_again = 0;
}

void ch_tcp_dial(struct ch_endpoint *ep, struct ch_tcp_link *link)
{
    const struct ch_tcp_card *card = &ep->cards[link->pe];
    struct ch_tcp_address address;

    while (ch_tcp_address_pick(ep->addresses, card, link->dial.at, &address)) {
        const int fd = ch_tcp_connect_to(ep, &address, card->port);

        if (fd >= 0) {
            ch_tcp_call_begin(&link->dial, fd, CONNECT_NS);
            ch_tcp_watch(ep, fd, ch_tcp_watch_word(CH_TCP_WATCH_LINK, link->pe), 0, EPOLLOUT);
            return;
        }
        note_failure(ep, link,
                     errno == EMFILE ? "Too many open files; " CH_LIMIT_ADVICE
                                     : strerror(errno));
    }
    ch_tcp_fail(ep, link, CHORUS_ERR_SYSTEM, "no connection to port %u of any address: %s",
                card->port, link->tried);
}

/* Record why the address could not be used, and dial the next. */
static void dial_next_address(struct ch_endpoint *ep, struct ch_tcp_link *link, const char *why)
{
    note_failure(ep, link, why);
    ch_tcp_dial(ep, link);
}

/* Dial the same address again, since the other end closed the connection before it received a
 * hello: a PE to which many others connect at once closes the oldest connections. */
static void dial_again(struct ch_endpoint *ep, struct ch_tcp_link *link, int error)
{
    const char *const why = error != 0 ? strerror(error) : "it closed the connection";

    if (link->dial.n_again++ >= TRIES_MAX) {
        dial_next_address(ep, link, why);
        return;
    }
    ch_tcp_call_end(&link->dial);
    ch_tcp_dial(ep, link);
}

/* Has TCP connected? Then the other end has the time limit of any wait. If TCP has failed, the
 * next address is dialled. */
static bool check_connected(struct ch_endpoint *ep, struct ch_tcp_link *link)
{
    const uint64_t timeout = ep->terms.options->timeout_ns;
    struct ch_tcp_call *call = &link->dial;
    int is_now;

    if (call->is_connected) return true;
    is_now = ch_tcp_call_check_connected(call);
    if (is_now < 0) dial_next_address(ep, link, strerror(errno));
    if (is_now <= 0) return false;
    call->deadline_ns = timeout == 0 ? CH_TCP_NEVER : ch_clock_ns() + timeout;
    ch_tcp_watch(ep, call->fd, ch_tcp_watch_word(CH_TCP_WATCH_LINK, link->pe), EPOLLOUT,
                 EPOLLIN);
    return true;
}

/* The challenge has arrived: send the hello. */
static void say_hello(struct ch_endpoint *ep, struct ch_tcp_link *link)
{
    struct ch_tcp_call *call = &link->dial;
    struct ch_tcp_challenge challenge;
    struct ch_tcp_hello hello = {.from = ep->terms.me, .to = link->pe, .n = ep->terms.n};
    const char *wrong;

    memcpy(&challenge, call->in, sizeof(challenge));
    wrong = ch_tcp_challenge_fault(&challenge);
    if (wrong == NULL) {
        ch_tcp_hello_make(&hello, ep->terms.secret, &challenge.nonce);
        call->theirs = challenge.nonce;
        call->mine = hello.nonce;
        call->has_said = ch_tcp_call_send(call, &hello, sizeof(hello));
        if (!call->has_said) dial_again(ep, link, errno);
    } else {
        dial_next_address(ep, link, wrong);
    }
}

/* The answer to the hello has arrived: use the connection, wait for that of the peer, or dial
 * the next address. */
static void handle_answer(struct ch_endpoint *ep, struct ch_tcp_link *link)
{
    struct ch_tcp_call *call = &link->dial;
    struct ch_tcp_answer answer;

    memcpy(&answer, call->in, sizeof(answer));
    if (!ch_tcp_answer_is_valid(&answer, ep->terms.secret, &call->mine, &call->theirs)) {
        dial_next_address(ep, link, "it is of another job: the secrets differ");
    } else if (answer.verdict == CH_TCP_WELCOME) {
        set_up_link(ep, link, call);
        if (link->state == CH_TCP_UP) ch_tcp_widen_begin(ep, link);
    } else if (answer.verdict == CH_TCP_BUSY) {
        ch_tcp_call_end(call);
        link->state = CH_TCP_WAITING; /* the deadline remains the same */
    } else {
        dial_next_address(ep, link, "another PE listens there");
    }
}

void ch_tcp_dial_step(struct ch_endpoint *ep, struct ch_tcp_link *link)
{
    struct ch_tcp_call *call = &link->dial;

    while (link->state == CH_TCP_DIALING && check_connected(ep, link)) {
        const bool has_said = call->has_said;
        const int is_here = ch_tcp_call_read(call, has_said ? sizeof(struct ch_tcp_answer)
                                                            : sizeof(struct ch_tcp_challenge));

        if (is_here == 0) return;
        if (is_here < 0)
            dial_again(ep, link, errno);
        else if (has_said)
            handle_answer(ep, link);
        else
            say_hello(ep, link);
    }
}

/* ---- accepting ---- */

void ch_tcp_reserve_spare(struct ch_endpoint *ep)
{
    if (ep->spare < 0) ep->spare = fcntl(ep->epoll, F_DUPFD_CLOEXEC, 0);
}

/* Close an accepted connection. Its descriptor becomes the spare one if that is missing, before
 * another thread gets it. */
static void end_accepted(struct ch_endpoint *ep, struct ch_tcp_call *call)
{
    if (call->fd >= 0 && ep->spare < 0 && dup3(ep->epoll, call->fd, O_CLOEXEC) == call->fd) {
        ep->spare = call->fd;
        call->fd = -1;
    }
    ch_tcp_call_end(call);
}

/*
 * No descriptor is left for the next connection: close the oldest unauthenticated one, which
 * may be that of a PE and is given time to prove it, or the spare descriptor. False: none was
 * closed. Other programs may connect, too, so only when a PE has taken the place of the spare
 * descriptor is it certain that PEs need more than there are.
 */
static bool free_descriptor(struct ch_endpoint *ep)
{
    struct ch_tcp_call *oldest = NULL;

    if (!ep->is_at_limit)
        CH_LOG(WARN, "tcp: no descriptor is left for further connections; " CH_LIMIT_ADVICE);
    ep->is_at_limit = true;
    for (uint32_t i = 0; i < CH_TCP_ACCEPTED; i++) {
        struct ch_tcp_call *call = &ep->accepted[i];

        if (call->fd >= 0 && (oldest == NULL || call->deadline_ns < oldest->deadline_ns))
            oldest = call;
    }
    if (oldest != NULL) {
        ch_tcp_accepted_step(ep, oldest);
        if (oldest->fd >= 0 && ch_clock_ns() < oldest->deadline_ns - (ACCEPTED_NS - UNHEARD_NS))
            return false;
        end_accepted(ep, oldest);
        return true;
    }
    if (ep->spare >= 0) {
        (void)close(ep->spare);
        ep->spare = -1;
        return true;
    }
    ch_tcp_remember_failure(ep, CHORUS_ERR_SYSTEM,
                            "tcp: this PE has no descriptor left for connections from other "
                            "PEs; " CH_LIMIT_ADVICE);
    return false;
}

/* Returns a free entry of ep->accepted; if there is none, ends the oldest unauthenticated
 * connection. */
static struct ch_tcp_call *get_free_entry(struct ch_endpoint *ep)
{
    struct ch_tcp_call *oldest = &ep->accepted[0];

    for (uint32_t i = 0; i < CH_TCP_ACCEPTED; i++) {
        struct ch_tcp_call *call = &ep->accepted[i];

        if (call->fd < 0) return call;
        if (call->deadline_ns < oldest->deadline_ns) oldest = call;
    }
    end_accepted(ep, oldest);
    return oldest;
}

void ch_tcp_accept(struct ch_endpoint *ep, uint32_t listener)
{
    for (int i = 0; i < ACCEPTS; i++) {
        const int fd =
            accept4(ep->listeners[listener], NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        struct ch_tcp_challenge challenge;
        struct ch_tcp_call *call;

        if (fd < 0 && (errno == EMFILE || errno == ENFILE) && free_descriptor(ep)) continue;
        if (fd < 0) return;
        call = get_free_entry(ep);
        ch_tcp_call_begin(call, fd, ACCEPTED_NS);
        ch_tcp_challenge_make(&challenge);
        call->mine = challenge.nonce;
        ch_tcp_watch(ep, fd,
                     ch_tcp_watch_word(CH_TCP_WATCH_ACCEPTED, (uint32_t)(call - ep->accepted)),
                     0, EPOLLIN);
        if (!ch_tcp_call_send(call, &challenge, sizeof(challenge))) end_accepted(ep, call);
    }
}

/* Returns the answer to a hello with a valid MAC. */
static enum ch_tcp_verdict judge_hello(struct ch_endpoint *ep, const struct ch_tcp_hello *hello)
{
    const struct ch_link_terms *terms = &ep->terms;
    const struct ch_tcp_link *link;

    if (hello->to != terms->me || hello->n != terms->n || hello->from >= terms->n ||
        hello->from == terms->me)
        return CH_TCP_MISTAKEN;
    if (hello->channel != 0) return ch_tcp_widen_judge(ep, hello);
    link = ep->links[hello->from];
    if (link == NULL || link->state == CH_TCP_WAITING) return CH_TCP_WELCOME;
    if (link->state != CH_TCP_DIALING) return CH_TCP_MISTAKEN;
    return terms->me < link->pe && link->dial.has_said ? CH_TCP_BUSY : CH_TCP_WELCOME;
}

/* Answer a hello with a valid MAC. If it is welcome, the connection becomes that of a link or
 * channel; otherwise it is closed. */
static void answer_accepted(struct ch_endpoint *ep, struct ch_tcp_call *call,
                            const struct ch_tcp_hello *hello)
{
    struct ch_tcp_answer answer = {.verdict = judge_hello(ep, hello)};
    struct ch_tcp_link *link;

    ch_tcp_answer_make(&answer, ep->terms.secret, &call->mine, &hello->nonce);
    if (!ch_tcp_call_send(call, &answer, sizeof(answer)) || answer.verdict != CH_TCP_WELCOME) {
        end_accepted(ep, call);
        return;
    }
    if (hello->channel != 0) {
        ch_tcp_widen_add_channel(ep, hello, call);
        return;
    }
    link = ch_tcp_link_get_or_make(ep, hello->from);
    if (link != NULL)
        set_up_link(ep, link, call);
    else
        end_accepted(ep, call);
}

/* Refuse a hello that was made without the secret; the answer has no MAC. */
static void deny_accepted(struct ch_endpoint *ep, struct ch_tcp_call *call)
{
    const struct ch_tcp_answer answer = {.verdict = CH_TCP_STRANGER};
    char from[CH_TCP_ADDRESS_TEXT];

    ch_tcp_peer_text(call->fd, from);
    CH_LOG(INFO, "tcp: a connection from %s was refused: it does not have the job's secret",
           from);
    (void)ch_tcp_call_send(call, &answer, sizeof(answer));
    end_accepted(ep, call);
}

void ch_tcp_accepted_step(struct ch_endpoint *ep, struct ch_tcp_call *call)
{
    struct ch_tcp_hello hello;
    int is_here;

    if (call->fd < 0) return;
    is_here = ch_tcp_call_read(call, sizeof(hello));
    if (is_here == 0) return;
    if (is_here < 0) {
        end_accepted(ep, call);
        return;
    }
    memcpy(&hello, call->in, sizeof(hello));
    if (ch_tcp_hello_is_valid(&hello, ep->terms.secret, &call->mine))
        answer_accepted(ep, call, &hello);
    else
        deny_accepted(ep, call);
}

void ch_tcp_calls_end_late(struct ch_endpoint *ep, uint64_t now_ns)
{
    for (uint32_t i = 0; i < CH_TCP_ACCEPTED; i++)
        if (ep->accepted[i].fd >= 0 && now_ns > ep->accepted[i].deadline_ns)
            end_accepted(ep, &ep->accepted[i]);
    for (uint32_t pe = 0; ep->n_calls > 0 && pe < ep->terms.n; pe++) {
        struct ch_tcp_link *link = ep->links[pe];

        if (link != NULL) ch_tcp_widen_end_late(ep, link, now_ns);
        if (link == NULL || now_ns <= link->dial.deadline_ns) continue;
        /* This PE itself may have been stopped for this time, and the answer may have
         * arrived. */
        ch_tcp_dial_step(ep, link);
        if (now_ns <= link->dial.deadline_ns) continue;
        if (link->state == CH_TCP_WAITING)
            ch_tcp_fail(ep, link, CHORUS_ERR_TIMEOUT,
                        "it announced a connection, and did not make it in time");
        else if (link->state == CH_TCP_DIALING)
            dial_next_address(ep, link,
                              link->dial.is_connected
                                  ? "connected, but the peer did not answer in time"
                                  : "no answer; filtered, or down?");
    }
}
