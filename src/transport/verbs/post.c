/* SPDX-License-Identifier: Apache-2.0 */
/*
 * post.c: turns operations into work requests.
 *
 * A write or read is one work request for each part of memory that it accesses, on either
 * side. Short sources are copied into the work request (inline). Memory that is not attached
 * is copied through pieces of a registered pool: for writes before they are posted, for reads
 * when the completion arrives. A completion is requested for each operation that borrows or
 * uses such memory, and otherwise for one work request in CH_VERBS_EVERY.
 *
 * The CPU cannot access memory of a GPU. Sources there are never sent inline, and words there
 * are only written by the device.
 */
#include "transport/verbs/state.h"

#include "base/clock.h"

#include <string.h>

enum { SPINS = 64, LOOKS_AT_CLOCK = 256, DOZE_LINKS = 64 };

/* --- waiting for room --- */

struct waited {
    uint64_t start_ns;
    uint32_t looks;
};

/* Make progress once while waiting for room. False: the network has failed, or the wait has
 * reached its time limit. */
static bool progress_while_waiting(struct ch_endpoint *ep, struct ch_verbs_link *link,
                                   struct waited *p)
{
    const uint64_t limit = ep->terms.options->timeout_ns;
    bool moved = false;

    (void)ch_verbs_progress(ep, &moved);
    if (ep->failed != CHORUS_OK) return false;
    if (++p->looks % SPINS == 0 && !ep->is_replaying) ch_link_give_way(&ep->terms);
    if (moved) return true;
    if (p->looks % LOOKS_AT_CLOCK != 0) return true;
    if (p->start_ns == 0) p->start_ns = ch_clock_ns();
    if (__atomic_load_n(&ep->terms.door->aborted, __ATOMIC_RELAXED) != 0)
        ch_verbs_fail(ep, link, CHORUS_ERR_ABORTED, "the job is ending");
    else if (limit != 0 && ch_clock_ns() - p->start_ns > limit)
        ch_verbs_fail(ep, link, CHORUS_ERR_TIMEOUT,
                      "it accepts no more requests; is it stopped?");
    return ep->failed == CHORUS_OK;
}

/* Is there room for a work request of the link, and for its completion? */
static bool has_room(const struct ch_endpoint *ep, const struct ch_verbs_link *link)
{
    return link->posted - link->retired < CH_VERBS_DEPTH && ep->n_unread < CH_VERBS_SENDS;
}

/* Wait for room for one work request. False: the network has failed. */
static bool wait_for_room(struct ch_endpoint *ep, struct ch_verbs_link *link)
{
    struct waited p = {0, 0};

    while (!has_room(ep, link))
        if (!progress_while_waiting(ep, link, &p)) return false;
    return true;
}

/* Wait until the peer has answered all atomic operations of the link. False: the network has
 * failed. */
static bool wait_for_answers(struct ch_endpoint *ep, struct ch_verbs_link *link)
{
    struct waited p = {0, 0};

    while (link->asked != link->answered)
        if (!progress_while_waiting(ep, link, &p)) return false;
    return true;
}

/* Take a free piece of the pool, after a wait if there is none. Null: the network has failed.
 */
static char *wait_for_piece(struct ch_endpoint *ep, struct ch_verbs_link *link)
{
    struct waited p = {0, 0};

    while (ep->n_free_pieces == 0)
        if (!progress_while_waiting(ep, link, &p)) return NULL;
    return ep->free_pieces[--ep->n_free_pieces];
}

/* --- work requests --- */

/* Post one work request for which there is room; `slot`: what its completion releases. */
static void post_request(struct ch_endpoint *ep, struct ch_verbs_link *link,
                         struct ibv_send_wr *wr, struct ch_verbs_slot slot)
{
    const uint64_t number = link->posted + 1;
    struct ibv_send_wr *bad;
    int error;

    if (link->qp == NULL) { /* it was ended while this thread waited for room */
        if (slot.piece != NULL) ep->free_pieces[ep->n_free_pieces++] = slot.piece;
        return;
    }
    if (number - link->signaled >= CH_VERBS_EVERY) slot.is_signaled = true;
    if (slot.is_signaled) wr->send_flags |= IBV_SEND_SIGNALED;
    wr->wr_id = (uint64_t)link->index << 32 | (uint32_t)number;
    error = ibv_post_send(link->qp, wr, &bad);
    if (error != 0) {
        if (slot.piece != NULL) ep->free_pieces[ep->n_free_pieces++] = slot.piece;
        ch_verbs_fail(ep, link, CHORUS_ERR_SYSTEM, "a work request was refused: %s",
                      strerror(error));
        return;
    }
    link->posted = number;
    link->slots[number % CH_VERBS_DEPTH] = slot;
    if (slot.is_signaled) {
        link->signaled = number;
        ep->n_unread++;
    }
}

/* Copy the part of the peer's memory that contains `there`; a copy, since other threads may add
 * parts while this one waits for room. False: there is none, and the network has failed. */
static bool find_place(struct ch_endpoint *ep, struct ch_verbs_link *link, const char *there,
                       struct ch_part *place_out)
{
    const struct ch_part *place = ch_parts_find(&ep->peers[link->pe].places, (uintptr_t)there);

    if (place == NULL) {
        ch_verbs_fail(ep, link, CHORUS_ERR_SYSTEM, "its memory at %p was not announced",
                      (const void *)there);
        return false;
    }
    *place_out = *place;
    return true;
}

/* Has the peer announced all of this memory? If not, the network fails before anything is
 * accessed. */
static bool is_memory_known(struct ch_endpoint *ep, struct ch_verbs_link *link,
                            const char *there, size_t bytes)
{
    const uintptr_t end = (uintptr_t)there + bytes;
    struct ch_part place;

    for (uintptr_t at = (uintptr_t)there; at < end; at = place.base + place.bytes)
        if (!find_place(ep, link, (const char *)at, &place)) return false;
    return true;
}

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Returns how many of the bytes one work request can transfer, between `at` at this PE, which
 * is in `part` or (null) in none, and `there` in the peer's `place`. */
static size_t request_bytes(const struct ch_endpoint *ep, const struct ch_part *part,
                            const char *at, const struct ch_part *place, const char *there,
                            size_t bytes)
{
    bytes = min_size(bytes, place->base + place->bytes - (uintptr_t)there);
    if (part == NULL) return min_size(bytes, CH_VERBS_PIECE_BYTES);
    bytes = min_size(bytes, ep->device.port_attr.max_msg_sz);
    return min_size(bytes, part->base + part->bytes - (uintptr_t)at);
}

/* Post a write of the first bytes of a put, as many as one work request can; *done_out is their
 * number. False: the network has failed. */
static bool post_put(struct ch_endpoint *ep, struct ch_verbs_link *link, char *there,
                     const char *src, size_t bytes, size_t *done_out)
{
    const struct ch_part *part = ch_parts_find(&ep->parts, (uintptr_t)src);
    struct ch_part place;
    struct ch_verbs_slot slot = {0};
    struct ibv_sge sge = {.addr = (uintptr_t)src};
    struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE};

    if (!find_place(ep, link, there, &place)) return false;
    bytes = request_bytes(ep, part, src, &place, there, bytes);
    sge.length = (uint32_t)bytes;
    if (bytes <= ep->inline_bytes && (part == NULL || part->kind == CH_MEMORY_HOST)) {
        wr.send_flags = IBV_SEND_INLINE;
    } else if (part != NULL) {
        sge.lkey = (uint32_t)part->key;
        slot.is_signaled = slot.is_direct = true;
    } else {
        slot.piece = wait_for_piece(ep, link);
        if (slot.piece == NULL) return false;
        memcpy(slot.piece, src, bytes);
        slot.is_signaled = true;
        sge.addr = (uintptr_t)slot.piece;
        sge.lkey = ep->pool_mr->lkey;
    }
    wr.wr.rdma.remote_addr = (uintptr_t)there;
    wr.wr.rdma.rkey = CH_VERBS_RELAXED(place.key);
    if (!wait_for_room(ep, link)) return false;
    post_request(ep, link, &wr, slot);
    if (slot.is_direct) link->lent = link->posted;
    *done_out = bytes;
    return true;
}

/* Post a read of the first bytes of a get, as many as one work request can; *done_out is their
 * number. False: the network has failed. */
static bool post_get(struct ch_endpoint *ep, struct ch_verbs_link *link, char *dst,
                     const char *there, size_t bytes, size_t *done_out)
{
    const struct ch_part *part = ch_parts_find(&ep->parts, (uintptr_t)dst);
    struct ch_part place;
    struct ch_verbs_slot slot = {.is_signaled = true};
    struct ibv_sge sge = {.addr = (uintptr_t)dst};
    struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_READ};

    if (!find_place(ep, link, there, &place)) return false;
    bytes = request_bytes(ep, part, dst, &place, there, bytes);
    sge.length = (uint32_t)bytes;
    if (part != NULL) {
        sge.lkey = (uint32_t)part->key;
        slot.is_direct = true;
    } else {
        slot.piece = wait_for_piece(ep, link);
        if (slot.piece == NULL) return false;
        slot.dst = dst;
        slot.bytes = (uint32_t)bytes;
        sge.addr = (uintptr_t)slot.piece;
        sge.lkey = ep->pool_mr->lkey;
    }
    wr.wr.rdma.remote_addr = (uintptr_t)there;
    wr.wr.rdma.rkey = CH_VERBS_STRICT(place.key);
    if (!wait_for_room(ep, link)) return false;
    post_request(ep, link, &wr, slot);
    *done_out = bytes;
    return true;
}

/* Post a message for the peer's CPU, for which there is room. */
static void send_mail(struct ch_endpoint *ep, struct ch_verbs_link *link,
                      const struct ch_verbs_mail *mail)
{
    struct ibv_sge sge = {.addr = (uintptr_t)mail, .length = sizeof(*mail)};
    struct ibv_send_wr wr = {
        .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_INLINE};

    post_request(ep, link, &wr, (struct ch_verbs_slot){0});
}

/* Fail the network unless the peer's CPU can access its memory at `there`. */
static bool check_cpu_access(struct ch_endpoint *ep, struct ch_verbs_link *link,
                             const char *there)
{
    struct ch_part place;

    if (!find_place(ep, link, there, &place)) return false;
    if (place.kind == CH_MEMORY_HOST) return true;
    ch_verbs_fail(
        ep, link, CHORUS_ERR_UNSUPPORTED,
        "its word at %p is in GPU memory, where its CPU cannot change it for an atomic "
        "operation or a signal",
        (const void *)there);
    return false;
}

/* Request an atomic operation of the peer's CPU, after a wait for room. */
static void post_amo(struct ch_endpoint *ep, struct ch_verbs_link *link,
                     const struct ch_verbs_op *op)
{
    const struct ch_verbs_mail mail = {.link = link->peer_link,
                                       .kind = CH_VERBS_MAIL_AMO,
                                       .op = (uint8_t)op->amo,
                                       .bytes = (uint8_t)op->bytes,
                                       .there = (uintptr_t)op->there,
                                       .value = op->value,
                                       .compare = op->compare};
    struct waited p = {0, 0};

    if (!check_cpu_access(ep, link, op->there)) return;
    while (link->asked - link->answered == CH_VERBS_AMOS || !has_room(ep, link))
        if (!progress_while_waiting(ep, link, &p)) return;
    link->fetched[link->asked++ % CH_VERBS_AMOS] = op->dst;
    send_mail(ep, link, &mail);
}

/*
 * Store a word at the peer after the earlier writes. If the device performs writes in order, a
 * word is a separate write after the earlier writes, under the key under which no write passes
 * another. Otherwise, and after atomic operations, which the peer's CPU may not have executed
 * yet, that CPU stores the word: it receives the message after all earlier writes have arrived.
 * A word in GPU memory, which that CPU cannot store, waits for the answers to these atomic
 * operations instead.
 */
static void post_word(struct ch_endpoint *ep, struct ch_verbs_link *link,
                      const struct ch_verbs_op *op)
{
    struct ch_part place;
    struct ibv_sge sge = {.addr = (uintptr_t)&op->value, .length = sizeof(op->value)};
    struct ibv_send_wr wr = {.sg_list = &sge,
                             .num_sge = 1,
                             .opcode = IBV_WR_RDMA_WRITE,
                             .send_flags = IBV_SEND_INLINE};

    if (!find_place(ep, link, op->there, &place)) return;
    if (ep->is_in_order && place.kind == CH_MEMORY_GPU && !wait_for_answers(ep, link)) return;
    if (!ep->is_in_order || link->asked != link->answered) {
        struct ch_verbs_op set = *op;

        set.amo = CH_AMO_SET;
        set.bytes = sizeof(op->value);
        post_amo(ep, link, &set);
        return;
    }
    if (!wait_for_room(ep, link)) return;
    wr.wr.rdma.remote_addr = (uintptr_t)op->there;
    wr.wr.rdma.rkey = CH_VERBS_STRICT(place.key);
    post_request(ep, link, &wr, (struct ch_verbs_slot){0});
}

/* Send a message without contents to the peer's CPU. False: there is no room; it is omitted,
 * and the peer polls again after a while. */
static bool send_notice(struct ch_endpoint *ep, struct ch_verbs_link *link,
                        enum ch_verbs_mail_kind kind)
{
    const struct ch_verbs_mail mail = {.link = link->peer_link, .kind = (uint8_t)kind};

    if (link->stage != CH_VERBS_UP || !has_room(ep, link)) return false;
    send_mail(ep, link, &mail);
    return true;
}

/* With many links, announcements would cost more than the sleep of a millisecond. */
void ch_verbs_announce_sleep(struct ch_endpoint *ep)
{
    if (!ep->is_in_order || ep->n_links > DOZE_LINKS || ep->failed != CHORUS_OK) return;
    for (uint32_t i = 0; i < ep->n_links; i++)
        if (!ep->links[i]->is_told)
            ep->links[i]->is_told = send_notice(ep, ep->links[i], CH_VERBS_MAIL_DOZES);
}

/* Send an event to the peer if it sleeps, and may wait for the word that op stores. */
static void wake_sleeping_peer(struct ch_endpoint *ep, struct ch_verbs_link *link,
                               const struct ch_verbs_op *op)
{
    const bool is_word = op->kind == CH_VERBS_WORD ||
                         (op->kind == CH_VERBS_PUT && op->bytes <= sizeof(uint64_t));

    if (!link->peer_dozes || !is_word) return;
    link->peer_dozes = !send_notice(ep, link, CH_VERBS_MAIL_KNOCK);
}

/* Post the work requests of an operation, after waits for room; its memory at the peer is
 * checked first. */
static void perform_op(struct ch_endpoint *ep, struct ch_verbs_link *link,
                       const struct ch_verbs_op *op)
{
    size_t done = 0;

    if (!is_memory_known(ep, link, op->there, op->bytes)) return;
    switch (op->kind) {
    case CH_VERBS_PUT:
        for (size_t at = 0; at < op->bytes && link->stage == CH_VERBS_UP; at += done)
            if (!post_put(ep, link, op->there + at, (const char *)op->src + at, op->bytes - at,
                          &done))
                return;
        return;
    case CH_VERBS_GET:
        for (size_t at = 0; at < op->bytes && link->stage == CH_VERBS_UP; at += done)
            if (!post_get(ep, link, (char *)op->dst + at, op->there + at, op->bytes - at,
                          &done))
                return;
        return;
    case CH_VERBS_WORD:
        if (link->stage == CH_VERBS_UP) post_word(ep, link, op);
        return;
    case CH_VERBS_AMO:
        if (link->stage == CH_VERBS_UP) post_amo(ep, link, op);
        return;
    }
}

void ch_verbs_perform_op(struct ch_endpoint *ep, struct ch_verbs_link *link,
                         const struct ch_verbs_op *op)
{
    perform_op(ep, link, op);
    wake_sleeping_peer(ep, link, op);
}

void ch_verbs_post_or_hold(struct ch_endpoint *ep, struct ch_verbs_link *link,
                           const struct ch_verbs_op *op)
{
    struct waited p = {0, 0};

    while (link->stage == CH_VERBS_CALLING && link->n_held == CH_VERBS_HELD)
        if (!progress_while_waiting(ep, link, &p)) return;
    if (link->stage == CH_VERBS_CALLING)
        ch_verbs_hold_op(ep, link, op);
    else
        ch_verbs_perform_op(ep, link, op);
}

void ch_verbs_flush(struct ch_endpoint *ep, struct ch_verbs_link *link)
{
    struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_WRITE};

    if (link->signaled != link->posted && has_room(ep, link))
        post_request(ep, link, &wr, (struct ch_verbs_slot){.is_signaled = true});
}

void ch_verbs_send_answers(struct ch_endpoint *ep, struct ch_verbs_link *link)
{
    while (link->sent != link->made && link->stage == CH_VERBS_UP && has_room(ep, link)) {
        const struct ch_verbs_mail mail = {.link = link->peer_link,
                                           .kind = CH_VERBS_MAIL_ANSWER,
                                           .value = link->answers[link->sent % CH_VERBS_AMOS]};

        link->sent++;
        ep->n_owing--;
        send_mail(ep, link, &mail);
    }
}
