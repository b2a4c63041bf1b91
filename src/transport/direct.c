/* SPDX-License-Identifier: Apache-2.0 */
/*
 * direct.c: whether the network of a job accesses memory of GPUs itself. Each PE tries, and all
 * vote: if one PE cannot, all of them stage such memory.
 *
 * The kernels of a GPU must see data that an adapter has stored before any word that announces
 * it. Many PEs may pass such words on, by the memory of the host and by that of near GPUs, so
 * it would not do that the host flushed the data before the words of the PE that sent the data.
 * A GPU for which the driver promises no order therefore stages.
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

/* Why the network cannot access the memory of this PE's GPU: the message of a failure. */
static chorus_status check_access(const struct ch_network *network)
{
    const struct ch_device_id *gpu = ch_device_id_of(ch_heap_device(network->heap));

    if ((network->caps & CH_LINK_GPU) == 0)
        return CH_FAIL(CHORUS_ERR_UNSUPPORTED, "%s registers no GPU memory",
                       network->ops->name);
    if (gpu->rdma_order == CH_RDMA_ORDER_NONE)
        return CH_FAIL(CHORUS_ERR_UNSUPPORTED,
                       "GPU %s does not order what adapters write into its memory", gpu->bus);
    return try_attach(network);
}

/* Set why this PE's GPU memory is staged, or that of the first other PE with a reason. */
static void set_reason(struct ch_network *network, char (*reasons)[CH_DIRECT_WHY_BYTES])
{
    uint32_t pe = network->me;

    if (reasons[pe][0] != '\0') {
        memcpy(network->why_staged, reasons[pe], CH_DIRECT_WHY_BYTES);
        return;
    }
    for (pe = 0; pe < network->n && reasons[pe][0] == '\0'; pe++)
        ;
    network->is_direct = pe == network->n;
    if (!network->is_direct)
        (void)snprintf(network->why_staged, sizeof(network->why_staged), "PE %u: %s", pe,
                       reasons[pe]);
}

chorus_status ch_direct_agree(struct ch_network *network)
{
    char mine[CH_DIRECT_WHY_BYTES] = "", (*all)[CH_DIRECT_WHY_BYTES];
    const struct ch_vote vote = {"GPU memory", CHORUS_OK, mine, sizeof(mine)};
    chorus_status status;

    all = calloc(network->n, sizeof(*all));
    if (all == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the answers of %u PEs", network->n);
    if (check_access(network) != CHORUS_OK) {
        const char *const why = ch_error_message();

        /* Without the advice. */
        (void)snprintf(mine, sizeof(mine), "%.*s", (int)strcspn(why, ";"), why);
        ch_error_forget();
    }
    status = ch_boot_vote(network->boot, &vote, all);
    if (status == CHORUS_OK) set_reason(network, all);
    free(all);
    CH_TRY(status);
    CH_LOG(DEBUG, "%s %s%s", network->ops->name,
           network->is_direct ? "accesses GPU memory"
                              : "accesses no GPU memory, which is staged: ",
           network->why_staged);
    return CHORUS_OK;
}
