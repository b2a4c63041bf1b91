/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcp.c: the table of the network's operations, with its start, end and progress, and the state
 * of the connection to each peer.
 */
#include "transport/tcp/tcp.h"

#include "base/clock.h"
#include "base/exec_host.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/*
 * If there is only one link, it is read directly, otherwise epoll finds the links that have
 * data. Each message to a socket that epoll watches takes the sender another 0.2 us, so a
 * single link is watched only while a thread sleeps, and until it has been read LOOK times
 * after that. Rare events are checked every LOOK calls, but at once while a connection is being
 * made.
 */
enum { LOOK = 64, EVENTS = 32 };

#define BYE_NS (CH_NS_PER_S / 2) /* longest time that close waits for full sockets */
enum { BYE_NAP_NS = 1000000 };

#define CHECK_NS (CH_NS_PER_S / 2) /* between two checks of the links */

/* ---- links ---- */

void ch_tcp_watch(struct ch_endpoint *ep, int fd, uint64_t word, uint32_t before,
                  uint32_t events)
{
    struct epoll_event event = {.events = events, .data.u64 = word};
    const int op = before == 0 ? EPOLL_CTL_ADD : events == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD;

    if (epoll_ctl(ep->epoll, op, fd, &event) != 0)
        ch_tcp_remember_failure(ep, CHORUS_ERR_SYSTEM, "tcp: epoll refuses another descriptor");
}

/* Null is a no-op. */
static void link_free(struct ch_tcp_link *link)
{
    if (link == NULL) return;
    if (link->fd >= 0) (void)close(link->fd);
    ch_tcp_call_end(&link->dial);
    for (uint32_t i = 0; link->channels != NULL && i < link->n_channels; i++) {
        ch_tcp_call_end(&link->channels[i].call);
        if (link->channels[i].fd >= 0) (void)close(link->channels[i].fd);
    }
    free(link->channels);
    free(link->slots);
    free(link);
}

/* Create the link to pe, which is not connected yet. Null: no memory. */
static struct ch_tcp_link *link_new(struct ch_endpoint *ep, uint32_t pe)
{
    struct ch_tcp_link *link = calloc(1, sizeof(*link));

    if (link == NULL) return NULL;
    link->pe = pe;
    link->fd = link->dial.fd = -1;
    link->slots = malloc(CH_TCP_SLOTS * sizeof(link->slots[0]));
    if (link->slots == NULL) {
        link_free(link);
        return NULL;
    }
    link->state = CH_TCP_WAITING;
    ep->n_calls++;
    ep->links[pe] = link;
    return link;
}

void ch_tcp_remember_failure(struct ch_endpoint *ep, chorus_status code, const char *why)
{
    if (ep->status != CHORUS_OK) return;
    ep->status = code;
    (void)snprintf(ep->why, sizeof(ep->why), "%s", why);
}

struct ch_tcp_link *ch_tcp_link_get_or_make(struct ch_endpoint *ep, uint32_t pe)
{
    struct ch_tcp_link *link = ep->links[pe] != NULL ? ep->links[pe] : link_new(ep, pe);

    if (link == NULL)
        ch_tcp_remember_failure(ep, CHORUS_ERR_SYSTEM, "tcp: no memory for a connection");
    return link;
}

static void remove_from_up(struct ch_endpoint *ep, uint32_t pe)
{
    for (uint32_t i = 0; i < ep->n_up; i++)
        if (ep->up[i] == pe) ep->up[i] = ep->up[--ep->n_up];
}

/* Close the link's connections, for one of the states GONE and FAILED. Its operations count as
 * complete, and no more bytes are sent or received. */
static void end_link(struct ch_endpoint *ep, struct ch_tcp_link *link, enum ch_tcp_state state)
{
    if (link->state == CH_TCP_DIALING || link->state == CH_TCP_WAITING) ep->n_calls--;
    remove_from_up(ep, link->pe);
    ch_tcp_call_end(&link->dial);
    ch_tcp_channels_end(ep, link);
    if (link->fd >= 0) (void)close(link->fd);
    link->fd = -1;
    link->state = state;
    link->first = link->end;
    link->left = 0;
    link->first_pending = link->end_pending;
    link->sent = link->done = link->asked = link->posted;
}

/* Describe the connection to pe, for messages: "tcp: 10.0.0.1 port 4711 by eth0". */
static void describe_where(const struct ch_endpoint *ep, uint32_t pe,
                           char where_out[CH_LINK_WHY_BYTES])
{
    const struct ch_tcp_link *link = ep->links[pe];
    char text[CH_TCP_ADDRESS_TEXT] = "no address";
    struct ch_tcp_address address;

    if (link != NULL && link->where[0] != '\0') {
        (void)snprintf(where_out, CH_LINK_WHY_BYTES, "tcp: %s", link->where);
        return;
    }
    if (ch_tcp_address_pick(ep->addresses, &ep->cards[pe], 0, &address))
        ch_tcp_address_text(&address, text);
    (void)snprintf(where_out, CH_LINK_WHY_BYTES, "tcp: %s port %u, not connected", text,
                   ep->cards[pe].port);
}

void ch_tcp_fail(struct ch_endpoint *ep, struct ch_tcp_link *link, chorus_status code,
                 const char *format, ...)
{
    char why[CH_LINK_WHY_BYTES], message[sizeof(ep->why)], reason[240];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(reason, sizeof(reason), format, args);
    va_end(args);
    describe_where(ep, link->pe, why);
    (void)snprintf(message, sizeof(message), "PE %u on host %s (%s): %s", link->pe,
                   ep->terms.hosts != NULL ? ep->terms.hosts[link->pe] : "?", why, reason);
    ch_tcp_remember_failure(ep, code, message);
    end_link(ep, link, CH_TCP_FAILED);
}

struct ch_tcp_link *ch_tcp_link_get_or_dial(struct ch_endpoint *ep, uint32_t pe)
{
    struct ch_tcp_link *link = ep->links[pe];

    if (link == NULL) {
        link = ch_tcp_link_get_or_make(ep, pe);
        if (link == NULL) return NULL;
        link->state = CH_TCP_DIALING;
        ch_tcp_dial(ep, link);
    }
    if (link->state == CH_TCP_GONE)
        ch_tcp_fail(ep, link, CHORUS_ERR_ABORTED, "the PE has left the job");
    return link->state == CH_TCP_FAILED ? NULL : link;
}

/* ---- start and end ---- */

/* Allocate the tables and descriptors of the endpoint; what was allocated before a failure
 * remains. */
static chorus_status allocate_members(struct ch_endpoint *ep)
{
    const uint32_t n = ep->terms.n;

    ep->epoll = ep->spare = ep->wake.fd = -1;
    for (uint32_t i = 0; i < CH_TCP_ACCEPTED; i++)
        ep->accepted[i].fd = -1;
    ep->addresses = calloc(1, sizeof(*ep->addresses));
    ep->cards = calloc(n, sizeof(*ep->cards));
    ep->links = calloc(n, sizeof(struct ch_tcp_link *));
    ep->up = calloc(n, sizeof(*ep->up));
    if (ep->addresses == NULL || ep->cards == NULL || ep->links == NULL || ep->up == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "tcp: no memory for %u PEs", n);
    ep->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (ep->epoll < 0)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "tcp: cannot make an epoll descriptor: %s%s",
                       strerror(errno), errno == EMFILE ? "; " CH_LIMIT_ADVICE : "");
    ch_tcp_reserve_spare(ep);
    return CHORUS_OK;
}

/* Are there bytes, of the link or its channels, that the kernel has not taken yet? */
static bool is_sending(const struct ch_tcp_link *link)
{
    return link->first != link->end || !ch_tcp_channels_have_sent(link, link->n_divided);
}

/* Inform the peer that this end of the connection is no failure, and read what it has sent:
 * closing a socket with unread bytes would report a failure to the peer, and might discard
 * bytes that are in flight. */
static void say_bye(struct ch_endpoint *ep)
{
    const uint64_t start_ns = ch_clock_ns();
    const struct timespec nap = {0, BYE_NAP_NS};

    for (uint32_t i = 0; i < ep->n_up; i++) {
        struct ch_tcp_link *link = ep->links[ep->up[i]];
        struct ch_tcp_slot *slot = ch_tcp_slot_for_reply(link);

        if (slot != NULL) slot->head.kind = CH_FRAME_BYE;
    }
    for (bool is_full = true; is_full && ch_clock_ns() - start_ns < BYE_NS;) {
        ch_tcp_step(ep);
        is_full = false;
        for (uint32_t i = 0; i < ep->n_up; i++)
            is_full |= is_sending(ep->links[ep->up[i]]);
        if (is_full) (void)nanosleep(&nap, NULL);
    }
}

static void tcp_close(struct ch_endpoint *ep)
{
    if (ep == NULL) return;
    if (ep->status == CHORUS_OK) say_bye(ep);
    ch_tcp_channels_stop(ep);
    for (uint32_t i = 0; i < CH_TCP_ACCEPTED; i++)
        ch_tcp_call_end(&ep->accepted[i]);
    for (uint32_t pe = 0; ep->links != NULL && pe < ep->terms.n; pe++)
        link_free(ep->links[pe]);
    ch_tcp_listen_end(ep);
    if (ep->epoll >= 0) (void)close(ep->epoll);
    if (ep->spare >= 0) (void)close(ep->spare);
    sodium_memzero(ep->terms.secret, sizeof(ep->terms.secret));
    ch_parts_free(&ep->parts);
    free(ep->addresses);
    free(ep->cards);
    free(ep->links);
    free(ep->up);
    free(ep);
}

static chorus_status tcp_open(const struct ch_link_terms *terms, struct ch_endpoint **ep_out)
{
    struct ch_endpoint *ep = calloc(1, sizeof(*ep));
    chorus_status st;

    if (ep == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "tcp: no memory for a network");
    ep->terms = *terms;
    CH_TRY_GOTO(st, allocate_members(ep), out_close);
    if (sodium_init() < 0) {
        st = CH_FAIL(CHORUS_ERR_SYSTEM, "tcp: libsodium has no source of random numbers");
        goto out_close;
    }
    CH_TRY_GOTO(st, ch_tcp_addresses_find(terms->options->net, terms->listen, ep->addresses),
                out_close);
    CH_TRY_GOTO(st, ch_tcp_listen(ep, &ep->addresses->card.port), out_close);
    ep->addresses->card.channels = (uint16_t)ch_tcp_channels_choose_count(ep);
    *ep_out = ep;
    return CHORUS_OK;

out_close:
    tcp_close(ep);
    return st;
}

static uint32_t tcp_caps(const struct ch_endpoint *ep)
{
    (void)ep;
    return CH_LINK_IN_ORDER;
}

static void tcp_card(const struct ch_endpoint *ep, char card_out[CH_LINK_ADDRESS_BYTES])
{
    memset(card_out, 0, CH_LINK_ADDRESS_BYTES);
    memcpy(card_out, &ep->addresses->card, sizeof(ep->addresses->card));
}

static chorus_status tcp_meet(struct ch_endpoint *ep,
                              const char (*cards)[CH_LINK_ADDRESS_BYTES])
{
    for (uint32_t pe = 0; pe < ep->terms.n; pe++)
        memcpy(&ep->cards[pe], cards[pe], sizeof(ep->cards[pe]));
    return CHORUS_OK;
}

static chorus_status tcp_attach(struct ch_endpoint *ep, const struct ch_memory_part *part,
                                uint64_t *key_out)
{
    if (part->kind != CH_MEMORY_HOST)
        return CH_FAIL(
            CHORUS_ERR_UNSUPPORTED,
            "tcp cannot attach %zu KiB of GPU memory: it moves data by the CPU, which "
            "does not access that memory; copy the data through host memory",
            part->bytes >> 10);
    *key_out = 0;
    return ch_parts_add(&ep->parts,
                        (struct ch_part){.base = (uintptr_t)part->base, .bytes = part->bytes});
}

static void tcp_detach(struct ch_endpoint *ep, void *base)
{
    struct ch_part part;

    (void)ch_parts_remove(&ep->parts, (uintptr_t)base, &part);
}

/* ---- hosts that do not answer ---- */

/*
 * A host that was disconnected shows only by its silence. While no operation is outstanding,
 * TCP keepalive detects it. While one is, the kernel would retransmit for a quarter of an
 * hour. A limit of that time (TCP_USER_TIMEOUT) would also end connections to PEs that are
 * stopped, or that compute and read nothing, although their hosts answer every probe. Silence
 * is therefore checked here.
 */

/* Is data or a probe in flight, while nothing has arrived for time_ns? When it was sent is not
 * known here, so most of that time may be one without a question. */
static bool is_unanswered(int fd, uint64_t time_ns)
{
    const uint32_t most_ms = (uint32_t)(time_ns / CH_NS_PER_MS);
    struct tcp_info info;
    socklen_t bytes = sizeof(info);

    memset(&info, 0, sizeof(info));
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0) return false;
    return (info.tcpi_unacked != 0 || info.tcpi_probes != 0) &&
           info.tcpi_last_ack_recv > most_ms && info.tcpi_last_data_recv > most_ms;
}

bool ch_tcp_is_silent(const struct ch_endpoint *ep, int fd, uint64_t *since_ns, uint64_t now_ns)
{
    if (!is_unanswered(fd, CHECK_NS)) {
        *since_ns = 0;
        return false;
    }
    if (*since_ns == 0) *since_ns = now_ns - CHECK_NS;
    return now_ns - *since_ns > ep->silent_ns && is_unanswered(fd, ep->silent_ns);
}

/* ---- progress ---- */

/* Every CHECK_NS: end late handshakes, and fail links to hosts that do not answer. */
static void check_links(struct ch_endpoint *ep)
{
    const uint64_t now = ch_clock_ns();

    if (now - ep->checked_ns < CHECK_NS) return;
    ep->checked_ns = now;
    ch_tcp_calls_end_late(ep, now);
    ch_tcp_reserve_spare(ep);
    for (uint32_t i = ep->n_up; i-- > 0;) {
        struct ch_tcp_link *link = ep->links[ep->up[i]];

        if (ch_tcp_is_silent(ep, link->fd, &link->silent_at_ns, now) ||
            ch_tcp_channels_are_silent(ep, link, now))
            ch_tcp_fail(ep, link, CHORUS_ERR_ABORTED,
                        "its host no longer answers; is the link down?");
    }
}

/* Send and receive on a link, or continue its handshake; end it if the peer has left. */
static void step_link(struct ch_endpoint *ep, struct ch_tcp_link *link)
{
    if (link->state == CH_TCP_UP) ch_tcp_flush(ep, link);
    if (link->state == CH_TCP_UP) ch_tcp_receive(ep, link);
    if (link->state == CH_TCP_DIALING) ch_tcp_dial_step(ep, link);
    if (link->state != CH_TCP_GONE || link->fd < 0) return;
    if (link->first_pending != link->end_pending)
        ch_tcp_fail(ep, link, CHORUS_ERR_ABORTED, "the PE has left the job");
    else
        end_link(ep, link, CH_TCP_GONE);
}

/* Clear the eventfd by which threads of channels have woken this one; ch_tcp_channels_check
 * finds out what they did. */
static void drain_wake(const struct ch_endpoint *ep)
{
    uint64_t count;

    if (read(ep->wake.fd, &count, sizeof(count)) < 0) return; /* another thread was faster */
}

/* Handle an event of epoll: what is ready (CH_TCP_WATCH_), and which one of these. */
static void handle_event(struct ch_endpoint *ep, uint32_t what, uint32_t index)
{
    struct ch_tcp_link *link;

    switch (what) {
    case CH_TCP_WATCH_LISTENER:
        ch_tcp_accept(ep, index);
        return;
    case CH_TCP_WATCH_ACCEPTED:
        ch_tcp_accepted_step(ep, &ep->accepted[index]);
        return;
    case CH_TCP_WATCH_WAKE:
        drain_wake(ep);
        return;
    case CH_TCP_WATCH_CHANNEL:
        link = ep->links[index / CH_TCP_PARTS_MAX];
        if (link != NULL) ch_tcp_widen_step(ep, link, index % CH_TCP_PARTS_MAX);
        return;
    default:
        if (ep->links[index] != NULL) step_link(ep, ep->links[index]);
    }
}

/* Handle the events that epoll reports, and check the links. */
static void serve_events(struct ch_endpoint *ep)
{
    struct epoll_event events[EVENTS];
    const int n = epoll_wait(ep->epoll, events, EVENTS, 0);

    for (int i = 0; i < n; i++)
        handle_event(ep, (uint32_t)(events[i].data.u64 >> 32), (uint32_t)events[i].data.u64);
    check_links(ep);
}

/* Let epoll watch the link for these events; 0: not at all. */
static void watch_link(struct ch_endpoint *ep, struct ch_tcp_link *link, uint32_t events)
{
    if (link->watched == events) return;
    ch_tcp_watch(ep, link->fd, ch_tcp_watch_word(CH_TCP_WATCH_LINK, link->pe), link->watched,
                 events);
    link->watched = events;
}

/* Send and receive on the only link, without epoll. */
static void step_only_link(struct ch_endpoint *ep, struct ch_tcp_link *link)
{
    if (ep->visits % LOOK == 0 && !ep->wake.is_watched) watch_link(ep, link, 0);
    step_link(ep, link);
}

/* Send on a link that epoll watches, which reports what arrives on it; receive here only if
 * the link waits for channels. */
static void step_watched_link(struct ch_endpoint *ep, struct ch_tcp_link *link)
{
    if (link->is_divided && link->left == 0)
        step_link(ep, link);
    else if ((link->watched & EPOLLIN) == 0)
        watch_link(ep, link, link->watched | EPOLLIN);
    ch_tcp_flush(ep, link);
}

void ch_tcp_step(struct ch_endpoint *ep)
{
    ch_tcp_channels_check(ep);
    if (ep->visits++ % LOOK == 0 || ep->n_calls > 0 || ep->n_up > 1) serve_events(ep);
    if (ep->n_up == 1) {
        step_only_link(ep, ep->links[ep->up[0]]);
        return;
    }
    for (uint32_t i = ep->n_up; i-- > 0;)
        step_watched_link(ep, ep->links[ep->up[i]]);
}

static chorus_status tcp_progress(struct ch_endpoint *ep, bool *moved_out)
{
    ch_tcp_step(ep);
    if (ep->has_arrived) ch_notify(NULL, ep->terms.door);
    if (ep->has_moved) *moved_out = true;
    ep->has_moved = ep->has_arrived = false;
    if (ep->status == CHORUS_OK) return CHORUS_OK;
    return CH_FAIL(ep->status, "%s", ep->why);
}

/* Full sockets are polled for room, and those that wait for their channels not for data; the
 * next call reads all links. What a channel has done since progress was made is reported. */
static int tcp_watch(struct ch_endpoint *ep)
{
    const uint64_t one = 1;

    ep->visits = 0;
    __atomic_store_n(&ep->wake.is_watched, 1, __ATOMIC_SEQ_CST);
    for (uint32_t i = 0; i < ep->n_up; i++) {
        struct ch_tcp_link *link = ep->links[ep->up[i]];
        const uint32_t in = ch_tcp_waits_for_channels(link) ? 0 : EPOLLIN;

        watch_link(ep, link, link->wants_room ? in | EPOLLOUT : in);
    }
    if (__atomic_load_n(&ep->wake.steps, __ATOMIC_SEQ_CST) != ep->wake.seen &&
        write(ep->wake.fd, &one, sizeof(one)) < 0)
        return ep->epoll; /* the counter is full: epoll reports it */
    return ep->epoll;
}

static void tcp_unwatch(struct ch_endpoint *ep)
{
    __atomic_store_n(&ep->wake.is_watched, 0, __ATOMIC_SEQ_CST);
}

static void tcp_describe(const struct ch_endpoint *ep, uint32_t pe,
                         char why_out[CH_LINK_WHY_BYTES])
{
    const struct ch_tcp_link *link = ep->links[pe];
    char where[CH_LINK_WHY_BYTES], more[32] = "";

    describe_where(ep, pe, where);
    if (link != NULL && link->is_wide)
        (void)snprintf(more, sizeof(more), ", %u connections", link->n_channels + 1);
    (void)snprintf(why_out, CH_LINK_WHY_BYTES, "%.170s, %s%s", where,
                   *ep->terms.options->net != '\0' ? "as CHORUS_NET says"
                                                   : "as this host's routing table selects",
                   more);
}

const struct ch_link_ops ch_link_tcp = {
    .name = "tcp",
    .open = tcp_open,
    .close = tcp_close,
    .caps = tcp_caps,
    .address = tcp_card,
    .meet = tcp_meet,
    .attach = tcp_attach,
    .detach = tcp_detach,
    .put = ch_tcp_put,
    .put_signal = ch_tcp_put_signal,
    .get = ch_tcp_get,
    .amo = ch_tcp_amo,
    .receive = ch_tcp_post_receive,
    .received = ch_tcp_end_receive,
    .is_sent = ch_tcp_is_sent,
    .is_done = ch_tcp_is_done,
    .abandon = ch_tcp_abandon,
    .progress = tcp_progress,
    .watch = tcp_watch,
    .unwatch = tcp_unwatch,
    .describe = tcp_describe,
};
