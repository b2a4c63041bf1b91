/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads.c: PEs are threads of one process and meet under a mutex.
 *
 * An exchange is two meetings. After the first, every PE's blob may be read where its owner
 * keeps it; after the second, nobody reads it any more and its owner may return. A meeting
 * that cannot happen (a PE left, or came too late) breaks the job for good, so that nobody
 * reads the blob of a PE that gave up. Only a first meeting can break.
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

/* What a PE gives to the exchange in progress; memory and descriptor stay its own. */
struct gift {
    const void *blob;
    size_t bytes;
    int fd;
    int is_here; /* its PE has come to the meeting in progress */
};

/* Shared by the PEs of a job. `lock` guards everything but n. */
struct room {
    pthread_mutex_t lock;
    pthread_cond_t moved; /* signalled when meetings, is_broken or n_left change */
    uint32_t n;
    uint32_t n_here;     /* PEs at the meeting in progress */
    uint32_t n_left;     /* PEs that closed; the last one frees the room */
    uint64_t n_meetings; /* that took place */
    int is_broken;
    char reason[REASON_BYTES]; /* why it is */
    struct gift gifts[];
};

struct threads_boot {
    struct ch_boot base;
    struct room *room;
};

/* First reason wins. Call with the lock. */
static void room_break(struct room *room, const char *what, uint32_t pe)
{
    if (room->is_broken) return;
    room->is_broken = 1;
    (void)snprintf(room->reason, sizeof(room->reason), "PE %u %s", pe, what);
    (void)pthread_cond_broadcast(&room->moved);
}

static chorus_status room_broken(const struct room *room)
{
    return CH_FAIL(CHORUS_ERR_ABORTED, "exchange among all PEs: %s", room->reason);
}

static struct timespec deadline_after(uint64_t timeout_ns)
{
    const uint64_t at = ch_clock_ns() + timeout_ns;

    return (struct timespec){(time_t)(at / CH_NS_PER_S), (long)(at % CH_NS_PER_S)};
}

static chorus_status late(struct room *room, uint64_t timeout_ns)
{
    uint32_t missing = 0;

    while (room->gifts[missing].is_here)
        missing++;
    room_break(room, "did not come in time", missing);
    return CH_FAIL(CHORUS_ERR_TIMEOUT,
                   "exchange among all PEs: %u of %u PEs came within %.3g s; PE %u did not",
                   room->n_here, room->n, (double)timeout_ns / (double)CH_NS_PER_S, missing);
}

/* Wait until all PEs are here, at most timeout_ns (0: for ever). Call with the lock. */
static chorus_status meet(struct room *room, uint32_t me, uint64_t timeout_ns)
{
    const uint64_t meeting = room->n_meetings;
    struct timespec deadline = {0, 0};
    int rc = 0;

    if (room->is_broken) return room_broken(room);
    room->gifts[me].is_here = 1;
    if (++room->n_here == room->n) {
        for (uint32_t pe = 0; pe < room->n; pe++)
            room->gifts[pe].is_here = 0;
        room->n_here = 0;
        room->n_meetings++;
        (void)pthread_cond_broadcast(&room->moved);
        return CHORUS_OK;
    }
    if (timeout_ns != 0) deadline = deadline_after(timeout_ns);
    while (room->n_meetings == meeting && !room->is_broken) {
        if (rc == ETIMEDOUT) return late(room, timeout_ns);
        if (timeout_ns == 0)
            (void)pthread_cond_wait(&room->moved, &room->lock);
        else
            rc = pthread_cond_timedwait(&room->moved, &room->lock, &deadline);
    }
    return room->n_meetings == meeting ? room_broken(room) : CHORUS_OK;
}

/* Copy every PE's gift. Between the two meetings, where gifts do not change. */
static chorus_status take_all(const struct ch_boot *boot, size_t bytes, int with_fds,
                              void *blobs_out, int *fds_out)
{
    const struct room *room = ((const struct threads_boot *)boot)->room;
    char *out = blobs_out;

    for (uint32_t pe = 0; pe < room->n; pe++) {
        const struct gift *g = &room->gifts[pe];
        if (g->bytes != bytes || (g->fd >= 0) != with_fds)
            return CH_FAIL(
                CHORUS_ERR_ARG,
                "exchange among all PEs: PE %u gave %zu bytes%s, this PE %zu bytes%s", pe,
                g->bytes, g->fd >= 0 ? " and a descriptor" : "", bytes,
                with_fds ? " and a descriptor" : "");
    }
    for (uint32_t pe = 0; pe < room->n && with_fds; pe++) {
        chorus_status st;
        fds_out[pe] = -1;
        if (!ch_boot_is_near(boot, pe)) continue;
        st = ch_fd_dup(room->gifts[pe].fd, &fds_out[pe]);
        if (st == CHORUS_OK) continue;
        ch_fd_close_all(fds_out, pe);
        return st;
    }
    for (uint32_t pe = 0; pe < room->n && bytes != 0; pe++)
        memcpy(out + pe * bytes, room->gifts[pe].blob, bytes);
    return CHORUS_OK;
}

static chorus_status threads_exchange(struct ch_boot *boot, const void *blob, size_t bytes,
                                      int fd, void *blobs_out, int *fds_out)
{
    struct room *room = ((struct threads_boot *)boot)->room;
    chorus_status st;

    (void)pthread_mutex_lock(&room->lock);
    room->gifts[boot->me] = (struct gift){blob, bytes, fd, 0};
    st = meet(room, boot->me, boot->timeout_ns);
    if (st == CHORUS_OK) {
        (void)pthread_mutex_unlock(&room->lock);
        st = take_all(boot, bytes, fd >= 0, blobs_out, fds_out);
        (void)pthread_mutex_lock(&room->lock);
        /* All are copying, so all come, and nobody can break the room meanwhile: this meeting
         * needs no limit. A PE that failed to take comes too, for the others' sake. */
        (void)meet(room, boot->me, 0);
    }
    (void)pthread_mutex_unlock(&room->lock);
    return st;
}

static void room_free(struct room *room)
{
    (void)pthread_cond_destroy(&room->moved);
    (void)pthread_mutex_destroy(&room->lock);
    free(room);
}

static void threads_close(struct ch_boot *boot)
{
    struct room *room = ((struct threads_boot *)boot)->room;
    int is_last;

    (void)pthread_mutex_lock(&room->lock);
    room_break(room, "left the job", boot->me);
    is_last = ++room->n_left == room->n;
    (void)pthread_mutex_unlock(&room->lock);
    if (is_last) room_free(room);
    ch_boot_forget_nodes(boot);
    free(boot);
}

static const struct ch_boot_ops threads_ops = {
    .name = "threads",
    .exchange = threads_exchange,
    .close = threads_close,
    .abort_job = NULL,
};

/* Sets *room_out to a room for n PEs, whose deadlines are on the monotonic clock. */
static chorus_status room_make(uint32_t n, struct room **room_out)
{
    struct room *room = calloc(1, sizeof(*room) + n * sizeof(room->gifts[0]));
    pthread_condattr_t attr;

    if (room == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for a job of %u threads", n);
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&room->lock, NULL);
    (void)pthread_cond_init(&room->moved, &attr);
    (void)pthread_condattr_destroy(&attr);
    room->n = n;
    *room_out = room;
    return CHORUS_OK;
}

chorus_status ch_boot_threads(uint32_t n, uint64_t timeout_ns, struct ch_boot **boots_out)
{
    const uint32_t n_cores = ch_place_count_cores();
    struct room *room;

    if (n == 0)
        return CH_FAIL(CHORUS_ERR_ARG, "a job of 0 threads was asked for; give 1 or more");
    CH_TRY(room_make(n, &room));
    for (uint32_t pe = 0; pe < n; pe++) {
        struct threads_boot *boot = malloc(sizeof(*boot));
        if (boot == NULL) {
            while (pe-- > 0)
                free(boots_out[pe]);
            room_free(room);
            return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for a job of %u threads", n);
        }
        *boot = (struct threads_boot){{.ops = &threads_ops,
                                       .me = pe,
                                       .n = n,
                                       .n_cores = n_cores,
                                       .timeout_ns = timeout_ns},
                                      room};
        boots_out[pe] = &boot->base;
    }
    return CHORUS_OK;
}
