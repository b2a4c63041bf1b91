/* SPDX-License-Identifier: Apache-2.0 */
/*
 * direct.c: memory of GPUs that the inner network accesses itself, so that its data needs no
 * slots; and what users are told of that.
 *
 * Each part is attached to the inner network when it is attached to this one. If that fails,
 * data in this part is staged, and the key of the part informs peers of this. All PEs have
 * tried at the start whether memory can be attached (transport/direct.c), so a later refusal is
 * that of a limit, or of memory of the program.
 */
#include "transport/staged/inside.h"

#include <stdio.h>
#include <unistd.h>

/* ---- attaching ---- */

/* Attach the part with its dma-buf, if there is one: some networks need none. */
static chorus_status attach_by(const struct ch_link_ops *inner, struct ch_endpoint *inner_ep,
                               const struct ch_memory_part *part, uint64_t *key_out)
{
    const chorus_status status = inner->attach(inner_ep, part, key_out);

    if (part->dma_buf >= 0) (void)close(part->dma_buf);
    if (status != CHORUS_OK || *key_out != CH_STAGED_GPU_KEY) return status;
    inner->detach(inner_ep, part->base);
    return CH_FAIL(CHORUS_ERR_UNSUPPORTED,
                   "%s gave GPU memory the key of memory that is staged", inner->name);
}

chorus_status ch_staged_attach_gpu(const struct ch_link_ops *inner,
                                   struct ch_endpoint *inner_ep, const struct ch_device *device,
                                   const struct ch_memory_part *part, uint64_t *key_out)
{
    struct ch_memory_part on_gpu = *part;
    char why_no_dma_buf[CH_LINK_WHY_BYTES] = "";
    chorus_status status;

    on_gpu.dma_buf = -1;
    if (ch_device_dma_buf(device, part->base, part->bytes, &on_gpu.dma_buf, &on_gpu.offset) !=
        CHORUS_OK) {
        (void)snprintf(why_no_dma_buf, sizeof(why_no_dma_buf), "%s", ch_error_message());
        ch_error_forget();
    }
    status = attach_by(inner, inner_ep, &on_gpu, key_out);
    if (status != CHORUS_OK && why_no_dma_buf[0] != '\0')
        return CH_FAIL(status, "%s", why_no_dma_buf);
    return status;
}

uint64_t ch_staged_register(struct ch_endpoint *ep, const struct ch_memory_part *memory)
{
    uint64_t key;

    if (!ep->terms.is_direct) return CH_STAGED_GPU_KEY;
    if (ch_staged_attach_gpu(ep->inner, ep->inner_ep, ep->terms.device, memory, &key) ==
        CHORUS_OK)
        return key;
    CH_LOG(DEBUG, "%zu KiB of GPU memory at %p are staged: %s", memory->bytes >> 10,
           memory->base, ch_error_message());
    ch_error_forget();
    return CH_STAGED_GPU_KEY;
}

/* ---- operations ---- */

bool ch_staged_is_registered(struct ch_parts *parts, const void *at, size_t bytes)
{
    const uintptr_t end = (uintptr_t)at + bytes;
    uintptr_t next = (uintptr_t)at;

    while (next < end) {
        const struct ch_part *part = ch_parts_find(parts, next);

        if (part == NULL || part->kind != CH_MEMORY_GPU || part->key == CH_STAGED_GPU_KEY)
            return false;
        next = part->base + part->bytes;
    }
    return true;
}

/* ---- flushes ---- */

void ch_staged_note_put(struct ch_endpoint *ep, struct ch_staged_peer *peer, uint32_t ctx,
                        const void *there)
{
    if (ep->terms.flush != CH_STAGED_NO_FLUSH &&
        ch_parts_find(&peer->parts, (uintptr_t)there) != NULL)
        peer->is_unflushed[ctx] = true;
}

bool ch_staged_take_unflushed(struct ch_staged_peer *peer, uint32_t ctx)
{
    bool is_unflushed;

    if (ctx >= CH_STAGED_CTXS) return false;
    is_unflushed = peer->is_unflushed[ctx];
    peer->is_unflushed[ctx] = false;
    return is_unflushed;
}

bool ch_staged_flush(struct ch_endpoint *ep, struct ch_staged_peer *peer)
{
    chorus_status status = CHORUS_OK;

    if (ep->terms.has_flush) status = ch_device_flush_rdma(ep->terms.device);
    if (status != CHORUS_OK) ch_staged_fail_device(ep, peer, status);
    return status == CHORUS_OK;
}

/* ---- for users ---- */

void ch_staged_describe(const struct ch_endpoint *ep, uint32_t pe,
                        char why_out[CH_LINK_WHY_BYTES])
{
    const char *const why = ep->terms.why_staged;
    char over[CH_LINK_WHY_BYTES] = "";
    int used;

    ep->inner->describe(ep->inner_ep, pe, over);
    if (ep->terms.is_direct)
        used = snprintf(why_out, CH_LINK_WHY_BYTES, "GPU memory is registered with ");
    else if (why != NULL && why[0] != '\0')
        used = snprintf(why_out, CH_LINK_WHY_BYTES, "staged (%s) over ", why);
    else
        used = snprintf(why_out, CH_LINK_WHY_BYTES, "staged over ");
    if (used < CH_LINK_WHY_BYTES)
        (void)snprintf(why_out + used, (size_t)(CH_LINK_WHY_BYTES - used), "%s", over);
}
