/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_boot.c: a PE as a node of a tree. A separate thread serves the tree, and sleeps while
 * no message arrives, because a PE in a long computation must forward messages of others, and
 * learn that the job is over. An exchange waits for the result that this thread receives.
 */
#include "boot/tree_boot.h"

#include "base/clock.h"
#include "boot/tree_local.h"
#include "boot/tree_message.h"
#include "boot/ways.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* How long a PE waits, after its time limit, for the root to report the missing PEs. */
#define VERDICT_NS (2 * CH_NS_PER_S)

enum { TURN_MS = 1000 };

struct tree_boot {
    struct ch_boot base;
    struct ch_boot *agent;  /* or null */
    struct ch_local *local; /* created at the first exchange with descriptors */
    pthread_t thread;
    bool has_thread;
    int stop; /* eventfd: the thread must end */
    int over; /* eventfd: the job is over; for watch */

    pthread_mutex_t lock; /* guards all members below, and calls of tree */
    pthread_cond_t moved; /* is_done */
    struct ch_tree *tree;
    struct ch_door *door; /* its waits are aborted when the job is over; or null */
    char why_over[CH_TREE_TEXT_BYTES];
    bool is_broken; /* an exchange failed before its end */
    /* The exchange in progress. */
    bool is_done;
    chorus_status status;
    char reason[CH_TREE_TEXT_BYTES];
    void *blobs_out;
    size_t bytes; /* bytes of all blobs */
};

static void raise_fd(int fd)
{
    const uint64_t one = 1;

    if (write(fd, &one, sizeof(one)) < 0) return; /* it is signalled already */
}

static void on_exchanged(void *self, chorus_status status, const char *reason,
                         const char *blobs, size_t bytes)
{
    struct tree_boot *boot = self;

    boot->is_done = true;
    boot->status = status;
    (void)snprintf(boot->reason, sizeof(boot->reason), "%s", reason);
    if (status == CHORUS_OK && bytes == boot->bytes && bytes > 0)
        memcpy(boot->blobs_out, blobs, bytes);
    (void)pthread_cond_broadcast(&boot->moved);
}

static void on_over(void *self, int status, const char *reason)
{
    struct tree_boot *boot = self;

    (void)status;
    (void)snprintf(boot->why_over, sizeof(boot->why_over), "%s", reason);
    __atomic_store_n(&boot->base.why_over, boot->why_over, __ATOMIC_RELEASE);
    if (boot->door != NULL) ch_door_abort(boot->door);
    raise_fd(boot->over);
}

static void *serve_tree(void *arg)
{
    struct tree_boot *boot = arg;
    struct pollfd fds[2] = {{boot->stop, POLLIN, 0}, {ch_tree_watch(boot->tree), POLLIN, 0}};

    while (fds[0].revents == 0) {
        if (poll(fds, 2, TURN_MS) < 0) continue;
        (void)pthread_mutex_lock(&boot->lock);
        ch_tree_serve(boot->tree);
        (void)pthread_mutex_unlock(&boot->lock);
    }
    return NULL;
}

/* The program's own threads handle its signals. */
static chorus_status start_thread(struct tree_boot *boot)
{
    sigset_t all, old;
    int rc;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    rc = pthread_create(&boot->thread, NULL, serve_tree, boot);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc != 0) return CH_FAIL(CHORUS_ERR_SYSTEM, "cannot start a thread: %s", strerror(rc));
    boot->has_thread = true;
    return CHORUS_OK;
}

static struct timespec at_clock(uint64_t ns)
{
    return (struct timespec){(time_t)(ns / CH_NS_PER_S), (long)(ns % CH_NS_PER_S)};
}

/* Wait until the exchange is done, or deadline_ns (0: without limit). Call with the lock. */
static bool await(struct tree_boot *boot, uint64_t deadline_ns)
{
    const struct timespec at = at_clock(deadline_ns);
    int rc = 0;

    while (!boot->is_done && rc == 0)
        rc = deadline_ns == 0 ? pthread_cond_wait(&boot->moved, &boot->lock)
                              : pthread_cond_timedwait(&boot->moved, &boot->lock, &at);
    return boot->is_done;
}

static chorus_status conclude(struct tree_boot *boot)
{
    const double waited_s = (double)boot->base.timeout_ns / (double)CH_NS_PER_S;

    if (!boot->is_done) {
        boot->is_broken = true;
        return CH_FAIL(CHORUS_ERR_TIMEOUT,
                       "exchange among all PEs: not all of %u PEs came within %.3g s",
                       boot->base.n, waited_s);
    }
    if (boot->status == CHORUS_OK) return CHORUS_OK;
    return CH_FAIL(boot->status, "exchange among all PEs: %s", boot->reason);
}

static chorus_status exchange_blobs(struct tree_boot *boot, const void *blob, size_t bytes,
                                    bool has_fd, void *blobs_out, uint64_t deadline_ns)
{
    chorus_status status;

    (void)pthread_mutex_lock(&boot->lock);
    if (boot->is_broken) {
        (void)pthread_mutex_unlock(&boot->lock);
        return CH_FAIL(CHORUS_ERR_ABORTED,
                       "exchange among all PEs: an earlier one failed half way");
    }
    boot->is_done = false;
    boot->blobs_out = blobs_out;
    boot->bytes = boot->base.n * bytes;
    ch_tree_exchange(boot->tree, blob, bytes, has_fd);
    if (ch_boot_may_warn(&boot->base) && !await(boot, ch_clock_ns() + boot->base.warn_ns)) {
        (void)pthread_mutex_unlock(&boot->lock);
        boot->base.warn(boot->base.warn_arg, NULL, boot->base.warn_ns);
        (void)pthread_mutex_lock(&boot->lock);
    }
    if (!await(boot, deadline_ns)) {
        ch_tree_late(boot->tree, (double)boot->base.timeout_ns / (double)CH_NS_PER_S);
        (void)await(boot, ch_clock_ns() + VERDICT_NS);
    }
    status = conclude(boot);
    boot->bytes = SIZE_MAX; /* a late result is ignored */
    (void)pthread_mutex_unlock(&boot->lock);
    return status;
}

static chorus_status tree_exchange(struct ch_boot *base, const void *blob, size_t bytes, int fd,
                                   void *blobs_out, int *fds_out)
{
    struct tree_boot *boot = (struct tree_boot *)base;
    const uint64_t deadline_ns = base->timeout_ns == 0 ? 0 : ch_clock_ns() + base->timeout_ns;

    if (bytes > CH_TREE_BLOB_MAX)
        return CH_FAIL(CHORUS_ERR_ARG, "exchange among all PEs: %zu bytes given; at most %d go",
                       bytes, CH_TREE_BLOB_MAX);
    if (fd >= 0 && boot->agent != NULL && boot->agent->ops->show != NULL)
        boot->agent->ops->show(boot->agent, fd);
    if (fd >= 0 && boot->local == NULL) CH_TRY(ch_local_open(base, &boot->local));
    CH_TRY(exchange_blobs(boot, blob, bytes, fd >= 0, blobs_out, deadline_ns));
    if (fd < 0) return CHORUS_OK;
    return ch_local_exchange(boot->local, fd, fds_out, deadline_ns);
}

static chorus_status tree_serve(struct ch_boot *base)
{
    struct tree_boot *boot = (struct tree_boot *)base;
    chorus_status status = CHORUS_OK;

    (void)pthread_mutex_lock(&boot->lock);
    if (base->why_over != NULL) status = CH_FAIL(CHORUS_ERR_ABORTED, "%s", boot->why_over);
    (void)pthread_mutex_unlock(&boot->lock);
    return status;
}

static void tree_guard(struct ch_boot *base, struct ch_door *door)
{
    struct tree_boot *boot = (struct tree_boot *)base;

    (void)pthread_mutex_lock(&boot->lock);
    boot->door = door;
    if (door != NULL && base->why_over != NULL) ch_door_abort(door);
    (void)pthread_mutex_unlock(&boot->lock);
}

static int tree_watch(struct ch_boot *base)
{
    return ((struct tree_boot *)base)->over;
}

static void tree_abandon(struct ch_boot *base)
{
    const struct tree_boot *boot = (struct tree_boot *)base;

    ch_tree_abandon(boot->tree);
    if (boot->local != NULL) ch_local_abandon(boot->local);
}

static void tree_abort_job(struct ch_boot *base, int status)
{
    struct tree_boot *boot = (struct tree_boot *)base;
    char why[96];

    (void)snprintf(why, sizeof(why), "PE %u ended the job with status %d", base->me, status);
    (void)pthread_mutex_lock(&boot->lock);
    ch_tree_abort(boot->tree, status, why);
    (void)pthread_mutex_unlock(&boot->lock);
    if (boot->agent != NULL) boot->agent->ops->abort_job(boot->agent, status);
}

static void tree_give_up(struct ch_boot *base, const char *why)
{
    struct tree_boot *boot = (struct tree_boot *)base;

    (void)pthread_mutex_lock(&boot->lock);
    ch_tree_abort(boot->tree, 1, why);
    (void)pthread_mutex_unlock(&boot->lock);
}

static void tree_free(struct tree_boot *boot)
{
    if (boot->has_thread) {
        raise_fd(boot->stop);
        (void)pthread_join(boot->thread, NULL);
    }
    ch_local_close(boot->local);
    ch_tree_close(boot->tree);
    if (boot->agent != NULL) boot->agent->ops->close(boot->agent);
    if (boot->stop >= 0) (void)close(boot->stop);
    if (boot->over >= 0) (void)close(boot->over);
    (void)pthread_cond_destroy(&boot->moved);
    (void)pthread_mutex_destroy(&boot->lock);
    ch_boot_forget_nodes(&boot->base);
    free(boot);
}

static void tree_close(struct ch_boot *base)
{
    tree_free((struct tree_boot *)base);
}

static const struct ch_boot_ops tree_ops = {
    .name = "tree",
    .exchange = tree_exchange,
    .close = tree_close,
    .abort_job = tree_abort_job,
    .watch = tree_watch,
    .serve = tree_serve,
    .give_up = tree_give_up,
    .guard = tree_guard,
    .abandon = tree_abandon,
};

static chorus_status connect_tree(const struct ch_tree_start *start, struct tree_boot *boot)
{
    const uint64_t timeout_ns = start->timeout_ns;
    struct ch_tree_terms terms = {
        .me = start->me, .n = start->n, .events = {.self = boot, .exchanged = on_exchanged}};

    terms.events.over = on_over;
    memcpy(terms.secret, start->secret, sizeof(terms.secret));
    if (start->door != NULL) return ch_tree_root(&terms, start->door, &boot->tree);
    return ch_tree_join(&terms, start->root, timeout_ns == 0 ? 0 : ch_clock_ns() + timeout_ns,
                        &boot->tree);
}

chorus_status ch_boot_tree(const struct ch_tree_start *start, struct ch_boot **boot_out)
{
    struct tree_boot *boot = calloc(1, sizeof(*boot));
    pthread_condattr_t attr;
    chorus_status status;

    if (boot == NULL) {
        if (start->door != NULL) ch_tree_door_close(start->door);
        if (start->agent != NULL) start->agent->ops->close(start->agent);
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for a boot");
    }
    boot->base = (struct ch_boot){.ops = &tree_ops,
                                  .me = start->me,
                                  .n = start->n,
                                  .n_cores = start->n_cores,
                                  .timeout_ns = start->timeout_ns};
    memcpy(boot->base.secret, start->secret, sizeof(boot->base.secret));
    boot->agent = start->agent;
    boot->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    boot->over = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&boot->lock, NULL);
    (void)pthread_cond_init(&boot->moved, &attr);
    (void)pthread_condattr_destroy(&attr);
    status = connect_tree(start, boot);
    if (status == CHORUS_OK) status = start_thread(boot);
    if (status != CHORUS_OK) {
        tree_free(boot);
        return status;
    }
    *boot_out = &boot->base;
    return CHORUS_OK;
}
