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

/* Returns the properties of a call in bits 0 to 42 of the word, if its count fits. */
static inline uint64_t plan_cache_key(const struct ch_call *call)
{
    const chorusx_call *asked = call->asked;

    return (uint64_t)asked->count << COUNT_AT | asked->coll | asked->type << TYPE_AT |
           asked->op << OP_AT | call->facts / CH_NEED_apart << FACTS_AT;
}

/* Returns the plan of a call in bits 43 to 63 of the word. */
static inline uint64_t pack_plan(const struct ch_call *call)
{
    return (uint64_t)call->algo->id << SHAPE_BITS | ch_pack_call_plan(call->radix, call->ctas)
                                                        << RADIX_AT;
}

/* Returns the word of the team's cache for calls with this key, chosen by a hash. */
static inline uint64_t *plan_cache_slot(struct ch_team *team, uint64_t shape)
{
    return &team->plans[shape * 0x9e3779b97f4a7c15ull >> (64 - CH_TEAM_PLANS_LOG2)];
}

/* May multicast by switches serve the call, if there are such switches? */
static bool can_use_multicast(const chorusx_call *call)
{
    return !ch_coll_reduces(call->coll) || ch_multimem_combines(call->type, call->op);
}

/* Returns the needs that a call on GPUs meets, from `offers`, those that it meets on hosts.
 * GPUs have copy engines, and may have a link that does not keep lines whole. */
static uint32_t gpu_offers(const struct ch_context *context, const struct ch_call *call,
                           uint32_t offers)
{
    const bool multicasts = call->team->multicast != 0 && can_use_multicast(call->asked);

    if (!context->keeps_lines) offers &= ~(uint32_t)CH_NEED_lines;
    if (call->team->is_in_pool && call->team->node == NULL) offers &= ~(uint32_t)CH_NEED_nodes;
    return ch_offers_on_gpu(call->team->n, offers | (multicasts ? CH_NEED_multicast : 0u));
}

struct ch_request ch_request_of(const struct ch_context *context, const struct ch_call *call)
{
    const chorusx_call *asked = call->asked;
    const struct ch_team *team = call->team;
    const size_t block =
        ch_coll_is_uneven(asked->coll) ? 0 : asked->count * ch_type_bytes[asked->type];
    const uint32_t reach = team->n == 1              ? CH_REACH_self
                           : ch_team_is_mapped(team) ? CH_REACH_mapped
                           : team->is_beside         ? CH_REACH_beside
                                                     : CH_REACH_network;
    const uint32_t offers = ch_offers(asked->type, reach, call->facts);
    const uint32_t whole = ch_limit_ctas(context, team->layout.n_whole);
    const struct ch_request request = {
        .coll = asked->coll,
        .bytes = ch_coll_splits_result(asked->coll) ? block * team->n : block,
        .pes = team->n,
        .nodes = team->n_nodes,
        .reach = reach,
        .cores = ch_boot_shares_cores(context->boot) ? CH_CORES_shared : CH_CORES_own,
        .type = asked->type,
        .op = asked->op,
        .ctas_max = whole,
        .ctas_slim = ch_limit_ctas(context, team->n_dups) - whole,
        .machine = team->is_on_gpu ? "cuda" : "host",
        .gpu = ch_heap_gpu_name(context->heap),
        .offers = team->is_on_gpu ? gpu_offers(context, call, offers) : offers,
    };

    return request;
}

/* Select by the rules, and cache the plan. */
static CH_COLD chorus_status select_by_rules(const struct ch_context *context,
                                             struct ch_call *call)
{
    const struct ch_request request = ch_request_of(context, call);
    const uint64_t shape = plan_cache_key(call);
    struct ch_plan plan;

    CH_TRY(ch_select_plan(context->select, &request, &plan));
    if (!plan.algo->takes_radix) plan.radix = CH_RADIX_DEFAULT; /* PEs compare it */
    call->algo = plan.algo;
    call->ctas = plan.ctas;
    call->radix = plan.radix;
    call->plan = pack_plan(call);
    if (call->asked->count <= COUNT_KEPT_MAX && plan.ctas <= UINT8_MAX)
        __atomic_store_n(plan_cache_slot(call->team, shape), shape | call->plan,
                         __ATOMIC_RELAXED);
    return CHORUS_OK;
}

/* Set the plan of a call: the cached one, else by the rules. */
static inline chorus_status select_plan(const struct ch_context *context, struct ch_call *call)
{
    const uint64_t shape = plan_cache_key(call);
    const uint64_t plan = __atomic_load_n(plan_cache_slot(call->team, shape), __ATOMIC_RELAXED);

    if (call->asked->count > COUNT_KEPT_MAX || plan >> CTAS_AT == 0 ||
        (plan ^ shape) << (64 - SHAPE_BITS) != 0)
        return select_by_rules(context, call);
    call->algo = &ch_algos[plan >> SHAPE_BITS & (128 - 1)];
    call->radix = (uint32_t)(plan >> RADIX_AT & (64 - 1)) + 1;
    call->ctas = (uint32_t)(plan >> CTAS_AT);
    call->plan = plan >> SHAPE_BITS << SHAPE_BITS;
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

/* Check the forced radix, and that the team has sync memory for the forced number of CTAs. */
static chorus_status check_forced(const struct ch_call *call)
{
    const struct ch_team *team = call->team;
    const uint32_t dups = call->algo->is_wide ? team->n_dups : team->layout.n_whole;
    const bool is_of_hosts = call->algo->kernel == CH_KERNEL_none && !team->is_in_pool;
    const uint32_t most = is_of_hosts ? 1 : dups;

    if (call->ctas > most)
        return CH_FAIL(CHORUS_ERR_ARG,
                       "%s: %u CTAs were requested, but calls of a team have at most %u; raise "
                       "CHORUS_CTAS",
                       call->function, call->ctas, most);
    if (call->radix < CH_RADIX_MIN || call->radix > CH_RADIX_MAX)
        return CH_FAIL(CHORUS_ERR_ARG, "%s: radix is %u; expected %u to %u", call->function,
                       call->radix, CH_RADIX_MIN, CH_RADIX_MAX);
    return CHORUS_OK;
}

/* Set the plan that the caller chose. The needs of its algorithm must be met: no other
 * algorithm replaces it. */
static CH_COLD chorus_status force_plan(const struct ch_context *context, struct ch_call *call)
{
    const struct ch_request request = ch_request_of(context, call);
    const chorusx_call *asked = call->asked;
    uint32_t unmet;

    CH_TRY(find_algo(asked, &call->algo));
    unmet = call->algo->needs & ~request.offers;
#define X(need, bit, text)                                                                \
    if (unmet & CH_NEED_##need)                                                           \
        return CH_FAIL(CHORUS_ERR_UNSUPPORTED,                                            \
                       "%s: algorithm %s cannot serve this call: it needs " #need ": %s", \
                       call->function, asked->algo, text);
    CH_NEED_LIST(X)
#undef X
    /* Checked first, since an algorithm without a kernel has no CTAs. */
    if (context->gpu != NULL) CH_TRY(ch_gpu_check(call));
    call->ctas = asked->ctas > 0 ? (uint32_t)asked->ctas : 1;
    call->radix = asked->radix > 0 ? (uint32_t)asked->radix : CH_RADIX_DEFAULT;
    CH_TRY(check_forced(call));
    call->ctas = ch_limit_ctas(context, call->ctas);
    if (!call->algo->takes_radix) call->radix = CH_RADIX_DEFAULT;
    call->plan = pack_plan(call);
    return CHORUS_OK;
}

/* Queue a call on a stream of a GPU, or run it there and mark its end in the record. */
static chorus_status launch_on_gpu(struct ch_context *context, const struct ch_call *call)
{
    chorus_status status;

    if (call->is_on_stream) return ch_gpu_push(context->gpu, call, call->stream);
    status = ch_gpu_run(context->gpu, call);
    ch_record_mark(call->team->record, call->index, ch_entry_state_of(status));
    return status;
}

/* Returns how many bytes of the source CHORUS_CHECK=2 compares after the call, since they must
 * not change while it runs: none if the source has gaps, overlaps dest, or is not read. */
static size_t watched_source_bytes(const struct ch_context *context, const struct ch_call *call)
{
    const chorusx_call *asked = call->asked;
    const bool is_read =
        !ch_coll_is_from_root(asked->coll) || (uint32_t)asked->root == call->team->me;
    const bool has_gaps =
        asked->source_counts != NULL || (ch_coll_is_strided(asked->coll) && asked->sst != 1);

    if (!ch_guard_is_on(context) || (call->facts & CH_NEED_apart) == 0 || !is_read || has_gaps)
        return 0;
    return ch_call_extent(call).source;
}

/* Launch a call on a stream, on a GPU, or with CHORUS_CHECK=2. */
static CH_COLD chorus_status launch_call(struct ch_context *context, struct ch_call *call)
{
    const bool is_serial = context->thread_level != CHORUS_THREAD_MULTIPLE;

    if (context->gpu != NULL) return launch_on_gpu(context, call);
    call->source_bytes = watched_source_bytes(context, call);
    call->is_summed = false;
    if (!call->is_on_stream)
        return ch_call_run(call, ch_team_draw_ticket(call->team, is_serial), context->workers);
    ch_stream_push(call->stream, call);
    return CHORUS_OK;
}

/* Does this PE move no data? Then no other PE does. */
static bool moves_no_data(const chorusx_call *call)
{
    return call->count == 0 && call->coll != CHORUS_COLL_barrier &&
           !ch_coll_is_uneven(call->coll);
}

/* Check that each buffer in the heap lies in one object, and that this thread may call. */
static chorus_status check_objects(const struct ch_context *context, const struct ch_call *call)
{
    const struct ch_extent extent = ch_call_extent(call);
    const chorusx_call *asked = call->asked;

    CH_TRY(ch_guard_check_thread(context, call->function));
    if (ch_heap_contains(context->heap, asked->dest, 1))
        CH_TRY(
            ch_guard_check_inside(context, call->function, "dest", asked->dest, extent.dest));
    if (!ch_heap_contains(context->heap, asked->source, 1)) return CHORUS_OK;
    return ch_guard_check_inside(context, call->function, "source", asked->source,
                                 extent.source);
}

/* With CHORUS_CHECK: check a call that has begun, and compare it with those of the peers. The
 * record has it as `entry`. */
static CH_COLD chorus_status check_entry(const struct ch_context *context,
                                         const struct ch_call *call, struct ch_entry entry)
{
    const chorus_status status =
        ch_guard_is_on(context) ? check_objects(context, call) : CHORUS_OK;
    const struct ch_doing doing = ch_entry_doing(&entry);

    if (status != CHORUS_OK) {
        ch_record_mark(call->team->record, call->index, CH_ENTRY_FAILED);
        return status;
    }
    return ch_check_entry(call->function, call->team, &doing, call->index);
}

/* Returns the first word of a call in records. The root of collectives that have none may be
 * any number. */
static inline uint64_t pack_call(const struct ch_call *call)
{
    const uint64_t algo = call->plan >> SHAPE_BITS & (128 - 1);
    const uint32_t root_mask = (1u << CH_CALL_ROOT_BITS) - 1;
    const chorusx_call *asked = call->asked;

    return asked->coll << CH_CALL_WHAT_AT | asked->type << CH_CALL_TYPE_AT |
           asked->op << CH_CALL_OP_AT | call->facts / CH_NEED_apart << CH_CALL_APART_AT |
           (uint64_t)call->is_on_stream << CH_CALL_ON_STREAM_AT | algo << CH_CALL_ALGO_AT |
           (uint64_t)((uint32_t)asked->root & root_mask) << CH_CALL_ROOT_AT;
}

/* Give the call its number on the team and an entry in the record. PEs can compare whether a
 * call is in place only if all PEs or none must be. `entry` remains in registers, because only
 * inline functions get its address. */
static inline chorus_status begin_call(const struct ch_context *context, struct ch_call *call)
{
    const bool is_serial = context->thread_level != CHORUS_THREAD_MULTIPLE;
    struct ch_team *team = call->team;
    const struct ch_entry entry = {
        .what = pack_call(call),
        .plan = call->plan >> RADIX_AT,
        .where = team->word,
        .call = ch_team_next_call(team, is_serial),
        .count = call->asked->count,
    };

    call->index = ch_record_begin(team->record, &entry, is_serial,
                                  call->is_on_stream ? CH_ENTRY_QUEUED : CH_ENTRY_RUNNING);
    return team->check == NULL ? CHORUS_OK : check_entry(context, call, entry);
}

/* Make a call that moves no data: it only takes its number and an entry in the record. */
static CH_COLD chorus_status record_empty_call(const struct ch_context *context,
                                               struct ch_call *call)
{
    call->plan = 0;
    CH_TRY(begin_call(context, call));
    ch_record_mark(call->team->record, call->index, CH_ENTRY_ENDED);
    return CHORUS_OK;
}

/* Returns `status`, the reason why no algorithm that the user chose serves this PE's call. It
 * may serve those of others, so the call takes its number, and PEs that wait for it find it in
 * the record. */
static CH_COLD chorus_status record_call_without_plan(const struct ch_context *context,
                                                      struct ch_call *call,
                                                      chorus_status status)
{
    call->plan = 0;
    CH_TRY(begin_call(context, call));
    ch_record_mark(call->team->record, call->index, CH_ENTRY_FAILED);
    return status;
}

/* Set the plan: the one that the program forces, or by the rules. */
static inline chorus_status choose_plan(const struct ch_context *context, struct ch_call *call)
{
    const chorus_status status =
        call->asked->algo != NULL ? force_plan(context, call) : select_plan(context, call);

    if (__builtin_expect(status != CHORUS_OK, 0))
        return record_call_without_plan(context, call, status);
    return context->gpu != NULL ? ch_gpu_check(call) : CHORUS_OK;
}

/* Let the call use *named, a copy of its parameters in which the addresses of registered
 * buffers are replaced by symmetric addresses. */
static CH_COLD void replace_named_buffers(const struct ch_context *context,
                                          struct ch_call *call, chorusx_call *named)
{
    *named = *call->asked;
    ch_replace_registered(context, call->team, named);
    call->asked = named;
}

chorus_status ch_collective(struct ch_call *call)
{
    struct ch_context *context;
    chorusx_call named;

    if (__builtin_expect(__atomic_load_n(&ch_is_traced, __ATOMIC_RELAXED), 0) &&
        !call->is_traced)
        return ch_trace_collective(call);
    CH_TRY(ch_context_require(call->function, &context));
    CH_TRY(ch_error_prefix_if_failed(
        call->function, ch_team_get(context->teams, call->asked->team, &call->team)));
    CH_TRY(ch_error_prefix_if_failed(call->function, ch_team_check_usable(call->team)));
    if (context->buffers != NULL) replace_named_buffers(context, call, &named);
    CH_TRY(ch_check_call(context, call));
    if (call->is_on_stream && context->gpu == NULL)
        CH_TRY(ch_stream_check(context, call->function, call->stream));
    if (moves_no_data(call->asked)) return record_empty_call(context, call);
    CH_TRY(choose_plan(context, call));
    CH_TRY(begin_call(context, call));
    if (call->is_on_stream || context->gpu != NULL || ch_guard_is_on(context))
        return launch_call(context, call);
    call->source_bytes = 0;
    return ch_call_run(
        call, ch_team_draw_ticket(call->team, context->thread_level != CHORUS_THREAD_MULTIPLE),
        context->workers);
}
