/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.c: the only file that prints and ends the process.
 *
 * A function that returns nothing passes its failure to a handler. The default handler prints
 * the message on standard error, ends the waits of the other PEs and their processes, and
 * exits. A function that returns a code reports its failure as CHORUS_ERRORS selects.
 */
#include "chorus/chorusx.h"

#include "api/context.h"
#include "base/error.h"
#include "base/text.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* EXIT_MOST_S: how long exit handlers of a job that ends may take. */
enum { LINE_BYTES = 1200, EXIT_FAILED = 1, LOGGED_MAX = 1024, EXIT_MOST_S = 2 };

static chorusx_error_handler_t current_handler; /* null: the default */
static uint64_t ending; /* the thread that is in end_job, and its status; 0: none */

/* End the waits of the other PEs with ERR_ABORTED, and let the launcher end the PEs that do not
 * wait. The launcher is informed first, so that the exits that follow ERR_ABORTED are not taken
 * for the cause. */
static void end_peers(struct ch_context *context, int status)
{
    struct ch_boot *boot = context->boot;

    if (boot->ops->abort_job != NULL) boot->ops->abort_job(boot, status);
    if (boot->ops->guard != NULL)
        return; /* the boot of each PE ends its waits, and knows the reason */
    for (uint32_t pe = 0; pe < boot->n; pe++)
        if (pe != boot->me && ch_heap_is_mapped(context->heap, pe))
            ch_door_abort(ch_heap_door(context->heap, pe));
}

/* A signal handler: end the process with the status in `ending`, without exit handlers. */
static void exit_now(int signo)
{
    (void)signo;
    _exit((int)(uint32_t)__atomic_load_n(&ending, __ATOMIC_ACQUIRE));
}

/* Let a timer and SIGABRT call exit_now. exit runs the handlers of the program and of other
 * libraries, flushes streams and frees memory. In a signal handler it may wait for a lock of
 * the code that was interrupted, or abort in the middle of malloc; the process ends with the
 * status in any case. */
static void limit_exit(void)
{
    const struct sigaction now = {.sa_handler = exit_now};
    sigset_t both;

    (void)sigemptyset(&both);
    (void)sigaddset(&both, SIGALRM);
    (void)sigaddset(&both, SIGABRT);
    (void)sigaction(SIGALRM, &now, NULL);
    (void)sigaction(SIGABRT, &now, NULL);
    (void)pthread_sigmask(SIG_UNBLOCK, &both, NULL);
    (void)alarm(EXIT_MOST_S);
}

/*
 * End the process with `status` and, if is_first, the job. Not is_first: another PE has failed,
 * and ends the job with its status. PEs that are threads fail together; the first of them ends
 * the process and thereby the others.
 *
 * This may run in a signal handler, so nothing before exit takes a lock or allocates memory. A
 * handler that interrupts its own thread here, or in exit, cannot wait for it.
 */
static _Noreturn void end_job(int status, bool is_first)
{
    struct ch_context *context = ch_context_get();
    const uint32_t self = (uint32_t)gettid();
    uint64_t first = 0;

    if (!__atomic_compare_exchange_n(&ending, &first, (uint64_t)self << 32 | (uint32_t)status,
                                     false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        if (first >> 32 == self) _exit((int)(uint32_t)first);
        for (;;)
            (void)pause();
    }
    if (context != NULL && is_first) end_peers(context, status);
    limit_exit();
    exit(status);
}

/* Does a chorusrun see all PEs? A PE whose job is being ended then prints nothing in addition
 * to the message of the failed PE or of chorusrun. Else each PE prints which PE was lost. */
static bool is_launched(void)
{
    const struct ch_context *context = ch_context_get();

    return context != NULL && context->boot->ops->abort_job != NULL &&
           context->boot->ops->guard == NULL;
}

/* Does the process of the failed PE also contain PEs whose waits were ended? */
static bool runs_pes_as_threads(void)
{
    const struct ch_context *context = ch_context_get();

    return context == NULL || context->boot->ops->abort_job == NULL;
}

/* Did this PE's own network find the reason for the end of the job? Then no other PE may have
 * found it. */
static bool has_own_reason(void)
{
    const struct ch_context *context = ch_context_get();

    return context != NULL && *ch_wait_end_reason(&context->policy) != '\0';
}

/* Wait half a second, in a PE whose waits were ended, for the failed PE to print the reason and
 * end the process or the job; this function then normally does not return. */
static void wait_for_failed(void)
{
    const struct timespec policy = {.tv_nsec = 500000000};

    (void)nanosleep(&policy, NULL);
}

/* Print one line, with the number of this PE, by one call of write. */
static void write_to_stderr(const char *message)
{
    const struct ch_context *context = ch_context_get();
    char line[LINE_BYTES];
    int bytes;

    if (context == NULL)
        bytes = snprintf(line, sizeof(line), "chorus: %s\n", message);
    else
        bytes = snprintf(line, sizeof(line), "chorus: PE %u: %s\n", context->boot->me, message);
    if (bytes < 0) return;
    if ((size_t)bytes >= sizeof(line)) bytes = (int)sizeof(line) - 1;
    if (write(STDERR_FILENO, line, (size_t)bytes) < 0)
        return; /* there is no other stream for the message */
}

static uint64_t hash_text(uint64_t seed, const char *text)
{
    return ch_hash(seed ^ CH_HASH_START, text, strlen(text));
}

/* The message that this thread logged last: a call that fails because a call inside it did, and
 * a layer that passes the code to the handler, do not repeat it. */
static _Thread_local uint64_t last_logged;

/* Is the message that this thread logged last its present one? */
static bool is_logged(void)
{
    return last_logged == hash_text(0, ch_error_message());
}

/* Is this the first failure with this code in this function on this PE? Each is a word in a
 * table; when the table is full, the answer is no. */
static bool is_first_failure(const char *function, chorus_status status)
{
    static uint64_t seen[LOGGED_MAX];
    const struct ch_context *context = ch_context_get();
    const uint64_t pe = context == NULL ? 0 : context->boot->me + 1;
    const uint64_t key = hash_text(pe << 8 | (uint8_t)-status, function) | 1;

    for (size_t i = 0; i < LOGGED_MAX; i++) {
        uint64_t *at = &seen[(key + i) % LOGGED_MAX];
        uint64_t found = 0;

        if (__atomic_compare_exchange_n(at, &found, key, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return true;
        if (found == key) return false;
    }
    return false;
}

/* Log the thread's message, once for each function and status, and not twice in a row. */
static void log_failure(const char *function, chorus_status status)
{
    const char *message = ch_error_message();
    const bool is_named = ch_names_call_bytes(message) != 0;

    if (CH_LOG_ERROR > ch_log_level_max || is_logged() || !is_first_failure(function, status))
        return;
    last_logged = hash_text(0, message);
    CH_LOG(ERROR, "%s%s%s (%s; logged once for this function)", is_named ? "" : function,
           is_named ? "" : ": ", message, ch_status_name(status));
}

void ch_handle_failure(const char *function, chorus_status status)
{
    const struct ch_context *context = ch_context_get();
    const enum ch_errors how =
        context != NULL ? context->options.errors : ch_options_error_mode();

    if (how == CH_ERRORS_return) return;
    if (how == CH_ERRORS_fatal)
        ch_report_failure(status);
    else if (status != CHORUS_ERR_ABORTED || !is_launched() || has_own_reason())
        log_failure(function, status);
}

void ch_handle_or_raise_failure(const char *function, chorus_status status)
{
    if (strcmp(ch_names_prefix(), "shmem") != 0) ch_handle_failure(function, status);
}

void ch_report_failure(chorus_status status)
{
    const chorusx_error_handler_t handler = __atomic_load_n(&current_handler, __ATOMIC_ACQUIRE);

    if (handler != NULL) {
        handler(status, ch_error_message());
        return;
    }
    if (status == CHORUS_ERR_ABORTED &&
        (runs_pes_as_threads() || (is_launched() && has_own_reason())))
        wait_for_failed();
    if ((status != CHORUS_ERR_ABORTED || !is_launched() || has_own_reason()) && !is_logged())
        write_to_stderr(ch_error_message());
    end_job(EXIT_FAILED, status != CHORUS_ERR_ABORTED);
}

void chorusx_raise(int code)
{
    ch_report((chorus_status)code);
}

int chorusx_fail(int code, const char *function, const char *message)
{
    if (message == NULL)
        ch_error_prefix(function);
    else
        ch_error_set((chorus_status)code, __FILE__, __LINE__, "%s: %s", function, message);
    return ch_handle_status(function, (chorus_status)code);
}

void chorusx_raise_in(const char *function, int code)
{
    bool was_logged;

    if (code == CHORUS_OK) return;
    was_logged = is_logged();
    ch_error_rename(function);
    if (was_logged) last_logged = hash_text(0, ch_error_message());
    ch_report((chorus_status)code);
}

void chorusx_set_names(const char *prefix, const char *heap_max)
{
    ch_names_set(prefix, heap_max);
}

chorusx_error_handler_t chorusx_set_error_handler(chorusx_error_handler_t handler)
{
    return __atomic_exchange_n(&current_handler, handler, __ATOMIC_ACQ_REL);
}

/* The system keeps only the low byte of a status; this must not turn a failure into 0. */
void chorus_global_exit(int status)
{
    const int kept = status & 0xff;

    end_job(kept == 0 && status != 0 ? EXIT_FAILED : kept, true);
}
