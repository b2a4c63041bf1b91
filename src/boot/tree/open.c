/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open.c: a PE as a node of a tree. A separate thread serves the tree, and sleeps while
 * no message arrives, because a PE in a long computation must forward messages of others, and
 * learn that the job is over. An exchange waits for the result that this thread receives.
 *
 * A signal handler of the program may end the job (chorus_global_exit), whatever it interrupts.
 * It therefore takes no lock and allocates nothing: it asks the thread, which ends the job. A
 * PE's own threads hold the lock only while their signals are blocked, so that the thread can
 * take it.
 */
#include "boot/tree/inside.h"

#include "base/clock.h"
#include "boot/ways.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

/* How long a PE waits, after its time limit, for the root to report the missing PEs. */
#define VERDICT_NS (2 * CH_NS_PER_S)

/* How long a PE that ends the job waits until the thread has sent that to the other PEs. */
#define ENDING_NS (1 * CH_NS_PER_S)

enum { TURN_MS = 1000 };

/* The state of a request to end the job, which is a word for futex. */
enum { END_NONE, END_ASKED, END_SENT };

struct tree_boot {
    struct ch_boot base;
    struct ch_boot *agent;  /* or null */
    struct ch_local *local; /* created at the first exchange with descriptors */
    pthread_t thread;
    bool has_thread;
    int wake;         /* eventfd: the thread has a request, is_closing or end */
    int over;         /* eventfd: the job is over; for watch */
    bool is_closing;  /* the thread must end; atomic */
    uint32_t end;     /* END_; atomic */
    int end_status;   /* of END_ASKED; atomic */
    uint32_t is_done; /* the exchange has ended; atomic, and a word for futex */
    bool is_broken;   /* an exchange failed before its end */

    pthread_mutex_t lock; /* guards all members below, and calls of tree */
    struct ch_tree *tree;
    struct ch_share *share; /* until all PEs have joined; or null */
    struct ch_door *door;   /* its waits are aborted when the job is over; or null */
    char why_over[CH_TREE_TEXT_BYTES];
    /* The exchange in progress. */
    chorus_status status;
    char reason[CH_TREE_TEXT_BYTES];
    void *blobs_out;
    size_t bytes; /* bytes of all blobs */
};

static void signal_eventfd(int fd)
{
    const uint64_t one = 1;

    if (write(fd, &one, sizeof(one)) < 0) return; /* it is signalled already */
}

static struct timespec timespec_of(uint64_t ns)
{
    return (struct timespec){(time_t)(ns / CH_NS_PER_S), (long)(ns % CH_NS_PER_S)};
}

/* Set the word, and wake the thread that waits for it in await_word. */
static void set_word(uint32_t *word, uint32_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
    (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* Wait until the word is `value`. False: deadline_ns has passed (0: without limit). May be
 * called in a signal handler. */
static bool await_word(const uint32_t *word, uint32_t value, uint64_t deadline_ns)
{
    const struct timespec at = timespec_of(deadline_ns);

    for (;;) {
        const uint32_t seen = __atomic_load_n(word, __ATOMIC_ACQUIRE);

        if (seen == value) return true;
        if (deadline_ns != 0 && ch_clock_ns() >= deadline_ns) return false;
        (void)syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, seen,
                      deadline_ns == 0 ? NULL : &at, NULL, FUTEX_BITSET_MATCH_ANY);
    }
}

/* Take the lock, in a thread that may run signal handlers. */
static void lock_boot(struct tree_boot *boot, sigset_t *old_out)
{
    sigset_t all;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, old_out);
    (void)pthread_mutex_lock(&boot->lock);
}

static void unlock_boot(struct tree_boot *boot, const sigset_t *old)
{
    (void)pthread_mutex_unlock(&boot->lock);
    (void)pthread_sigmask(SIG_SETMASK, old, NULL);
}

/* ch_tree_events.exchanged: keep the result for the PE, and wake it. */
static void on_exchanged(void *self, chorus_status status, const char *reason,
                         const char *blobs, size_t bytes)
{
    struct tree_boot *boot = self;

    boot->status = status;
    (void)snprintf(boot->reason, sizeof(boot->reason), "%s", reason);
    if (status == CHORUS_OK && bytes == boot->bytes && bytes > 0)
        memcpy(boot->blobs_out, blobs, bytes);
    set_word(&boot->is_done, true);
}

/* ch_tree_events.over: keep the reason, and end the waits of the PE. */
static void on_over(void *self, int status, const char *reason)
{
    struct tree_boot *boot = self;

    (void)status;
    (void)snprintf(boot->why_over, sizeof(boot->why_over), "%s", reason);
    __atomic_store_n(&boot->base.why_over, boot->why_over, __ATOMIC_RELEASE);
    if (boot->door != NULL) ch_door_abort(boot->door);
    signal_eventfd(boot->over);
}

/* End the job as requested: inform the other PEs before the launcher, which then ends this
 * one. */
static void end_job(struct tree_boot *boot)
{
    const int status = __atomic_load_n(&boot->end_status, __ATOMIC_ACQUIRE);
    char why[96];

    (void)snprintf(why, sizeof(why), "PE %u ended the job with status %d", boot->base.me,
                   status);
    ch_tree_abort(boot->tree, status, why);
    if (boot->agent != NULL) boot->agent->ops->abort_job(boot->agent, status);
    set_word(&boot->end, END_SENT);
}

/* The thread that moves the tree's messages. */
static void *serve_tree(void *arg)
{
    struct tree_boot *boot = arg;
    struct pollfd fds[2] = {{boot->wake, POLLIN, 0}, {ch_tree_poll_fd(boot->tree), POLLIN, 0}};
    uint64_t count;

    while (!__atomic_load_n(&boot->is_closing, __ATOMIC_ACQUIRE)) {
        if (poll(fds, 2, TURN_MS) < 0) continue;
        if (fds[0].revents != 0 && read(boot->wake, &count, sizeof(count)) < 0)
            continue; /* the event has been read */
        (void)pthread_mutex_lock(&boot->lock);
        if (__atomic_load_n(&boot->end, __ATOMIC_ACQUIRE) == END_ASKED) end_job(boot);
        if (boot->share != NULL && ch_share_is_at_limit(boot->share))
            ch_tree_abort_at_limit(boot->tree);
        ch_tree_serve(boot->tree);
        (void)pthread_mutex_unlock(&boot->lock);
    }
    return NULL;
}

/* Returns the status of the exchange after the wait for it, with its message. */
static chorus_status exchange_status(struct tree_boot *boot)
{
    const double waited_s = (double)boot->base.timeout_ns / (double)CH_NS_PER_S;

    if (!__atomic_load_n(&boot->is_done, __ATOMIC_ACQUIRE)) {
        boot->is_broken = true;
        return CH_FAIL(CHORUS_ERR_TIMEOUT,
                       "exchange among all PEs: not all of %u PEs came within %.3g s%s",
                       boot->base.n, waited_s,
                       boot->base.me == 0
                           ? ""
                           : "; nothing was heard of PE 0, which counts them: is "
                             "it stopped, or a PE between it and this one?");
    }
    if (boot->status == CHORUS_OK) return CHORUS_OK;
    return CH_FAIL(boot->status, "exchange among all PEs: %s", boot->reason);
}

/* Exchange blobs over the tree. has_fd: every PE passes a descriptor, too, by local.c. */
static chorus_status exchange_blobs(struct tree_boot *boot, const void *blob, size_t bytes,
                                    bool has_fd, void *blobs_out, uint64_t deadline_ns)
{
    struct ch_share *share = NULL;
    chorus_status status;
    sigset_t old;

    if (boot->is_broken)
        return CH_FAIL(CHORUS_ERR_ABORTED,
                       "exchange among all PEs: an earlier one failed half way");
    lock_boot(boot, &old);
    __atomic_store_n(&boot->is_done, false, __ATOMIC_RELAXED);
    boot->blobs_out = blobs_out;
    boot->bytes = boot->base.n * bytes;
    ch_tree_exchange(boot->tree, blob, bytes, has_fd);
    unlock_boot(boot, &old);
    if (ch_boot_may_warn(&boot->base) &&
        !await_word(&boot->is_done, true, ch_clock_ns() + boot->base.warn_ns))
        boot->base.warn(boot->base.warn_arg, NULL, boot->base.warn_ns);
    if (!await_word(&boot->is_done, true, deadline_ns)) {
        lock_boot(boot, &old);
        ch_tree_report_late(boot->tree, (double)boot->base.timeout_ns / (double)CH_NS_PER_S);
        unlock_boot(boot, &old);
        (void)await_word(&boot->is_done, true, ch_clock_ns() + VERDICT_NS);
    }
    lock_boot(boot, &old);
    status = exchange_status(boot);
    boot->bytes = SIZE_MAX;    /* a late result is ignored */
    if (status == CHORUS_OK) { /* all PEs have joined, so they have the secret */
        share = boot->share;
        boot->share = NULL;
    }
    unlock_boot(boot, &old);
    ch_share_close(share);
    return status;
}

/* Create boot->local: the PEs of each host get to know the socket by which they pass
 * descriptors. */
static chorus_status meet_locally(struct tree_boot *boot, uint64_t deadline_ns)
{
    struct ch_local_name name, *names = calloc(boot->base.n, sizeof(*names));
    struct ch_local *local = NULL;
    chorus_status status;

    if (names == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory to pass descriptors");
    CH_TRY_GOTO(status, ch_local_open(&boot->base, &name, &local), out_names);
    CH_TRY_GOTO(status, exchange_blobs(boot, &name, sizeof(name), false, names, deadline_ns),
                out_local);
    ch_local_set_leader(local, names);
    boot->local = local;
    local = NULL;

out_local:
    ch_local_close(local);
out_names:
    free(names);
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
    if (fd >= 0 && boot->local == NULL) CH_TRY(meet_locally(boot, deadline_ns));
    CH_TRY(exchange_blobs(boot, blob, bytes, fd >= 0, blobs_out, deadline_ns));
    if (fd < 0) return CHORUS_OK;
    return ch_local_exchange(boot->local, fd, fds_out, deadline_ns);
}

/* Only report whether the job is over: a separate thread moves the messages. */
static chorus_status tree_serve(struct ch_boot *base)
{
    struct tree_boot *boot = (struct tree_boot *)base;
    chorus_status status = CHORUS_OK;
    sigset_t old;

    lock_boot(boot, &old);
    if (base->why_over != NULL) status = CH_FAIL(CHORUS_ERR_ABORTED, "%s", boot->why_over);
    unlock_boot(boot, &old);
    return status;
}

static void tree_guard(struct ch_boot *base, struct ch_door *door)
{
    struct tree_boot *boot = (struct tree_boot *)base;
    sigset_t old;

    lock_boot(boot, &old);
    boot->door = door;
    if (door != NULL && base->why_over != NULL) ch_door_abort(door);
    unlock_boot(boot, &old);
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
    if (boot->share != NULL) ch_share_abandon(boot->share);
}

/* May be called in a signal handler. */
static void tree_abort_job(struct ch_boot *base, int status)
{
    struct tree_boot *boot = (struct tree_boot *)base;

    __atomic_store_n(&boot->end_status, status, __ATOMIC_RELEASE);
    __atomic_store_n(&boot->end, END_ASKED, __ATOMIC_RELEASE);
    signal_eventfd(boot->wake);
    (void)await_word(&boot->end, END_SENT, ch_clock_ns() + ENDING_NS);
}

static void tree_give_up(struct ch_boot *base, const char *why)
{
    struct tree_boot *boot = (struct tree_boot *)base;
    sigset_t old;

    lock_boot(boot, &old);
    ch_tree_abort(boot->tree, 1, why);
    unlock_boot(boot, &old);
}

static void tree_free(struct tree_boot *boot)
{
    if (boot->has_thread) {
        __atomic_store_n(&boot->is_closing, true, __ATOMIC_RELEASE);
        signal_eventfd(boot->wake);
        (void)pthread_join(boot->thread, NULL);
    }
    ch_share_close(boot->share);
    ch_local_close(boot->local);
    ch_tree_close(boot->tree);
    if (boot->agent != NULL) boot->agent->ops->close(boot->agent);
    if (boot->wake >= 0) (void)close(boot->wake);
    if (boot->over >= 0) (void)close(boot->over);
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

/* Become the root of a tree, or join one. */
static chorus_status connect_tree(const struct ch_tree_start *start, struct tree_boot *boot)
{
    const uint64_t timeout_ns = start->timeout_ns;
    struct ch_options options;
    struct ch_tree_terms terms = {
        .me = start->me, .n = start->n, .events = {.self = boot, .exchanged = on_exchanged}};
    chorus_status status;

    CH_TRY_GOTO(status, ch_options_read(&options), out_door);
    terms.link_ns = options.link_ns;
    terms.events.over = on_over;
    memcpy(terms.secret, start->secret, sizeof(terms.secret));
    memcpy(terms.listen, start->listen, sizeof(terms.listen));
    if (start->door != NULL) return ch_tree_make_root(&terms, start->door, &boot->tree);
    return ch_tree_join(&terms, start->root, timeout_ns == 0 ? 0 : ch_clock_ns() + timeout_ns,
                        &boot->tree);

out_door:
    if (start->door != NULL) ch_tree_listener_close(start->door);
    return status;
}

chorus_status ch_boot_open_tree(const struct ch_tree_start *start, struct ch_boot **boot_out)
{
    struct tree_boot *boot = calloc(1, sizeof(*boot));
    chorus_status status;

    if (boot == NULL) {
        ch_share_close(start->share);
        if (start->door != NULL) ch_tree_listener_close(start->door);
        if (start->agent != NULL) start->agent->ops->close(start->agent);
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for a boot");
    }
    boot->base = (struct ch_boot){.ops = &tree_ops,
                                  .me = start->me,
                                  .n = start->n,
                                  .n_cores = start->n_cores,
                                  .timeout_ns = start->timeout_ns};
    memcpy(boot->base.secret, start->secret, sizeof(boot->base.secret));
    memcpy(boot->base.listen, start->listen, sizeof(boot->base.listen));
    boot->agent = start->agent;
    boot->share = start->share;
    boot->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    boot->over = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    (void)pthread_mutex_init(&boot->lock, NULL);
    if (boot->wake < 0 || boot->over < 0) {
        if (start->door != NULL) ch_tree_listener_close(start->door);
        status = CH_FAIL(CHORUS_ERR_SYSTEM, "no descriptors to join a job; " CH_LIMIT_ADVICE);
    } else {
        status = connect_tree(start, boot);
    }
    if (status == CHORUS_OK) status = ch_thread_start(serve_tree, boot, &boot->thread);
    boot->has_thread = status == CHORUS_OK;
    if (status != CHORUS_OK) {
        tree_free(boot);
        return status;
    }
    *boot_out = &boot->base;
    return CHORUS_OK;
}
