/* SPDX-License-Identifier: Apache-2.0 */
/* link.c: the state of the connection to one peer, from its first use to its end. */
#include "transport/tcp/tcp.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void ch_tcp_link_free(struct ch_tcp_link *link)
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

static struct ch_tcp_link *link_new(struct ch_net *net, uint32_t pe)
{
    struct ch_tcp_link *link = calloc(1, sizeof(*link));

    if (link == NULL) return NULL;
    link->pe = pe;
    link->fd = link->dial.fd = -1;
    link->slots = malloc(CH_TCP_SLOTS * sizeof(link->slots[0]));
    if (link->slots == NULL) {
        ch_tcp_link_free(link);
        return NULL;
    }
    link->state = CH_TCP_WAITING;
    net->n_calls++;
    net->links[pe] = link;
    return link;
}

void ch_tcp_remember(struct ch_net *net, chorus_status code, const char *why)
{
    if (net->status != CHORUS_OK) return;
    net->status = code;
    (void)snprintf(net->why, sizeof(net->why), "%s", why);
}

struct ch_tcp_link *ch_tcp_link_called(struct ch_net *net, uint32_t pe)
{
    struct ch_tcp_link *link = net->links[pe] != NULL ? net->links[pe] : link_new(net, pe);

    if (link == NULL)
        ch_tcp_remember(net, CHORUS_ERR_SYSTEM, "tcp: no memory for a connection");
    return link;
}

struct ch_tcp_link *ch_tcp_link_of(struct ch_net *net, uint32_t pe)
{
    struct ch_tcp_link *link = net->links[pe];

    if (link == NULL) {
        link = ch_tcp_link_called(net, pe);
        if (link == NULL) return NULL;
        link->state = CH_TCP_DIALING;
        ch_tcp_dial(net, link);
    }
    if (link->state == CH_TCP_GONE)
        ch_tcp_fail(net, link, CHORUS_ERR_ABORTED, "the PE has left the job");
    return link->state == CH_TCP_FAILED ? NULL : link;
}

static void forget_up(struct ch_net *net, uint32_t pe)
{
    for (uint32_t i = 0; i < net->n_up; i++)
        if (net->up[i] == pe) net->up[i] = net->up[--net->n_up];
}

void ch_tcp_link_end(struct ch_net *net, struct ch_tcp_link *link, enum ch_tcp_state state)
{
    if (link->state == CH_TCP_DIALING || link->state == CH_TCP_WAITING) net->n_calls--;
    forget_up(net, link->pe);
    ch_tcp_call_end(&link->dial);
    ch_tcp_channels_end(net, link);
    if (link->fd >= 0) (void)close(link->fd);
    link->fd = -1;
    link->state = state;
    link->first = link->end;
    link->left = 0;
    link->first_pending = link->end_pending;
    link->sent = link->done = link->asked = link->posted;
}

void ch_tcp_fail(struct ch_net *net, struct ch_tcp_link *link, chorus_status code,
                 const char *format, ...)
{
    char why[CH_NET_WHY_BYTES], message[sizeof(net->why)], reason[240];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(reason, sizeof(reason), format, args);
    va_end(args);
    ch_tcp_where(net, link->pe, why);
    (void)snprintf(message, sizeof(message), "PE %u on host %s (%s): %s", link->pe,
                   net->terms.hosts != NULL ? net->terms.hosts[link->pe] : "?", why, reason);
    ch_tcp_remember(net, code, message);
    ch_tcp_link_end(net, link, CH_TCP_FAILED);
}
