/* SPDX-License-Identifier: Apache-2.0 */
/* send.c: collects frames in slots until one system call passes them to the kernel. */
#include "transport/tcp/tcp.h"

#include "base/clock.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

/* Largest number of parts of frames in one system call; bytes that are copied together before
 * it: 4 KiB, and the frames of a put and a word; and steps without room between yields. */
enum { PARTS = 128, SHORT = 4096 + 2 * sizeof(struct ch_frame), STEPS_PER_YIELD = 16 };

/* The socket of a link that has failed is closed, and its frames are discarded. */
static bool is_over(const struct ch_tcp_link *link)
{
    return link->state == CH_TCP_FAILED || link->state == CH_TCP_GONE;
}

/* The wait for room ends if the job ends, or if a peer accepts nothing. */
static void give_up_late(struct ch_endpoint *ep, struct ch_tcp_link *link, uint64_t *start_ns)
{
    const uint64_t now = ch_clock_ns(), timeout = ep->terms.options->timeout_ns;

    if (*start_ns == 0) *start_ns = now;
    if (__atomic_load_n(&ep->terms.door->aborted, __ATOMIC_RELAXED))
        ch_tcp_fail(ep, link, CHORUS_ERR_ABORTED, "the job is ending");
    else if (timeout != 0 && now - *start_ns > timeout)
        ch_tcp_fail(ep, link, CHORUS_ERR_TIMEOUT,
                    "it accepted no messages for %.3g s; is it stopped?",
                    (double)timeout / (double)CH_NS_PER_S);
}

static struct ch_tcp_slot *append(struct ch_tcp_link *link)
{
    struct ch_tcp_slot *slot = &link->slots[link->end++ % CH_TCP_SLOTS];

    memset(&slot->head, 0, sizeof(slot->head));
    slot->small_bytes = slot->body_bytes = 0;
    slot->body = NULL;
    slot->serial = 0;
    return slot;
}

bool ch_tcp_is_pending_full(const struct ch_tcp_link *link)
{
    return link->end_pending - link->first_pending == CH_TCP_PENDING;
}

/* Any operation may be a request. */
static bool is_full(const struct ch_tcp_link *link)
{
    return link->end - link->first >= CH_TCP_SLOTS - CH_TCP_PENDING - 1 ||
           ch_tcp_is_pending_full(link);
}

struct ch_tcp_slot *ch_tcp_slot_new(struct ch_endpoint *ep, struct ch_tcp_link *link)
{
    struct ch_tcp_slot *slot;
    uint64_t start_ns = 0;

    for (uint32_t steps = 1; is_full(link); steps++) {
        ch_tcp_step(ep);
        if (steps % STEPS_PER_YIELD != 0) continue;
        give_up_late(ep, link, &start_ns);
        ch_link_give_way(&ep->terms);
    }
    if (is_over(link)) return NULL;
    slot = append(link);
    slot->serial = ++link->posted;
    return slot;
}

struct ch_tcp_slot *ch_tcp_slot_reply(struct ch_tcp_link *link)
{
    return link->end - link->first < CH_TCP_SLOTS ? append(link) : NULL;
}

void ch_tcp_slot_body(struct ch_endpoint *ep, struct ch_tcp_link *link,
                      struct ch_tcp_slot *slot, const void *body, size_t bytes)
{
    slot->body = body;
    slot->body_bytes = bytes;
    slot->head.parts = ch_tcp_divide(ep, link, body, bytes, &slot->body_bytes);
}

static size_t bytes_of(const struct ch_tcp_slot *slot)
{
    return sizeof(slot->head) + slot->small_bytes + slot->body_bytes;
}

/* The bytes of the first slots that the kernel has not taken yet. */
static size_t gather(const struct ch_tcp_link *link, struct iovec *parts, size_t *bytes_out)
{
    size_t n = 0, skip = link->first_sent, bytes = 0;

    for (uint64_t i = link->first; i != link->end && n + 2 <= PARTS; i++) {
        struct ch_tcp_slot *slot = &link->slots[i % CH_TCP_SLOTS];
        const size_t front = sizeof(slot->head) + slot->small_bytes;

        if (skip < front) {
            parts[n++] = (struct iovec){(char *)&slot->head + skip, front - skip};
            bytes += front - skip;
            skip = front;
        }
        if (slot->body_bytes != 0) {
            /* The kernel only reads this memory. */
            char *body = (char *)(uintptr_t)slot->body + (skip - front);
            parts[n++] = (struct iovec){body, slot->body_bytes - (skip - front)};
            bytes += parts[n - 1].iov_len;
        }
        skip = 0;
    }
    *bytes_out = bytes;
    return n;
}

static void advance(struct ch_tcp_link *link, size_t bytes)
{
    bytes += link->first_sent;
    while (link->first != link->end) {
        const struct ch_tcp_slot *slot = &link->slots[link->first % CH_TCP_SLOTS];

        if (bytes < bytes_of(slot)) break;
        bytes -= bytes_of(slot);
        if (slot->serial != 0) link->sent = slot->serial;
        link->first++;
    }
    link->first_sent = bytes;
    if (link->first == link->end) link->first = link->end = 0; /* these slots are in a cache */
}

/* A system call for one buffer takes less time than one for several, and more than to copy a
 * few frames. */
static ssize_t pass(int fd, struct iovec *parts, size_t n, size_t bytes)
{
    const struct msghdr message = {.msg_iov = parts, .msg_iovlen = n};
    char all[SHORT];
    size_t at = 0;

    if (bytes > sizeof(all)) return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    for (size_t i = 0; i < n; at += parts[i++].iov_len)
        memcpy(all + at, parts[i].iov_base, parts[i].iov_len);
    return send(fd, all, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void ch_tcp_flush(struct ch_endpoint *ep, struct ch_tcp_link *link)
{
    struct iovec parts[PARTS];

    while (link->state == CH_TCP_UP && link->first != link->end) {
        size_t bytes;
        const size_t n = gather(link, parts, &bytes);
        const ssize_t taken = pass(link->fd, parts, n, bytes);

        if (taken < 0 && errno == EINTR) continue;
        link->wants_room = taken < 0 ? errno == EAGAIN : (size_t)taken < bytes;
        if (taken >= 0) {
            ep->has_moved = true;
            advance(link, (size_t)taken);
        } else if (errno != EAGAIN) {
            ch_tcp_fail(ep, link, CHORUS_ERR_ABORTED, "%s", strerror(errno));
        }
        if (link->wants_room) return;
    }
}
