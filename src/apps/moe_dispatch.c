/* SPDX-License-Identifier: Apache-2.0 */
/* moe_dispatch.c: tokens go to the PEs of their experts. */
#include "apps/moe.h"

#include <string.h>

/* --- tokens ------------------------------------------------------------------------------- */
size_t ch_moe_end_tokens(const struct chorusx_moe *moe, uint32_t peer, bool is_out, size_t at)
{
    const struct ch_moe_peer *p = &moe->peers[peer];
    const size_t n = is_out ? p->n_out : p->n_in,
                 most = moe->slot_bytes / (moe->config.hidden_bytes + moe->config.scale_bytes);

    return n - at > most ? at + most : n;
}

void ch_moe_pack_token(const struct chorusx_moe *moe, const struct ch_moe_list *list, size_t i,
                       char *to)
{
    const size_t hidden = moe->config.hidden_bytes, scale = moe->config.scale_bytes,
                 token = list->entries[list->first[i]].token;

    memcpy(to, moe->call.from + token * hidden, hidden);
    if (scale > 0) memcpy(to + hidden, moe->call.from_scales + token * scale, scale);
}

static size_t pack_tokens(const struct chorusx_moe *moe, uint32_t peer, size_t at, size_t end,
                          char *slot)
{
    const size_t row = moe->config.hidden_bytes + moe->config.scale_bytes;

    for (size_t i = at; i < end; i++)
        ch_moe_pack_token(moe, &moe->call.route->out[peer], i, slot + (i - at) * row);
    return (end - at) * row;
}

void ch_moe_spread(const struct chorusx_moe *moe, const struct ch_moe_list *list, size_t i,
                   const char *token, const char *scales)
{
    const size_t hidden = moe->config.hidden_bytes, scale = moe->config.scale_bytes;

    for (size_t k = list->first[i]; k < list->first[i + 1]; k++) {
        memcpy(moe->call.to + list->rows[k] * hidden, token, hidden);
        if (scale > 0) memcpy(moe->call.to_scales + list->rows[k] * scale, scales, scale);
    }
}

static void take_tokens(struct chorusx_moe *moe, uint32_t peer, size_t at, size_t end,
                        const char *slot)
{
    const size_t hidden = moe->config.hidden_bytes, row = hidden + moe->config.scale_bytes;

    for (size_t i = at; i < end; i++, slot += row)
        ch_moe_spread(moe, &moe->call.route->in[peer], i, slot, slot + hidden);
}

void ch_moe_copy_own_tokens(struct chorusx_moe *moe)
{
    const struct ch_moe_call *call = &moe->call;
    const struct ch_moe_list *list = &call->route->in[moe->me];
    const size_t hidden = moe->config.hidden_bytes, scale = moe->config.scale_bytes;

    for (size_t i = 0; i < list->n_tokens; i++) {
        const size_t token = list->entries[list->first[i]].token;

        ch_moe_spread(moe, list, i, call->from + token * hidden,
                      scale > 0 ? call->from_scales + token * scale : NULL);
    }
}

static const struct ch_moe_kind dispatch_kind = {.end = ch_moe_end_tokens,
                                                 .pack = pack_tokens,
                                                 .take = take_tokens,
                                                 .local = ch_moe_copy_own_tokens};

static const struct ch_moe_kind *kind_of(const struct chorusx_moe_route *route)
{
    return route != NULL && route->vias != NULL ? &ch_moe_dispatch_by_hosts : &dispatch_kind;
}

static void set_units(struct chorusx_moe *moe)
{
    for (uint32_t p = 0; p < moe->n_pes; p++) {
        moe->peers[p].n_out = p == moe->me ? 0 : moe->call.route->out[p].n_tokens;
        moe->peers[p].n_in = p == moe->me ? 0 : moe->call.route->in[p].n_tokens;
    }
}

/* --- the calls ---------------------------------------------------------------------------- */
static int check_arrays(const char *function, const struct ch_moe_call *call)
{
    const struct chorusx_moe_route *route = call->route;
    const bool has_tokens = route->info.n_tokens > 0, has_rows = route->info.rows > 0,
               has_scales = route->moe->config.scale_bytes > 0;

    if (has_tokens && call->from == NULL) return ch_moe_refuse_null(function, "x");
    if (has_tokens && has_scales && call->from_scales == NULL)
        return ch_moe_refuse_null(function, "scales");
    if (has_rows && call->to == NULL) return ch_moe_refuse_null(function, "out");
    if (has_rows && has_scales && call->to_scales == NULL)
        return ch_moe_refuse_null(function, "out_scales");
    return CHORUS_OK;
}

static int begin_dispatch(const char *function, const struct ch_moe_call *call)
{
    struct chorusx_moe_route *route = call->route;
    int code = ch_moe_check_begin(function, route);

    if (code == CHORUS_OK && route != NULL) code = check_arrays(function, call);
    if (code != CHORUS_OK || route == NULL) return code;
    route->moe->call = *call;
    if (route->vias != NULL)
        ch_moe_set_units_by_hosts(route->moe);
    else
        set_units(route->moe);
    ch_moe_start(route->moe);
    return CHORUS_OK;
}

int chorusx_moe_dispatch_begin(chorusx_moe_route_t route, const void *x, const void *scales,
                               void *out, void *out_scales)
{
    return begin_dispatch(__func__, &(struct ch_moe_call){.kind = kind_of(route),
                                                          .route = route,
                                                          .from = x,
                                                          .from_scales = scales,
                                                          .to = out,
                                                          .to_scales = out_scales});
}

int chorusx_moe_dispatch_end(chorusx_moe_route_t route)
{
    return ch_moe_end(__func__, route, kind_of(route));
}

int chorusx_moe_dispatch(chorusx_moe_route_t route, const void *x, const void *scales,
                         void *out, void *out_scales)
{
    const int code = begin_dispatch(__func__, &(struct ch_moe_call){.kind = kind_of(route),
                                                                    .route = route,
                                                                    .from = x,
                                                                    .from_scales = scales,
                                                                    .to = out,
                                                                    .to_scales = out_scales});

    return code == CHORUS_OK ? ch_moe_finish(__func__, route->moe) : code;
}
