/* SPDX-License-Identifier: Apache-2.0 */
#include "chorusrun.h"

#include "base/clock.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* From SIGTERM to SIGKILL, and from the end of a PE's socket to that of its process. */
#define GRACE_NS (500 * CH_NS_PER_MS)

/* PEs that the message of --timeout names, and room for ", PE 1023 (pid 4194304)". */
enum { NAMED_MAX = 16, NAME_BYTES = 24 };

void signal_all(const struct job *job, int signo)
{
    for (uint32_t i = 0; i < job->n_started; i++) {
        const struct pe *pe = &job->pes[i];
        /* One that ended the job is to write out its files and run its exit handlers. */
        const bool is_spared = pe->has_aborted && signo != SIGKILL;
        if (pe->is_alive && !is_spared) (void)kill(pe->pid, signo);
    }
}

/* Who waits for a PE that never came fails sooner or later: that one was the first cause. */
static void name_absent(struct job *job)
{
    bool is_missed = false;

    for (uint32_t i = 0; i < job->n_started; i++)
        if (job->pes[i].has_joined) is_missed = true;
    if (job->absent == NULL || !is_missed) return;
    say(job,
        "before that, PE %u (pid %d) exited with status 0 without joining the job "
        "(chorus_init)",
        (unsigned)(job->absent - job->pes), (int)job->absent->pid);
}

/* Who waits for a PE that stands still fails at its deadline, and cannot see why. */
static void name_stopped(struct job *job)
{
    for (uint32_t i = 0; i < job->n_started; i++) {
        const struct pe *pe = &job->pes[i];
        siginfo_t info = {0};
        if (!pe->is_alive) continue;
        if (waitid(P_PID, (id_t)pe->pid, &info, WSTOPPED | WNOHANG | WNOWAIT) != 0) continue;
        if (info.si_pid == 0) continue;
        say(job, "PE %u (pid %d) has been stopped by signal %d (%s)", i, (int)pe->pid,
            info.si_status, strsignal(info.si_status));
    }
}

void job_end(struct job *job, int status, const char *format, ...)
{
    char reason[CH_WIRE_REASON_BYTES] = "the job is ending";
    va_list args;

    if (job->is_ending) return;
    job->is_ending = true;
    job->status = status;
    job->kill_at_ns = ch_clock_ns() + GRACE_NS;
    if (format != NULL) {
        va_start(args, format);
        (void)vsnprintf(reason, sizeof(reason), format, args);
        va_end(args);
        say(job, "%s", reason);
        name_absent(job);
        name_stopped(job);
    }
    mail_fail_all(job, reason);
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
    char named[NAMED_MAX * NAME_BYTES] = "";
    uint32_t n_named = 0;
    size_t used = 0;

    output_hurry(job);
    if (job->n_alive == 0) {
        job_end(job, STATUS_TIMEOUT,
                "after %.3g s, all PEs have ended, but not all that they wrote has been read",
                seconds);
        return;
    }
    for (uint32_t i = 0; i < job->n_started && n_named < NAMED_MAX; i++) {
        const struct pe *pe = &job->pes[i];
        if (!pe->is_alive || used >= sizeof(named)) continue;
        used += (size_t)snprintf(named + used, sizeof(named) - used, "%sPE %u (pid %d)",
                                 n_named > 0 ? ", " : "", i, (int)pe->pid);
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

/* Did this PE's program not start? Its errno is then in the pipe. */
static bool cannot_run(struct job *job)
{
    const char *program = job->args->command[0];
    int error;

    if (read(job->exec_errors, &error, sizeof(error)) != (ssize_t)sizeof(error)) return false;
    if (error == ENOENT && strchr(program, '/') != NULL && access(program, F_OK) == 0)
        job_end(job, STATUS_NOT_FOUND, "cannot run %s: the interpreter it names does not exist",
                program);
    else
        job_end(job, error == ENOENT || error == ENOTDIR ? STATUS_NOT_FOUND : STATUS_CANNOT_RUN,
                "cannot run %s: %s", program, strerror(error));
    return true;
}

static bool others_are_inside(const struct job *job)
{
    for (uint32_t i = 0; i < job->n_started; i++) {
        const struct pe *pe = &job->pes[i];
        if (pe->is_alive && pe->has_joined && !pe->has_left && pe->mail.sock >= 0) return true;
    }
    return false;
}

void job_judge(struct job *job, struct pe *pe, int wait_status)
{
    const unsigned me = (unsigned)(pe - job->pes);
    const int signo = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
    const int status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 0;
    char reason[CH_WIRE_REASON_BYTES];

    if (signo != 0) {
        job_end(job, STATUS_SIGNAL + signo,
                "PE %u (pid %d) was killed by signal %d (%s)%s; ending the job", me,
                (int)pe->pid, signo, strsignal(signo), memory_blame(signo));
    } else if (status != 0) {
        if (!cannot_run(job))
            job_end(job, status, "PE %u (pid %d) exited with status %d; ending the job", me,
                    (int)pe->pid, status);
    } else if (pe->has_joined && !pe->has_left && others_are_inside(job)) {
        job_end(job, STATUS_NOT_LEFT,
                "PE %u (pid %d) exited with status 0 without leaving the job "
                "(chorus_finalize); ending the job",
                me, (int)pe->pid);
    } else if (!pe->has_left) {
        if (!pe->has_joined && job->absent == NULL) job->absent = pe;
        (void)snprintf(reason, sizeof(reason), "PE %u exited with status 0%s", me,
                       pe->has_joined ? "" : " before it joined the job");
        mail_fail_all(job, reason);
    }
}

void job_miss(struct job *job, struct pe *pe)
{
    pe->lost_at_ns = ch_clock_ns() + GRACE_NS;
    if (pe->lost_at_ns < job->lost_at_ns) job->lost_at_ns = pe->lost_at_ns;
}

/* Where nobody else is inside, nobody waits for it: its process goes on, as after an exit. */
static void judge_missed(struct job *job, const struct pe *pe)
{
    const unsigned me = (unsigned)(pe - job->pes);
    char reason[CH_WIRE_REASON_BYTES];

    if (pe->program == pe->pid)
        (void)snprintf(reason, sizeof(reason),
                       "PE %u (pid %d) became another program (exec), or closed its files, "
                       "without leaving the job (chorus_finalize)",
                       me, (int)pe->pid);
    else
        (void)snprintf(
            reason, sizeof(reason),
            "PE %u (pid %d) lives on, but its program (pid %d) ended without leaving "
            "the job (chorus_finalize)",
            me, (int)pe->pid, (int)pe->program);
    if (others_are_inside(job))
        job_end(job, STATUS_NOT_LEFT, "%s; ending the job", reason);
    else
        mail_fail_all(job, reason);
}

void job_judge_missed(struct job *job)
{
    const uint64_t now = ch_clock_ns();

    job->lost_at_ns = UINT64_MAX;
    for (uint32_t i = 0; i < job->n_started; i++) {
        struct pe *pe = &job->pes[i];
        if (pe->lost_at_ns == 0 || !pe->is_alive) continue;
        if (pe->lost_at_ns <= now) {
            pe->lost_at_ns = 0;
            judge_missed(job, pe);
        } else if (pe->lost_at_ns < job->lost_at_ns) {
            job->lost_at_ns = pe->lost_at_ns;
        }
    }
}

/* Kill the children of this process; was there any? */
static bool sweep_once(const char *path)
{
    FILE *children = fopen(path, "re");
    bool was_any = false;
    int pid;

    if (children == NULL) return false; /* a system without this list */
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
    /* The dead leave children to this process in their turn. */
    while (sweep_once(path))
        continue;
}
