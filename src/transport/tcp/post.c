/* SPDX-License-Identifier: Apache-2.0 */
/* post.c: turns operations into frames, and keeps what is known of their completion. */
#include "transport/tcp/tcp.h"

#include "base/clock.h"

#include <string.h>

/* Atomics that follow each other in less than this time are a series. */
#define BUSY_NS (5 * CH_NS_PER_US)

/* A slot for an operation. Null: the link has failed. */
static struct ch_tcp_slot *post(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe,
                                enum ch_frame_kind kind, const void *there)
{
    struct ch_tcp_link *link = ch_tcp_link_of(ep, pe);
    struct ch_tcp_slot *slot = link != NULL ? ch_tcp_slot_new(ep, link) : NULL;

    if (slot == NULL) return NULL;
    slot->head.kind = (uint8_t)kind;
    slot->head.there = (uintptr_t)there;
    link->ctx_posted[ch_link_counter_of(ctx, CH_TCP_CTXS)] = slot->serial;
    return slot;
}

chorus_status ch_tcp_put(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe, char *there,
                         const void *src, size_t bytes)
{
    struct ch_tcp_slot *slot = post(ep, ctx, pe, CH_FRAME_PUT, there);

    if (slot == NULL) return CHORUS_OK;
    slot->head.value = bytes;
    if (bytes <= CH_TCP_SMALL) {
        ch_get_bytes(slot->small, src, bytes);
        slot->small_bytes = bytes;
    } else {
        struct ch_tcp_link *link = ep->links[pe];

        ch_tcp_slot_body(ep, link, slot, src, bytes);
        link->ctx_borrowed[ch_link_counter_of(ctx, CH_TCP_CTXS)] = slot->serial;
        link->ctx_divided[ch_link_counter_of(ctx, CH_TCP_CTXS)] = link->n_divided;
    }
    return CHORUS_OK;
}

/* The reply to the link's last operation is stored at dst; it also confirms all earlier
 * operations. */
static void expect(struct ch_tcp_link *link, void *dst, size_t bytes)
{
    struct ch_tcp_pending *pending = &link->pending[link->end_pending++ % CH_TCP_PENDING];

    *pending = (struct ch_tcp_pending){dst, bytes, link->posted};
    link->asked = link->posted;
}

chorus_status ch_tcp_get(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe, void *dst,
                         const char *there, size_t bytes)
{
    struct ch_tcp_slot *slot = post(ep, ctx, pe, CH_FRAME_GET, there);

    if (slot == NULL) return CHORUS_OK;
    slot->head.value = bytes;
    expect(ep->links[pe], dst, bytes);
    return CHORUS_OK;
}

/* No thread here waits for an operation without a result, but the peer may: it is sent at once,
 * unless it is part of a series, which is sent together with the next operation. */
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
    struct ch_tcp_slot *slot = post(ep, ctx, pe, CH_FRAME_AMO, there);

    if (slot == NULL) return CHORUS_OK;
    slot->head.op = (uint8_t)op;
    slot->head.width = (uint8_t)bytes;
    slot->head.wants_reply = fetched_out != NULL;
    memcpy(slot->small, &operands, sizeof(operands));
    slot->small_bytes = sizeof(operands);
    if (fetched_out != NULL)
        expect(ep->links[pe], fetched_out, sizeof(*fetched_out));
    else
        flush_unless_busy(ep, ep->links[pe]);
    return CHORUS_OK;
}

static void post_word(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe, uint64_t *word,
                      uint64_t value)
{
    struct ch_tcp_slot *slot = post(ep, ctx, pe, CH_FRAME_WORD, word);

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

typedef bool (*is_over_fn)(struct ch_endpoint *ep, struct ch_tcp_link *link, uint32_t ctx);

/* Request a reply, which confirms all operations so far. */
static bool ask(struct ch_endpoint *ep, struct ch_tcp_link *link)
{
    struct ch_tcp_slot *slot = ch_tcp_slot_new(ep, link);

    if (slot == NULL) return false;
    slot->head.kind = CH_FRAME_ASK;
    expect(link, NULL, 0);
    return true;
}

/* A blocking put takes the request along if a quiet followed each of those before it: the peer
 * then gets one message in place of two. */
static void ask_early(struct ch_endpoint *ep, struct ch_tcp_link *link)
{
    if (link->quiet.counted == link->posted) return;
    link->quiet.n_sent++;
    link->quiet.asked = link->asked;
    if (link->quiet.n_sent > 1)
        link->quiet.n_pairs = 0;
    else if (link->quiet.n_pairs == CH_TCP_PAIRS && !ch_tcp_is_pending_full(link))
        (void)ask(ep, link);
    link->quiet.counted = link->posted;
}

/* is_done is asked for; `last` is the operation that it waits for. A request with the put must
 * be needed and suffice: no earlier one confirms `last`, which was posted by then. */
static void learn(struct ch_tcp_link *link, uint64_t last)
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

static bool is_sent(struct ch_endpoint *ep, struct ch_tcp_link *link, uint32_t ctx)
{
    const uint32_t count = ch_link_counter_of(ctx, CH_TCP_CTXS);

    ask_early(ep, link);
    ch_tcp_flush(ep, link);
    return link->sent >= link->ctx_borrowed[count] &&
           ch_tcp_channels_sent(link, link->ctx_divided[count]);
}

/* Request a reply, unless one is requested already. */
static bool is_done(struct ch_endpoint *ep, struct ch_tcp_link *link, uint32_t ctx)
{
    const uint32_t count = ch_link_counter_of(ctx, CH_TCP_CTXS);
    const uint64_t last = link->ctx_posted[count];

    learn(link, last);
    /* A thread may still have to count a part that the peer has received. */
    if (link->done >= last) return ch_tcp_channels_sent(link, link->ctx_divided[count]);
    if (link->asked < last && !ch_tcp_is_pending_full(link) && !ask(ep, link)) return false;
    ch_tcp_flush(ep, link);
    return link->done >= last && ch_tcp_channels_sent(link, link->ctx_divided[count]);
}

static bool is_over(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe, is_over_fn what)
{
    bool over = true;
    const uint32_t lo = pe == CH_LINK_ALL ? 0 : pe,
                   hi = pe == CH_LINK_ALL ? ep->terms.n : pe + 1;

    for (uint32_t i = lo; i < hi; i++)
        if (ep->links[i] != NULL) over &= what(ep, ep->links[i], ctx);
    return over && ep->status == CHORUS_OK;
}

bool ch_tcp_is_sent(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe)
{
    return is_over(ep, ctx, pe, is_sent);
}

bool ch_tcp_is_done(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe)
{
    return is_over(ep, ctx, pe, is_done);
}

/* Will memory of the caller be read or written? A thread may still have to count a part whose
 * arrival the peer has confirmed. */
static bool uses_memory(const struct ch_tcp_link *link)
{
    for (uint32_t i = 0; i < CH_TCP_CTXS; i++)
        if (link->ctx_borrowed[i] > link->sent ||
            (link->ctx_borrowed[i] > link->done &&
             !ch_tcp_channels_sent(link, link->ctx_divided[i])))
            return true;
    for (uint64_t i = link->first_pending; i != link->end_pending; i++)
        if (link->pending[i % CH_TCP_PENDING].bytes != 0) return true;
    return false;
}

/* Bytes of a frame cannot be taken back from a connection, nor those of a reply be left out of
 * it, so the connection ends. */
void ch_tcp_abandon(struct ch_endpoint *ep, uint32_t pe)
{
    struct ch_tcp_link *link = ep->links[pe];

    if (link != NULL && uses_memory(link))
        ch_tcp_fail(ep, link, CHORUS_ERR_TIMEOUT, "%s", CH_LINK_ABANDONED);
}
