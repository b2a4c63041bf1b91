/* SPDX-License-Identifier: Apache-2.0 */
/*
 * post.c: turns operations into frames, keeps what is known of their completion, and collects
 * the frames in slots until one system call passes them to the kernel.
 */
#include "transport/tcp/tcp.h"

#include "base/clock.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

/* Atomics that follow each other in less than this time are a series. */
#define BUSY_NS (5 * CH_NS_PER_US)

/* Largest number of parts of frames in one system call; bytes that are copied together before
 * it: 4 KiB, and the frames of a put and a word; and steps without room between yields. */
enum { PARTS = 128, SHORT = 4096 + 2 * sizeof(struct ch_frame), STEPS_PER_YIELD = 16 };

/* ---- slots ---- */

/* Has the link failed, or the peer left? Then its socket is closed, and its frames are
 * discarded. */
static bool has_ended(const struct ch_tcp_link *link)
{
    return link->state == CH_TCP_FAILED || link->state == CH_TCP_GONE;
}

/* Fail the link if the job ends, or if this wait for room has reached its time limit.
 * *start_ns, at first 0, is set to the start of the wait. */
static void fail_if_late(struct ch_endpoint *ep, struct ch_tcp_link *link, uint64_t *start_ns)
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

/* Append an empty slot, for which there is room. */
static struct ch_tcp_slot *append_slot(struct ch_tcp_link *link)
{
    struct ch_tcp_slot *slot = &link->slots[link->end++ % CH_TCP_SLOTS];

    memset(&slot->head, 0, sizeof(slot->head));
    slot->small_bytes = slot->body_bytes = 0;
    slot->body = NULL;
    slot->serial = 0;
    return slot;
}

/* Have as many requests as are allowed at a time no reply yet? */
static bool is_pending_full(const struct ch_tcp_link *link)
{
    return link->end_pending - link->first_pending == CH_TCP_PENDING;
}

/* Is there no room for an operation? It may be a request, so it needs room for one, too. */
static bool is_full(const struct ch_tcp_link *link)
{
    return link->end - link->first >= CH_TCP_SLOTS - CH_TCP_PENDING - 1 ||
           is_pending_full(link);
}

/* A slot for an operation, which may be a request; makes progress until there is one. Null: the
 * link has failed. */
static struct ch_tcp_slot *wait_for_slot(struct ch_endpoint *ep, struct ch_tcp_link *link)
{
    struct ch_tcp_slot *slot;
    uint64_t start_ns = 0;

    for (uint32_t steps = 1; is_full(link); steps++) {
        ch_tcp_step(ep);
        if (steps % STEPS_PER_YIELD != 0) continue;
        fail_if_late(ep, link, &start_ns);
        ch_link_give_way(&ep->terms);
    }
    if (has_ended(link)) return NULL;
    slot = append_slot(link);
    slot->serial = ++link->posted;
    return slot;
}

struct ch_tcp_slot *ch_tcp_slot_for_reply(struct ch_tcp_link *link)
{
    return link->end - link->first < CH_TCP_SLOTS ? append_slot(link) : NULL;
}

void ch_tcp_slot_set_body(struct ch_endpoint *ep, struct ch_tcp_link *link,
                          struct ch_tcp_slot *slot, const void *body, size_t bytes)
{
    slot->body = body;
    slot->body_bytes = bytes;
    slot->head.parts = ch_tcp_divide_body(ep, link, body, bytes, &slot->body_bytes);
}

/* ---- sending ---- */

static size_t slot_bytes(const struct ch_tcp_slot *slot)
{
    return sizeof(slot->head) + slot->small_bytes + slot->body_bytes;
}

/* List the bytes of the first slots that the kernel has not taken yet, in at most PARTS parts.
 * Returns the number of parts. */
static size_t gather_unsent(const struct ch_tcp_link *link, struct iovec *parts,
                            size_t *bytes_out)
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

/* The kernel has taken so many further bytes: free the slots that it has taken wholly. */
static void drop_sent_bytes(struct ch_tcp_link *link, size_t bytes)
{
    bytes += link->first_sent;
    while (link->first != link->end) {
        const struct ch_tcp_slot *slot = &link->slots[link->first % CH_TCP_SLOTS];

        if (bytes < slot_bytes(slot)) break;
        bytes -= slot_bytes(slot);
        if (slot->serial != 0) link->sent = slot->serial;
        link->first++;
    }
    link->first_sent = bytes;
    if (link->first == link->end) link->first = link->end = 0; /* these slots are in a cache */
}

/* Send the parts, which have so many bytes together; returns the result of the system call. One
 * for one buffer takes less time than one for several, and more than to copy a few frames. */
static ssize_t send_parts(int fd, struct iovec *parts, size_t n, size_t bytes)
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
        const size_t n = gather_unsent(link, parts, &bytes);
        const ssize_t taken = send_parts(link->fd, parts, n, bytes);

        if (taken < 0 && errno == EINTR) continue;
        link->wants_room = taken < 0 ? errno == EAGAIN : (size_t)taken < bytes;
        if (taken >= 0) {
            ep->has_moved = true;
            drop_sent_bytes(link, (size_t)taken);
        } else if (errno != EAGAIN) {
            ch_tcp_fail(ep, link, CHORUS_ERR_ABORTED, "%s", strerror(errno));
        }
        if (link->wants_room) return;
    }
}

/* ---- operations ---- */

/* Append a slot for an operation of ctx, whose frame the caller completes. Null: the link has
 * failed. */
static struct ch_tcp_slot *post_frame(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe,
                                      enum ch_frame_kind kind, const void *there)
{
    struct ch_tcp_link *link = ch_tcp_link_get_or_dial(ep, pe);
    struct ch_tcp_slot *slot = link != NULL ? wait_for_slot(ep, link) : NULL;

    if (slot == NULL) return NULL;
    slot->head.kind = (uint8_t)kind;
    slot->head.there = (uintptr_t)there;
    link->ctx_posted[ch_link_counter_of(ctx, CH_TCP_CTXS)] = slot->serial;
    return slot;
}

chorus_status ch_tcp_put(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe, char *there,
                         const void *src, size_t bytes)
{
    struct ch_tcp_slot *slot = post_frame(ep, ctx, pe, CH_FRAME_PUT, there);

    if (slot == NULL) return CHORUS_OK;
    slot->head.value = bytes;
    if (bytes <= CH_TCP_SMALL) {
        ch_get_bytes(slot->small, src, bytes);
        slot->small_bytes = bytes;
    } else {
        struct ch_tcp_link *link = ep->links[pe];

        ch_tcp_slot_set_body(ep, link, slot, src, bytes);
        link->ctx_borrowed[ch_link_counter_of(ctx, CH_TCP_CTXS)] = slot->serial;
        link->ctx_divided[ch_link_counter_of(ctx, CH_TCP_CTXS)] = link->n_divided;
    }
    return CHORUS_OK;
}

/* Note that the reply to the link's last operation is to be stored at dst; it also confirms all
 * earlier operations. */
static void add_pending_reply(struct ch_tcp_link *link, void *dst, size_t bytes)
{
    struct ch_tcp_pending *pending = &link->pending[link->end_pending++ % CH_TCP_PENDING];

    *pending = (struct ch_tcp_pending){dst, bytes, link->posted};
    link->asked = link->posted;
}

chorus_status ch_tcp_get(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe, void *dst,
                         const char *there, size_t bytes)
{
    struct ch_tcp_slot *slot = post_frame(ep, ctx, pe, CH_FRAME_GET, there);

    if (slot == NULL) return CHORUS_OK;
    slot->head.value = bytes;
    add_pending_reply(ep->links[pe], dst, bytes);
    return CHORUS_OK;
}

/* Send an atomic operation without a result, for which no thread here waits, but the peer may.
 * One of a series is not sent at once, but together with the next operation. */
static void flush_unless_busy(struct ch_endpoint *ep, struct ch_tcp_link *link)
{
    const uint64_t now_ns = ch_clock_ns();

    if (now_ns - link->amo_ns >= BUSY_NS) ch_tcp_flush(ep, link);
    link->amo_ns = now_ns;
}

chorus_status ch_tcp_amo(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe, enum ch_amo op,
                         void *there, size_t bytes, uint64_t value, uint64_t compare,
                         uint64_t *fetched_out)
{
    const struct ch_frame_operands operands = {value, compare};
    struct ch_tcp_slot *slot = post_frame(ep, ctx, pe, CH_FRAME_AMO, there);

    if (slot == NULL) return CHORUS_OK;
    slot->head.op = (uint8_t)op;
    slot->head.width = (uint8_t)bytes;
    slot->head.wants_reply = fetched_out != NULL;
    memcpy(slot->small, &operands, sizeof(operands));
    slot->small_bytes = sizeof(operands);
    if (fetched_out != NULL)
        add_pending_reply(ep->links[pe], fetched_out, sizeof(*fetched_out));
    else
        flush_unless_busy(ep, ep->links[pe]);
    return CHORUS_OK;
}

/* Post a frame that stores a word, and send it with those before it. */
static void post_word(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe, uint64_t *word,
                      uint64_t value)
{
    struct ch_tcp_slot *slot = post_frame(ep, ctx, pe, CH_FRAME_WORD, word);

    if (slot == NULL) return;
    slot->head.value = value;
    ch_tcp_flush(ep, ep->links[pe]);
}

/* One system call sends both frames. */
chorus_status ch_tcp_put_signal(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe,
                                const struct ch_put_signal *put)
{
    if (put->bytes != 0) CH_TRY(ch_tcp_put(ep, ctx, pe, put->dest, put->source, put->bytes));
    if (put->op == CH_AMO_SET)
        post_word(ep, ctx, pe, put->word, put->value);
    else
        CH_TRY(ch_tcp_amo(ep, ctx, pe, put->op, put->word, sizeof(*put->word), put->value, 0,
                          NULL));
    return CHORUS_OK;
}

/* ---- completion ---- */

/* Request a reply, which confirms all operations so far. False: the link has failed. */
static bool request_reply(struct ch_endpoint *ep, struct ch_tcp_link *link)
{
    struct ch_tcp_slot *slot = wait_for_slot(ep, link);

    if (slot == NULL) return false;
    slot->head.kind = CH_FRAME_ASK;
    add_pending_reply(link, NULL, 0);
    return true;
}

/* Called by is_sent: request a reply together with a blocking put if a quiet followed each of
 * those before it. The peer then gets one message in place of two. */
static void request_reply_early(struct ch_endpoint *ep, struct ch_tcp_link *link)
{
    if (link->quiet.counted == link->posted) return;
    link->quiet.n_sent++;
    link->quiet.asked = link->asked;
    if (link->quiet.n_sent > 1)
        link->quiet.n_pairs = 0;
    else if (link->quiet.n_pairs == CH_TCP_PAIRS && !is_pending_full(link))
        (void)request_reply(ep, link);
    link->quiet.counted = link->posted;
}

/* Called by is_done, which waits for the operation `last`: count quiets that follow one
 * blocking put each. A request with the put must be needed and suffice: no earlier one confirms
 * `last`, which was posted by then. */
static void note_quiet_pattern(struct ch_tcp_link *link, uint64_t last)
{
    const bool is_pair =
        link->quiet.n_sent == 1 && link->quiet.asked < last && last <= link->quiet.counted;

    if (link->quiet.n_sent == 0) return;
    if (!is_pair)
        link->quiet.n_pairs = 0;
    else if (link->quiet.n_pairs < CH_TCP_PAIRS)
        link->quiet.n_pairs++;
    link->quiet.n_sent = 0;
}

/* May the sources of what ctx posted on the link change? Sends frames first. */
static bool is_sent(struct ch_endpoint *ep, struct ch_tcp_link *link, uint32_t ctx)
{
    const uint32_t count = ch_link_counter_of(ctx, CH_TCP_CTXS);

    request_reply_early(ep, link);
    ch_tcp_flush(ep, link);
    return link->sent >= link->ctx_borrowed[count] &&
           ch_tcp_channels_have_sent(link, link->ctx_divided[count]);
}

/* Has what ctx posted on the link taken effect? If not, requests a reply, unless one is
 * requested already. */
static bool is_done(struct ch_endpoint *ep, struct ch_tcp_link *link, uint32_t ctx)
{
    const uint32_t count = ch_link_counter_of(ctx, CH_TCP_CTXS);
    const uint64_t last = link->ctx_posted[count];

    note_quiet_pattern(link, last);
    /* A thread may still have to count a part that the peer has received. */
    if (link->done >= last) return ch_tcp_channels_have_sent(link, link->ctx_divided[count]);
    if (link->asked < last && !is_pending_full(link) && !request_reply(ep, link)) return false;
    ch_tcp_flush(ep, link);
    return link->done >= last && ch_tcp_channels_have_sent(link, link->ctx_divided[count]);
}

typedef bool (*is_over_fn)(struct ch_endpoint *ep, struct ch_tcp_link *link, uint32_t ctx);

/* Does is_over hold for the link to pe, or for all (CH_LINK_ALL)? Never after a failure. */
static bool holds_for_links(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe,
                            is_over_fn is_over)
{
    bool over = true;
    const uint32_t lo = pe == CH_LINK_ALL ? 0 : pe,
                   hi = pe == CH_LINK_ALL ? ep->terms.n : pe + 1;

    for (uint32_t i = lo; i < hi; i++)
        if (ep->links[i] != NULL) over &= is_over(ep, ep->links[i], ctx);
    return over && ep->status == CHORUS_OK;
}

bool ch_tcp_is_sent(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe)
{
    return holds_for_links(ep, ctx, pe, is_sent);
}

bool ch_tcp_is_done(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe)
{
    return holds_for_links(ep, ctx, pe, is_done);
}

/* Will memory of the caller be read or written? A thread may still have to count a part whose
 * arrival the peer has confirmed. */
static bool uses_memory(const struct ch_tcp_link *link)
{
    for (uint32_t i = 0; i < CH_TCP_CTXS; i++)
        if (link->ctx_borrowed[i] > link->sent ||
            (link->ctx_borrowed[i] > link->done &&
             !ch_tcp_channels_have_sent(link, link->ctx_divided[i])))
            return true;
    for (uint64_t i = link->first_pending; i != link->end_pending; i++)
        if (link->pending[i % CH_TCP_PENDING].bytes != 0) return true;
    return false;
}

/* If operations in flight use memory of the caller, the link fails: bytes of a frame cannot be
 * taken back from a connection, nor those of a reply be left out of it. */
void ch_tcp_abandon(struct ch_endpoint *ep, uint32_t pe)
{
    struct ch_tcp_link *link = ep->links[pe];

    if (link != NULL && uses_memory(link))
        ch_tcp_fail(ep, link, CHORUS_ERR_TIMEOUT, "%s", CH_LINK_ABANDONED);
}
