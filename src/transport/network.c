/* SPDX-License-Identifier: Apache-2.0 */
/* network.c: the lock around a network, its failure, and waits for operations; parts. */
#include "transport/network.h"

#include "base/exec_host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first failure ends every wait of this PE. */
void ch_network_fail(struct ch_network *network, const char *why)
{
    const char *none = NULL;

    if (network->why[0] == '\0') (void)snprintf(network->why, sizeof(network->why), "%s", why);
    if (__atomic_compare_exchange_n(&network->progress.why, &none, network->why, false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        ch_door_abort(network->policy->door);
}

bool ch_network_has_failed(const struct ch_network *network)
{
    return __atomic_load_n(&network->progress.why, __ATOMIC_ACQUIRE) != NULL;
}

/* Fail with the reason why the job is ending. */
static chorus_status fail_job_ending(const struct ch_network *network)
{
    const char *const why = ch_wait_end_reason(network->policy);

    return CH_FAIL(CHORUS_ERR_ABORTED, "the job is ending%s%s",
                   *why != '\0' ? ": " : " because another PE failed", why);
}

void ch_network_lock(struct ch_network *network)
{
    if (network == NULL || pthread_mutex_trylock(&network->lock) == 0) return;
    (void)__atomic_add_fetch(&network->n_queued, 1, __ATOMIC_RELAXED);
    (void)pthread_mutex_lock(&network->lock);
    (void)__atomic_sub_fetch(&network->n_queued, 1, __ATOMIC_RELAXED);
}

void ch_network_unlock(struct ch_network *network)
{
    (void)pthread_mutex_unlock(&network->lock);
}

void ch_network_unlock_posted(struct ch_network *network)
{
    bool is_asleep;

    if (network == NULL) return;
    is_asleep = network->is_asleep;
    network->has_posts = true;
    network->is_asleep = false;
    ch_network_unlock(network);
    if (is_asleep) ch_progress_wake(network);
}

/* Does is_over hold for the operations of ctx to pe? Calls it under the lock. */
static bool test_under_lock(struct ch_network *network, ch_is_over_fn is_over, uint32_t ctx,
                            uint32_t pe)
{
    bool over;

    ch_network_lock(network);
    over = is_over(network->ep, ctx, pe);
    ch_network_unlock(network);
    return over;
}

bool ch_network_is_over(struct ch_link *link, uint32_t ctx, ch_is_over_fn is_over)
{
    return test_under_lock(link->network, is_over, ctx, link->pe);
}

/* Find the first PE, for a message, for which the test does not hold. */
static bool find_first_late(struct ch_network *network, ch_is_over_fn is_over, uint32_t ctx,
                            uint32_t *pe_out)
{
    for (uint32_t i = 0; i < network->n; i++)
        if (network->is_reached[i] && !test_under_lock(network, is_over, ctx, i)) {
            *pe_out = i;
            return true;
        }
    return false;
}

/* The same unless pe is not CH_LINK_ALL; this PE if there is none. */
static uint32_t find_late_pe(struct ch_network *network, ch_is_over_fn is_over, uint32_t ctx,
                             uint32_t pe)
{
    if (pe == CH_LINK_ALL && !find_first_late(network, is_over, ctx, &pe)) pe = network->me;
    return pe;
}

bool ch_network_find_late(struct ch_network *network, uint32_t ctx, uint32_t *pe_out)
{
    return find_first_late(network, network->ops->is_done, ctx, pe_out);
}

void ch_network_abandon(struct ch_network *network, uint32_t pe)
{
    const uint32_t lo = pe == CH_LINK_ALL ? 0 : pe,
                   hi = pe == CH_LINK_ALL ? network->n : pe + 1;

    ch_network_lock(network);
    for (uint32_t i = lo; i < hi; i++)
        network->ops->abandon(network->ep, i);
    ch_network_unlock(network);
}

/* Wait until the test holds for all operations posted in ctx to pe. If the wait fails, they are
 * abandoned. */
static chorus_status wait_until(struct ch_network *network, ch_is_over_fn is_over, uint32_t ctx,
                                uint32_t pe)
{
    struct ch_wait w = {0};
    chorus_status st = CHORUS_OK;
    uint32_t late;

    while (st == CHORUS_OK && !test_under_lock(network, is_over, ctx, pe))
        st = ch_wait_slow(network->policy, &w);
    ch_wait_end(network->policy, &w);
    if (st == CHORUS_OK && !ch_network_has_failed(network)) return CHORUS_OK;
    if (ch_network_has_failed(network) || st == CHORUS_ERR_ABORTED) {
        ch_network_abandon(network, pe);
        return fail_job_ending(network);
    }
    late = find_late_pe(network, is_over, ctx, pe);
    ch_network_abandon(network, pe);
    return CH_FAIL(st, "%s: nothing was heard of PE %u on host %s in time; is it stopped?",
                   network->ops->name, late, network->hosts[late]);
}

chorus_status ch_network_wait(struct ch_link *link, uint32_t ctx, ch_is_over_fn is_over)
{
    struct ch_network *network = link->network;

    if (network == NULL) return CHORUS_OK;
    if (is_over != NULL) return wait_until(network, is_over, ctx, link->pe);
    if (!ch_network_has_failed(network)) return CHORUS_OK;
    ch_network_abandon(network, link->pe);
    return fail_job_ending(network);
}

chorus_status ch_network_quiet(struct ch_network *network, uint32_t ctx, uint32_t pe)
{
    return wait_until(network, network->ops->is_done, ctx, pe);
}

chorus_status ch_network_fence(struct ch_network *network, uint32_t ctx)
{
    if ((network->caps & CH_LINK_IN_ORDER) != 0) return CHORUS_OK;
    return ch_network_quiet(network, ctx, CH_LINK_ALL);
}

/* ---- memory that peers may access ---- */

/* Returns the index of the first part whose base is after this address; n: there is none. */
static size_t first_part_after(const struct ch_parts *parts, uintptr_t there)
{
    size_t lo = 0, hi = parts->n;

    while (lo < hi) {
        const size_t middle = lo + (hi - lo) / 2;

        if (parts->all[middle].base <= there)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

chorus_status ch_parts_add(struct ch_parts *parts, struct ch_part part)
{
    const size_t at = first_part_after(parts, part.base);
    struct ch_part *all = realloc(parts->all, (parts->n + 1) * sizeof(*all)); /* this is rare */

    if (all == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for %zu parts of a heap", parts->n + 1);
    memmove(all + at + 1, all + at, (parts->n - at) * sizeof(*all));
    all[at] = part;
    parts->all = all;
    parts->n++;
    return CHORUS_OK;
}

bool ch_parts_remove(struct ch_parts *parts, uintptr_t base, struct ch_part *part_out)
{
    const size_t at = first_part_after(parts, base);

    if (at == 0 || parts->all[at - 1].base != base) return false;
    *part_out = parts->all[at - 1];
    memmove(parts->all + at - 1, parts->all + at, (parts->n - at) * sizeof(*parts->all));
    parts->n--;
    parts->last = 0;
    return true;
}

void ch_parts_free(struct ch_parts *parts)
{
    free(parts->all);
    *parts = (struct ch_parts){NULL, 0, 0};
}

const struct ch_part *ch_parts_find(struct ch_parts *parts, uintptr_t there)
{
    if (parts->n == 0) return NULL;
    if (there - parts->all[parts->last].base >= parts->all[parts->last].bytes) {
        const size_t at = first_part_after(parts, there);

        if (at == 0 || there - parts->all[at - 1].base >= parts->all[at - 1].bytes) return NULL;
        parts->last = at - 1;
    }
    return &parts->all[parts->last];
}

bool ch_parts_hold(struct ch_parts *parts, uintptr_t there, uint64_t bytes)
{
    while (bytes != 0) {
        const struct ch_part *part = ch_parts_find(parts, there);
        size_t here;

        if (part == NULL || part->kind != CH_MEMORY_HOST) return false;
        here = part->bytes - (there - part->base);
        if (here >= bytes) return true;
        there += here;
        bytes -= here;
    }
    return true;
}
