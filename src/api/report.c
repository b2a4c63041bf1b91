/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.c: the only file that prints and ends the process.
 *
 * A function that returns nothing passes its failure to a handler. The default handler prints
 * the message on standard error, ends the waits of the other PEs and their processes, and
 * exits.
 */
#include "chorus/chorusx.h"

#include "api/context.h"
#include "base/names.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { LINE_BYTES = 1200, EXIT_FAILED = 1 };

static chorusx_error_handler_t current_handler; /* null: the default */
static int is_ending;                           /* a thread of this process is in end_job */

/* The waits of the other PEs end with ERR_ABORTED, and the launcher ends the PEs that do not
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

/* PEs that are threads fail together; the first of them ends the process and thereby the
 * others. Not is_first: another PE has failed, and ends the job with its status. */
static _Noreturn void end_job(int status, bool is_first)
{
    struct ch_context *context = ch_context_get();

    while (__atomic_exchange_n(&is_ending, 1, __ATOMIC_ACQ_REL))
        (void)pause();
    if (context != NULL && is_first) end_peers(context, status);
    exit(status);
}

/* A PE whose job is being ended prints nothing in addition to the message of the failed PE or
 * of chorusrun. Without a chorusrun that sees all PEs, each PE prints which PE was lost. */
static bool is_launched(void)
{
    const struct ch_context *context = ch_context_get();

    return context != NULL && context->boot->ops->abort_job != NULL &&
           context->boot->ops->guard == NULL;
}

/* Does the process of the failed PE also contain PEs whose waits were ended? */
static bool is_threads(void)
{
    const struct ch_context *context = ch_context_get();

    return context == NULL || context->boot->ops->abort_job == NULL;
}

/* Did this PE's own network find the reason for the end of the job? Then no other PE may have
 * found it. */
static bool knows_why(void)
{
    const struct ch_context *context = ch_context_get();

    return context != NULL && *ch_patience_why(&context->patience) != '\0';
}

/* A PE whose waits were ended lets the failed PE print the reason and end the process or the
 * job; this function then normally does not return. The wait is limited. */
static void wait_for_failed(void)
{
    const struct timespec patience = {.tv_nsec = 500000000};

    (void)nanosleep(&patience, NULL);
}

static void say(const char *message)
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

void ch_report_failure(chorus_status status)
{
    const chorusx_error_handler_t handler = __atomic_load_n(&current_handler, __ATOMIC_ACQUIRE);

    if (handler != NULL) {
        handler(status, ch_error_message());
        return;
    }
    if (status == CHORUS_ERR_ABORTED && (is_threads() || (is_launched() && knows_why())))
        wait_for_failed();
    if (status != CHORUS_ERR_ABORTED || !is_launched() || knows_why()) say(ch_error_message());
    end_job(EXIT_FAILED, status != CHORUS_ERR_ABORTED);
}

void chorusx_raise(int code)
{
    ch_report((chorus_status)code);
}

void chorusx_raise_in(const char *function, int code)
{
    if (code == CHORUS_OK) return;
    ch_error_rename(function);
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
