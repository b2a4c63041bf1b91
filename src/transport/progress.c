/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress.c: progress of a network: by the PE while it waits, and by a thread that makes
 * progress while the PE does not, and serves the control plane.
 *
 * A PE that waits polls its network all the time, and the thread would only slow it down. The
 * thread therefore waits for a short time as long as it sees that the PE used the network
 * since the last time, and otherwise sleeps until something arrives or is posted. A PE that is
 * about to sleep wakes the thread, which then does not wait until the PE is back. If PEs are
 * bound to cores and some cores are left, the thread runs on those; if it serves kernels, on
 * cores near the GPU.
 */
#include "transport/network.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/exec_host.h"
#include "boot/place.h"
#include "device/device.h"
#include "transport/proxy.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* The short wait, and the longest sleep: after it, the control plane is served in any case. */
enum { NAP_MS = 2, SLEEP_MS = 500 };

/* Time for the control plane to report which PE was lost, which it detects as soon as a process
 * has ended; twice this time is the second within which the loss must be reported. */
#define DOUBT_NS (500 * CH_NS_PER_MS)

/* The same where chorusrun watches the PEs of this host, and ends the job. */
#define LAUNCHER_DOUBT_NS (700 * CH_NS_PER_MS)

/* Keep a failure of the network for report_deferred_failure. A connection that has ended may be
 * that of a lost PE, or of one that failed because of the loss. The control plane knows which
 * was first, and is given a moment to report it. */
static void defer_failure(struct ch_network *network, const char *why)
{
    if (network->boot->ops->serve == NULL && network->boot->ops->abort_job == NULL) {
        ch_network_fail(network, why);
        return;
    }
    (void)snprintf(network->why_doubt, sizeof(network->why_doubt), "%s", why);
    __atomic_store_n(&network->doubt_at_ns, ch_clock_ns(), __ATOMIC_RELEASE);
}

/* Fail the network with the deferred failure, if there is one and the control plane has not
 * reported the first lost PE in time. */
static void report_deferred_failure(struct ch_network *network)
{
    const uint64_t since_ns = __atomic_load_n(&network->doubt_at_ns, __ATOMIC_ACQUIRE);

    if (since_ns == 0 || ch_network_has_failed(network)) return;
    if (ch_clock_ns() - since_ns <=
        (network->boot->ops->serve != NULL ? DOUBT_NS : LAUNCHER_DOUBT_NS))
        return;
    ch_network_fail(network, network->why_doubt);
    /* Before other PEs notice the end of this PE, and take it for the cause. */
    if (network->boot->ops->give_up != NULL)
        network->boot->ops->give_up(network->boot, network->why_doubt);
}

/* Make progress once; *moved_out: something was sent or received. False: another thread is
 * making progress. */
static bool progress_once(struct ch_network *network, bool *moved_out)
{
    bool has_moved = false;

    if (pthread_mutex_trylock(&network->lock) != 0) return false;
    network->has_posts = false;
    if (network->proxy != NULL && ch_proxy_serve(network->proxy)) has_moved = true;
    if (!ch_network_has_failed(network) && network->doubt_at_ns == 0 &&
        network->ops->progress(network->ep, &has_moved) != CHORUS_OK)
        defer_failure(network, ch_error_message());
    (void)pthread_mutex_unlock(&network->lock);
    if (has_moved) ch_notify(network->policy, network->policy->door);
    *moved_out = has_moved;
    return true;
}

/* Handle messages of the control plane; if that fails, the network fails. */
static void serve_boot(struct ch_network *network)
{
    struct ch_boot *boot = network->boot;

    if (boot->ops->serve == NULL) return;
    if (boot->ops->serve(boot) != CHORUS_OK) ch_network_fail(network, ch_error_message());
}

/* Sleep until one of the descriptors is ready, at most this long, and serve the control plane
 * if its one is. True: net_fd, which may be -1, is ready. */
static bool sleep_until_ready(struct ch_network *network, int net_fd, int ms)
{
    const struct ch_boot *boot = network->boot;
    struct pollfd fds[3] = {
        {network->stop_fd, POLLIN, 0}, {-1, POLLIN, 0}, {net_fd, POLLIN, 0}};
    uint64_t count;
    int ready;

    if (boot->ops->watch != NULL) fds[1].fd = boot->ops->watch(network->boot);
    ready = poll(fds, 3, ms);
    if (ready < 0) return false;
    if (fds[0].revents != 0 && read(network->stop_fd, &count, sizeof(count)) < 0)
        return false; /* another wake-up will follow */
    if (fds[1].revents != 0 || (ready == 0 && ms == SLEEP_MS)) serve_boot(network);
    return fds[2].revents != 0;
}

/* Does the PE sleep, so that only the progress thread makes progress? */
static bool is_away(const struct ch_network *network)
{
    return __atomic_load_n(&network->is_away, __ATOMIC_SEQ_CST);
}

/* Sleep for a short time, since the PE makes progress itself; end early if the PE goes to
 * sleep. */
static void sleep_briefly(struct ch_network *network)
{
    __atomic_store_n(&network->is_idle, 1, __ATOMIC_SEQ_CST);
    if (!is_away(network)) (void)sleep_until_ready(network, -1, NAP_MS);
    __atomic_store_n(&network->is_idle, 0, __ATOMIC_SEQ_CST);
}

/* As sleep_until_ready, but look for work of kernels once a millisecond: no call of the host
 * announces requests of a graph, and networks need not report that operations are over. */
static void sleep_until_request(struct ch_network *network, int net_fd, int ms)
{
    const uint64_t end = ch_clock_ns() + (uint64_t)ms * (uint64_t)CH_NS_PER_MS;

    do {
        if (sleep_until_ready(network, net_fd, 1)) return;
        if (ch_proxy_has_work(network->proxy) || ch_proxy_is_busy(network->proxy)) return;
    } while (ch_clock_ns() < end && network->doubt_at_ns == 0 &&
             !__atomic_load_n(&network->is_ending, __ATOMIC_ACQUIRE) &&
             __atomic_load_n(&network->is_asleep, __ATOMIC_RELAXED) == (ms == SLEEP_MS));
    if (ms == SLEEP_MS) serve_boot(network);
}

/* Kernels of this PE may post: make progress without sleeping, and serve the control plane once
 * in a while. */
static void poll_for_kernels(struct ch_network *network)
{
    enum { POLLS = 1024 };
    bool has_moved = false;

    for (int i = 0; i < POLLS && ch_proxy_is_busy(network->proxy); i++) {
        if (!progress_once(network, &has_moved)) has_moved = false;
        if (has_moved)
            ch_proxy_expect_more(network->proxy);
        else
            (void)sched_yield();
    }
    (void)sleep_until_ready(network, -1, 0);
}

/* Progress has found nothing: sleep until a message arrives, or the PE posts an operation. The
 * thread then waits for a short time for further operations, so that all are sent together. */
static void sleep_long(struct ch_network *network)
{
    bool is_short;
    int fd;

    (void)pthread_mutex_lock(&network->lock);
    fd = network->ops->watch(network->ep);
    is_short = fd < 0 || network->has_posts;
    network->is_asleep = !is_short;
    (void)pthread_mutex_unlock(&network->lock);
    if (network->proxy != NULL)
        sleep_until_request(network, fd, is_short ? NAP_MS : SLEEP_MS);
    else
        (void)sleep_until_ready(network, fd,
                                is_short || network->doubt_at_ns != 0 ? NAP_MS : SLEEP_MS);
    (void)pthread_mutex_lock(&network->lock);
    is_short = !is_short && network->has_posts;
    network->is_asleep = false;
    (void)pthread_mutex_unlock(&network->lock);
    if (is_short) (void)sleep_until_ready(network, fd, NAP_MS);
    if (network->ops->unwatch == NULL) return;
    (void)pthread_mutex_lock(&network->lock);
    network->ops->unwatch(network->ep);
    (void)pthread_mutex_unlock(&network->lock);
}

/* Find the cores near this PE's GPU for the thread, which polls there for kernels: among those
 * to which no PE is bound, enough that each PE of the host may have one; or, where PEs are not
 * bound, among those of this PE, several, since its own thread needs one. */
static bool find_near_gpu(const struct ch_network *network, char *list_out, size_t bytes)
{
    const struct ch_boot *boot = network->boot;
    const char *bus = ch_device_id_of(ch_heap_device(network->heap))->bus;
    const uint32_t least = boot->spare == NULL && boot->n_beside < 2 ? 2 : boot->n_beside;
    const bool is_found = ch_place_near_text(bus, boot->spare, least, list_out, bytes);

    if (is_found)
        CH_LOG(DEBUG, "the progress thread runs on the hardware threads %s, near GPU %s",
               list_out, bus);
    else
        CH_LOG(DEBUG,
               "the progress thread runs on %s: hwloc finds no GPU %s, or too few of these "
               "hardware threads near it",
               boot->spare != NULL ? boot->spare : "the hardware threads of its PE", bus);
    return is_found;
}

/* Move this thread to the cores where it runs best; it is the progress thread. */
static void place_thread(const struct ch_network *network)
{
    char list[CH_PLACE_LIST_BYTES];
    const char *to = network->boot->spare;

    if (network->proxy != NULL && find_near_gpu(network, list, sizeof(list))) to = list;
    if (to != NULL && ch_place_move_thread(to) != 0)
        CH_LOG(INFO, "the progress thread shares the core of its PE");
}

/* The progress thread; its argument is the network. */
static void *progress_main(void *arg)
{
    struct ch_network *network = arg;
    uint64_t seen = 0;

    ch_log_name_pe((int)network->me);
    /* For good: to make another device current again would give the process a context there. */
    if (network->proxy != NULL) (void)ch_device_enter(ch_heap_device(network->heap));
    place_thread(network);
    while (!__atomic_load_n(&network->is_ending, __ATOMIC_ACQUIRE)) {
        bool has_moved = false;
        const uint64_t visits = __atomic_load_n(&network->visits, __ATOMIC_RELAXED);

        report_deferred_failure(network);
        if (network->proxy != NULL && ch_proxy_is_busy(network->proxy))
            poll_for_kernels(network);
        else if (visits != seen && !is_away(network)) {
            seen = visits;
            sleep_briefly(network);
        } else if (progress_once(network, &has_moved) && !has_moved) {
            sleep_long(network);
        } else {
            if (has_moved && network->proxy != NULL) ch_proxy_expect_more(network->proxy);
            (void)
                sched_yield(); /* yield to the thread that holds the lock, if PEs share cores */
        }
    }
    return NULL;
}

void ch_progress_wake(const struct ch_network *network)
{
    const uint64_t one = 1;

    if (write(network->stop_fd, &one, sizeof(one)) < 0)
        return; /* the counter is full: the thread is awake */
}

/* The PE is about to sleep: from now on the progress thread makes progress; wake it if it waits
 * for the PE. */
static void wake_thread(struct ch_network *network)
{
    __atomic_store_n(&network->is_away, 1, __ATOMIC_SEQ_CST);
    if (__atomic_exchange_n(&network->is_idle, 0, __ATOMIC_SEQ_CST)) ch_progress_wake(network);
}

static struct ch_network *network_of(struct ch_progress *progress)
{
    return (struct ch_network *)(void *)progress; /* its first member */
}

/* Make progress once, for a PE that waits. ERR_ABORTED, without a message: the network has
 * failed. */
static chorus_status make_progress(struct ch_progress *self, bool *moved_out)
{
    struct ch_network *network = network_of(self);

    __atomic_store_n(&network->visits, __atomic_load_n(&network->visits, __ATOMIC_RELAXED) + 1,
                     __ATOMIC_RELAXED);
    if (__atomic_load_n(&network->is_away, __ATOMIC_RELAXED))
        __atomic_store_n(&network->is_away, 0, __ATOMIC_RELAXED);
    if (ch_network_has_failed(network)) return CHORUS_ERR_ABORTED;
    (void)progress_once(network, moved_out);
    return CHORUS_OK;
}

/* The PE is about to sleep: inform peers, if the network needs that, and the progress thread.
 */
static void announce_sleep(struct ch_progress *self)
{
    struct ch_network *network = network_of(self);

    if (network->ops->sleep != NULL && pthread_mutex_trylock(&network->lock) == 0) {
        network->ops->sleep(network->ep);
        ch_network_unlock(network);
    }
    wake_thread(network);
}

chorus_status ch_progress_start(struct ch_network *network)
{
    int error;

    network->progress = (struct ch_progress){make_progress, announce_sleep, NULL};
    network->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (network->stop_fd < 0)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "cannot make an eventfd: %s%s", strerror(errno),
                       errno == EMFILE ? "; " CH_LIMIT_ADVICE : "");
    error = pthread_create(&network->thread, NULL, progress_main, network);
    if (error != 0)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "cannot start the progress thread: %s",
                       strerror(error));
    network->has_thread = true;
    ch_wait_policy_set_progress(network->policy, &network->progress);
    return CHORUS_OK;
}

void ch_progress_stop(struct ch_network *network)
{
    if (network->has_thread) {
        __atomic_store_n(&network->is_ending, 1, __ATOMIC_RELEASE);
        ch_progress_wake(network);
        (void)pthread_join(network->thread, NULL);
    }
    network->has_thread = false;
    if (network->stop_fd >= 0) (void)close(network->stop_fd);
    network->stop_fd = -1;
}
