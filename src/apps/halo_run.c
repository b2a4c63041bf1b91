/* SPDX-License-Identifier: Apache-2.0 */
/* halo_run.c: the exchanges of a halo object. */
#include "apps/halo.h"

#include <stddef.h>

/* --- sends -------------------------------------------------------------------------------- */
/* Where the peer's slot of a step is written: in place, or in memory from which it is put. */
static char *slot_to_write(const struct chorusx_halo *halo, const struct ch_halo_way *w,
                           uint64_t step)
{
    char *slots = w->direct != NULL ? w->direct : w->staging;

    return slots + ch_halo_slot_at(w->out->count, halo->elem_bytes, step);
}

/* Tell the peer that its slot is complete. */
static void announce(const struct chorusx_halo *halo, const struct ch_halo_link *link,
                     const struct ch_halo_way *w, uint64_t step)
{
    const size_t at = ch_halo_slot_at(w->out->count, halo->elem_bytes, step);

    if (w->direct == NULL) {
        chorus_putmem_signal_nbi(w->there + at, w->staging + at,
                                 w->out->count * halo->elem_bytes, w->arrived_there[step & 1],
                                 step, CHORUS_SIGNAL_SET, link->peer);
        return;
    }
    __atomic_thread_fence(__ATOMIC_RELEASE);
    chorusx_signal_op(w->arrived_there[step & 1], step, CHORUS_SIGNAL_SET, link->peer);
}

static bool are_taken(const struct chorusx_halo *halo, int way, const uint32_t *links,
                      uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!halo->links[links[i]].ways[way].is_taken) return false;
    return true;
}

static bool has_something_to_send(const struct chorusx_halo *halo, const struct ch_halo_way *w,
                                  int way)
{
    return w->at_once > 0 || are_taken(halo, way, w->after, w->n_after);
}

static bool is_free(const struct ch_halo_way *w, uint64_t step)
{
    return __atomic_load_n(w->freed[step & 1], __ATOMIC_ACQUIRE) + 2 >= step;
}

/* Send what can be sent of a link. */
static void try_send(const struct chorusx_halo *halo, struct ch_halo_link *link, int way)
{
    const uint64_t step = halo->steps[way];
    struct ch_halo_way *w = &link->ways[way];
    const bool has_all = are_taken(halo, way, w->after, w->n_after);
    size_t from = 0, to = has_all ? w->out->count : w->at_once;

    if (w->sent == CH_HALO_SENT) return;
    if (w->sent == CH_HALO_PARTLY_SENT) from = w->at_once;
    if (from >= to || (w->sent == CH_HALO_NOT_SENT && !is_free(w, step))) return;
    ch_halo_pack(slot_to_write(halo, w, step), halo->array, w->out, from, to, halo->elem_bytes);
    w->sent = has_all ? CH_HALO_SENT : CH_HALO_PARTLY_SENT;
    if (has_all) announce(halo, link, w, step);
}

/* --- what arrives ------------------------------------------------------------------------- */
static bool has_arrived(const struct ch_halo_way *w, uint64_t step)
{
    return __atomic_load_n(w->arrived[step & 1], __ATOMIC_ACQUIRE) >= step;
}

static void try_take(const struct chorusx_halo *halo, struct ch_halo_link *link, int way,
                     chorus_type type)
{
    const uint64_t step = halo->steps[way];
    struct ch_halo_way *w = &link->ways[way];
    const char *slot = w->slots + ch_halo_slot_at(w->in->count, halo->elem_bytes, step);

    if (w->is_taken || !has_arrived(w, step) ||
        !are_taken(halo, way, w->in_after, w->n_in_after))
        return;
    if (way == CH_HALO_FORWARD)
        ch_halo_unpack(halo->array, slot, w->in, halo->elem_bytes);
    else
        ch_halo_add(halo->array, slot, w->in, halo->elem_bytes, type);
    w->is_taken = true;
    __atomic_thread_fence(__ATOMIC_RELEASE); /* the slot has been read */
    chorusx_signal_op(w->freed_there[step & 1], step, CHORUS_SIGNAL_SET, link->peer);
}

/* --- an exchange -------------------------------------------------------------------------- */
static void begin(struct chorusx_halo *halo, int way, void *array)
{
    halo->array = array;
    halo->steps[way]++;
    for (uint32_t i = 0; i < halo->n; i++) {
        struct ch_halo_way *w = &halo->links[i].ways[way];

        w->sent = w->out->count > 0 ? CH_HALO_NOT_SENT : CH_HALO_SENT;
        w->is_taken = w->in->count == 0;
    }
    for (uint32_t i = 0; i < halo->n; i++)
        try_send(halo, &halo->links[i], way);
}

/* Do what can be done; returns whether all is. Later links come first in the reverse way. */
static bool advance(struct chorusx_halo *halo, int way, chorus_type type)
{
    bool is_done = true;

    for (uint32_t k = 0; k < halo->n; k++) {
        struct ch_halo_link *link = &halo->links[way == CH_HALO_FORWARD ? k : halo->n - 1 - k];
        const struct ch_halo_way *w = &link->ways[way];

        try_take(halo, link, way, type);
        try_send(halo, link, way);
        if (!w->is_taken || w->sent != CH_HALO_SENT) is_done = false;
    }
    return is_done;
}

/* Wait until something can be done: a message that may be taken is there, or a slot is free. */
static int wait_for_any(struct chorusx_halo *halo, int way)
{
    uint64_t *const words = (uint64_t *)halo->memory, step = halo->steps[way];
    const size_t n = CH_HALO_WORDS * (size_t)halo->n;

    for (size_t i = 0; i < n; i++)
        halo->skipped[i] = 1;
    for (uint32_t i = 0; i < halo->n; i++) {
        const struct ch_halo_way *w = &halo->links[i].ways[way];
        const ptrdiff_t arrived = w->arrived[step & 1] - words,
                        freed = w->freed[step & 1] - words;

        halo->wanted[arrived] = step;
        halo->skipped[arrived] =
            w->is_taken || !are_taken(halo, way, w->in_after, w->n_in_after);
        halo->wanted[freed] = step > 2 ? step - 2 : 0;
        halo->skipped[freed] =
            w->sent != CH_HALO_NOT_SENT || !has_something_to_send(halo, w, way);
    }
    if (chorus_uint64_wait_until_any_vector(words, n, halo->skipped, CHORUS_CMP_GE,
                                            halo->wanted) < n)
        return CHORUS_OK;
    halo->failed = CHORUS_ERR_TIMEOUT; /* the wait has told why */
    return halo->failed;
}

static int wait_for_all(struct chorusx_halo *halo, int way, chorus_type type)
{
    int code = halo->failed;

    while (code == CHORUS_OK && !advance(halo, way, type))
        code = wait_for_any(halo, way);
    if (code == CHORUS_OK) halo->array = NULL;
    return code;
}

/* --- the calls ---------------------------------------------------------------------------- */
static int check_begin(const char *function, const struct chorusx_halo *halo, const void *array)
{
    if (halo == NULL || array == NULL)
        return chorusx_fail(CHORUS_ERR_ARG, function,
                            halo == NULL ? "the object is null" : "the array is null");
    if (halo->failed != CHORUS_OK)
        return chorusx_fail(CHORUS_ERR_STATE, function,
                            "an exchange failed before; destroy the object");
    if (halo->array == NULL) return CHORUS_OK;
    return chorusx_fail(CHORUS_ERR_STATE, function,
                        "an exchange is under way; call chorusx_halo_wait before");
}

int chorusx_halo_begin(chorusx_halo_t halo, void *array)
{
    const int code = check_begin(__func__, halo, array);

    if (code == CHORUS_OK) begin(halo, CH_HALO_FORWARD, array);
    return code;
}

int chorusx_halo_wait(chorusx_halo_t halo)
{
    if (halo == NULL) return chorusx_fail(CHORUS_ERR_ARG, __func__, "the object is null");
    if (halo->array == NULL)
        return chorusx_fail(CHORUS_ERR_STATE, __func__,
                            "no exchange is under way; call chorusx_halo_begin before");
    return wait_for_all(halo, CH_HALO_FORWARD, CHORUS_TYPE_u8);
}

int chorusx_halo_exchange(chorusx_halo_t halo, void *array)
{
    const int code = check_begin(__func__, halo, array);

    if (code != CHORUS_OK) return code;
    begin(halo, CH_HALO_FORWARD, array);
    return wait_for_all(halo, CH_HALO_FORWARD, CHORUS_TYPE_u8);
}

static size_t bytes_of(chorus_type type)
{
    if (type == CHORUS_TYPE_f32 || type == CHORUS_TYPE_i32) return 4;
    return type == CHORUS_TYPE_f64 || type == CHORUS_TYPE_i64 ? 8 : 0;
}

int chorusx_halo_accumulate(chorusx_halo_t halo, void *array, chorus_type type)
{
    const int code = check_begin(__func__, halo, array);
    const size_t bytes = bytes_of(type);

    if (code != CHORUS_OK) return code;
    if (bytes == 0 || halo->elem_bytes % bytes != 0)
        return chorusx_fail(
            CHORUS_ERR_ARG, __func__,
            "the type is not f32, f64, i32 or i64, or elements do not consist of "
            "its values");
    begin(halo, CH_HALO_REVERSE, array);
    return wait_for_all(halo, CH_HALO_REVERSE, type);
}
