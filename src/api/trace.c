/* SPDX-License-Identifier: Apache-2.0 */
#include "api/trace.h"

#include "api/inquiry.h"
#include "base/log.h"
#include "device/nvtx.h"

#include <stdio.h>

/* The tracer of the program, see chorusx_set_tracer. */
static struct {
    chorusx_tracer_t tracer;
    void *arg;
} program;

/* PEs that are threads set this to the same value. */
static int is_for_nvtx;
int ch_is_traced;

static bool asks_nvtx(void)
{
    return __atomic_load_n(&is_for_nvtx, __ATOMIC_RELAXED) != 0;
}

/* The call as rules see it, and its plan. A call that is refused has no plan. */
static bool describe(const struct ch_args *args, chorusx_plan *plan_out, size_t *bytes_out)
{
    const chorusx_call *const call = args->call;
    struct ch_context *context;
    struct ch_request request;
    struct ch_team *team;
    uint32_t facts;

    *bytes_out = 0;
    if (ch_context_require(args->function, &context) != CHORUS_OK ||
        ch_team_get(context->teams, call->team, &team) != CHORUS_OK ||
        ch_check_call(context, args, team, &facts) != CHORUS_OK)
        return false;
    request = ch_request_of(context, team, call, facts);
    *bytes_out = request.bytes;
    if (call->algo != NULL) return ch_inquiry_forced(context, call, plan_out) == CHORUS_OK;
    return ch_inquiry_plan(context, &request, plan_out) == CHORUS_OK;
}

static void push_range(const chorusx_trace_event *event)
{
    char text[384];

    if (event->plan == NULL)
        (void)snprintf(text, sizeof(text), "%s", event->function);
    else
        (void)snprintf(text, sizeof(text), "%s %zu bytes %s %s:%s %s", event->function,
                       event->bytes, ch_coll_names[event->coll], event->plan->algo,
                       event->plan->proto, event->plan->rule);
    ch_nvtx_push(text);
}

chorus_status ch_trace_collective(const struct ch_args *args)
{
    const chorusx_call *const call = args->call;
    chorusx_plan plan;
    chorusx_trace_event event = {
        .function = args->function,
        .coll = call->coll,
        .team = call->team,
        .type = call->type,
        .op = call->op,
        .is_on_stream = args->is_on_stream,
        .stream = args->stream,
    };
    chorus_status status;

    if (describe(args, &plan, &event.bytes)) event.plan = &plan;
    if (asks_nvtx()) push_range(&event);
    if (program.tracer != NULL) program.tracer(&event, program.arg);
    status = ch_collective(args);
    event.is_end = 1;
    event.status = status;
    if (program.tracer != NULL) program.tracer(&event, program.arg);
    if (asks_nvtx()) ch_nvtx_pop();
    return status;
}

static void update(void)
{
    __atomic_store_n(&ch_is_traced, asks_nvtx() || program.tracer != NULL, __ATOMIC_RELAXED);
}

void ch_trace_nvtx(bool is_wanted)
{
    if (is_wanted && !ch_nvtx_is_there())
        CH_LOG(WARN, "CHORUS_NVTX is 1, but this library was built without CUDA; expected 0");
    __atomic_store_n(&is_for_nvtx, is_wanted && ch_nvtx_is_there(), __ATOMIC_RELAXED);
    update();
}

void chorusx_set_tracer(chorusx_tracer_t tracer, void *arg)
{
    program.tracer = tracer;
    program.arg = arg;
    update();
}
