/* SPDX-License-Identifier: Apache-2.0 */
#include "api/context.h"

#include "chorus/chorus.h"

/* Stands where a context was, once it is finalised; never looked into. */
static struct ch_context retired;

static struct ch_context *process_context;
static _Thread_local struct ch_context *thread_context;

static struct ch_context *current(void)
{
    if (thread_context != NULL) return thread_context;
    return __atomic_load_n(&process_context, __ATOMIC_ACQUIRE);
}

struct ch_context *ch_context_get(void)
{
    struct ch_context *context = current();

    return context == &retired ? NULL : context;
}

enum ch_phase ch_context_phase(void)
{
    const struct ch_context *context = current();

    if (context == NULL) return CH_PHASE_BEFORE;
    return context == &retired ? CH_PHASE_AFTER : CH_PHASE_RUNNING;
}

void ch_context_set_thread(struct ch_context *context)
{
    thread_context = context;
}

void ch_context_set_process(struct ch_context *context)
{
    __atomic_store_n(&process_context, context, __ATOMIC_RELEASE);
}

void ch_context_retire(void)
{
    if (thread_context != NULL)
        thread_context = &retired;
    else
        ch_context_set_process(&retired);
}

chorus_status ch_context_require(const char *function, struct ch_context **out)
{
    struct ch_context *context = ch_context_get();

    if (context == NULL)
        return CH_FAIL(CHORUS_ERR_STATE, "%s called %s; the library works between the two",
                       function,
                       ch_context_phase() == CH_PHASE_BEFORE ? "before chorus_init"
                                                             : "after chorus_finalize");
    *out = context;
    return CHORUS_OK;
}

chorus_status ch_context_meet(struct ch_context *context)
{
    struct ch_team *world;

    CH_TRY(context->link->quiet(context->transport, CH_CTX_DEFAULT));
    CH_TRY(ch_team_get(context->teams, CHORUS_TEAM_WORLD, &world));
    return ch_team_meet(world);
}
