/* SPDX-License-Identifier: Apache-2.0 */
/*
 * receive.c: executes the frames of a peer in their order.
 *
 * Every frame is checked: one that names memory outside the attached parts, or that was not
 * requested, ends the connection and changes nothing.
 *
 * By a posted receive a body goes from the socket directly to the destination that the PE
 * chose. A PE that waits for one message reads the socket as if that message came next: its
 * head into the buffer of the link, its body to the destination, and the bytes after it into
 * the buffer. That is one system call and no copy. If another message has arrived first, its
 * bytes are copied from the destination to the buffer, so the length of such a read is limited
 * by the size of the buffer.
 */
#include "transport/tcp/tcp.h"

#include "base/clock.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/uio.h>

/* Reads of one link before other links are read. */
enum { READS = 8 };

/* Acknowledgements are made late when the first bytes arrive, and those after such a pause,
 * which is less than the kernel's 40 ms. */
#define PAUSE_NS (20 * CH_NS_PER_MS)

/* ---- posted receives ---- */

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
bool ch_tcp_end_receive(struct ch_endpoint *ep, uint32_t pe)
{
    struct ch_tcp_link *link = ep->links[pe];
    const struct ch_tcp_wanted wanted = link->wanted;

    link->wanted.bytes = 0;
    if (wanted.state == CH_TCP_ARRIVING && (link->left != 0 || link->is_divided)) {
        const size_t here = (size_t)(link->place - wanted.dst);

        memcpy(wanted.slot, wanted.dst, here);
        link->place = wanted.slot + here;
        if (link->is_divided) ch_tcp_channels_redirect(ep, link, wanted.slot, wanted.bytes);
    }
    return wanted.state == CH_TCP_THERE;
}

/* Does the frame match a posted receive? */
static bool is_wanted(const struct ch_tcp_link *link, const struct ch_frame *head)
{
    const struct ch_tcp_wanted *wanted = &link->wanted;

    return wanted->bytes != 0 && wanted->state == CH_TCP_AWAITED &&
           head->kind == CH_FRAME_PUT && head->there == (uintptr_t)wanted->slot &&
           head->value == wanted->bytes;
}

/* Returns the bytes of the wanted body that follow its head; parts: of the body, 0 if whole. */
static size_t first_part_bytes(const struct ch_tcp_link *link, uint32_t parts)
{
    return parts != 0 ? ch_tcp_first_part_bytes(link->wanted.bytes, parts) : link->wanted.bytes;
}

/* Returns how many bytes to read directly to the destination of a posted receive, although the
 * head before them has not arrived yet; 0: none. */
static size_t bytes_to_read_directly(const struct ch_tcp_link *link)
{
    const size_t most = sizeof(link->in) - sizeof(struct ch_frame);
    const uint32_t parts = link->n_channels + 1;
    const bool is_divided = ch_tcp_may_divide(link, link->wanted.bytes, parts);
    const size_t first = first_part_bytes(link, is_divided ? parts : 0);

    if (link->wanted.bytes == 0 || link->wanted.state != CH_TCP_AWAITED || link->hi != 0 ||
        link->left != 0 || link->is_divided)
        return 0;
    return first < most ? first : most;
}

/* A direct read got the head of the wanted body, and `body` bytes at the destination: those
 * behind its first part are copied to the buffer, before the `rest` bytes behind the head. */
static void place_wanted_body(struct ch_endpoint *ep, struct ch_tcp_link *link,
                              const struct ch_frame *head, size_t body, size_t rest)
{
    const size_t first = first_part_bytes(link, head->parts),
                 here = body < first ? body : first;

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

/* Handle a direct read of `got` bytes: a head in the buffer, `guess` bytes at the destination
 * of the posted receive, the rest in the buffer. If the head is that of the wanted body, sets
 * the state for it; otherwise copies everything into the buffer. */
static void sort_direct_read(struct ch_endpoint *ep, struct ch_tcp_link *link, size_t guess,
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
    if (!is_wanted(link, &head) ||
        (head.parts != 0 && !ch_tcp_may_divide(link, head.value, head.parts))) {
        memmove(behind + body, behind, rest);
        memcpy(behind, link->wanted.dst, body);
        return;
    }
    place_wanted_body(ep, link, &head, body, rest);
}

/* ---- frames ---- */

/* The result of handling the first frame. */
enum step { DONE, INCOMPLETE, BAD };

/* Fail the link because of a frame of the peer that is not valid; returns BAD. */
static enum step fail_bad_frame(struct ch_endpoint *ep, struct ch_tcp_link *link,
                                const struct ch_frame *head, const char *what)
{
    ch_tcp_fail(ep, link, CHORUS_ERR_SYSTEM,
                "it sent a frame of kind %u for %llu (value %llu) that %s", head->kind,
                (unsigned long long)head->there, (unsigned long long)head->value, what);
    return BAD;
}

static enum step fail_bad_place(struct ch_endpoint *ep, struct ch_tcp_link *link,
                                const struct ch_frame *head)
{
    return fail_bad_frame(ep, link, head, "names no attached memory");
}

static size_t buffered_bytes(const struct ch_tcp_link *link)
{
    return link->hi - link->lo;
}

/* The first request has received its reply, and all earlier operations are done. */
static void finish_reply(struct ch_tcp_link *link)
{
    link->done = link->pending[link->first_pending++ % CH_TCP_PENDING].covers;
}

/* All bytes of a body are at their destination. */
static void finish_body(struct ch_tcp_link *link)
{
    link->is_divided = false;
    if (link->is_reply)
        finish_reply(link);
    else if (link->wanted.state == CH_TCP_ARRIVING)
        link->wanted.state = CH_TCP_THERE;
}

bool ch_tcp_waits_for_channels(const struct ch_tcp_link *link)
{
    return link->is_divided && link->left == 0 && !ch_tcp_channels_have_received(link);
}

/* Is the body of the last frame incomplete? If only channels were missing, and have received
 * their parts, finishes it. */
static bool is_body_incomplete(struct ch_tcp_link *link)
{
    if (link->left != 0 || ch_tcp_waits_for_channels(link)) return true;
    if (link->is_divided) finish_body(link);
    return false;
}

/* Receive a body to dst: from the buffer if it is small, otherwise from the buffer and then
 * from the socket, and parts of it by channels. INCOMPLETE: a small one has not arrived yet. */
static enum step take_body(struct ch_endpoint *ep, struct ch_tcp_link *link,
                           const struct ch_frame *head, void *dst)
{
    const size_t bytes =
        head->parts != 0 ? ch_tcp_first_part_bytes(head->value, head->parts) : head->value;
    const char *const body = link->in + link->lo + sizeof(struct ch_frame);
    const size_t here = buffered_bytes(link) - sizeof(struct ch_frame);
    uint64_t small[CH_TCP_SMALL / sizeof(uint64_t)]; /* aligned */

    link->is_reply = head->kind == CH_FRAME_REPLY;
    if (bytes <= CH_TCP_SMALL) {
        if (here < bytes) return INCOMPLETE;
        memcpy(small, body, bytes);
        ch_put_bytes(dst, small, bytes);
        link->lo += sizeof(struct ch_frame) + bytes;
        finish_body(link);
        return DONE;
    }
    link->left = bytes - (here < bytes ? here : bytes);
    memcpy(dst, body, bytes - link->left);
    link->place = (char *)dst + (bytes - link->left);
    link->is_divided = head->parts != 0;
    if (link->is_divided)
        ch_tcp_channels_expect(ep, link, dst, head->value);
    else
        ch_tcp_channels_wake(ep, link, head->value);
    link->lo += sizeof(struct ch_frame) + (bytes - link->left);
    if (link->left == 0 && !link->is_divided) finish_body(link);
    return DONE;
}

/* Execute a put: begin to receive its body, to the destination of a posted receive if it is the
 * wanted one. */
static enum step serve_put(struct ch_endpoint *ep, struct ch_tcp_link *link,
                           const struct ch_frame *head)
{
    if (!ch_parts_hold(&ep->parts, head->there, head->value))
        return fail_bad_place(ep, link, head);
    if (!is_wanted(link, head))
        return take_body(ep, link, head, (void *)(uintptr_t)head->there);
    link->wanted.state = CH_TCP_ARRIVING;
    return take_body(ep, link, head, link->wanted.dst); /* none is small */
}

static enum step serve_word(struct ch_endpoint *ep, struct ch_tcp_link *link,
                            const struct ch_frame *head)
{
    if (!ch_frame_execute_word(&ep->parts, head)) return fail_bad_place(ep, link, head);
    link->lo += sizeof(*head);
    return DONE;
}

/* Append a reply to the request `head`; a body of more than CH_TCP_SMALL bytes is not copied.
 */
static enum step send_reply(struct ch_endpoint *ep, struct ch_tcp_link *link,
                            const struct ch_frame *head, const void *body, size_t bytes)
{
    struct ch_tcp_slot *slot = ch_tcp_slot_for_reply(link);

    if (slot == NULL)
        return fail_bad_frame(ep, link, head, "exceeds the number of requests at a time");
    slot->head.kind = CH_FRAME_REPLY;
    slot->head.value = bytes;
    if (bytes > CH_TCP_SMALL) {
        ch_tcp_slot_set_body(ep, link, slot, body, bytes);
    } else {
        ch_get_bytes(slot->small, body, bytes);
        slot->small_bytes = bytes;
    }
    return DONE;
}

static enum step serve_get(struct ch_endpoint *ep, struct ch_tcp_link *link,
                           const struct ch_frame *head)
{
    if (!ch_parts_hold(&ep->parts, head->there, head->value))
        return fail_bad_place(ep, link, head);
    link->lo += sizeof(*head);
    return send_reply(ep, link, head, (const void *)(uintptr_t)head->there, head->value);
}

static enum step serve_amo(struct ch_endpoint *ep, struct ch_tcp_link *link,
                           const struct ch_frame *head)
{
    struct ch_frame_operands operands;
    uint64_t fetched;

    if (buffered_bytes(link) < sizeof(*head) + sizeof(operands)) return INCOMPLETE;
    memcpy(&operands, link->in + link->lo + sizeof(*head), sizeof(operands));
    if (!ch_frame_execute_amo(&ep->parts, head, &operands, &fetched))
        return fail_bad_place(ep, link, head);
    link->lo += sizeof(*head) + sizeof(operands);
    if (!head->wants_reply) return DONE;
    return send_reply(ep, link, head, &fetched, sizeof(fetched));
}

/* Receive a reply to the first request that has none, to the destination of that request. */
static enum step serve_reply(struct ch_endpoint *ep, struct ch_tcp_link *link,
                             const struct ch_frame *head)
{
    const struct ch_tcp_pending *request = &link->pending[link->first_pending % CH_TCP_PENDING];

    if (link->first_pending == link->end_pending || request->bytes != head->value)
        return fail_bad_frame(ep, link, head, "answers no request");
    return take_body(ep, link, head, request->dst);
}

/* The peer has opened all channels of the link, or has given them up. */
static enum step serve_channels(struct ch_endpoint *ep, struct ch_tcp_link *link,
                                const struct ch_frame *head)
{
    if (!ch_tcp_widen_finish(ep, link, head->value))
        return fail_bad_frame(ep, link, head, "names channels that are not open");
    link->lo += sizeof(*head);
    return DONE;
}

/* Is the body of the frame whole, or divided as this link allows? */
static bool is_division_valid(const struct ch_tcp_link *link, const struct ch_frame *head)
{
    return head->parts == 0 || ((head->kind == CH_FRAME_PUT || head->kind == CH_FRAME_REPLY) &&
                                ch_tcp_may_divide(link, head->value, head->parts));
}

/* Execute the first frame in the buffer. */
static enum step serve_frame(struct ch_endpoint *ep, struct ch_tcp_link *link)
{
    struct ch_frame head;

    if (buffered_bytes(link) < sizeof(head)) return INCOMPLETE;
    memcpy(&head, link->in + link->lo, sizeof(head));
    if (!is_division_valid(link, &head))
        return fail_bad_frame(ep, link, &head, "is divided into parts that it cannot have");
    switch (head.kind) {
    case CH_FRAME_PUT:
        return serve_put(ep, link, &head);
    case CH_FRAME_WORD:
        return serve_word(ep, link, &head);
    case CH_FRAME_GET:
        return serve_get(ep, link, &head);
    case CH_FRAME_AMO:
        return serve_amo(ep, link, &head);
    case CH_FRAME_ASK:
        link->lo += sizeof(head);
        return send_reply(ep, link, &head, NULL, 0);
    case CH_FRAME_REPLY:
        return serve_reply(ep, link, &head);
    case CH_FRAME_BYE:
        link->lo += sizeof(head);
        link->state = CH_TCP_GONE;
        return DONE;
    case CH_FRAME_CHANNELS:
        return serve_channels(ep, link, &head);
    default:
        return fail_bad_frame(ep, link, &head, "is none");
    }
}

/* ---- reading ---- */

/* `placed` more bytes of a body are at their destination. */
static void note_placed_bytes(struct ch_tcp_link *link, size_t placed)
{
    if (placed == 0) return;
    link->place += placed;
    link->left -= placed;
    if (link->left == 0 && !link->is_divided) finish_body(link);
}

/* Execute the frames in the buffer. False: the link has failed. */
static bool serve_frames(struct ch_endpoint *ep, struct ch_tcp_link *link)
{
    enum step step = DONE;

    while (step == DONE && link->state == CH_TCP_UP && !is_body_incomplete(link))
        step = serve_frame(ep, link);
    if (step == BAD) return false;
    memmove(link->in, link->in + link->lo, buffered_bytes(link));
    link->hi -= link->lo;
    link->lo = 0;
    return true;
}

/* The connection has ended: fail the link, unless the peer has left on purpose. */
static void fail_lost_link(struct ch_endpoint *ep, struct ch_tcp_link *link, const char *why)
{
    if (link->state != CH_TCP_GONE) ch_tcp_fail(ep, link, CHORUS_ERR_ABORTED, "%s", why);
}

/* Set where the next bytes go: the rest of a body to its destination, `guess` bytes of a body
 * that is expected next to that of its posted receive, and all others into the buffer. Returns
 * the number of destinations. */
static int set_destinations(struct ch_tcp_link *link, size_t guess, struct iovec parts[3])
{
    const size_t head = guess != 0 ? sizeof(struct ch_frame) : 0;
    const size_t end = guess != 0 ? sizeof(link->in) : CH_TCP_READ;
    char *const in = link->in + link->hi;
    int n = 0;

    if (guess != 0) {
        parts[n++] = (struct iovec){in, head};
        parts[n++] = (struct iovec){link->wanted.dst, guess};
        if (guess < link->wanted.bytes) return n; /* more of the body follows */
    } else if (link->left != 0) {
        parts[n++] = (struct iovec){link->place, link->left};
    }
    parts[n++] = (struct iovec){in + head, end - link->hi - head - guess};
    return n;
}

/* Handle `got` bytes that were read to the destinations of this `guess`. False: the link has
 * failed. */
static bool take_bytes(struct ch_endpoint *ep, struct ch_tcp_link *link, size_t guess,
                       size_t got)
{
    const size_t placed = got < link->left ? got : link->left;

    if (guess != 0) {
        sort_direct_read(ep, link, guess, got);
    } else {
        note_placed_bytes(link, placed);
        link->hi += got - placed;
    }
    return serve_frames(ep, link);
}

/* Execute the frames behind a divided body if its channels have received their parts. False:
 * the link has failed, or must not be read yet: there may be no room for what arrives. */
static bool prepare_to_read(struct ch_endpoint *ep, struct ch_tcp_link *link)
{
    if (!link->is_divided || link->left != 0) return true;
    if (ch_tcp_waits_for_channels(link)) return false;
    ep->has_moved = ep->has_arrived = true;
    return serve_frames(ep, link) && (!link->is_divided || link->left != 0);
}

/*
 * Let the kernel acknowledge late. It acknowledges each short message while it is read, which
 * takes the reader as long as sending one, unless it takes the connection for one of requests
 * and replies: then an acknowledgement travels with the next message, or follows after two
 * messages or 40 ms. If it had to follow after 40 ms, the kernel no longer takes the connection
 * for such a one.
 */
static void acknowledge_late(int fd)
{
    const int off = 0;

    (void)setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &off, sizeof(off));
}

/* Bytes have arrived: note when, and after a pause let the kernel acknowledge late again. */
static void note_arrival(struct ch_tcp_link *link)
{
    const uint64_t now = ch_clock_ns();

    if (now - link->heard_ns > PAUSE_NS) acknowledge_late(link->fd);
    link->heard_ns = now;
}

void ch_tcp_receive(struct ch_endpoint *ep, struct ch_tcp_link *link)
{
    for (int i = 0; i < READS && prepare_to_read(ep, link) && link->state == CH_TCP_UP; i++) {
        const size_t guess = bytes_to_read_directly(link);
        struct iovec parts[3];
        const int n = set_destinations(link, guess, parts);
        const ssize_t got = n == 1 ? recv(link->fd, parts[0].iov_base, parts[0].iov_len, 0)
                                   : readv(link->fd, parts, n);
        size_t room = 0;

        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && errno == EAGAIN) break;
        if (got <= 0) {
            fail_lost_link(ep, link, got == 0 ? CH_TCP_HAS_CLOSED : strerror(errno));
            return;
        }
        note_arrival(link);
        ep->has_moved = ep->has_arrived = true;
        if (!take_bytes(ep, link, guess, (size_t)got)) return;
        for (int k = 0; k < n; k++)
            room += parts[k].iov_len;
        if ((size_t)got < room) break;
    }
    ch_tcp_flush(ep, link); /* replies */
}
