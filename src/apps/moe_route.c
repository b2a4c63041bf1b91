/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moe_route.c: routes. Each PE sends all others a header, with the counts of its tokens for all
 * experts, and then each the entries of the tokens that go there. From the counts a PE knows
 * which entries are beyond the capacity of an expert, its own and those that it receives.
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

static size_t end_entries(const struct chorusx_moe *moe, uint32_t peer, bool is_out, size_t at)
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
    .end = end_entries, .pack = pack_entries, .take = take_entries};

static int exchange(struct chorusx_moe *moe, const struct ch_moe_kind *kind)
{
    moe->call.kind = kind;
    ch_moe_start(moe);
    return ch_moe_finish(moe);
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

/* --- lists -------------------------------------------------------------------------------- */
static bool allocate_list(struct ch_moe_list *list, size_t n_entries, bool has_rows)
{
    list->entries = calloc(n_entries + 1, sizeof(*list->entries));
    list->first = calloc(n_entries + 1, sizeof(*list->first));
    if (has_rows) list->rows = calloc(n_entries + 1, sizeof(*list->rows));
    return list->entries != NULL && list->first != NULL && (list->rows != NULL || !has_rows);
}

/* The entries of a PE's tokens for the experts of another one. */
static size_t entries_between(const struct chorusx_moe *moe, const uint32_t *counts,
                              uint32_t to)
{
    size_t n = 0;

    for (uint32_t i = 0; i < moe->experts_each; i++)
        n += counts[to * moe->experts_each + i];
    return n;
}

static bool allocate_lists(struct chorusx_moe_route *route, const struct ch_moe_header *own)
{
    const struct chorusx_moe *moe = route->moe;

    for (uint32_t p = 0; p < moe->n_pes; p++)
        if (!allocate_list(&route->out[p], entries_between(moe, own->counts, p), false))
            return false;
    return true;
}

/* The lists of what this PE sends, all entries included, and the PE of each. */
static void fill_lists(struct chorusx_moe_route *route, const int32_t *topk_idx)
{
    const struct chorusx_moe *moe = route->moe;
    const size_t topk = (size_t)moe->config.topk;

    for (size_t i = 0; i < route->info.n_tokens * topk; i++) {
        const uint32_t expert = (uint32_t)topk_idx[i], to = expert / moe->experts_each;
        struct ch_moe_list *list;

        route->pe_of[i] = topk_idx[i] == -1 ? CH_MOE_EMPTY : CH_MOE_LEFT_OUT;
        if (topk_idx[i] == -1 || !moe->is_on[expert]) continue;
        list = &route->out[to];
        list->entries[list->n_entries++] = (struct ch_moe_entry){
            .token = (uint32_t)(i / topk),
            .slot = (uint16_t)(i % topk),
            .expert = (uint16_t)(expert % moe->experts_each),
        };
    }
}

/* Keep the entries within the capacity. next: of each expert of the receiver the rows of PEs
 * and tokens before; firsts: its first row, null at the sender. */
static void settle(struct ch_moe_list *list, size_t capacity, size_t *next,
                   const size_t *firsts)
{
    size_t n = 0;

    for (size_t i = 0; i < list->n_entries; i++) {
        const struct ch_moe_entry entry = list->entries[i];
        const size_t row = next[entry.expert]++;

        if (capacity > 0 && row >= capacity) continue;
        if (n == 0 || list->entries[n - 1].token != entry.token)
            list->first[list->n_tokens++] = n;
        if (firsts != NULL) list->rows[n] = firsts[entry.expert] + row;
        list->entries[n++] = entry;
    }
    list->first[list->n_tokens] = n;
    list->n_entries = n;
}

static void settle_out(struct chorusx_moe_route *route, const struct ch_moe_header *headers,
                       size_t *next)
{
    struct chorusx_moe *moe = route->moe;

    for (uint32_t to = 0; to < moe->n_pes; to++) {
        struct ch_moe_list *list = &route->out[to];
        const size_t n = list->n_entries;

        for (uint32_t i = 0; i < moe->experts_each; i++) {
            next[i] = 0;
            for (uint32_t p = 0; p < moe->me; p++)
                next[i] +=
                    ch_moe_header_of(moe, headers, p)->counts[to * moe->experts_each + i];
        }
        settle(list, moe->config.capacity, next, NULL);
        route->info.dropped += n - list->n_entries;
        for (size_t i = 0; i < list->n_entries; i++)
            route->pe_of[list->entries[i].token * (size_t)moe->config.topk +
                         list->entries[i].slot] = (int32_t)to;
    }
    moe->dropped += route->info.dropped;
}

static void settle_in(struct chorusx_moe_route *route, size_t *next)
{
    const struct chorusx_moe *moe = route->moe;

    memset(next, 0, moe->experts_each * sizeof(*next));
    for (size_t row = 0; row < route->info.array_rows; row++)
        route->origins[row].pe = -1;
    for (uint32_t p = 0; p < moe->n_pes; p++) {
        struct ch_moe_list *list = &route->in[p];

        settle(list, moe->config.capacity, next, route->firsts);
        for (size_t i = 0; i < list->n_entries; i++)
            route->origins[list->rows[i]] =
                (chorusx_moe_origin_t){(int)p, list->entries[i].token, list->entries[i].slot};
    }
}

/* --- what the PE receives ----------------------------------------------------------------- */
static void count_rows(struct chorusx_moe_route *route, const struct ch_moe_header *headers)
{
    const struct chorusx_moe *moe = route->moe;
    const size_t capacity = moe->config.capacity;
    const bool is_compact = moe->config.layout == CHORUSX_MOE_COMPACT;
    chorusx_moe_route_info_t *info = &route->info;

    info->n_experts = (int)moe->experts_each;
    info->first_expert = (int)(moe->me * moe->experts_each);
    for (uint32_t i = 0; i < moe->experts_each; i++) {
        size_t n = 0;

        for (uint32_t p = 0; p < moe->n_pes; p++)
            n += ch_moe_header_of(moe, headers, p)->counts[info->first_expert + (int)i];
        route->counts[i] = capacity > 0 && n > capacity ? capacity : n;
        route->firsts[i] = is_compact ? info->rows : i * capacity;
        info->rows += route->counts[i];
    }
    info->array_rows = is_compact ? info->rows : moe->experts_each * capacity;
    info->counts = route->counts;
    info->firsts = route->firsts;
}

static bool prepare_receipt(struct chorusx_moe_route *route,
                            const struct ch_moe_header *headers)
{
    const struct chorusx_moe *moe = route->moe;

    count_rows(route, headers);
    route->origins = calloc(route->info.array_rows + 1, sizeof(*route->origins));
    route->info.origins = route->origins;
    for (uint32_t p = 0; p < moe->n_pes; p++) {
        const size_t n =
            entries_between(moe, ch_moe_header_of(moe, headers, p)->counts, moe->me);

        if (!allocate_list(&route->in[p], n, true)) return false;
        route->in[p].n_entries = n;
    }
    return route->origins != NULL;
}

/* --- a route ------------------------------------------------------------------------------ */
static void free_lists(struct ch_moe_list *lists, uint32_t n)
{
    for (uint32_t p = 0; lists != NULL && p < n; p++) {
        free(lists[p].entries);
        free(lists[p].first);
        free(lists[p].rows);
    }
    free(lists);
}

static void free_route(struct chorusx_moe_route *route)
{
    if (route == NULL) return;
    free_lists(route->out, route->moe->n_pes);
    free_lists(route->in, route->moe->n_pes);
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
        route->counts == NULL || route->firsts == NULL || !allocate_lists(route, own)) {
        free_route(route);
        return NULL;
    }
    fill_lists(route, topk_idx);
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

    if (next == NULL || !prepare_receipt(route, headers)) {
        free(next);
        moe->failed = CHORUS_ERR_NOMEM; /* the others wait */
        return refuse(CHORUS_ERR_NOMEM, "there is no memory for what this PE receives");
    }
    code = exchange_entries(moe);
    if (code == CHORUS_OK) {
        settle_out(route, headers, next);
        settle_in(route, next);
    }
    free(next);
    return code;
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
