/* SPDX-License-Identifier: Apache-2.0 */
/* chunk.c: adds memory to the device segments of all PEs, or of none, and multicast objects. */
#include "heap/inside.h"

#include "base/error.h"
#include "boot/boot.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- addresses that reach all PEs of the job at once -------------------------------------- */

/*
 * One address for n devices is created in steps that all PEs take together: the driver blocks a
 * PE that binds memory until all have joined, so no PE begins before all are ready.
 */

/* How many steps this PE has completed with an object. */
enum progress { NOTHING, HAS, BOUND, MAPPED };

/* The reason why PE pe prevents multicast; null: it does not. */
static const char *find_obstacle(const struct ch_data_peer *peers, uint32_t pe)
{
    if (!peers[pe].wants_multicast) return "did not ask for it";
    if (!peers[pe].device.has_multicast) return "has a GPU without it";
    for (uint32_t k = 0; k < pe; k++)
        if (ch_device_is_same(&peers[k].device, &peers[pe].device))
            return "shares its GPU with another";
    return NULL;
}

bool ch_multicast_is_possible(const struct ch_boot *boot, const struct ch_data_peer *peers)
{
    const uint32_t n = boot->n;
    bool is_wanted = false;

    for (uint32_t pe = 0; pe < n; pe++)
        is_wanted = is_wanted || peers[pe].wants_multicast;
    if (n == 1 || !is_wanted) return false;
    if (boot->nodes != NULL) {
        CH_LOG(INFO,
               "no multicast in hardware: the PEs are on several hosts, which descriptors "
               "of objects do not reach");
        return false;
    }
    for (uint32_t pe = 0; pe < n; pe++) {
        const char *why = find_obstacle(peers, pe);

        if (why == NULL) continue;
        CH_LOG(INFO, "no multicast in hardware: PE %u %s", pe, why);
        return false;
    }
    CH_LOG(INFO, "multicast in hardware serves teams of all %u PEs", n);
    return true;
}

/* Send PE 0's object to the others, which import it as *object. fd: PE 0's descriptor of it,
 * and any on others, as all PEs must send one. */
static chorus_status send_object(const struct ch_data *data, int fd, uint64_t *object)
{
    int *fds = malloc(data->n * sizeof(*fds));
    chorus_status st;

    if (fds == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the answers of %u PEs", data->n);
    st = data->boot->ops->exchange(data->boot, NULL, 0, fd, NULL, fds);
    if (st == CHORUS_OK) {
        const struct ch_pass pass = {.fd = fds[0]};

        if (data->me != 0) st = ch_device_import(data->device, &pass, object);
        for (uint32_t pe = 0; pe < data->n; pe++)
            (void)close(fds[pe]);
    }
    free(fds);
    return st;
}

/* Create a multicast object, with the devices of all PEs added. *progress: HAS once this PE has
 * it, also if a later step fails. */
static chorus_status create_object(const struct ch_data *data, size_t bytes, uint64_t *object,
                                   enum progress *progress)
{
    int fd = -1;
    chorus_status st =
        data->me != 0 ? CHORUS_OK
                      : ch_device_multicast_create(data->device, data->n, bytes, object, &fd);

    if (data->me == 0 && st == CHORUS_OK) *progress = HAS;
    st = ch_data_vote(data, st);
    if (st == CHORUS_OK) {
        st = send_object(data, data->me == 0 ? fd : data->spare_fd, object);
        if (st == CHORUS_OK) {
            *progress = HAS;
            st = ch_device_multicast_join(data->device, *object);
        }
        st = ch_data_vote(data, st);
    }
    if (fd >= 0) (void)close(fd);
    return st;
}

/* Undo the steps that this PE has completed with the object of a chunk. */
static void undo_progress(const struct ch_data *data, const struct ch_chunk *chunk,
                          enum progress progress)
{
    const size_t bytes = chunk->hi - chunk->lo;

    if (progress >= MAPPED) ch_device_unmap(data->device, data->multicast + chunk->lo, bytes);
    if (progress >= BOUND) ch_device_multicast_unbind(data->device, chunk->multicast, bytes);
    if (progress >= HAS) ch_device_release(data->device, chunk->multicast);
}

/* Create the object of this chunk, whose memory on this PE is `memory`. Collective: all PEs
 * have it on return or none, with a message that names the PE that failed. */
static chorus_status make_multicast(const struct ch_data *data, struct ch_chunk *chunk,
                                    uint64_t memory)
{
    const struct ch_device *device = data->device;
    const size_t bytes = chunk->hi - chunk->lo;
    enum progress progress = NOTHING;
    chorus_status st;

    CH_TRY_GOTO(st, create_object(data, bytes, &chunk->multicast, &progress), out_undo);
    st = ch_device_multicast_bind(device, chunk->multicast, memory, bytes);
    if (st == CHORUS_OK) progress = BOUND;
    CH_TRY_GOTO(st, ch_data_vote(data, st), out_undo);
    st = ch_device_map(device, data->multicast + chunk->lo, bytes, chunk->multicast);
    if (st == CHORUS_OK) progress = MAPPED;
    CH_TRY_GOTO(st, ch_data_vote(data, st), out_undo);
    return CHORUS_OK;

out_undo:
    undo_progress(data, chunk, progress);
    return st;
}

void ch_multicast_undo(const struct ch_data *data, const struct ch_chunk *chunk)
{
    undo_progress(data, chunk, MAPPED);
}

/* --- chunks ------------------------------------------------------------------------------- */

/* What a PE publishes about its chunk. */
struct offer {
    uint64_t handle;     /* valid within its process */
    struct ch_pass pass; /* for other processes; a descriptor is sent separately */
};

chorus_status ch_data_vote(const struct ch_data *data, chorus_status mine)
{
    const struct ch_vote vote = {"heap on GPUs", mine, NULL, 0};

    return ch_boot_vote(data->boot, &vote, NULL);
}

/* Map the chunk [lo, hi) of PE pe, by its handle in this process or by its pass. */
static chorus_status map_one(const struct ch_data *data, uint32_t pe, size_t lo, size_t hi,
                             const struct offer *its)
{
    uint64_t own = its->handle;
    chorus_status st;

    if (!data->is_here[pe]) CH_TRY(ch_device_import(data->device, &its->pass, &own));
    st = ch_device_map(data->device, data->bases[pe] + lo, hi - lo, own);
    if (!data->is_here[pe]) ch_device_release(data->device, own);
    return st;
}

void ch_data_unmap(const struct ch_data *data, uint32_t n, size_t lo, size_t hi)
{
    for (uint32_t pe = 0; pe < n; pe++)
        if (data->bases[pe] != NULL)
            ch_device_unmap(data->device, data->bases[pe] + lo, hi - lo);
}

/* Map the chunk [lo, hi) of every near PE here, or none; all: the PEs' offers. */
static chorus_status map_all(const struct ch_data *data, size_t lo, size_t hi,
                             const struct offer *all)
{
    for (uint32_t pe = 0; pe < data->n; pe++) {
        const chorus_status st =
            data->bases[pe] == NULL ? CHORUS_OK : map_one(data, pe, lo, hi, &all[pe]);

        if (st == CHORUS_OK) continue;
        ch_data_unmap(data, pe, lo, hi);
        return st;
    }
    return CHORUS_OK;
}

/* Exchange descriptors, and set that of each PE in its offer; -1 if memory is shared by fabric
 * handles. */
static chorus_status add_descriptors(const struct ch_data *data, int fd, bool by_fabric,
                                     struct offer *all)
{
    int *fds;
    chorus_status st;

    for (uint32_t pe = 0; pe < data->n; pe++)
        all[pe].pass.fd = -1;
    if (by_fabric) return CHORUS_OK;
    fds = malloc(data->n * sizeof(*fds));
    if (fds == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the answers of %u PEs", data->n);
    st = data->boot->ops->exchange(data->boot, NULL, 0, fd, NULL, fds);
    for (uint32_t pe = 0; st == CHORUS_OK && pe < data->n; pe++)
        all[pe].pass.fd = fds[pe];
    free(fds);
    return st;
}

static void close_pass(const struct ch_pass *pass)
{
    if (pass->fd >= 0) (void)close(pass->fd);
}

/* Once all PEs have created their chunks: every PE maps all of them, or no PE maps any. */
static chorus_status map_everywhere(const struct ch_data *data, size_t lo, size_t hi,
                                    const struct offer *all)
{
    const chorus_status mapped = map_all(data, lo, hi, all);
    const chorus_status st = ch_data_vote(data, mapped);

    if (st != CHORUS_OK && mapped == CHORUS_OK) ch_data_unmap(data, data->n, lo, hi);
    return st;
}

/* Exchange the offers of a new chunk, and map the chunk of every PE here: on all PEs or on
 * none. created: the status of this PE's creation. */
static chorus_status map_chunk_on_all(const struct ch_data *data, const struct ch_chunk *chunk,
                                      chorus_status created, const struct offer *mine,
                                      bool by_fabric)
{
    const struct ch_vote vote = {"heap on GPUs", created, mine, sizeof(*mine)};
    struct offer *all = malloc(data->n * sizeof(*all));
    chorus_status st;

    if (all == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the answers of %u PEs", data->n);
    CH_TRY_GOTO(st, ch_boot_vote(data->boot, &vote, all), out_all);
    CH_TRY_GOTO(st, add_descriptors(data, mine->pass.fd, by_fabric, all), out_all);
    st = map_everywhere(data, chunk->lo, chunk->hi, all);
    for (uint32_t pe = 0; pe < data->n; pe++)
        close_pass(&all[pe].pass);

out_all:
    free(all);
    return st;
}

/* As map_chunk_on_all, and with multicast create also the address for all of them. */
static chorus_status map_with_multicast(const struct ch_data *data, struct ch_chunk *chunk,
                                        chorus_status created, const struct offer *mine,
                                        bool by_fabric)
{
    chorus_status st;

    CH_TRY(map_chunk_on_all(data, chunk, created, mine, by_fabric));
    if (!data->has_multicast) return CHORUS_OK;
    st = make_multicast(data, chunk, mine->handle);
    if (st != CHORUS_OK) ch_data_unmap(data, data->n, chunk->lo, chunk->hi);
    return st;
}

/* Make room in the list for one more chunk. */
static chorus_status grow_chunks(struct ch_data *data)
{
    struct ch_chunk *chunks =
        realloc(data->chunks, (data->n_chunks + 1) * sizeof(*data->chunks));

    if (chunks == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for a list of chunks");
    data->chunks = chunks;
    return CHORUS_OK;
}

/* As map_with_multicast; then release what this PE created or retained (`mine`): only the
 * mappings keep the memory allocated. */
static chorus_status map_and_release(struct ch_data *data, struct ch_chunk *chunk,
                                     chorus_status created, const struct offer *mine,
                                     bool by_fabric)
{
    const chorus_status st = map_with_multicast(data, chunk, created, mine, by_fabric);

    if (created == CHORUS_OK) {
        ch_device_release(data->device, mine->handle);
        close_pass(&mine->pass);
    }
    return st;
}

/* An offer without memory, and without a descriptor. */
static struct offer no_offer(void)
{
    struct offer none;

    memset(&none, 0, sizeof(none)); /* its padding is sent, too */
    none.pass.fd = -1;
    return none;
}

chorus_status ch_data_add_chunk(struct ch_data *data, size_t lo, size_t hi)
{
    struct ch_chunk chunk = {.lo = lo, .hi = hi};
    struct offer mine = no_offer();
    chorus_status created = grow_chunks(data);

    if (created == CHORUS_OK)
        created =
            ch_device_create(data->device, hi - lo, data->by_fabric, &mine.handle, &mine.pass);
    CH_TRY(map_and_release(data, &chunk, created, &mine, data->by_fabric));
    data->chunks[data->n_chunks++] = chunk;
    return CHORUS_OK;
}

/* The chunk that begins at lo; null: none does. */
static struct ch_chunk *chunk_at(const struct ch_data *data, size_t lo)
{
    for (size_t i = 0; i < data->n_chunks; i++)
        if (data->chunks[i].lo == lo) return &data->chunks[i];
    return NULL;
}

chorus_status ch_data_adopt(struct ch_data *data, size_t lo, size_t hi, void *addr)
{
    struct ch_chunk chunk = {.lo = lo, .hi = hi}, *there = chunk_at(data, lo);
    struct offer offer = no_offer();
    chorus_status taken = there == NULL ? grow_chunks(data) : CHORUS_OK;

    if (taken == CHORUS_OK)
        taken = ch_device_retain(data->device, addr, hi - lo, data->is_across, &offer.handle,
                                 &offer.pass);
    CH_TRY(map_and_release(data, &chunk, taken, &offer, data->is_across));
    if (there == NULL) there = &data->chunks[data->n_chunks++];
    *there = chunk;
    return CHORUS_OK;
}

void ch_data_disown(struct ch_data *data, size_t lo)
{
    struct ch_chunk *chunk = chunk_at(data, lo);

    if (data->has_multicast) ch_multicast_undo(data, chunk);
    ch_data_unmap(data, data->n, chunk->lo, chunk->hi);
    chunk->is_empty = true;
}

void ch_data_drop_last(struct ch_data *data)
{
    ch_data_disown(data, data->chunks[data->n_chunks - 1].lo);
    data->n_chunks--;
}

bool ch_data_find_empty(const struct ch_data *data, size_t bytes, size_t *lo_out)
{
    for (size_t i = 0; i < data->n_chunks; i++) {
        const struct ch_chunk *chunk = &data->chunks[i];

        if (!chunk->is_empty || chunk->hi - chunk->lo != bytes) continue;
        *lo_out = chunk->lo;
        return true;
    }
    return false;
}
