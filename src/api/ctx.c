/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctx.c: contexts of the program. A handle is slot + 1 + generation * slots, so that the
 * handle of a destroyed context is recognised; slot + CH_CTX_PROGRAM is the number that the
 * transport uses.
 */
#include "api/check.h"

#include "chorus/chorus.h"

/* Returns the handle of the context in a slot; state / 2 is its generation. */
static uintptr_t handle_of(uint32_t slot, uint32_t state)
{
    return (uintptr_t)(state / 2) * CH_CTX_SLOTS + slot + 1;
}

chorus_status ch_ctx_find(const struct ch_context *context, const char *function,
                          chorus_ctx_t ctx, uint32_t *number_out, ch_team_handle *team_out)
{
    const uint32_t slot = (uint32_t)(((uintptr_t)ctx - 1) % CH_CTX_SLOTS);
    const struct ch_ctx_slot *s = &context->ctxs[slot];
    const uint32_t state = __atomic_load_n(&s->state, __ATOMIC_ACQUIRE);

    if (ctx == CHORUS_CTX_INVALID)
        return CH_FAIL(CHORUS_ERR_ARG,
                       "%s: ctx is CHORUS_CTX_INVALID; expected a context of this PE",
                       function);
    if (state % 2 == 0 || handle_of(slot, state) != (uintptr_t)ctx)
        return CH_FAIL(CHORUS_ERR_ARG,
                       "%s: ctx %p is not a context of this PE, or was destroyed", function,
                       (void *)ctx);
    *number_out = CH_CTX_PROGRAM + slot;
    *team_out = s->team;
    return CHORUS_OK;
}

chorus_status ch_ctx_translate(const struct ch_context *context, const char *function,
                               ch_team_handle team, int pe, uint32_t *world_out)
{
    struct ch_team *found;

    CH_TRY(ch_team_get(context->teams, team, &found));
    if (pe < 0 || (uint32_t)pe >= found->n)
        return CH_FAIL(
            CHORUS_ERR_ARG,
            "%s: pe is %d; expected 0 to %u, since the team of the context has %u PEs",
            function, pe, found->n - 1, found->n);
    *world_out = found->members[pe].world;
    return CHORUS_OK;
}

/* Allocate the first free slot; *state_out is its new state. */
static chorus_status take_slot(const char *function, struct ch_context *context,
                               uint32_t *slot_out, uint32_t *state_out)
{
    for (uint32_t slot = 0; slot < CH_CTX_SLOTS; slot++) {
        uint32_t state = __atomic_load_n(&context->ctxs[slot].state, __ATOMIC_RELAXED);

        if (state % 2 != 0 ||
            !__atomic_compare_exchange_n(&context->ctxs[slot].state, &state, state + 1, 0,
                                         __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            continue;
        *slot_out = slot;
        *state_out = state + 1;
        return CHORUS_OK;
    }
    return CH_FAIL(CHORUS_ERR_NOMEM,
                   "%s: a PE can have %d contexts at the same time; destroy some", function,
                   CH_CTX_SLOTS);
}

static chorus_status create_ctx(const char *function, chorus_team_t team, long options,
                                chorus_ctx_t *ctx)
{
    const long known = CHORUS_CTX_SERIALIZED | CHORUS_CTX_PRIVATE | CHORUS_CTX_NOSTORE;
    struct ch_context *context;
    struct ch_team *found;
    uint32_t slot, state;

    *ctx = CHORUS_CTX_INVALID;
    CH_TRY(ch_context_require(function, &context));
    CH_TRY(ch_team_get(context->teams, team, &found));
    if ((options & ~known) != 0)
        return CH_FAIL(CHORUS_ERR_ARG,
                       "%s: options is 0x%lx; expected 0 or CHORUS_CTX_ constants", function,
                       (unsigned long)options);
    CH_TRY(take_slot(function, context, &slot, &state));
    context->ctxs[slot].team = team;
    *ctx = (chorus_ctx_t)handle_of(slot, state);
    return CHORUS_OK;
}

int chorus_ctx_create(long options, chorus_ctx_t *ctx)
{
    return ch_handle_status(__func__, create_ctx(__func__, CHORUS_TEAM_WORLD, options, ctx));
}

int chorus_team_create_ctx(chorus_team_t team, long options, chorus_ctx_t *ctx)
{
    return ch_handle_status(__func__, create_ctx(__func__, team, options, ctx));
}

static chorus_status destroy_ctx(const char *function, chorus_ctx_t ctx)
{
    struct ch_context *context;
    struct ch_ctx_slot *slot;
    ch_team_handle team;
    uint32_t number;

    if (ctx == CHORUS_CTX_INVALID) return CHORUS_OK;
    CH_TRY(ch_context_require(function, &context));
    if (ctx == CHORUS_CTX_DEFAULT)
        return CH_FAIL(CHORUS_ERR_ARG,
                       "%s: ctx is the default context, which cannot be destroyed; expected "
                       "one of chorus_ctx_create",
                       function);
    CH_TRY(ch_ctx_find(context, function, ctx, &number, &team));
    CH_TRY(ch_links_quiet(context->links, number, CH_LINK_ALL));
    slot = &context->ctxs[number - CH_CTX_PROGRAM];
    (void)__atomic_add_fetch(&slot->state, 1, __ATOMIC_RELEASE);
    return CHORUS_OK;
}

void chorus_ctx_destroy(chorus_ctx_t ctx)
{
    ch_report(destroy_ctx(__func__, ctx));
}

static chorus_status get_team(const char *function, chorus_ctx_t ctx, chorus_team_t *team)
{
    struct ch_context *context;
    uint32_t number;

    *team = CHORUS_TEAM_INVALID;
    CH_TRY(ch_context_require(function, &context));
    if (ctx != CHORUS_CTX_DEFAULT) return ch_ctx_find(context, function, ctx, &number, team);
    *team = CHORUS_TEAM_WORLD;
    return CHORUS_OK;
}

int chorus_ctx_get_team(chorus_ctx_t ctx, chorus_team_t *team)
{
    return ch_handle_status(__func__, get_team(__func__, ctx, team));
}

static chorus_status check_ctx(const char *function, chorus_ctx_t ctx)
{
    struct ch_context *context;
    uint32_t number;

    CH_TRY(ch_context_require(function, &context));
    return ch_ctx_number(context, function, ctx, &number);
}

void chorus_ctx_session_start(chorus_ctx_t ctx, long options,
                              const chorus_ctx_session_config_t *config, long config_mask)
{
    (void)options, (void)config, (void)config_mask; /* hints */
    ch_report(check_ctx(__func__, ctx));
}

void chorus_ctx_session_stop(chorus_ctx_t ctx)
{
    ch_report(check_ctx(__func__, ctx));
}
