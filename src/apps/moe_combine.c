/* SPDX-License-Identifier: Apache-2.0 */
/* moe_combine.c: rows come back from the PEs of the experts, and are added up. */
#include "apps/moe.h"

#include <string.h>

enum { MERGED_AT_A_TIME = 32 }; /* tokens that are added up before the PE sends again */

/* --- rows --------------------------------------------------------------------------------- */
/* What a PE received is what it sends back. */
static const struct ch_moe_list *list_of(const struct chorusx_moe *moe, uint32_t peer,
                                         bool is_out)
{
    return is_out ? &moe->call.route->in[peer] : &moe->call.route->out[peer];
}

/* The rows of a token are in one message. */
static size_t end_rows(const struct chorusx_moe *moe, uint32_t peer, bool is_out, size_t at)
{
    const struct ch_moe_list *list = list_of(moe, peer, is_out);
    const size_t most = moe->slot_bytes / moe->config.combine_bytes;
    size_t end = at + 1;

    while (end < list->n_tokens && list->first[end + 1] - list->first[at] <= most)
        end++;
    return end;
}

static size_t pack_rows(const struct chorusx_moe *moe, uint32_t peer, size_t at, size_t end,
                        char *slot)
{
    const struct ch_moe_list *list = list_of(moe, peer, true);
    const size_t bytes = moe->config.combine_bytes;
    char *to = slot;

    for (size_t k = list->first[at]; k < list->first[end]; k++, to += bytes)
        memcpy(to, moe->call.from + list->rows[k] * bytes, bytes);
    return (size_t)(to - slot);
}

/* Whether all rows of a token are there. */
static bool is_complete(struct chorusx_moe *moe, const int32_t *pe_of)
{
    bool is_there = true;

    for (int k = 0; k < moe->config.topk; k++) {
        if (pe_of[k] < 0 || (uint32_t)pe_of[k] == moe->me) continue;
        if (ch_moe_open(moe, (uint32_t)pe_of[k])) continue;
        moe->peers[pe_of[k]].is_wanted = true;
        is_there = false;
    }
    return is_there;
}

static const char *next_row(struct chorusx_moe *moe, uint32_t peer)
{
    const size_t bytes = moe->config.combine_bytes;

    if (peer != moe->me) return ch_moe_slot(moe, peer) + moe->peers[peer].row_at++ * bytes;
    return moe->call.from + moe->call.route->in[peer].rows[moe->call.own_row++] * bytes;
}

/* The rows of a token and their weights; returns how many. */
static size_t collect(struct chorusx_moe *moe, const int32_t *pe_of, const float *weights)
{
    const float factor =
        moe->config.renormalise != 0 ? ch_moe_factor(moe->config.topk, pe_of, weights) : 1.0f;
    size_t n = 0;

    for (int k = 0; k < moe->config.topk; k++) {
        if (pe_of[k] < 0) continue;
        moe->rows[n] = next_row(moe, (uint32_t)pe_of[k]);
        moe->weights[n++] = (weights != NULL ? weights[k] : 1.0f) * factor;
    }
    return n;
}

/* End the messages of which all rows have been read. */
static void close_read(struct chorusx_moe *moe, const int32_t *pe_of)
{
    for (int k = 0; k < moe->config.topk; k++) {
        const struct ch_moe_peer *p;
        const struct ch_moe_list *list;

        if (pe_of[k] < 0 || (uint32_t)pe_of[k] == moe->me) continue;
        p = &moe->peers[pe_of[k]];
        list = list_of(moe, (uint32_t)pe_of[k], false);
        if (p->is_open && list->first[p->in_at] + p->row_at == list->first[p->in_end])
            ch_moe_close(moe, (uint32_t)pe_of[k]);
    }
}

static void add_up_token(struct chorusx_moe *moe, const int32_t *pe_of)
{
    struct ch_moe_call *call = &moe->call;
    const size_t bytes = moe->config.combine_bytes, topk = (size_t)moe->config.topk;
    char *out = call->to + call->token * bytes;
    const size_t n =
        collect(moe, pe_of, call->weights != NULL ? call->weights + call->token * topk : NULL);

    if (n > 0)
        ch_moe_add_up(moe, n, out);
    else
        memset(out, 0, bytes);
    close_read(moe, pe_of);
    call->token++;
}

static bool merge(struct chorusx_moe *moe)
{
    struct ch_moe_call *call = &moe->call;
    const size_t topk = (size_t)moe->config.topk;
    int n = 0;

    for (uint32_t p = 0; p < moe->n_pes; p++)
        moe->peers[p].is_wanted = false;
    while (n < MERGED_AT_A_TIME && call->token < call->route->info.n_tokens) {
        const int32_t *pe_of = call->route->pe_of + call->token * topk;

        if (!is_complete(moe, pe_of)) break;
        add_up_token(moe, pe_of);
        n++;
    }
    return n > 0;
}

static const struct ch_moe_kind combine_kind = {
    .end = end_rows, .pack = pack_rows, .merge = merge};

/* --- the calls ---------------------------------------------------------------------------- */
static int begin_combine(const char *function, const struct ch_moe_call *call)
{
    struct chorusx_moe_route *route = call->route;
    const size_t value_bytes = ch_moe_value_bytes(call->type);
    const int code = ch_moe_check_begin(function, route);

    if (code != CHORUS_OK) return code;
    if (value_bytes == 0 || route->moe->config.combine_bytes % value_bytes != 0)
        return chorusx_fail(CHORUS_ERR_ARG, function,
                            "the type is not f32, bf16 or f16, or combine_bytes is no multiple "
                            "of its bytes");
    if (route->info.rows > 0 && call->from == NULL) return ch_moe_refuse_null(function, "y");
    if (route->info.n_tokens > 0 && call->to == NULL)
        return ch_moe_refuse_null(function, "out");
    for (uint32_t p = 0; p < route->moe->n_pes; p++) {
        struct ch_moe_peer *peer = &route->moe->peers[p];

        peer->n_out = p == route->moe->me ? 0 : route->in[p].n_tokens;
        peer->n_in = p == route->moe->me ? 0 : route->out[p].n_tokens;
    }
    route->moe->call = *call;
    ch_moe_start(route->moe);
    return CHORUS_OK;
}

int chorusx_moe_combine_begin(chorusx_moe_route_t route, const void *y, chorus_type type,
                              const float *weights, void *out)
{
    return begin_combine(__func__, &(struct ch_moe_call){.kind = &combine_kind,
                                                         .route = route,
                                                         .from = y,
                                                         .to = out,
                                                         .weights = weights,
                                                         .type = type});
}

int chorusx_moe_combine_end(chorusx_moe_route_t route)
{
    return ch_moe_end(__func__, route, &combine_kind);
}

int chorusx_moe_combine(chorusx_moe_route_t route, const void *y, chorus_type type,
                        const float *weights, void *out)
{
    const int code = begin_combine(__func__, &(struct ch_moe_call){.kind = &combine_kind,
                                                                   .route = route,
                                                                   .from = y,
                                                                   .to = out,
                                                                   .weights = weights,
                                                                   .type = type});

    return code == CHORUS_OK ? ch_moe_finish(__func__, route->moe) : code;
}
