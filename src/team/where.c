/* SPDX-License-Identifier: Apache-2.0 */
#include "team/table.h"

#include "base/error.h"
#include "base/record.h"
#include "team/differ.h"

#include <stdio.h>

/* The state of a PE with respect to a call of another, by its record. */
enum presence { HAS_BEGUN, IS_MISSING, MAKES_ANOTHER };

/* What PE `pe` does with respect to the call, by its record. A PE whose record is not
 * accessible is assumed to have begun it. */
static enum presence presence_of(const struct ch_team *team, uint32_t pe,
                                 const struct ch_doing *call)
{
    const struct ch_record *record = team->members[pe].record;
    struct ch_record_call called;

    if (record == NULL) return HAS_BEGUN;
    if (!ch_record_find(record, call->team, call->number, ch_doing_is_collective(call),
                        &called))
        return IS_MISSING;
    return ch_doing_agrees(call, &called.doing) ? HAS_BEGUN : MAKES_ANOTHER;
}

bool ch_team_missing_text(const struct ch_team *team, const struct ch_doing *call,
                          uint32_t suspect, char text[CH_WHERE_BYTES])
{
    uint32_t first = suspect, n_missing = 0;
    enum presence found = HAS_BEGUN;
    char more[32] = "",
         doing[2 * CH_DOING_TEXT_BYTES] = "is on another host, whose calls are not known here";

    for (uint32_t pe = 0; pe < team->n; pe++) {
        const enum presence p = pe == team->me ? HAS_BEGUN : presence_of(team, pe, call);

        n_missing += p != HAS_BEGUN;
        if (p <= found) continue;
        found = p;
        first = pe;
    }
    if (first == team->me) {
        (void)snprintf(text, CH_WHERE_BYTES, "PEs that have begun the call too%s",
                       team->is_across ? ", or are on other hosts" : "");
        return false;
    }
    if (n_missing > 1) (void)snprintf(more, sizeof(more), " and %u more", n_missing - 1);
    if (team->members[first].record != NULL) ch_record_text(team->members[first].record, doing);
    (void)snprintf(text, CH_WHERE_BYTES, "PE %u%s, which %s: PE %u %s",
                   team->members[first].world, more,
                   found == MAKES_ANOTHER ? "made another call"
                   : n_missing == 0       ? "has not begun this call in time"
                                          : "has not begun this call",
                   team->members[first].world, doing);
    return true;
}

chorus_status ch_team_fail_wait(const struct ch_team *team, uint32_t from, chorus_status status)
{
    const unsigned me = team->members[team->me].world, late = team->members[from].world;
    char text[CH_DOING_TEXT_BYTES] = "a call";
    struct ch_record_call called;

    if (ch_record_latest(team->record, &called) && ch_called_is_running(&called))
        ch_doing_text(&called.doing, text);
    if (team->check != NULL && ch_team_is_refused(team) && !team->is_ending)
        return ch_team_fail_refused(team, text);
    if (status == CHORUS_ERR_ABORTED) {
        const char *why = ch_wait_end_reason(team->policy);

        return CH_FAIL(status, "%s: PE %u stopped waiting for PE %u: the job is ending%s%s",
                       text, me, late, *why != '\0' ? ": " : "", why);
    }
    return CH_FAIL(
        status,
        "%s: PE %u waited %.3g s for PE %u; all PEs must make calls on memory and teams in the "
        "same order, or CHORUS_TIMEOUT must be longer",
        text, me, (double)team->policy->timeout_ns / (double)CH_NS_PER_S, late);
}

/* This PE's team of a recorded call; null: there is none. */
static const struct ch_team *team_of(const struct ch_teams *teams, const struct ch_doing *call)
{
    for (uint32_t slot = 0; slot < teams->n_slots_used; slot++)
        if (teams->slots[slot].team != NULL && teams->slots[slot].team->word == call->team)
            return teams->slots[slot].team;
    return NULL;
}

void ch_teams_add_missing(const struct ch_teams *teams, const struct ch_record_call *called)
{
    const struct ch_team *team = team_of(teams, &called->doing);
    char missing[CH_WHERE_BYTES], text[CH_WHERE_BYTES + 16];

    if (team == NULL || !ch_team_missing_text(team, &called->doing, team->me, missing)) return;
    (void)snprintf(text, sizeof(text), "; it waited for %s", missing);
    ch_error_add(text);
}

/* For struct ch_records: the record of a PE of the job; arg is the heap. */
static const struct ch_record *record_of(const void *arg, uint32_t pe)
{
    return ch_heap_record(arg, pe);
}

/* Find which PE waits for which, beginning with this PE, which waits for words; false: this is
 * not known. */
static bool find_chain(const struct ch_teams *teams, struct ch_chain *out)
{
    const struct ch_records records = {record_of, teams->heap, ch_heap_n_pes(teams->heap)};

    return ch_chain_find(&records, teams->me_world, out);
}

void ch_teams_add_chain(const struct ch_teams *teams)
{
    struct ch_chain chain;

    if (!find_chain(teams, &chain)) return;
    ch_error_add("; ");
    ch_error_add(chain.text);
}

void ch_deadline_text(uint64_t timeout_ns, char text[CH_DEADLINE_BYTES])
{
    if (timeout_ns == 0)
        (void)snprintf(text, CH_DEADLINE_BYTES, "it waits for ever, as CHORUS_TIMEOUT is 0");
    else
        (void)snprintf(text, CH_DEADLINE_BYTES,
                       "it will fail after %.3g s, which CHORUS_TIMEOUT changes",
                       (double)timeout_ns / (double)CH_NS_PER_S);
}

void ch_teams_warn(const struct ch_teams *teams, const struct ch_wait_policy *policy,
                   const char *named, uint64_t waited_ns)
{
    const double seconds = (double)waited_ns / (double)CH_NS_PER_S;
    char text[CH_DOING_TEXT_BYTES] =
        "a call that is not recorded (put, get, quiet, on a stream)";
    char missing[CH_WHERE_BYTES] = "others", deadline[CH_DEADLINE_BYTES];
    const struct ch_team *team = NULL;
    struct ch_record_call called;
    struct ch_chain chain;
    bool is_alone = false;

    if (ch_record_latest(ch_heap_record(teams->heap, teams->me_world), &called) &&
        ch_called_is_running(&called)) {
        ch_doing_text(&called.doing, text);
        is_alone = ch_doing_is_alone(&called.doing);
        if (!is_alone) team = team_of(teams, &called.doing);
    }
    ch_deadline_text(policy->timeout_ns, deadline);
    if (is_alone && find_chain(teams, &chain)) {
        CH_LOG(WARN, "PE %u has waited %.3g s: %s; %s", teams->me_world, seconds, chain.text,
               deadline);
        return;
    }
    if (team != NULL) ch_team_compare_again(team, &called.doing);
    if (team != NULL && ch_team_missing_text(team, &called.doing, team->me, missing))
        named = NULL;
    CH_LOG(WARN, "PE %u has waited %.3g s in %s, for %s; %s", teams->me_world, seconds, text,
           named != NULL ? named : missing, deadline);
}
