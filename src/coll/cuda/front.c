/* SPDX-License-Identifier: Apache-2.0 */
/*
 * front.c: what waits on streams, and failures of kernels, are to the host.
 *
 * A record has the waits for words that this PE queued for the front end of its GPU.
 * A wait of the host for a stream looks there for what the stream waits for. CUDA does not tell
 * whether a wait is over: the host reads its word, and forgets the wait once work behind it has
 * ended. A wait that was over, and whose word has another value by the time that the host
 * looks, counts as one that is not, unless the host has waited for its stream in the meantime.
 *
 * A wait holds up its own stream, and each stream on which a call then waits for a call on such
 * a stream. A wait that was captured may hold up any stream, each time that its graph is
 * launched, and stays in the record. What the program orders by its own events is not known.
 *
 * Kernels report calls that failed, or that were skipped because an earlier call of their team
 * had failed. They write a report into host memory, at a place that depends on the slot of the
 * team: those of streams at one, calls inside the program's kernels at another; and one place
 * is for calls inside kernels without a team. The next host call that asks for it returns the
 * report, after which another one can be written. A failed team remains unusable.
 */
#include "coll/cuda/queue.h"

#include "base/clock.h"
#include "team/differ.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* --- waits on streams --------------------------------------------------------------------- */
/* Streams that a wait is known to hold up; of one that holds up more, it holds up any. */
enum { STREAMS = 4 };

struct entry {
    struct ch_front_wait wait;
    uint64_t streams[STREAMS]; /* 0: no more */
    bool is_for_any;
};

struct ch_front {
    pthread_mutex_t mutex;
    uint64_t next;                        /* the number of the next wait */
    uint32_t n;                           /* atomic, as it is first read without the mutex */
    struct entry entries[CH_FRONT_WAITS]; /* in the order of their numbers */
};

chorus_status ch_front_open(struct ch_front **front_out)
{
    struct ch_front *front = calloc(1, sizeof(*front));

    if (front == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the waits on streams");
    (void)pthread_mutex_init(&front->mutex, NULL);
    *front_out = front;
    return CHORUS_OK;
}

void ch_front_close(struct ch_front *front)
{
    if (front == NULL) return;
    (void)pthread_mutex_destroy(&front->mutex);
    free(front);
}

/* Are there no waits? Does not need the mutex. */
static bool is_empty(const struct ch_front *front)
{
    return __atomic_load_n(&front->n, __ATOMIC_ACQUIRE) == 0;
}

static void set_wait_count(struct ch_front *front, uint32_t n)
{
    __atomic_store_n(&front->n, n, __ATOMIC_RELEASE);
}

/* Does the wait hold up this stream? */
static bool blocks_stream(const struct entry *entry, uint64_t stream)
{
    if (entry->is_for_any) return true;
    for (int i = 0; i < STREAMS; i++)
        if (entry->streams[i] == stream) return true;
    return false;
}

/* Note that the wait holds up this stream, too. */
static void add_stream(struct entry *entry, uint64_t stream)
{
    for (int i = 0; i < STREAMS; i++)
        if (entry->streams[i] == 0) {
            entry->streams[i] = stream;
            return;
        }
    entry->is_for_any = true;
}

void ch_front_add_wait(struct ch_front *front, uint64_t stream,
                       const struct ch_front_wait *wait)
{
    struct entry *entry;

    (void)pthread_mutex_lock(&front->mutex);
    if (front->n == CH_FRONT_WAITS) {
        memmove(&front->entries[0], &front->entries[1],
                (CH_FRONT_WAITS - 1) * sizeof(front->entries[0]));
        set_wait_count(front, CH_FRONT_WAITS - 1);
    }
    entry = &front->entries[front->n];
    *entry = (struct entry){*wait, {stream}, wait->is_captured};
    entry->wait.number = front->next++;
    set_wait_count(front, front->n + 1);
    (void)pthread_mutex_unlock(&front->mutex);
}

void ch_front_inherit_waits(struct ch_front *front, uint64_t stream, uint64_t earlier)
{
    if (is_empty(front)) return;
    (void)pthread_mutex_lock(&front->mutex);
    for (uint32_t i = 0; i < front->n; i++) {
        struct entry *entry = &front->entries[i];

        if (blocks_stream(entry, earlier) && !blocks_stream(entry, stream))
            add_stream(entry, stream);
    }
    (void)pthread_mutex_unlock(&front->mutex);
}

void ch_front_list_waits(struct ch_front *front, uint64_t stream,
                         struct ch_front_view *view_out)
{
    view_out->n = 0;
    if (is_empty(front)) return;
    (void)pthread_mutex_lock(&front->mutex);
    for (uint32_t i = 0; i < front->n; i++)
        if (blocks_stream(&front->entries[i], stream))
            view_out->waits[view_out->n++] = front->entries[i].wait;
    (void)pthread_mutex_unlock(&front->mutex);
}

/* Both are in the order of the numbers. */
void ch_front_remove_waits(struct ch_front *front, const struct ch_front_view *view)
{
    uint32_t kept = 0, at = 0;

    if (view->n == 0) return;
    (void)pthread_mutex_lock(&front->mutex);
    for (uint32_t i = 0; i < front->n; i++) {
        const struct ch_front_wait *wait = &front->entries[i].wait;

        while (at < view->n && view->waits[at].number < wait->number)
            at++;
        if (wait->is_captured || at == view->n || view->waits[at].number != wait->number)
            front->entries[kept++] = front->entries[i];
    }
    set_wait_count(front, kept);
    (void)pthread_mutex_unlock(&front->mutex);
}

uint64_t ch_front_next_number(struct ch_front *front)
{
    uint64_t now;

    (void)pthread_mutex_lock(&front->mutex);
    now = front->next;
    (void)pthread_mutex_unlock(&front->mutex);
    return now;
}

void ch_front_remove_before(struct ch_front *front, uint64_t number)
{
    uint32_t kept = 0;

    (void)pthread_mutex_lock(&front->mutex);
    for (uint32_t i = 0; i < front->n; i++) {
        const struct ch_front_wait *wait = &front->entries[i].wait;

        if (wait->is_captured || wait->number >= number)
            front->entries[kept++] = front->entries[i];
    }
    set_wait_count(front, kept);
    (void)pthread_mutex_unlock(&front->mutex);
}

/* --- reports of kernels ------------------------------------------------------------------- */
/* The report of a kernel about the team (0: of no team) at index `at`; null: there is none. */
static struct ch_kernel_fault *fault_at(struct ch_kernel_fault *faults, uint32_t at,
                                        uint64_t team)
{
    struct ch_kernel_fault *fault = &faults[at];

    if (__atomic_load_n(&fault->status, __ATOMIC_ACQUIRE) == CHORUS_OK) return NULL;
    return fault->team == team ? fault : NULL;
}

/* The report about a team; null: there is none. That of a call inside a kernel comes first:
 * calls on streams may have been skipped because of it. */
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

/* Delete a report, so that kernels can write the next one. */
static void forget_fault(struct ch_kernel_fault *fault)
{
    fault->team = UINT64_MAX;
    fault->kind = CH_FAULT_LATE;
    fault->status = CHORUS_OK;
    __atomic_store_n(&fault->claimed, 0, __ATOMIC_RELEASE);
}

/* Delete the report of a block in the same way. */
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

/* A call of the team that a kernel reported, with its number. */
static struct ch_doing doing_of(const struct ch_team *team, uint64_t number,
                                struct ch_made made)
{
    struct ch_doing doing = ch_doing_unpack(made.word, 0);

    doing.team = team->word;
    doing.number = number;
    doing.count = made.count;
    return doing;
}

/* Fail with ERR_ARG, naming two calls inside kernels that differ. */
static chorus_status fail_with_difference(const struct ch_kernel_fault *told,
                                          const struct ch_team *team)
{
    const struct ch_two two = {.pes = {team->me, told->late_pe},
                               .calls = {doing_of(team, told->number, told->mine),
                                         doing_of(team, told->number, told->theirs)}};

    return ch_team_fail_differing(team, "a collective in a kernel", &two);
}

/* Fail with ERR_ARG, naming a block whose lengths differ; the number of the call is not known
 * here. */
static chorus_status fail_with_unequal_block(const struct ch_unequal *block,
                                             const struct ch_team *team)
{
    const struct ch_doing call = {.what = CHORUS_COLL_alltoallv, .team = team->word};
    struct ch_two two = {.pes = {block->from, block->to}, .calls = {call, call}};

    two.calls[0].count = block->sent;
    two.calls[1].count = block->expected;
    return ch_team_fail_differing(team, "alltoallv", &two);
}

/* Fail with the message of a report. first: the code of the team's first failure. */
static chorus_status fail_with_report(const struct ch_kernel_fault *told,
                                      const struct ch_team *team, chorus_status first,
                                      uint64_t timeout_ns)
{
    const unsigned late = team->members[told->late_pe].world;
    const char *why = ch_wait_end_reason(team->policy);
    char doing[2 * CH_DOING_TEXT_BYTES] = "is on another host, whose calls are not known here";

    if (told->kind == CH_FAULT_SKIPPED)
        return CH_FAIL(
            first,
            "a collective on a stream or in a graph was skipped, because an earlier one on its "
            "team had failed (%s); make no more calls on this team, and destroy it",
            ch_status_text(first));
    if (told->kind == CH_FAULT_UNSENT)
        return CH_FAIL(
            first,
            "a collective could not send to PEs that are not near: its requests "
            "were not carried out (%s); is a host or the network too slow, or is a PE stopped?",
            ch_wait_why(team->policy, (chorus_status)told->status));
    if (told->kind == CH_FAULT_OVERLAP)
        return CH_FAIL(
            first,
            "a collective began while another on its team ran; use events to order the graphs, "
            "streams and kernels that have calls on one team, or give each its own team");
    if (told->kind == CH_FAULT_DIFFERS) return fail_with_difference(told, team);
    if (ch_team_is_refused(team)) return ch_team_fail_refused(team, "a collective on a stream");
    if (told->status == CHORUS_ERR_ABORTED)
        return CH_FAIL(first, "a collective stopped waiting for PE %u: the job is ending%s%s",
                       late, *why != '\0' ? ": " : "", why);
    if (team->members[told->late_pe].record != NULL)
        ch_record_text(team->members[told->late_pe].record, doing);
    return CH_FAIL(first,
                   "a collective waited %.3g s for PE %u, which has not begun this call: PE %u "
                   "%s; all PEs of the team must make the same calls in the same order, or "
                   "CHORUS_TIMEOUT must be longer",
                   (double)timeout_ns / (double)CH_NS_PER_S, late, late, doing);
}

chorus_status ch_fault_report(struct ch_kernel_fault *faults, uint64_t timeout_ns,
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
    return fail_with_report(&told, team, (chorus_status)first, timeout_ns);
}

chorus_status ch_fault_report_block(struct ch_kernel_fault *faults, const struct ch_team *team)
{
    struct ch_kernel_fault *fault = &faults[team->slot];
    struct ch_unequal lengths;

    if (!__atomic_load_n(&fault->block.is_there, __ATOMIC_ACQUIRE)) return CHORUS_OK;
    if (fault->block.team != team->id) return CHORUS_OK;
    lengths = fault->block.lengths;
    forget_block(fault);
    return fail_with_unequal_block(&lengths, team);
}

/* The report of a kernel of the program without a team. */
static struct ch_kernel_fault *fault_of_wait(struct ch_kernel_fault *faults)
{
    return fault_at(faults, CH_FAULT_INSIDE + ch_fault_inside_at(0), 0);
}

int ch_fault_status_wait(struct ch_kernel_fault *faults, uint32_t *pe_out)
{
    const struct ch_kernel_fault *fault = fault_of_wait(faults);

    if (fault == NULL) return CHORUS_OK;
    *pe_out = fault->late_pe;
    return fault->status;
}

chorus_status ch_fault_report_wait(struct ch_kernel_fault *faults,
                                   const struct ch_wait_policy *policy, uint32_t late_pe)
{
    struct ch_kernel_fault *fault = fault_of_wait(faults);
    chorus_status status;

    if (fault == NULL) return CHORUS_OK;
    status = (chorus_status)fault->status;
    forget_fault(fault);
    if (late_pe == UINT32_MAX)
        return CH_FAIL(status, "a call in a kernel of the program failed: %s",
                       ch_wait_why(policy, status));
    return CH_FAIL(status,
                   "a call in a kernel of the program failed, which waited for PE %u: %s",
                   late_pe, ch_wait_why(policy, status));
}
