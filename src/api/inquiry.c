/* SPDX-License-Identifier: Apache-2.0 */
/* inquiry.c: what happened, what is here, and what a call would do. */
#include "chorus/chorusx.h"

#include "api/context.h"

const char *chorusx_strerror(int code)
{
    return ch_status_text(code);
}

const char *chorusx_last_error(void)
{
    return ch_error_message();
}

int chorusx_init_status(void)
{
    return (int)ch_context_phase();
}

int chorusx_team_status(chorus_team_t team)
{
    struct ch_context *context;
    struct ch_team *found;

    CH_TRY(ch_context_require(__func__, &context));
    CH_TRY(ch_team_get(context->teams, team, &found));
    return __atomic_load_n(&found->status, __ATOMIC_ACQUIRE);
}

int chorusx_heap_info(chorusx_heap_info_t *info_out)
{
    struct ch_context *context;
    struct ch_heap_info info;

    CH_TRY(ch_context_require(__func__, &context));
    ch_heap_info_get(context->heap, &info);
    *info_out = (chorusx_heap_info_t){
        .reserved_bytes = info.reserved_bytes,
        .committed_bytes = info.committed_bytes,
        .used_bytes = info.used_bytes,
        .free_bytes = info.free_bytes,
        .largest_free_bytes = info.largest_free_bytes,
        .high_water_bytes = info.high_water_bytes,
        .blocks = info.blocks,
        .local_used_bytes = info.local_used_bytes,
    };
    return CHORUS_OK;
}
