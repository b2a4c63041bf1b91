/* SPDX-License-Identifier: Apache-2.0 */
#include "staged_net.h"

#include "gpu_loop.h"
#include "late_gpu.h"
#include "transport/staged/staged.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    NESTED = 6,
    PES = STAGED_NET_PES,
    BYTES = 512 << 10,
    MEMORY_AT = CH_LINK_ADDRESS_BYTES - 8
};

struct staged_net staged_net = {.is_all_on_gpu = true};

struct ch_endpoint {
    struct ch_staged_terms terms;
    struct ch_options options; /* of the inner network */
    ptrdiff_t maps[PES];       /* 0: PEs that are threads have everything at its own address */
    bool is_far[PES];
    struct ch_endpoint *staged; /* null until the PEs have met */
    const char (*addresses)[CH_LINK_ADDRESS_BYTES];
    struct ch_device *device;
    uint64_t random;
    struct ch_link_ops changed; /* loop, but for some operations */
    int depth;
};

static _Thread_local struct ch_endpoint *own; /* of the PE that is this thread */

struct ch_endpoint *staged_net_inside(struct ch_endpoint *ep)
{
    return ep->staged;
}

static chorus_status open_memory(struct ch_endpoint *ep)
{
    uint64_t key; /* not needed: the inner networks have none */

    ep->terms.bytes = staged_net.bytes != 0 ? staged_net.bytes : BYTES;
    ep->terms.memory =
        mmap(NULL, ep->terms.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ep->terms.on_device = ep->terms.memory;
    ep->terms.attached =
        (struct ch_memory_part){.base = ep->terms.memory, .bytes = ep->terms.bytes};
    return ep->terms.inner->attach(
        ep->terms.inner_ep,
        &(struct ch_memory_part){.base = ep->terms.memory, .bytes = ep->terms.bytes}, &key);
}

/* A device works while its PE waits for room. */
static void give_way(void *arg)
{
    struct ch_endpoint *ep = arg;

    late_gpu_run((int)ep->terms.link.me, &ep->random);
    if (staged_net.is_locked) (void)pthread_mutex_unlock(&staged_net.locks[ep->terms.link.me]);
    (void)sched_yield();
    if (staged_net.is_locked) (void)pthread_mutex_lock(&staged_net.locks[ep->terms.link.me]);
}

/* What another thread does while this one waits in the inner network. */
static chorus_status nested_put_signal(struct ch_endpoint *inner_ep, uint32_t ctx, uint32_t pe,
                                       const struct ch_put_signal *put)
{
    struct ch_endpoint *ep = own;
    bool has_moved;

    ep->depth++;
    for (int i = 0; i < NESTED && ep->depth == 1; i++) {
        late_gpu_run((int)ep->terms.link.me, &ep->random);
        CH_TRY(ch_link_staged.progress(ep->staged, &has_moved));
        (void)sched_yield();
    }
    ep->depth--;
    return ch_link_loop.put_signal(inner_ep, ctx, pe, put);
}

static chorus_status net_open(const struct ch_link_terms *terms, struct ch_endpoint **ep_out)
{
    struct ch_endpoint *ep = calloc(1, sizeof(*ep));
    struct ch_link_terms inner;
    struct ch_device_id id;

    ep->terms.link = *terms;
    ep->terms.link.give_way = give_way;
    ep->terms.link.give_way_arg = ep;
    inner = ep->terms.link;
    ep->changed = ch_link_loop;
    if (staged_net.is_nested) ep->changed.put_signal = nested_put_signal;
    if (staged_net.is_direct) gpu_loop_change(&ep->changed);
    gpu_loop_begin(terms->me);
    ep->terms.inner = staged_net.is_nested || staged_net.is_direct ? &ep->changed
                      : staged_net.is_over_loop                    ? &ch_link_loop
                                                                   : &ch_link_tcp;
    ep->terms.is_direct = staged_net.is_direct;
    ep->terms.flush = gpu_loop.flush;
    ep->terms.has_flush = gpu_loop.flush != CH_STAGED_NO_FLUSH;
    own = ep;
    ep->options = *terms->options;
    ep->options.transport = ep->terms.inner->name;
    inner.options = &ep->options;
    inner.maps = ep->maps;
    ep->random = 1 + terms->me + staged_net.seed * 977;
    CH_TRY(ch_device_find(0, terms->me, terms->n, &id));
    CH_TRY(ch_device_open(&id, &ep->device));
    ep->terms.device = ep->device;
    CH_TRY(ep->terms.inner->open(&inner, &ep->terms.inner_ep));
    *ep_out = ep;
    return open_memory(ep);
}

static void net_close(struct ch_endpoint *ep)
{
    if (ep->staged != NULL)
        ch_link_staged.close(ep->staged);
    else
        ep->terms.inner->close(ep->terms.inner_ep);
    gpu_loop_end();
    ch_device_close(ep->device);
    (void)munmap(ep->terms.memory, ep->terms.bytes);
    free(ep);
}

static void net_address(const struct ch_endpoint *ep, char out[CH_LINK_ADDRESS_BYTES])
{
    ep->terms.inner->address(ep->terms.inner_ep, out);
    memcpy(out + MEMORY_AT, &ep->terms.memory, sizeof(ep->terms.memory));
}

static chorus_status take_memories(void *arg, chorus_status mine, uint64_t memory,
                                   uint64_t *all_out)
{
    const struct ch_endpoint *ep = arg;

    (void)memory; /* it is in this PE's address */
    for (uint32_t pe = 0; pe < ep->terms.link.n; pe++)
        memcpy(&all_out[pe], ep->addresses[pe] + MEMORY_AT, sizeof(all_out[pe]));
    return mine;
}

static chorus_status net_meet(struct ch_endpoint *ep,
                              const char (*addresses)[CH_LINK_ADDRESS_BYTES])
{
    CH_TRY(ep->terms.inner->meet(ep->terms.inner_ep, addresses));
    for (uint32_t pe = 0; pe < ep->terms.link.n; pe++)
        ep->is_far[pe] = pe != ep->terms.link.me;
    ep->addresses = addresses;
    ep->terms.is_far = ep->is_far;
    ep->terms.exchange = take_memories;
    ep->terms.exchange_arg = ep;
    return ch_staged_open(&ep->terms, &ep->staged);
}

/* A part of this PE or a peer, with its kind. */
static struct ch_memory_part with_kind(const struct ch_endpoint *ep,
                                       const struct ch_memory_part *part)
{
    struct ch_memory_part of_kind = *part;

    if (staged_net.is_all_on_gpu || ch_device_is_on_gpu(ep->device, part->base))
        of_kind.kind = CH_MEMORY_GPU;
    return of_kind;
}

static chorus_status net_attach(struct ch_endpoint *ep, const struct ch_memory_part *part,
                                uint64_t *key)
{
    const struct ch_memory_part of_kind = with_kind(ep, part);

    return ch_link_staged.attach(ep->staged, &of_kind, key);
}

static chorus_status net_progress(struct ch_endpoint *ep, bool *moved_out)
{
    late_gpu_run((int)ep->terms.link.me, &ep->random);
    return ch_link_staged.progress(ep->staged, moved_out);
}

/* ---- the rest is passed on ---- */

static uint32_t net_caps(const struct ch_endpoint *ep)
{
    return ch_link_staged.caps(ep->staged);
}

static void net_detach(struct ch_endpoint *ep, void *base)
{
    ch_link_staged.detach(ep->staged, base);
}

static chorus_status net_add_peer_key(struct ch_endpoint *ep, uint32_t pe,
                                      const struct ch_memory_part *there, uint64_t key)
{
    const struct ch_memory_part of_kind = with_kind(ep, there);

    return ch_link_staged.add_peer_key(ep->staged, pe, &of_kind, key);
}

static void net_drop_peer_key(struct ch_endpoint *ep, uint32_t pe, const char *there)
{
    ch_link_staged.drop_peer_key(ep->staged, pe, there);
}

static chorus_status net_put(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe, char *there,
                             const void *src, size_t bytes)
{
    return ch_link_staged.put(ep->staged, ctx, pe, there, src, bytes);
}

static chorus_status net_put_signal(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe,
                                    const struct ch_put_signal *put)
{
    return ch_link_staged.put_signal(ep->staged, ctx, pe, put);
}

static chorus_status net_get(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe, void *dst,
                             const char *there, size_t bytes)
{
    return ch_link_staged.get(ep->staged, ctx, pe, dst, there, bytes);
}

static chorus_status net_amo(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe, enum ch_amo op,
                             void *there, size_t bytes, uint64_t value, uint64_t compare,
                             uint64_t *fetched_out)
{
    return ch_link_staged.amo(ep->staged, ctx, pe, op, there, bytes, value, compare,
                              fetched_out);
}

static bool net_receive(struct ch_endpoint *ep, uint32_t pe, void *slot, void *dst,
                        size_t bytes)
{
    return ch_link_staged.receive(ep->staged, pe, slot, dst, bytes);
}

static bool net_received(struct ch_endpoint *ep, uint32_t pe)
{
    return ch_link_staged.received(ep->staged, pe);
}

static bool net_is_sent(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe)
{
    return ch_link_staged.is_sent(ep->staged, ctx, pe);
}

static bool net_is_done(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe)
{
    return ch_link_staged.is_done(ep->staged, ctx, pe);
}

static void net_abandon(struct ch_endpoint *ep, uint32_t pe)
{
    ch_link_staged.abandon(ep->staged, pe);
}

static int net_watch(struct ch_endpoint *ep)
{
    return ch_link_staged.watch(ep->staged);
}

static void net_unwatch(struct ch_endpoint *ep)
{
    ch_link_staged.unwatch(ep->staged);
}

static void net_describe(const struct ch_endpoint *ep, uint32_t pe, char why[CH_LINK_WHY_BYTES])
{
    ch_link_staged.describe(ep->staged, pe, why);
}

const struct ch_link_ops staged_net_ops = {
    .name = "staged",
    .open = net_open,
    .close = net_close,
    .caps = net_caps,
    .address = net_address,
    .meet = net_meet,
    .attach = net_attach,
    .detach = net_detach,
    .add_peer_key = net_add_peer_key,
    .drop_peer_key = net_drop_peer_key,
    .put = net_put,
    .put_signal = net_put_signal,
    .get = net_get,
    .amo = net_amo,
    .receive = net_receive,
    .received = net_received,
    .is_sent = net_is_sent,
    .is_done = net_is_done,
    .abandon = net_abandon,
    .progress = net_progress,
    .watch = net_watch,
    .unwatch = net_unwatch,
    .describe = net_describe,
};
