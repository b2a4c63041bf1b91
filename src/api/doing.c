/* SPDX-License-Identifier: Apache-2.0 */
#include "api/doing.h"

#include "api/guard.h"
#include "chorus/chorus.h"
#include "team/check.h"
#include "team/where.h"

chorus_status ch_check_entry(const char *function, struct ch_team *team,
                             const struct ch_doing *doing, uint64_t index)
{
    const chorus_status status = ch_team_check(team, function, doing);

    if (status != CHORUS_OK) ch_record_mark(team->record, index, CH_ENTRY_FAILED);
    return status;
}

static uint64_t begin(const struct ch_context *context, const struct ch_doing *doing)
{
    const struct ch_noted noted = ch_doing_note(doing);

    return ch_record_begin(ch_heap_record(context->heap, context->boot->me), &noted,
                           context->thread_level != CHORUS_THREAD_MULTIPLE, CH_ENTRY_RUNNING);
}

/* Is the call one that programs also make after another call was refused? */
static bool is_ending(enum ch_doing_what what)
{
    return what == CH_DOING_finalize || what == CH_DOING_team_destroy;
}

chorus_status ch_doing_begin(const struct ch_context *context, const char *function,
                             enum ch_doing_what what, struct ch_team *team, uint64_t count,
                             uint64_t *index_out)
{
    const struct ch_doing doing = {
        .what = (uint8_t)what,
        .team = team->word,
        .number = __atomic_add_fetch(&team->n_meetings, 1, __ATOMIC_RELAXED),
        .count = count,
    };

    if (ch_guards(context)) CH_TRY(ch_guard_thread(context, function));
    if (team->check != NULL && ch_team_is_refused(team) && !is_ending(what))
        return ch_team_refusal(team, function);
    *index_out = begin(context, &doing);
    if (team->check == NULL || ch_team_is_refused(team)) return CHORUS_OK;
    return ch_check_entry(function, team, &doing, *index_out);
}

chorus_status ch_doing_begin_all(const struct ch_context *context, const char *function,
                                 enum ch_doing_what what, uint64_t count, uint64_t *index_out)
{
    struct ch_team *world;

    CH_TRY(ch_team_get(context->teams, CHORUS_TEAM_WORLD, &world));
    return ch_doing_begin(context, function, what, world, count, index_out);
}

uint64_t ch_doing_begin_alone(const struct ch_context *context, const struct ch_doing *doing)
{
    return begin(context, doing);
}

chorus_status ch_doing_end(const struct ch_context *context, uint64_t index,
                           chorus_status status)
{
    struct ch_record *record = ch_heap_record(context->heap, context->boot->me);
    struct ch_called called;

    ch_record_mark(record, index, ch_entry_state_of(status));
    if (status != CHORUS_ERR_TIMEOUT || !ch_record_read(record, index, &called)) return status;
    if (called.doing.what == CH_DOING_wait)
        ch_teams_add_chain(context->teams);
    else if (!ch_doing_is_alone(&called.doing))
        ch_teams_add_missing(context->teams, &called);
    return status;
}
