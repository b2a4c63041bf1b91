/* SPDX-License-Identifier: Apache-2.0 */
/* post.c: turns operations into frames, or into reads and writes of the peer's memory. */
#include "transport/ofi/ofi.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

enum { STEPS_PER_YIELD = 16 };

/* ---- room ---- */

/* Make progress once in a wait for room; `steps`: how often so far; *start_ns, at first 0, is
 * set to the start of the wait. False: the wait ends, since the peer has failed, accepts
 * nothing, or the job ends. */
static bool step_while_waiting(struct ch_endpoint *ep, uint32_t pe, uint32_t steps,
                               uint64_t *start_ns)
{
    const uint64_t timeout = ep->terms.options->timeout_ns;
    uint64_t now;

    ch_ofi_step(ep);
    if (steps % STEPS_PER_YIELD == 0) {
        now = ch_clock_ns();
        if (*start_ns == 0) *start_ns = now;
        if (__atomic_load_n(&ep->terms.door->aborted, __ATOMIC_RELAXED))
            ch_ofi_fail(ep, pe, FI_ECANCELED, "the job is ending");
        else if (timeout != 0 && now - *start_ns > timeout)
            ch_ofi_fail(ep, pe, FI_ETIMEDOUT, "it accepts no messages; is it stopped?");
        ch_link_give_way(&ep->terms);
    }
    return !ep->peers[pe].has_failed;
}

bool ch_ofi_append(struct ch_ofi_peer *peer, const struct ch_frame *head, const void *body,
                   size_t bytes, bool is_reply)
{
    const size_t room = is_reply ? CH_OFI_MESSAGE : CH_OFI_MESSAGE - CH_OFI_RESERVE;

    if (peer->n_out + sizeof(*head) + bytes > room) return false;
    memcpy(peer->out + peer->n_out, head, sizeof(*head));
    if (bytes != 0) memcpy(peer->out + peer->n_out + sizeof(*head), body, bytes);
    peer->n_out += sizeof(*head) + bytes;
    return true;
}

/* ---- frames ---- */

void ch_ofi_flush(struct ch_endpoint *ep, uint32_t pe)
{
    struct ch_ofi_peer *peer = &ep->peers[pe];
    struct ch_ofi_op *op = ep->free_sends;
    struct ch_ofi_header header = {.from = ep->terms.me};
    ssize_t error;

    if (peer->has_failed || op == NULL || peer->n_out == sizeof(header)) return;
    if (!ep->is_ordered && peer->bulks != 0) return;
    header.bytes = (uint32_t)peer->n_out;
    memcpy(header.token, peer->token_out, sizeof(header.token));
    memcpy(op->buffer, &header, sizeof(header));
    memcpy(op->buffer + sizeof(header), peer->out + sizeof(header),
           peer->n_out - sizeof(header));
    op->pe = pe;
    error = fi_send(ep->endpoint, op->buffer, peer->n_out,
                    ep->buffers_mr != NULL ? fi_mr_desc(ep->buffers_mr) : NULL, peer->address,
                    &op->context);
    if (error == -FI_EAGAIN) return;
    if (error != 0) {
        ch_ofi_fail(ep, pe, (int)-error, "a message cannot be sent");
        return;
    }
    ep->free_sends = op->next;
    ep->n_sends++;
    ep->has_moved = true;
    peer->n_out = sizeof(header);
}

/* Have as many requests as are allowed at a time no reply yet? */
static bool is_pending_full(const struct ch_ofi_peer *peer)
{
    return peer->end_pending - peer->first_pending == CH_OFI_PENDING;
}

/* Append a frame for an operation of ctx, after a wait for room. False: the peer has failed. */
static bool post_frame(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe,
                       const struct ch_frame *head, const void *body, size_t bytes)
{
    struct ch_ofi_peer *peer = &ep->peers[pe];
    uint64_t start_ns = 0;

    for (uint32_t steps = 1; peer->has_failed || is_pending_full(peer) ||
                             !ch_ofi_append(peer, head, body, bytes, false);
         steps++) {
        if (peer->has_failed) return false;
        ch_ofi_flush(ep, pe);
        if (!step_while_waiting(ep, pe, steps, &start_ns)) return false;
    }
    peer->ctx_posted[ch_link_counter_of(ctx, CH_OFI_CTXS)] = ++peer->posted;
    return true;
}

/* Note that the last frame's reply is to be stored at dst, or (null) only awaited; it also
 * confirms all earlier frames. */
static void add_pending_reply(struct ch_ofi_peer *peer, void *dst)
{
    peer->pending[peer->end_pending++ % CH_OFI_PENDING] =
        (struct ch_ofi_pending){dst, peer->posted};
    peer->asked = peer->posted;
}

/* Is this address in a part on a GPU, which no CPU accesses? */
static bool is_on_gpu(struct ch_parts *parts, const void *at)
{
    const struct ch_part *part = ch_parts_find(parts, (uintptr_t)at);

    return part != NULL && part->kind == CH_MEMORY_GPU;
}

/* Fail the peer unless its CPU can access its word. */
static bool check_cpu_access(struct ch_endpoint *ep, uint32_t pe, const void *word)
{
    if (!is_on_gpu(&ep->peers[pe].parts, word)) return true;
    ch_ofi_fail(ep, pe, FI_EOPNOTSUPP,
                "its word is in GPU memory, where its CPU cannot change it for an atomic "
                "operation or a signal");
    return false;
}

/* Post a frame that stores a word, and send it with those before it. */
static void post_word(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe, uint64_t *word,
                      uint64_t value)
{
    const struct ch_frame head = {
        .kind = CH_FRAME_WORD, .there = (uintptr_t)word, .value = value};

    if (check_cpu_access(ep, pe, word) && post_frame(ep, ctx, pe, &head, NULL, 0))
        ch_ofi_flush(ep, pe);
}

chorus_status ch_ofi_amo(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe, enum ch_amo op,
                         void *there, size_t bytes, uint64_t value, uint64_t compare,
                         uint64_t *fetched_out)
{
    const struct ch_frame_operands operands = {value, compare};
    const struct ch_frame head = {.kind = CH_FRAME_AMO,
                                  .op = (uint8_t)op,
                                  .width = (uint8_t)bytes,
                                  .wants_reply = fetched_out != NULL,
                                  .there = (uintptr_t)there};

    if (!check_cpu_access(ep, pe, there) ||
        !post_frame(ep, ctx, pe, &head, &operands, sizeof(operands)))
        return CHORUS_OK;
    if (fetched_out != NULL) add_pending_reply(&ep->peers[pe], fetched_out);
    ch_ofi_flush(ep, pe);
    return CHORUS_OK;
}

/* ---- reads and writes ---- */

/*
 * Let op transfer a copy in place of `memory`, which is set to the copy. False: no memory.
 *
 * An operation that was given up must not use memory of the caller. Few providers can cancel a
 * read or a write, so the endpoint is closed. Providers in software may fail in that (that of
 * libfabric 1.17 for TCP does, if part of what it reads has arrived), and may load and store
 * the memory themselves, which ends the program if it was unmapped. With them, the data goes
 * through copies: sockets are slow enough for it not to matter.
 */
static bool make_copy(struct ch_ofi_op *op, struct iovec *memory, bool is_put)
{
    op->copy = malloc(memory->iov_len);
    op->bytes = memory->iov_len;
    if (op->copy == NULL) return false;
    if (is_put)
        memcpy(op->copy, memory->iov_base, op->bytes);
    else
        op->dst = memory->iov_base;
    memory->iov_base = op->copy;
    return true;
}

/* Set *desc_out to the fabric's descriptor for memory at this PE: that of a part, or one
 * registered for the operation; null: the fabric needs none. Memory of a GPU, which is in a
 * part, always needs one. */
static chorus_status get_descriptor(struct ch_endpoint *ep, struct ch_ofi_op *op, void *memory,
                                    size_t bytes, void **desc_out)
{
    const struct ch_part *part = ch_parts_find(&ep->parts, (uintptr_t)memory);
    const struct ch_memory_part own = {.base = memory, .bytes = bytes};

    *desc_out = NULL;
    if ((ep->info->domain_attr->mr_mode & FI_MR_LOCAL) == 0 &&
        (part == NULL || part->kind == CH_MEMORY_HOST))
        return CHORUS_OK;
    if (part != NULL && part->bytes - ((uintptr_t)memory - part->base) >= bytes) {
        *desc_out = fi_mr_desc(part->handle);
        return CHORUS_OK;
    }
    CH_TRY(ch_ofi_register(ep, &own, FI_WRITE | FI_READ, &op->mr));
    *desc_out = fi_mr_desc(op->mr);
    return CHORUS_OK;
}

/* Take a free operation for a transfer, after a wait if there is none. Null: the peer has
 * failed. */
static struct ch_ofi_op *wait_for_bulk_op(struct ch_endpoint *ep, uint32_t pe)
{
    struct ch_ofi_op *op;
    uint64_t start_ns = 0;

    for (uint32_t steps = 1; ep->free_bulks == NULL; steps++)
        if (!step_while_waiting(ep, pe, steps, &start_ns)) return NULL;
    op = ep->free_bulks;
    ep->free_bulks = op->next;
    return op;
}

/* Begin one transfer, within one part of the peer's memory. Returns 0, or a negative error of
 * libfabric. */
static ssize_t begin_bulk(struct ch_endpoint *ep, struct ch_ofi_op *op,
                          const struct ch_part *part, uintptr_t there,
                          const struct iovec *memory, void *desc, bool is_put)
{
    const bool is_virtual = (ep->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
    const struct fi_rma_iov target = {.addr = is_virtual ? there : there - part->base,
                                      .len = memory->iov_len,
                                      .key = part->key};
    const struct fi_msg_rma message = {.msg_iov = memory,
                                       .desc = &desc,
                                       .iov_count = 1,
                                       .addr = ep->peers[op->pe].address,
                                       .rma_iov = &target,
                                       .rma_iov_count = 1,
                                       .context = &op->context};

    /* If writes stay in order, a reply after them confirms that they have arrived. */
    if (is_put)
        return fi_writemsg(ep->endpoint, &message,
                           FI_COMPLETION | (ep->is_ordered ? 0 : FI_DELIVERY_COMPLETE));
    return fi_readmsg(ep->endpoint, &message, FI_COMPLETION);
}

/* Begin a transfer, after a wait if the fabric is busy. False: it was not begun, and the peer
 * has failed. */
static bool post_bulk(struct ch_endpoint *ep, struct ch_ofi_op *op, const struct ch_part *part,
                      uintptr_t there, struct iovec memory, bool is_put)
{
    const uint32_t pe = op->pe;
    uint64_t start_ns = 0;
    void *desc = NULL;
    ssize_t error;

    if (ep->is_software && !make_copy(op, &memory, is_put)) {
        ch_ofi_fail(ep, pe, FI_ENOMEM, "there is no memory for a copy");
        return false;
    }
    if (get_descriptor(ep, op, memory.iov_base, memory.iov_len, &desc) != CHORUS_OK) {
        ch_ofi_fail(ep, pe, FI_ENOMEM, "memory cannot be registered");
        return false;
    }
    for (uint32_t steps = 1;; steps++) {
        error = begin_bulk(ep, op, part, there, &memory, desc, is_put);
        if (error != -FI_EAGAIN || !step_while_waiting(ep, pe, steps, &start_ns)) break;
    }
    if (error != 0 && !ep->peers[pe].has_failed)
        ch_ofi_fail(ep, pe, (int)-error, "a transfer cannot begin");
    return error == 0;
}

/* Post and count one transfer of ctx, within one part of the peer's memory. */
static void start_bulk(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe,
                       const struct ch_part *part, uintptr_t there, struct iovec memory,
                       bool is_put)
{
    struct ch_ofi_peer *peer = &ep->peers[pe];
    struct ch_ofi_op *op = wait_for_bulk_op(ep, pe);

    if (op == NULL) return;
    op->pe = pe;
    op->ctx = ch_link_counter_of(ctx, CH_OFI_CTXS);
    if (!post_bulk(ep, op, part, there, memory, is_put)) {
        ch_ofi_release(ep, op);
        return;
    }
    op->is_read = !is_put;
    peer->bulks++;
    peer->bulks_of[op->is_read][op->ctx]++;
    if (is_put && ep->is_ordered) peer->ctx_posted[op->ctx] = ++peer->posted;
    ep->has_moved = true;
}

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Returns how many of the bytes one transfer can move, between `at` at this PE and `there` in
 * the peer's part. Memory of this PE's GPU has a descriptor for each part. */
static size_t transfer_bytes(struct ch_endpoint *ep, const char *at, const struct ch_part *part,
                             uintptr_t there, size_t bytes)
{
    const struct ch_part *own = ch_parts_find(&ep->parts, (uintptr_t)at);
    const size_t most = ep->info->ep_attr->max_msg_size;

    bytes = min_size(bytes, part->base + part->bytes - there);
    if (own != NULL && own->kind == CH_MEMORY_GPU)
        bytes = min_size(bytes, own->base + own->bytes - (uintptr_t)at);
    return min_size(bytes, most);
}

/* Post the transfers of a whole put or get, which is divided at the parts of the peer's memory,
 * and at those of this PE's GPU. */
static void transfer(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe, uintptr_t there,
                     void *memory, size_t bytes, bool is_put)
{
    struct ch_ofi_peer *peer = &ep->peers[pe];
    char *at = memory;

    while (bytes != 0 && !peer->has_failed) {
        const struct ch_part *found = ch_parts_find(&peer->parts, there);
        struct ch_part
            part; /* a copy, as other threads may add parts while this one waits for room */
        size_t here;

        if (found == NULL) {
            ch_ofi_fail(ep, pe, FI_EINVAL,
                        "the memory that it announced does not contain the address");
            return;
        }
        part = *found;
        here = transfer_bytes(ep, at, &part, there, bytes);
        start_bulk(ep, ctx, pe, &part, there, (struct iovec){at, here}, is_put);
        there += here;
        at += here;
        bytes -= here;
    }
}

chorus_status ch_ofi_put(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe, char *there,
                         const void *src, size_t bytes)
{
    const struct ch_frame head = {
        .kind = CH_FRAME_PUT, .there = (uintptr_t)there, .value = bytes};
    uint64_t small[CH_OFI_SMALL / sizeof(uint64_t)];

    if (bytes > CH_OFI_SMALL || is_on_gpu(&ep->parts, src) ||
        is_on_gpu(&ep->peers[pe].parts, there)) {
        transfer(ep, ctx, pe, (uintptr_t)there, (void *)(uintptr_t)src, bytes, true);
        return CHORUS_OK;
    }
    ch_get_bytes(small, src, bytes);
    (void)post_frame(ep, ctx, pe, &head, small, bytes);
    return CHORUS_OK;
}

/* Short data and the word are sent as one message. */
chorus_status ch_ofi_put_signal(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe,
                                const struct ch_put_signal *put)
{
    if (put->bytes != 0) CH_TRY(ch_ofi_put(ep, ctx, pe, put->dest, put->source, put->bytes));
    if (put->op == CH_AMO_SET)
        post_word(ep, ctx, pe, put->word, put->value);
    else
        CH_TRY(ch_ofi_amo(ep, ctx, pe, put->op, put->word, sizeof(*put->word), put->value, 0,
                          NULL));
    return CHORUS_OK;
}

chorus_status ch_ofi_get(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe, void *dst,
                         const char *there, size_t bytes)
{
    transfer(ep, ctx, pe, (uintptr_t)there, dst, bytes, false);
    return CHORUS_OK;
}

/* ---- completion ---- */

/* May the sources of what ctx posted to pe change? Sends frames first. */
static bool is_sent(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe)
{
    ch_ofi_flush(ep, pe);
    return ep->peers[pe].bulks_of[false][ch_link_counter_of(ctx, CH_OFI_CTXS)] == 0;
}

/* Has what ctx posted to pe taken effect? If not, requests a reply, unless one is requested
 * already. */
static bool is_done(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe)
{
    const struct ch_frame head = {.kind = CH_FRAME_ASK};
    struct ch_ofi_peer *peer = &ep->peers[pe];
    const uint32_t of = ch_link_counter_of(ctx, CH_OFI_CTXS);
    const uint64_t last = peer->ctx_posted[of];

    if (peer->asked < last && !is_pending_full(peer)) {
        if (!post_frame(ep, ctx, pe, &head, NULL, 0)) return false;
        peer->ctx_posted[of] = last;
        add_pending_reply(peer, NULL);
    }
    return is_sent(ep, ctx, pe) && peer->bulks_of[true][of] == 0 && peer->done >= last;
}

typedef bool (*is_over_fn)(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe);

/* Does is_over hold for pe, or for all PEs (CH_LINK_ALL)? Never after a failure. */
static bool holds_for_peers(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe,
                            is_over_fn is_over)
{
    bool over = true;
    const uint32_t lo = pe == CH_LINK_ALL ? 0 : pe,
                   hi = pe == CH_LINK_ALL ? ep->terms.n : pe + 1;

    for (uint32_t i = lo; i < hi; i++)
        over &= is_over(ep, ctx, i);
    return over && ep->status == CHORUS_OK;
}

bool ch_ofi_is_sent(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe)
{
    return holds_for_peers(ep, ctx, pe, is_sent);
}

bool ch_ofi_is_done(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe)
{
    return holds_for_peers(ep, ctx, pe, is_done);
}

bool ch_ofi_is_reading(const struct ch_endpoint *ep, uint32_t pe)
{
    for (uint32_t i = 0; i < CH_OFI_OPS; i++)
        if (ep->ops[i].is_read && (pe == CH_LINK_ALL || ep->ops[i].pe == pe)) return true;
    return false;
}

/* Will memory of the caller be read or written for operations with pe? Sources of short puts
 * were copied. */
static bool uses_memory(const struct ch_endpoint *ep, uint32_t pe)
{
    const struct ch_ofi_peer *peer = &ep->peers[pe];

    for (uint64_t i = peer->first_pending; i != peer->end_pending; i++)
        if (peer->pending[i % CH_OFI_PENDING].dst != NULL) return true;
    return ep->is_software ? ch_ofi_is_reading(ep, pe) : peer->bulks != 0;
}

/* Fail the peer if its operations use memory of the caller: its replies are then ignored. If
 * the fabric itself uses the memory, the endpoint is closed, and all peers are lost. */
void ch_ofi_abandon(struct ch_endpoint *ep, uint32_t pe)
{
    if (!uses_memory(ep, pe)) return;
    ch_ofi_fail(ep, pe, FI_ETIMEDOUT, CH_LINK_ABANDONED);
    for (uint32_t i = 0; i < CH_OFI_OPS; i++)
        if (ep->ops[i].pe == pe) ep->ops[i].dst = NULL;
    if (!ep->is_software && ep->peers[pe].bulks != 0) ch_ofi_close_endpoint(ep);
}
