/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu_loop.h"

#include "heap_pes.h"
#include "base/exec_host.h"
#include "late_gpu.h"
#include "transport/network.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { KEY = 77, PEERS = GPU_LOOP_PES };

struct gpu_loop gpu_loop;

/* Of the PE that is this thread: its parts on its GPU, and those of peers. */
static _Thread_local struct {
    uint32_t me, n_attached;
    struct ch_parts own, of_peers[PEERS];
} pe;

void gpu_loop_begin(uint32_t me)
{
    memset(&pe, 0, sizeof(pe));
    pe.me = me;
}

void gpu_loop_end(void)
{
    ch_parts_free(&pe.own);
    for (uint32_t peer = 0; peer < PEERS; peer++)
        ch_parts_free(&pe.of_peers[peer]);
}

static uint32_t caps(const struct ch_endpoint *ep)
{
    (void)ep;
    return CH_LINK_GPU | CH_LINK_KEYS;
}

static chorus_status attach(struct ch_endpoint *ep, const struct ch_memory_part *part,
                            uint64_t *key_out)
{
    const uint64_t key = gpu_loop.gives_bad_key ? UINT64_MAX : KEY + pe.me;

    if (part->kind == CH_MEMORY_HOST) return ch_link_loop.attach(ep, part, key_out);
    if (part->dma_buf < 0)
        return CH_FAIL(CHORUS_ERR_UNSUPPORTED, "loop: a part without a dma-buf");
    EXPECT(fcntl(part->dma_buf, F_GETFD) >= 0);
    if ((gpu_loop.refused[pe.me] >> pe.n_attached++ & 1) != 0)
        return CH_FAIL(CHORUS_ERR_UNSUPPORTED, "loop: the test refuses a part");
    (void)__atomic_add_fetch(&gpu_loop.attached, 1, __ATOMIC_RELAXED);
    *key_out = key;
    return ch_parts_add(&pe.own, (struct ch_part){.base = (uintptr_t)part->base,
                                                  .bytes = part->bytes,
                                                  .kind = CH_MEMORY_GPU});
}

static void detach(struct ch_endpoint *ep, void *base)
{
    struct ch_part part;

    if (!ch_parts_remove(&pe.own, (uintptr_t)base, &part)) {
        ch_link_loop.detach(ep, base);
        return;
    }
    (void)__atomic_sub_fetch(&gpu_loop.attached, 1, __ATOMIC_RELAXED);
    if (pe.own.n == 0) ch_parts_free(&pe.own);
}

static chorus_status add_peer_key(struct ch_endpoint *ep, uint32_t peer,
                                  const struct ch_memory_part *there, uint64_t key)
{
    (void)ep;
    if (there->kind == CH_MEMORY_HOST) return CHORUS_OK;
    EXPECT(key == KEY + peer);
    (void)__atomic_add_fetch(&gpu_loop.known, 1, __ATOMIC_RELAXED);
    return ch_parts_add(&pe.of_peers[peer], (struct ch_part){.base = (uintptr_t)there->base,
                                                             .bytes = there->bytes,
                                                             .kind = CH_MEMORY_GPU});
}

static void drop_peer_key(struct ch_endpoint *ep, uint32_t peer, const char *there)
{
    struct ch_part part;

    (void)ep;
    if (!ch_parts_remove(&pe.of_peers[peer], (uintptr_t)there, &part)) return;
    (void)__atomic_sub_fetch(&gpu_loop.known, 1, __ATOMIC_RELAXED);
    if (pe.of_peers[peer].n == 0) ch_parts_free(&pe.of_peers[peer]);
}

static bool is_on_gpu(const void *memory)
{
    return late_gpu_view(memory) != memory;
}

/* The adapter's way to memory, which is in host memory or in parts that were attached. */
static char *reach(struct ch_parts *parts, const void *memory, size_t bytes)
{
    const uintptr_t end = (uintptr_t)memory + bytes;
    const struct ch_part *part;

    if (!is_on_gpu(memory)) return (char *)(uintptr_t)memory;
    (void)__atomic_add_fetch(&gpu_loop.transfers, 1, __ATOMIC_RELAXED);
    for (uintptr_t at = (uintptr_t)memory; at < end; at = part->base + part->bytes) {
        part = ch_parts_find(parts, at);
        EXPECT(part != NULL);
        if (part == NULL) break;
    }
    return late_gpu_view(memory);
}

/* ---- data that GPUs do not see before they flush ---- */

struct unseen {
    uint64_t has_arrived; /* at the PE */
    uint32_t pe;
    char *dst, *data;
    size_t bytes;
    struct unseen *next;
};

static struct unseen *first, **last = &first; /* in the order of posting */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Show the data at *at, and remove it from the list. */
static void show(struct unseen **at)
{
    struct unseen *unseen = *at;

    ch_put_bytes(unseen->dst, unseen->data, unseen->bytes);
    *at = unseen->next;
    if (last == &unseen->next) last = at;
    free(unseen->data);
    free(unseen);
}

void gpu_loop_flush(int ordinal)
{
    (void)__atomic_add_fetch(&gpu_loop.flushes, 1, __ATOMIC_RELAXED);
    (void)pthread_mutex_lock(&lock);
    for (struct unseen **at = &first; *at != NULL;)
        if ((int)(*at)->pe == ordinal &&
            __atomic_load_n(&(*at)->has_arrived, __ATOMIC_ACQUIRE) != 0)
            show(at);
        else
            at = &(*at)->next;
    (void)pthread_mutex_unlock(&lock);
}

/* Put the data, and, after it, a word that says that it has arrived. */
static chorus_status put_unseen(struct ch_endpoint *ep, uint32_t ctx, uint32_t peer, char *dst,
                                const void *src, size_t bytes)
{
    struct unseen *unseen = calloc(1, sizeof(*unseen));

    *unseen = (struct unseen){.pe = peer, .dst = dst, .data = malloc(bytes), .bytes = bytes};
    (void)pthread_mutex_lock(&lock);
    *last = unseen;
    last = &unseen->next;
    (void)pthread_mutex_unlock(&lock);
    CH_TRY(ch_link_loop.put(ep, ctx, peer, unseen->data, src, bytes));
    return ch_link_loop.amo(ep, ctx, peer, CH_AMO_SET, &unseen->has_arrived,
                            sizeof(unseen->has_arrived), 1, 0, NULL);
}

/* ---- operations ---- */

static chorus_status put(struct ch_endpoint *ep, uint32_t ctx, uint32_t peer, char *there,
                         const void *src, size_t bytes)
{
    const char *const from = reach(&pe.own, src, bytes);
    char *const to = reach(&pe.of_peers[peer], there, bytes);

    if (gpu_loop.flush != CH_STAGED_NO_FLUSH && is_on_gpu(there))
        return put_unseen(ep, ctx, peer, to, from, bytes);
    return ch_link_loop.put(ep, ctx, peer, to, from, bytes);
}

static chorus_status get(struct ch_endpoint *ep, uint32_t ctx, uint32_t peer, void *dst,
                         const char *there, size_t bytes)
{
    EXPECT(gpu_loop.flush != CH_STAGED_FLUSH_WORDS || !is_on_gpu(dst));
    return ch_link_loop.get(ep, ctx, peer, reach(&pe.own, dst, bytes),
                            reach(&pe.of_peers[peer], there, bytes), bytes);
}

static chorus_status amo(struct ch_endpoint *ep, uint32_t ctx, uint32_t peer, enum ch_amo op,
                         void *there, size_t bytes, uint64_t value, uint64_t compare,
                         uint64_t *fetched_out)
{
    EXPECT(!is_on_gpu(there) && (fetched_out == NULL || !is_on_gpu(fetched_out)));
    return ch_link_loop.amo(ep, ctx, peer, op, there, bytes, value, compare, fetched_out);
}

static chorus_status put_signal(struct ch_endpoint *ep, uint32_t ctx, uint32_t peer,
                                const struct ch_put_signal *post)
{
    if (post->bytes != 0) CH_TRY(put(ep, ctx, peer, post->dest, post->source, post->bytes));
    return amo(ep, ctx, peer, post->op, post->word, sizeof(*post->word), post->value, 0, NULL);
}

void gpu_loop_change(struct ch_link_ops *ops)
{
    ops->caps = caps;
    ops->attach = attach;
    ops->detach = detach;
    ops->add_peer_key = add_peer_key;
    ops->drop_peer_key = drop_peer_key;
    ops->put = put;
    ops->get = get;
    ops->amo = amo;
    ops->put_signal = put_signal;
}
