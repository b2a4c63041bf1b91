/* SPDX-License-Identifier: Apache-2.0 */
/* ctx.h: contexts of the program, by handle. */
#ifndef CH_API_CTX_H
#define CH_API_CTX_H

#include "api/argument.h"
#include "chorus/ctx.h"

/* ch_ctx_resolve and ch_ctx_number for a context that the program created. */
CH_MUST_CHECK chorus_status ch_ctx_find(const struct ch_context *context, const char *function,
                                        chorus_ctx_t ctx, uint32_t *number_out,
                                        ch_team_handle *team_out);
CH_MUST_CHECK chorus_status ch_ctx_translate(const struct ch_context *context,
                                             const char *function, ch_team_handle team, int pe,
                                             uint32_t *world_out);

/* The transport's number of a context; ERR_ARG for one that does not exist. */
CH_MUST_CHECK static inline chorus_status ch_ctx_number(const struct ch_context *context,
                                                        const char *function, chorus_ctx_t ctx,
                                                        uint32_t *number_out)
{
    ch_team_handle team;

    *number_out = CH_CTX_DEFAULT;
    return ctx == CHORUS_CTX_DEFAULT ? CHORUS_OK
                                     : ch_ctx_find(context, function, ctx, number_out, &team);
}

/* The same, and the number in the job of PE `pe` of the context's team. */
CH_MUST_CHECK static inline chorus_status ch_ctx_resolve(const struct ch_context *context,
                                                         const char *function, chorus_ctx_t ctx,
                                                         int pe, uint32_t *number_out,
                                                         uint32_t *world_out)
{
    ch_team_handle team;

    if (ctx == CHORUS_CTX_DEFAULT) {
        *number_out = CH_CTX_DEFAULT;
        *world_out = (uint32_t)pe;
        return ch_check_pe(context, function, pe);
    }
    CH_TRY(ch_ctx_find(context, function, ctx, number_out, &team));
    return ch_ctx_translate(context, function, team, pe, world_out);
}

#endif /* CH_API_CTX_H */
