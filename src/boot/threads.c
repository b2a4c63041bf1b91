/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads.c: PEs that are threads of one process; they synchronise by a mutex.
 *
 * An exchange synchronises all PEs twice. After the first time, every PE may read the blobs of
 * the others where their owners keep them; after the second, no PE reads them any more, and
 * their owners may return. If the PEs cannot synchronise (a PE has left, or came too late),
 * the job has failed for good, so that no PE reads the blob of a PE that gave up. Only the
 * first synchronisation can fail.
 */
#include "base/clock.h"
#include "boot/place.h"
#include "boot/ways.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REASON_BYTES = 128 };

/* The data of a PE for the exchange in progress; the PE keeps the ownership. */
struct contribution {
    const void *blob;
    size_t bytes;
    int fd;
    int is_here; /* its PE has reached the synchronisation in progress */
};

/* Shared by the PEs of a job. `lock` guards everything but n. */
struct job {
    pthread_mutex_t lock;
    pthread_cond_t moved; /* signalled when n_meetings, is_broken or n_left change */
    uint32_t n;
    uint32_t n_here;     /* number of PEs at the synchronisation in progress */
    uint32_t n_left;     /* number of PEs that closed; the last one frees the job */
    uint64_t n_meetings; /* number of completed synchronisations */
    int is_broken;
    char reason[REASON_BYTES]; /* the reason */
    struct contribution contributions[];
};

struct threads_boot {
    struct ch_boot base;
    struct job *job;
};

/* The job fails for good, since PE `pe` `what`; the first reason is kept. Call with the
 * lock. */
static void job_break(struct job *job, const char *what, uint32_t pe)
{
    if (job->is_broken) return;
    job->is_broken = 1;
    (void)snprintf(job->reason, sizeof(job->reason), "PE %u %s", pe, what);
    (void)pthread_cond_broadcast(&job->moved);
}

static chorus_status fail_broken(const struct job *job)
{
    return CH_FAIL(CHORUS_ERR_ABORTED, "exchange among all PEs: %s", job->reason);
}

/* Returns the time of the monotonic clock in timeout_ns. */
static struct timespec deadline_after(uint64_t timeout_ns)
{
    const uint64_t at = ch_clock_ns() + timeout_ns;

    return (struct timespec){(time_t)(at / CH_NS_PER_S), (long)(at % CH_NS_PER_S)};
}

/* Fail, and make the job fail for good, since a PE did not come in time. Call with the lock. */
static chorus_status fail_timeout(struct job *job, uint64_t timeout_ns)
{
    uint32_t missing = 0;

    while (job->contributions[missing].is_here)
        missing++;
    job_break(job, "did not arrive in time", missing);
    return CH_FAIL(CHORUS_ERR_TIMEOUT,
                   "exchange among all PEs: %u of %u PEs came within %.3g s; PE %u did not",
                   job->n_here, job->n, (double)timeout_ns / (double)CH_NS_PER_S, missing);
}

/* Wait until synchronisation `meeting` is complete or the job has failed, at most timeout_ns
 * (0: without limit). False: neither. Call with the lock. */
static bool await_meeting(struct job *job, uint64_t meeting, uint64_t timeout_ns)
{
    const struct timespec deadline = deadline_after(timeout_ns);
    int rc = 0;

    while (job->n_meetings == meeting && !job->is_broken && rc == 0)
        rc = timeout_ns == 0 ? pthread_cond_wait(&job->moved, &job->lock)
                             : pthread_cond_timedwait(&job->moved, &job->lock, &deadline);
    return job->n_meetings != meeting || job->is_broken;
}

/* Report which PEs are missing. Call with the lock, which is released meanwhile. */
static void warn_of_missing(struct job *job, const struct ch_boot *boot)
{
    char missing[REASON_BYTES];
    uint32_t first = 0;

    while (job->contributions[first].is_here)
        first++;
    (void)snprintf(missing, sizeof(missing), "PE %u and %u more", first,
                   job->n - job->n_here - 1);
    if (job->n - job->n_here == 1) (void)snprintf(missing, sizeof(missing), "PE %u", first);
    (void)pthread_mutex_unlock(&job->lock);
    boot->warn(boot->warn_arg, missing, boot->warn_ns);
    (void)pthread_mutex_lock(&job->lock);
}

/* Wait until all PEs are here, as long as the boot allows or, if all are certain to arrive,
 * without a limit. Call with the lock. */
static chorus_status sync_all(struct job *job, const struct ch_boot *boot, bool is_sure)
{
    const uint64_t meeting = job->n_meetings;
    uint64_t timeout_ns = is_sure ? 0 : boot->timeout_ns;

    if (job->is_broken) return fail_broken(job);
    job->contributions[boot->me].is_here = 1;
    if (++job->n_here == job->n) {
        for (uint32_t pe = 0; pe < job->n; pe++)
            job->contributions[pe].is_here = 0;
        job->n_here = 0;
        job->n_meetings++;
        (void)pthread_cond_broadcast(&job->moved);
        return CHORUS_OK;
    }
    if (!is_sure && ch_boot_may_warn(boot) && !await_meeting(job, meeting, boot->warn_ns)) {
        warn_of_missing(job, boot);
        if (timeout_ns != 0) timeout_ns -= boot->warn_ns;
    }
    if (!await_meeting(job, meeting, timeout_ns)) return fail_timeout(job, boot->timeout_ns);
    return job->n_meetings == meeting ? fail_broken(job) : CHORUS_OK;
}

/* Copy the data of every PE, which does not change between the two synchronisations. */
static chorus_status copy_all(const struct ch_boot *boot, size_t bytes, int with_fds,
                              void *blobs_out, int *fds_out)
{
    const struct job *job = ((const struct threads_boot *)boot)->job;
    char *out = blobs_out;

    for (uint32_t pe = 0; pe < job->n; pe++) {
        const struct contribution *g = &job->contributions[pe];
        if (g->bytes != bytes || (g->fd >= 0) != with_fds)
            return CH_FAIL(
                CHORUS_ERR_ARG,
                "exchange among all PEs: PE %u gave %zu bytes%s, this PE %zu bytes%s", pe,
                g->bytes, g->fd >= 0 ? " and a descriptor" : "", bytes,
                with_fds ? " and a descriptor" : "");
    }
    for (uint32_t pe = 0; pe < job->n && with_fds; pe++) {
        chorus_status st;
        fds_out[pe] = -1;
        if (!ch_boot_is_near(boot, pe)) continue;
        st = ch_fd_dup(job->contributions[pe].fd, &fds_out[pe]);
        if (st == CHORUS_OK) continue;
        ch_fd_close_all(fds_out, pe);
        return st;
    }
    for (uint32_t pe = 0; pe < job->n && bytes != 0; pe++)
        memcpy(out + pe * bytes, job->contributions[pe].blob, bytes);
    return CHORUS_OK;
}

static chorus_status threads_exchange(struct ch_boot *boot, const void *blob, size_t bytes,
                                      int fd, void *blobs_out, int *fds_out)
{
    struct job *job = ((struct threads_boot *)boot)->job;
    chorus_status st;

    (void)pthread_mutex_lock(&job->lock);
    job->contributions[boot->me] = (struct contribution){blob, bytes, fd, 0};
    st = sync_all(job, boot, false);
    if (st == CHORUS_OK) {
        (void)pthread_mutex_unlock(&job->lock);
        st = copy_all(boot, bytes, fd >= 0, blobs_out, fds_out);
        (void)pthread_mutex_lock(&job->lock);
        /* All PEs are copying, so all will arrive, and the job cannot fail meanwhile: this
         * synchronisation needs no time limit. A PE that failed to copy also takes part,
         * since the others wait for it. */
        (void)sync_all(job, boot, true);
    }
    (void)pthread_mutex_unlock(&job->lock);
    return st;
}

static void job_free(struct job *job)
{
    (void)pthread_cond_destroy(&job->moved);
    (void)pthread_mutex_destroy(&job->lock);
    free(job);
}

static void threads_close(struct ch_boot *boot)
{
    struct job *job = ((struct threads_boot *)boot)->job;
    int is_last;

    (void)pthread_mutex_lock(&job->lock);
    job_break(job, "left the job", boot->me);
    is_last = ++job->n_left == job->n;
    (void)pthread_mutex_unlock(&job->lock);
    if (is_last) job_free(job);
    ch_boot_forget_nodes(boot);
    free(boot);
}

static const struct ch_boot_ops threads_ops = {
    .name = "threads",
    .exchange = threads_exchange,
    .close = threads_close,
    .abort_job = NULL,
};

/* Sets *job_out to a job for n PEs, whose deadlines are on the monotonic clock. */
static chorus_status job_make(uint32_t n, struct job **job_out)
{
    struct job *job = calloc(1, sizeof(*job) + n * sizeof(job->contributions[0]));
    pthread_condattr_t attr;

    if (job == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for a job of %u threads", n);
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&job->lock, NULL);
    (void)pthread_cond_init(&job->moved, &attr);
    (void)pthread_condattr_destroy(&attr);
    job->n = n;
    *job_out = job;
    return CHORUS_OK;
}

chorus_status ch_boot_open_threads(uint32_t n, uint64_t timeout_ns, struct ch_boot **boots_out)
{
    const uint32_t n_cores = ch_place_count_cores();
    struct job *job;

    if (n == 0)
        return CH_FAIL(CHORUS_ERR_ARG, "a job of 0 threads was asked for; give 1 or more");
    CH_TRY(job_make(n, &job));
    for (uint32_t pe = 0; pe < n; pe++) {
        struct threads_boot *boot = malloc(sizeof(*boot));
        if (boot == NULL) {
            while (pe-- > 0)
                free(boots_out[pe]);
            job_free(job);
            return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for a job of %u threads", n);
        }
        *boot = (struct threads_boot){{.ops = &threads_ops,
                                       .me = pe,
                                       .n = n,
                                       .n_cores = n_cores,
                                       .timeout_ns = timeout_ns},
                                      job};
        boots_out[pe] = &boot->base;
    }
    return CHORUS_OK;
}
