/* SPDX-License-Identifier: Apache-2.0 */
/* links.c: opens the links of a PE, and performs the program's operations on them. */
#include "transport/links.h"

#include "transport/network.h"
#include "transport/proxy.h"

#include <stdlib.h>
#include <string.h>

/* ---- accesses of the program that are recorded: CHORUS_RECORD=full ---- */

/* Record an access that begins. Returns its index, for end_access. */
static uint64_t begin_access(const struct ch_links *links, enum ch_access_what what,
                             const void *symmetric, size_t bytes, uint64_t value, uint32_t pe)
{
    const struct ch_access access = {.what = what,
                                     .pe = pe,
                                     .offset = ch_heap_offset(links->heap, symmetric),
                                     .bytes = bytes,
                                     .value = value};

    return ch_record_access(links->record, &access);
}

/* Record a put, with its data if that is small. A source on a GPU is not read: the host may not
 * be able to. Returns its index, for end_access; 0: it is not recorded. */
static uint64_t begin_put(const struct ch_links *links, const void *dest, const void *source,
                          size_t bytes, uint32_t pe)
{
    uint64_t value = 0;

    if (links->record == NULL) return 0;
    if (bytes <= sizeof(value) && ch_heap_device(links->heap) == NULL)
        memcpy(&value, source, bytes);
    return begin_access(links, CH_ACCESS_put, dest, bytes, value, pe);
}

/* Record a get. Returns its index, for end_access; 0: it is not recorded. */
static uint64_t begin_get(const struct ch_links *links, const void *source, size_t bytes,
                          uint32_t pe)
{
    return links->record == NULL ? 0 : begin_access(links, CH_ACCESS_get, source, bytes, 0, pe);
}

/* Record an atomic operation. Returns its index, for end_access; 0: it is not recorded. */
static uint64_t begin_amo(const struct ch_links *links, enum ch_amo op, const void *word,
                          size_t bytes, uint64_t value, uint32_t pe)
{
    enum ch_access_what what = CH_ACCESS_change;

    if (links->record == NULL) return 0;
    if (op == CH_AMO_SET) what = CH_ACCESS_set;
    if (op == CH_AMO_ADD) what = CH_ACCESS_add;
    if (op == CH_AMO_FETCH) what = CH_ACCESS_fetch;
    return begin_access(links, what, word, bytes, value, pe);
}

/* Record that an access has ended. Returns `status`, the result of the access. */
static chorus_status end_access(const struct ch_links *links, uint64_t access,
                                chorus_status status)
{
    if (access != 0) ch_record_access_end(links->record, access);
    return status;
}

/* ---- operations of the program ---- */

/* The address by which the link names the peer's copy of a symmetric object. */
static char *peer_address(const struct ch_link *link, const void *symmetric)
{
    /* Computed with integers, since the two addresses are in different objects. */
    return (char *)((uintptr_t)symmetric + (uintptr_t)link->shift);
}

/* Unlock the network after an operation was begun under its lock with this status, so that it
 * is sent; then wait until is_over holds, unless that is null. */
static chorus_status post_and_wait(struct ch_link *link, uint32_t ctx, chorus_status status,
                                   ch_is_over_fn is_over)
{
    ch_network_unlock_posted(link->network);
    return status == CHORUS_OK ? ch_network_wait(link, ctx, is_over) : status;
}

/* Put to the link's peer, and wait until the source may change, unless is_nbi. `dest` is this
 * PE's address of the object. */
static chorus_status put_on_link(struct ch_link *link, uint32_t ctx, void *dest,
                                 const void *source, size_t bytes, bool is_nbi)
{
    chorus_status status;

    if (bytes == 0) return CHORUS_OK;
    ch_network_lock(link->network);
    status = link->ops->put(link->ep, ctx, link->pe, peer_address(link, dest), source, bytes);
    return post_and_wait(link, ctx, status, is_nbi ? NULL : link->ops->is_sent);
}

/* Get from the link's peer, and wait for the data, unless is_nbi. `source` is this PE's address
 * of the object. */
static chorus_status get_on_link(struct ch_link *link, uint32_t ctx, void *dest,
                                 const void *source, size_t bytes, bool is_nbi)
{
    chorus_status status;

    if (bytes == 0) return CHORUS_OK;
    ch_network_lock(link->network);
    status = link->ops->get(link->ep, ctx, link->pe, dest, peer_address(link, source), bytes);
    return post_and_wait(link, ctx, status, is_nbi ? NULL : link->ops->is_done);
}

chorus_status ch_links_put(struct ch_links *links, uint32_t ctx, void *symmetric_dest,
                           const void *source, size_t bytes, uint32_t pe)
{
    const uint64_t access = begin_put(links, symmetric_dest, source, bytes, pe);

    return end_access(links, access,
                      put_on_link(&links->to[pe], ctx, symmetric_dest, source, bytes, false));
}

chorus_status ch_links_put_nbi(struct ch_links *links, uint32_t ctx, void *symmetric_dest,
                               const void *source, size_t bytes, uint32_t pe)
{
    const uint64_t access = begin_put(links, symmetric_dest, source, bytes, pe);

    return end_access(links, access,
                      put_on_link(&links->to[pe], ctx, symmetric_dest, source, bytes, true));
}

chorus_status ch_links_get(struct ch_links *links, uint32_t ctx, void *dest,
                           const void *symmetric_source, size_t bytes, uint32_t pe)
{
    const uint64_t access = begin_get(links, symmetric_source, bytes, pe);

    return end_access(links, access,
                      get_on_link(&links->to[pe], ctx, dest, symmetric_source, bytes, false));
}

chorus_status ch_links_get_nbi(struct ch_links *links, uint32_t ctx, void *dest,
                               const void *symmetric_source, size_t bytes, uint32_t pe)
{
    const uint64_t access = begin_get(links, symmetric_source, bytes, pe);

    return end_access(links, access,
                      get_on_link(&links->to[pe], ctx, dest, symmetric_source, bytes, true));
}

/* Perform op on the peer's copy of a word. If fetched_out is not null, wait for the old value.
 */
static chorus_status amo_on_link(struct ch_link *link, uint32_t ctx, enum ch_amo op,
                                 void *symmetric, size_t bytes, uint64_t value,
                                 uint64_t compare, uint64_t *fetched_out)
{
    chorus_status status;

    CH_TRY(ch_amo_check(symmetric, bytes));
    ch_network_lock(link->network);
    status = link->ops->amo(link->ep, ctx, link->pe, op, peer_address(link, symmetric), bytes,
                            value, compare, fetched_out);
    return post_and_wait(link, ctx, status, fetched_out != NULL ? link->ops->is_done : NULL);
}

chorus_status ch_links_amo(struct ch_links *links, uint32_t ctx, enum ch_amo op,
                           void *symmetric, size_t bytes, uint64_t value, uint64_t compare,
                           uint32_t pe, uint64_t *fetched_out)
{
    const uint64_t access = begin_amo(links, op, symmetric, bytes, value, pe);

    return end_access(
        links, access,
        amo_on_link(&links->to[pe], ctx, op, symmetric, bytes, value, compare, fetched_out));
}

/* Put, then change the word: operations of such links are complete on return, so the data
 * arrives before the word changes. */
static chorus_status put_then_amo(struct ch_link *link, uint32_t ctx,
                                  const struct ch_put_signal *p)
{
    CH_TRY(put_on_link(link, ctx, p->dest, p->source, p->bytes, false));
    __atomic_thread_fence(__ATOMIC_ACQ_REL);
    return amo_on_link(link, ctx, p->op, p->word, sizeof(*p->word), p->value, 0, NULL);
}

/* Put data and a word to the link's peer, and wait until the source may change, unless is_nbi.
 */
static chorus_status put_signal_on_link(struct ch_link *link, uint32_t ctx,
                                        const struct ch_put_signal *p, bool is_nbi)
{
    struct ch_put_signal at_peer = *p;
    chorus_status status;

    if (link->ops->put_signal == NULL) return put_then_amo(link, ctx, p);
    at_peer.dest = peer_address(link, p->dest);
    at_peer.word = (uint64_t *)(void *)peer_address(link, p->word);
    ch_network_lock(link->network);
    status = link->ops->put_signal(link->ep, ctx, link->pe, &at_peer);
    return post_and_wait(link, ctx, status, is_nbi ? NULL : link->ops->is_sent);
}

/* Two accesses are recorded: that of the data, if there is any, and that of the word. */
chorus_status ch_links_put_signal(struct ch_links *links, uint32_t ctx,
                                  const struct ch_put_signal *put, uint32_t pe, bool is_nbi)
{
    const uint64_t data =
        put->bytes != 0 ? begin_put(links, put->dest, put->source, put->bytes, pe) : 0;
    const uint64_t word =
        begin_amo(links, put->op, put->word, sizeof(*put->word), put->value, pe);
    const chorus_status status = put_signal_on_link(&links->to[pe], ctx, put, is_nbi);

    return end_access(links, word, end_access(links, data, status));
}

/* Operations of mapped peers and GPUs are complete: only the order of this thread's own
 * accesses remains. */
chorus_status ch_links_fence(struct ch_links *links, uint32_t ctx)
{
    __atomic_thread_fence(links->near_ops->load == NULL ? __ATOMIC_ACQ_REL : __ATOMIC_SEQ_CST);
    return links->network == NULL ? CHORUS_OK : ch_network_fence(links->network, ctx);
}

chorus_status ch_links_quiet(struct ch_links *links, uint32_t ctx, uint32_t pe)
{
    const bool is_near = pe != CH_LINK_ALL && links->to[pe].network == NULL;

    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return links->network == NULL || is_near ? CHORUS_OK
                                             : ch_network_quiet(links->network, ctx, pe);
}

void *ch_links_peer_address(const struct ch_links *links, const void *symmetric, uint32_t pe)
{
    return links->to[pe].network == NULL ? peer_address(&links->to[pe], symmetric) : NULL;
}

bool ch_links_must_load(const struct ch_links *links)
{
    return links->near_ops->load != NULL;
}

chorus_status ch_links_load(struct ch_links *links, void *out, const void *symmetric,
                            size_t bytes)
{
    return links->near_ops->load(links->near, out, symmetric, bytes);
}

/* ---- what algorithms use, base/link.h ---- */

void ch_link_post(struct ch_link *link, void *there, const void *src, size_t bytes)
{
    ch_network_lock(link->network);
    (void)link->ops->put(link->ep, CH_CTX_ALGORITHMS, link->pe, there, src, bytes);
    ch_network_unlock_posted(link->network);
}

void ch_link_post_word(struct ch_link *link, uint64_t *there, uint64_t value,
                       enum ch_sense sense)
{
    ch_link_post_signal(link, NULL, NULL, 0, there, value, sense);
}

void ch_link_post_signal(struct ch_link *link, void *there, const void *src, size_t bytes,
                         uint64_t *word, uint64_t value, enum ch_sense sense)
{
    const struct ch_put_signal put = {there, src, bytes, word, CH_AMO_SET, value};

    (void)sense;
    ch_network_lock(link->network);
    (void)link->ops->put_signal(link->ep, CH_CTX_ALGORITHMS, link->pe, &put);
    ch_network_unlock_posted(link->network);
}

chorus_status ch_link_flush(struct ch_link *link)
{
    return ch_network_wait(link, CH_CTX_ALGORITHMS, link->ops->is_sent);
}

int ch_link_post_receive(struct ch_link *link, void *slot, void *dst, size_t bytes)
{
    bool is_posted;

    if (link->ops->receive == NULL) return 0;
    ch_network_lock(link->network);
    is_posted = link->ops->receive(link->ep, link->pe, slot, dst, bytes);
    ch_network_unlock(link->network);
    return is_posted;
}

int ch_link_end_receive(struct ch_link *link)
{
    bool is_there;

    ch_network_lock(link->network);
    is_there = link->ops->received(link->ep, link->pe);
    ch_network_unlock(link->network);
    return is_there;
}

void ch_link_abandon(struct ch_link *link)
{
    if (!ch_network_is_over(link, CH_CTX_ALGORITHMS, link->ops->is_sent))
        ch_network_abandon(link->network, link->pe);
}

void ch_link_start_get(struct ch_link *link, uint32_t ctx, void *dst, const char *there,
                       size_t bytes)
{
    ch_network_lock(link->network);
    (void)link->ops->get(link->ep, ctx, link->pe, dst, there, bytes);
    ch_network_unlock_posted(link->network);
}

bool ch_link_is_done(struct ch_link *link, uint32_t ctx)
{
    return ch_network_is_over(link, ctx, link->ops->is_done);
}

chorus_status ch_links_fetch(struct ch_links *links, uint32_t ctx, void *dst, const char *there,
                             size_t bytes, uint32_t pe)
{
    struct ch_link *link = &links->host[pe];

    ch_link_start_get(link, ctx, dst, there, bytes);
    return ch_network_wait(link, ctx, link->ops->is_done);
}

/* ---- memory ---- */

chorus_status ch_links_attach(struct ch_links *links, const struct ch_memory_part *part,
                              uint64_t *key_out)
{
    struct ch_network *network = links->network;
    chorus_status st;

    *key_out = 0;
    if (network == NULL) return CHORUS_OK;
    ch_network_lock(network);
    st = network->ops->attach(network->ep, part, key_out);
    ch_network_unlock(network);
    return st;
}

void ch_links_detach(struct ch_links *links, void *base)
{
    struct ch_network *network = links->network;

    if (network == NULL || network->ep == NULL || base == NULL) return;
    ch_network_lock(network);
    network->ops->detach(network->ep, base);
    ch_network_unlock(network);
}

bool ch_links_need_keys(const struct ch_links *links)
{
    return links->network != NULL && (links->network->caps & CH_LINK_KEYS) != 0;
}

/* The link to a PE that needs the network for its segment, its objects or both; null: it does
 * not. */
static const struct ch_link *any_link(struct ch_links *links, uint32_t pe)
{
    const struct ch_link *link = ch_links_host_link(links, pe);

    return link != NULL ? link : ch_links_network_link(links, pe);
}

chorus_status ch_links_add_peer_part(struct ch_links *links, uint32_t pe,
                                     const struct ch_memory_part *there, uint64_t key)
{
    const struct ch_link *link = any_link(links, pe);
    chorus_status st;

    if (link == NULL || !ch_links_need_keys(links)) return CHORUS_OK;
    ch_network_lock(link->network);
    st = link->ops->add_peer_key(link->ep, pe, there, key);
    ch_network_unlock(link->network);
    return st;
}

chorus_status ch_links_add_peer_key(struct ch_links *links, uint32_t pe, const char *there,
                                    size_t bytes, uint64_t key)
{
    const struct ch_memory_part part = {.base = (char *)(uintptr_t)there, .bytes = bytes};

    return ch_links_add_peer_part(links, pe, &part, key);
}

void ch_links_drop_peer_key(struct ch_links *links, uint32_t pe, const char *there)
{
    const struct ch_link *link = any_link(links, pe);

    if (link == NULL || !ch_links_need_keys(links) || link->network->ep == NULL) return;
    ch_network_lock(link->network);
    link->ops->drop_peer_key(link->ep, pe, there);
    ch_network_unlock(link->network);
}

/* ---- start and end ---- */

struct ch_link *ch_links_network_link(struct ch_links *links, uint32_t pe)
{
    return links->to[pe].network != NULL ? &links->to[pe] : NULL;
}

struct ch_link *ch_links_host_link(struct ch_links *links, uint32_t pe)
{
    return links->host[pe].network != NULL ? &links->host[pe] : NULL;
}

const struct ch_ring *ch_links_ring(const struct ch_links *links)
{
    const struct ch_network *network = links->network;

    return network == NULL || network->proxy == NULL ? NULL : ch_proxy_ring(network->proxy);
}

bool ch_links_keep_order(const struct ch_links *links)
{
    return links->network == NULL || !links->network->is_direct;
}

void ch_links_expect_posts(struct ch_links *links)
{
    struct ch_network *network = links->network;
    const bool is_awake = ch_proxy_is_busy(network->proxy);

    ch_proxy_expect(network->proxy);
    if (!is_awake) ch_progress_wake(network);
}

chorus_status ch_links_drain_posts(struct ch_links *links)
{
    const struct ch_proxy *proxy = links->network->proxy;
    chorus_status status = CHORUS_OK;
    struct ch_wait w = {0};
    bool is_broken;
    uint64_t posted;

    CH_TRY(ch_proxy_posted(proxy, &posted, &is_broken));
    if (is_broken) {
        (void)ch_links_begin_settle(links, CHORUS_ERR_TIMEOUT);
        return CHORUS_OK;
    }
    ch_links_expect_posts(links);
    while (status == CHORUS_OK && ch_proxy_carried_out(proxy) < posted)
        status = ch_wait_slow(links->policy, &w);
    ch_wait_end(links->policy, &w);
    if (status == CHORUS_OK) return CHORUS_OK;
    return CH_FAIL(status,
                   "requests of this PE's kernels to PEs that are not near were not sent: %s",
                   ch_wait_why(links->policy, status));
}

bool ch_links_find_late(struct ch_links *links, uint32_t ctx, uint32_t *pe_out)
{
    struct ch_network *network = links->network;

    return network != NULL && ch_network_find_late(network, ctx, pe_out);
}

bool ch_links_is_late(struct ch_links *links, uint32_t ctx, uint32_t pe)
{
    struct ch_link *link = ch_links_network_link(links, pe);

    return link != NULL && !ch_network_is_over(link, ctx, link->network->ops->is_done);
}

const uint32_t *ch_links_hosts(const struct ch_links *links)
{
    return links->network == NULL ? NULL : links->network->nodes;
}

const uint32_t *ch_links_nodes(const struct ch_links *links)
{
    return ch_heap_has_pool(links->heap) ? ch_heap_groups(links->heap) : ch_links_hosts(links);
}

const char *ch_links_why_not(const struct ch_links *links, uint32_t kind)
{
    return links->network == NULL ? NULL : ch_network_why_not(links->network, kind);
}

/* Set the links to a PE. Those to PEs that are reached without the network have no operations
 * until ch_links_map. */
static void set_links(struct ch_links *links, uint32_t pe)
{
    struct ch_network *network = links->network;
    const char *there = ch_heap_data_at_owner(links->heap, pe),
               *here = ch_heap_data_at_owner(links->heap, links->me);
    const bool is_near_gpu =
        ch_heap_device(links->heap) != NULL && ch_heap_is_near(links->heap, pe);
    struct ch_link link = {.pe = pe};

    links->to[pe] = links->host[pe] = link;
    if (network == NULL) return;
    link = (struct ch_link){network->ops, network->ep, network, there - here, pe};
    if (network->nodes[pe] != network->nodes[links->me]) links->host[pe] = link;
    if (network->is_reached[pe] && !is_near_gpu) links->to[pe] = link;
}

chorus_status ch_links_open(struct ch_boot *boot, struct ch_heap *heap,
                            const struct ch_options *options, struct ch_wait_policy *policy,
                            struct ch_links **links_out)
{
    struct ch_links *links =
        calloc(1, sizeof(*links) + 2 * (size_t)boot->n * sizeof(links->to[0]));
    chorus_status status;

    if (links == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for a transport to %u PEs", boot->n);
    links->heap = heap;
    links->policy = policy;
    links->boot = boot;
    links->me = boot->me;
    links->n = boot->n;
    links->host = links->to + boot->n;
    if (options->records_all) links->record = ch_heap_record(heap, boot->me);
    status = ch_network_open(boot, heap, options, policy, &links->network);
    if (status != CHORUS_OK) {
        free(links);
        return status;
    }
    for (uint32_t pe = 0; pe < links->n; pe++)
        set_links(links, pe);
    *links_out = links;
    return CHORUS_OK;
}

chorus_status ch_links_map(struct ch_links *links)
{
    struct ch_heap *heap = links->heap;
    const bool is_on_gpu = ch_heap_device(heap) != NULL;
    const struct ch_link_terms terms = {.heap = heap, .policy = links->policy};

    links->near_ops = is_on_gpu ? &ch_link_gpu : &ch_link_mapped;
    CH_TRY(links->near_ops->open(&terms, &links->near));
    for (uint32_t pe = 0; pe < links->n; pe++) {
        struct ch_link *link = &links->to[pe];

        if (link->network != NULL) continue;
        link->ops = links->near_ops;
        link->ep = links->near;
        link->shift = is_on_gpu
                          ? ch_heap_data_base(heap, pe) - ch_heap_data_base(heap, links->me)
                          : ch_heap_base(heap, pe) - ch_heap_base(heap, links->me);
    }
    if (links->record != NULL) links->record->is_full = 1;
    return CHORUS_OK;
}

bool ch_links_list_near(const struct ch_links *links, struct ch_near near_out[])
{
    if (ch_links_must_load(links) || links->record != NULL) return false;
    for (uint32_t pe = 0; pe < links->n; pe++)
        near_out[pe] =
            links->to[pe].network != NULL
                ? (struct ch_near){0, NULL}
                : (struct ch_near){links->to[pe].shift, ch_heap_door(links->heap, pe)};
    return true;
}

void ch_links_disconnect(struct ch_links *links)
{
    if (links != NULL) ch_network_disconnect(links->network);
}

void ch_links_close(struct ch_links *links)
{
    if (links == NULL) return;
    if (links->near_ops != NULL) links->near_ops->close(links->near);
    ch_network_close(links->network);
    free(links);
}
