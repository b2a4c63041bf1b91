/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel.c: further connections between two PEs, for parts of long bodies: how they are
 * opened, and which parts they send and receive.
 *
 * The body of a long put or reply is divided into one part for the connection of the link,
 * which the head of its frame precedes, and one for each channel. The head contains the number
 * of parts; on channels there are only the bytes of parts, in the order of the heads. The
 * receiver executes no further frame of the link before all parts are there, so a channel has
 * at most one part to receive. It may have many to send. Threads move the parts (server.c).
 *
 * The PE whose connection became that of the link also connects the channels, each with the
 * handshake of address.c, in which the number of the channel is part of the hello. When the
 * peer has welcomed all, the PE says so by a frame on the link: from there on either end may
 * divide bodies. If one of them cannot be opened, the PE gives up all, and the link continues
 * without: a job that has no descriptors or threads for channels is slower with long messages,
 * and works.
 */
#include "transport/tcp/tcp.h"

#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    CHANNELS_DEFAULT = 3, /* at most, if the user has not chosen a number */
    OTHER_FDS = 64, /* descriptors of a process that are not counted as those of connections */
    PART_UNIT = 4096, /* parts are multiples of it, except the first */
};

/* Time limit for the handshake; a peer that makes no progress for so long gets no channels. */
#define WIDEN_NS (5 * CH_NS_PER_S)

/* ---- their number ---- */

/* Returns `count`, or fewer channels: they use at most half of the descriptors, so that a job
 * that works without channels works with them, too. */
static uint32_t limit_by_descriptors(const struct ch_endpoint *ep, uint32_t count)
{
    struct rlimit files;
    uint64_t n_far = 0, half;

    if (getrlimit(RLIMIT_NOFILE, &files) != 0) return 0;
    for (uint32_t pe = 0; pe < ep->terms.n; pe++)
        n_far += ep->terms.nodes[pe] != ep->terms.nodes[ep->terms.me];
    half = files.rlim_cur / 2 > OTHER_FDS ? files.rlim_cur / 2 - OTHER_FDS : 0;
    if (n_far == 0 || n_far * (count + 1) <= half) return count;
    CH_LOG(INFO, "tcp: %llu descriptors are too few for %u connections to each of %llu PEs",
           (unsigned long long)files.rlim_cur, count + 1, (unsigned long long)n_far);
    return half / n_far > 1 ? (uint32_t)(half / n_far - 1) : 0;
}

uint32_t ch_tcp_channels_choose_count(const struct ch_endpoint *ep)
{
    const uint32_t asked = (uint32_t)ep->terms.options->connections;
    uint32_t count = ep->terms.free_cores;

    if (count > CHANNELS_DEFAULT) count = CHANNELS_DEFAULT;
    if (asked != CH_CONNECTIONS_AUTO) count = asked - 1;
    return limit_by_descriptors(ep, count);
}

/* ---- parts ---- */

/* Returns the bytes of each part but the first. */
static size_t bytes_of_other_parts(size_t bytes, uint32_t parts)
{
    return bytes / parts / PART_UNIT * PART_UNIT;
}

size_t ch_tcp_first_part_bytes(size_t bytes, uint32_t parts)
{
    return bytes - bytes_of_other_parts(bytes, parts) * (parts - 1);
}

bool ch_tcp_may_divide(const struct ch_tcp_link *link, uint64_t bytes, uint32_t parts)
{
    return link->is_wide && parts == link->n_channels + 1 && bytes >= CH_TCP_STRIPE;
}

/* Can each channel of the link take one more part to send? */
static bool has_room(const struct ch_tcp_link *link)
{
    for (uint32_t i = 0; i < link->n_channels; i++) {
        const struct ch_tcp_channel *channel = &link->channels[i];

        if (channel->out_end - __atomic_load_n(&channel->out_first, __ATOMIC_ACQUIRE) ==
            CH_TCP_PARTS)
            return false;
    }
    return true;
}

/* Wake the threads of a link's channels. Returns whether all were awake. */
static bool wake_servers(struct ch_endpoint *ep, const struct ch_tcp_link *link)
{
    bool were_awake = true;

    for (uint32_t i = 0; i < link->n_channels; i++)
        were_awake &= ch_tcp_server_wake(&ep->servers[i]);
    return were_awake;
}

void ch_tcp_channels_wake(struct ch_endpoint *ep, const struct ch_tcp_link *link,
                          uint64_t bytes)
{
    if (link->is_wide && bytes >= CH_TCP_STRIPE) (void)wake_servers(ep, link);
}

uint32_t ch_tcp_divide_body(struct ch_endpoint *ep, struct ch_tcp_link *link, const char *body,
                            size_t bytes, size_t *first_out)
{
    const uint32_t parts = link->n_channels + 1;
    const size_t first = ch_tcp_first_part_bytes(bytes, parts),
                 each = bytes_of_other_parts(bytes, parts);

    if (!ch_tcp_may_divide(link, bytes, parts) || !has_room(link)) return 0;
    if (bytes < CH_TCP_STRIPE_ASLEEP && !wake_servers(ep, link)) return 0;
    for (uint32_t i = 0; i < link->n_channels; i++) {
        struct ch_tcp_channel *channel = &link->channels[i];
        struct ch_tcp_part *part = &channel->out[channel->out_end % CH_TCP_PARTS];

        /* The kernel only reads this memory. */
        part->at = (char *)(uintptr_t)body + first + i * each;
        part->bytes = each;
        __atomic_store_n(&channel->out_end, channel->out_end + 1, __ATOMIC_SEQ_CST);
        (void)ch_tcp_server_wake(&ep->servers[i]);
    }
    link->n_divided++;
    *first_out = first;
    return parts;
}

void ch_tcp_channels_expect(struct ch_endpoint *ep, struct ch_tcp_link *link, char *dst,
                            size_t bytes)
{
    const uint32_t parts = link->n_channels + 1;
    const size_t first = ch_tcp_first_part_bytes(bytes, parts),
                 each = bytes_of_other_parts(bytes, parts);

    for (uint32_t i = 0; i < link->n_channels; i++) {
        struct ch_tcp_channel *channel = &link->channels[i];

        channel->in = (struct ch_tcp_part){dst + first + i * each, each};
        channel->in_got = 0;
        __atomic_store_n(&channel->in_end, channel->in_end + 1, __ATOMIC_SEQ_CST);
        (void)ch_tcp_server_wake(&ep->servers[i]);
    }
}

void ch_tcp_channels_redirect(struct ch_endpoint *ep, struct ch_tcp_link *link, char *dst,
                              size_t bytes)
{
    const uint32_t parts = link->n_channels + 1;
    const size_t first = ch_tcp_first_part_bytes(bytes, parts),
                 each = bytes_of_other_parts(bytes, parts);

    for (uint32_t i = 0; i < link->n_channels; i++) {
        struct ch_tcp_channel *channel = &link->channels[i];
        char *const to = dst + first + i * each;

        ch_tcp_server_lock(&ep->servers[i]);
        memcpy(to, channel->in.at, channel->in_got);
        channel->in.at = to;
        ch_tcp_server_unlock(&ep->servers[i]);
    }
}

bool ch_tcp_channels_have_received(const struct ch_tcp_link *link)
{
    for (uint32_t i = 0; i < link->n_channels; i++)
        if (__atomic_load_n(&link->channels[i].in_first, __ATOMIC_ACQUIRE) !=
            link->channels[i].in_end)
            return false;
    return true;
}

bool ch_tcp_channels_have_sent(const struct ch_tcp_link *link, uint64_t count)
{
    for (uint32_t i = 0; link->is_wide && i < link->n_channels; i++)
        if (__atomic_load_n(&link->channels[i].out_first, __ATOMIC_ACQUIRE) < count)
            return false;
    return true;
}

/* ---- failures and end ---- */

/* Returns the error of a channel of the link that has failed; 0: none has. */
static int first_error(const struct ch_tcp_link *link)
{
    int error = 0;

    for (uint32_t i = 0; i < link->n_channels && link->channels != NULL && error == 0; i++)
        error = __atomic_load_n(&link->channels[i].error, __ATOMIC_ACQUIRE);
    return error;
}

void ch_tcp_channels_check(struct ch_endpoint *ep)
{
    const uint64_t steps = __atomic_load_n(&ep->wake.steps, __ATOMIC_ACQUIRE);

    if (steps == ep->wake.seen) return;
    ep->wake.seen = steps;
    ep->has_moved = ep->has_arrived = true;
    if (!__atomic_exchange_n(&ep->wake.has_failed, 0, __ATOMIC_ACQ_REL)) return;
    for (uint32_t i = ep->n_up; i-- > 0;) {
        struct ch_tcp_link *link = ep->links[ep->up[i]];
        const int error = first_error(link);

        if (error != 0)
            ch_tcp_fail(ep, link, CHORUS_ERR_ABORTED, "%s",
                        error == CH_TCP_CLOSED ? CH_TCP_HAS_CLOSED : strerror(error));
    }
}

bool ch_tcp_channels_are_silent(const struct ch_endpoint *ep, struct ch_tcp_link *link,
                                uint64_t now_ns)
{
    for (uint32_t i = 0; link->is_wide && i < link->n_channels; i++)
        if (ch_tcp_is_silent(ep, link->channels[i].fd, &link->channels[i].silent_at_ns, now_ns))
            return true;
    return false;
}

void ch_tcp_channels_end(struct ch_endpoint *ep, struct ch_tcp_link *link)
{
    if (link->is_widening) ep->n_calls--;
    for (uint32_t i = 0; link->channels != NULL && i < link->n_channels; i++) {
        struct ch_tcp_channel *channel = &link->channels[i];

        ch_tcp_call_end(&channel->call);
        if (channel->fd < 0) continue;
        ch_tcp_server_remove(&ep->servers[i], channel);
        (void)close(channel->fd);
        channel->fd = -1;
    }
    link->is_widening = link->is_wide = link->is_divided = false;
    link->n_channels = 0;
}

void ch_tcp_channels_stop(struct ch_endpoint *ep)
{
    for (uint32_t i = 0; i < CH_TCP_CHANNELS; i++)
        ch_tcp_server_stop(&ep->servers[i]);
    if (ep->wake.fd >= 0) (void)close(ep->wake.fd);
    ep->wake.fd = -1;
}

/* ---- opening ---- */

/* Returns the word by which epoll names a connecting channel, see ch_tcp_watch. */
static uint64_t watch_word(const struct ch_tcp_link *link, uint32_t channel)
{
    return ch_tcp_watch_word(CH_TCP_WATCH_CHANNEL, link->pe * CH_TCP_PARTS_MAX + channel);
}

/* Open the eventfd by which threads of channels wake the network, if it is not open. */
static bool open_wake(struct ch_endpoint *ep)
{
    if (ep->wake.fd >= 0) return true;
    ep->wake.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (ep->wake.fd < 0) return false;
    ch_tcp_watch(ep, ep->wake.fd, ch_tcp_watch_word(CH_TCP_WATCH_WAKE, 0), 0, EPOLLIN);
    return true;
}

/* Allocate the channels of a link, and start threads for them, at the first call. False: there
 * is not enough memory, or no descriptor or thread. */
static bool alloc_channels(struct ch_endpoint *ep, struct ch_tcp_link *link)
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

/* Inform the peer that all `count` channels of the link are open, or (0) that none will be. */
static void announce_channels(struct ch_endpoint *ep, struct ch_tcp_link *link, uint32_t count)
{
    struct ch_tcp_slot *slot = ch_tcp_slot_for_reply(link);

    if (slot == NULL) {
        ch_tcp_fail(ep, link, CHORUS_ERR_SYSTEM, "the queue of frames has no room");
        return;
    }
    slot->head.kind = CH_FRAME_CHANNELS;
    slot->head.value = count;
    ch_tcp_flush(ep, link);
}

/* Close all channels of the link, which continues without them; `why`: one could not be opened.
 */
static void give_up_channels(struct ch_endpoint *ep, struct ch_tcp_link *link, const char *why)
{
    CH_LOG(INFO, "tcp: one connection to PE %u must do; a further one failed: %s", link->pe,
           why);
    ch_tcp_channels_end(ep, link);
    announce_channels(ep, link, 0);
}

/* Make the socket of a handshake that has succeeded that of the link's channel i, and let its
 * thread serve it. */
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

/* Begin to connect the link's channel i, at the address that the link uses. */
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
        give_up_channels(ep, link, strerror(errno));
        return;
    }
    ch_tcp_call_begin(call, fd, WIDEN_NS);
    ch_tcp_watch(ep, fd, watch_word(link, i), 0, EPOLLOUT);
}

void ch_tcp_widen_begin(struct ch_endpoint *ep, struct ch_tcp_link *link)
{
    link->is_caller = true;
    if (link->n_channels == 0) return;
    link->is_widening = true;
    ep->n_calls++;
    if (!alloc_channels(ep, link))
        give_up_channels(ep, link, "no memory, descriptor or thread is left");
    for (uint32_t i = 0; i < link->n_channels; i++)
        connect_channel(ep, link, i); /* there are none after a failure */
}

/* Has TCP connected channel i? If that has failed, all channels are given up. */
static bool check_connected(struct ch_endpoint *ep, struct ch_tcp_link *link, uint32_t i)
{
    struct ch_tcp_call *call = &link->channels[i].call;
    int is_now;

    if (call->is_connected) return true;
    is_now = ch_tcp_call_check_connected(call);
    if (is_now < 0) give_up_channels(ep, link, strerror(errno));
    if (is_now <= 0) return false;
    ch_tcp_watch(ep, call->fd, watch_word(link, i), EPOLLOUT, EPOLLIN);
    return true;
}

/* The challenge has arrived: send the hello. */
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
    call->has_said = ch_tcp_challenge_fault(&challenge) == NULL &&
                     ch_tcp_call_send(call, &hello, sizeof(hello));
    if (!call->has_said) give_up_channels(ep, link, "the peer made no handshake");
}

/* The answer to the hello has arrived: if it is a welcome, channel i is open. After the last
 * one the peer is informed. */
static void handle_answer(struct ch_endpoint *ep, struct ch_tcp_link *link, uint32_t i)
{
    struct ch_tcp_call *call = &link->channels[i].call;
    struct ch_tcp_answer answer;

    memcpy(&answer, call->in, sizeof(answer));
    if (!ch_tcp_answer_is_valid(&answer, ep->terms.secret, &call->mine, &call->theirs) ||
        answer.verdict != CH_TCP_WELCOME) {
        give_up_channels(ep, link,
                         answer.verdict == CH_TCP_FULL
                             ? "the peer has no descriptor or thread for it"
                             : "the peer refused it");
        return;
    }
    open_channel(ep, link, i, call);
    for (uint32_t k = 0; k < link->n_channels; k++)
        if (link->channels[k].fd < 0) return;
    link->is_widening = false;
    ep->n_calls--;
    link->is_wide = true;
    announce_channels(ep, link, link->n_channels);
}

void ch_tcp_widen_step(struct ch_endpoint *ep, struct ch_tcp_link *link, uint32_t i)
{
    while (i < link->n_channels && link->channels[i].call.fd >= 0 &&
           check_connected(ep, link, i)) {
        struct ch_tcp_call *call = &link->channels[i].call;
        const bool has_said = call->has_said;
        const int is_here = ch_tcp_call_read(call, has_said ? sizeof(struct ch_tcp_answer)
                                                            : sizeof(struct ch_tcp_challenge));

        if (is_here == 0) return;
        if (is_here < 0)
            give_up_channels(ep, link, errno != 0 ? strerror(errno) : "it was closed");
        else if (has_said)
            handle_answer(ep, link, i);
        else
            say_hello(ep, link, i);
    }
}

void ch_tcp_widen_end_late(struct ch_endpoint *ep, struct ch_tcp_link *link, uint64_t now_ns)
{
    for (uint32_t i = 0; link->is_widening && i < link->n_channels; i++) {
        const struct ch_tcp_call *call = &link->channels[i].call;

        if (call->fd < 0 || now_ns <= call->deadline_ns) continue;
        ch_tcp_widen_step(ep, link, i); /* this PE itself may have been stopped */
        if (link->is_widening && call->fd >= 0) give_up_channels(ep, link, "no answer in time");
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
    return alloc_channels(ep, link) ? CH_TCP_WELCOME : CH_TCP_FULL;
}

void ch_tcp_widen_add_channel(struct ch_endpoint *ep, const struct ch_tcp_hello *hello,
                              struct ch_tcp_call *call)
{
    open_channel(ep, ep->links[hello->from], hello->channel - 1, call);
}

bool ch_tcp_widen_finish(struct ch_endpoint *ep, struct ch_tcp_link *link, uint64_t count)
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
