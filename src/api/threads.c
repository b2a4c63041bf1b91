/* SPDX-License-Identifier: Apache-2.0 */
/* threads.c: a job whose PEs are threads of this process. */
#include "chorus/chorusx.h"

#include "api/context.h"
#include "api/environment.h"
#include "base/log.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

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

static chorus_status live(struct pe_thread *pe)
{
    struct ch_context *context;
    chorus_status status;

    CH_TRY(ch_context_open(pe->options, pe->boot, CHORUS_THREAD_MULTIPLE, &context));
    ch_context_set_thread(context);
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
    pe->status = live(pe);
    if (pe->status != CHORUS_OK)
        (void)snprintf(pe->message, sizeof(pe->message), "%s", ch_error_message());
    return NULL;
}

/* The number of the n threads that run. PEs without a thread leave the job, so that the other
 * PEs fail at once. */
static int launch(struct pe_thread *pes, struct ch_boot **boots, int n)
{
    int started = 0;

    while (started < n &&
           pthread_create(&pes[started].thread, NULL, thread_main, &pes[started]) == 0)
        started++;
    for (int pe = started; pe < n; pe++)
        boots[pe]->ops->close(boots[pe]);
    return started;
}

/* The failure that caused the others, if there is one. */
static chorus_status verdict(const struct pe_thread *pes, int n)
{
    const struct pe_thread *worst = NULL;

    for (int pe = 0; pe < n; pe++)
        if (pes[pe].status != CHORUS_OK &&
            (worst == NULL || worst->status == CHORUS_ERR_ABORTED))
            worst = &pes[pe];
    if (worst == NULL) return CHORUS_OK;
    return CH_FAIL(worst->status, "PE %d: %s", (int)(worst - pes), worst->message);
}

static chorus_status run(struct pe_thread *pes, struct ch_boot **boots, int n,
                         const struct ch_options *options, void (*pe_main)(void *), void *arg)
{
    int started;

    CH_TRY(ch_boot_threads((uint32_t)n, options->timeout_ns, boots));
    for (int pe = 0; pe < n; pe++)
        pes[pe] = (struct pe_thread){
            .options = options, .boot = boots[pe], .pe_main = pe_main, .arg = arg};
    started = launch(pes, boots, n);
    for (int pe = 0; pe < started; pe++)
        (void)pthread_join(pes[pe].thread, NULL);
    if (started < n)
        return CH_FAIL(CHORUS_ERR_SYSTEM,
                       "only %d threads could be created for %d PEs; raise the limit of "
                       "processes (ulimit -u)",
                       started, n);
    return verdict(pes, n);
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
    ch_environment_warn();
    pes = calloc((size_t)n_pes, sizeof(*pes));
    boots = calloc((size_t)n_pes, sizeof(*boots));
    if (pes == NULL || boots == NULL)
        status = CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for %d PEs", n_pes);
    else
        status = run(pes, boots, n_pes, &options, pe_main, arg);
    free(boots);
    free(pes);
    return status;
}

int chorusx_run_threads(int n_pes, void (*pe_main)(void *arg), void *arg)
{
    return ch_give(__func__, run_threads(__func__, n_pes, pe_main, arg));
}
