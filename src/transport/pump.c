/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pump.c: the thread that makes progress while its PE does not, and serves the control plane.
 *
 * A PE that waits polls its network all the time, and the thread would only slow it down. The
 * thread therefore waits for a short time as long as it sees that the PE used the network
 * since the last time, and otherwise sleeps until something arrives or is posted. A PE that is
 * about to sleep wakes the thread, which then does not wait until the PE is back. If PEs are
 * bound to cores and some cores are left, the thread runs on those.
 */
#include "transport/network_state.h"

#include "base/error.h"
#include "boot/place.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* The short wait, and the longest sleep: after it, the control plane is served in any case. */
enum { NAP_MS = 2, SLEEP_MS = 500 };

static void serve_boot(struct ch_network *network)
{
    struct ch_boot *boot = network->boot;

    if (boot->ops->serve == NULL) return;
    if (boot->ops->serve(boot) != CHORUS_OK) ch_network_fail(network, ch_error_message());
}

/* Sleep until one of the descriptors is ready, at most this long. True: the network's is
 * ready. */
static bool rest(struct ch_network *network, int net_fd, int ms)
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

static bool is_away(const struct ch_network *network)
{
    return __atomic_load_n(&network->is_away, __ATOMIC_SEQ_CST);
}

static void nap(struct ch_network *network)
{
    __atomic_store_n(&network->is_idle, 1, __ATOMIC_SEQ_CST);
    if (!is_away(network)) (void)rest(network, -1, NAP_MS);
    __atomic_store_n(&network->is_idle, 0, __ATOMIC_SEQ_CST);
}

/* Progress has found nothing: sleep until a message arrives, or the PE posts an operation. The
 * thread then waits for a short time for further operations, so that all are sent together. */
static void sleep_long(struct ch_network *network)
{
    bool is_short;
    int fd;

    (void)pthread_mutex_lock(&network->lock);
    fd = network->ops->watch(network->net);
    is_short = fd < 0 || network->has_posts;
    network->is_asleep = !is_short;
    (void)pthread_mutex_unlock(&network->lock);
    (void)rest(network, fd, is_short || network->doubt_at_ns != 0 ? NAP_MS : SLEEP_MS);
    (void)pthread_mutex_lock(&network->lock);
    is_short = !is_short && network->has_posts;
    network->is_asleep = false;
    (void)pthread_mutex_unlock(&network->lock);
    if (is_short) (void)rest(network, fd, NAP_MS);
    if (network->ops->unwatch == NULL) return;
    (void)pthread_mutex_lock(&network->lock);
    network->ops->unwatch(network->net);
    (void)pthread_mutex_unlock(&network->lock);
}

static void *pump_main(void *arg)
{
    struct ch_network *network = arg;
    uint64_t seen = 0;

    ch_log_name_pe((int)network->me);
    if (network->boot->spare != NULL && ch_place_move_thread(network->boot->spare) != 0)
        CH_LOG(INFO, "the progress thread shares the core of its PE");
    while (!__atomic_load_n(&network->is_ending, __ATOMIC_ACQUIRE)) {
        bool has_moved = false;
        const uint64_t visits = __atomic_load_n(&network->visits, __ATOMIC_RELAXED);

        ch_network_settle(network);
        if (visits != seen && !is_away(network)) {
            seen = visits;
            nap(network);
        } else if (ch_network_step(network, &has_moved) && !has_moved) {
            sleep_long(network);
        } else {
            (void)
                sched_yield(); /* yield to the thread that holds the lock, if PEs share cores */
        }
    }
    return NULL;
}

void ch_pump_wake(const struct ch_network *network)
{
    const uint64_t one = 1;

    if (write(network->stop_fd, &one, sizeof(one)) < 0)
        return; /* the counter is full: the thread is awake */
}

void ch_pump_leave(struct ch_network *network)
{
    __atomic_store_n(&network->is_away, 1, __ATOMIC_SEQ_CST);
    if (__atomic_exchange_n(&network->is_idle, 0, __ATOMIC_SEQ_CST)) ch_pump_wake(network);
}

chorus_status ch_pump_start(struct ch_network *network)
{
    int error;

    network->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (network->stop_fd < 0)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "cannot make an eventfd: %s%s", strerror(errno),
                       errno == EMFILE ? "; " CH_LIMIT_ADVICE : "");
    error = pthread_create(&network->thread, NULL, pump_main, network);
    if (error != 0)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "cannot start the progress thread: %s",
                       strerror(error));
    network->has_thread = true;
    return CHORUS_OK;
}

void ch_pump_stop(struct ch_network *network)
{
    if (network->has_thread) {
        __atomic_store_n(&network->is_ending, 1, __ATOMIC_RELEASE);
        ch_pump_wake(network);
        (void)pthread_join(network->thread, NULL);
    }
    network->has_thread = false;
    if (network->stop_fd >= 0) (void)close(network->stop_fd);
    network->stop_fd = -1;
}
