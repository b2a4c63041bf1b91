/* SPDX-License-Identifier: Apache-2.0 */
/*
 * context.c: for which PE does a thread run, a job whose PEs are threads of this process, and
 * the calls of a PE in its record.
 */
#include "api/context.h"

#include "api/check.h"
#include "base/error.h"
#include "chorus/chorusx.h"
#include "coll/cuda/gpu.h"
#include "team/differ.h"
#include "team/table.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* --- the PE of a thread ------------------------------------------------------------------- */

/* Placeholders for a context after finalize and in a forked child; they are never
 * dereferenced. */
static struct ch_context retired, forked;

static struct ch_context *process_context;
static struct ch_context *volatile of_parent; /* keeps the context of the parent reachable in a
                                                 child, for leak detectors */
static _Thread_local struct ch_context *thread_context;

struct ch_context *ch_context_only;
static bool has_threads; /* set once a thread has had its own context; never cleared */

/* Returns the context of this thread, else that of the process; null or a placeholder if
 * neither has one. */
static struct ch_context *current_context(void)
{
    if (thread_context != NULL) return thread_context;
    return __atomic_load_n(&process_context, __ATOMIC_ACQUIRE);
}

struct ch_context *ch_context_find(void)
{
    struct ch_context *context = current_context();

    return context == &retired || context == &forked ? NULL : context;
}

enum ch_phase ch_context_phase(void)
{
    const struct ch_context *context = current_context();

    if (context == NULL) return CH_PHASE_BEFORE;
    if (context == &forked) return CH_PHASE_FORKED;
    return context == &retired ? CH_PHASE_AFTER : CH_PHASE_RUNNING;
}

bool ch_context_is_of_thread(void)
{
    return thread_context != NULL;
}

/* Called in a child that a thread of a PE forked: the child leaves the job. */
static void detach_forked_child(void)
{
    of_parent = ch_context_get();
    if (of_parent == NULL) return;
    if (of_parent->boot->ops->abandon != NULL) of_parent->boot->ops->abandon(of_parent->boot);
    thread_context = NULL;
    process_context = &forked;
    ch_context_only = NULL;
}

/* Let every child that is forked call detach_forked_child. */
static void watch_forks(void)
{
    (void)pthread_atfork(NULL, NULL, detach_forked_child);
}

static void watch_forks_once(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, watch_forks);
}

/* Set the PE for which this thread runs; null: that of the process. */
static void set_thread(struct ch_context *context)
{
    watch_forks_once();
    thread_context = context;
    __atomic_store_n(&has_threads, true, __ATOMIC_SEQ_CST);
    __atomic_store_n(&ch_context_only, NULL, __ATOMIC_SEQ_CST);
}

/* ch_context_only becomes null after this function and set_thread have both run, in
 * either order. */
void ch_context_set_process(struct ch_context *context)
{
    watch_forks_once();
    __atomic_store_n(&process_context, context, __ATOMIC_RELEASE);
    __atomic_store_n(&ch_context_only, context != &retired ? context : NULL, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&has_threads, __ATOMIC_SEQ_CST))
        __atomic_store_n(&ch_context_only, NULL, __ATOMIC_SEQ_CST);
}

void ch_context_mark_finalized(void)
{
    if (thread_context != NULL)
        thread_context = &retired;
    else
        ch_context_set_process(&retired);
}

void ch_context_fail_missing(const char *function)
{
    if (ch_context_phase() == CH_PHASE_FORKED)
        (void)CH_FAIL(CHORUS_ERR_STATE,
                      "%s called in a child that the PE forked, process %d, which is not a PE; "
                      "call it in the process that called chorus_init",
                      function, (int)getpid());
    else
        (void)CH_FAIL(CHORUS_ERR_STATE,
                      "%s called %s; expected a call between chorus_init and chorus_finalize",
                      function,
                      ch_context_phase() == CH_PHASE_BEFORE ? "before chorus_init"
                                                            : "after chorus_finalize");
}

chorus_status ch_context_quiet_and_sync(struct ch_context *context)
{
    struct ch_team *world;

    if (context->gpu != NULL) ch_gpu_settle(context->gpu, context->links);
    CH_TRY(ch_links_quiet(context->links, CH_CTX_DEFAULT, CH_LINK_ALL));
    CH_TRY(ch_team_get(context->teams, CHORUS_TEAM_WORLD, &world));
    return ch_team_sync_by_mail(world);
}

/* --- PEs that are threads ----------------------------------------------------------------- */

enum { MESSAGE_BYTES = 512 };

/* One PE. Owned by the caller of chorusx_run_threads; read by it after the join. */
struct pe_thread {
    pthread_t thread;
    const struct ch_options *options;
    struct ch_boot *boot;
    void (*pe_main)(void *arg);
    void *arg;
    chorus_status status;
    char message[MESSAGE_BYTES]; /* of a status that is not OK */
};

/* Make this thread a PE: init, pe_main, and finalize unless pe_main has called it. */
static chorus_status run_pe(struct pe_thread *pe)
{
    struct ch_context *context;
    chorus_status status;

    CH_TRY(ch_context_open(pe->options, pe->boot, CHORUS_THREAD_MULTIPLE, &context));
    set_thread(context);
    pe->pe_main(pe->arg);
    if (ch_context_phase() != CH_PHASE_RUNNING) return CHORUS_OK;
    status = ch_finish("chorus_finalize");
    if (status != CHORUS_OK) ch_context_close(context); /* no PE is left that could try again */
    return status;
}

static void *thread_main(void *self)
{
    struct pe_thread *pe = self;

    ch_log_name_pe((int)pe->boot->me);
    pe->status = run_pe(pe);
    if (pe->status != CHORUS_OK)
        (void)snprintf(pe->message, sizeof(pe->message), "%s", ch_error_message());
    return NULL;
}

/* Start a thread for each of n PEs; returns for how many that succeeded. PEs without a thread
 * leave the job, so that the other PEs fail at once. */
static int start_threads(struct pe_thread *pes, struct ch_boot **boots, int n)
{
    int started = 0;

    while (started < n &&
           pthread_create(&pes[started].thread, NULL, thread_main, &pes[started]) == 0)
        started++;
    for (int pe = started; pe < n; pe++)
        boots[pe]->ops->close(boots[pe]);
    return started;
}

/* Fail with the status and message of the PE whose failure caused the others; CHORUS_OK if no
 * PE failed. */
static chorus_status find_root_failure(const struct pe_thread *pes, int n)
{
    const struct pe_thread *worst = NULL;

    for (int pe = 0; pe < n; pe++)
        if (pes[pe].status != CHORUS_OK &&
            (worst == NULL || worst->status == CHORUS_ERR_ABORTED))
            worst = &pes[pe];
    if (worst == NULL) return CHORUS_OK;
    return CH_FAIL(worst->status, "PE %d: %s", (int)(worst - pes), worst->message);
}

static chorus_status start_and_join_pes(struct pe_thread *pes, struct ch_boot **boots, int n,
                                        const struct ch_options *options,
                                        void (*pe_main)(void *), void *arg)
{
    int started;

    CH_TRY(ch_boot_open_threads((uint32_t)n, options->timeout_ns, boots));
    for (int pe = 0; pe < n; pe++)
        pes[pe] = (struct pe_thread){
            .options = options, .boot = boots[pe], .pe_main = pe_main, .arg = arg};
    started = start_threads(pes, boots, n);
    for (int pe = 0; pe < started; pe++)
        (void)pthread_join(pes[pe].thread, NULL);
    if (started < n)
        return CH_FAIL(CHORUS_ERR_SYSTEM,
                       "only %d threads could be created for %d PEs; raise the limit of "
                       "processes (ulimit -u)",
                       started, n);
    return find_root_failure(pes, n);
}

static chorus_status run_threads(const char *function, int n_pes, void (*pe_main)(void *arg),
                                 void *arg)
{
    struct ch_options options;
    struct pe_thread *pes;
    struct ch_boot **boots;
    chorus_status status;

    if (n_pes < 1)
        return CH_FAIL(CHORUS_ERR_ARG, "%s: n_pes is %d; expected 1 or more", function, n_pes);
    CH_TRY(ch_options_read(&options));
    CH_TRY(ch_log_start(&options));
    ch_warn_of_unknown_variables();
    pes = calloc((size_t)n_pes, sizeof(*pes));
    boots = calloc((size_t)n_pes, sizeof(*boots));
    if (pes == NULL || boots == NULL)
        status = CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for %d PEs", n_pes);
    else
        status = start_and_join_pes(pes, boots, n_pes, &options, pe_main, arg);
    free(boots);
    free(pes);
    return status;
}

int chorusx_run_threads(int n_pes, void (*pe_main)(void *arg), void *arg)
{
    return ch_handle_status(__func__, run_threads(__func__, n_pes, pe_main, arg));
}

/* --- calls in the record ------------------------------------------------------------------ */

chorus_status ch_check_entry(const char *function, struct ch_team *team,
                             const struct ch_doing *doing, uint64_t index)
{
    const chorus_status status = ch_team_compare_call(team, function, doing);

    if (status != CHORUS_OK) ch_record_mark(team->record, index, CH_ENTRY_FAILED);
    return status;
}

/* Add a call to the record of this PE; returns its index. */
static uint64_t record_begin(const struct ch_context *context, const struct ch_doing *doing)
{
    const struct ch_entry noted = ch_entry_of(doing);

    return ch_record_begin(ch_heap_record(context->heap, context->boot->me), &noted,
                           context->thread_level != CHORUS_THREAD_MULTIPLE, CH_ENTRY_RUNNING);
}

/* Is the call one that programs also make after another call was refused? */
static bool is_ending(enum ch_doing_what what)
{
    return what == CH_DOING_finalize || what == CH_DOING_team_destroy;
}

chorus_status ch_doing_begin(const struct ch_context *context, const char *function,
                             enum ch_doing_what what, struct ch_team *team, uint64_t count,
                             uint64_t *index_out)
{
    const struct ch_doing doing = {
        .what = (uint8_t)what,
        .team = team->word,
        .number = __atomic_add_fetch(&team->n_meetings, 1, __ATOMIC_RELAXED),
        .count = count,
    };

    if (ch_guard_is_on(context)) CH_TRY(ch_guard_check_thread(context, function));
    if (team->check != NULL && ch_team_is_refused(team) && !is_ending(what))
        return ch_team_fail_refused(team, function);
    *index_out = record_begin(context, &doing);
    if (team->check == NULL || ch_team_is_refused(team)) return CHORUS_OK;
    return ch_check_entry(function, team, &doing, *index_out);
}

chorus_status ch_doing_begin_all(const struct ch_context *context, const char *function,
                                 enum ch_doing_what what, uint64_t count, uint64_t *index_out)
{
    struct ch_team *world;

    CH_TRY(ch_team_get(context->teams, CHORUS_TEAM_WORLD, &world));
    return ch_doing_begin(context, function, what, world, count, index_out);
}

uint64_t ch_doing_begin_alone(const struct ch_context *context, const struct ch_doing *doing)
{
    return record_begin(context, doing);
}

chorus_status ch_doing_end(const struct ch_context *context, uint64_t index,
                           chorus_status status)
{
    struct ch_record *record = ch_heap_record(context->heap, context->boot->me);
    struct ch_record_call called;

    ch_record_mark(record, index, ch_entry_state_of(status));
    if (status != CHORUS_ERR_TIMEOUT || !ch_record_read(record, index, &called)) return status;
    if (called.doing.what == CH_DOING_wait)
        ch_teams_add_chain(context->teams);
    else if (!ch_doing_is_alone(&called.doing))
        ch_teams_add_missing(context->teams, &called);
    return status;
}
