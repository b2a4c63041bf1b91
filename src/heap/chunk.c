/* SPDX-License-Identifier: Apache-2.0 */
/* chunk.c: memory behind device segments, of all PEs or of none. */
#include "heap/data.h"

#include "heap/multicast.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WHY_BYTES = 200 };

/* What a PE says of a step that all must have taken. */
struct report {
    uint64_t handle;     /* of its chunk, good within its process */
    struct ch_pass pass; /* to its chunk, for others; a descriptor comes beside the report */
    bool offers_fabric;  /* asked at the start alone */
    int64_t status;
    char why[WHY_BYTES];
};

static struct report report_of(chorus_status status)
{
    struct report r;

    memset(&r, 0, sizeof(r));
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

/* Hear all PEs out, and judge. */
static chorus_status ask_all(const struct ch_data *data, const struct report *mine,
                             struct report *all)
{
    CH_TRY(data->boot->ops->exchange(data->boot, mine, sizeof(*mine), -1, all, NULL));
    return judge(data, all);
}

static chorus_status make_list(const struct ch_data *data, struct report **all_out)
{
    *all_out = malloc(data->n * sizeof(**all_out));
    if (*all_out == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory to ask %u PEs", data->n);
    return CHORUS_OK;
}

chorus_status ch_data_agree(const struct ch_data *data, chorus_status mine)
{
    const struct report report = report_of(mine);
    struct report *all;
    chorus_status st;

    CH_TRY(make_list(data, &all));
    st = ask_all(data, &report, all);
    free(all);
    return st;
}

chorus_status ch_data_agree_on_fabric(const struct ch_data *data, chorus_status mine,
                                      bool offers, uint32_t *without_out)
{
    struct report report = report_of(mine), *all;
    uint32_t pe = 0;
    chorus_status st;

    report.offers_fabric = offers;
    CH_TRY(make_list(data, &all));
    st = ask_all(data, &report, all);
    while (st == CHORUS_OK && pe < data->n && all[pe].offers_fabric)
        pe++;
    free(all);
    *without_out = pe;
    return st;
}

/* Map the chunk [lo, hi) of PE pe, from its handle in this process or from what it passed on.
 */
static chorus_status map_one(const struct ch_data *data, uint32_t pe, size_t lo, size_t hi,
                             const struct report *its)
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
        ch_device_unmap(data->device, data->bases[pe] + lo, hi - lo);
}

/* All PEs' chunks here, or none. */
static chorus_status map_all(const struct ch_data *data, size_t lo, size_t hi,
                             const struct report *all)
{
    for (uint32_t pe = 0; pe < data->n; pe++) {
        const chorus_status st = map_one(data, pe, lo, hi, &all[pe]);

        if (st == CHORUS_OK) continue;
        ch_data_unmap(data, pe, lo, hi);
        return st;
    }
    return CHORUS_OK;
}

/* Tell what became of this PE's chunk and learn of all, with their descriptors if such are the
 * passes. A PE without a chunk then gives any, since all must give one. */
static chorus_status exchange(const struct ch_data *data, const struct report *mine,
                              struct report *all)
{
    const bool has_fds = !data->by_fabric;
    const int fd = mine->status == CHORUS_OK ? mine->pass.fd : data->spare_fd;
    int *fds = malloc(data->n * sizeof(*fds));
    chorus_status st;

    if (fds == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory to ask %u PEs", data->n);
    st =
        data->boot->ops->exchange(data->boot, mine, sizeof(*mine), has_fds ? fd : -1, all, fds);
    for (uint32_t pe = 0; st == CHORUS_OK && pe < data->n; pe++)
        all[pe].pass.fd = has_fds ? fds[pe] : -1;
    free(fds);
    return st;
}

static void close_pass(const struct ch_pass *pass)
{
    if (pass->fd >= 0) (void)close(pass->fd);
}

/* Every PE's chunk mapped by every PE, or none by any. */
static chorus_status share(const struct ch_data *data, size_t lo, size_t hi,
                           const struct report *mine)
{
    struct report *all;
    chorus_status st;

    CH_TRY(make_list(data, &all));
    CH_TRY_GOTO(st, exchange(data, mine, all), out_all);
    st = judge(data, all);
    if (st == CHORUS_OK) {
        const chorus_status mapped = map_all(data, lo, hi, all);

        st = ch_data_agree(data, mapped);
        if (st != CHORUS_OK && mapped == CHORUS_OK) ch_data_unmap(data, data->n, lo, hi);
    }
    for (uint32_t pe = 0; pe < data->n; pe++)
        close_pass(&all[pe].pass);

out_all:
    free(all);
    return st;
}

/* Map the chunk of every segment here, and all at once where there is multicast. */
static chorus_status join(const struct ch_data *data, struct ch_chunk *chunk,
                          const struct report *mine)
{
    chorus_status st;

    CH_TRY(share(data, chunk->lo, chunk->hi, mine));
    if (!data->has_multicast) return CHORUS_OK;
    st = ch_multicast_make(data, chunk, mine->handle);
    if (st != CHORUS_OK) ch_data_unmap(data, data->n, chunk->lo, chunk->hi);
    return st;
}

chorus_status ch_data_add_chunk(struct ch_data *data, size_t lo, size_t hi)
{
    struct ch_chunk *chunks =
        realloc(data->chunks, (data->n_chunks + 1) * sizeof(*data->chunks));
    struct ch_chunk chunk = {lo, hi, 0};
    struct ch_pass pass = {.fd = -1};
    uint64_t handle = 0;
    chorus_status created, st;
    struct report mine;

    if (chunks != NULL) data->chunks = chunks;
    created = chunks == NULL
                  ? CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for a list of chunks")
                  : ch_device_create(data->device, hi - lo, data->by_fabric, &handle, &pass);
    mine = report_of(created);
    mine.handle = handle;
    mine.pass = pass;
    st = join(data, &chunk, &mine);
    if (created == CHORUS_OK) {
        ch_device_release(data->device, handle);
        close_pass(&pass);
    }
    CH_TRY(st);
    data->chunks[data->n_chunks++] = chunk;
    return CHORUS_OK;
}
