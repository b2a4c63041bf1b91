/* SPDX-License-Identifier: Apache-2.0 */
/* inquiry.c: error messages, heap and version, and explanations of plans. */
#include "chorus/chorusx.h"

#include "api/inquiry.h"
#include "device/device.h"

#include <stdio.h>

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
    return ch_give(__func__, team_status(__func__, team));
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
    return ch_give(__func__, heap_info(__func__, info_out));
}

static chorus_status check_question(const char *function, chorus_coll coll, chorus_type type,
                                    chorus_op op)
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

chorus_status ch_inquiry_plan(const struct ch_context *context,
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

chorus_status ch_inquiry_forced(const struct ch_context *context, const chorusx_call *call,
                                chorusx_plan *plan_out)
{
    const uint32_t ctas = call->ctas > 0 ? (uint32_t)call->ctas : 1;
    const struct ch_algo *algo;

    CH_TRY(ch_algo_find(call->coll, call->algo, &algo));
    *plan_out = (chorusx_plan){.ctas = (int)ch_ctas_of_share(context, ctas),
                               .radix = call->radix > 0 ? call->radix : (int)CH_RADIX_DEFAULT,
                               .rule = "forced"};
    (void)snprintf(plan_out->algo, sizeof(plan_out->algo), "%s", algo->name);
    (void)snprintf(plan_out->proto, sizeof(plan_out->proto), "%s", ch_proto_names[algo->proto]);
    return CHORUS_OK;
}

static chorus_status explain(const char *function, chorus_team_t team, chorus_coll coll,
                             chorus_type type, chorus_op op, size_t bytes,
                             chorusx_plan *plan_out)
{
    const chorusx_call call = {.coll = coll, .team = team, .type = type, .op = op};
    struct ch_context *context;
    struct ch_team *found;
    struct ch_request request;

    CH_TRY(ch_context_require(function, &context));
    CH_TRY(ch_team_get(context->teams, team, &found));
    CH_TRY(check_question(function, coll, type, op));
    request = ch_request_of(context, found, &call, CH_NEED_apart | CH_NEED_SYMMETRIC);
    request.bytes = bytes;
    return ch_inquiry_plan(context, &request, plan_out);
}

int chorusx_explain(chorus_team_t team, chorus_coll coll, chorus_type type, chorus_op op,
                    size_t bytes, chorusx_plan *plan_out)
{
    return ch_give(__func__, explain(__func__, team, coll, type, op, bytes, plan_out));
}

static chorus_status explain_call(const char *function, const chorusx_call *call,
                                  chorusx_plan *plan_out)
{
    chorusx_call named = *call;
    const struct ch_args args = {.function = function, .call = &named};
    struct ch_context *context;
    struct ch_team *team;
    struct ch_request request;
    uint32_t facts;

    CH_TRY(ch_context_require(function, &context));
    CH_TRY(ch_error_in(function, ch_team_get(context->teams, call->team, &team)));
    ch_check_named(context, team, &named);
    CH_TRY(ch_check_call(context, &args, team, &facts));
    if (call->algo != NULL) return ch_inquiry_forced(context, call, plan_out);
    request = ch_request_of(context, team, call, facts);
    return ch_inquiry_plan(context, &request, plan_out);
}

int chorusx_explain_call(const chorusx_call *call, chorusx_plan *plan_out)
{
    return ch_give(__func__, explain_call(__func__, call, plan_out));
}
