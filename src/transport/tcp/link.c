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

static struct ch_tcp_link *link_new(struct ch_endpoint *ep, uint32_t pe)
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
    ep->n_calls++;
    ep->links[pe] = link;
    return link;
}

void ch_tcp_remember(struct ch_endpoint *ep, chorus_status code, const char *why)
{
    if (ep->status != CHORUS_OK) return;
    ep->status = code;
    (void)snprintf(ep->why, sizeof(ep->why), "%s", why);
}

struct ch_tcp_link *ch_tcp_link_called(struct ch_endpoint *ep, uint32_t pe)
{
    struct ch_tcp_link *link = ep->links[pe] != NULL ? ep->links[pe] : link_new(ep, pe);

    if (link == NULL) ch_tcp_remember(ep, CHORUS_ERR_SYSTEM, "tcp: no memory for a connection");
    return link;
}

struct ch_tcp_link *ch_tcp_link_of(struct ch_endpoint *ep, uint32_t pe)
{
    struct ch_tcp_link *link = ep->links[pe];

    if (link == NULL) {
        link = ch_tcp_link_called(ep, pe);
        if (link == NULL) return NULL;
        link->state = CH_TCP_DIALING;
        ch_tcp_dial(ep, link);
    }
    if (link->state == CH_TCP_GONE)
        ch_tcp_fail(ep, link, CHORUS_ERR_ABORTED, "the PE has left the job");
    return link->state == CH_TCP_FAILED ? NULL : link;
}

static void forget_up(struct ch_endpoint *ep, uint32_t pe)
{
    for (uint32_t i = 0; i < ep->n_up; i++)
        if (ep->up[i] == pe) ep->up[i] = ep->up[--ep->n_up];
}

void ch_tcp_link_end(struct ch_endpoint *ep, struct ch_tcp_link *link, enum ch_tcp_state state)
{
    if (link->state == CH_TCP_DIALING || link->state == CH_TCP_WAITING) ep->n_calls--;
    forget_up(ep, link->pe);
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

void ch_tcp_fail(struct ch_endpoint *ep, struct ch_tcp_link *link, chorus_status code,
                 const char *format, ...)
{
    char why[CH_LINK_WHY_BYTES], message[sizeof(ep->why)], reason[240];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(reason, sizeof(reason), format, args);
    va_end(args);
    ch_tcp_where(ep, link->pe, why);
    (void)snprintf(message, sizeof(message), "PE %u on host %s (%s): %s", link->pe,
                   ep->terms.hosts != NULL ? ep->terms.hosts[link->pe] : "?", why, reason);
    ch_tcp_remember(ep, code, message);
    ch_tcp_link_end(ep, link, CH_TCP_FAILED);
}
