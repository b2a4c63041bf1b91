/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wanted.c: posted receives, by which a body goes from the socket directly to the destination
 * that the PE chose.
 *
 * A PE that waits for one message reads the socket as if that message came next: its head into
 * the buffer of the link, its body to the destination, and the bytes after it into the buffer.
 * That is one system call and no copy. If another message has arrived first, its bytes are
 * copied from the destination to the buffer, so the length of such a read is limited by the
 * size of the buffer.
 */
#include "transport/tcp/tcp.h"

#include <string.h>

bool ch_tcp_post_receive(struct ch_endpoint *ep, uint32_t pe, void *slot, void *dst,
                         size_t bytes)
{
    struct ch_tcp_link *link = ep->links[pe];

    if (link == NULL || bytes <= CH_TCP_SMALL || link->wanted.bytes != 0) return false;
    link->wanted = (struct ch_tcp_wanted){slot, dst, bytes, CH_TCP_AWAITED};
    return true;
}

/* A wait that fails may end the receive while the body arrives: the rest is stored in the
 * slot. */
bool ch_tcp_received(struct ch_endpoint *ep, uint32_t pe)
{
    struct ch_tcp_link *link = ep->links[pe];
    const struct ch_tcp_wanted wanted = link->wanted;

    link->wanted.bytes = 0;
    if (wanted.state == CH_TCP_ARRIVING && (link->left != 0 || link->is_divided)) {
        const size_t here = (size_t)(link->place - wanted.dst);

        memcpy(wanted.slot, wanted.dst, here);
        link->place = wanted.slot + here;
        if (link->is_divided) ch_tcp_channels_move(ep, link, wanted.slot, wanted.bytes);
    }
    return wanted.state == CH_TCP_THERE;
}

bool ch_tcp_is_wanted(const struct ch_tcp_link *link, const struct ch_frame *head)
{
    const struct ch_tcp_wanted *wanted = &link->wanted;

    return wanted->bytes != 0 && wanted->state == CH_TCP_AWAITED &&
           head->kind == CH_FRAME_PUT && head->there == (uintptr_t)wanted->slot &&
           head->value == wanted->bytes;
}

/* Bytes of the wanted body that follow its head on the link. */
static size_t first_part(const struct ch_tcp_link *link, uint32_t parts)
{
    return parts != 0 ? ch_tcp_first_part(link->wanted.bytes, parts) : link->wanted.bytes;
}

size_t ch_tcp_wanted_guess(const struct ch_tcp_link *link)
{
    const size_t most = sizeof(link->in) - sizeof(struct ch_frame);
    const uint32_t parts = link->n_channels + 1;
    const bool is_divided = ch_tcp_may_divide(link, link->wanted.bytes, parts);
    const size_t first = first_part(link, is_divided ? parts : 0);

    if (link->wanted.bytes == 0 || link->wanted.state != CH_TCP_AWAITED || link->hi != 0 ||
        link->left != 0 || link->is_divided)
        return 0;
    return first < most ? first : most;
}

/* The body of the head is the wanted one. Of the `body` bytes at the destination, those behind
 * its first part are copied to the buffer, before the `rest` bytes that follow the head there.
 */
static void take_wanted(struct ch_endpoint *ep, struct ch_tcp_link *link,
                        const struct ch_frame *head, size_t body, size_t rest)
{
    const size_t first = first_part(link, head->parts), here = body < first ? body : first;

    memmove(link->in + (body - here), link->in + sizeof(*head), rest);
    memcpy(link->in, link->wanted.dst + here, body - here);
    link->hi = body - here + rest;
    link->place = link->wanted.dst + here;
    link->left = first - here;
    link->is_reply = false;
    link->is_divided = head->parts != 0;
    link->wanted.state = link->left == 0 && !link->is_divided ? CH_TCP_THERE : CH_TCP_ARRIVING;
    if (link->is_divided)
        ch_tcp_channels_expect(ep, link, link->wanted.dst, link->wanted.bytes);
    else
        ch_tcp_channels_wake(ep, link, link->wanted.bytes);
}

void ch_tcp_wanted_sort(struct ch_endpoint *ep, struct ch_tcp_link *link, size_t guess,
                        size_t got)
{
    char *const behind = link->in + sizeof(struct ch_frame);
    size_t body, rest;
    struct ch_frame head;

    link->hi = got;
    if (got <= sizeof(head)) return;
    memcpy(&head, link->in, sizeof(head));
    body = got - sizeof(head) < guess ? got - sizeof(head) : guess;
    rest = got - sizeof(head) - body;
    if (!ch_tcp_is_wanted(link, &head) ||
        (head.parts != 0 && !ch_tcp_may_divide(link, head.value, head.parts))) {
        memmove(behind + body, behind, rest);
        memcpy(behind, link->wanted.dst, body);
        return;
    }
    take_wanted(ep, link, &head, body, rest);
}
