/* SPDX-License-Identifier: Apache-2.0 */
/*
 * post.c: operations: puts and gets between memory that the inner network accesses go there, as
 * do words of hosts, all else into slots; when operations are over, and how they are given up.
 *
 * An object on a peer is on its GPU if it is in a part that the peer attached as such. A source
 * or destination at this PE that is in no attached part is looked up once, by CUDA.
 */
#include "transport/staged/inside.h"

#include "base/clock.h"

enum { STEPS_PER_YIELD = 16 };

/* ---- where memory is ---- */

static bool is_there_on_gpu(struct ch_staged_peer *peer, const void *there)
{
    return ch_parts_find(&peer->parts, (uintptr_t)there) != NULL;
}

static bool is_here_on_gpu(struct ch_endpoint *ep, const void *here)
{
    const struct ch_part *part = ch_parts_find(&ep->parts, (uintptr_t)here);

    if (part != NULL) return part->kind == CH_MEMORY_GPU;
    return ch_device_is_on_gpu(ep->terms.device, here);
}

/* Does a transfer between memory at this PE, which is on its GPU or not, and at the peer need
 * slots? */
static bool needs_slots(struct ch_endpoint *ep, struct ch_staged_peer *peer, const void *here,
                        bool is_here_gpu, const struct ch_staged_head *head)
{
    const void *there = (const void *)(uintptr_t)head->there;

    if (is_here_gpu && !ch_staged_is_registered(&ep->parts, here, head->bytes)) return true;
    return is_there_on_gpu(peer, there) &&
           !ch_staged_is_registered(&peer->parts, there, head->bytes);
}

static bool put_needs_slots(struct ch_endpoint *ep, struct ch_staged_peer *peer, uint32_t ctx,
                            const struct ch_staged_op *op)
{
    if (needs_slots(ep, peer, op->source, op->is_on_gpu, &op->head)) return true;
    return !ch_staged_notes_flush(ep, ctx) &&
           is_there_on_gpu(peer, (const void *)(uintptr_t)op->head.there);
}

/* ---- adding operations ---- */

/* A wait for room, zeroed at first. */
struct wait {
    uint64_t since_ns; /* since when no slot was freed, by the peer or for it */
    uint64_t slots;    /* that had been until then */
};

/* Fail the peer if the job ends, or if no slot has been freed until the time limit. */
static void fail_if_late(struct ch_endpoint *ep, struct ch_staged_peer *peer, struct wait *wait)
{
    const uint64_t now = ch_clock_ns(), timeout = ep->terms.link.options->timeout_ns;

    if (wait->since_ns == 0 || wait->slots != peer->freed + peer->ended)
        *wait = (struct wait){now, peer->freed + peer->ended};
    if (__atomic_load_n(&ep->terms.link.door->aborted, __ATOMIC_RELAXED))
        ch_staged_fail(ep, peer, CHORUS_ERR_ABORTED, "the job is ending");
    else if (timeout != 0 && now - wait->since_ns > timeout)
        ch_staged_fail(ep, peer, CHORUS_ERR_TIMEOUT,
                       "it freed no slots for %.3g s; is it stopped?",
                       (double)timeout / (double)CH_NS_PER_S);
}

/* Returns an entry for a request; null: all are used. */
static struct ch_staged_request *free_request(struct ch_staged_peer *peer)
{
    for (uint32_t i = 0; i < CH_STAGED_REQUESTS; i++)
        if (peer->requests[i].dst == NULL) return &peer->requests[i];
    return NULL;
}

/* Make progress once in a wait for room; `steps`: how often so far. */
static void step_while_waiting(struct ch_endpoint *ep, struct ch_staged_peer *peer,
                               uint32_t steps, struct wait *wait)
{
    ch_staged_progress_inner(ep);
    ch_staged_step(ep);
    if (steps % STEPS_PER_YIELD != 0) return;
    fail_if_late(ep, peer, wait);
    ch_link_give_way(&ep->terms.link);
}

/* Add an operation to the peer's list, after a wait for room in it. `asks`: its request, which
 * is noted too; null: it has none. */
static void add_op(struct ch_endpoint *ep, struct ch_staged_peer *peer, uint32_t ctx,
                   struct ch_staged_op *op, const struct ch_staged_request *asks)
{
    const uint32_t count = ch_link_counter_of(ctx, CH_STAGED_CTXS);
    struct ch_staged_request *request = NULL;
    struct wait wait = {0};

    for (uint32_t steps = 1; !peer->has_failed && ep->status == CHORUS_OK; steps++) {
        request = asks == NULL ? NULL : free_request(peer);
        if (peer->end_op - peer->first_op < CH_STAGED_OPS && (request != NULL || asks == NULL))
            break;
        step_while_waiting(ep, peer, steps, &wait);
    }
    if (peer->has_failed || ep->status != CHORUS_OK) return;
    if (request != NULL) {
        *request = *asks;
        request->count = count;
        request->tag = peer->tags++ * CH_STAGED_REQUESTS + (uint32_t)(request - peer->requests);
        op->head.tag = request->tag;
    }
    op->ctx = ctx;
    op->head.flushes = ch_staged_take_unflushed(peer, ctx);
    op->serial = ++peer->serial;
    peer->ctx_posted[count] = op->serial;
    if (op->source != NULL) peer->ctx_source[count] = op->serial;
    peer->ops[peer->end_op++ % CH_STAGED_OPS] = *op;
    ch_staged_begin(ep, peer);
}

/* Note that the inner network has taken an operation of the context: afterwards, since it may
 * have let other threads run, and ask whether all is done, before it took it. */
static void note_direct(struct ch_staged_peer *peer, uint32_t ctx)
{
    peer->direct[ch_link_counter_of(ctx, CH_STAGED_CTXS)]++;
}

static bool has_direct(const struct ch_staged_peer *peer, uint32_t count)
{
    return peer->direct[count] != peer->direct_done[count];
}

/* Would a word of the context that the inner network carries overtake operations in slots? */
static bool has_slots(const struct ch_staged_peer *peer, uint32_t ctx)
{
    return peer->done < peer->ctx_posted[ch_link_counter_of(ctx, CH_STAGED_CTXS)];
}

/* Does a word of the context need a slot, which the data before it, at `data` or (null) none,
 * does not? */
static bool word_needs_slot(struct ch_endpoint *ep, struct ch_staged_peer *peer, uint32_t ctx,
                            const void *word, const void *data)
{
    if (has_slots(peer, ctx) || is_there_on_gpu(peer, word)) return true;
    if (ep->terms.flush != CH_STAGED_FLUSH_WORDS) return false;
    return (ctx < CH_STAGED_CTXS && peer->is_unflushed[ctx]) ||
           (data != NULL && is_there_on_gpu(peer, data));
}

/* ---- operations; those on a link that has failed do nothing ---- */

static chorus_status put_direct(struct ch_endpoint *ep, struct ch_staged_peer *peer,
                                uint32_t ctx, char *there, const void *src, size_t bytes)
{
    chorus_status status;

    if (peer->has_failed) return CHORUS_OK;
    status = ep->inner->put(ep->inner_ep, ctx, peer->pe, there, src, bytes);
    note_direct(peer, ctx);
    ch_staged_note_put(ep, peer, ctx, there);
    return status;
}

/* Is the data an element that the program may poll? Algorithms announce what they put. */
static bool is_single(uint32_t ctx, const void *there, size_t bytes)
{
    return ctx != CH_CTX_ALGORITHMS && (bytes == 2 || bytes == 4 || bytes == 8) &&
           (uintptr_t)there % bytes == 0;
}

chorus_status ch_staged_put(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe, char *there,
                            const void *src, size_t bytes)
{
    struct ch_staged_peer *peer = ep->peers[pe];
    struct ch_staged_op op = {.head = {.kind = CH_STAGED_PUT,
                                       .there = (uintptr_t)there,
                                       .bytes = bytes,
                                       .is_single = is_single(ctx, there, bytes)},
                              .source = src,
                              .is_on_gpu = is_here_on_gpu(ep, src)};

    if (!put_needs_slots(ep, peer, ctx, &op))
        return put_direct(ep, peer, ctx, there, src, bytes);
    add_op(ep, peer, ctx, &op, NULL);
    return CHORUS_OK;
}

static chorus_status put_signal_direct(struct ch_endpoint *ep, struct ch_staged_peer *peer,
                                       uint32_t ctx, const struct ch_put_signal *put)
{
    chorus_status status;

    if (peer->has_failed) return CHORUS_OK;
    status = ch_staged_put_inner(ep, ctx, peer->pe, put);
    note_direct(peer, ctx);
    if (put->bytes != 0) ch_staged_note_put(ep, peer, ctx, put->dest);
    return status;
}

/* Data and word take the inner network, or each its own way; a slot may carry both. */
chorus_status ch_staged_put_signal(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe,
                                   const struct ch_put_signal *put)
{
    struct ch_staged_peer *peer = ep->peers[pe];
    struct ch_staged_op op = {.head = {.kind = CH_STAGED_PUT,
                                       .op = (uint8_t)put->op,
                                       .width = sizeof(*put->word),
                                       .word = (uintptr_t)put->word,
                                       .value = put->value}};
    struct ch_staged_op with_data = op;

    if (put->bytes != 0) {
        with_data.head.there = (uintptr_t)put->dest;
        with_data.head.bytes = put->bytes;
        with_data.source = put->source;
        with_data.is_on_gpu = is_here_on_gpu(ep, put->source);
        if (put_needs_slots(ep, peer, ctx, &with_data)) {
            add_op(ep, peer, ctx, &with_data, NULL);
            return CHORUS_OK;
        }
    }
    if (!word_needs_slot(ep, peer, ctx, put->word, put->bytes != 0 ? put->dest : NULL))
        return put_signal_direct(ep, peer, ctx, put);
    if (put->bytes != 0) CH_TRY(put_direct(ep, peer, ctx, put->dest, put->source, put->bytes));
    add_op(ep, peer, ctx, &op, NULL);
    return CHORUS_OK;
}

chorus_status ch_staged_get(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe, void *dst,
                            const char *there, size_t bytes)
{
    struct ch_staged_peer *peer = ep->peers[pe];
    chorus_status status = CHORUS_OK;
    struct ch_staged_op op = {
        .head = {.kind = CH_STAGED_GET, .there = (uintptr_t)there, .bytes = bytes}};
    const struct ch_staged_request asks = {
        .dst = dst, .bytes = bytes, .is_on_gpu = is_here_on_gpu(ep, dst)};

    if (needs_slots(ep, peer, dst, asks.is_on_gpu, &op.head) ||
        (asks.is_on_gpu && ep->terms.has_flush)) {
        add_op(ep, peer, ctx, &op, &asks);
    } else if (!peer->has_failed) {
        status = ep->inner->get(ep->inner_ep, ctx, pe, dst, there, bytes);
        note_direct(peer, ctx);
    }
    return status;
}

chorus_status ch_staged_amo(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe, enum ch_amo amo,
                            void *there, size_t bytes, uint64_t value, uint64_t compare,
                            uint64_t *fetched_out)
{
    struct ch_staged_peer *peer = ep->peers[pe];
    struct ch_staged_op op = {.head = {.kind = CH_STAGED_PUT,
                                       .op = (uint8_t)amo,
                                       .width = (uint8_t)bytes,
                                       .wants_reply = fetched_out != NULL,
                                       .word = (uintptr_t)there,
                                       .value = value,
                                       .compare = compare}};
    const struct ch_staged_request asks = {
        .dst = (char *)fetched_out, .bytes = sizeof(*fetched_out), .is_word = true};
    chorus_status status = CHORUS_OK;

    if (word_needs_slot(ep, peer, ctx, there, NULL)) {
        add_op(ep, peer, ctx, &op, fetched_out != NULL ? &asks : NULL);
    } else if (!peer->has_failed) {
        status = ep->inner->amo(ep->inner_ep, ctx, pe, amo, there, bytes, value, compare,
                                fetched_out);
        note_direct(peer, ctx);
    }
    return status;
}

/* ---- their ends ---- */

/* May the sources of what ctx posted to the peer change? */
static bool is_sent(struct ch_endpoint *ep, struct ch_staged_peer *peer, uint32_t ctx)
{
    const uint32_t count = ch_link_counter_of(ctx, CH_STAGED_CTXS);

    return peer->read >= peer->ctx_source[count] &&
           (!has_direct(peer, count) || ep->inner->is_sent(ep->inner_ep, ctx, peer->pe));
}

static bool has_request(const struct ch_staged_peer *peer, uint32_t count)
{
    for (uint32_t i = 0; i < CH_STAGED_REQUESTS; i++)
        if (peer->requests[i].dst != NULL && peer->requests[i].count == count) return true;
    return false;
}

/* Have the peer flush what the inner network has stored in its GPU, by an empty slot, if there
 * is room in the list. */
static void ask_flush(struct ch_endpoint *ep, struct ch_staged_peer *peer, uint32_t ctx)
{
    struct ch_staged_op op = {.head = {.kind = CH_STAGED_PUT}};

    if (peer->end_op - peer->first_op < CH_STAGED_OPS) add_op(ep, peer, ctx, &op, NULL);
}

/* Has what ctx posted to the peer taken effect? The inner network is asked only for what it
 * carried unchanged: the peer confirms what is in slots. */
static bool is_done(struct ch_endpoint *ep, struct ch_staged_peer *peer, uint32_t ctx)
{
    const uint32_t count = ch_link_counter_of(ctx, CH_STAGED_CTXS);
    const uint64_t direct = peer->direct[count]; /* others may post meanwhile */

    if (ctx < CH_STAGED_CTXS && peer->is_unflushed[ctx]) {
        ask_flush(ep, peer, ctx);
        return false;
    }
    if (has_direct(peer, count)) {
        if (!ep->inner->is_done(ep->inner_ep, ctx, peer->pe)) return false;
        /* Contexts that share a counter here may not do so in the inner network. */
        if (ctx < CH_CTX_PROGRAM) peer->direct_done[count] = direct;
    }
    return !has_slots(peer, ctx) && !has_request(peer, count);
}

typedef bool (*is_over_fn)(struct ch_endpoint *ep, struct ch_staged_peer *peer, uint32_t ctx);

/* Does is_over hold for pe, or for all (CH_LINK_ALL)? Never after a failure. */
static bool holds_for_peers(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe,
                            is_over_fn is_over)
{
    const uint32_t lo = pe == CH_LINK_ALL ? 0 : pe,
                   hi = pe == CH_LINK_ALL ? ep->terms.link.n : pe + 1;
    bool over = true;

    for (uint32_t i = lo; i < hi; i++)
        if (ep->peers[i] != NULL) over &= is_over(ep, ep->peers[i], ctx);
    return over && ep->status == CHORUS_OK;
}

bool ch_staged_is_sent(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe)
{
    return holds_for_peers(ep, ctx, pe, is_sent);
}

bool ch_staged_is_done(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe)
{
    return holds_for_peers(ep, ctx, pe, is_done);
}

/* Do slots carry operations that use memory of the caller: sources that were not read, or
 * destinations? */
static bool uses_memory(const struct ch_staged_peer *peer)
{
    for (uint32_t i = 0; i < CH_STAGED_CTXS; i++)
        if (peer->ctx_source[i] > peer->read || has_request(peer, i)) return true;
    return false;
}

/* If operations use memory of the caller, the link fails, and nothing that arrives later is
 * stored. Copies that were queued end before this returns. */
void ch_staged_abandon(struct ch_endpoint *ep, uint32_t pe)
{
    struct ch_staged_peer *peer = ep->peers[pe];

    if (peer == NULL) return;
    if (!peer->has_failed && uses_memory(peer))
        ch_staged_fail(ep, peer, CHORUS_ERR_TIMEOUT, "%s", CH_LINK_ABANDONED);
    if (peer->has_failed) ch_staged_drain(ep);
    ep->inner->abandon(ep->inner_ep, pe);
}
