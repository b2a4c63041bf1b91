/* SPDX-License-Identifier: Apache-2.0 */
/* coll.c: a collective call: check, select, launch. */
#include "api/coll.h"

#include "coll/cuda/multimem.h"

#include <string.h>

/* Plans of the last few calls, per thread. A team's number is never used again, and with
 * shape and count it says all that selection sees. */
enum { CACHED_PLANS_LOG2 = 4 };

struct cached_plan {
    uint64_t team; /* 0: empty */
    uint64_t shape;
    size_t count;
    const struct ch_algo *algo;
    uint32_t ctas, radix;
};

static _Thread_local struct cached_plan cached_plans[1 << CACHED_PLANS_LOG2];

/* In one word, which compares as fast as it is made. */
static uint64_t shape_of(const chorusx_call *call, bool is_apart)
{
    return (uint64_t)call->coll | (uint64_t)call->type << 8 | (uint64_t)call->op << 16 |
           (uint64_t)is_apart << 24;
}

static struct cached_plan *cached_plan_of(size_t count, uint64_t shape)
{
    const uint64_t mixed = (count * 5 + shape) * 0x9e3779b97f4a7c15ull;

    return &cached_plans[mixed >> (64 - CACHED_PLANS_LOG2)];
}

/* May switches that multicast serve the call, if there are such? */
static bool is_for_switches(const chorusx_call *call)
{
    return (call->coll != CHORUS_COLL_reduce && call->coll != CHORUS_COLL_reducescatter) ||
           ch_multimem_combines(call->type, call->op);
}

/* GPUs have engines that copy, and may have a link that tears lines. */
static uint32_t gpu_offers(const struct ch_context *context, const struct ch_team *team,
                           const chorusx_call *call, uint32_t offers)
{
    const bool multicasts = team->multicast != 0 && is_for_switches(call);

    return (context->keeps_lines ? offers : offers & ~(uint32_t)CH_NEED_lines) |
           CH_NEED_copy_engine | (multicasts ? CH_NEED_multicast : 0u);
}

struct ch_request ch_request_of(const struct ch_context *context, const struct ch_team *team,
                                const chorusx_call *call, bool is_apart)
{
    const size_t block = call->count * ch_type_bytes[call->type];
    const uint32_t reach = team->n == 1      ? CH_REACH_self
                           : team->is_mapped ? CH_REACH_mapped
                                             : CH_REACH_network;
    const uint32_t offers = ch_offers(call->type, reach, is_apart);
    const struct ch_request request = {
        .coll = call->coll,
        .bytes = call->coll == CHORUS_COLL_reducescatter ? block * team->n : block,
        .pes = team->n,
        .nodes = team->n_nodes,
        .reach = reach,
        .cores = ch_boot_shares_cores(context->boot) ? CH_CORES_shared : CH_CORES_own,
        .type = call->type,
        .op = call->op,
        .ctas_max = team->n_dups,
        .machine = team->is_on_gpu ? "cuda" : "host",
        .gpu = ch_heap_gpu_name(context->heap),
        .offers = team->is_on_gpu ? gpu_offers(context, team, call, offers) : offers,
    };

    return request;
}

static chorus_status select_plan(const struct ch_context *context, const chorusx_call *asked,
                                 bool is_apart, struct ch_call *out)
{
    const uint64_t shape = shape_of(asked, is_apart);
    struct cached_plan *cached = cached_plan_of(asked->count, shape);

    if (cached->team != out->team->id || cached->shape != shape ||
        cached->count != asked->count) {
        const struct ch_request request = ch_request_of(context, out->team, asked, is_apart);
        struct ch_plan plan;

        CH_TRY(ch_select_plan(context->select, &request, &plan));
        *cached = (struct cached_plan){.team = out->team->id,
                                       .shape = shape,
                                       .count = asked->count,
                                       .algo = plan.algo,
                                       .ctas = plan.ctas,
                                       .radix = plan.radix};
    }
    out->algo = cached->algo;
    out->ctas = cached->ctas;
    out->radix = cached->radix;
    return CHORUS_OK;
}

/* ch_algo_find, remembering the last: a loop forces the same algorithm call after call. */
static chorus_status find_algo(const chorusx_call *call, const struct ch_algo **algo_out)
{
    static _Thread_local struct {
        char text[48];
        chorus_coll coll;
        const struct ch_algo *algo; /* null: none yet */
    } last;

    if (last.algo == NULL || last.coll != call->coll || strcmp(last.text, call->algo) != 0) {
        CH_TRY(ch_algo_find(call->coll, call->algo, algo_out));
        if (strlen(call->algo) >= sizeof(last.text)) return CHORUS_OK;
        last.algo = *algo_out;
        last.coll = call->coll;
        memcpy(last.text, call->algo, strlen(call->algo) + 1);
    }
    *algo_out = last.algo;
    return CHORUS_OK;
}

/* The caller chose: its needs must be met, nothing is put in its place. */
static chorus_status force_plan(const struct ch_context *context, const struct ch_args *args,
                                bool is_apart, struct ch_call *out)
{
    const chorusx_call *call = args->call;
    const struct ch_request request = ch_request_of(context, out->team, call, is_apart);
    uint32_t unmet;

    CH_TRY(find_algo(call, &out->algo));
    unmet = out->algo->needs & ~request.offers;
#define X(need, bit, text)                                                                \
    if (unmet & CH_NEED_##need)                                                           \
        return CH_FAIL(CHORUS_ERR_UNSUPPORTED,                                            \
                       "%s: algorithm %s cannot serve this call: it needs " #need ": %s", \
                       args->function, call->algo, text);
    CH_NEED_LIST(X)
#undef X
    out->ctas = call->ctas > 0 ? (uint32_t)call->ctas : 1;
    out->radix = call->radix > 0 ? (uint32_t)call->radix : CH_RADIX_DEFAULT;
    if (out->ctas > request.ctas_max)
        return CH_FAIL(CHORUS_ERR_ARG,
                       "%s: %u CTAs were asked for, a team has %u; raise CHORUS_CTAS",
                       args->function, out->ctas, request.ctas_max);
    if (out->radix < CH_RADIX_MIN || out->radix > CH_RADIX_MAX)
        return CH_FAIL(CHORUS_ERR_ARG, "%s: radix is %u; expected %u to %u", args->function,
                       out->radix, CH_RADIX_MIN, CH_RADIX_MAX);
    return CHORUS_OK;
}

static chorus_status launch(struct ch_context *context, const struct ch_call *call,
                            const struct ch_args *args)
{
    if (context->gpu != NULL) {
        CH_TRY(ch_gpu_check(call));
        return args->is_on_stream ? ch_gpu_push(context->gpu, call, args->stream)
                                  : ch_gpu_run(context->gpu, call);
    }
    if (args->is_on_stream) {
        ch_stream_push(args->stream, call);
        return CHORUS_OK;
    }
    return ch_call_run(call, ch_team_ticket(call->team), context->crew);
}

chorus_status ch_collective(const struct ch_args *args)
{
    const chorusx_call *asked = args->call;
    struct ch_context *context;
    struct ch_team *team;
    struct ch_call call;
    bool is_apart;

    CH_TRY(ch_context_require(args->function, &context));
    CH_TRY(ch_team_get(context->teams, asked->team, &team));
    CH_TRY(ch_team_usable(team));
    CH_TRY(ch_check_call(context, args, team, &is_apart));
    if (args->is_on_stream && context->gpu == NULL)
        CH_TRY(ch_stream_check(context, args->function, args->stream));
    if (asked->count == 0 && asked->coll != CHORUS_COLL_barrier) return CHORUS_OK;
    call = (struct ch_call){
        .team = team,
        .root = (uint32_t)asked->root,
        .dst = asked->dest,
        .src = asked->source,
        .count = asked->count,
        .type = asked->type,
        .op = asked->op,
    };
    if (asked->algo != NULL)
        CH_TRY(force_plan(context, args, is_apart, &call));
    else
        CH_TRY(select_plan(context, asked, is_apart, &call));
    return launch(context, &call, args);
}
