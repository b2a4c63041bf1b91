/* SPDX-License-Identifier: Apache-2.0 */
#include "coll/cuda/fault.h"

#include "base/clock.h"
#include "team/differ.h"

/* The report of a kernel about the team (0: of no team) at one address; null: there is none. */
static struct ch_kernel_fault *fault_at(struct ch_kernel_fault *faults, uint32_t at,
                                        uint64_t team)
{
    struct ch_kernel_fault *fault = &faults[at];

    if (__atomic_load_n(&fault->status, __ATOMIC_ACQUIRE) == CHORUS_OK) return NULL;
    return fault->team == team ? fault : NULL;
}

/* The report of a call inside a kernel comes first: calls on streams may have been skipped
 * because of it. */
static struct ch_kernel_fault *fault_of(struct ch_kernel_fault *faults,
                                        const struct ch_team *team)
{
    struct ch_kernel_fault *fault =
        fault_at(faults, CH_FAULT_INSIDE + ch_fault_inside_at(team->id), team->id);

    return fault != NULL ? fault : fault_at(faults, team->slot, team->id);
}

int ch_fault_status(struct ch_kernel_fault *faults, const struct ch_team *team)
{
    const int status = __atomic_load_n(&team->status, __ATOMIC_ACQUIRE);
    const struct ch_kernel_fault *fault = fault_of(faults, team);

    return status != CHORUS_OK || fault == NULL ? status : fault->status;
}

/* Make room for the next report. */
static void forget_fault(struct ch_kernel_fault *fault)
{
    fault->team = UINT64_MAX;
    fault->kind = CH_FAULT_LATE;
    fault->status = CHORUS_OK;
    __atomic_store_n(&fault->claimed, 0, __ATOMIC_RELEASE);
}

static void forget_block(struct ch_kernel_fault *fault)
{
    fault->block.is_there = 0;
    __atomic_store_n(&fault->block.claimed, 0, __ATOMIC_RELEASE);
}

void ch_fault_clear(struct ch_kernel_fault *faults, uint32_t slot)
{
    forget_fault(&faults[slot]);
    forget_block(&faults[slot]);
    forget_fault(&faults[CH_FAULT_INSIDE + 1 + slot]);
}

static struct ch_doing doing_of(const struct ch_team *team, uint64_t number,
                                struct ch_made made)
{
    struct ch_doing doing = ch_doing_unpack(made.word, 0);

    doing.team = team->word;
    doing.number = number;
    doing.count = made.count;
    return doing;
}

/* For two calls inside kernels. */
static chorus_status tell_difference(const struct ch_kernel_fault *told,
                                     const struct ch_team *team)
{
    const struct ch_two two = {.pes = {team->me, told->late_pe},
                               .calls = {doing_of(team, told->number, told->mine),
                                         doing_of(team, told->number, told->theirs)}};

    return ch_team_differ(team, "a collective in a kernel", &two);
}

/* For a block whose lengths differ; the number of the call is not known here. */
static chorus_status tell_unequal(const struct ch_unequal *block, const struct ch_team *team)
{
    const struct ch_doing call = {.what = CHORUS_COLL_alltoallv, .team = team->word};
    struct ch_two two = {.pes = {block->from, block->to}, .calls = {call, call}};

    two.calls[0].count = block->sent;
    two.calls[1].count = block->expected;
    return ch_team_differ(team, "alltoallv", &two);
}

/* The message of a report; the first failure of the team is `first`. */
static chorus_status describe(const struct ch_kernel_fault *told, const struct ch_team *team,
                              chorus_status first, uint64_t timeout_ns)
{
    const unsigned late = team->members[told->late_pe].world;
    char doing[2 * CH_DOING_TEXT_BYTES] = "is on another host, whose calls are not known here";

    if (told->kind == CH_FAULT_SKIPPED)
        return CH_FAIL(
            first,
            "a collective on a stream or in a graph was skipped, because an earlier one on its "
            "team had failed (%s); make no more calls on this team, and destroy it",
            ch_status_text(first));
    if (told->kind == CH_FAULT_OVERLAP)
        return CH_FAIL(
            first,
            "a collective began while another on its team ran; use events to order the graphs, "
            "streams and kernels that have calls on one team, or give each its own team");
    if (told->kind == CH_FAULT_DIFFERS) return tell_difference(told, team);
    if (ch_team_is_refused(team)) return ch_team_refusal(team, "a collective on a stream");
    if (told->status == CHORUS_ERR_ABORTED)
        return CH_FAIL(first, "a collective stopped waiting for PE %u: the job is ending",
                       late);
    if (team->members[told->late_pe].record != NULL)
        ch_record_text(team->members[told->late_pe].record, doing);
    return CH_FAIL(first,
                   "a collective waited %.3g s for PE %u, which has not begun this call: PE %u "
                   "%s; all PEs of the team must make the same calls in the same order, or "
                   "CHORUS_TIMEOUT must be longer",
                   (double)timeout_ns / (double)CH_NS_PER_S, late, late, doing);
}

chorus_status ch_fault_tell(struct ch_kernel_fault *faults, uint64_t timeout_ns,
                            struct ch_team *team)
{
    struct ch_kernel_fault *fault = fault_of(faults, team), told;
    int first = CHORUS_OK;

    if (fault == NULL) return CHORUS_OK;
    told = *fault;
    forget_fault(fault);
    if (__atomic_compare_exchange_n(&team->status, &first, told.status, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
        first = told.status;
    return describe(&told, team, (chorus_status)first, timeout_ns);
}

chorus_status ch_fault_tell_block(struct ch_kernel_fault *faults, const struct ch_team *team)
{
    struct ch_kernel_fault *fault = &faults[team->slot];
    struct ch_unequal lengths;

    if (!__atomic_load_n(&fault->block.is_there, __ATOMIC_ACQUIRE)) return CHORUS_OK;
    if (fault->block.team != team->id) return CHORUS_OK;
    lengths = fault->block.lengths;
    forget_block(fault);
    return tell_unequal(&lengths, team);
}

chorus_status ch_fault_tell_wait(struct ch_kernel_fault *faults)
{
    struct ch_kernel_fault *fault =
        fault_at(faults, CH_FAULT_INSIDE + ch_fault_inside_at(0), 0);
    chorus_status status;

    if (fault == NULL) return CHORUS_OK;
    status = (chorus_status)fault->status;
    forget_fault(fault);
    return CH_FAIL(status, "a call in a kernel of the program failed: %s",
                   ch_status_text(status));
}
