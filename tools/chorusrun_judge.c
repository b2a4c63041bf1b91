/* SPDX-License-Identifier: Apache-2.0 */
/* chorusrun_judge.c: handles events of PEs, and decides what they mean for the job. */
#include "chorusrun.h"

#include "base/clock.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* From the exit of a PE with a status to its judgement, at most, if another PE is about to end.
 */
#define SUSPECT_NS (2 * CH_NS_PER_S)

/* From the end of a PE's socket to that of its process; the most that it takes while the system
 * ends it; and how often to look whether it does. */
#define MISS_NS (500 * CH_NS_PER_MS)
#define ENDING_NS (2 * CH_NS_PER_S)
#define LOOK_NS (20 * CH_NS_PER_MS)

const char *who(const struct pe *pe, struct who *out)
{
    if (pe->host == NULL)
        (void)snprintf(out->text, sizeof(out->text), "PE %u (pid %d)", pe->number,
                       (int)pe->pid);
    else
        (void)snprintf(out->text, sizeof(out->text), "PE %u (pid %d on %s)", pe->number,
                       (int)pe->pid, pe->host);
    return out->text;
}

bool job_has_inside(const struct job *job)
{
    for (uint32_t i = 0; i < job->n_started; i++)
        if (job->pes[i].is_alive && job->pes[i].is_inside) return true;
    return false;
}

static void judge_aborted(struct job *job, const struct pe *pe, int status)
{
    struct who w;

    if (status == 0)
        job_end(job, 0, NULL);
    else
        job_end(job, status, "%s ended the job with status %d", who(pe, &w), status);
}

/* Does the system end its process? That closes one descriptor after another, and takes long
 * where much memory is registered with a device. */
static bool is_ending(const struct pe *pe)
{
    enum { EXITING = 4 }; /* PF_EXITING of the kernel, in the ninth field */
    char path[40], line[512] = "";
    const char *rest;
    unsigned flags = 0;
    FILE *file;

    if (pe->host != NULL) return false;
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pe->program);
    file = fopen(path, "re");
    if (file == NULL) return false;
    if (fgets(line, sizeof(line), file) == NULL) line[0] = '\0';
    (void)fclose(file);
    rest = strrchr(line, ')'); /* the program's name may have any characters */
    return rest != NULL && sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) == 1 &&
           (flags & EXITING) != 0;
}

/* The system closes the sockets of a process before its parent can see how it ended. A PE that
 * fails because of that may thus have ended before the PE that caused it. */
static bool is_other_ending(const struct job *job, const struct pe *pe)
{
    for (uint32_t i = 0; i < job->n_started; i++) {
        const struct pe *other = &job->pes[i];
        if (other != pe && other->is_alive && other->is_inside && is_ending(other)) return true;
    }
    return false;
}

/* False: the PE is to be judged now. */
static bool put_off(struct job *job, const struct pe *pe)
{
    if (job->suspect != NULL) return true;
    if (!is_other_ending(job, pe)) return false;
    job->suspect = pe;
    job->suspect_until_ns = ch_clock_ns() + SUSPECT_NS;
    return true;
}

/* On several hosts, the failure of a PE may be reported before the loss of another PE that
 * caused it: its status waits, and is_late is set when the time is over. */
static void judge_ended(struct job *job, const struct pe *pe, bool is_late, int wait_status,
                        const char *blame)
{
    const int signo = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
    const int status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 0;
    char reason[CH_WIRE_REASON_BYTES];
    struct who w;

    if (signo != 0 && signo == job->told_to_end) {
        job_end(job, STATUS_SIGNAL + signo, "chorusrun was terminated by signal %d (%s)", signo,
                strsignal(signo));
    } else if ((signo == SIGPIPE || status == STATUS_SIGNAL + SIGPIPE) &&
               output_lost_reader()) {
        /* As other programs in a pipeline end; a shell reports the signal as a status. */
        job_end(job, STATUS_SIGNAL + SIGPIPE, NULL);
    } else if (signo != 0) {
        job_end(job, STATUS_SIGNAL + signo, "%s was killed by signal %d (%s)%s; ending the job",
                who(pe, &w), signo, strsignal(signo), blame);
    } else if (status != 0 && job->front != NULL && !is_late) {
        front_suspect(job, pe);
    } else if (status != 0 && !is_late && put_off(job, pe)) {
        return;
    } else if (status != 0) {
        job_end(job, status, "%s exited with status %d; ending the job", who(pe, &w), status);
    } else if (pe->has_joined && !pe->has_left && job_has_inside(job)) {
        job_end(job, STATUS_NOT_LEFT,
                "%s exited with status 0 without leaving the job "
                "(finalize); ending the job",
                who(pe, &w));
    } else if (!pe->has_left) {
        if (!pe->has_joined && job->absent == NULL) job->absent = pe;
        (void)snprintf(reason, sizeof(reason), "PE %u exited with status 0%s", pe->number,
                       pe->has_joined ? "" : " before it joined the job");
        mail_fail_all(job, reason);
        if (job->front != NULL && !pe->has_joined) front_fail_start(job, reason);
    } else {
        mail_miss(job, pe);
    }
}

/* Its program has ended without leaving the job; its process may end later, with a status of
 * its own. */
static void miss(struct job *job, struct pe *pe)
{
    pe->lost_at_ns = ch_clock_ns() + MISS_NS;
    if (pe->lost_at_ns < job->lost_at_ns) job->lost_at_ns = pe->lost_at_ns;
}

/* If no other PE is in the job, none waits for it: its process continues, as after an exit. */
static void judge_missed(struct job *job, const struct pe *pe)
{
    char reason[CH_WIRE_REASON_BYTES];
    struct who w;

    if (pe->program == pe->pid)
        (void)snprintf(reason, sizeof(reason),
                       "%s became another program (exec), or closed its files, "
                       "without leaving the job (finalize)",
                       who(pe, &w));
    else
        (void)snprintf(reason, sizeof(reason),
                       "%s still runs, but its program (pid %d) ended without leaving the job "
                       "(finalize)",
                       who(pe, &w), (int)pe->program);
    if (job_has_inside(job))
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
        uint64_t next_ns = pe->lost_at_ns;

        if (pe->lost_at_ns == 0 || !pe->is_alive) continue;
        if (pe->lost_at_ns <= now) {
            if (now - pe->lost_at_ns > ENDING_NS || !is_ending(pe)) {
                pe->lost_at_ns = 0;
                judge_missed(job, pe);
                continue;
            }
            next_ns = now + LOOK_NS;
        }
        if (next_ns < job->lost_at_ns) job->lost_at_ns = next_ns;
    }
}

static void note(struct job *job, struct pe *pe, const struct news *news)
{
    switch (news->kind) {
    case NEWS_STARTED:
        pe->pid = news->value;
        pe->is_alive = true;
        job->n_alive++;
        return;
    case NEWS_JOINED:
        pe->has_joined = pe->is_inside = true;
        pe->has_left = false;
        pe->n_joins++;
        pe->program = news->value;
        return;
    case NEWS_LEFT:
        pe->has_left = true;
        pe->left_as = job->n_left++;
        break;
    case NEWS_ABORTED:
        pe->has_aborted = true;
        break;
    case NEWS_DOING:
        return;
    case NEWS_DID:
        free(pe->did);
        pe->did = strdup(news->text);
        return;
    case NEWS_UNRUN:
    case NEWS_ENDED:
        if (pe->is_alive) job->n_alive--;
        pe->is_alive = false;
        pe->wait_status = news->value;
        break;
    default:
        break;
    }
    if (news->kind != NEWS_STOPPED) pe->is_inside = false;
}

static void judge(struct job *job, struct pe *pe, const struct news *news)
{
    struct who w;

    if (news->kind == NEWS_LEFT) mail_miss(job, pe);
    if (news->kind == NEWS_ABORTED) judge_aborted(job, pe, news->value);
    if (news->kind == NEWS_BROKE)
        job_end(job, STATUS_NOT_LEFT, "%s %s", who(pe, &w), news->text);
    if (news->kind == NEWS_MISSED) miss(job, pe);
    if (news->kind == NEWS_UNRUN && pe->host == NULL)
        job_end(job, news->value, "%s", news->text);
    if (news->kind == NEWS_UNRUN && pe->host != NULL)
        job_end(job, news->value, "host %s: %s", pe->host, news->text);
    if (news->kind == NEWS_ENDED) judge_ended(job, pe, false, news->value, news->text);
    if (news->kind == NEWS_DOING || (news->kind == NEWS_DID && front_awaits(job, pe))) {
        say(job, "  %s %s", who(pe, &w), news->text);
        pe->is_told = true;
    }
    if (news->kind == NEWS_STOPPED)
        say(job, "%s has been stopped by signal %d (%s)", who(pe, &w), news->value,
            strsignal(news->value));
}

void job_judge_late(struct job *job, const struct pe *pe)
{
    judge_ended(job, pe, true, pe->wait_status, "");
}

void job_judge_suspect(struct job *job)
{
    const struct pe *pe = job->suspect;

    if (pe == NULL ||
        (ch_clock_ns() < job->suspect_until_ns && job->n_alive > 0 && is_other_ending(job, pe)))
        return;
    job->suspect = NULL;
    job_judge_late(job, pe);
}

void job_hear(struct job *job, struct pe *pe, const struct news *news)
{
    note(job, pe, news);
    if (job->agent != NULL)
        agent_tell(job, pe, news);
    else
        judge(job, pe, news);
}
