/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moe_route.c: routes. Each PE sends all others a header, with the counts of its tokens for all
 * experts, and then each the entries of the tokens that go there.
 */
#include "apps/moe.h"

#include <stdlib.h>
#include <string.h>

static int refuse(int code, const char *message)
{
    return chorusx_fail(code, "chorusx_moe_route", message);
}

/* --- exchanges ---------------------------------------------------------------------------- */
static size_t end_header(const struct chorusx_moe *moe, uint32_t peer, bool is_out, size_t at)
{
    (void)moe, (void)peer, (void)is_out;
    return at + 1;
}

static size_t pack_header(const struct chorusx_moe *moe, uint32_t peer, size_t at, size_t end,
                          char *slot)
{
    (void)peer, (void)at, (void)end;
    memcpy(slot, ch_moe_header_of(moe, moe->call.headers, moe->me), moe->header_bytes);
    return moe->header_bytes;
}

static void take_header(struct chorusx_moe *moe, uint32_t peer, size_t at, size_t end,
                        const char *slot)
{
    (void)at, (void)end;
    memcpy(ch_moe_header_of(moe, moe->call.headers, peer), slot, moe->header_bytes);
}

static const struct ch_moe_kind headers_kind = {
    .end = end_header, .pack = pack_header, .take = take_header};

size_t ch_moe_end_entries(const struct chorusx_moe *moe, uint32_t peer, bool is_out, size_t at)
{
    const struct ch_moe_peer *p = &moe->peers[peer];
    const size_t n = is_out ? p->n_out : p->n_in,
                 most = moe->slot_bytes / sizeof(struct ch_moe_entry);

    return n - at > most ? at + most : n;
}

static size_t pack_entries(const struct chorusx_moe *moe, uint32_t peer, size_t at, size_t end,
                           char *slot)
{
    const struct ch_moe_entry *entries = moe->call.route->out[peer].entries;
    const size_t bytes = (end - at) * sizeof(*entries);

    memcpy(slot, entries + at, bytes);
    return bytes;
}

static void take_entries(struct chorusx_moe *moe, uint32_t peer, size_t at, size_t end,
                         const char *slot)
{
    struct ch_moe_entry *entries = moe->call.route->in[peer].entries;

    memcpy(entries + at, slot, (end - at) * sizeof(*entries));
}

static const struct ch_moe_kind entries_kind = {
    .end = ch_moe_end_entries, .pack = pack_entries, .take = take_entries};

static int exchange(struct chorusx_moe *moe, const struct ch_moe_kind *kind)
{
    moe->call.kind = kind;
    ch_moe_start(moe);
    return ch_moe_finish("chorusx_moe_route", moe);
}

static int exchange_headers(struct chorusx_moe *moe)
{
    for (uint32_t p = 0; p < moe->n_pes; p++)
        moe->peers[p].n_out = moe->peers[p].n_in =
            moe->peers[p].is_active && p != moe->me ? 1 : 0;
    return exchange(moe, &headers_kind);
}

static int exchange_entries(struct chorusx_moe *moe)
{
    struct chorusx_moe_route *route = moe->call.route;
    const struct ch_moe_list *own = &route->out[moe->me];

    for (uint32_t p = 0; p < moe->n_pes; p++) {
        moe->peers[p].n_out = p == moe->me ? 0 : route->out[p].n_entries;
        moe->peers[p].n_in = p == moe->me ? 0 : route->in[p].n_entries;
    }
    if (own->n_entries > 0)
        memcpy(route->in[moe->me].entries, own->entries,
               own->n_entries * sizeof(*own->entries));
    return exchange(moe, &entries_kind);
}

/* --- a route ------------------------------------------------------------------------------ */
static void free_route(struct chorusx_moe_route *route)
{
    if (route == NULL) return;
    ch_moe_free_vias(route);
    ch_moe_free_lists(route->out, route->moe->n_pes);
    ch_moe_free_lists(route->in, route->moe->n_pes);
    free(route->pe_of);
    free(route->counts);
    free(route->firsts);
    free(route->origins);
    free(route);
}

/* The part that this PE knows by itself; null: there is no memory. */
static struct chorusx_moe_route *make_route(struct chorusx_moe *moe, const int32_t *topk_idx,
                                            const struct ch_moe_header *own)
{
    struct chorusx_moe_route *route = calloc(1, sizeof(*route));
    const size_t n_entries = own->n_tokens * (size_t)moe->config.topk;

    if (route == NULL) return NULL;
    route->moe = moe;
    route->mask = moe->mask_number;
    route->info.n_tokens = own->n_tokens;
    route->out = calloc(moe->n_pes, sizeof(*route->out));
    route->in = calloc(moe->n_pes, sizeof(*route->in));
    route->pe_of = calloc(n_entries + 1, sizeof(*route->pe_of));
    route->counts = calloc(moe->experts_each, sizeof(*route->counts));
    route->firsts = calloc(moe->experts_each, sizeof(*route->firsts));
    if (route->out == NULL || route->in == NULL || route->pe_of == NULL ||
        route->counts == NULL || route->firsts == NULL || !ch_moe_allocate_out(route, own)) {
        free_route(route);
        return NULL;
    }
    ch_moe_fill_out(route, topk_idx);
    return route;
}

static void count_entries(const struct chorusx_moe *moe, const int32_t *topk_idx,
                          struct ch_moe_header *own)
{
    for (size_t i = 0; i < own->n_tokens * (size_t)moe->config.topk; i++)
        if (topk_idx[i] != -1 && moe->is_on[topk_idx[i]]) own->counts[topk_idx[i]]++;
}

/* This PE's header, and its part of the route, null if there is a problem. */
static struct chorusx_moe_route *begin_route(struct chorusx_moe *moe, const int32_t *topk_idx,
                                             size_t n_tokens, struct ch_moe_header *own)
{
    struct chorusx_moe_route *route;

    own->mask = moe->mask_hash;
    ch_moe_check_tokens(moe, topk_idx, n_tokens, own);
    if (own->problem != CH_MOE_FINE) return NULL;
    count_entries(moe, topk_idx, own);
    route = make_route(moe, topk_idx, own);
    if (route == NULL) own->problem = CH_MOE_NO_MEMORY;
    return route;
}

/* What needs the headers of all PEs. */
static int complete_route(struct chorusx_moe_route *route, const struct ch_moe_header *headers)
{
    struct chorusx_moe *moe = route->moe;
    size_t *next = calloc(moe->experts_each, sizeof(*next));
    int code;

    if (next == NULL || !ch_moe_allocate_in(route, headers)) {
        free(next);
        moe->failed = CHORUS_ERR_NOMEM; /* the others wait */
        return refuse(CHORUS_ERR_NOMEM, "there is no memory for what this PE receives");
    }
    code = exchange_entries(moe);
    if (code == CHORUS_OK) {
        ch_moe_settle_out(route, headers, next);
        ch_moe_settle_in(route, next);
    }
    free(next);
    if (code != CHORUS_OK || !moe->has_levels || !moe->are_all_active) return code;
    code = ch_moe_make_vias(route, headers);
    if (code != CHORUS_ERR_NOMEM) return code;
    moe->failed = code; /* the others wait */
    return refuse(code, "there is no memory for what this PE passes on");
}

static int compute(struct chorusx_moe *moe, const int32_t *topk_idx, size_t n_tokens,
                   struct chorusx_moe_route **route_out)
{
    struct ch_moe_header *headers = calloc(moe->n_pes, moe->header_bytes);
    struct chorusx_moe_route *route;
    char message[CH_MOE_MESSAGE_BYTES];
    int code;

    if (headers == NULL) {
        moe->failed = CHORUS_ERR_NOMEM; /* the others wait */
        return refuse(CHORUS_ERR_NOMEM, "there is no memory for what PEs tell each other");
    }
    route = begin_route(moe, topk_idx, n_tokens, ch_moe_header_of(moe, headers, moe->me));
    moe->call = (struct ch_moe_call){.route = route, .headers = headers};
    code = exchange_headers(moe);
    if (code == CHORUS_OK) {
        code = ch_moe_check_headers(moe, headers, message, sizeof(message));
        if (code != CHORUS_OK) (void)refuse(code, message);
    }
    if (code == CHORUS_OK) code = complete_route(route, headers);
    free(headers);
    if (code == CHORUS_OK)
        *route_out = route;
    else
        free_route(route);
    return code;
}

int chorusx_moe_route(chorusx_moe_t moe, const int32_t *topk_idx, size_t n_tokens,
                      chorusx_moe_route_t *route)
{
    int code;

    if (route != NULL) *route = CHORUSX_MOE_ROUTE_INVALID;
    if (moe == NULL || route == NULL)
        return refuse(CHORUS_ERR_ARG, moe == NULL ? "the object is null" : "route is null");
    if (moe->is_on_gpu)
        return refuse(CHORUS_ERR_UNSUPPORTED,
                      "the heap is on GPUs; call chorusx_moe_dispatch_on_stream, or start the "
                      "job with CHORUS_HEAP=host");
    if (moe->failed != CHORUS_OK)
        return refuse(CHORUS_ERR_STATE, "a call failed before; destroy the object");
    if (moe->call.kind != NULL)
        return refuse(CHORUS_ERR_STATE,
                      "a call is under way; end it before, by chorusx_moe_dispatch_end or "
                      "chorusx_moe_combine_end");
    if (!moe->is_active)
        return refuse(CHORUS_ERR_STATE,
                      "this PE is not active; call chorusx_moe_set_active on all PEs before");
    code = compute(moe, topk_idx, n_tokens, route);
    if (code == CHORUS_OK) moe->n_routes++;
    return code;
}

int chorusx_moe_route_info(chorusx_moe_route_t route, chorusx_moe_route_info_t *info_out)
{
    if (route == NULL || info_out == NULL)
        return chorusx_fail(CHORUS_ERR_ARG, __func__,
                            route == NULL ? "the route is null" : "info_out is null");
    *info_out = route->info;
    return CHORUS_OK;
}

int chorusx_moe_route_free(chorusx_moe_route_t route)
{
    if (route == NULL) return CHORUS_OK;
    if (route->moe->call.kind != NULL && route->moe->call.route == route)
        return chorusx_fail(CHORUS_ERR_STATE, __func__,
                            "a call with the route is under way; end it before, by "
                            "chorusx_moe_dispatch_end or chorusx_moe_combine_end");
    route->moe->n_routes--;
    free_route(route);
    return CHORUS_OK;
}
