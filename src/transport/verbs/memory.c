/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.c: the addresses and keys that PEs publish, and the end of the use of memory by
 * operations that were given up.
 */
#include "transport/verbs/state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define CARD_MAGIC 0x43485643u /* "CHVC" */

_Static_assert(sizeof(struct ch_verbs_card) <= CH_LINK_ADDRESS_BYTES, "card");

chorus_status ch_verbs_fail_registration(const struct ch_endpoint *ep,
                                         const struct ch_memory_part *part, int error)
{
    const char *const what = part->kind == CH_MEMORY_GPU ? "GPU memory" : "memory";
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};

    (void)getrlimit(RLIMIT_MEMLOCK, &limit);
    if (error == ENOMEM && limit.rlim_cur != RLIM_INFINITY)
        return CH_FAIL(CHORUS_ERR_NOMEM,
                       "%s cannot register %zu KiB of %s: this process may lock %llu KiB; "
                       "raise that limit (ulimit -l, or LimitMEMLOCK of the service)",
                       ep->device.name, part->bytes >> 10, what,
                       (unsigned long long)limit.rlim_cur >> 10);
    if (part->kind == CH_MEMORY_GPU)
        return CH_FAIL(
            CHORUS_ERR_UNSUPPORTED,
            "%s cannot register %zu KiB of GPU memory by a dma-buf: %s; this needs a "
            "build with rdma-core 34, Linux 5.12, and drivers of the adapter and of "
            "the GPU that share memory by dma-bufs",
            ep->device.name, part->bytes >> 10, strerror(error));
    return CH_FAIL(CHORUS_ERR_SYSTEM, "%s cannot register %zu KiB of memory: %s",
                   ep->device.name, part->bytes >> 10, strerror(error));
}

/* Returns 1 or 2; 0: the device is InfiniBand. */
static uint8_t roce_version(const struct ch_verbs_device *device)
{
    if (!device->is_ethernet) return 0;
    return device->gid.gid_type == IBV_GID_TYPE_ROCE_V2 ? 2 : 1;
}

void ch_verbs_card(const struct ch_endpoint *ep, char card_out[CH_LINK_ADDRESS_BYTES])
{
    struct ch_verbs_card card = {.magic = CARD_MAGIC,
                                 .qpn = ep->calls->qp_num,
                                 .lid = ep->device.port_attr.lid,
                                 .mtu = (uint8_t)ep->device.port_attr.active_mtu,
                                 .is_ethernet = ep->device.is_ethernet,
                                 .version = roce_version(&ep->device)};

    card.reads = ep->device.attr.max_qp_rd_atom < CH_VERBS_READS
                     ? (uint8_t)ep->device.attr.max_qp_rd_atom
                     : CH_VERBS_READS;
    memcpy(card.gid, ep->device.gid.gid.raw, sizeof(card.gid));
    memcpy(card.where, ep->device.where, sizeof(card.where));
    memset(card_out, 0, CH_LINK_ADDRESS_BYTES);
    memcpy(card_out, &card, sizeof(card));
}

chorus_status ch_verbs_meet(struct ch_endpoint *ep, const char (*cards)[CH_LINK_ADDRESS_BYTES])
{
    struct ch_verbs_peer *peers = calloc(ep->terms.n, sizeof(*peers));

    if (peers == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for %u peers", ep->terms.n);
    for (uint32_t pe = 0; pe < ep->terms.n; pe++) {
        struct ch_verbs_card *card = &peers[pe].card;

        memcpy(card, cards[pe], sizeof(*card));
        card->where[sizeof(card->where) - 1] = '\0';
        if (card->magic == CARD_MAGIC && card->version == roce_version(&ep->device)) continue;
        (void)CH_FAIL(CHORUS_ERR_UNSUPPORTED,
                      "verbs: PE %u uses %s, and PE %u uses %s, which cannot reach each other; "
                      "name one kind for all with CHORUS_VERBS=device:port:gid",
                      pe, card->where, ep->terms.me, ep->device.where);
        free(peers);
        return CHORUS_ERR_UNSUPPORTED;
    }
    ep->peers = peers;
    return CHORUS_OK;
}

/* Tried with a descriptor that is none: whoever can register memory refuses that (EBADF). */
bool ch_verbs_takes_dma_buf(const struct ch_endpoint *ep)
{
    struct ibv_mr *mr;

    errno = 0;
    mr = CH_VERBS_REG_DMA_BUF(ep->pd, 0, CH_VERBS_PIECE_BYTES, 0, -1, IBV_ACCESS_LOCAL_WRITE);
    if (mr != NULL) (void)ibv_dereg_mr(mr);
    return errno != EOPNOTSUPP && errno != EPROTONOSUPPORT && errno != ENOSYS;
}

static void deregister(struct ch_verbs_regions *regions)
{
    (void)ibv_dereg_mr(regions->strict);
    if (regions->relaxed != NULL) (void)ibv_dereg_mr(regions->relaxed);
    free(regions);
}

/* Register a part once. Its addresses are those of this process, on a GPU too. Null: errno is
 * the reason. */
static struct ibv_mr *register_part(const struct ch_endpoint *ep,
                                    const struct ch_memory_part *part, unsigned access)
{
    if (part->kind == CH_MEMORY_HOST)
        return ibv_reg_mr(ep->pd, part->base, part->bytes, access);
    return CH_VERBS_REG_DMA_BUF(ep->pd, part->offset, part->bytes, (uintptr_t)part->base,
                                part->dma_buf, (int)access);
}

/*
 * Register memory twice: under the strict key a write passes no other, as words require; under
 * the relaxed key writes of data may pass each other on the way through the host, which some
 * hosts need to be fast. Without a bus, or if the second registration fails, both keys are the
 * same.
 */
static chorus_status make_regions(const struct ch_endpoint *ep,
                                  const struct ch_memory_part *part,
                                  struct ch_verbs_regions **regions_out)
{
    const unsigned access =
        IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
    struct ch_verbs_regions *regions = calloc(1, sizeof(*regions));

    if (regions == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for a part of the heap");
    regions->strict = register_part(ep, part, access);
    if (regions->strict == NULL) {
        const int error = errno;

        free(regions);
        return ch_verbs_fail_registration(ep, part, error);
    }
    if (!ep->device.is_software)
        regions->relaxed = register_part(ep, part, access | IBV_ACCESS_RELAXED_ORDERING);
    *regions_out = regions;
    return CHORUS_OK;
}

chorus_status ch_verbs_attach(struct ch_endpoint *ep, const struct ch_memory_part *part,
                              uint64_t *key_out)
{
    struct ch_verbs_regions *regions = NULL;
    chorus_status st;

    if (part->kind == CH_MEMORY_GPU && part->dma_buf < 0)
        return CH_FAIL(
            CHORUS_ERR_UNSUPPORTED,
            "%s cannot register %zu KiB of GPU memory: there is no dma-buf of it; an "
            "earlier message has the reason",
            ep->device.name, part->bytes >> 10);
    CH_TRY(make_regions(ep, part, &regions));
    if (part->kind == CH_MEMORY_HOST) (void)madvise(part->base, part->bytes, MADV_DOFORK);
    st = ch_parts_add(&ep->parts, (struct ch_part){.base = (uintptr_t)part->base,
                                                   .bytes = part->bytes,
                                                   .key = regions->strict->lkey,
                                                   .handle = regions,
                                                   .kind = part->kind});
    if (st != CHORUS_OK) {
        deregister(regions);
        return st;
    }
    *key_out =
        CH_VERBS_KEYS(regions->strict->rkey,
                      (regions->relaxed != NULL ? regions->relaxed : regions->strict)->rkey);
    return CHORUS_OK;
}

void ch_verbs_detach(struct ch_endpoint *ep, void *base)
{
    struct ch_part part;

    if (ch_parts_remove(&ep->parts, (uintptr_t)base, &part)) deregister(part.handle);
}

chorus_status ch_verbs_add_peer_key(struct ch_endpoint *ep, uint32_t pe,
                                    const struct ch_memory_part *there, uint64_t key)
{
    return ch_parts_add(&ep->peers[pe].places, (struct ch_part){.base = (uintptr_t)there->base,
                                                                .bytes = there->bytes,
                                                                .key = key,
                                                                .kind = there->kind});
}

void ch_verbs_drop_peer_key(struct ch_endpoint *ep, uint32_t pe, const char *there)
{
    struct ch_part part;

    (void)ch_parts_remove(&ep->peers[pe].places, (uintptr_t)there, &part);
}

/* Do operations that wait until the link is up use memory of the caller? */
static bool held_ops_use_memory(const struct ch_verbs_link *link)
{
    for (uint32_t i = 0; i < link->n_held; i++)
        if (link->held[i].src != NULL || link->held[i].dst != NULL) return true;
    return false;
}

/* Will memory of the caller be read or written, by the device or by this CPU? */
static bool uses_memory(const struct ch_verbs_link *link)
{
    for (uint64_t i = link->retired + 1; i <= link->posted; i++) {
        const struct ch_verbs_slot *slot = &link->slots[i % CH_VERBS_DEPTH];

        if (slot->is_direct || slot->dst != NULL) return true;
    }
    for (uint64_t i = link->answered; i != link->asked; i++)
        if (link->fetched[i % CH_VERBS_AMOS] != NULL) return true;
    return held_ops_use_memory(link);
}

/* End the links to pe whose operations use memory of the caller: a device does not access
 * memory for a queue pair that was destroyed, and completions of a failed link copy nothing. */
void ch_verbs_abandon(struct ch_endpoint *ep, uint32_t pe)
{
    for (uint32_t i = 0; i < ep->n_links; i++) {
        struct ch_verbs_link *link = ep->links[i];

        if (link->pe != pe || link->qp == NULL || !uses_memory(link)) continue;
        ch_verbs_fail(ep, link, CHORUS_ERR_TIMEOUT, "%s", CH_LINK_ABANDONED);
        (void)ibv_destroy_qp(link->qp);
        link->qp = NULL;
    }
}
