/* SPDX-License-Identifier: Apache-2.0 */
/* device.c: library functions that the host part of chorus_device.cuh calls. */
#include "chorus/chorusx.h"

#include "api/context.h"

#include <string.h>

/* The kernels of a module share one copy of the state, so a process can be only one PE. */
static chorus_status check_process(const struct ch_context *context, const char *function)
{
    if (strcmp(context->boot->ops->name, "threads") != 0) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_UNSUPPORTED,
                   "%s: PEs are threads of this process, but kernels make calls for one PE of "
                   "a process; start the PEs with chorusrun",
                   function);
}

static chorus_status device_state(const char *function, void *state_out, size_t bytes)
{
    struct ch_context *context;

    CH_TRY(ch_context_require(function, &context));
    if (bytes != sizeof(struct ch_device_state))
        return CH_FAIL(CHORUS_ERR_ARG,
                       "%s: the program was compiled with a chorus_device.cuh of another "
                       "version (%zu bytes of state, this library has %zu); compile it again",
                       function, bytes, sizeof(struct ch_device_state));
    CH_TRY(check_process(context, function));
    return ch_teams_device_state(context->teams, state_out);
}

int chorusx_device_state(void *state_out, size_t bytes)
{
    return ch_give(__func__, device_state(__func__, state_out, bytes));
}

static chorus_status device_failed(const char *function, const char *what, const char *why)
{
    struct ch_context *context;

    CH_TRY(ch_context_require(function, &context));
    return CH_FAIL(CHORUS_ERR_SYSTEM, "%s failed: %s", what, why);
}

int chorusx_device_failed(const char *what, const char *why)
{
    return ch_give(__func__, device_failed(__func__, what, why));
}
