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
    const size_t bytes = hi - lo;
    size_t has = 0;
    chorus_status st = ch_device_free_bytes(data->device, &has);

    if (st == CHORUS_OK && bytes > has / data->n_sharing)
        st =
            CH_FAIL(CHORUS_ERR_NOMEM,
                    "its GPU (%s) has %zu bytes free, %u PEs share it, and each needs %zu; end "
                    "other work on it, or raise the limit that MPS sets "
                    "(CUDA_MPS_PINNED_DEVICE_MEM_LIMIT)",
                    ch_device_id_of(data->device)->name, has, data->n_sharing, bytes);
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
        data->n_sharing += ch_device_is_same(device, &peers[data->me].device);
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

/* Reserve a range for the segment of each near PE and, with multicast, one for all of them. */
static chorus_status reserve(struct ch_data *data)
{
    for (uint32_t pe = 0; pe < data->n; pe++)
        if (ch_data_is_near(data, pe))
            CH_TRY(reserve_one(data, &data->reserved[pe], &data->bases[pe]));
    if (!data->has_multicast) return CHORUS_OK;
    return reserve_one(data, &data->multicast_reserved, &data->multicast);
}

/* Reserve ranges, and exchange the address of each PE's own segment. */
static chorus_status reserve_on_all(struct ch_data *data)
{
    struct ch_vote vote = {.step = "heap on GPUs", .mine = reserve(data)};

    vote.values = &data->bases[data->me];
    vote.bytes = sizeof(data->bases[data->me]);
    return ch_boot_vote(data->boot, &vote, data->homes);
}

/* Create everything that needs no peer. */
static chorus_status create_local_parts(struct ch_data *data, const struct ch_device_id *device,
                                        void *door)
{
    CH_TRY(ch_device_open(device, &data->device));
    CH_TRY(ch_device_register(data->device, door, PAGE_BYTES, &data->door));
    data->door_host = door;
    CH_TRY(ch_arena_init(&data->sync));
    return ch_arena_reserve(&data->sync);
}

/* ---- which PEs are near ---- */

/*
 * A near peer is one whose memory this PE's GPU maps. Each PE finds out which peers it could
 * map: those of its host with peer access, and those of other hosts by trial.c. All PEs
 * exchange the results, and divide the job into groups in the same way: a PE joins the first
 * group of whose PEs each can map it, and it each of them. Two PEs are near if they are in one
 * group.
 */

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

/* Bytes of a row of the matrix that the PEs exchange: does this PE offer fabric handles, and,
 * behind that, can it map the memory of each PE? */
static size_t row_bytes(const struct ch_data *data)
{
    return 1 + (size_t)data->n;
}

/* Find out which PEs of this host this PE can map. */
static void find_reachable(struct ch_data *data, const struct ch_options *options,
                           const struct ch_data_peer *peers, bool *may_map)
{
    for (uint32_t pe = 0; pe < data->n; pe++) {
        may_map[pe] = pe == data->me;
        if (may_map[pe] || !options->p2p || !ch_boot_is_near(data->boot, pe)) continue;
        may_map[pe] =
            ch_device_check_peer(data->device, data->me, &peers[pe].device, pe) == CHORUS_OK;
        if (may_map[pe]) continue;
        CH_LOG(DEBUG, "PE %u is not near: %s", pe, ch_error_message());
        ch_data_keep_refusal(data, pe, ch_error_message());
        ch_error_forget();
    }
}

/* Can PEs a and b map each other's memory? */
static bool can_pair_map(const struct ch_data *data, const bool *rows, uint32_t a, uint32_t b)
{
    const bool *of_a = rows + a * row_bytes(data) + 1, *of_b = rows + b * row_bytes(data) + 1;

    return of_a[b] && of_b[a];
}

/* May PEs a and b be in one group? Those of two hosts only if all PEs of these hosts can map
 * each other across them: otherwise a PE could be in another group than those of its host. */
static bool can_both_map(const struct ch_data *data, const bool *rows, uint32_t a, uint32_t b)
{
    const uint32_t host_a = ch_boot_node(data->boot, a), host_b = ch_boot_node(data->boot, b);

    if (!can_pair_map(data, rows, a, b)) return false;
    for (uint32_t i = 0; host_a != host_b && i < data->n; i++)
        for (uint32_t k = 0; ch_boot_node(data->boot, i) == host_a && k < data->n; k++)
            if (ch_boot_node(data->boot, k) == host_b && !can_pair_map(data, rows, i, k))
                return false;
    return true;
}

/* May PE pe join the group whose first PE is `first`? */
static bool may_join(const struct ch_data *data, const bool *rows, uint32_t first, uint32_t pe)
{
    for (uint32_t k = first; k < pe; k++)
        if (data->groups[k] == first && !can_both_map(data, rows, k, pe)) return false;
    return data->groups[first] == first;
}

/* Divide the job into groups. */
static void set_groups(struct ch_data *data, const bool *rows)
{
    for (uint32_t pe = 0; pe < data->n; pe++) {
        uint32_t first = 0;

        while (first < pe && !may_join(data, rows, first, pe))
            first++;
        data->groups[pe] = first;
        if (ch_boot_node(data->boot, pe) != ch_boot_node(data->boot, first))
            data->is_across = true;
    }
}

/* Keep why each PE is near, beside or far. */
static void keep_reasons(struct ch_data *data, const struct ch_options *options,
                         const struct ch_data_peer *peers, const bool *rows)
{
    for (uint32_t pe = 0; pe < data->n; pe++) {
        const struct ch_data_reach reach = {
            .device = &peers[pe].device,
            .is_p2p_on = options->p2p,
            .may_map = rows[data->me * row_bytes(data) + 1 + pe],
            .may_be_mapped = rows[pe * row_bytes(data) + 1 + data->me],
        };

        ch_data_keep_reason(data, pe, &reach);
    }
}

/* Are all PEs in this process? The same result on all. */
static bool is_one_process(const struct ch_data *data)
{
    for (uint32_t pe = 0; pe < data->n; pe++)
        if (!data->is_here[pe]) return false;
    return true;
}

/* Choose how memory is shared with other processes, from the rows of all PEs. */
static void choose_handles(struct ch_data *data, const bool *rows)
{
    uint32_t without = 0;

    while (without < data->n && rows[without * row_bytes(data)])
        without++;
    data->by_fabric = without == data->n;
    if (data->by_fabric)
        CH_LOG(DEBUG, "memory of GPUs is shared by fabric handles, which all PEs offer");
    else
        CH_LOG(DEBUG, "memory of GPUs is shared by descriptors: PE %u has no fabric handles",
               without);
}

/* Exchange what the PEs can map, and agree on how memory is shared and on the groups. mine: the
 * status of this PE so far. */
static chorus_status agree_on_groups(struct ch_data *data, const struct ch_options *options,
                                     const struct ch_data_peer *peers, chorus_status mine)
{
    const size_t bytes = row_bytes(data);
    const bool is_alone = mine == CHORUS_OK && is_one_process(data);
    bool *rows = calloc(data->n + 1, bytes), *own;
    struct ch_vote vote = {.step = "heap on GPUs", .mine = mine, .bytes = bytes};
    struct ch_trial trial = {0};
    chorus_status st = CHORUS_OK;

    if (rows == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the answers of %u PEs", data->n);
    vote.values = own = rows + data->n * bytes;
    if (mine == CHORUS_OK) {
        own[0] = !is_alone && options->p2p && offers_fabric(data, options);
        find_reachable(data, options, peers, own + 1);
    }
    if (ch_trial_is_needed(data, options)) st = ch_trial_open(data, &trial, mine, own, own + 1);
    if (st == CHORUS_OK) st = ch_boot_vote(data->boot, &vote, rows);
    ch_trial_close(data, &trial);
    if (st == CHORUS_OK) {
        if (!is_alone) choose_handles(data, rows);
        set_groups(data, rows);
        keep_reasons(data, options, peers, rows);
    }
    free(rows);
    return st;
}

/* Allocate the arrays by PE, and set is_here. */
static chorus_status allocate_arrays(struct ch_data *data, const struct ch_data_peer *peers)
{
    data->is_here = calloc(data->n, sizeof(*data->is_here));
    data->groups = calloc(data->n, sizeof(*data->groups));
    data->reasons = calloc(data->n, sizeof(*data->reasons));
    data->refusals = calloc(data->n, sizeof(*data->refusals));
    data->homes = calloc(data->n, sizeof(*data->homes));
    data->reserved = calloc(data->n, sizeof(*data->reserved));
    data->bases = calloc(data->n, sizeof(*data->bases));
    if (data->is_here == NULL || data->groups == NULL || data->reasons == NULL ||
        data->refusals == NULL || data->homes == NULL || data->reserved == NULL ||
        data->bases == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for %u PEs", data->n);
    for (uint32_t pe = 0; pe < data->n; pe++)
        data->is_here[pe] = peers[pe].is_here;
    return CHORUS_OK;
}

bool ch_data_is_one_group(const struct ch_data *data)
{
    for (uint32_t pe = 0; pe < data->n; pe++)
        if (data->groups[pe] != 0) return false;
    return true;
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
    data->has_multicast = ch_multicast_is_possible(boot, peers);
    compute_layout(data, options, peers);
    st = allocate_arrays(data, peers);
    if (st == CHORUS_OK) st = create_local_parts(data, &peers[data->me].device, own.door);
    CH_TRY_GOTO(st, agree_on_groups(data, options, peers, st), out_close);
    data->has_multicast = data->has_multicast && ch_data_is_one_group(data);
    CH_TRY_GOTO(st, reserve_on_all(data), out_close);
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
        for (uint32_t pe = 0; data->reserved != NULL && pe < data->n; pe++)
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
    free(data->homes);
    for (uint32_t pe = 0; data->refusals != NULL && pe < data->n; pe++)
        free(data->refusals[pe]);
    free(data->refusals);
    free(data->reasons);
    free(data->groups);
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
