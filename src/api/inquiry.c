/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inquiry.c: what the library tells: error messages and the heap to programs, its state to the
 * kernels of chorus_device.cuh, plans of calls to programs and profilers.
 */
#include "api/coll.h"

#include "base/error.h"
#include "chorus/chorusx.h"
#include "device/device.h"

#include <stdio.h>
#include <string.h>

/* --- errors and memory -------------------------------------------------------------------- */

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
    const enum ch_phase phase = ch_context_phase();

    return (int)(phase == CH_PHASE_FORKED ? CH_PHASE_AFTER : phase);
}

/* Returns the status of the team's first call that failed, CHORUS_OK if none did; or ERR_ARG,
 * ERR_STATE. */
static chorus_status team_status(const char *function, chorus_team_t team)
{
    struct ch_context *context;
    struct ch_team *found;

    CH_TRY(ch_context_require(function, &context));
    CH_TRY(ch_team_get(context->teams, team, &found));
    if (context->gpu != NULL) return ch_gpu_team_status(context->gpu, found);
    return __atomic_load_n(&found->status, __ATOMIC_ACQUIRE);
}

int chorusx_team_status(chorus_team_t team)
{
    return ch_handle_status(__func__, team_status(__func__, team));
}

static chorus_status heap_info(const char *function, chorusx_heap_info_t *info_out)
{
    struct ch_context *context;
    const struct ch_device *device;
    struct ch_heap_info info;

    CH_TRY(ch_context_require(function, &context));
    device = ch_heap_device(context->heap);
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
        .heap = device != NULL ? CHORUS_HEAP_cuda : CHORUS_HEAP_host,
        .device = device != NULL ? ch_device_id_of(device)->ordinal : -1,
    };
    return CHORUS_OK;
}

int chorusx_heap_info(chorusx_heap_info_t *info_out)
{
    return ch_handle_status(__func__, heap_info(__func__, info_out));
}

/* --- kernels ------------------------------------------------------------------------------ */

/* Functions that the host part of chorus_device.cuh calls. */

/* Fails if PEs are threads: the kernels of a module share one copy of the state, so a process
 * can be only one PE. */
static chorus_status check_process(const struct ch_context *context, const char *function)
{
    if (strcmp(context->boot->ops->name, "threads") != 0) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_UNSUPPORTED,
                   "%s: PEs are threads of this process, but kernels make calls for one PE of "
                   "a process; start the PEs with chorusrun",
                   function);
}

/* Copy the state that kernels need to *state_out, which has `bytes` in the program. */
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
    return ch_handle_status(__func__, device_state(__func__, state_out, bytes));
}

/* Store the state that kernels need, or that of kernels without one, at an address of the GPU.
 */
static chorus_status store_state(const char *function, void *there, size_t bytes, bool is_given)
{
    static const struct ch_device_state none = CH_NO_STATE;
    struct ch_context *context;
    struct ch_device_state state;

    CH_TRY(device_state(function, &state, bytes));
    CH_TRY(ch_context_require(function, &context));
    return ch_error_prefix_if_failed(
        function,
        ch_device_copy(ch_heap_device(context->heap), there, is_given ? &state : &none, bytes));
}

int chorusx_module_give(void *state, size_t bytes)
{
    return ch_handle_status(__func__, store_state(__func__, state, bytes, true));
}

int chorusx_module_take(void *state, size_t bytes)
{
    return ch_handle_status(__func__, store_state(__func__, state, bytes, false));
}

/* Fail with the message that the CUDA call `what` failed: the host part of chorus_device.cuh
 * makes calls that this library does not see. */
static chorus_status fail_device_call(const char *function, const char *what, const char *why)
{
    struct ch_context *context;

    CH_TRY(ch_context_require(function, &context));
    return CH_FAIL(CHORUS_ERR_SYSTEM, "%s failed: %s", what, why);
}

int chorusx_device_failed(const char *what, const char *why)
{
    return ch_handle_status(__func__, fail_device_call(__func__, what, why));
}

/* --- plans -------------------------------------------------------------------------------- */

static chorus_status check_explain_args(const char *function, chorus_coll coll,
                                        chorus_type type, chorus_op op)
{
    if ((unsigned)coll >= CHORUS_COLL_COUNT)
        return CH_FAIL(CHORUS_ERR_ARG, "%s: coll is %d; expected a CHORUS_COLL_ constant",
                       function, (int)coll);
    if ((unsigned)type >= CHORUS_TYPE_COUNT)
        return CH_FAIL(CHORUS_ERR_ARG, "%s: type is %d; expected a CHORUS_TYPE_ constant",
                       function, (int)type);
    if (ch_coll_reduces(coll) && ((unsigned)op >= CHORUS_OP_COUNT || !ch_op_takes(op, type)))
        return CH_FAIL(CHORUS_ERR_ARG,
                       "%s: op is %d; expected a CHORUS_OP_ constant that takes type %s",
                       function, (int)op, ch_type_names[type]);
    return CHORUS_OK;
}

/* Set *plan_out to the plan that the rules choose for the request, or CHORUS_ALGO forces. */
static chorus_status plan_of_rules(const struct ch_context *context,
                                   const struct ch_request *request, chorusx_plan *plan_out)
{
    struct ch_plan plan;

    CH_TRY(ch_select_plan(context->select, request, &plan));
    *plan_out = (chorusx_plan){.ctas = (int)plan.ctas, .radix = (int)plan.radix};
    (void)snprintf(plan_out->algo, sizeof(plan_out->algo), "%s", plan.algo->name);
    (void)snprintf(plan_out->proto, sizeof(plan_out->proto), "%s",
                   ch_proto_names[plan.algo->proto]);
    if (plan.rule == NULL)
        (void)snprintf(plan_out->rule, sizeof(plan_out->rule), "forced");
    else
        (void)snprintf(plan_out->rule, sizeof(plan_out->rule), "%s:%u", plan.table->path,
                       plan.rule->line);
    return CHORUS_OK;
}

/* Set *plan_out to the plan that the call itself forces. */
static chorus_status plan_forced(const struct ch_context *context, const chorusx_call *call,
                                 chorusx_plan *plan_out)
{
    const uint32_t ctas = call->ctas > 0 ? (uint32_t)call->ctas : 1;
    const struct ch_algo *algo;

    CH_TRY(ch_algo_find(call->coll, call->algo, &algo));
    *plan_out = (chorusx_plan){.ctas = (int)ch_limit_ctas(context, ctas),
                               .radix = call->radix > 0 ? call->radix : (int)CH_RADIX_DEFAULT,
                               .rule = "forced"};
    (void)snprintf(plan_out->algo, sizeof(plan_out->algo), "%s", algo->name);
    (void)snprintf(plan_out->proto, sizeof(plan_out->proto), "%s", ch_proto_names[algo->proto]);
    return CHORUS_OK;
}

/* Set *plan_out to the plan of a call of `bytes`, in symmetric buffers that do not overlap. */
static chorus_status explain_request(const char *function, chorus_team_t team, chorus_coll coll,
                                     chorus_type type, chorus_op op, size_t bytes,
                                     chorusx_plan *plan_out)
{
    const chorusx_call asked = {.coll = coll, .team = team, .type = type, .op = op};
    struct ch_call call = {.asked = &asked, .facts = CH_NEED_apart | CH_NEED_SYMMETRIC};
    struct ch_context *context;
    struct ch_request request;

    CH_TRY(ch_context_require(function, &context));
    CH_TRY(ch_team_get(context->teams, team, &call.team));
    CH_TRY(check_explain_args(function, coll, type, op));
    request = ch_request_of(context, &call);
    request.bytes = bytes;
    return plan_of_rules(context, &request, plan_out);
}

int chorusx_explain(chorus_team_t team, chorus_coll coll, chorus_type type, chorus_op op,
                    size_t bytes, chorusx_plan *plan_out)
{
    return ch_handle_status(__func__,
                            explain_request(__func__, team, coll, type, op, bytes, plan_out));
}

/* Set *plan_out to the plan of exactly this call, whose buffers must be valid. */
static chorus_status explain_call(const char *function, const chorusx_call *call,
                                  chorusx_plan *plan_out)
{
    chorusx_call named = *call;
    struct ch_call question = {.function = function, .asked = &named};
    struct ch_context *context;
    struct ch_request request;

    CH_TRY(ch_context_require(function, &context));
    CH_TRY(ch_error_prefix_if_failed(function,
                                     ch_team_get(context->teams, call->team, &question.team)));
    ch_replace_registered(context, question.team, &named);
    CH_TRY(ch_check_call(context, &question));
    if (call->algo != NULL) return plan_forced(context, call, plan_out);
    request = ch_request_of(context, &question);
    return plan_of_rules(context, &request, plan_out);
}

int chorusx_explain_call(const chorusx_call *call, chorusx_plan *plan_out)
{
    return ch_handle_status(__func__, explain_call(__func__, call, plan_out));
}

/* --- profilers ---------------------------------------------------------------------------- */

/* The tracer of the program, see chorusx_set_tracer. */
static struct {
    chorusx_tracer_t tracer;
    void *arg;
} program;

/* PEs that are threads set this to the same value. */
static int is_for_nvtx;
int ch_is_traced;

static bool is_nvtx_requested(void)
{
    return __atomic_load_n(&is_for_nvtx, __ATOMIC_RELAXED) != 0;
}

/* Set *plan_out to the plan of the call, and *bytes_out to the length by which rules choose it,
 * 0 if the call is refused. False: the call is refused, or has no plan. */
static bool describe_call(struct ch_call *call, chorusx_plan *plan_out, size_t *bytes_out)
{
    struct ch_context *context;
    struct ch_request request;

    *bytes_out = 0;
    if (ch_context_require(call->function, &context) != CHORUS_OK ||
        ch_team_get(context->teams, call->asked->team, &call->team) != CHORUS_OK ||
        ch_check_call(context, call) != CHORUS_OK)
        return false;
    request = ch_request_of(context, call);
    *bytes_out = request.bytes;
    if (call->asked->algo != NULL)
        return plan_forced(context, call->asked, plan_out) == CHORUS_OK;
    return plan_of_rules(context, &request, plan_out) == CHORUS_OK;
}

static void push_nvtx_range(const chorusx_trace_event *event)
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

chorus_status ch_trace_collective(struct ch_call *call)
{
    const chorusx_call *const asked = call->asked;
    chorusx_plan plan;
    chorusx_trace_event event = {
        .function = call->function,
        .coll = asked->coll,
        .team = asked->team,
        .type = asked->type,
        .op = asked->op,
        .is_on_stream = call->is_on_stream,
        .stream = call->stream,
    };
    chorus_status status;

    if (describe_call(call, &plan, &event.bytes)) event.plan = &plan;
    if (is_nvtx_requested()) push_nvtx_range(&event);
    if (program.tracer != NULL) program.tracer(&event, program.arg);
    call->is_traced = true;
    status = ch_collective(call);
    event.is_end = 1;
    event.status = status;
    if (program.tracer != NULL) program.tracer(&event, program.arg);
    if (is_nvtx_requested()) ch_nvtx_pop();
    return status;
}

static void update_is_traced(void)
{
    __atomic_store_n(&ch_is_traced, is_nvtx_requested() || program.tracer != NULL,
                     __ATOMIC_RELAXED);
}

void ch_trace_set_nvtx(bool is_wanted)
{
    if (is_wanted && !ch_nvtx_is_there())
        CH_LOG(WARN, "CHORUS_NVTX is 1, but this library was built without CUDA; expected 0");
    __atomic_store_n(&is_for_nvtx, is_wanted && ch_nvtx_is_there(), __ATOMIC_RELAXED);
    update_is_traced();
}

void chorusx_set_tracer(chorusx_tracer_t tracer, void *arg)
{
    program.tracer = tracer;
    program.arg = arg;
    update_is_traced();
}
