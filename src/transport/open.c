/* SPDX-License-Identifier: Apache-2.0 */
/* open.c: chooses the kind of network that serves a job, and opens it on all of its PEs. */
#include "transport/network.h"

#include "base/clock.h"
#include "heap/heap.h"
#include "transport/beside.h"
#include "transport/proxy.h"
#include "transport/staged/staged.h"

#include <sched.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const struct ch_link_ops *const ch_kind_ops[CH_KIND_COUNT] = {
#define X(name) [CH_KIND_##name] = &ch_link_##name,
    CH_KIND_LIST(X) X(loop)
#undef X
};

#define NAME_mapped CH_KIND_COUNT

/* Returns the number of the kind with this name, NAME_mapped for "mapped", or -1. */
static int find_kind(const char *name, size_t length)
{
    if (length == strlen("mapped") && strncmp(name, "mapped", length) == 0) return NAME_mapped;
    for (int k = 0; k < CH_KIND_COUNT; k++)
        if (ch_kind_ops[k] != NULL && length == strlen(ch_kind_ops[k]->name) &&
            strncmp(name, ch_kind_ops[k]->name, length) == 0)
            return k;
    return -1;
}

static chorus_status fail_unknown_kind(const char *text, const char *name, size_t length)
{
#define X(kind) " " #kind
    return CH_FAIL(
        CHORUS_ERR_ARG,
        "CHORUS_TRANSPORT is \"%s\" with the unknown name \"%.*s\"; expected names of "
        "mapped" CH_KIND_LIST(
            X) ", separated by commas; ^ before the first one excludes them instead",
        text, (int)length, name);
#undef X
}

chorus_status ch_kinds_read(const char *text, struct ch_kinds *kinds_out)
{
    const bool is_without = *text == '^' || *text == '\0';
    const char *at = *text == '^' ? text + 1 : text;
    struct ch_kinds kinds = {.may_map = is_without};

    if (strcmp(text, "^") == 0) return fail_unknown_kind(text, "", 0);
    for (int k = 0; k < CH_KIND_COUNT; k++)
        kinds.is_allowed[k] = is_without && k != CH_KIND_loop;
    while (*at != '\0') {
        const size_t length = strcspn(at, ",");
        const int k = find_kind(at, length);

        if (k < 0) return fail_unknown_kind(text, at, length);
        if (k == NAME_mapped)
            kinds.may_map = !is_without;
        else
            kinds.is_allowed[k] = !is_without;
        at += length;
        if (*at == ',') at++;
    }
    *kinds_out = kinds;
    return CHORUS_OK;
}

/* Release the lock for a moment, see struct ch_link_terms. Waking a thread that is queued on
 * the lock takes longer than this thread needs to acquire the lock again. */
static void give_way(void *arg)
{
    const struct timespec rest = {.tv_nsec = 20 * CH_NS_PER_US};
    struct ch_network *network = arg;

    ch_network_unlock(network);
    if (__atomic_load_n(&network->n_queued, __ATOMIC_RELAXED) != 0)
        (void)nanosleep(&rest, NULL);
    else
        (void)sched_yield();
    ch_network_lock(network);
}

/* Set the host of each PE; unless mapped is allowed, each PE has one of its
 * own. All PEs get the same result, since the settings are compared. If both loop and mapped
 * are selected on one host, the PEs are treated as PEs of three hosts, alternately. */
static chorus_status set_nodes(struct ch_network *network, const struct ch_boot *boot,
                               const struct ch_kinds *kinds)
{
    enum { PRETENDED = 3 };

    network->nodes = calloc(boot->n, sizeof(*network->nodes));
    if (network->nodes == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the hosts of %u PEs", boot->n);
    for (uint32_t pe = 0; pe < boot->n; pe++)
        network->nodes[pe] = !kinds->may_map                   ? pe
                             : boot->nodes != NULL             ? boot->nodes[pe]
                             : kinds->is_allowed[CH_KIND_loop] ? pe % PRETENDED
                                                               : 0;
    return CHORUS_OK;
}

/* Set which PEs links of the network reach: those of other hosts and, with a heap on GPUs,
 * those of this host that are not near. */
static chorus_status set_reached(struct ch_network *network)
{
    const bool is_on_gpu = ch_heap_device(network->heap) != NULL;

    network->is_reached = calloc(network->n, sizeof(*network->is_reached));
    if (network->is_reached == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for %u PEs", network->n);
    for (uint32_t pe = 0; pe < network->n; pe++)
        network->is_reached[pe] = network->nodes[pe] != network->nodes[network->me] ||
                                  (is_on_gpu && !ch_heap_is_near(network->heap, pe));
    return CHORUS_OK;
}

/* Set where this PE has mapped each PE's memory, for networks that deliver through mapped
 * memory. */
static chorus_status set_maps(struct ch_network *network, struct ch_heap *heap)
{
    network->maps = calloc(network->n, sizeof(*network->maps));
    if (network->maps == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for %u PEs", network->n);
    for (uint32_t pe = 0; pe < network->n; pe++)
        network->maps[pe] = ch_heap_is_mapped(heap, pe)
                                ? ch_heap_base(heap, pe) - ch_heap_base_at_owner(heap, pe)
                                : CH_LINK_NO_MAP;
    return CHORUS_OK;
}

enum { HOST_BYTES = 64 }; /* of the name of this host, cut, and its end */

/* Set the name of each PE's host, for messages. The job knows names if it has several hosts. */
static chorus_status name_hosts(struct ch_network *network)
{
    const struct ch_boot *boot = network->boot;
    char *mine;

    network->hosts = calloc(1, network->n * sizeof(*network->hosts) + HOST_BYTES);
    if (network->hosts == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for %u PEs", network->n);
    mine = (char *)(network->hosts + network->n);
    (void)gethostname(mine, HOST_BYTES - 1);
    for (uint32_t pe = 0; pe < network->n; pe++)
        network->hosts[pe] = boot->hosts != NULL ? boot->hosts[boot->nodes[pe]] : mine;
    return CHORUS_OK;
}

/* Open one kind on all PEs, or on none. */
static chorus_status open_kind(struct ch_network *network, const struct ch_link_ops *ops,
                               const struct ch_link_terms *terms)
{
    char mine[CH_LINK_ADDRESS_BYTES] = "", (*addresses)[CH_LINK_ADDRESS_BYTES];
    struct ch_vote vote = {ops->name, CHORUS_OK, mine, sizeof(mine)};
    chorus_status st;

    addresses = calloc(network->n, sizeof(*addresses));
    if (addresses == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the addresses of %u PEs", network->n);
    vote.mine = ops->open(terms, &network->ep);
    if (vote.mine == CHORUS_OK) ops->address(network->ep, mine);
    st = ch_boot_vote(network->boot, &vote, addresses);
    if (st == CHORUS_OK)
        st = ops->meet(network->ep, (const char(*)[CH_LINK_ADDRESS_BYTES])addresses);
    free(addresses);
    if (st == CHORUS_OK) {
        network->ops = ops;
        network->caps = ops->caps(network->ep);
        return CHORUS_OK;
    }
    ops->close(network->ep);
    network->ep = NULL;
    return st;
}

enum { WHY_ALL_BYTES = 600 };

/* Fail with the reasons of all kinds that were tried, since none works. */
static chorus_status fail_no_kind(const struct ch_network *network,
                                  const struct ch_kinds *kinds, const char *transport)
{
    const char *advice = kinds->is_allowed[CH_KIND_tcp]
                             ? "correct what is wrong with one of them"
                             : "allow tcp, which needs nothing but IP between the hosts: "
                               "CHORUS_TRANSPORT=mapped,tcp";
    char why[WHY_ALL_BYTES] = "";
    size_t used = 0;

    for (uint32_t k = 0; k < CH_KIND_COUNT && used < sizeof(why); k++)
        if (network->why_not[k][0] != '\0')
            used += (size_t)snprintf(why + used, sizeof(why) - used, "%s%s",
                                     used == 0 ? "" : "; ", network->why_not[k]);
    return CH_FAIL(CHORUS_ERR_UNSUPPORTED,
                   "no network reaches the PEs of other hosts: %s; CHORUS_TRANSPORT is \"%s\"; "
                   "%s",
                   used == 0 ? "none is allowed" : why, transport, advice);
}

/* Open the first kind that works on all PEs. */
static chorus_status choose_kind(struct ch_network *network, const struct ch_kinds *kinds,
                                 const struct ch_link_terms *terms)
{
    for (uint32_t k = 0; k < CH_KIND_COUNT; k++) {
        chorus_status st;

        if (!kinds->is_allowed[k]) continue;
        st = open_kind(network, ch_kind_ops[k], terms);
        network->kind = k;
        if (st != CHORUS_ERR_UNSUPPORTED) return st;
        (void)snprintf(network->why_not[k], sizeof(network->why_not[k]), "%s",
                       ch_error_message());
        ch_error_forget();
    }
    return fail_no_kind(network, kinds, terms->options->transport);
}

/* Are all PEs on one host, so that no network between hosts is needed? */
static bool is_one_host(const struct ch_network *network)
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

/* --- heaps on GPUs ------------------------------------------------------------------------ */

/* Bytes of the pool of each PE for what is in GPU memory at one end. */
#define STAGING_BYTES ((size_t)8 << 20)

/* Let PEs of other hosts access the pools, by the network without `staged`. */
static chorus_status attach_pools(struct ch_network *network)
{
    const struct ch_memory_part own = ch_heap_pool_at_owner(network->heap, network->me);
    uint64_t mine = 0, *all = calloc(network->n, sizeof(*all));
    struct ch_vote vote = {.step = network->ops->name, .values = &mine, .bytes = sizeof(mine)};
    chorus_status st;

    if (all == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the keys of %u PEs", network->n);
    vote.mine = network->ops->attach(network->ep, &own, &mine);
    st = ch_boot_vote(network->boot, &vote, all);
    for (uint32_t pe = 0; pe < network->n && st == CHORUS_OK; pe++) {
        const struct ch_memory_part there = ch_heap_pool_at_owner(network->heap, pe);

        if ((network->caps & CH_LINK_KEYS) != 0 &&
            network->nodes[pe] != network->nodes[network->me])
            st = network->ops->add_peer_key(network->ep, pe, &there, all[pe]);
    }
    free(all);
    return st;
}

/* See struct ch_staged_terms. */
static chorus_status exchange_memories(void *arg, chorus_status mine, uint64_t memory,
                                       uint64_t *all_out)
{
    struct ch_network *network = arg;
    const struct ch_vote vote = {"staged", mine, &memory, sizeof(memory)};

    return ch_boot_vote(network->boot, &vote, all_out);
}

/* Let the network reach PEs of this host, too, by memory that is mapped. */
static chorus_status add_beside(struct ch_network *network)
{
    const struct ch_beside_terms terms = {.heap = network->heap,
                                          .me = network->me,
                                          .n = network->n,
                                          .outer = network->ops,
                                          .outer_ep = network->ep};
    struct ch_endpoint *ep;

    CH_TRY(ch_beside_open(&terms, &ep));
    network->ops = &ch_link_beside;
    network->ep = ep;
    network->caps = network->ops->caps(ep);
    return CHORUS_OK;
}

/* Is any PE of this host not near? */
static bool has_beside(const struct ch_network *network)
{
    for (uint32_t pe = 0; pe < network->n; pe++)
        if (network->is_reached[pe] && ch_heap_is_mapped(network->heap, pe)) return true;
    return false;
}

/* Put `staged` over the network: objects on peers are on GPUs. */
static chorus_status put_staged_over(struct ch_network *network,
                                     const struct ch_link_terms *terms)
{
    const struct ch_staged_terms staged = {
        .link = *terms,
        .inner = network->ops,
        .inner_ep = network->ep,
        .device = ch_heap_device(network->heap),
        .is_far = network->is_reached,
        .attached = ch_heap_pool_at_owner(network->heap, network->me),
        .memory = network->staging,
        .on_device = network->staging,
        .bytes = STAGING_BYTES,
        .is_direct = network->is_direct,
        .why_staged = network->why_staged,
        .flush = (enum ch_staged_flush)network->flush,
        .has_flush = network->has_flush,
        .exchange = exchange_memories,
        .exchange_arg = network};
    struct ch_endpoint *ep;

    CH_TRY(ch_staged_open(&staged, &ep));
    network->ops = &ch_link_staged;
    network->ep = ep;
    network->caps = network->ops->caps(ep);
    return CHORUS_OK;
}

/* Prepare the network for a heap on GPUs, and the ring for kernels. */
static chorus_status open_staged(struct ch_network *network, const struct ch_link_terms *terms)
{
    struct ch_vote vote = {.step = "staged"};

    if (network->ops != NULL) vote.mine = attach_pools(network);
    if (vote.mine == CHORUS_OK && (network->ops == NULL || has_beside(network)))
        vote.mine = add_beside(network);
    if (vote.mine == CHORUS_OK)
        vote.mine = ch_heap_pool_alloc(network->heap, STAGING_BYTES, &network->staging);
    if (vote.mine == CHORUS_OK)
        vote.mine = ch_proxy_open(network->heap, network, &network->proxy);
    CH_TRY(ch_boot_vote(network->boot, &vote, NULL));
    CH_TRY(ch_direct_agree(network));
    return put_staged_over(network, terms);
}

/* --- opening ------------------------------------------------------------------------------ */

/* Count the cores of this host that are left for threads of each PE's network. PEs that are
 * bound to a core each leave the others to threads. */
static uint32_t count_free_cores(const struct ch_boot *boot)
{
    if (boot->spare == NULL || *boot->spare == '\0' || boot->n_beside == 0) return 0;
    return boot->n_cores > boot->n_beside ? boot->n_cores / boot->n_beside - 1 : 0;
}

/* Open the first kind of `kinds` that works on all PEs, and start progress. */
static chorus_status open_network(struct ch_network *network, struct ch_heap *heap,
                                  const struct ch_options *options,
                                  struct ch_wait_policy *policy, const struct ch_kinds *kinds)
{
    struct ch_link_terms terms = {.options = options,
                                  .me = network->me,
                                  .n = network->n,
                                  .door = policy->door,
                                  .free_cores = count_free_cores(network->boot),
                                  .spare = network->boot->spare,
                                  .give_way = give_way,
                                  .give_way_arg = network};

    if (ch_heap_has_pool(heap)) terms.gpu = ch_device_id_of(ch_heap_device(heap));
    CH_TRY(set_maps(network, heap));
    CH_TRY(name_hosts(network));
    terms.hosts = network->hosts;
    terms.nodes = network->nodes;
    terms.maps = network->maps;
    CH_TRY(agree_on_secret(network->boot));
    memcpy(terms.secret, network->boot->secret, sizeof(terms.secret));
    memcpy(terms.listen, network->boot->listen, sizeof(terms.listen));
    network->kind = CH_KIND_COUNT;
    if (!is_one_host(network)) CH_TRY(choose_kind(network, kinds, &terms));
    if (ch_heap_has_pool(heap)) CH_TRY(open_staged(network, &terms));
    return ch_progress_start(network);
}

/* Does the job need no network, as every PE has mapped the objects and the segments of all
 * others? The same result on all PEs. */
static bool is_all_mapped(const struct ch_boot *boot, const struct ch_heap *heap,
                          const struct ch_kinds *kinds)
{
    if (boot->n == 1) return true;
    if (ch_heap_has_pool(heap)) return false;
    return kinds->may_map && boot->nodes == NULL && !kinds->is_allowed[CH_KIND_loop];
}

chorus_status ch_network_open(struct ch_boot *boot, struct ch_heap *heap,
                              const struct ch_options *options, struct ch_wait_policy *policy,
                              struct ch_network **network_out)
{
    struct ch_network *network;
    struct ch_kinds kinds;
    chorus_status st;

    *network_out = NULL;
    CH_TRY(ch_kinds_read(options->transport, &kinds));
    if (ch_heap_device(heap) != NULL && boot->n > 1 && !kinds.may_map)
        return CH_FAIL(CHORUS_ERR_UNSUPPORTED,
                       "the heap is on GPUs, which reach those of their own host without a "
                       "network, and CHORUS_TRANSPORT is \"%s\"; add \"mapped\" to it, or set "
                       "CHORUS_HEAP=host",
                       options->transport);
    if (is_all_mapped(boot, heap, &kinds)) return CHORUS_OK;
    network = calloc(1, sizeof(*network));
    if (network == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for a network");
    network->boot = boot;
    network->policy = policy;
    network->me = boot->me;
    network->n = boot->n;
    network->heap = heap;
    network->stop_fd = -1;
    (void)pthread_mutex_init(&network->lock, NULL);
    st = set_nodes(network, boot, &kinds);
    if (st == CHORUS_OK) st = set_reached(network);
    if (st == CHORUS_OK && (ch_heap_has_pool(heap) || !is_one_host(network))) {
        st = open_network(network, heap, options, policy, &kinds);
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
    ch_progress_stop(network);
    if (network->ops != NULL) network->ops->close(network->ep);
    network->ep = NULL;
    network->policy->progress = NULL;
}

void ch_network_close(struct ch_network *network)
{
    if (network == NULL) return;
    ch_network_disconnect(network);
    (void)pthread_mutex_destroy(&network->lock);
    ch_proxy_close(network->proxy);
    if (network->staging != NULL) ch_heap_pool_free(network->heap, network->staging);
    free(network->is_reached);
    free(network->maps);
    free(network->hosts);
    free(network->nodes);
    free(network);
}

const char *ch_network_why_not(const struct ch_network *network, uint32_t kind)
{
    return network->kind == kind ? NULL : network->why_not[kind];
}
