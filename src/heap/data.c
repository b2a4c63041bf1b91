/* SPDX-License-Identifier: Apache-2.0 */
/* data.c: device segments: reserved, backed chunk by chunk, given back. */
#include "heap/data.h"

#include "heap/heap.h"
#include "heap/multicast.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SYNC_ALIGN ((size_t)128) /* of a struct ch_line */

/* All ranges of a job in one address space of 47 bits, with room for everything else. */
#define ADDRESSES_MAX ((size_t)1 << 45)

#define PAGE_BYTES ((size_t)4096) /* of the door */

enum { WHY_BYTES = 200 };

/* What a PE says of a step that all must have taken. */
struct report {
    uint64_t handle; /* of its chunk, good within its process */
    int64_t status;
    char why[WHY_BYTES];
};

static size_t round_up(size_t value, size_t multiple)
{
    return (value + multiple - 1) / multiple * multiple;
}

static struct report report_of(chorus_status status, uint64_t handle)
{
    struct report r;

    memset(&r, 0, sizeof(r));
    r.handle = handle;
    r.status = status;
    if (status != CHORUS_OK) (void)snprintf(r.why, sizeof(r.why), "%s", ch_error_message());
    return r;
}

/* CHORUS_OK, or the failure of the first PE that had one, with its message, on every PE. */
static chorus_status judge(const struct ch_data *data, const struct report *all)
{
    for (uint32_t pe = 0; pe < data->n; pe++)
        if (all[pe].status != CHORUS_OK)
            return CH_FAIL((chorus_status)all[pe].status, "heap on GPUs: PE %u: %s", pe,
                           all[pe].why);
    return CHORUS_OK;
}

chorus_status ch_data_agree(const struct ch_data *data, chorus_status mine)
{
    const struct report report = report_of(mine, 0);
    struct report *all = malloc(data->n * sizeof(*all));
    chorus_status st;

    if (all == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory to ask %u PEs", data->n);
    st = data->boot->ops->exchange(data->boot, &report, sizeof(report), -1, all, NULL);
    if (st == CHORUS_OK) st = judge(data, all);
    free(all);
    return st;
}

/* Map the chunk [lo, hi) of PE pe, from its handle in this process or from its descriptor. */
static chorus_status map_one(const struct ch_data *data, uint32_t pe, size_t lo, size_t hi,
                             uint64_t handle, int fd)
{
    uint64_t own = handle;
    chorus_status st;

    if (!data->is_here[pe]) CH_TRY(ch_device_import(data->device, fd, &own));
    st = ch_device_map(data->device, data->bases[pe] + lo, hi - lo, own);
    if (!data->is_here[pe]) ch_device_release(data->device, own);
    return st;
}

static void unmap_first(const struct ch_data *data, uint32_t n, size_t lo, size_t hi)
{
    for (uint32_t pe = 0; pe < n; pe++)
        ch_device_unmap(data->device, data->bases[pe] + lo, hi - lo);
}

/* All PEs' chunks here, or none. */
static chorus_status map_all(const struct ch_data *data, size_t lo, size_t hi,
                             const struct report *all, const int *fds)
{
    for (uint32_t pe = 0; pe < data->n; pe++) {
        const chorus_status st = map_one(data, pe, lo, hi, all[pe].handle, fds[pe]);

        if (st == CHORUS_OK) continue;
        unmap_first(data, pe, lo, hi);
        return st;
    }
    return CHORUS_OK;
}

/* Tell what became of this PE's chunk, learn of all, map them. A PE without a chunk gives any
 * descriptor, since all must give one. */
static chorus_status share(const struct ch_data *data, size_t lo, size_t hi,
                           const struct report *mine, int fd)
{
    struct report *all = malloc(data->n * (sizeof(*all) + sizeof(int)));
    int *fds;
    chorus_status st;

    if (all == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory to ask %u PEs", data->n);
    fds = (int *)(all + data->n);
    st = data->boot->ops->exchange(data->boot, mine, sizeof(*mine), fd, all, fds);
    if (st != CHORUS_OK) goto out_all;
    st = judge(data, all);
    if (st == CHORUS_OK) {
        const chorus_status mapped = map_all(data, lo, hi, all, fds);

        st = ch_data_agree(data, mapped);
        if (st != CHORUS_OK && mapped == CHORUS_OK) unmap_first(data, data->n, lo, hi);
    }
    for (uint32_t pe = 0; pe < data->n; pe++)
        (void)close(fds[pe]);

out_all:
    free(all);
    return st;
}

/* Map the chunk of every segment here, and all at once where there is multicast. */
static chorus_status join(const struct ch_data *data, struct ch_chunk *chunk,
                          const struct report *mine, int fd)
{
    chorus_status st;

    CH_TRY(share(data, chunk->lo, chunk->hi, mine, fd));
    if (!data->has_multicast) return CHORUS_OK;
    st = ch_multicast_make(data, chunk, mine->handle);
    if (st != CHORUS_OK) unmap_first(data, data->n, chunk->lo, chunk->hi);
    return st;
}

/* The next chunk of every segment, [lo, hi) of it. Mappings alone keep its memory afterwards.
 */
static chorus_status add_chunk(struct ch_data *data, size_t lo, size_t hi)
{
    struct ch_chunk *chunks =
        realloc(data->chunks, (data->n_chunks + 1) * sizeof(*data->chunks));
    struct ch_chunk chunk = {lo, hi, 0};
    uint64_t handle = 0;
    int fd = -1;
    chorus_status created, st;
    struct report mine;

    if (chunks != NULL) data->chunks = chunks;
    created = chunks == NULL ? CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for a list of chunks")
                             : ch_device_create(data->device, hi - lo, &handle, &fd);
    mine = report_of(created, handle);
    st = join(data, &chunk, &mine, created == CHORUS_OK ? fd : data->spare_fd);
    if (created == CHORUS_OK) {
        ch_device_release(data->device, handle);
        (void)close(fd);
    }
    CH_TRY(st);
    data->chunks[data->n_chunks++] = chunk;
    return CHORUS_OK;
}

/* A device that is full says so before anyone takes anything; those who share it take turns. */
chorus_status ch_data_grow(struct ch_data *data, size_t lo, size_t hi)
{
    const size_t bytes = hi - lo, has = ch_device_free_bytes(data->device);
    chorus_status st = CHORUS_OK;

    if (bytes > has / data->n_sharing)
        st = CH_FAIL(CHORUS_ERR_NOMEM, "its GPU (%s) has %zu bytes free, %u PEs share it",
                     ch_device_id_of(data->device)->name, has, data->n_sharing);
    CH_TRY(ch_data_agree(data, st));
    return add_chunk(data, data->symmetric_offset + lo, data->symmetric_offset + hi);
}

/* Segments alike on all PEs, whatever their devices. */
static void lay_out(struct ch_data *data, const struct ch_options *options,
                    const struct ch_data_peer *peers)
{
    size_t memory = 0, n_others = 0, most; /* others of this process */

    data->granule_bytes = PAGE_BYTES;
    memcpy(data->gpu, peers[0].device.name, sizeof(data->gpu));
    for (uint32_t pe = 0; pe < data->n; pe++) {
        const struct ch_device_id *device = &peers[pe].device;
        const bool is_other = pe != data->me && peers[pe].is_here;
        const bool is_same = strcmp(device->bus, peers[data->me].device.bus) == 0;

        if (device->memory_bytes > memory) memory = device->memory_bytes;
        if (device->granule_bytes > data->granule_bytes)
            data->granule_bytes = device->granule_bytes;
        n_others += is_other;
        data->n_sharing += is_same;
        if (strcmp(device->name, peers[0].device.name) != 0) data->gpu[0] = '\0';
        data->is_shared_here = data->is_shared_here || (is_other && is_same);
    }
    /* PEs of one process have a range each for every segment. */
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

/* A range for a segment, and where it begins in there. */
static chorus_status reserve_one(const struct ch_data *data, char **reserved_out,
                                 char **base_out)
{
    CH_TRY(ch_device_reserve(data->device, data->reserved_bytes, reserved_out));
    *base_out = (char *)round_up((uintptr_t)*reserved_out, CH_HEAP_ALIGN_MAX);
    return CHORUS_OK;
}

static chorus_status reserve(struct ch_data *data)
{
    for (uint32_t pe = 0; pe < data->n; pe++)
        CH_TRY(reserve_one(data, &data->reserved[pe], &data->bases[pe]));
    if (!data->has_multicast) return CHORUS_OK;
    return reserve_one(data, &data->multicast_reserved, &data->multicast);
}

/* Everything that needs no peer. */
static chorus_status make_own(struct ch_data *data, const struct ch_data_peer *peers,
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

static chorus_status allocate(struct ch_data *data, const struct ch_data_peer *peers)
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

    if (data == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for a heap's bookkeeping");
    data->boot = boot;
    data->me = boot->me;
    data->n = boot->n;
    data->spare_fd = own.fd;
    (void)pthread_mutex_init(&data->sync_lock, NULL);
    data->has_multicast = ch_multicast_serves(peers, data->n);
    lay_out(data, options, peers);
    st = allocate(data, peers);
    if (st == CHORUS_OK) st = make_own(data, peers, own.door);
    CH_TRY_GOTO(st, ch_data_agree(data, st), out_close);
    CH_TRY_GOTO(st, add_chunk(data, 0, data->sync_bytes), out_close);
    ch_arena_grow(&data->sync, data->sync_bytes);
    *data_out = data;
    return CHORUS_OK;

out_close:
    ch_data_close(data);
    return st;
}

static void unmap_chunks(struct ch_data *data)
{
    for (size_t i = 0; i < data->n_chunks; i++) {
        const struct ch_chunk *chunk = &data->chunks[i];

        if (data->has_multicast) ch_multicast_undo(data, chunk);
        unmap_first(data, data->n, chunk->lo, chunk->hi);
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

chorus_status ch_data_sync_alloc(struct ch_data *data, size_t bytes, void **ptr_out)
{
    char *const sync = data->bases[data->me];
    size_t offset = 0;
    bool fits;
    chorus_status st;

    (void)pthread_mutex_lock(&data->sync_lock);
    st = ch_arena_reserve(&data->sync);
    fits = st == CHORUS_OK && ch_arena_alloc(&data->sync, SYNC_ALIGN, bytes, &offset);
    (void)pthread_mutex_unlock(&data->sync_lock);
    CH_TRY(st);
    if (!fits)
        return CH_FAIL(CHORUS_ERR_NOMEM,
                       "%zu bytes of sync memory asked; %zu of %zu are in use; destroy teams, "
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
