/* SPDX-License-Identifier: Apache-2.0 */
/*
 * widen.c: opens the channels of a link.
 *
 * The PE whose connection became that of the link also connects the channels, each with the
 * handshake of hello.h, in which the number of the channel is part of the hello. When the peer
 * has welcomed all, the PE says so by a frame on the link: from there on either end may divide
 * bodies. If one of them cannot be opened, the PE gives up all, and the link continues without:
 * a job that has no descriptors or threads for channels is slower with long messages, and
 * works.
 */
#include "transport/tcp/tcp.h"

#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

/* Time limit for the handshake; a peer that makes no progress for so long gets no channels. */
#define WIDEN_NS (5 * CH_NS_PER_S)

static uint64_t watch_word(const struct ch_tcp_link *link, uint32_t channel)
{
    return ch_tcp_watch_word(CH_TCP_WATCH_CHANNEL, link->pe * CH_TCP_PARTS_MAX + channel);
}

/* The eventfd by which threads of channels wake the network. */
static bool open_wake(struct ch_endpoint *ep)
{
    if (ep->wake.fd >= 0) return true;
    ep->wake.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (ep->wake.fd < 0) return false;
    ch_tcp_watch(ep, ep->wake.fd, ch_tcp_watch_word(CH_TCP_WATCH_WAKE, 0), 0, EPOLLIN);
    return true;
}

/* Memory and threads for the channels of a link. False: there are not enough. */
static bool prepare(struct ch_endpoint *ep, struct ch_tcp_link *link)
{
    if (link->channels != NULL) return true;
    if (link->n_channels == 0 || !open_wake(ep)) return false;
    for (uint32_t i = 0; i < link->n_channels; i++) {
        struct ch_tcp_server *server = &ep->servers[i];

        if (server->is_running) continue;
        server->wake = &ep->wake;
        server->spare = ep->terms.spare;
        server->me = ep->terms.me;
        if (!ch_tcp_server_start(server, ep->terms.n)) return false;
    }
    link->channels = calloc(link->n_channels, sizeof(*link->channels));
    for (uint32_t i = 0; link->channels != NULL && i < link->n_channels; i++)
        link->channels[i].fd = link->channels[i].call.fd = -1;
    return link->channels != NULL;
}

/* All channels are open, or (0) none will be. */
static void announce(struct ch_endpoint *ep, struct ch_tcp_link *link, uint32_t count)
{
    struct ch_tcp_slot *slot = ch_tcp_slot_reply(link);

    if (slot == NULL) {
        ch_tcp_fail(ep, link, CHORUS_ERR_SYSTEM, "the queue of frames has no room");
        return;
    }
    slot->head.kind = CH_FRAME_CHANNELS;
    slot->head.value = count;
    ch_tcp_flush(ep, link);
}

static void give_up(struct ch_endpoint *ep, struct ch_tcp_link *link, const char *why)
{
    CH_LOG(INFO, "tcp: one connection to PE %u must do; a further one failed: %s", link->pe,
           why);
    ch_tcp_channels_end(ep, link);
    announce(ep, link, 0);
}

static void open_channel(struct ch_endpoint *ep, struct ch_tcp_link *link, uint32_t i,
                         struct ch_tcp_call *call)
{
    struct ch_tcp_channel *channel = &link->channels[i];

    ch_tcp_watch(ep, call->fd, 0, EPOLLIN, 0); /* its thread polls it */
    channel->fd = call->fd;
    call->fd = -1;
    ch_tcp_server_add(&ep->servers[i], channel);
}

/* ---- connecting ---- */

static void connect_channel(struct ch_endpoint *ep, struct ch_tcp_link *link, uint32_t i)
{
    const struct ch_tcp_card *card = &ep->cards[link->pe];
    struct ch_tcp_call *call = &link->channels[i].call;
    struct ch_tcp_address address;
    int fd = -1;

    errno = EADDRNOTAVAIL;
    if (ch_tcp_address_pick(ep->addresses, card, link->dial.at, &address))
        fd = ch_tcp_connect_to(ep, &address, card->port);
    if (fd < 0) {
        give_up(ep, link, strerror(errno));
        return;
    }
    ch_tcp_call_begin(call, fd, WIDEN_NS);
    ch_tcp_watch(ep, fd, watch_word(link, i), 0, EPOLLOUT);
}

void ch_tcp_widen(struct ch_endpoint *ep, struct ch_tcp_link *link)
{
    link->is_caller = true;
    if (link->n_channels == 0) return;
    link->is_widening = true;
    ep->n_calls++;
    if (!prepare(ep, link)) give_up(ep, link, "no memory, descriptor or thread is left");
    for (uint32_t i = 0; i < link->n_channels; i++)
        connect_channel(ep, link, i); /* there are none after a failure */
}

static bool is_connected(struct ch_endpoint *ep, struct ch_tcp_link *link, uint32_t i)
{
    struct ch_tcp_call *call = &link->channels[i].call;
    int is_now;

    if (call->is_connected) return true;
    is_now = ch_tcp_call_connected(call);
    if (is_now < 0) give_up(ep, link, strerror(errno));
    if (is_now <= 0) return false;
    ch_tcp_watch(ep, call->fd, watch_word(link, i), EPOLLOUT, EPOLLIN);
    return true;
}

static void say_hello(struct ch_endpoint *ep, struct ch_tcp_link *link, uint32_t i)
{
    struct ch_tcp_call *call = &link->channels[i].call;
    struct ch_tcp_hello hello = {
        .from = ep->terms.me, .to = link->pe, .n = ep->terms.n, .channel = i + 1};
    struct ch_tcp_challenge challenge;

    memcpy(&challenge, call->in, sizeof(challenge));
    ch_tcp_hello_make(&hello, ep->terms.secret, &challenge.nonce);
    call->theirs = challenge.nonce;
    call->mine = hello.nonce;
    call->has_said = ch_tcp_challenge_wrong(&challenge) == NULL &&
                     ch_tcp_call_say(call, &hello, sizeof(hello));
    if (!call->has_said) give_up(ep, link, "the peer made no handshake");
}

static void hear_answer(struct ch_endpoint *ep, struct ch_tcp_link *link, uint32_t i)
{
    struct ch_tcp_call *call = &link->channels[i].call;
    struct ch_tcp_answer answer;

    memcpy(&answer, call->in, sizeof(answer));
    if (!ch_tcp_answer_holds(&answer, ep->terms.secret, &call->mine, &call->theirs) ||
        answer.verdict != CH_TCP_WELCOME) {
        give_up(ep, link,
                answer.verdict == CH_TCP_FULL ? "the peer has no descriptor or thread for it"
                                              : "the peer refused it");
        return;
    }
    open_channel(ep, link, i, call);
    for (uint32_t k = 0; k < link->n_channels; k++)
        if (link->channels[k].fd < 0) return;
    link->is_widening = false;
    ep->n_calls--;
    link->is_wide = true;
    announce(ep, link, link->n_channels);
}

void ch_tcp_widen_step(struct ch_endpoint *ep, struct ch_tcp_link *link, uint32_t i)
{
    while (i < link->n_channels && link->channels[i].call.fd >= 0 &&
           is_connected(ep, link, i)) {
        struct ch_tcp_call *call = &link->channels[i].call;
        const bool has_said = call->has_said;
        const int is_here = ch_tcp_call_read(call, has_said ? sizeof(struct ch_tcp_answer)
                                                            : sizeof(struct ch_tcp_challenge));

        if (is_here == 0) return;
        if (is_here < 0)
            give_up(ep, link, errno != 0 ? strerror(errno) : "it was closed");
        else if (has_said)
            hear_answer(ep, link, i);
        else
            say_hello(ep, link, i);
    }
}

void ch_tcp_widen_check(struct ch_endpoint *ep, struct ch_tcp_link *link, uint64_t now_ns)
{
    for (uint32_t i = 0; link->is_widening && i < link->n_channels; i++) {
        const struct ch_tcp_call *call = &link->channels[i].call;

        if (call->fd < 0 || now_ns <= call->deadline_ns) continue;
        ch_tcp_widen_step(ep, link, i); /* this PE itself may have been stopped */
        if (link->is_widening && call->fd >= 0) give_up(ep, link, "no answer in time");
    }
}

/* ---- accepting ---- */

enum ch_tcp_verdict ch_tcp_widen_judge(struct ch_endpoint *ep, const struct ch_tcp_hello *hello)
{
    struct ch_tcp_link *link = ep->links[hello->from];

    if (link == NULL || link->state != CH_TCP_UP || link->is_caller || link->is_wide)
        return CH_TCP_MISTAKEN;
    if (hello->channel > link->n_channels) return CH_TCP_MISTAKEN;
    if (link->channels != NULL && link->channels[hello->channel - 1].fd >= 0)
        return CH_TCP_MISTAKEN;
    /* It has the place of the spare descriptor, which is for links. */
    if (ep->spare < 0) return CH_TCP_FULL;
    return prepare(ep, link) ? CH_TCP_WELCOME : CH_TCP_FULL;
}

void ch_tcp_widen_take(struct ch_endpoint *ep, const struct ch_tcp_hello *hello,
                       struct ch_tcp_call *call)
{
    open_channel(ep, ep->links[hello->from], hello->channel - 1, call);
}

bool ch_tcp_widened(struct ch_endpoint *ep, struct ch_tcp_link *link, uint64_t count)
{
    if (link->is_caller || link->is_wide) return false;
    if (count == 0) {
        ch_tcp_channels_end(ep, link);
        return true;
    }
    if (count != link->n_channels || link->channels == NULL) return false;
    for (uint32_t i = 0; i < link->n_channels; i++)
        if (link->channels[i].fd < 0) return false;
    link->is_wide = true;
    return true;
}
