/* SPDX-License-Identifier: Apache-2.0 */
#include "api/argument.h"

#include "api/guard.h"
#include "team/memory.h"

#include <stdint.h>

chorus_status ch_refuse_pe(const struct ch_context *context, const char *function, int pe)
{
    return CH_FAIL(CHORUS_ERR_ARG, "%s: pe is %d; expected 0 to %u, since the job has %u PEs",
                   function, pe, context->boot->n - 1, context->boot->n);
}

chorus_status ch_refuse_bytes(const char *function, size_t count, size_t element_bytes)
{
    return CH_FAIL(CHORUS_ERR_ARG, "%s: %zu elements of %zu bytes exceed the address space",
                   function, count, element_bytes);
}

chorus_status ch_look_at_symmetric(const struct ch_context *context, const char *function,
                                   const char *name, const void *address, size_t bytes)
{
    if (bytes == 0 || ch_heap_contains(context->heap, address, bytes))
        return ch_guards(context) ? ch_guard_inside(context, function, name, address, bytes)
                                  : CHORUS_OK;
    if (ch_teams_owner(context->teams, address, bytes) != NULL) return CHORUS_OK;
    if (ch_teams_owner(context->teams, address, 1) != NULL)
        return CH_FAIL(CHORUS_ERR_NOT_SYMMETRIC,
                       "%s: %s is %p, in an object of a team, but the %zu bytes there end past "
                       "the object's end; request them with chorusx_team_malloc",
                       function, name, address, bytes);
    if (ch_heap_contains(context->heap, address, 1))
        return CH_FAIL(CHORUS_ERR_NOT_SYMMETRIC,
                       "%s: %s is %p, in the symmetric heap, but the %zu bytes there end past "
                       "the heap's end; allocate them with chorus_malloc",
                       function, name, address, bytes);
    return CH_FAIL(CHORUS_ERR_NOT_SYMMETRIC,
                   "%s: %s is %p, which is not in the symmetric heap; allocate it with "
                   "chorus_malloc",
                   function, name, address);
}

chorus_status ch_look_at_owner(const struct ch_context *context, const char *function,
                               const char *name, const void *address, uint32_t pe)
{
    const struct ch_team *owner = ch_teams_owner(context->teams, address, 1);

    if (owner == NULL || ch_team_find(owner, pe) >= 0) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_NOT_SYMMETRIC,
                   "%s: %s is %p, in an object of a team that PE %u of the job is not in; "
                   "expected one of the team's PEs, or an object of chorus_malloc",
                   function, name, address, pe);
}

chorus_status ch_check_aligned(const char *function, const char *name, const void *address,
                               size_t bytes)
{
    if (((uintptr_t)address & (bytes - 1)) == 0) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_ARG,
                   "%s: %s is %p; expected a multiple of %zu, the size of its type", function,
                   name, address, bytes);
}
