/* SPDX-License-Identifier: Apache-2.0 */
/*
 * multicast.c: creates one address for n devices, in steps that all PEs take together: the
 * driver blocks a PE that binds memory until all have joined, so no PE begins before all are
 * ready.
 */
#include "heap/inside.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How many steps this PE has completed with an object. */
enum progress { NOTHING, HAS, BOUND, MAPPED };

/* The reason why PE pe prevents multicast; null: it does not. */
static const char *obstacle(const struct ch_data_peer *peers, uint32_t pe)
{
    if (!peers[pe].wants_multicast) return "did not ask for it";
    if (!peers[pe].device.has_multicast) return "has a GPU without it";
    for (uint32_t k = 0; k < pe; k++)
        if (strcmp(peers[k].device.bus, peers[pe].device.bus) == 0)
            return "shares its GPU with another";
    return NULL;
}

bool ch_multicast_serves(const struct ch_data_peer *peers, uint32_t n)
{
    bool is_wanted = false;

    for (uint32_t pe = 0; pe < n; pe++)
        is_wanted = is_wanted || peers[pe].wants_multicast;
    if (n == 1 || !is_wanted) return false;
    for (uint32_t pe = 0; pe < n; pe++) {
        const char *why = obstacle(peers, pe);

        if (why == NULL) continue;
        CH_LOG(INFO, "no multicast in hardware: PE %u %s", pe, why);
        return false;
    }
    CH_LOG(INFO, "multicast in hardware serves teams of all %u PEs", n);
    return true;
}

/* Send PE 0's object to the others; all PEs must send a descriptor. */
static chorus_status hand_out(const struct ch_data *data, int fd, uint64_t *object)
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

/* The object, with the devices of all PEs added. */
static chorus_status get(const struct ch_data *data, size_t bytes, uint64_t *object,
                         enum progress *progress)
{
    int fd = -1;
    chorus_status st =
        data->me != 0 ? CHORUS_OK
                      : ch_device_multicast_create(data->device, data->n, bytes, object, &fd);

    if (data->me == 0 && st == CHORUS_OK) *progress = HAS;
    st = ch_data_vote(data, st);
    if (st == CHORUS_OK) {
        st = hand_out(data, data->me == 0 ? fd : data->spare_fd, object);
        if (st == CHORUS_OK) {
            *progress = HAS;
            st = ch_device_multicast_join(data->device, *object);
        }
        st = ch_data_vote(data, st);
    }
    if (fd >= 0) (void)close(fd);
    return st;
}

static void undo(const struct ch_data *data, const struct ch_chunk *chunk,
                 enum progress progress)
{
    const size_t bytes = chunk->hi - chunk->lo;

    if (progress >= MAPPED) ch_device_unmap(data->device, data->multicast + chunk->lo, bytes);
    if (progress >= BOUND) ch_device_multicast_unbind(data->device, chunk->multicast, bytes);
    if (progress >= HAS) ch_device_release(data->device, chunk->multicast);
}

chorus_status ch_multicast_make(const struct ch_data *data, struct ch_chunk *chunk,
                                uint64_t memory)
{
    const struct ch_device *device = data->device;
    const size_t bytes = chunk->hi - chunk->lo;
    enum progress progress = NOTHING;
    chorus_status st;

    CH_TRY_GOTO(st, get(data, bytes, &chunk->multicast, &progress), out_undo);
    st = ch_device_multicast_bind(device, chunk->multicast, memory, bytes);
    if (st == CHORUS_OK) progress = BOUND;
    CH_TRY_GOTO(st, ch_data_vote(data, st), out_undo);
    st = ch_device_map(device, data->multicast + chunk->lo, bytes, chunk->multicast);
    if (st == CHORUS_OK) progress = MAPPED;
    CH_TRY_GOTO(st, ch_data_vote(data, st), out_undo);
    return CHORUS_OK;

out_undo:
    undo(data, chunk, progress);
    return st;
}

void ch_multicast_undo(const struct ch_data *data, const struct ch_chunk *chunk)
{
    undo(data, chunk, MAPPED);
}
