/* SPDX-License-Identifier: Apache-2.0 */
/*
 * class.c: why each peer of a heap on GPUs is near, beside or far. A PE keeps a number for each
 * peer, and a text only for those that CUDA refuses to map.
 */
#include "heap/inside.h"

#include <stdlib.h>
#include <string.h>

/* clang-format off */
/* Reasons: name, text. */
#define REASON_LIST(X) \
    X(SELF, "this PE") \
    X(SAME_GPU, "same GPU") \
    X(NVLINK, "peer access (NVLink)") \
    X(PCI, "peer access (PCI Express)") \
    X(ACCESS, "peer access") \
    X(FABRIC, "fabric handle (multi-node NVLink)") \
    X(P2P_OFF, "CHORUS_P2P=0") \
    X(REFUSED, "CUDA reports no peer access") \
    X(REFUSED_THERE, "the peer does not map this PE's memory: see its row") \
    X(GROUP, "not all PEs of the two groups have peer access to each other") \
    X(HOSTS, "not all PEs of the two hosts map each other's memory") \
    X(OTHER_HOST, "another host")
/* clang-format on */

enum reason {
#define X(name, text) REASON_##name,
    REASON_LIST(X)
#undef X
};

static const char *const reason_texts[] = {
#define X(name, text) text,
    REASON_LIST(X)
#undef X
};

void ch_data_keep_refusal(struct ch_data *data, uint32_t pe, const char *why)
{
    free(data->refusals[pe]);
    data->refusals[pe] = strndup(why, strcspn(why, ";")); /* without the advice */
}

/* Why this PE's GPU reaches that of a near peer. */
static enum reason reason_of_near(const struct ch_data *data, uint32_t pe,
                                  const struct ch_device_id *device)
{
    if (ch_device_is_same(device, ch_device_id_of(data->device))) return REASON_SAME_GPU;
    if (!ch_boot_is_near(data->boot, pe)) return REASON_FABRIC;
    switch (ch_device_path_to(data->device, device->bus)) {
    case CH_PATH_SAME:
        return REASON_SAME_GPU;
    case CH_PATH_NVLINK:
        return REASON_NVLINK;
    case CH_PATH_PCI:
        return REASON_PCI;
    case CH_PATH_UNKNOWN:
        break;
    }
    return REASON_ACCESS;
}

/* Why a PE of another host is not near. */
static enum reason reason_of_far(const struct ch_data *data, uint32_t pe,
                                 const struct ch_data_reach *reach)
{
    if (data->refusals[pe] != NULL) return REASON_REFUSED;
    if (!reach->may_map) return REASON_OTHER_HOST; /* it was not tried */
    return reach->may_be_mapped ? REASON_HOSTS : REASON_REFUSED_THERE;
}

static enum reason reason_of(const struct ch_data *data, uint32_t pe,
                             const struct ch_data_reach *reach)
{
    if (pe == data->me) return REASON_SELF;
    if (ch_data_is_near(data, pe)) return reason_of_near(data, pe, reach->device);
    if (!ch_boot_is_near(data->boot, pe)) return reason_of_far(data, pe, reach);
    if (!reach->is_p2p_on) return REASON_P2P_OFF;
    if (!reach->may_map) return REASON_REFUSED;
    return reach->may_be_mapped ? REASON_GROUP : REASON_REFUSED_THERE;
}

void ch_data_keep_reason(struct ch_data *data, uint32_t pe, const struct ch_data_reach *reach)
{
    data->reasons[pe] = (uint8_t)reason_of(data, pe, reach);
}

enum ch_class ch_heap_class(const struct ch_heap *heap, uint32_t pe)
{
    if (ch_data_is_near(heap->data, pe)) return CH_CLASS_near;
    return ch_boot_is_near(heap->boot, pe) ? CH_CLASS_beside : CH_CLASS_far;
}

const char *ch_heap_why_class(const struct ch_heap *heap, uint32_t pe)
{
    const struct ch_data *data = heap->data;
    const enum reason reason = (enum reason)data->reasons[pe];

    if (reason == REASON_OTHER_HOST) return heap->boot->why_apart;
    if (reason == REASON_REFUSED && data->refusals[pe] != NULL) return data->refusals[pe];
    return reason_texts[reason];
}
