/* SPDX-License-Identifier: Apache-2.0 */
/* channel.c: which parts of bodies the channels of a link send and receive. */
#include "transport/tcp/channel.h"

#include "base/error.h"
#include "transport/tcp/tcp.h"

#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Descriptors of a process that are not counted as those of connections. */
enum { OTHER_FDS = 64 };

/* Channels use at most half of the descriptors, so that a job that works without channels
 * works with them, too. */
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

uint32_t ch_tcp_channels_choose(const struct ch_endpoint *ep)
{
    const uint32_t asked = (uint32_t)ep->terms.options->connections;
    uint32_t count = ep->terms.free_cores;

    if (count > CH_TCP_CHANNELS_DEFAULT) count = CH_TCP_CHANNELS_DEFAULT;
    if (asked != CH_CONNECTIONS_AUTO) count = asked - 1;
    return limit_by_descriptors(ep, count);
}

/* Bytes of each part but the first. */
static size_t share(size_t bytes, uint32_t parts)
{
    return bytes / parts / CH_TCP_PART_UNIT * CH_TCP_PART_UNIT;
}

size_t ch_tcp_first_part(size_t bytes, uint32_t parts)
{
    return bytes - share(bytes, parts) * (parts - 1);
}

bool ch_tcp_may_divide(const struct ch_tcp_link *link, uint64_t bytes, uint32_t parts)
{
    return link->is_wide && parts == link->n_channels + 1 && bytes >= CH_TCP_STRIPE;
}

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
static bool wake(struct ch_endpoint *ep, const struct ch_tcp_link *link)
{
    bool were_awake = true;

    for (uint32_t i = 0; i < link->n_channels; i++)
        were_awake &= ch_tcp_server_call(&ep->servers[i]);
    return were_awake;
}

void ch_tcp_channels_wake(struct ch_endpoint *ep, const struct ch_tcp_link *link,
                          uint64_t bytes)
{
    if (link->is_wide && bytes >= CH_TCP_STRIPE) (void)wake(ep, link);
}

uint32_t ch_tcp_divide(struct ch_endpoint *ep, struct ch_tcp_link *link, const char *body,
                       size_t bytes, size_t *first_out)
{
    const uint32_t parts = link->n_channels + 1;
    const size_t first = ch_tcp_first_part(bytes, parts), each = share(bytes, parts);

    if (!ch_tcp_may_divide(link, bytes, parts) || !has_room(link)) return 0;
    if (bytes < CH_TCP_STRIPE_ASLEEP && !wake(ep, link)) return 0;
    for (uint32_t i = 0; i < link->n_channels; i++) {
        struct ch_tcp_channel *channel = &link->channels[i];
        struct ch_tcp_part *part = &channel->out[channel->out_end % CH_TCP_PARTS];

        /* The kernel only reads this memory. */
        part->at = (char *)(uintptr_t)body + first + i * each;
        part->bytes = each;
        __atomic_store_n(&channel->out_end, channel->out_end + 1, __ATOMIC_SEQ_CST);
        (void)ch_tcp_server_call(&ep->servers[i]);
    }
    link->n_divided++;
    *first_out = first;
    return parts;
}

void ch_tcp_channels_expect(struct ch_endpoint *ep, struct ch_tcp_link *link, char *dst,
                            size_t bytes)
{
    const uint32_t parts = link->n_channels + 1;
    const size_t first = ch_tcp_first_part(bytes, parts), each = share(bytes, parts);

    for (uint32_t i = 0; i < link->n_channels; i++) {
        struct ch_tcp_channel *channel = &link->channels[i];

        channel->in = (struct ch_tcp_part){dst + first + i * each, each};
        channel->in_got = 0;
        __atomic_store_n(&channel->in_end, channel->in_end + 1, __ATOMIC_SEQ_CST);
        (void)ch_tcp_server_call(&ep->servers[i]);
    }
}

void ch_tcp_channels_move(struct ch_endpoint *ep, struct ch_tcp_link *link, char *dst,
                          size_t bytes)
{
    const uint32_t parts = link->n_channels + 1;
    const size_t first = ch_tcp_first_part(bytes, parts), each = share(bytes, parts);

    for (uint32_t i = 0; i < link->n_channels; i++) {
        struct ch_tcp_channel *channel = &link->channels[i];
        char *const to = dst + first + i * each;

        ch_tcp_server_lock(&ep->servers[i]);
        memcpy(to, channel->in.at, channel->in_got);
        channel->in.at = to;
        ch_tcp_server_unlock(&ep->servers[i]);
    }
}

bool ch_tcp_channels_have(const struct ch_tcp_link *link)
{
    for (uint32_t i = 0; i < link->n_channels; i++)
        if (__atomic_load_n(&link->channels[i].in_first, __ATOMIC_ACQUIRE) !=
            link->channels[i].in_end)
            return false;
    return true;
}

bool ch_tcp_channels_sent(const struct ch_tcp_link *link, uint64_t count)
{
    for (uint32_t i = 0; link->is_wide && i < link->n_channels; i++)
        if (__atomic_load_n(&link->channels[i].out_first, __ATOMIC_ACQUIRE) < count)
            return false;
    return true;
}

/* 0: no channel of the link has failed. */
static int error_of(const struct ch_tcp_link *link)
{
    int error = 0;

    for (uint32_t i = 0; i < link->n_channels && link->channels != NULL && error == 0; i++)
        error = __atomic_load_n(&link->channels[i].error, __ATOMIC_ACQUIRE);
    return error;
}

void ch_tcp_channels_look(struct ch_endpoint *ep)
{
    const uint64_t steps = __atomic_load_n(&ep->wake.steps, __ATOMIC_ACQUIRE);

    if (steps == ep->wake.seen) return;
    ep->wake.seen = steps;
    ep->has_moved = ep->has_arrived = true;
    if (!__atomic_exchange_n(&ep->wake.has_failed, 0, __ATOMIC_ACQ_REL)) return;
    for (uint32_t i = ep->n_up; i-- > 0;) {
        struct ch_tcp_link *link = ep->links[ep->up[i]];
        const int error = error_of(link);

        if (error != 0)
            ch_tcp_fail(ep, link, CHORUS_ERR_ABORTED, "%s",
                        error == CH_TCP_CLOSED ? CH_TCP_HAS_CLOSED : strerror(error));
    }
}

bool ch_tcp_channels_silent(const struct ch_endpoint *ep, struct ch_tcp_link *link,
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
