/* SPDX-License-Identifier: Apache-2.0 */
/* data.c: device segments: reservation, layout, release. chunk.c adds the memory. */
#include "heap/inside.h"

#include "base/error.h"
#include "boot/boot.h"
#include "heap/heap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SYNC_ALIGN ((size_t)128) /* of a struct ch_line */

/* Limits the address ranges of all segments to a part of the address space of 47 bits. */
#define ADDRESSES_MAX ((size_t)1 << 45)

#define PAGE_BYTES ((size_t)4096) /* of the doorbell's page */

static size_t round_up(size_t value, size_t multiple)
{
    return (value + multiple - 1) / multiple * multiple;
}

/* Check for a full device before any PE allocates; PEs that share it allocate in turn. */
chorus_status ch_data_grow(struct ch_data *data, size_t lo, size_t hi)
{
    const size_t bytes = hi - lo, has = ch_device_free_bytes(data->device);
    chorus_status st = CHORUS_OK;

    if (bytes > has / data->n_sharing)
        st = CH_FAIL(CHORUS_ERR_NOMEM, "its GPU (%s) has %zu bytes free, %u PEs share it",
                     ch_device_id_of(data->device)->name, has, data->n_sharing);
    CH_TRY(ch_data_vote(data, st));
    return ch_data_add_chunk(data, data->symmetric_offset + lo, data->symmetric_offset + hi);
}

/* Make the layout of segments equal on all PEs, whatever their devices. */
static void compute_layout(struct ch_data *data, const struct ch_options *options,
                           const struct ch_data_peer *peers)
{
    size_t memory = 0, n_others = 0, most; /* the other PEs of this process */

    data->granule_bytes = PAGE_BYTES;
    memcpy(data->gpu, peers[0].device.name, sizeof(data->gpu));
    for (uint32_t pe = 0; pe < data->n; pe++) {
        const struct ch_device_id *device = &peers[pe].device;

        if (device->memory_bytes > memory) memory = device->memory_bytes;
        if (device->granule_bytes > data->granule_bytes)
            data->granule_bytes = device->granule_bytes;
        n_others += pe != data->me && peers[pe].is_here;
        data->n_sharing += strcmp(device->bus, peers[data->me].device.bus) == 0;
        if (strcmp(device->name, peers[0].device.name) != 0) data->gpu[0] = '\0';
    }
    /* The PEs of one process each reserve their own range for every segment. */
    most = ADDRESSES_MAX / data->n / (n_others + 1);
    data->symmetric_bytes = options->heap_max != 0 ? options->heap_max : memory;
    if (data->symmetric_bytes > most) data->symmetric_bytes = most;
    data->symmetric_bytes = round_up(data->symmetric_bytes, data->granule_bytes);
    data->sync_bytes = options->sync_max < most ? options->sync_max : most;
    data->sync_bytes = round_up(data->sync_bytes, data->granule_bytes);
    data->symmetric_offset = round_up(data->sync_bytes, CH_HEAP_ALIGN_MAX);
    data->reserved_bytes =
        round_up(data->symmetric_offset + data->symmetric_bytes + CH_HEAP_ALIGN_MAX,
                 data->granule_bytes);
}

/* Reserve a range for a segment. *base_out: the aligned address in it at which the segment
 * begins. */
static chorus_status reserve_one(const struct ch_data *data, char **reserved_out,
                                 char **base_out)
{
    CH_TRY(ch_device_reserve(data->device, data->reserved_bytes, reserved_out));
    *base_out = (char *)round_up((uintptr_t)*reserved_out, CH_HEAP_ALIGN_MAX);
    return CHORUS_OK;
}

/* Reserve a range for each PE's segment and, with multicast, one for all of them. */
static chorus_status reserve(struct ch_data *data)
{
    for (uint32_t pe = 0; pe < data->n; pe++)
        CH_TRY(reserve_one(data, &data->reserved[pe], &data->bases[pe]));
    if (!data->has_multicast) return CHORUS_OK;
    return reserve_one(data, &data->multicast_reserved, &data->multicast);
}

/* Create everything that needs no peer. */
static chorus_status create_local_parts(struct ch_data *data, const struct ch_data_peer *peers,
                                        void *door)
{
    CH_TRY(ch_device_open(&peers[data->me].device, &data->device));
    for (uint32_t pe = 0; pe < data->n; pe++)
        CH_TRY(ch_device_check_peer(data->device, data->me, &peers[pe].device, pe));
    CH_TRY(ch_device_register(data->device, door, PAGE_BYTES, &data->door));
    data->door_host = door;
    CH_TRY(ch_arena_init(&data->sync));
    CH_TRY(ch_arena_reserve(&data->sync));
    return reserve(data);
}

/* Can this PE use fabric handles? */
static bool offers_fabric(const struct ch_data *data, const struct ch_options *options)
{
    if (!options->fabric)
        CH_LOG(DEBUG, "no fabric handles: CHORUS_FABRIC=0");
    else if (data->has_multicast)
        CH_LOG(
            DEBUG,
            "no fabric handles: multicast objects are shared by descriptors, and so is memory");
    else
        return ch_device_offers_fabric(data->device, data->granule_bytes);
    return false;
}

/* Vote on this PE's status and on fabric handles. *without_out: the first PE that does not
 * offer them; n: all do. */
static chorus_status vote_on_fabric(const struct ch_data *data, chorus_status mine, bool offers,
                                    uint32_t *without_out)
{
    const struct ch_vote vote = {"heap on GPUs", mine, &offers, sizeof(offers)};
    bool *all = malloc(data->n * sizeof(*all));
    uint32_t pe = 0;
    chorus_status st;

    if (all == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the answers of %u PEs", data->n);
    st = ch_boot_vote(data->boot, &vote, all);
    while (st == CHORUS_OK && pe < data->n && all[pe])
        pe++;
    free(all);
    *without_out = pe;
    return st;
}

/* Combine what the PEs have created, and choose how memory is shared with other processes. */
static chorus_status agree_on_start(struct ch_data *data, const struct ch_options *options,
                                    chorus_status mine)
{
    bool is_alone = true; /* all PEs are in this process; the same result on all */
    uint32_t without;

    for (uint32_t pe = 0; pe < data->n; pe++)
        is_alone = is_alone && data->is_here[pe];
    if (is_alone) return ch_data_vote(data, mine);
    CH_TRY(vote_on_fabric(data, mine, mine == CHORUS_OK && offers_fabric(data, options),
                          &without));
    data->by_fabric = without == data->n;
    if (data->by_fabric)
        CH_LOG(DEBUG, "memory of GPUs is shared by fabric handles, which all PEs offer");
    else
        CH_LOG(DEBUG, "memory of GPUs is shared by descriptors: PE %u has no fabric handles",
               without);
    return CHORUS_OK;
}

/* Allocate the arrays by PE, and set is_here. */
static chorus_status allocate_arrays(struct ch_data *data, const struct ch_data_peer *peers)
{
    data->is_here = calloc(data->n, sizeof(*data->is_here));
    data->reserved = calloc(data->n, sizeof(*data->reserved));
    data->bases = calloc(data->n, sizeof(*data->bases));
    if (data->is_here == NULL || data->reserved == NULL || data->bases == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for %u PEs", data->n);
    for (uint32_t pe = 0; pe < data->n; pe++)
        data->is_here[pe] = peers[pe].is_here;
    return CHORUS_OK;
}

chorus_status ch_data_open(struct ch_boot *boot, const struct ch_options *options,
                           const struct ch_data_peer *peers, struct ch_data_own own,
                           struct ch_data **data_out)
{
    struct ch_data *data = calloc(1, sizeof(*data));
    chorus_status st;

    if (data == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the data of a heap");
    data->boot = boot;
    data->me = boot->me;
    data->n = boot->n;
    data->spare_fd = own.fd;
    (void)pthread_mutex_init(&data->sync_lock, NULL);
    data->has_multicast = ch_multicast_is_possible(peers, data->n);
    compute_layout(data, options, peers);
    st = allocate_arrays(data, peers);
    if (st == CHORUS_OK) st = create_local_parts(data, peers, own.door);
    CH_TRY_GOTO(st, agree_on_start(data, options, st), out_close);
    CH_TRY_GOTO(st, ch_data_add_chunk(data, 0, data->sync_bytes), out_close);
    ch_arena_grow(&data->sync, data->sync_bytes);
    *data_out = data;
    return CHORUS_OK;

out_close:
    ch_data_close(data);
    return st;
}

/* Unmap all chunks here, with their multicast objects. */
static void unmap_chunks(struct ch_data *data)
{
    for (size_t i = 0; i < data->n_chunks; i++) {
        const struct ch_chunk *chunk = &data->chunks[i];

        if (chunk->is_empty) continue;
        if (data->has_multicast) ch_multicast_undo(data, chunk);
        ch_data_unmap(data, data->n, chunk->lo, chunk->hi);
    }
}

void ch_data_close(struct ch_data *data)
{
    if (data == NULL) return;
    if (data->device != NULL) {
        unmap_chunks(data);
        for (uint32_t pe = 0; pe < data->n; pe++)
            if (data->reserved[pe] != NULL)
                ch_device_unreserve(data->device, data->reserved[pe], data->reserved_bytes);
        if (data->multicast_reserved != NULL)
            ch_device_unreserve(data->device, data->multicast_reserved, data->reserved_bytes);
        if (data->door_host != NULL) ch_device_unregister(data->device, data->door_host);
    }
    ch_device_close(data->device);
    ch_arena_clear(&data->sync);
    (void)pthread_mutex_destroy(&data->sync_lock);
    free(data->chunks);
    free(data->bases);
    free(data->reserved);
    free(data->is_here);
    free(data);
}

chorus_status ch_data_sync_alloc(struct ch_data *data, size_t from, size_t bytes,
                                 void **ptr_out)
{
    char *const sync = data->bases[data->me];
    size_t offset = 0;
    bool fits;
    chorus_status st;

    (void)pthread_mutex_lock(&data->sync_lock);
    st = ch_arena_reserve(&data->sync);
    fits =
        st == CHORUS_OK && ch_arena_alloc_from(&data->sync, from, SYNC_ALIGN, bytes, &offset);
    (void)pthread_mutex_unlock(&data->sync_lock);
    CH_TRY(st);
    if (!fits)
        return CH_FAIL(
            CHORUS_ERR_NOMEM,
            "%zu bytes of sync memory were requested; %zu of %zu are in use; destroy teams, "
            "lower CHORUS_CTAS or CHORUS_CHUNK, or raise CHORUS_SYNC_MAX",
            bytes, data->sync.used_bytes, data->sync.limit);
    st = ch_device_zero(data->device, sync + offset, bytes);
    if (st != CHORUS_OK) {
        ch_data_sync_free(data, sync + offset);
        return st;
    }
    *ptr_out = sync + offset;
    return CHORUS_OK;
}

void ch_data_sync_free(struct ch_data *data, void *ptr)
{
    (void)pthread_mutex_lock(&data->sync_lock);
    ch_arena_free(&data->sync, (size_t)((char *)ptr - data->bases[data->me]));
    (void)pthread_mutex_unlock(&data->sync_lock);
}
