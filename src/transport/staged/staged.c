/* SPDX-License-Identifier: Apache-2.0 */
/*
 * staged.c: the table of the network's operations, with its start, end and progress, and
 * failures.
 */
#include "transport/staged/inside.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- start and end ---- */

static void free_peers(struct ch_endpoint *ep)
{
    for (uint32_t pe = 0; ep->peers != NULL && pe < ep->terms.link.n; pe++) {
        if (ep->peers[pe] == NULL) continue;
        ch_parts_free(&ep->peers[pe]->parts);
        free(ep->peers[pe]);
    }
    free(ep->peers);
    ch_parts_free(&ep->parts);
}

static chorus_status make_peer(struct ch_endpoint *ep, uint32_t pe)
{
    struct ch_staged_peer *peer = calloc(1, sizeof(*peer));

    if (peer == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "staged: no memory for the queues with PE %u", pe);
    peer->pe = pe;
    ep->peers[pe] = peer;
    ch_staged_place_queues(ep, peer, 0);
    memset(peer->words, 0, sizeof(*peer->words));
    return CHORUS_OK;
}

static chorus_status make_peers(struct ch_endpoint *ep)
{
    const uint32_t n = ep->terms.link.n;

    ep->peers = calloc(n, sizeof(struct ch_staged_peer *));
    if (ep->peers == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "staged: no memory for %u PEs", n);
    for (uint32_t pe = 0; pe < n; pe++)
        if (ep->terms.is_far[pe] && pe != ep->terms.link.me) CH_TRY(make_peer(ep, pe));
    return CHORUS_OK;
}

/* Learn where the peers' queues are; they may write to those of this PE from now on. mine: the
 * status of this PE so far. */
static chorus_status meet_peers(struct ch_endpoint *ep, chorus_status mine)
{
    uint64_t *all = calloc(ep->terms.link.n, sizeof(*all));
    chorus_status status;

    if (all == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "staged: no memory for %u PEs", ep->terms.link.n);
    status = ep->terms.exchange(ep->terms.exchange_arg, mine, (uintptr_t)ep->terms.memory, all);
    for (uint32_t pe = 0; status == CHORUS_OK && pe < ep->terms.link.n; pe++)
        if (ep->peers[pe] != NULL) ch_staged_place_queues(ep, ep->peers[pe], all[pe]);
    free(all);
    return status;
}

/* Open what this PE needs. */
static chorus_status open_members(struct ch_endpoint *ep)
{
    const struct ch_memory_part *attached = &ep->terms.attached;

    CH_TRY(make_peers(ep));
    CH_TRY(ch_parts_add(&ep->parts, (struct ch_part){.base = (uintptr_t)attached->base,
                                                     .bytes = attached->bytes}));
    CH_TRY(ch_amo_load(ep->terms.device));
    CH_TRY(ch_staged_stream_open(ep, &ep->in, ep->terms.memory));
    return ch_staged_stream_open(ep, &ep->out, ep->terms.memory + CH_STAGED_ENDS / 2);
}

static void free_endpoint(struct ch_endpoint *ep)
{
    ch_staged_stream_close(ep, &ep->in);
    ch_staged_stream_close(ep, &ep->out);
    free_peers(ep);
    free(ep);
}

chorus_status ch_staged_open(const struct ch_staged_terms *terms, struct ch_endpoint **ep_out)
{
    const struct ch_staged_layout layout = ch_staged_layout(terms->link.n, terms->bytes);
    struct ch_endpoint *ep;
    chorus_status status;

    if (layout.chunk == 0)
        return CH_FAIL(CHORUS_ERR_NOMEM,
                       "staged: %zu bytes of pinned memory are too few for the queues of %u "
                       "PEs; start fewer, "
                       "or set CHORUS_HEAP=host",
                       terms->bytes, terms->link.n);
    ep = calloc(1, sizeof(*ep));
    if (ep == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "staged: no memory for a network");
    ep->terms = *terms;
    ep->inner = terms->inner;
    ep->inner_ep = terms->inner_ep;
    ep->inner_caps = ep->inner->caps(ep->inner_ep);
    ep->layout = layout;
    status = meet_peers(ep, open_members(ep));
    if (status != CHORUS_OK) {
        free_endpoint(ep);
        return status;
    }
    *ep_out = ep;
    return CHORUS_OK;
}

/* The inner network ends first, after it has sent what it has; then nothing arrives. */
static void staged_close(struct ch_endpoint *ep)
{
    if (ep == NULL) return;
    ep->inner->close(ep->inner_ep);
    ch_staged_drain(ep);
    free_endpoint(ep);
}

static uint32_t staged_caps(const struct ch_endpoint *ep)
{
    return (ep->inner_caps & ~(uint32_t)(CH_LINK_IN_ORDER | CH_LINK_PASSIVE)) | CH_LINK_KEYS;
}

static void staged_address(const struct ch_endpoint *ep,
                           char address_out[CH_LINK_ADDRESS_BYTES])
{
    ep->inner->address(ep->inner_ep, address_out);
}

static chorus_status staged_meet(struct ch_endpoint *ep,
                                 const char (*addresses)[CH_LINK_ADDRESS_BYTES])
{
    return ep->inner->meet(ep->inner_ep, addresses);
}

/* ---- posted receives ---- */

/* A receive is for messages from host memory to host memory. */
static bool staged_receive(struct ch_endpoint *ep, uint32_t pe, void *slot, void *dst,
                           size_t bytes)
{
    if (ep->inner->receive == NULL ||
        ch_staged_place_of(ep, (uintptr_t)slot, bytes) != CH_STAGED_HOST ||
        ch_staged_place_of(ep, (uintptr_t)dst, bytes) == CH_STAGED_GPU ||
        ch_device_is_on_gpu(ep->terms.device, dst))
        return false;
    return ep->inner->receive(ep->inner_ep, pe, slot, dst, bytes);
}

static bool staged_received(struct ch_endpoint *ep, uint32_t pe)
{
    return ep->inner->received != NULL && ep->inner->received(ep->inner_ep, pe);
}

/* ---- failures ---- */

/* Keep a failure, which progress reports from then on; the first one is kept. */
static void remember_failure(struct ch_endpoint *ep, chorus_status code, const char *why)
{
    if (ep->status != CHORUS_OK) return;
    ep->status = code;
    (void)snprintf(ep->why, sizeof(ep->why), "%s", why);
}

/* Nothing of the operations of a link that has failed is used any more. */
static void end_link(struct ch_staged_peer *peer)
{
    peer->has_failed = true;
    peer->first_op = peer->end_op;
    peer->first_answer = peer->end_answer;
    memset(peer->requests, 0, sizeof(peer->requests));
}

void ch_staged_fail(struct ch_endpoint *ep, struct ch_staged_peer *peer, chorus_status code,
                    const char *format, ...)
{
    char reason[400], message[sizeof(ep->why)];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(reason, sizeof(reason), format, args);
    va_end(args);
    (void)snprintf(message, sizeof(message), "PE %u on host %s (staged over %s): %s", peer->pe,
                   ep->terms.link.hosts != NULL ? ep->terms.link.hosts[peer->pe] : "?",
                   ep->inner->name, reason);
    remember_failure(ep, code, message);
    end_link(peer);
}

/* A stream serves all peers: without one, all links have failed. */
static void fail_all(struct ch_endpoint *ep, chorus_status code)
{
    char message[sizeof(ep->why)];

    (void)snprintf(message, sizeof(message), "PE %u (staged over %s): its own GPU: %s",
                   ep->terms.link.me, ep->inner->name, ch_error_message());
    remember_failure(ep, code, message);
    for (uint32_t pe = 0; pe < ep->terms.link.n; pe++)
        if (ep->peers[pe] != NULL) end_link(ep->peers[pe]);
}

void ch_staged_fail_device(struct ch_endpoint *ep, struct ch_staged_peer *peer,
                           chorus_status code)
{
    if (peer == NULL)
        fail_all(ep, code);
    else
        ch_staged_fail(ep, peer, code, "this PE's GPU: %s", ch_error_message());
}

/* ---- words that peers store ---- */

/* Has byte `at` of the value that of one of these numbers? */
static bool has_byte(uint64_t value, unsigned at, uint64_t first, uint64_t step, uint64_t last)
{
    for (uint64_t number = first; number <= last; number += step)
        if ((value ^ number) >> 8 * at << 56 == 0) return true;
    return false;
}

bool ch_staged_may_be_torn(uint64_t value, uint64_t first, uint64_t step, uint64_t last)
{
    for (unsigned at = 0; at < sizeof(value); at++)
        if (!has_byte(value, at, first, step, last)) return false;
    return true;
}

/* ---- progress ---- */

void ch_staged_step(struct ch_endpoint *ep)
{
    if (ep->is_stepping) return;
    ep->is_stepping = true;
    for (uint32_t pe = 0; pe < ep->terms.link.n; pe++) {
        if (ep->peers[pe] == NULL || ep->peers[pe]->has_failed) continue;
        ch_staged_receive(ep, ep->peers[pe]);
        ch_staged_send(ep, ep->peers[pe]);
    }
    ch_staged_mark(ep, &ep->in);
    ch_staged_mark(ep, &ep->out);
    ch_staged_stream_check(ep, &ep->in);
    ch_staged_stream_check(ep, &ep->out);
    ep->is_stepping = false;
}

void ch_staged_begin(struct ch_endpoint *ep, struct ch_staged_peer *peer)
{
    if (ep->is_stepping) return;
    ep->is_stepping = true;
    ch_staged_send(ep, peer);
    ch_staged_mark(ep, &ep->out);
    ep->is_stepping = false;
}

void ch_staged_progress_inner(struct ch_endpoint *ep)
{
    bool has_moved = false;
    const chorus_status status = ep->inner->progress(ep->inner_ep, &has_moved);

    if (status != CHORUS_OK) remember_failure(ep, status, ch_error_message());
    if (has_moved) ep->has_moved = true;
}

static chorus_status staged_progress(struct ch_endpoint *ep, bool *moved_out)
{
    ch_staged_progress_inner(ep);
    ch_staged_step(ep);
    *moved_out = ep->has_moved;
    ep->has_moved = false;
    return ep->status == CHORUS_OK ? CHORUS_OK : CH_FAIL(ep->status, "%s", ep->why);
}

/* Does a queue have work for which nothing will arrive? */
static bool has_work(const struct ch_endpoint *ep, const struct ch_staged_peer *peer)
{
    const bool has_room = peer->taken - peer->freed < ep->layout.slots;
    const bool has_ops =
        peer->first_op != peer->end_op || peer->first_answer != peer->end_answer;
    const size_t next = peer->begun % ep->layout.slots;

    if (peer->has_failed) return false;
    if (peer->taken != peer->posted || peer->begun != peer->ended || (has_ops && has_room))
        return true;
    return __atomic_load_n(&peer->words->freed, __ATOMIC_ACQUIRE) != peer->freed ||
           __atomic_load_n(&peer->words->filled[next], __ATOMIC_ACQUIRE) == peer->begun + 1;
}

/* The ends of copies are not reported; nor is what a passive network stores in a queue. */
static int staged_watch(struct ch_endpoint *ep)
{
    if ((ep->inner_caps & CH_LINK_PASSIVE) != 0) return -1;
    for (uint32_t pe = 0; pe < ep->terms.link.n; pe++)
        if (ep->peers[pe] != NULL && has_work(ep, ep->peers[pe])) return -1;
    return ep->inner->watch(ep->inner_ep);
}

static void staged_unwatch(struct ch_endpoint *ep)
{
    if (ep->inner->unwatch != NULL) ep->inner->unwatch(ep->inner_ep);
}

static void staged_sleep(struct ch_endpoint *ep)
{
    if (ep->inner->sleep != NULL) ep->inner->sleep(ep->inner_ep);
}

const struct ch_link_ops ch_link_staged = {
    .name = "staged",
    .close = staged_close,
    .caps = staged_caps,
    .address = staged_address,
    .meet = staged_meet,
    .attach = ch_staged_attach,
    .detach = ch_staged_detach,
    .add_peer_key = ch_staged_add_peer_key,
    .drop_peer_key = ch_staged_drop_peer_key,
    .put = ch_staged_put,
    .put_signal = ch_staged_put_signal,
    .get = ch_staged_get,
    .amo = ch_staged_amo,
    .receive = staged_receive,
    .received = staged_received,
    .is_sent = ch_staged_is_sent,
    .is_done = ch_staged_is_done,
    .abandon = ch_staged_abandon,
    .progress = staged_progress,
    .watch = staged_watch,
    .unwatch = staged_unwatch,
    .sleep = staged_sleep,
    .describe = ch_staged_describe,
};
