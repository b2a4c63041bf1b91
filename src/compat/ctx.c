/* SPDX-License-Identifier: Apache-2.0 */
/* ctx.c: contexts as such, and locks. */
#include "compat/setup.h"

static int give(int code, chorus_ctx_t made, shmem_ctx_t *ctx)
{
    *ctx = (shmem_ctx_t)(void *)made;
    return code;
}

DEFINE(int, ctx_create, long options, shmem_ctx_t *ctx)
{
    chorus_ctx_t made = CHORUS_CTX_INVALID;
    const int code = chorus_ctx_create(options, &made);

    return give(code, made, ctx);
}

DEFINE(int, team_create_ctx, shmem_team_t team, long options, shmem_ctx_t *ctx)
{
    chorus_ctx_t made = CHORUS_CTX_INVALID;
    const int code = chorus_team_create_ctx(ch_team_of(team), options, &made);

    return give(code, made, ctx);
}

DEFINE_P(, ctx_destroy, (ch_ctx_of(ctx)), shmem_ctx_t ctx)

DEFINE(int, ctx_get_team, shmem_ctx_t ctx, shmem_team_t *team)
{
    chorus_team_t found = CHORUS_TEAM_INVALID;
    const int code = chorus_ctx_get_team(ch_ctx_of(ctx), &found);

    *team = ch_team_for(found);
    return code;
}

DEFINE(void, ctx_session_start, shmem_ctx_t ctx, long options,
       const shmem_ctx_session_config_t *config, long config_mask)
{
    const chorus_ctx_session_config_t room = {config != NULL ? config->total_ops : 0};

    chorus_ctx_session_start(ch_ctx_of(ctx), options, config != NULL ? &room : NULL,
                             config_mask);
}

DEFINE_P(, ctx_session_stop, (ch_ctx_of(ctx)), shmem_ctx_t ctx)

DEFINE_P(, set_lock, (OWN(lock)), long *lock)
DEFINE_P(, clear_lock, (OWN(lock)), long *lock)
DEFINE_F(, int, test_lock, (OWN(lock)), long *lock)
