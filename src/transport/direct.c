/* SPDX-License-Identifier: Apache-2.0 */
/*
 * direct.c: whether the network of a job accesses memory of GPUs itself. Each PE tries, and all
 * vote: if one PE cannot, all of them stage such memory.
 *
 * The kernels of a GPU must see data that an adapter has stored before any word that announces
 * it. The driver says whether they do, and whether those of near GPUs, which load the data from
 * this one, do. If not, the receiver has to flush the data; all PEs then do so in the same way,
 * as the most demanding GPU of the job needs it.
 */
#include "transport/network.h"

#include "heap/heap.h"
#include "transport/staged/staged.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Attach the beginning of this PE's heap, and detach it. */
static chorus_status try_attach(const struct ch_network *network)
{
    const struct ch_memory_part part = {.base = ch_heap_data_base(network->heap, network->me),
                                        .bytes = ch_heap_granule_bytes(network->heap),
                                        .kind = CH_MEMORY_GPU,
                                        .dma_buf = -1};
    uint64_t key;

    CH_TRY(ch_staged_attach_gpu(network->ops, network->ep, ch_heap_device(network->heap), &part,
                                &key));
    network->ops->detach(network->ep, part.base);
    return CHORUS_OK;
}

/* What a PE tells the others. */
struct answer {
    uint32_t flush;                /* an enum ch_staged_flush */
    char why[CH_DIRECT_WHY_BYTES]; /* the network cannot access its memory; "": it can */
};

/* Does this PE have peers whose GPUs load from the memory of this one? Those that share it are
 * counted, too. */
static bool has_near_peer(const struct ch_network *network)
{
    for (uint32_t pe = 0; pe < network->n; pe++)
        if (pe != network->me && ch_heap_is_near(network->heap, pe)) return true;
    return false;
}

static enum ch_staged_flush needed_flush(const struct ch_network *network,
                                         enum ch_rdma_order order)
{
    if (order == CH_RDMA_ORDER_NONE) return CH_STAGED_FLUSH_WORDS;
    if (order == CH_RDMA_ORDER_OWNER && has_near_peer(network)) return CH_STAGED_FLUSH_QUIET;
    return CH_STAGED_NO_FLUSH;
}

/* Find out what this PE's GPU needs. The message of a failure says why the network cannot
 * access its memory. */
static chorus_status check_access(const struct ch_network *network, uint32_t *flush_out)
{
    const struct ch_device_id *gpu = ch_device_id_of(ch_heap_device(network->heap));

    if ((network->caps & CH_LINK_GPU) == 0)
        return CH_FAIL(CHORUS_ERR_UNSUPPORTED, "%s registers no GPU memory",
                       network->ops->name);
    *flush_out = needed_flush(network, gpu->rdma_order);
    if (*flush_out != CH_STAGED_NO_FLUSH && !gpu->has_rdma_flush)
        return CH_FAIL(CHORUS_ERR_UNSUPPORTED,
                       "GPU %s does not order what adapters write into its memory, and its "
                       "driver does not flush that",
                       gpu->bus);
    return try_attach(network);
}

/* Set what holds for the job, and why GPU memory is staged: the reason of this PE, or that of
 * the first other PE with one. */
static void set_result(struct ch_network *network, const struct answer *all)
{
    uint32_t refused = 0;

    while (refused < network->n && all[refused].why[0] == '\0')
        refused++;
    network->is_direct = refused == network->n;
    for (uint32_t pe = 0; pe < network->n && network->is_direct; pe++)
        if (all[pe].flush > network->flush) network->flush = all[pe].flush;
    network->has_flush = all[network->me].flush != CH_STAGED_NO_FLUSH;
    if (network->is_direct) return;
    if (all[network->me].why[0] != '\0')
        (void)snprintf(network->why_staged, sizeof(network->why_staged), "%s",
                       all[network->me].why);
    else
        (void)snprintf(network->why_staged, sizeof(network->why_staged), "PE %u: %s", refused,
                       all[refused].why);
}

chorus_status ch_direct_agree(struct ch_network *network)
{
    struct answer mine = {.flush = CH_STAGED_NO_FLUSH}, *all = calloc(network->n, sizeof(*all));
    const struct ch_vote vote = {"GPU memory", CHORUS_OK, &mine, sizeof(mine)};
    chorus_status status;

    if (all == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the answers of %u PEs", network->n);
    if (check_access(network, &mine.flush) != CHORUS_OK) {
        const char *const why = ch_error_message();

        /* Without the advice. */
        (void)snprintf(mine.why, sizeof(mine.why), "%.*s", (int)strcspn(why, ";"), why);
        ch_error_forget();
    }
    status = ch_boot_vote(network->boot, &vote, all);
    if (status == CHORUS_OK) set_result(network, all);
    free(all);
    CH_TRY(status);
    if (network->is_direct)
        CH_LOG(DEBUG, "%s accesses GPU memory%s", network->ops->name,
               network->has_flush ? ", and this PE flushes it" : "");
    else
        CH_LOG(DEBUG, "%s accesses no GPU memory, which is staged: %s", network->ops->name,
               network->why_staged);
    return CHORUS_OK;
}
