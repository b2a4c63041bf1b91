/* SPDX-License-Identifier: Apache-2.0 */
/* network.c: chooses a kind of network, holds the lock around it, and waits for operations. */
#include "transport/network.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/exec_host.h"
#include "boot/boot.h"
#include "transport/kinds.h"
#include "transport/network_state.h"
#include "transport/transport.h"

#include <sched.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Time for the control plane to report which PE was lost, which it detects as soon as a process
 * has ended; twice this time is the second within which the loss must be reported. */
#define DOUBT_NS (500 * CH_NS_PER_MS)

/* The same where chorusrun watches the PEs of this host, and ends the job. */
#define LAUNCHER_DOUBT_NS (700 * CH_NS_PER_MS)

/* The first failure ends every wait of this PE. */
void ch_network_fail(struct ch_network *network, const char *why)
{
    const char *none = NULL;

    if (network->why[0] == '\0') (void)snprintf(network->why, sizeof(network->why), "%s", why);
    if (__atomic_compare_exchange_n(&network->progress.why, &none, network->why, false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        ch_door_abort(network->patience->door);
}

static bool has_failed(const struct ch_network *network)
{
    return __atomic_load_n(&network->progress.why, __ATOMIC_ACQUIRE) != NULL;
}

static chorus_status failure(const struct ch_network *network)
{
    const char *const why = ch_patience_why(network->patience);

    return CH_FAIL(CHORUS_ERR_ABORTED, "the job is ending%s%s",
                   *why != '\0' ? ": " : " because another PE failed", why);
}

/*
 * A connection that has ended may be that of a lost PE, or of one that failed because of the
 * loss. The control plane knows which was first, and is given a moment to report it.
 */
static void doubt(struct ch_network *network, const char *why)
{
    if (network->boot->ops->serve == NULL && network->boot->ops->abort_job == NULL) {
        ch_network_fail(network, why);
        return;
    }
    (void)snprintf(network->why_doubt, sizeof(network->why_doubt), "%s", why);
    __atomic_store_n(&network->doubt_at_ns, ch_clock_ns(), __ATOMIC_RELEASE);
}

void ch_network_settle(struct ch_network *network)
{
    const uint64_t since_ns = __atomic_load_n(&network->doubt_at_ns, __ATOMIC_ACQUIRE);

    if (since_ns == 0 || has_failed(network)) return;
    if (ch_clock_ns() - since_ns <=
        (network->boot->ops->serve != NULL ? DOUBT_NS : LAUNCHER_DOUBT_NS))
        return;
    ch_network_fail(network, network->why_doubt);
    /* Before other PEs notice the end of this PE, and take it for the cause. */
    if (network->boot->ops->give_up != NULL)
        network->boot->ops->give_up(network->boot, network->why_doubt);
}

bool ch_network_step(struct ch_network *network, bool *moved_out)
{
    bool has_moved = false;

    if (pthread_mutex_trylock(&network->lock) != 0) return false;
    network->has_posts = false;
    if (!has_failed(network) && network->doubt_at_ns == 0 &&
        network->ops->progress(network->net, &has_moved) != CHORUS_OK)
        doubt(network, ch_error_message());
    (void)pthread_mutex_unlock(&network->lock);
    if (has_moved) ch_notify(network->patience, network->patience->door);
    *moved_out = has_moved;
    return true;
}

static struct ch_network *of_progress(struct ch_progress *progress)
{
    return (struct ch_network *)(void *)progress; /* its first member */
}

static chorus_status make(struct ch_progress *self, bool *moved_out)
{
    struct ch_network *network = of_progress(self);

    __atomic_store_n(&network->visits, __atomic_load_n(&network->visits, __ATOMIC_RELAXED) + 1,
                     __ATOMIC_RELAXED);
    if (__atomic_load_n(&network->is_away, __ATOMIC_RELAXED))
        __atomic_store_n(&network->is_away, 0, __ATOMIC_RELAXED);
    if (has_failed(network)) return CHORUS_ERR_ABORTED;
    (void)ch_network_step(network, moved_out);
    return CHORUS_OK;
}

/* All operations are posted under the lock. */
static void lock(struct ch_network *network)
{
    if (pthread_mutex_trylock(&network->lock) == 0) return;
    (void)__atomic_add_fetch(&network->n_queued, 1, __ATOMIC_RELAXED);
    (void)pthread_mutex_lock(&network->lock);
    (void)__atomic_sub_fetch(&network->n_queued, 1, __ATOMIC_RELAXED);
}

static void unlock(struct ch_network *network)
{
    (void)pthread_mutex_unlock(&network->lock);
}

static void leave(struct ch_progress *self)
{
    struct ch_network *network = of_progress(self);

    if (network->ops->doze != NULL && pthread_mutex_trylock(&network->lock) == 0) {
        network->ops->doze(network->net);
        unlock(network);
    }
    ch_pump_leave(network);
}

/* Release the lock, and send posted operations even if the PE makes no further call. */
static void posted(struct ch_network *network)
{
    const bool is_asleep = network->is_asleep;

    network->has_posts = true;
    network->is_asleep = false;
    unlock(network);
    if (is_asleep) ch_pump_wake(network);
}

/* See struct ch_net_terms. Waking a thread that is queued on the lock takes longer than this
 * thread needs to acquire the lock again. */
static void give_way(void *arg)
{
    const struct timespec rest = {.tv_nsec = 20 * CH_NS_PER_US};
    struct ch_network *network = arg;

    unlock(network);
    if (__atomic_load_n(&network->n_queued, __ATOMIC_RELAXED) != 0)
        (void)nanosleep(&rest, NULL);
    else
        (void)sched_yield();
    lock(network);
}

typedef bool (*is_over_fn)(struct ch_net *net, uint32_t ctx, uint32_t pe);

static bool is_over(struct ch_network *network, is_over_fn what, uint32_t ctx, uint32_t pe)
{
    bool over;

    lock(network);
    over = what(network->net, ctx, pe);
    unlock(network);
    return over;
}

/* A PE for which the test does not hold; `pe`, if one was given. */
static uint32_t who_is_late(struct ch_network *network, is_over_fn what, uint32_t ctx,
                            uint32_t pe)
{
    for (uint32_t i = 0; pe == CH_NET_ALL && i < network->n; i++)
        if (!is_over(network, what, ctx, i)) return i;
    return pe == CH_NET_ALL ? network->me : pe;
}

/* The caller is told that its operations with pe have failed, and may use their memory for
 * something else. */
static void abandon(struct ch_network *network, uint32_t pe)
{
    const uint32_t lo = pe == CH_NET_ALL ? 0 : pe, hi = pe == CH_NET_ALL ? network->n : pe + 1;

    lock(network);
    for (uint32_t i = lo; i < hi; i++)
        network->ops->abandon(network->net, i);
    unlock(network);
}

/* Wait until the test holds for all operations posted in ctx to pe. */
static chorus_status wait_until(struct ch_network *network, is_over_fn what, uint32_t ctx,
                                uint32_t pe)
{
    struct ch_wait w = {0};
    chorus_status st = CHORUS_OK;
    uint32_t late;

    while (st == CHORUS_OK && !is_over(network, what, ctx, pe))
        st = ch_wait_slow(network->patience, &w);
    ch_wait_end(network->patience, &w);
    if (st == CHORUS_OK && !has_failed(network)) return CHORUS_OK;
    if (has_failed(network) || st == CHORUS_ERR_ABORTED) {
        abandon(network, pe);
        return failure(network);
    }
    late = who_is_late(network, what, ctx, pe);
    abandon(network, pe);
    return CH_FAIL(st, "%s: nothing was heard of PE %u on host %s in time; is it stopped?",
                   network->ops->name, late, network->hosts[late]);
}

/* After an operation with pe was posted. */
static chorus_status standing(struct ch_network *network, uint32_t pe)
{
    if (!has_failed(network)) return CHORUS_OK;
    abandon(network, pe);
    return failure(network);
}

chorus_status ch_network_put_nbi(struct ch_network *network, uint32_t ctx, uint32_t pe,
                                 char *there, const void *src, size_t bytes)
{
    lock(network);
    network->ops->put(network->net, ctx, pe, there, src, bytes);
    posted(network);
    return standing(network, pe);
}

chorus_status ch_network_put(struct ch_network *network, uint32_t ctx, uint32_t pe, char *there,
                             const void *src, size_t bytes)
{
    CH_TRY(ch_network_put_nbi(network, ctx, pe, there, src, bytes));
    return wait_until(network, network->ops->is_sent, ctx, pe);
}

chorus_status ch_network_put_signal(struct ch_network *network, uint32_t ctx, uint32_t pe,
                                    const struct ch_put_signal *put, bool is_nbi)
{
    lock(network);
    if (put->bytes != 0)
        network->ops->put(network->net, ctx, pe, put->dest, put->source, put->bytes);
    if (put->op == CH_AMO_SET)
        network->ops->say(network->net, ctx, pe, put->word, put->value);
    else
        network->ops->amo(network->net, ctx, pe, put->op, put->word, sizeof(*put->word),
                          put->value, 0, NULL);
    posted(network);
    return is_nbi ? standing(network, pe) : wait_until(network, network->ops->is_sent, ctx, pe);
}

chorus_status ch_network_get_nbi(struct ch_network *network, uint32_t ctx, uint32_t pe,
                                 void *dst, const char *there, size_t bytes)
{
    lock(network);
    network->ops->get(network->net, ctx, pe, dst, there, bytes);
    posted(network);
    return standing(network, pe);
}

chorus_status ch_network_get(struct ch_network *network, uint32_t ctx, uint32_t pe, void *dst,
                             const char *there, size_t bytes)
{
    CH_TRY(ch_network_get_nbi(network, ctx, pe, dst, there, bytes));
    return wait_until(network, network->ops->is_done, ctx, pe);
}

void ch_network_request(struct ch_network *network, uint32_t ctx, uint32_t pe, void *dst,
                        const char *there, size_t bytes)
{
    lock(network);
    network->ops->get(network->net, ctx, pe, dst, there, bytes);
    posted(network);
}

bool ch_network_is_done(struct ch_network *network, uint32_t ctx, uint32_t pe)
{
    return is_over(network, network->ops->is_done, ctx, pe);
}

chorus_status ch_network_amo(struct ch_network *network, uint32_t ctx, uint32_t pe,
                             enum ch_amo op, void *there, size_t bytes, uint64_t value,
                             uint64_t compare, uint64_t *fetched_out)
{
    lock(network);
    network->ops->amo(network->net, ctx, pe, op, there, bytes, value, compare, fetched_out);
    posted(network);
    if (fetched_out == NULL) return standing(network, pe);
    return wait_until(network, network->ops->is_done, ctx, pe);
}

chorus_status ch_network_quiet(struct ch_network *network, uint32_t ctx, uint32_t pe)
{
    return wait_until(network, network->ops->is_done, ctx, pe);
}

chorus_status ch_network_fence(struct ch_network *network, uint32_t ctx)
{
    if ((network->caps & CH_NET_IN_ORDER) != 0) return CHORUS_OK;
    return ch_network_quiet(network, ctx, CH_NET_ALL);
}

/* Routes, which collectives use. */
static void route_put(struct ch_route *route, void *there, const void *src, size_t bytes)
{
    struct ch_remote_pe *remote = (struct ch_remote_pe *)(void *)route;
    struct ch_network *network = remote->network;

    lock(network);
    network->ops->put(network->net, CH_CTX_ALGORITHMS, remote->pe, there, src, bytes);
    posted(network);
}

static void route_say(struct ch_route *route, uint64_t *there, uint64_t value)
{
    struct ch_remote_pe *remote = (struct ch_remote_pe *)(void *)route;
    struct ch_network *network = remote->network;

    lock(network);
    network->ops->say(network->net, CH_CTX_ALGORITHMS, remote->pe, there, value);
    posted(network);
}

static chorus_status route_flush(struct ch_route *route)
{
    struct ch_remote_pe *remote = (struct ch_remote_pe *)(void *)route;
    struct ch_network *network = remote->network;

    /* Its message would replace that of the call. */
    return wait_until(network, network->ops->is_sent, CH_CTX_ALGORITHMS, remote->pe);
}

static int route_receive(struct ch_route *route, void *slot, void *dst, size_t bytes)
{
    struct ch_remote_pe *remote = (struct ch_remote_pe *)(void *)route;
    struct ch_network *network = remote->network;
    bool is_posted;

    if (network->ops->receive == NULL) return 0;
    lock(network);
    is_posted = network->ops->receive(network->net, remote->pe, slot, dst, bytes);
    unlock(network);
    return is_posted;
}

static int route_received(struct ch_route *route)
{
    struct ch_remote_pe *remote = (struct ch_remote_pe *)(void *)route;
    struct ch_network *network = remote->network;
    bool is_there;

    lock(network);
    is_there = network->ops->received(network->net, remote->pe);
    unlock(network);
    return is_there;
}

static void route_abandon(struct ch_route *route)
{
    struct ch_remote_pe *remote = (struct ch_remote_pe *)(void *)route;
    struct ch_network *network = remote->network;

    if (!is_over(network, network->ops->is_sent, CH_CTX_ALGORITHMS, remote->pe))
        abandon(network, remote->pe);
}

static const struct ch_route_ops route_ops = {route_put,     route_say,      route_flush,
                                              route_receive, route_received, route_abandon};

struct ch_route *ch_network_route(const struct ch_network *network, uint32_t pe)
{
    if (network == NULL || network->nodes[pe] == network->nodes[network->me]) return NULL;
    return &network->remotes[pe].route;
}

const uint32_t *ch_network_nodes(const struct ch_network *network)
{
    return network == NULL ? NULL : network->nodes;
}

chorus_status ch_network_attach(struct ch_network *network, void *base, size_t bytes,
                                uint64_t *key_out)
{
    chorus_status st;

    *key_out = 0;
    if (network == NULL) return CHORUS_OK;
    lock(network);
    st = network->ops->attach(network->net, base, bytes, key_out);
    unlock(network);
    return st;
}

void ch_network_detach(struct ch_network *network, void *base)
{
    if (network == NULL || network->net == NULL || base == NULL) return;
    lock(network);
    network->ops->detach(network->net, base);
    unlock(network);
}

bool ch_network_has_keys(const struct ch_network *network)
{
    return network != NULL && (network->caps & CH_NET_KEYS) != 0;
}

chorus_status ch_network_learn(struct ch_network *network, uint32_t pe, const char *there,
                               size_t bytes, uint64_t key)
{
    chorus_status st;

    if (!ch_network_has_keys(network) || ch_network_route(network, pe) == NULL)
        return CHORUS_OK;
    lock(network);
    st = network->ops->learn(network->net, pe, there, bytes, key);
    unlock(network);
    return st;
}

void ch_network_forget(struct ch_network *network, uint32_t pe, const char *there)
{
    if (!ch_network_has_keys(network) || network->net == NULL) return;
    if (ch_network_route(network, pe) == NULL) return;
    lock(network);
    network->ops->forget(network->net, pe, there);
    unlock(network);
}

void ch_network_describe(struct ch_network *network, uint32_t pe,
                         char why_out[CH_NET_WHY_BYTES])
{
    lock(network);
    network->ops->describe(network->net, pe, why_out);
    unlock(network);
}

const char *ch_network_why_not(const struct ch_network *network, uint32_t kind)
{
    return network->ops == ch_kind_ops[kind] ? NULL : network->why_not[kind];
}

/* ---- start and end ---- */

/* The hosts for the choice of routes. All PEs get the same result, since the settings are
 * compared. If both loop and mapped are selected on one host, the PEs are treated as PEs of
 * three hosts, alternately. */
static chorus_status map_nodes(struct ch_network *network, const struct ch_boot *boot,
                               bool may_map)
{
    enum { PRETENDED = 3 };

    network->nodes = calloc(boot->n, sizeof(*network->nodes));
    if (network->nodes == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the hosts of %u PEs", boot->n);
    for (uint32_t pe = 0; pe < boot->n; pe++)
        network->nodes[pe] = !may_map              ? pe
                             : boot->nodes != NULL ? boot->nodes[pe]
                                                   : pe % PRETENDED;
    return CHORUS_OK;
}

/* The mappings of every PE, for networks that deliver through mapped memory. */
static chorus_status map_peers(struct ch_network *network, struct ch_heap *heap)
{
    network->maps = calloc(network->n, sizeof(*network->maps));
    if (network->maps == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for %u PEs", network->n);
    for (uint32_t pe = 0; pe < network->n; pe++)
        network->maps[pe] = ch_heap_is_mapped(heap, pe)
                                ? ch_heap_base(heap, pe) - ch_heap_home(heap, pe)
                                : CH_NET_NO_MAP;
    return CHORUS_OK;
}

static chorus_status name_hosts(struct ch_network *network)
{
    const struct ch_boot *boot = network->boot;

    network->hosts = calloc(network->n, sizeof(*network->hosts));
    if (network->hosts == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for %u PEs", network->n);
    for (uint32_t pe = 0; pe < network->n; pe++)
        network->hosts[pe] = boot->hosts != NULL ? boot->hosts[boot->nodes[pe]] : "this host";
    return CHORUS_OK;
}

/* Open one kind on all PEs, or on none. */
static chorus_status open_kind(struct ch_network *network, const struct ch_net_ops *ops,
                               const struct ch_net_terms *terms)
{
    char mine[CH_NET_CARD_BYTES] = "", (*cards)[CH_NET_CARD_BYTES];
    struct ch_vote vote = {ops->name, CHORUS_OK, mine, sizeof(mine)};
    chorus_status st;

    cards = calloc(network->n, sizeof(*cards));
    if (cards == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the addresses of %u PEs", network->n);
    vote.mine = ops->open(terms, &network->net);
    if (vote.mine == CHORUS_OK) ops->card(network->net, mine);
    st = ch_boot_vote(network->boot, &vote, cards);
    if (st == CHORUS_OK) st = ops->meet(network->net, (const char(*)[CH_NET_CARD_BYTES])cards);
    free(cards);
    if (st == CHORUS_OK) {
        network->ops = ops;
        network->caps = ops->caps(network->net);
        return CHORUS_OK;
    }
    ops->close(network->net);
    network->net = NULL;
    return st;
}

enum { WHY_ALL_BYTES = 600 };

static chorus_status refuse_all(const struct ch_network *network, const char *transport)
{
    char why[WHY_ALL_BYTES] = "";
    size_t used = 0;

    for (uint32_t k = 0; k < CH_KIND_COUNT && used < sizeof(why); k++)
        if (network->why_not[k][0] != '\0')
            used += (size_t)snprintf(why + used, sizeof(why) - used, "%s%s",
                                     used == 0 ? "" : "; ", network->why_not[k]);
    return CH_FAIL(CHORUS_ERR_UNSUPPORTED,
                   "no network reaches the PEs of other hosts: %s; CHORUS_TRANSPORT is \"%s\"",
                   used == 0 ? "none is allowed" : why, transport);
}

/* Open the first kind that works on all PEs. */
static chorus_status choose_kind(struct ch_network *network, const struct ch_kinds *kinds,
                                 const struct ch_net_terms *terms)
{
    for (uint32_t k = 0; k < CH_KIND_COUNT; k++) {
        chorus_status st;

        if (!kinds->is_allowed[k]) continue;
        st = open_kind(network, ch_kind_ops[k], terms);
        if (st != CHORUS_ERR_UNSUPPORTED) return st;
        (void)snprintf(network->why_not[k], sizeof(network->why_not[k]), "%s",
                       ch_error_message());
        ch_error_forget();
    }
    return refuse_all(network, terms->options->transport);
}

static bool are_all_near(const struct ch_network *network)
{
    for (uint32_t pe = 0; pe < network->n; pe++)
        if (network->nodes[pe] != network->nodes[0]) return false;
    return true;
}

/* chorusrun on one host gives no secret to its PEs: PE 0 makes one, which only they receive. */
static chorus_status agree_on_secret(struct ch_boot *boot)
{
    unsigned char mine[CH_BOOT_SECRET_BYTES], *all;
    chorus_status status;

    if (!sodium_is_zero(boot->secret, sizeof(boot->secret))) return CHORUS_OK;
    if (sodium_init() < 0)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "libsodium has no source of random numbers");
    all = calloc(boot->n, sizeof(mine));
    if (all == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for a job's secret");
    randombytes_buf(mine, sizeof(mine));
    status = boot->ops->exchange(boot, mine, sizeof(mine), -1, all, NULL);
    if (status == CHORUS_OK) memcpy(boot->secret, all, sizeof(boot->secret));
    sodium_memzero(all, boot->n * sizeof(mine));
    free(all);
    return status;
}

/* PEs that are bound to a core each leave the others to threads. */
static uint32_t free_cores(const struct ch_boot *boot)
{
    if (boot->spare == NULL || *boot->spare == '\0' || boot->n_beside == 0) return 0;
    return boot->n_cores > boot->n_beside ? boot->n_cores / boot->n_beside - 1 : 0;
}

static chorus_status open_network(struct ch_network *network, struct ch_heap *heap,
                                  const struct ch_options *options,
                                  struct ch_patience *patience, const struct ch_kinds *kinds)
{
    struct ch_net_terms terms = {.options = options,
                                 .me = network->me,
                                 .n = network->n,
                                 .door = patience->door,
                                 .free_cores = free_cores(network->boot),
                                 .spare = network->boot->spare,
                                 .give_way = give_way,
                                 .give_way_arg = network};

    CH_TRY(map_peers(network, heap));
    CH_TRY(name_hosts(network));
    terms.hosts = network->hosts;
    terms.nodes = network->nodes;
    terms.maps = network->maps;
    CH_TRY(agree_on_secret(network->boot));
    memcpy(terms.secret, network->boot->secret, sizeof(terms.secret));
    memcpy(terms.listen, network->boot->listen, sizeof(terms.listen));
    network->remotes = calloc(network->n, sizeof(*network->remotes));
    if (network->remotes == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for routes to %u PEs", network->n);
    for (uint32_t pe = 0; pe < network->n; pe++)
        network->remotes[pe] = (struct ch_remote_pe){{&route_ops}, network, pe};
    CH_TRY(choose_kind(network, kinds, &terms));
    CH_TRY(ch_pump_start(network));
    ch_patience_add(patience, &network->progress);
    return CHORUS_OK;
}

chorus_status ch_network_open(struct ch_boot *boot, struct ch_heap *heap,
                              const struct ch_options *options, struct ch_patience *patience,
                              struct ch_network **network_out)
{
    struct ch_network *network;
    struct ch_kinds kinds;
    chorus_status st;

    *network_out = NULL;
    CH_TRY(ch_kinds_read(options->transport, &kinds));
    if (boot->n == 1 ||
        (kinds.may_map && boot->nodes == NULL && !kinds.is_allowed[CH_KIND_loop]))
        return CHORUS_OK;
    if (ch_heap_device(heap) != NULL)
        return CH_FAIL(CHORUS_ERR_UNSUPPORTED,
                       "the heap is on GPUs, which can access each other's memory only within "
                       "one host; set CHORUS_HEAP=host for a job on several");
    network = calloc(1, sizeof(*network));
    if (network == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for a network");
    network->progress = (struct ch_progress){make, leave, NULL};
    network->boot = boot;
    network->patience = patience;
    network->me = boot->me;
    network->n = boot->n;
    network->stop_fd = -1;
    (void)pthread_mutex_init(&network->lock, NULL);
    st = map_nodes(network, boot, kinds.may_map);
    if (st == CHORUS_OK && !are_all_near(network)) {
        st = open_network(network, heap, options, patience, &kinds);
        if (st == CHORUS_OK) {
            *network_out = network;
            return CHORUS_OK;
        }
    }
    ch_network_close(network);
    return st;
}

void ch_network_disconnect(struct ch_network *network)
{
    if (network == NULL) return;
    ch_pump_stop(network);
    if (network->ops != NULL) network->ops->close(network->net);
    network->net = NULL;
    network->patience->progress = NULL;
}

void ch_network_close(struct ch_network *network)
{
    if (network == NULL) return;
    ch_network_disconnect(network);
    (void)pthread_mutex_destroy(&network->lock);
    free(network->remotes);
    free(network->maps);
    free(network->hosts);
    free(network->nodes);
    free(network);
}
