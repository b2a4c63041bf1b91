/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settle.c: the end of what kernels have posted, after some of them have failed, or before
 * memory is freed that they name.
 *
 * A kernel that has failed may leave requests in the ring, and others whose sources the network
 * still reads, or whose dest it will store. The host that learns of the failure returns it to
 * the program, which then frees the memory. As on hosts (ch_link_abandon), what is not over
 * shortly afterwards ends the link.
 */
#include "transport/links.h"

#include "base/clock.h"
#include "transport/network.h"
#include "transport/proxy.h"

#include <sched.h>

/* A network that works does something of what was posted before a wait that failed by then. */
#define LATE_NS CH_NS_PER_S

static bool is_job_ending(const struct ch_network *network)
{
    return __atomic_load_n(&network->policy->door->aborted, __ATOMIC_RELAXED) != 0;
}

/* Make progress of the network. False: it is too late, or nothing more will come of it. */
static bool make_progress(struct ch_network *network, uint64_t until_ns)
{
    bool has_moved = false;

    if (ch_clock_ns() >= until_ns || is_job_ending(network)) return false;
    if (network->progress.make(&network->progress, &has_moved) != CHORUS_OK) return false;
    if (!has_moved) (void)sched_yield();
    return true;
}

static void drop_posts(struct ch_network *network)
{
    ch_network_lock(network);
    ch_proxy_drop(network->proxy);
    ch_network_unlock(network);
}

/* The time that is limit_ns away; 0: there is no limit. */
static uint64_t time_in(uint64_t limit_ns)
{
    return limit_ns == 0 ? UINT64_MAX : ch_clock_ns() + limit_ns;
}

/* Wait until the ring has no more requests of kernels that have ended, or drop these once none
 * was carried out for limit_ns. Returns when the latter would be. */
static uint64_t empty_ring(struct ch_network *network, uint64_t limit_ns)
{
    uint64_t posted = 0, carried_out = 0, until_ns = time_in(limit_ns);
    bool is_broken = false;

    if (ch_proxy_posted(network->proxy, &posted, &is_broken) != CHORUS_OK || is_broken) {
        drop_posts(network);
        return until_ns;
    }
    for (;;) {
        const uint64_t now = ch_proxy_carried_out(network->proxy);

        if (now >= posted) return until_ns;
        if (now != carried_out) until_ns = time_in(limit_ns);
        carried_out = now;
        if (make_progress(network, until_ns)) continue;
        drop_posts(network);
        if (!is_job_ending(network))
            ch_network_fail(network,
                            "requests of this PE's kernels to PEs that are not near were "
                            "dropped, as they were not sent in time");
        return until_ns;
    }
}

uint64_t ch_links_begin_settle(struct ch_links *links, chorus_status why)
{
    struct ch_network *network = links->network;
    const bool is_late = why == CHORUS_ERR_TIMEOUT || why == CHORUS_ERR_ABORTED;
    const uint64_t limit_ns = is_late ? LATE_NS : links->policy->timeout_ns;

    if (network == NULL || network->proxy == NULL) return time_in(limit_ns);
    return empty_ring(network, limit_ns);
}

/* Kernels of algorithms post no gets: only sources are in use. */
void ch_link_settle(struct ch_link *link, uint32_t ctx, uint64_t until_ns)
{
    const struct ch_link_ops *ops = link->network->ops;
    const ch_is_over_fn is_over = ctx == CH_CTX_ALGORITHMS ? ops->is_sent : ops->is_done;

    while (!ch_network_is_over(link, ctx, is_over))
        if (!make_progress(link->network, until_ns)) {
            ch_network_abandon(link->network, link->pe);
            return;
        }
}

void ch_links_forget_words(struct ch_links *links, const uint64_t *words, uint32_t n)
{
    struct ch_network *network = links->network;
    bool is_forgotten = network == NULL || network->proxy == NULL || words == NULL;

    while (!is_forgotten) {
        ch_network_lock(network);
        is_forgotten = ch_proxy_forget(network->proxy, words, n);
        ch_network_unlock(network);
        if (!is_forgotten) (void)sched_yield();
    }
}
