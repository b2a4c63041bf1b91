/* SPDX-License-Identifier: Apache-2.0 */
#include "api/context.h"

#include "chorus/chorus.h"

#include <pthread.h>
#include <unistd.h>

/* Placeholders for a context after finalize and in a forked child; they are never
 * dereferenced. */
static struct ch_context retired, forked;

static struct ch_context *process_context;
static struct ch_context *volatile of_parent; /* keeps the context of the parent reachable in a
                                                 child, for leak detectors */
static _Thread_local struct ch_context *thread_context;

struct ch_context *ch_context_only;
static bool has_threads; /* set once a thread has had its own context; never cleared */

static struct ch_context *current(void)
{
    if (thread_context != NULL) return thread_context;
    return __atomic_load_n(&process_context, __ATOMIC_ACQUIRE);
}

struct ch_context *ch_context_find(void)
{
    struct ch_context *context = current();

    return context == &retired || context == &forked ? NULL : context;
}

enum ch_phase ch_context_phase(void)
{
    const struct ch_context *context = current();

    if (context == NULL) return CH_PHASE_BEFORE;
    if (context == &forked) return CH_PHASE_FORKED;
    return context == &retired ? CH_PHASE_AFTER : CH_PHASE_RUNNING;
}

bool ch_context_is_of_thread(void)
{
    return thread_context != NULL;
}

/* In a child that a thread of a PE forked. */
static void leave_to_parent(void)
{
    of_parent = ch_context_get();
    if (of_parent == NULL) return;
    if (of_parent->boot->ops->abandon != NULL) of_parent->boot->ops->abandon(of_parent->boot);
    thread_context = NULL;
    process_context = &forked;
    ch_context_only = NULL;
}

static void watch_forks(void)
{
    (void)pthread_atfork(NULL, NULL, leave_to_parent);
}

static void prepare(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, watch_forks);
}

void ch_context_set_thread(struct ch_context *context)
{
    prepare();
    thread_context = context;
    __atomic_store_n(&has_threads, true, __ATOMIC_SEQ_CST);
    __atomic_store_n(&ch_context_only, NULL, __ATOMIC_SEQ_CST);
}

/* ch_context_only becomes null after this function and ch_context_set_thread have both run, in
 * either order. */
void ch_context_set_process(struct ch_context *context)
{
    prepare();
    __atomic_store_n(&process_context, context, __ATOMIC_RELEASE);
    __atomic_store_n(&ch_context_only, context != &retired ? context : NULL, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&has_threads, __ATOMIC_SEQ_CST))
        __atomic_store_n(&ch_context_only, NULL, __ATOMIC_SEQ_CST);
}

void ch_context_retire(void)
{
    if (thread_context != NULL)
        thread_context = &retired;
    else
        ch_context_set_process(&retired);
}

void ch_context_miss(const char *function)
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

chorus_status ch_context_meet(struct ch_context *context)
{
    struct ch_team *world;

    CH_TRY(context->ops->quiet(context->transport, CH_CTX_DEFAULT));
    CH_TRY(ch_team_get(context->teams, CHORUS_TEAM_WORLD, &world));
    return ch_team_meet(world);
}
