/* SPDX-License-Identifier: Apache-2.0 */
/* launch.c: one call of a collective on the host, from its arguments to its CTAs. */
#include "coll/host/host.h"

#include "base/clock.h"
#include "coll/coll.h"
#include "coll/shape.h"
#include "team/differ.h"
#include "team/table.h"

#include <stdlib.h>
#include <string.h>

/* The arguments of a CTA. Most of them are the same in all calls of a team, which keeps them; a
 * call sets the others, when it is its turn. */
struct cta {
    _Alignas(CH_CACHE_LINE_BYTES) struct ch_coll coll;
    const ch_host_entry *algos; /* [CH_ALGO_COUNT] */
    const struct ch_reduce_table *reduce;
};

static char nothing; /* replaces the buffers of a barrier: no offset can be added to null */

/* Allocate the arguments of the team's CTAs, and set those that are the same in all calls. */
static CH_COLD chorus_status make_cta_arguments(struct ch_team *team)
{
    struct cta *ctas = aligned_alloc(CH_CACHE_LINE_BYTES, team->n_dups * sizeof(*ctas));
    const struct ch_reduce_table *reduce = ch_reduce_here();

    if (ctas == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for calls of %u CTAs", team->n_dups);
    for (uint32_t i = 0; i < team->n_dups; i++) {
        struct ch_coll *coll = &ctas[i].coll;

        ch_coll_init(coll, team->me, team->n, team->peers, &team->layout);
        ch_coll_set_cta(coll, i, &team->dups[i]);
        coll->remotes = team->remotes;
        coll->levels = team->levels;
        coll->policy = team->refusable;
        coll->positions = team->dups[i].positions;
        coll->slots = team->dups[i].slots;
        ctas[i].algos = coll->remotes == NULL ? ch_host_mapped : ch_host_routed;
        ctas[i].reduce = reduce;
    }
    team->ctas = ctas;
    return CHORUS_OK;
}

/* Has the call data that only few calls have: strides, lengths, or a function that combines? */
static inline bool has_special_data(const chorusx_call *asked)
{
    return !ch_coll_is_plain(asked->coll) || asked->combine != NULL;
}

/* Run CTA `cta` of a call with data that only few calls have; it works from element `first` of
 * each block on. The lengths of uneven collectives are not in tags; those of an alltoallv are
 * compared when they are exchanged. The program's function is called between copies, since its
 * operands have the width of elements. */
static CH_COLD chorus_status run_special(const struct ch_call *call, struct cta *own,
                                         uint32_t cta, size_t first, struct ch_cause *cause)
{
    static const chorus_type words[] = {[1] = CHORUS_TYPE_u8,
                                        [2] = CHORUS_TYPE_u16,
                                        [4] = CHORUS_TYPE_u32,
                                        [8] = CHORUS_TYPE_u64,
                                        [16] = CHORUS_TYPE_c128};
    const chorusx_call *asked = call->asked;
    const size_t bytes = ch_type_bytes[asked->type];
    struct ch_reduce combine = ch_reduce_base.of[words[bytes]][CHORUS_OP_sum];
    const struct ch_pattern pattern = {
        .cta = cta,
        .ctas = call->ctas,
        .block_count = asked->count,
        .dst_step = (size_t)asked->dst * bytes,
        .src_step = (size_t)asked->sst * bytes,
        .dst_counts = asked->dest_counts,
        .dst_offsets = asked->dest_offsets,
        .src_counts = asked->source_counts,
        .src_offsets = asked->source_offsets,
        .unequal = &cause->unequal,
    };
    struct ch_coll *coll = &own->coll;

    if (ch_coll_is_strided(asked->coll))
        ch_coll_set_pattern(coll, &pattern, first);
    else
        coll->pattern = &pattern;
    if (ch_coll_is_uneven(asked->coll)) coll->tag = 0;
    cause->unequal = (struct ch_unequal){0, 0, 0, 0};
    if (asked->combine != NULL) {
        combine.next = asked->combine;
        combine.both = NULL;
        coll->reduce = &combine;
    }
    return own->algos[call->algo->id](coll);
}

/* Run CTA `cta` of a call, which works on `part` of each block. On failure, *cause says why. */
CH_FN chorus_status run_cta(const struct ch_call *call, struct ch_slice part, uint32_t cta,
                            struct ch_cause *cause)
{
    const chorusx_call *asked = call->asked;
    char *dst = asked->dest != NULL ? asked->dest : &nothing;
    const char *src = asked->source != NULL ? asked->source : &nothing;
    struct cta *own = &((struct cta *)call->team->ctas)[cta];
    struct ch_coll *coll = &own->coll;

    coll->root = (uint32_t)asked->root;
    coll->radix = call->radix;
    ch_coll_set_buffers(coll, dst, src, asked->count, ch_type_bytes[asked->type], part);
    coll->tag =
        ch_tag_of(coll->stride + call->plan); /* whose bits are above those of lengths */
    coll->pattern = NULL;
    coll->reduce = &own->reduce->of[asked->type][asked->op];
    coll->late_peer = &cause->late_peer;
    if (has_special_data(asked)) return run_special(call, own, cta, part.first, cause);
    return own->algos[call->algo->id](coll);
}

/* The part of each block on which a CTA works. A CTA of an uneven collective gets whole
 * blocks. */
static struct ch_slice cta_part_of(const struct ch_call *call, uint32_t cta)
{
    const size_t count = call->asked->count;
    const struct ch_slice whole = {0, count};
    const struct ch_share share =
        ch_share_of(count, ch_type_bytes[call->asked->type], call->ctas);

    return ch_coll_is_uneven(call->asked->coll) ? whole : ch_part_of(&share, count, cta);
}

/* For ch_workers_run: one of several CTAs. The call keeps the cause of the first failure. */
static void run_worker_cta(void *arg, uint32_t cta)
{
    struct ch_call *call = arg;
    struct ch_cause cause;
    chorus_status status;
    int none = CHORUS_OK;

    cause.late_peer = call->team->me;
    status = run_cta(call, cta_part_of(call, cta), cta, &cause);
    if (status == CHORUS_OK ||
        !__atomic_compare_exchange_n(&call->cause.status, &none, status, 0, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        return;
    call->cause.late_peer = cause.late_peer;
    call->cause.unequal = cause.unequal;
}

/* Append to the message how such mistakes are found earlier; returns status. */
static chorus_status add_check_advice(const struct ch_team *team, chorus_status status)
{
    if (team->check == NULL)
        ch_error_add("; CHORUS_CHECK=1 compares calls before they move data");
    return status;
}

/* Fail with ERR_ARG: this PE makes `mine`, and got a message of a call of PE `other` with
 * another tag. coll: the collective's name. */
static __attribute__((noinline)) chorus_status fail_with_tags(struct ch_team *team,
                                                              const char *coll,
                                                              const struct ch_record_call *mine,
                                                              uint32_t other)
{
    const bool is_known = mine->index != 0;
    char text[CH_DOING_TEXT_BYTES];
    struct ch_two two;

    if (is_known && ch_team_find_clash(team, mine, other, &two)) {
        ch_team_refuse(team, ch_doing_key(&two.calls[0]), &two);
        return add_check_advice(team, ch_team_fail_differing(team, coll, &two));
    }
    if (is_known) ch_team_refuse(team, ch_doing_key(&mine->doing), NULL);
    ch_doing_text(&mine->doing, text);
    return add_check_advice(
        team, CH_FAIL(CHORUS_ERR_ARG,
                      "%s: PE %u makes %s, and PE %u a call with another length or "
                      "algorithm, which is not known here",
                      coll, team->members[team->me].world, text, team->members[other].world));
}

/* Fail with ERR_ARG: this PE makes `mine`, an alltoallv, and found a block whose length
 * differs. The mark names the block: the first call is its sender's, and the count of each that
 * of the block. */
static __attribute__((noinline)) chorus_status
fail_with_block(struct ch_team *team, const char *coll, const struct ch_record_call *mine,
                const struct ch_unequal *found)
{
    struct ch_two two = {.pes = {found->from, found->to}};

    for (int i = 0; i < 2; i++)
        two.calls[i] = (struct ch_doing){.what = CHORUS_COLL_alltoallv,
                                         .team = mine->doing.team,
                                         .number = mine->doing.number,
                                         .count = i == 0 ? found->sent : found->expected};
    if (mine->index != 0) ch_team_refuse(team, ch_doing_key(&two.calls[0]), &two);
    return ch_team_fail_differing(team, coll, &two);
}

/* Fail with ERR_ARG: this PE found its call to differ from that of another. */
static chorus_status fail_with_difference(const struct ch_call *call,
                                          const struct ch_record_call *mine)
{
    const struct ch_cause *cause = &call->cause;
    const char *coll = ch_coll_names[call->algo->coll];

    if (ch_coll_is_listed(call->algo->coll) && cause->unequal.sent != cause->unequal.expected)
        return fail_with_block(call->team, coll, mine, &cause->unequal);
    return fail_with_tags(call->team, coll, mine, cause->late_peer);
}

/* Fail with ERR_ARG: the call's wait was ended since another PE found a difference. */
static chorus_status fail_with_refusal(const struct ch_team *team, const char *coll)
{
    const chorus_status status = ch_team_fail_refused(team, coll);

    return ch_team_is_refused_for_block(team) ? status : add_check_advice(team, status);
}

/* Fail with the reason why the call failed, from the view of the PE that waited. status: what
 * its CTA returned. */
static __attribute__((noinline)) chorus_status fail_with_reason(const struct ch_call *call,
                                                                chorus_status status)
{
    struct ch_team *team = call->team;
    const char *coll = ch_coll_names[call->algo->coll], *algo = call->algo->name;
    const unsigned me = team->members[team->me].world,
                   late = team->members[call->cause.late_peer].world;
    const double seconds = (double)team->policy->timeout_ns / (double)CH_NS_PER_S;
    char doing[CH_DOING_TEXT_BYTES] = "a call", missing[CH_WHERE_BYTES];
    struct ch_record_call called = {.doing = {.team = team->number}};

    if (ch_team_is_refused(team)) return fail_with_refusal(team, coll);
    if (status == CHORUS_ERR_ABORTED) {
        const char *why = ch_wait_end_reason(team->policy);

        return CH_FAIL(CHORUS_ERR_ABORTED,
                       "%s %s: PE %u stopped waiting for PE %u: the job is ending%s%s", coll,
                       algo, me, late, *why != '\0' ? ": " : "", why);
    }
    if (ch_record_read(team->record, call->index, &called)) ch_doing_text(&called.doing, doing);
    if (status == CHORUS_ERR_ARG) return fail_with_difference(call, &called);
    (void)ch_team_missing_text(team, &called.doing, call->cause.late_peer, missing);
    return CH_FAIL(
        CHORUS_ERR_TIMEOUT,
        "%s %s: PE %u waited %.3g s for %s; PE %u is in %s; all PEs of the team must "
        "make the same calls in the same order, or CHORUS_TIMEOUT must be longer",
        coll, algo, me, seconds, missing, me, doing);
}

/* End the messages of a call that has failed. Its sources are no longer read afterwards, since
 * the program may free them. The network waits until they are sent, unless the call has waited
 * in vain already; its message would replace that of the call. */
static __attribute__((noinline)) void flush_or_abandon_posts(const struct ch_team *team,
                                                             chorus_status status)
{
    const bool is_late = status == CHORUS_ERR_TIMEOUT || status == CHORUS_ERR_ABORTED;

    for (uint32_t i = 0; team->remotes != NULL && i < team->n; i++) {
        struct ch_link *link = team->remotes[i].link;

        if (link != NULL && (is_late || ch_link_flush(link) != CHORUS_OK))
            ch_link_abandon(link);
    }
}

/* Fail with the message of a call that has failed, and make the team unusable. */
static __attribute__((noinline)) chorus_status fail_call(const struct ch_call *call,
                                                         chorus_status status)
{
    flush_or_abandon_posts(call->team, status);
    status = fail_with_reason(call, status);
    __atomic_store_n(&call->team->status, (int)status, __ATOMIC_RELEASE);
    return status;
}

/* FNV-1a, by words and then by bytes: a hash to detect changes of the contents. */
static uint64_t hash_bytes(const void *address, size_t bytes)
{
    const uint64_t prime = UINT64_C(0x100000001b3);
    const unsigned char *at = address;
    uint64_t sum = UINT64_C(0xcbf29ce484222325), word;

    for (; bytes >= sizeof(word); at += sizeof(word), bytes -= sizeof(word)) {
        memcpy(&word, at, sizeof(word));
        sum = (sum ^ word) * prime;
    }
    for (; bytes > 0; at++, bytes--)
        sum = (sum ^ *at) * prime;
    return sum;
}

void ch_call_hash_source(struct ch_call *call)
{
    call->source_sum = hash_bytes(call->asked->source, call->source_bytes);
    call->is_summed = true;
}

/* ERR_ARG if the source was written since its hash was computed. */
static chorus_status check_source_unchanged(const struct ch_call *call)
{
    const void *source = call->asked->source;

    if (hash_bytes(source, call->source_bytes) == call->source_sum) return CHORUS_OK;
    return CH_FAIL(
        CHORUS_ERR_ARG,
        "%s: source %p (%zu bytes) was written while the call ran; dest may be wrong",
        ch_coll_names[call->algo->coll], source, call->source_bytes);
}

/* Run the CTAs of a call in parallel; returns the first failure. */
static __attribute__((noinline)) chorus_status run_several_ctas(struct ch_call *call,
                                                                struct ch_workers *workers)
{
    call->cause.status = CHORUS_OK;
    ch_workers_run(workers, call->ctas, run_worker_cta, call);
    return call->cause.status;
}

/* Prepare a call whose turn has come. A call that was queued before another one failed is not
 * begun. */
static inline chorus_status prepare_call(struct ch_call *call)
{
    CH_TRY(ch_team_check_usable(call->team));
    if (call->team->ctas == NULL) CH_TRY(make_cta_arguments(call->team));
    if (call->source_bytes != 0 && !call->is_summed) ch_call_hash_source(call);
    call->cause.late_peer = call->team->me;
    return CHORUS_OK;
}

chorus_status ch_call_run(struct ch_call *call, uint64_t ticket, struct ch_workers *workers)
{
    const struct ch_slice whole = {0, call->asked->count};
    struct ch_team *team = call->team;
    chorus_status status = ch_team_enter(team, ticket);

    if (status != CHORUS_OK)
        __atomic_store_n(&team->status, (int)status, __ATOMIC_RELEASE);
    else
        status = prepare_call(call);
    if (status == CHORUS_OK) {
        status = call->ctas == 1 ? run_cta(call, whole, 0, &call->cause)
                                 : run_several_ctas(call, workers);
        if (status != CHORUS_OK)
            status = fail_call(call, status);
        else if (call->source_bytes != 0)
            status = check_source_unchanged(call);
    }
    ch_team_leave(team);
    ch_record_mark(team->record, call->index, ch_entry_state_of(status));
    return status;
}
