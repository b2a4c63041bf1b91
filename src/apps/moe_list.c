/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moe_list.c: the lists of a route: which entries go to which PE, and to which rows. From the
 * counts of all PEs a PE knows which entries are beyond the capacity of an expert, its own and
 * those that it receives.
 */
#include "apps/moe.h"

#include <stdlib.h>
#include <string.h>

/* --- lists -------------------------------------------------------------------------------- */
bool ch_moe_allocate_list(struct ch_moe_list *list, size_t n_entries, bool has_rows)
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

bool ch_moe_allocate_out(struct chorusx_moe_route *route, const struct ch_moe_header *own)
{
    const struct chorusx_moe *moe = route->moe;

    for (uint32_t p = 0; p < moe->n_pes; p++)
        if (!ch_moe_allocate_list(&route->out[p], entries_between(moe, own->counts, p), false))
            return false;
    return true;
}

/* The lists of what this PE sends, all entries included, and the PE of each. */
void ch_moe_fill_out(struct chorusx_moe_route *route, const int32_t *topk_idx)
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

void ch_moe_settle_out(struct chorusx_moe_route *route, const struct ch_moe_header *headers,
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

void ch_moe_settle_in(struct chorusx_moe_route *route, size_t *next)
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

bool ch_moe_allocate_in(struct chorusx_moe_route *route, const struct ch_moe_header *headers)
{
    const struct chorusx_moe *moe = route->moe;

    count_rows(route, headers);
    route->origins = calloc(route->info.array_rows + 1, sizeof(*route->origins));
    route->info.origins = route->origins;
    for (uint32_t p = 0; p < moe->n_pes; p++) {
        const size_t n =
            entries_between(moe, ch_moe_header_of(moe, headers, p)->counts, moe->me);

        if (!ch_moe_allocate_list(&route->in[p], n, true)) return false;
        route->in[p].n_entries = n;
    }
    return route->origins != NULL;
}

void ch_moe_clear_list(struct ch_moe_list *list)
{
    free(list->entries);
    free(list->first);
    free(list->rows);
}

void ch_moe_free_lists(struct ch_moe_list *lists, uint32_t n)
{
    for (uint32_t p = 0; lists != NULL && p < n; p++)
        ch_moe_clear_list(&lists[p]);
    free(lists);
}
