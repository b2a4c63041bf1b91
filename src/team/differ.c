/* SPDX-License-Identifier: Apache-2.0 */
#include "team/differ.h"

#include "base/clock.h"
#include "team/table.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* A mark that another PE replaces is read so often, once a millisecond. */
enum { DETAILS_BYTES = 320, READS = 10 };

/* An FNV-1a hash of a mark, by words. */
static uint64_t sum_of(const struct ch_refusal *r)
{
    const uint64_t words[] = {r->key,      r->pes,     r->what[0], r->plan[0],
                              r->count[0], r->what[1], r->plan[1], r->count[1]};
    uint64_t sum = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        sum = (sum ^ words[i]) * UINT64_C(0x100000001b3);
    return sum;
}

/* Are these one alltoallv and a block with two lengths? Calls that differ do not agree. */
static bool is_block(const struct ch_two *two)
{
    const struct ch_doing *a = &two->calls[0], *b = &two->calls[1];

    return a->what == CHORUS_COLL_alltoallv && a->algo == 0 && b->algo == 0 &&
           ch_doing_agrees(a, b) && a->count != b->count;
}

/* The mark for two calls, or for null. The PE with the lower number comes first, so that two
 * PEs that find each other at the same time write the same mark; of a block, the sender. */
static struct ch_refusal refusal_of(uint64_t key, const struct ch_two *two)
{
    const int first = two != NULL && two->pes[1] < two->pes[0] && !is_block(two);
    struct ch_refusal r = {.key = key};

    if (two == NULL) return r; /* without a sum */
    r.pes = (uint64_t)two->pes[!first] << 32 | two->pes[first];
    for (int i = 0; i < 2; i++) {
        r.what[i] = ch_doing_pack(&two->calls[i ^ first]);
        r.plan[i] = ch_doing_plan(&two->calls[i ^ first]);
        r.count[i] = two->calls[i ^ first].count;
    }
    r.sum = sum_of(&r);
    return r;
}

/* Does a mark with this key replace one with the key `before`? Only if that is 0, no mark, or
 * of a later call, since a mark of a later call does not end the waits of this one. */
static bool is_replaced(uint64_t before, uint64_t key)
{
    return before == 0 || (before != key && ch_refusal_concerns(key, before));
}

/* Write the mark to a PE of this host, unless it has one that stays. Of the PEs of this host
 * that find the same, one writes. */
static void store_refusal(struct ch_refusal *there, const struct ch_refusal *r)
{
    uint64_t claim = __atomic_load_n(&there->claim, __ATOMIC_RELAXED);

    if (!is_replaced(__atomic_load_n(&there->key, __ATOMIC_RELAXED), r->key)) return;
    do {
        if (!is_replaced(claim, r->key)) return;
    } while (!__atomic_compare_exchange_n(&there->claim, &claim, r->key, false,
                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    __atomic_store_n(&there->pes, r->pes, __ATOMIC_RELAXED);
    for (int i = 0; i < 2; i++) {
        __atomic_store_n(&there->what[i], r->what[i], __ATOMIC_RELAXED);
        __atomic_store_n(&there->plan[i], r->plan[i], __ATOMIC_RELAXED);
        __atomic_store_n(&there->count[i], r->count[i], __ATOMIC_RELAXED);
    }
    __atomic_store_n(&there->sum, r->sum, __ATOMIC_RELAXED);
    __atomic_store_n(&there->key, r->key, __ATOMIC_RELEASE);
}

/* Write the mark to a PE of another host. The words arrive one after another. */
static void post_refusal(struct ch_link *link, struct ch_refusal *there,
                         const struct ch_refusal *r)
{
    ch_link_post_word(link, &there->pes, r->pes, CH_DATA);
    for (int i = 0; i < 2; i++) {
        ch_link_post_word(link, &there->what[i], r->what[i], CH_DATA);
        ch_link_post_word(link, &there->plan[i], r->plan[i], CH_DATA);
        ch_link_post_word(link, &there->count[i], r->count[i], CH_DATA);
    }
    ch_link_post_word(link, &there->sum, r->sum, CH_DATA);
    ch_link_post_word(link, &there->key, r->key, CH_DATA);
}

void ch_team_refuse(const struct ch_team *team, uint64_t key, const struct ch_two *two)
{
    const struct ch_refusal r = refusal_of(key, two);

    for (uint32_t pe = 0; pe < team->n; pe++) {
        struct ch_refusal *there = team->members[pe].refusal;
        struct ch_link *link = team->members[pe].link;

        if (link != NULL) {
            post_refusal(link, there, &r);
            continue;
        }
        store_refusal(there, &r);
        ch_door_wake(team->peers[pe].door);
    }
}

void ch_team_refuse_here(const struct ch_team *team, uint64_t key, const struct ch_two *two)
{
    const struct ch_refusal r = refusal_of(key, two);

    store_refusal(team->refusal, &r);
}

/* If the record no longer has the call, it is not known that the call is an earlier one. */
bool ch_team_is_concerned(void *arg, uint64_t refused)
{
    const struct ch_team *team = arg;
    struct ch_record_call mine;

    if ((refused & 1) == 0) return false;
    return !ch_record_find_running(team->record, team->word, &mine) ||
           ch_refusal_concerns(refused, ch_doing_key(&mine.doing));
}

bool ch_team_meeting_is_concerned(void *arg, uint64_t refused)
{
    const struct ch_team *team = arg;
    const uint64_t number = __atomic_load_n(&team->n_meetings, __ATOMIC_RELAXED);

    return ch_refusal_concerns(refused, number << 1);
}

/* Read the calls that this PE's mark names; false: none, or two PEs write it at the same
 * time. */
static bool read_once(const struct ch_team *team, struct ch_two *two)
{
    struct ch_refusal r = {.key = __atomic_load_n(&team->refusal->key, __ATOMIC_ACQUIRE)};

    r.pes = __atomic_load_n(&team->refusal->pes, __ATOMIC_RELAXED);
    for (int i = 0; i < 2; i++) {
        r.what[i] = __atomic_load_n(&team->refusal->what[i], __ATOMIC_RELAXED);
        r.plan[i] = __atomic_load_n(&team->refusal->plan[i], __ATOMIC_RELAXED);
        r.count[i] = __atomic_load_n(&team->refusal->count[i], __ATOMIC_RELAXED);
        two->pes[i] = (uint32_t)(r.pes >> 32 * i);
        two->calls[i] = ch_doing_unpack(r.what[i], r.plan[i]);
        two->calls[i].team = team->word;
        two->calls[i].number = r.key >> 1;
        two->calls[i].count = r.count[i];
    }
    return __atomic_load_n(&team->refusal->sum, __ATOMIC_RELAXED) == sum_of(&r);
}

/* Read the calls that this PE's mark names, if need be several times; false: they are not
 * known. Two PEs write it at the same time if they are on different hosts, or found different
 * calls. */
static bool read_mark(const struct ch_team *team, struct ch_two *two)
{
    const struct timespec pause = {.tv_nsec = CH_NS_PER_MS};

    for (int i = 0; i < READS; i++) {
        if (read_once(team, two)) return true;
        if (__atomic_load_n(&team->refusal->sum, __ATOMIC_RELAXED) == 0) return false;
        (void)nanosleep(&pause, NULL);
    }
    return false;
}

bool ch_team_is_refused_for_block(const struct ch_team *team)
{
    struct ch_two two;

    return ch_team_is_refused(team) && read_mark(team, &two) && is_block(&two);
}

chorus_status ch_team_fail_refused(const struct ch_team *team, const char *function)
{
    const uint64_t key = __atomic_load_n(&team->refusal->key, __ATOMIC_ACQUIRE);
    struct ch_two two;

    if (read_mark(team, &two) || ch_team_check_find(team, key, &two) ||
        ((key & 1) != 0 && ch_team_find_clash_near(team, key >> 1, &two)))
        return ch_team_fail_differing(team, function, &two);
    return CH_FAIL(CHORUS_ERR_ARG,
                   "%s: other PEs of team %u found that their calls %llu differ; all PEs of a "
                   "team must make the same calls, in the same order and with the same values",
                   function, (unsigned)team->number, (unsigned long long)(key >> 1));
}

/* Append a difference of buffers: "; dest of PE 1 is outside the symmetric heap, that of PE 0
 * is inside". */
static void add_buffer(const struct ch_team *team, const struct ch_two *two, const char *name,
                       const uint8_t is_outside[2], char text[DETAILS_BYTES])
{
    const size_t used = strlen(text);
    const int outside = is_outside[1] ? 1 : 0;

    if (is_outside[0] == is_outside[1]) return;
    (void)snprintf(text + used, DETAILS_BYTES - used,
                   "; %s of PE %u is outside the symmetric heap, that of PE %u is inside", name,
                   team->members[two->pes[outside]].world,
                   team->members[two->pes[!outside]].world);
}

/* Append both plans: "; PE 0 uses tree:ll with radix 2 and 1 CTAs, PE 1 uses chain:simple
 * ...". */
static void add_plans(const struct ch_team *team, const struct ch_two *two,
                      char text[DETAILS_BYTES])
{
    for (int i = 0; i < 2; i++) {
        const struct ch_doing *call = &two->calls[i];
        const unsigned pe = team->members[two->pes[i]].world;
        const char *const before = i == 0 ? ";" : ",";
        const size_t used = strlen(text);

        if (call->algo == 0)
            (void)snprintf(text + used, DETAILS_BYTES - used,
                           "%s PE %u has none that serves its call", before, pe);
        else
            (void)snprintf(text + used, DETAILS_BYTES - used,
                           "%s PE %u uses %s with radix %u and %u CTAs", before, pe,
                           team->teams->algo_text(call->algo - 1u), call->radix, call->ctas);
    }
}

/* Is this a call without data, which needs no algorithm? */
static bool is_empty_call(const struct ch_doing *call)
{
    return call->algo == 0 && call->count == 0;
}

/* Write why calls with equal values do not fit: their algorithms, and the buffers that
 * determined these. */
static void explain_plans(const struct ch_team *team, const struct ch_two *two,
                          char text[DETAILS_BYTES])
{
    const struct ch_doing *const a = &two->calls[0], *const b = &two->calls[1];
    const uint8_t dests[2] = {a->is_dest_outside, b->is_dest_outside};
    const uint8_t sources[2] = {a->is_source_outside, b->is_source_outside};

    text[0] = '\0';
    if (!ch_doing_differs_in_plan(a, b)) return;
    if (a->what == b->what) {
        add_buffer(team, two, "dest", dests, text);
        add_buffer(team, two, "source", sources, text);
    }
    if (!is_empty_call(a) && !is_empty_call(b)) add_plans(team, two, text);
}

/* Fail with ERR_ARG, naming a block whose sender and receiver expect different lengths. */
static chorus_status fail_with_block(const struct ch_team *team, const char *function,
                                     const struct ch_two *two)
{
    const struct ch_doing *const call = &two->calls[0];
    char which[32] = "a call";

    if (call->number != 0)
        (void)snprintf(which, sizeof(which), "call %llu", (unsigned long long)call->number);
    return CH_FAIL(
        CHORUS_ERR_ARG,
        "%s: PE %u sends %llu elements to PE %u, which expects %llu, in %s of team %u; the "
        "sender's source_counts and the receiver's dest_counts must be equal",
        function, team->members[two->pes[0]].world, (unsigned long long)call->count,
        team->members[two->pes[1]].world, (unsigned long long)two->calls[1].count, which,
        (unsigned)team->number);
}

chorus_status ch_team_fail_differing(const struct ch_team *team, const char *function,
                                     const struct ch_two *two)
{
    char first[CH_DOING_TEXT_BYTES], second[CH_DOING_TEXT_BYTES], details[DETAILS_BYTES];

    if (is_block(two)) return fail_with_block(team, function, two);
    ch_doing_text(&two->calls[0], first);
    ch_doing_text(&two->calls[1], second);
    explain_plans(team, two, details);
    return CH_FAIL(
        CHORUS_ERR_ARG,
        "%s: the calls of two PEs differ%s: PE %u makes %s; PE %u makes %s%s; all PEs of a "
        "team must make the same calls, in the same order and with the same values and kinds "
        "of buffers",
        function, strcmp(first, second) == 0 ? " in their algorithms" : "",
        team->members[two->pes[0]].world, first, team->members[two->pes[1]].world, second,
        details);
}
