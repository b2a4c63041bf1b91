/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moe_hosts.c: dispatch on two levels. A token goes once to each other host that has one of its
 * experts: to the PE that is on the sender's rail there, which keeps it until the call ends and
 * passes it on to the PEs of its host. What a PE sends to one of its own host is a list of its
 * own tokens, and then of those that it passes on, one host after another. It takes messages of
 * other hosts whatever becomes of what it passes on, so nobody waits in a circle.
 */
#include "apps/moe.h"

#include "apps/gather.h"

#include <stdlib.h>
#include <string.h>

/* --- hosts -------------------------------------------------------------------------------- */
static uint32_t pe_at(const struct chorusx_moe *moe, uint32_t host, uint32_t rail)
{
    return moe->pes_of_hosts[host * moe->host_pes + rail];
}

/* The first PE of the team that is on this PE's host. */
static uint32_t find_leader(const struct chorusx_moe *moe)
{
    uint32_t p = 0;

    while (p < moe->me && chorus_team_translate_pe(moe->team, (int)p, CHORUS_TEAM_NODE) < 0)
        p++;
    return p;
}

/* Number hosts in the order of their leaders, and PEs on them; false: hosts differ in PEs. */
static bool number_hosts(struct chorusx_moe *moe, const uint32_t *leaders)
{
    for (uint32_t p = 0; p < moe->n_pes; p++) {
        const uint32_t leader = leaders[p];

        moe->host_of[p] = leader == p ? moe->n_hosts++ : moe->host_of[leader];
        moe->rail_of[p] = 0;
        for (uint32_t i = leader; i < p; i++)
            moe->rail_of[p] += leaders[i] == leader;
        if (moe->host_of[p] == 0) moe->host_pes = moe->rail_of[p] + 1;
    }
    if (moe->n_hosts < 2 || moe->host_pes < 2 || moe->n_hosts * moe->host_pes != moe->n_pes)
        return false;
    for (uint32_t p = 0; p < moe->n_pes; p++) {
        if (moe->rail_of[p] >= moe->host_pes) return false;
        moe->pes_of_hosts[moe->host_of[p] * moe->host_pes + moe->rail_of[p]] = p;
    }
    return true;
}

uint32_t *ch_moe_gather_leaders(const struct chorusx_moe *moe)
{
    const uint32_t leader = find_leader(moe);
    void *leaders;

    (void)ch_apps_gather_equal(moe->team, &leader, sizeof(leader), &leaders);
    return leaders;
}

void ch_moe_set_hosts(struct chorusx_moe *moe, const uint32_t *leaders)
{
    moe->has_levels = number_hosts(moe, leaders);
}

/* --- lists of a route --------------------------------------------------------------------- */
/* Entries that PE `from` sends to this PE's host: those within the capacity. */
static size_t count_kept(const struct chorusx_moe *moe, const struct ch_moe_header *headers,
                         uint32_t from)
{
    const size_t capacity = moe->config.capacity;
    size_t n = 0;

    for (uint32_t e = 0; e < (uint32_t)moe->config.experts; e++) {
        size_t before = 0, own = ch_moe_header_of(moe, headers, from)->counts[e];

        if (moe->host_of[e / moe->experts_each] != moe->host_of[moe->me]) continue;
        for (uint32_t p = 0; p < from && capacity > 0; p++)
            before += ch_moe_header_of(moe, headers, p)->counts[e];
        if (capacity > 0 && before + own > capacity)
            own = before < capacity ? capacity - before : 0;
        n += own;
    }
    return n;
}

/* The entries of this PE's tokens for another host; their experts are rails. Counts them if the
 * list has no room yet. */
static void list_entries(const struct chorusx_moe_route *route, uint32_t host,
                         struct ch_moe_list *list)
{
    const struct chorusx_moe *moe = route->moe;
    const size_t topk = (size_t)moe->config.topk;

    list->n_entries = 0;
    for (size_t i = 0; i < route->info.n_tokens * topk; i++) {
        const int32_t pe = route->pe_of[i];

        if (pe < 0 || moe->host_of[pe] != host) continue;
        if (list->entries != NULL)
            list->entries[list->n_entries] =
                (struct ch_moe_entry){.token = (uint32_t)(i / topk),
                                      .slot = (uint16_t)(i % topk),
                                      .expert = (uint16_t)moe->rail_of[pe]};
        list->n_entries++;
    }
}

static void find_tokens(struct ch_moe_list *list)
{
    for (size_t i = 0; i < list->n_entries; i++)
        if (i == 0 || list->entries[i - 1].token != list->entries[i].token)
            list->first[list->n_tokens++] = i;
    list->first[list->n_tokens] = list->n_entries;
}

static bool goes_to(const struct ch_moe_list *list, size_t token, uint32_t rail)
{
    for (size_t i = list->first[token]; i < list->first[token + 1]; i++)
        if (list->entries[i].expert == rail) return true;
    return false;
}

/* What is passed on to each PE of this host, and memory for all that comes. */
static bool plan_forwards(const struct chorusx_moe *moe, struct ch_moe_via *via)
{
    const size_t row = moe->config.hidden_bytes + moe->config.scale_bytes;

    via->tokens = malloc(via->in.n_tokens * row + 1);
    via->forwards = calloc(moe->host_pes, sizeof(*via->forwards));
    if (via->tokens == NULL || via->forwards == NULL) return false;
    for (uint32_t rail = 0; rail < moe->host_pes; rail++) {
        struct ch_moe_forward *forward = &via->forwards[rail];

        forward->tokens = calloc(via->in.n_tokens + 1, sizeof(*forward->tokens));
        if (forward->tokens == NULL) return false;
        for (size_t t = 0; t < via->in.n_tokens; t++)
            if (goes_to(&via->in, t, rail)) forward->tokens[forward->n++] = t;
    }
    return true;
}

static bool make_via(struct chorusx_moe_route *route, const struct ch_moe_header *headers,
                     uint32_t host)
{
    const struct chorusx_moe *moe = route->moe;
    struct ch_moe_via *via = &route->vias[host];

    via->peer = pe_at(moe, host, moe->rail_of[moe->me]);
    if (host == moe->host_of[moe->me]) return true;
    list_entries(route, host, &via->out);
    via->in.n_entries = count_kept(moe, headers, via->peer);
    if (!ch_moe_allocate_list(&via->out, via->out.n_entries, false) ||
        !ch_moe_allocate_list(&via->in, via->in.n_entries, false))
        return false;
    list_entries(route, host, &via->out);
    return true;
}

static struct ch_moe_via *via_of(const struct chorusx_moe *moe, uint32_t peer)
{
    return &moe->call.route->vias[moe->host_of[peer]];
}

static size_t pack_entries(const struct chorusx_moe *moe, uint32_t peer, size_t at, size_t end,
                           char *slot)
{
    const struct ch_moe_entry *entries = via_of(moe, peer)->out.entries;

    memcpy(slot, entries + at, (end - at) * sizeof(*entries));
    return (end - at) * sizeof(*entries);
}

static void take_entries(struct chorusx_moe *moe, uint32_t peer, size_t at, size_t end,
                         const char *slot)
{
    struct ch_moe_entry *entries = via_of(moe, peer)->in.entries;

    memcpy(entries + at, slot, (end - at) * sizeof(*entries));
}

static const struct ch_moe_kind entries_kind = {
    .end = ch_moe_end_entries, .pack = pack_entries, .take = take_entries};

static bool is_on_rail(const struct chorusx_moe *moe, uint32_t peer)
{
    return moe->host_of[peer] != moe->host_of[moe->me] &&
           moe->rail_of[peer] == moe->rail_of[moe->me];
}

int ch_moe_make_vias(struct chorusx_moe_route *route, const struct ch_moe_header *headers)
{
    struct chorusx_moe *moe = route->moe;
    bool has_memory;
    int code;

    route->vias = calloc(moe->n_hosts, sizeof(*route->vias));
    has_memory = route->vias != NULL;
    for (uint32_t h = 0; h < moe->n_hosts && has_memory; h++)
        has_memory = make_via(route, headers, h);
    if (!has_memory) return CHORUS_ERR_NOMEM;
    for (uint32_t p = 0; p < moe->n_pes; p++) {
        moe->peers[p].n_out = is_on_rail(moe, p) ? via_of(moe, p)->out.n_entries : 0;
        moe->peers[p].n_in = is_on_rail(moe, p) ? via_of(moe, p)->in.n_entries : 0;
    }
    moe->call.kind = &entries_kind;
    ch_moe_start(moe);
    code = ch_moe_finish("chorusx_moe_route", moe);
    for (uint32_t h = 0; h < moe->n_hosts && code == CHORUS_OK; h++) {
        if (h == moe->host_of[moe->me]) continue;
        find_tokens(&route->vias[h].out);
        find_tokens(&route->vias[h].in);
        if (!plan_forwards(moe, &route->vias[h])) code = CHORUS_ERR_NOMEM;
    }
    return code;
}

void ch_moe_free_vias(struct chorusx_moe_route *route)
{
    const struct chorusx_moe *moe = route->moe;

    for (uint32_t h = 0; route->vias != NULL && h < moe->n_hosts; h++) {
        struct ch_moe_via *via = &route->vias[h];

        ch_moe_clear_list(&via->out);
        ch_moe_clear_list(&via->in);
        for (uint32_t rail = 0; via->forwards != NULL && rail < moe->host_pes; rail++)
            free(via->forwards[rail].tokens);
        free(via->forwards);
        free(via->tokens);
    }
    free(route->vias);
}

/* --- dispatch ----------------------------------------------------------------------------- */
/* Tokens of a host among those that go to a PE of this host, or come from it. */
static size_t units_of(const struct chorusx_moe *moe, uint32_t peer, bool is_out, uint32_t host)
{
    const struct chorusx_moe_route *route = moe->call.route;
    const bool is_own = host == moe->host_of[moe->me];

    if (is_out)
        return is_own ? route->out[peer].n_tokens
                      : route->vias[host].forwards[moe->rail_of[peer]].n;
    return is_own ? route->in[peer].n_tokens
                  : route->in[pe_at(moe, host, moe->rail_of[peer])].n_tokens;
}

/* Host k of those whose tokens follow each other: this PE's own is first. */
static uint32_t host_in_turn(const struct chorusx_moe *moe, uint32_t k)
{
    const uint32_t own = moe->host_of[moe->me];

    if (k == 0) return own;
    return k <= own ? k - 1 : k;
}

/* The host that a unit is of, and its number among those of that host. */
static uint32_t find_unit(const struct chorusx_moe *moe, uint32_t peer, bool is_out,
                          size_t unit, size_t *of_host_out)
{
    uint32_t k = 0;
    size_t n;

    while (unit >= (n = units_of(moe, peer, is_out, host_in_turn(moe, k)))) {
        unit -= n;
        k++;
    }
    *of_host_out = unit;
    return host_in_turn(moe, k);
}

static size_t units_with(const struct chorusx_moe *moe, uint32_t peer, bool is_out)
{
    size_t n = 0;

    if (peer == moe->me) return 0;
    if (moe->host_of[peer] != moe->host_of[moe->me]) {
        if (!is_on_rail(moe, peer)) return 0;
        return is_out ? via_of(moe, peer)->out.n_tokens : via_of(moe, peer)->in.n_tokens;
    }
    for (uint32_t h = 0; h < moe->n_hosts; h++)
        n += units_of(moe, peer, is_out, h);
    return n;
}

/* Whether what is passed on has come. */
static bool is_ready(const struct chorusx_moe *moe, uint32_t peer, size_t at, size_t end)
{
    if (moe->host_of[peer] != moe->host_of[moe->me]) return true;
    for (size_t unit = end; unit > at; unit--) {
        size_t i;
        const uint32_t host = find_unit(moe, peer, true, unit - 1, &i);
        const struct ch_moe_via *via = &moe->call.route->vias[host];

        if (host != moe->host_of[moe->me] &&
            via->forwards[moe->rail_of[peer]].tokens[i] >= moe->peers[via->peer].in_at)
            return false;
    }
    return true;
}

static size_t pack(const struct chorusx_moe *moe, uint32_t peer, size_t at, size_t end,
                   char *slot)
{
    const struct chorusx_moe_route *route = moe->call.route;
    const size_t row = moe->config.hidden_bytes + moe->config.scale_bytes;
    char *to = slot;

    if (is_on_rail(moe, peer)) {
        for (size_t i = at; i < end; i++, to += row)
            ch_moe_pack_token(moe, &via_of(moe, peer)->out, i, to);
        return (size_t)(to - slot);
    }
    for (size_t unit = at; unit < end; unit++, to += row) {
        size_t i;
        const uint32_t host = find_unit(moe, peer, true, unit, &i);
        const struct ch_moe_via *via = &route->vias[host];

        if (host == moe->host_of[moe->me])
            ch_moe_pack_token(moe, &route->out[peer], i, to);
        else
            memcpy(to, via->tokens + via->forwards[moe->rail_of[peer]].tokens[i] * row, row);
    }
    return (size_t)(to - slot);
}

/* Keep tokens of another host, and copy those that are for this PE, too. */
static void keep(struct chorusx_moe *moe, uint32_t peer, size_t at, size_t end,
                 const char *slot)
{
    const size_t hidden = moe->config.hidden_bytes, row = hidden + moe->config.scale_bytes;
    struct ch_moe_via *via = via_of(moe, peer);
    const struct ch_moe_forward *own = &via->forwards[moe->rail_of[moe->me]];

    memcpy(via->tokens + at * row, slot, (end - at) * row);
    for (; via->own_at < own->n && own->tokens[via->own_at] < end; via->own_at++) {
        const char *token = via->tokens + own->tokens[via->own_at] * row;

        ch_moe_spread(moe, &moe->call.route->in[peer], via->own_at, token, token + hidden);
    }
}

static void take(struct chorusx_moe *moe, uint32_t peer, size_t at, size_t end,
                 const char *slot)
{
    const size_t hidden = moe->config.hidden_bytes, row = hidden + moe->config.scale_bytes;

    if (is_on_rail(moe, peer)) {
        keep(moe, peer, at, end, slot);
        return;
    }
    for (size_t unit = at; unit < end; unit++, slot += row) {
        size_t i;
        const uint32_t host = find_unit(moe, peer, false, unit, &i);
        const uint32_t from =
            host == moe->host_of[moe->me] ? peer : pe_at(moe, host, moe->rail_of[peer]);

        ch_moe_spread(moe, &moe->call.route->in[from], i, slot, slot + hidden);
    }
}

const struct ch_moe_kind ch_moe_dispatch_by_hosts = {.end = ch_moe_end_tokens,
                                                     .is_ready = is_ready,
                                                     .pack = pack,
                                                     .take = take,
                                                     .local = ch_moe_copy_own_tokens};

void ch_moe_set_units_by_hosts(struct chorusx_moe *moe)
{
    for (uint32_t h = 0; h < moe->n_hosts; h++)
        moe->call.route->vias[h].own_at = 0;
    for (uint32_t p = 0; p < moe->n_pes; p++) {
        moe->peers[p].n_out = units_with(moe, p, true);
        moe->peers[p].n_in = units_with(moe, p, false);
    }
}
