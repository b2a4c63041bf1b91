/* SPDX-License-Identifier: Apache-2.0 */
#include "chorusrun.h"

#include "base/clock.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* From SIGTERM to SIGKILL; agents have more time, as they do the same for their PEs. */
#define GRACE_NS (500 * CH_NS_PER_MS)
#define AGENT_GRACE_NS (4 * GRACE_NS)

/* Largest number of PEs that the message of --timeout names. */
enum { NAMED_MAX = 16 };

void signal_all(const struct job *job, int signo)
{
    if (job->front != NULL) {
        front_signal(job->front, signo);
        return;
    }
    for (uint32_t i = 0; i < job->n_started; i++) {
        const struct pe *pe = &job->pes[i];
        /* A PE that ended the job still writes its files and runs its exit handlers. */
        const bool is_spared = pe->has_aborted && signo != SIGKILL;
        if (pe->is_alive && !is_spared) (void)kill(pe->pid, signo);
    }
}

/* PEs that wait for a PE that never joined fail later: that PE was the first cause. */
static void name_absent(struct job *job)
{
    bool is_missed = false;
    struct who w;

    for (uint32_t i = 0; i < job->n_started; i++)
        if (job->pes[i].has_joined) is_missed = true;
    if (job->absent == NULL || !is_missed) return;
    say(job,
        "before that, %s exited with status 0 without joining the job "
        "(init)",
        who(job->absent, &w));
}

/* PEs that wait for a stopped PE fail at their deadlines, and cannot detect the reason. */
void job_name_stopped(struct job *job)
{
    for (uint32_t i = 0; i < job->n_started; i++) {
        struct pe *pe = &job->pes[i];
        siginfo_t info = {0};
        if (!pe->is_alive) continue;
        if (waitid(P_PID, (id_t)pe->pid, &info, WSTOPPED | WNOHANG | WNOWAIT) != 0) continue;
        if (info.si_pid == 0) continue;
        job_hear(job, pe, &(struct news){NEWS_STOPPED, info.si_status, ""});
    }
}

void job_end(struct job *job, int status, const char *format, ...)
{
    char reason[CH_WIRE_REASON_BYTES] = "the job is ending";
    va_list args;

    if (job->is_ending) return;
    job->is_ending = true;
    job->status = status;
    job->kill_at_ns = ch_clock_ns() + (job->front != NULL ? AGENT_GRACE_NS : GRACE_NS);
    if (format != NULL) {
        va_start(args, format);
        (void)vsnprintf(reason, sizeof(reason), format, args);
        va_end(args);
        if (job->agent != NULL) {
            agent_tell_end(job, status, reason);
        } else {
            say(job, "%s", reason);
            name_absent(job);
        }
        if (job->front == NULL) {
            job_name_stopped(job);
            if (job->agent == NULL) where_say(job); /* otherwise the front will request it */
            where_keep(job);
        }
    }
    mail_fail_all(job, reason);
    if (job->front != NULL)
        front_end(job, status, reason);
    else
        signal_all(job, SIGTERM);
}

void job_kill(struct job *job)
{
    job->is_killed = true;
    signal_all(job, SIGKILL);
}

void job_end_late(struct job *job)
{
    const double seconds = (double)job->args->timeout_ns / (double)CH_NS_PER_S;
    char named[NAMED_MAX * (sizeof(struct who) + 2)] = "";
    uint32_t n_named = 0;
    const char *missing;
    size_t used = 0;
    struct who w;

    output_hurry(job);
    if (job->front != NULL && (missing = front_missing(job->front)) != NULL) {
        job_end(job, STATUS_TIMEOUT, "after %.3g s, no agent has connected from host %s",
                seconds, missing);
        return;
    }
    if (job->n_alive == 0) {
        job_end(job, STATUS_TIMEOUT,
                "after %.3g s, all PEs have ended, but not all that they wrote has been read",
                seconds);
        return;
    }
    for (uint32_t i = 0; i < job->n_started && n_named < NAMED_MAX; i++) {
        const struct pe *pe = &job->pes[i];
        if (!pe->is_alive || used >= sizeof(named)) continue;
        used += (size_t)snprintf(named + used, sizeof(named) - used, "%s%s",
                                 n_named > 0 ? ", " : "", who(pe, &w));
        n_named++;
    }
    if (n_named < job->n_alive)
        job_end(job, STATUS_TIMEOUT,
                "after %.3g s, %u PEs are still running: %s and %u more; ending the job",
                seconds, job->n_alive, named, job->n_alive - n_named);
    else
        job_end(job, STATUS_TIMEOUT, "after %.3g s, %u PE%s still running: %s; ending the job",
                seconds, job->n_alive, job->n_alive == 1 ? " is" : "s are", named);
}

/* Kill the children of this process; was there any? */
static bool sweep_once(const char *path)
{
    FILE *children = fopen(path, "re");
    bool was_any = false;
    int pid;

    if (children == NULL) return false; /* the system does not have this list */
    while (fscanf(children, "%d", &pid) == 1) {
        if (kill(pid, SIGKILL) != 0) continue;
        (void)waitpid(pid, NULL, 0);
        was_any = true;
    }
    (void)fclose(children);
    return was_any;
}

void job_sweep(void)
{
    char path[64];

    (void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    /* Processes that end leave their own children to this process. */
    while (sweep_once(path))
        continue;
}
