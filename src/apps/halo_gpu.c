/* SPDX-License-Identifier: Apache-2.0 */
/*
 * halo_gpu.c: objects of heaps on GPUs: what kernels have of them, and the calls on streams.
 *
 * The tables are in symmetric memory of the team: the links of both ways, their words, what
 * blocks have done, lists of indices, and memory from which messages are put to peers that are
 * not mapped. They are made in host memory, with addresses of the GPU, and copied there once.
 */
#include "apps/gather.h"
#include "apps/halo.h"
#include "apps/halo_task.h"

#include <stdlib.h>
#include <string.h>

enum { LINE = 64 };

/* The tables as they grow: in host memory, or null while their bytes are counted. */
struct room {
    char *image, *there; /* there: its address on the GPU */
    size_t bytes;
};

/* Bytes at the next line; their address on the GPU. */
static void *add(struct room *room, const void *from, size_t bytes)
{
    const size_t at = room->bytes;

    room->bytes += (bytes + LINE - 1) / LINE * LINE;
    if (room->image != NULL && from != NULL && bytes > 0) memcpy(room->image + at, from, bytes);
    return (void *)((uintptr_t)room->there + at);
}

/* The same of elements, as a list of indices unless they follow each other. */
static struct ch_halo_list add_list(struct room *room, const struct ch_halo_elements *e)
{
    struct ch_halo_list list = {NULL, 0};
    uint32_t *to = NULL;

    if (e->n_runs == 1) list.first = e->runs[0].first;
    if (e->count == 0 || e->n_runs == 1) return list;
    if (room->image != NULL) to = (uint32_t *)(room->image + room->bytes);
    list.indices = add(room, e->indices, e->count * sizeof(uint32_t));
    for (size_t r = 0; to != NULL && r < e->n_runs; r++)
        for (size_t i = 0; i < e->runs[r].count; i++)
            *to++ = (uint32_t)(e->runs[r].first + i);
    return list;
}

/* A link's way as kernels have it. */
static struct ch_halo_way add_way(const struct chorusx_halo *halo, struct room *room, int way,
                                  uint32_t i)
{
    struct ch_halo_way w = halo->ways[way][i];
    const size_t slots = 2 * ch_halo_slot_bytes(w.n_out, halo->elem_bytes);

    w.after = add(room, w.after, w.n_after * sizeof(*w.after));
    w.in_after = add(room, w.in_after, w.n_in_after * sizeof(*w.in_after));
    w.ready = add(room, NULL, sizeof(*w.ready));
    w.n_packed = add(room, NULL, sizeof(*w.n_packed));
    w.n_taken = add(room, NULL, sizeof(*w.n_taken));
    w.staging = w.direct == NULL && w.n_out > 0 ? add(room, NULL, slots) : NULL;
    return w;
}

static void add_link(struct chorusx_halo *halo, struct room *room, uint32_t i,
                     struct ch_halo_way *const ways[CH_HALO_WAYS])
{
    const struct ch_halo_list send = add_list(room, &halo->links[i].send),
                              recv = add_list(room, &halo->links[i].recv);

    for (int way = 0; way < CH_HALO_WAYS; way++) {
        struct ch_halo_way w = add_way(halo, room, way, i);

        w.out = way == CH_HALO_FORWARD ? send : recv;
        w.in = way == CH_HALO_FORWARD ? recv : send;
        if (w.staging != NULL) halo->device.is_far = 1;
        if (room->image != NULL) ways[way][i] = w;
    }
}

static void add_all(struct chorusx_halo *halo, struct room *room)
{
    chorusx_halo_device_t *device = &halo->device;
    const uint64_t n_own = (uint64_t)device->n_blocks * CH_HALO_WAYS * halo->n;
    struct ch_halo_way *ways[CH_HALO_WAYS] = {NULL}; /* in the image */

    device->common = add(room, NULL, sizeof(*device->common));
    device->own = add(room, NULL, n_own * sizeof(*device->own));
    for (int way = 0; way < CH_HALO_WAYS; way++) {
        if (room->image != NULL) ways[way] = (struct ch_halo_way *)(room->image + room->bytes);
        device->ways[way] = add(room, NULL, halo->n * sizeof(struct ch_halo_way));
    }
    for (uint32_t i = 0; i < halo->n; i++)
        add_link(halo, room, i, ways);
}

/* As many as the messages of a way are divided among, so that links need not share any. */
static uint32_t blocks_of(const struct chorusx_halo *halo)
{
    uint64_t most = 1;

    for (int way = 0; way < CH_HALO_WAYS; way++) {
        uint64_t sum = 0;

        for (uint32_t i = 0; i < halo->n; i++)
            sum += ch_halo_blocks_of(halo->ways[way][i].n_out * halo->elem_bytes);
        if (sum > most) most = sum;
    }
    return most < CH_HALO_BLOCKS_MAX ? (uint32_t)most : CH_HALO_BLOCKS_MAX;
}

static int refuse(int code, const char *message)
{
    (void)chorusx_fail(code, "chorusx_halo_create", message); /* which returns the code */
    return code;
}

/* The bytes of the PE with the largest tables. */
static int gather_most(const struct chorusx_halo *halo, uint64_t mine, uint64_t *most_out)
{
    void *all = NULL;
    const int code = ch_apps_gather_equal(halo->team, &mine, sizeof(mine), &all);
    const uint64_t *bytes = all;

    if (code != CHORUS_OK)
        return refuse(code, "there is no memory for what PEs tell each other");
    *most_out = 0;
    for (int p = 0; p < chorus_team_n_pes(halo->team); p++)
        if (bytes[p] > *most_out) *most_out = bytes[p];
    free(all);
    return CHORUS_OK;
}

static bool fill(struct chorusx_halo *halo, size_t bytes)
{
    struct room room = {calloc(1, bytes), halo->tables, 0};

    if (room.image == NULL) return false;
    add_all(halo, &room);
    chorus_putmem(halo->tables, room.image, room.bytes, chorus_my_pe());
    chorus_quiet();
    free(room.image);
    return true;
}

int ch_halo_gpu_create(struct chorusx_halo *halo)
{
    struct room room = {NULL, NULL, 0};
    uint64_t most;
    int code;

    halo->device.n = halo->n;
    halo->device.elem_bytes = halo->elem_bytes;
    halo->device.n_blocks = blocks_of(halo);
    add_all(halo, &room);
    code = gather_most(halo, room.bytes, &most);
    if (code != CHORUS_OK) return code;
    halo->tables = chorusx_team_malloc(halo->team, most);
    if (halo->tables == NULL) return refuse(CHORUS_ERR_NOMEM, NULL); /* with its message */
    if (ch_apps_agree(halo->team, fill(halo, room.bytes)) == CHORUS_OK) return CHORUS_OK;
    code = refuse(CHORUS_ERR_NOMEM, "a PE has no memory for the tables of its links");
    return chorusx_team_free(halo->team, halo->tables) == CHORUS_OK ? code : CHORUS_ERR_STATE;
}

int ch_halo_gpu_free(struct chorusx_halo *halo)
{
    return halo->tables == NULL ? CHORUS_OK : ch_apps_free(halo->team, halo->tables);
}

/* --- the calls ---------------------------------------------------------------------------- */
static int check(const char *function, const struct chorusx_halo *halo)
{
    if (halo == NULL) return chorusx_fail(CHORUS_ERR_ARG, function, "the object is null");
    if (halo->tables != NULL) return CHORUS_OK;
    return chorusx_fail(CHORUS_ERR_UNSUPPORTED, function,
                        "the heap is in host memory, and this call is for GPUs; start the job "
                        "with CHORUS_HEAP=cuda, or make the call without a stream");
}

static int check_array(const char *function, const struct chorusx_halo *halo, const void *array)
{
    const int code = check(function, halo);

    if (code != CHORUS_OK || array != NULL) return code;
    return chorusx_fail(CHORUS_ERR_ARG, function, "the array is null");
}

static int launch(const struct chorusx_halo *halo, void *array, uint32_t way, uint32_t parts,
                  chorus_type type, chorus_stream_t stream)
{
    const struct ch_halo_task task = {halo->device, array, way, parts, type};

    return ch_halo_launch(&task, stream);
}

int chorusx_halo_exchange_on_stream(chorusx_halo_t halo, void *array, chorus_stream_t stream)
{
    const int code = check_array(__func__, halo, array);

    if (code != CHORUS_OK) return code;
    return launch(halo, array, CH_HALO_FORWARD, CH_HALO_BEGINS | CH_HALO_ENDS, CHORUS_TYPE_u8,
                  stream);
}

int chorusx_halo_begin_on_stream(chorusx_halo_t halo, void *array, chorus_stream_t stream)
{
    const int code = check_array(__func__, halo, array);

    if (code != CHORUS_OK) return code;
    return launch(halo, array, CH_HALO_FORWARD, CH_HALO_BEGINS, CHORUS_TYPE_u8, stream);
}

int chorusx_halo_wait_on_stream(chorusx_halo_t halo, chorus_stream_t stream)
{
    const int code = check(__func__, halo);

    if (code != CHORUS_OK) return code;
    return launch(halo, NULL, CH_HALO_FORWARD, CH_HALO_ENDS, CHORUS_TYPE_u8, stream);
}

int chorusx_halo_accumulate_on_stream(chorusx_halo_t halo, void *array, chorus_type type,
                                      chorus_stream_t stream)
{
    const int code = check_array(__func__, halo, array);
    const size_t bytes = ch_halo_type_bytes(type);

    if (code != CHORUS_OK) return code;
    if (bytes == 0 || halo->elem_bytes % bytes != 0 || (uintptr_t)array % bytes != 0)
        return chorusx_fail(CHORUS_ERR_ARG, __func__,
                            "the type is not f32, f64, i32 or i64, or elements do not consist "
                            "of its values, or the array is not aligned to them");
    return launch(halo, array, CH_HALO_REVERSE, CH_HALO_BEGINS | CH_HALO_ENDS, type, stream);
}

int chorusx_halo_device(chorusx_halo_t halo, chorusx_halo_device_t *device)
{
    const int code = check(__func__, halo);

    if (code != CHORUS_OK) return code;
    if (device == NULL)
        return chorusx_fail(CHORUS_ERR_ARG, __func__, "the address for the handle is null");
    *device = halo->device;
    return CHORUS_OK;
}
