/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trial.c: which PEs of other hosts are near: those whose fabric handle this PE's GPU imports
 * and maps. Whether GPUs of several hosts are in one NVLink domain, and their IMEX channels in
 * one, is not guessed from names: each PE creates a piece of memory, and all others try it.
 */
#include "heap/inside.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

/* What each PE publishes. */
struct piece {
    bool is_there;
    struct ch_pass pass;
};

bool ch_trial_is_needed(const struct ch_data *data, const struct ch_options *options)
{
    return data->boot->nodes != NULL && options->nodes == 0;
}

/* Create this PE's piece. */
static void make_piece(const struct ch_data *data, struct ch_trial *trial, struct piece *piece)
{
    if (ch_device_create(data->device, data->granule_bytes, true, &trial->handle,
                         &piece->pass) != CHORUS_OK) {
        CH_LOG(DEBUG, "no fabric handles: %s", ch_error_message());
        ch_error_forget();
        return;
    }
    trial->has_handle = piece->is_there = true;
}

/* Map a peer's piece at `range`, and undo that. */
static chorus_status try_piece(const struct ch_data *data, const struct ch_pass *pass,
                               char *range)
{
    uint64_t handle = 0;
    chorus_status st;

    CH_TRY(ch_device_import(data->device, pass, &handle));
    st = ch_device_map(data->device, range, data->granule_bytes, handle);
    if (st == CHORUS_OK) ch_device_unmap(data->device, range, data->granule_bytes);
    ch_device_release(data->device, handle);
    return st;
}

/* Try the pieces of the PEs of other hosts. */
static void try_all(struct ch_data *data, const struct piece *all, bool *may_map)
{
    char *range = NULL;
    const chorus_status reserved = ch_device_reserve(data->device, data->granule_bytes, &range);

    for (uint32_t pe = 0; pe < data->n; pe++) {
        if (ch_boot_is_near(data->boot, pe)) continue;
        may_map[pe] =
            reserved == CHORUS_OK && try_piece(data, &all[pe].pass, range) == CHORUS_OK;
        if (may_map[pe]) continue;
        CH_LOG(DEBUG, "PE %u is not near: %s", pe, ch_error_message());
        ch_data_keep_refusal(data, pe, ch_error_message());
    }
    ch_error_forget();
    if (reserved == CHORUS_OK) ch_device_unreserve(data->device, range, data->granule_bytes);
}

chorus_status ch_trial_open(struct ch_data *data, struct ch_trial *trial, chorus_status mine,
                            bool *offers_io, bool *may_map)
{
    struct piece own, *all = calloc(data->n, sizeof(*all));
    struct ch_vote vote = {"heap on GPUs", mine, &own, sizeof(own)};
    uint32_t n = 0;
    chorus_status st;

    if (all == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the answers of %u PEs", data->n);
    memset(&own, 0, sizeof(own));
    if (mine == CHORUS_OK && *offers_io) make_piece(data, trial, &own);
    st = ch_boot_vote(data->boot, &vote, all);
    while (st == CHORUS_OK && n < data->n && all[n].is_there)
        n++;
    if (n == data->n) try_all(data, all, may_map);
    *offers_io = own.is_there;
    free(all);
    return st;
}

void ch_trial_close(const struct ch_data *data, struct ch_trial *trial)
{
    if (trial->has_handle) ch_device_release(data->device, trial->handle);
}
