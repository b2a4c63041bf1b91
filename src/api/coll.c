/* SPDX-License-Identifier: Apache-2.0 */
/* coll.c: a collective call: check, select, launch. */
#include "api/coll.h"

#include "api/check.h"
#include "coll/cuda/multimem.h"

#include <string.h>

/*
 * A team caches the plans of its last few shapes of call. A plan, and all properties of the
 * call that selection depends on, are in one word, so that threads may read and write it
 * without a lock:
 *
 *     bits  0..16  collective, type, operator, facts of the buffers
 *     bits 17..42  count
 *     bits 43..63  the plan: the algorithm's id, the radix less 1, the number of CTAs, at most
 *                  255; 0 CTAs: no plan
 *
 * Calls whose values do not fit are selected each time.
 */
enum {
    TYPE_AT = 5,
    OP_AT = 10,
    FACTS_AT = 14,
    COUNT_AT = 17,
    COUNT_KEPT_MAX = (1 << 26) - 1,
    SHAPE_BITS = 43,
    RADIX_AT = 50,
    CTAS_AT = RADIX_AT + CH_CALL_CTAS_AT /* from RADIX_AT on, as in a call's second word */
};
_Static_assert(CHORUS_COLL_COUNT <= 32 && CHORUS_TYPE_COUNT <= 32 && CHORUS_OP_COUNT <= 16 &&
                   CH_ALGO_COUNT <= 128 && CH_RADIX_MAX <= 64,
               "a plan has no room for its values");
_Static_assert(CH_ALGO_COUNT <= 1 << CH_CALL_ALGO_BITS, "a call has no room for its algorithm");

/* The facts of the buffers are in neighbouring bits, in the same order in all words. */
_Static_assert(CH_NEED_symmetric_dest / CH_NEED_apart ==
                       1 << (CH_CALL_SYMMETRIC_DEST_AT - CH_CALL_APART_AT) &&
                   CH_NEED_symmetric_source / CH_NEED_apart ==
                       1 << (CH_CALL_SYMMETRIC_SOURCE_AT - CH_CALL_APART_AT),
               "facts of buffers are in other bits");

static inline uint64_t shape_of(const chorusx_call *call, uint32_t facts)
{
    return (uint64_t)call->count << COUNT_AT | call->coll | call->type << TYPE_AT |
           call->op << OP_AT | facts / CH_NEED_apart << FACTS_AT;
}

/* A call's word as far as it is known without a plan. */
static inline uint64_t kind_of(const chorusx_call *call, uint32_t facts)
{
    return call->coll << CH_CALL_WHAT_AT | call->type << CH_CALL_TYPE_AT |
           call->op << CH_CALL_OP_AT | facts / CH_NEED_apart << CH_CALL_APART_AT;
}

static inline uint64_t plan_of(const struct ch_call *call)
{
    return (uint64_t)call->algo->id << SHAPE_BITS | ch_call_plan(call->radix, call->ctas)
                                                        << RADIX_AT;
}

static inline uint64_t *plan_at(struct ch_team *team, uint64_t shape)
{
    return &team->plans[shape * 0x9e3779b97f4a7c15ull >> (64 - CH_TEAM_PLANS_LOG2)];
}

/* May multicast by switches serve the call, if there are such switches? */
static bool is_for_switches(const chorusx_call *call)
{
    return !ch_coll_reduces(call->coll) || ch_multimem_combines(call->type, call->op);
}

/* GPUs have copy engines, and may have a link that does not keep lines whole. */
static uint32_t gpu_offers(const struct ch_context *context, const struct ch_team *team,
                           const chorusx_call *call, uint32_t offers)
{
    const bool multicasts = team->multicast != 0 && is_for_switches(call);

    return (context->keeps_lines ? offers : offers & ~(uint32_t)CH_NEED_lines) |
           CH_NEED_copy_engine | (multicasts ? CH_NEED_multicast : 0u);
}

struct ch_request ch_request_of(const struct ch_context *context, const struct ch_team *team,
                                const chorusx_call *call, uint32_t facts)
{
    const size_t block =
        ch_coll_is_uneven(call->coll) ? 0 : call->count * ch_type_bytes[call->type];
    const uint32_t reach = team->n == 1              ? CH_REACH_self
                           : ch_team_is_mapped(team) ? CH_REACH_mapped
                                                     : CH_REACH_network;
    const uint32_t offers = ch_offers(call->type, reach, facts);
    const uint32_t whole = ch_ctas_of_share(context, team->layout.n_whole);
    const struct ch_request request = {
        .coll = call->coll,
        .bytes = ch_coll_splits_result(call->coll) ? block * team->n : block,
        .pes = team->n,
        .nodes = team->n_nodes,
        .reach = reach,
        .cores = ch_boot_shares_cores(context->boot) ? CH_CORES_shared : CH_CORES_own,
        .type = call->type,
        .op = call->op,
        .ctas_max = whole,
        .ctas_slim = ch_ctas_of_share(context, team->n_dups) - whole,
        .machine = team->is_on_gpu ? "cuda" : "host",
        .gpu = ch_heap_gpu_name(context->heap),
        .offers = team->is_on_gpu ? gpu_offers(context, team, call, offers) : offers,
    };

    return request;
}

/* Select by the rules, and cache the plan. */
static CH_COLD chorus_status ask_rules(const struct ch_context *context,
                                       const chorusx_call *asked, uint32_t facts,
                                       struct ch_call *out)
{
    const struct ch_request request = ch_request_of(context, out->team, asked, facts);
    const uint64_t shape = shape_of(asked, facts);
    struct ch_plan plan;

    CH_TRY(ch_select_plan(context->select, &request, &plan));
    if (!plan.algo->takes_radix) plan.radix = CH_RADIX_DEFAULT; /* PEs compare it */
    out->algo = plan.algo;
    out->ctas = plan.ctas;
    out->radix = plan.radix;
    out->plan = plan_of(out);
    if (asked->count <= COUNT_KEPT_MAX && plan.ctas <= UINT8_MAX)
        __atomic_store_n(plan_at(out->team, shape), shape | out->plan, __ATOMIC_RELAXED);
    return CHORUS_OK;
}

static inline chorus_status select_plan(const struct ch_context *context,
                                        const chorusx_call *asked, uint32_t facts,
                                        struct ch_call *out)
{
    const uint64_t shape = shape_of(asked, facts);
    const uint64_t plan = __atomic_load_n(plan_at(out->team, shape), __ATOMIC_RELAXED);

    if (asked->count > COUNT_KEPT_MAX || plan >> CTAS_AT == 0 ||
        (plan ^ shape) << (64 - SHAPE_BITS) != 0)
        return ask_rules(context, asked, facts, out);
    out->algo = &ch_algos[plan >> SHAPE_BITS & (128 - 1)];
    out->radix = (uint32_t)(plan >> RADIX_AT & (64 - 1)) + 1;
    out->ctas = (uint32_t)(plan >> CTAS_AT);
    out->plan = plan >> SHAPE_BITS << SHAPE_BITS;
    return CHORUS_OK;
}

/* ch_algo_find with a cache of the last result: a loop forces the same algorithm in call after
 * call. */
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

/* A team has sync memory for so many CTAs. */
static chorus_status check_forced(const struct ch_args *args, const struct ch_call *call)
{
    const struct ch_team *team = call->team;
    const uint32_t dups = call->algo->is_wide ? team->n_dups : team->layout.n_whole;
    const uint32_t most = call->algo->kernel == CH_KERNEL_none ? 1 : dups;

    if (call->ctas > most)
        return CH_FAIL(CHORUS_ERR_ARG,
                       "%s: %u CTAs were requested, but calls of a team have at most %u; raise "
                       "CHORUS_CTAS",
                       args->function, call->ctas, most);
    if (call->radix < CH_RADIX_MIN || call->radix > CH_RADIX_MAX)
        return CH_FAIL(CHORUS_ERR_ARG, "%s: radix is %u; expected %u to %u", args->function,
                       call->radix, CH_RADIX_MIN, CH_RADIX_MAX);
    return CHORUS_OK;
}

/* The caller chose the algorithm: its needs must be met, and no other one replaces it. */
static CH_COLD chorus_status force_plan(const struct ch_context *context,
                                        const struct ch_args *args, uint32_t facts,
                                        struct ch_call *out)
{
    const chorusx_call *call = args->call;
    const struct ch_request request = ch_request_of(context, out->team, call, facts);
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
    /* Checked first, since an algorithm without a kernel has no CTAs. */
    if (context->gpu != NULL) CH_TRY(ch_gpu_check(out));
    out->ctas = call->ctas > 0 ? (uint32_t)call->ctas : 1;
    out->radix = call->radix > 0 ? (uint32_t)call->radix : CH_RADIX_DEFAULT;
    CH_TRY(check_forced(args, out));
    out->ctas = ch_ctas_of_share(context, out->ctas);
    if (!out->algo->takes_radix) out->radix = CH_RADIX_DEFAULT;
    out->plan = plan_of(out);
    return CHORUS_OK;
}

static chorus_status launch_on_gpu(struct ch_context *context, const struct ch_call *call,
                                   const struct ch_args *args)
{
    chorus_status status;

    if (args->is_on_stream) return ch_gpu_push(context->gpu, call, args->stream);
    status = ch_gpu_run(context->gpu, call);
    ch_record_mark(call->team->record, call->index, ch_entry_state_of(status));
    return status;
}

/* The part of the source that must not change while the call runs and is compared for that:
 * none if it has gaps, or if this PE's source is not read. */
static size_t watched_bytes(const struct ch_context *context, const struct ch_call *call,
                            const struct ch_args *args, uint32_t facts)
{
    const chorusx_call *asked = args->call;
    const bool is_read =
        !ch_coll_is_from_root(asked->coll) || (uint32_t)asked->root == call->team->me;
    const bool has_gaps =
        asked->source_counts != NULL || (ch_coll_is_strided(asked->coll) && asked->sst != 1);

    if (!ch_guards(context) || (facts & CH_NEED_apart) == 0 || !is_read || has_gaps) return 0;
    return ch_check_extents(args, call->team).source;
}

/* Any call on a stream, and calls that are checked. */
static CH_COLD chorus_status launch(struct ch_context *context, struct ch_call *call,
                                    const struct ch_args *args, uint32_t facts)
{
    const bool is_serial = context->thread_level != CHORUS_THREAD_MULTIPLE;

    if (context->gpu != NULL) return launch_on_gpu(context, call, args);
    call->source_bytes = watched_bytes(context, call, args, facts);
    call->is_summed = false;
    if (args->is_on_stream) {
        ch_stream_push(args->stream, call);
        return CHORUS_OK;
    }
    if (call->source_bytes != 0)
        return ch_call_run_watched(call, ch_team_ticket(call->team, is_serial),
                                   context->workers);
    return ch_call_run(call, ch_team_ticket(call->team, is_serial), context->workers);
}

/* Does this PE move no data? Then no other PE does. */
static bool is_nothing(const chorusx_call *call)
{
    return call->count == 0 && call->coll != CHORUS_COLL_barrier &&
           !ch_coll_is_uneven(call->coll);
}

/* Each symmetric buffer lies in an object, and this thread may make calls. */
static chorus_status look_at(const struct ch_context *context, const struct ch_args *args,
                             const struct ch_team *team)
{
    const struct ch_extents extents = ch_check_extents(args, team);
    const chorusx_call *call = args->call;

    CH_TRY(ch_guard_thread(context, args->function));
    if (ch_heap_contains(context->heap, call->dest, 1))
        CH_TRY(ch_guard_inside(context, args->function, "dest", call->dest, extents.dest));
    if (!ch_heap_contains(context->heap, call->source, 1)) return CHORUS_OK;
    return ch_guard_inside(context, args->function, "source", call->source, extents.source);
}

/* With CHORUS_CHECK, for a call that the record has. */
static CH_COLD chorus_status check_entry(const struct ch_context *context,
                                         const struct ch_args *args, const struct ch_call *call,
                                         struct ch_record_words noted)
{
    struct ch_team *team = call->team;
    const chorus_status status = ch_guards(context) ? look_at(context, args, team) : CHORUS_OK;
    struct ch_doing doing = ch_doing_unpack(noted.what, noted.plan);

    if (status != CHORUS_OK) {
        ch_record_mark(team->record, call->index, CH_ENTRY_FAILED);
        return status;
    }
    doing.team = team->word;
    doing.number = noted.call;
    doing.count = noted.count;
    return ch_check_entry(args->function, team, &doing, call->index);
}

/* The root of other calls may be any number. */
static inline uint64_t root_word(const chorusx_call *asked)
{
    const uint32_t mask = (1u << CH_CALL_ROOT_BITS) - 1;

    return (uint64_t)((uint32_t)asked->root & mask) << CH_CALL_ROOT_AT;
}

/* Give the call its number on the team and an entry in the record. PEs can compare whether a
 * call is in place only if all PEs or none must be. `noted` remains in registers, because only
 * inline functions get its address. */
static inline chorus_status enter(const struct ch_context *context, const struct ch_args *args,
                                  uint64_t kind, struct ch_call *call)
{
    const bool is_serial = context->thread_level != CHORUS_THREAD_MULTIPLE;
    const uint64_t algo = call->plan >> SHAPE_BITS & (128 - 1);
    const chorusx_call *asked = args->call;
    struct ch_team *team = call->team;
    const struct ch_record_words noted = {
        .what = kind | (uint64_t)args->is_on_stream << CH_CALL_ON_STREAM_AT | root_word(asked) |
                algo << CH_CALL_ALGO_AT,
        .plan = call->plan >> RADIX_AT,
        .where = team->word,
        .call = ch_team_next_call(team, is_serial),
        .count = asked->count,
    };

    call->index = ch_record_begin(team->record, &noted, is_serial,
                                  args->is_on_stream ? CH_ENTRY_QUEUED : CH_ENTRY_RUNNING);
    if (team->check == NULL) return CHORUS_OK;
    return check_entry(context, args, call, noted);
}

static CH_COLD chorus_status do_nothing(const struct ch_context *context,
                                        const struct ch_args *args, uint64_t kind,
                                        struct ch_call *call)
{
    CH_TRY(enter(context, args, kind, call));
    ch_record_mark(call->team->record, call->index, CH_ENTRY_ENDED);
    return CHORUS_OK;
}

/* No algorithm that the user chose serves the call of this PE, though it may serve those of
 * others: the call takes its number, and PEs that wait for it find it in the record. */
static CH_COLD chorus_status miss_plan(const struct ch_context *context,
                                       const struct ch_args *args, uint64_t kind,
                                       struct ch_call *call, chorus_status status)
{
    call->plan = 0;
    CH_TRY(enter(context, args, kind, call));
    ch_record_mark(call->team->record, call->index, CH_ENTRY_FAILED);
    return status;
}

/* The plan: forced by the program, or by the rules. */
static inline chorus_status choose(const struct ch_context *context, const struct ch_args *args,
                                   uint32_t facts, uint64_t kind, struct ch_call *call)
{
    const chorus_status status = args->call->algo != NULL
                                     ? force_plan(context, args, facts, call)
                                     : select_plan(context, args->call, facts, call);

    if (__builtin_expect(status != CHORUS_OK, 0))
        return miss_plan(context, args, kind, call, status);
    return context->gpu != NULL ? ch_gpu_check(call) : CHORUS_OK;
}

/* A call whose buffers have their symmetric addresses, where the program registered them. */
struct named {
    struct ch_args args;
    chorusx_call call;
};

static CH_COLD void name_buffers(const struct ch_context *context, const struct ch_team *team,
                                 const struct ch_args *args, struct named *out)
{
    out->args = *args;
    out->call = *args->call;
    out->args.call = &out->call;
    ch_check_named(context, team, &out->call);
}

chorus_status ch_collective(const struct ch_args *args)
{
    struct ch_context *context;
    struct ch_call call;
    struct named named;
    uint64_t kind;
    uint32_t facts;

    CH_TRY(ch_context_require(args->function, &context));
    CH_TRY(
        ch_error_in(args->function, ch_team_get(context->teams, args->call->team, &call.team)));
    CH_TRY(ch_error_in(args->function, ch_team_usable(call.team)));
    if (context->buffers != NULL) {
        name_buffers(context, call.team, args, &named);
        args = &named.args;
    }
    CH_TRY(ch_check_call(context, args, call.team, &facts));
    if (args->is_on_stream && context->gpu == NULL)
        CH_TRY(ch_stream_check(context, args->function, args->stream));
    kind = kind_of(args->call, facts);
    call.asked = args->call;
    call.algo = NULL;
    call.plan = 0;
    if (is_nothing(args->call)) return do_nothing(context, args, kind, &call);
    CH_TRY(choose(context, args, facts, kind, &call));
    CH_TRY(enter(context, args, kind, &call));
    if (args->is_on_stream || context->gpu != NULL || ch_guards(context))
        return launch(context, &call, args, facts);
    return ch_call_run(
        &call, ch_team_ticket(call.team, context->thread_level != CHORUS_THREAD_MULTIPLE),
        context->workers);
}
