/* SPDX-License-Identifier: Apache-2.0 */
#include "link_gpu.h"

#include "base/clock.h"
#include "transport/network.h"

#include <fcntl.h>
#include <stdlib.h>

enum { KEY = 5 };

struct link_gpu link_gpu;

/* The table, which is tcp's but for some operations; in the place of a network of tests. */
static struct ch_link_ops table;
extern const struct ch_link_ops ch_link_loop __attribute__((alias("table")));

/* Parts on the GPUs of this PE and of its peers. */
enum { PES_MAX = 8 };
static struct ch_parts own, of_peer[PES_MAX];
static uint32_t n_asked;
static struct ch_link_terms terms;

/* Puts to a peer that are not sent yet, of one context. */
enum { LATE_MAX = 16 };
static struct late {
    uint32_t ctx, n;
    bool is_leaving; /* a thread sends them, and may let others run */
    uint64_t until_ns;
    struct {
        char *there;
        const void *src;
        size_t bytes;
    } puts[LATE_MAX];
} late[PES_MAX];

static bool is_on_gpu(struct ch_parts *parts, const void *memory)
{
    return ch_parts_find(parts, (uintptr_t)memory) != NULL;
}

/* --- puts that are late ------------------------------------------------------------------- */

static chorus_status send_late(struct ch_endpoint *ep, uint32_t pe)
{
    struct late *l = &late[pe];
    chorus_status status = CHORUS_OK;

    l->is_leaving = true;
    for (uint32_t i = 0; i < l->n && status == CHORUS_OK; i++)
        status =
            ch_link_tcp.put(ep, l->ctx, pe, l->puts[i].there, l->puts[i].src, l->puts[i].bytes);
    l->is_leaving = false;
    l->n = 0;
    return status;
}

/* Before another operation of the context. */
static chorus_status send_earlier(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe)
{
    struct late *l = &late[pe];

    while (l->is_leaving && l->ctx == ctx)
        ch_link_give_way(&terms);
    return l->n != 0 && l->ctx == ctx ? send_late(ep, pe) : CHORUS_OK;
}

/* Add a put, if there is room and none of another context. */
static bool add_late(uint32_t ctx, uint32_t pe, char *there, const void *src, size_t bytes)
{
    struct late *l = &late[pe];

    if (link_gpu.delay_ns == 0 || l->is_leaving || l->n == LATE_MAX) return false;
    if (l->n != 0 && l->ctx != ctx) return false;
    if (l->n == 0) l->until_ns = ch_clock_ns() + link_gpu.delay_ns;
    l->ctx = ctx;
    l->puts[l->n].there = there;
    l->puts[l->n].src = src;
    l->puts[l->n].bytes = bytes;
    l->n++;
    return true;
}

static bool has_late(uint32_t ctx, uint32_t pe)
{
    for (uint32_t i = 0; i < PES_MAX; i++)
        if (late[i].n != 0 && late[i].ctx == ctx && (pe == i || pe == CH_LINK_ALL)) return true;
    return false;
}

static bool is_sent(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe)
{
    return !has_late(ctx, pe) && ch_link_tcp.is_sent(ep, ctx, pe);
}

static bool is_done(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe)
{
    return !has_late(ctx, pe) && ch_link_tcp.is_done(ep, ctx, pe);
}

static void abandon(struct ch_endpoint *ep, uint32_t pe)
{
    if (late[pe].n != 0 && !late[pe].is_leaving) (void)send_late(ep, pe);
    ch_link_tcp.abandon(ep, pe);
}

static chorus_status progress(struct ch_endpoint *ep, bool *moved_out)
{
    chorus_status status = CHORUS_OK;

    for (uint32_t pe = 0; pe < PES_MAX; pe++) {
        if (late[pe].n == 0 || late[pe].is_leaving) continue;
        if (ch_clock_ns() < late[pe].until_ns) continue;
        status = send_late(ep, pe);
        *moved_out = true;
    }
    return status == CHORUS_OK ? ch_link_tcp.progress(ep, moved_out) : status;
}

static int watch(struct ch_endpoint *ep)
{
    for (uint32_t pe = 0; pe < PES_MAX; pe++)
        if (late[pe].n != 0) return -1;
    return ch_link_tcp.watch(ep);
}

/* --- the table ---------------------------------------------------------------------------- */

static chorus_status open_adapter(const struct ch_link_terms *given,
                                  struct ch_endpoint **ep_out)
{
    terms = *given;
    return ch_link_tcp.open(given, ep_out);
}

static uint32_t caps(const struct ch_endpoint *ep)
{
    (void)ep;
    return CH_LINK_GPU | CH_LINK_KEYS;
}

static chorus_status attach(struct ch_endpoint *ep, const struct ch_memory_part *part,
                            uint64_t *key_out)
{
    struct ch_memory_part of_host = *part;

    *key_out = KEY;
    if (part->kind == CH_MEMORY_HOST) return ch_link_tcp.attach(ep, part, key_out);
    if (n_asked++ >= link_gpu.sound) {
        link_gpu.refused++;
        return CH_FAIL(CHORUS_ERR_UNSUPPORTED, "adapter: the test refuses; so it says");
    }
    if (part->dma_buf < 0 || fcntl(part->dma_buf, F_GETFD) < 0)
        return CH_FAIL(CHORUS_ERR_UNSUPPORTED, "adapter: there is no dma-buf");
    of_host.kind = CH_MEMORY_HOST;
    CH_TRY(ch_link_tcp.attach(ep, &of_host, key_out));
    *key_out = KEY;
    return ch_parts_add(&own,
                        (struct ch_part){.base = (uintptr_t)part->base, .bytes = part->bytes});
}

static void detach(struct ch_endpoint *ep, void *base)
{
    struct ch_part part;

    (void)ch_parts_remove(&own, (uintptr_t)base, &part);
    ch_link_tcp.detach(ep, base);
}

static chorus_status add_peer_key(struct ch_endpoint *ep, uint32_t pe,
                                  const struct ch_memory_part *there, uint64_t key)
{
    (void)ep;
    if (there->kind == CH_MEMORY_HOST) return CHORUS_OK;
    if (key != KEY) abort();
    return ch_parts_add(
        &of_peer[pe], (struct ch_part){.base = (uintptr_t)there->base, .bytes = there->bytes});
}

static void drop_peer_key(struct ch_endpoint *ep, uint32_t pe, const char *there)
{
    struct ch_part part;

    (void)ep;
    (void)ch_parts_remove(&of_peer[pe], (uintptr_t)there, &part);
}

static chorus_status put(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe, char *there,
                         const void *src, size_t bytes)
{
    const bool is_of_gpu = is_on_gpu(&own, src) || is_on_gpu(&of_peer[pe], there);

    if (is_of_gpu) link_gpu.transfers++;
    if (is_of_gpu && add_late(ctx, pe, there, src, bytes)) return CHORUS_OK;
    CH_TRY(send_earlier(ep, ctx, pe));
    return ch_link_tcp.put(ep, ctx, pe, there, src, bytes);
}

static chorus_status get(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe, void *dst,
                         const char *there, size_t bytes)
{
    if (is_on_gpu(&own, dst) || is_on_gpu(&of_peer[pe], there)) link_gpu.transfers++;
    CH_TRY(send_earlier(ep, ctx, pe));
    return ch_link_tcp.get(ep, ctx, pe, dst, there, bytes);
}

static chorus_status amo(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe, enum ch_amo op,
                         void *there, size_t bytes, uint64_t value, uint64_t compare,
                         uint64_t *fetched_out)
{
    if (is_on_gpu(&of_peer[pe], there)) abort();
    CH_TRY(send_earlier(ep, ctx, pe));
    return ch_link_tcp.amo(ep, ctx, pe, op, there, bytes, value, compare, fetched_out);
}

static chorus_status put_signal(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe,
                                const struct ch_put_signal *post)
{
    if (is_on_gpu(&of_peer[pe], post->word)) abort();
    if (post->bytes != 0 &&
        (is_on_gpu(&own, post->source) || is_on_gpu(&of_peer[pe], post->dest)))
        link_gpu.transfers++;
    CH_TRY(send_earlier(ep, ctx, pe));
    return ch_link_tcp.put_signal(ep, ctx, pe, post);
}

__attribute__((constructor)) static void fill_table(void)
{
    table = ch_link_tcp;
    table.name = "adapter";
    table.open = open_adapter;
    table.caps = caps;
    table.attach = attach;
    table.detach = detach;
    table.add_peer_key = add_peer_key;
    table.drop_peer_key = drop_peer_key;
    table.put = put;
    table.get = get;
    table.amo = amo;
    table.put_signal = put_signal;
    table.is_sent = is_sent;
    table.is_done = is_done;
    table.abandon = abandon;
    table.progress = progress;
    table.watch = watch;
    link_gpu.sound = UINT32_MAX;
}
