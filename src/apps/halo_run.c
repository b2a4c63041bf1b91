/* SPDX-License-Identifier: Apache-2.0 */
/* halo_run.c: the exchanges of a halo object. */
#include "apps/halo.h"

#include <stddef.h>
#include <stdio.h>

enum { FAILURE_BYTES = 512 };

static struct ch_halo_view view_of(const struct chorusx_halo *halo, int way)
{
    return (struct ch_halo_view){halo->ways[way], halo->own[way], halo->n,
                                 way == CH_HALO_REVERSE};
}

/* --- sends -------------------------------------------------------------------------------- */
/* Where the peer's slot of a step is written: in place, or in memory from which it is put. */
static char *slot_to_write(const struct chorusx_halo *halo, const struct ch_halo_way *w)
{
    char *slots = w->direct != NULL ? w->direct : w->staging;

    return slots + ch_halo_slot_at(w->n_out, halo->elem_bytes, w->sent + 1);
}

/* Tell the peer that its slot is complete. */
static void announce(const struct chorusx_halo *halo, const struct ch_halo_way *w)
{
    const uint64_t step = w->sent + 1;
    const size_t at = ch_halo_slot_at(w->n_out, halo->elem_bytes, step);

    if (w->direct == NULL) {
        chorus_putmem_signal_nbi(w->there + at, w->staging + at, w->n_out * halo->elem_bytes,
                                 w->arrived_there[step & 1], step, CHORUS_SIGNAL_SET,
                                 (int)w->peer);
        return;
    }
    __atomic_thread_fence(__ATOMIC_RELEASE);
    chorusx_signal_op(w->arrived_there[step & 1], step, CHORUS_SIGNAL_SET, (int)w->peer);
}

static void send_part(const struct chorusx_halo *halo, int way, const struct ch_halo_act *act)
{
    const struct ch_halo_view view = view_of(halo, way);
    const struct ch_halo_way *w = &view.ways[act->link];

    ch_halo_pack(slot_to_write(halo, w), halo->array, ch_halo_out(halo, way, act->link),
                 act->from, act->to, halo->elem_bytes);
    if (ch_halo_note_sent(&view, act)) announce(halo, w);
}

/* --- what arrives ------------------------------------------------------------------------- */
static void take(const struct chorusx_halo *halo, int way, uint32_t link, chorus_type type)
{
    const struct ch_halo_way *w = &halo->ways[way][link];
    const uint64_t step = w->taken + 1;
    const char *slot = w->slots + ch_halo_slot_at(w->n_in, halo->elem_bytes, step);

    if (way == CH_HALO_FORWARD)
        ch_halo_unpack(halo->array, slot, ch_halo_in(halo, way, link), halo->elem_bytes);
    else
        ch_halo_add(halo->array, slot, ch_halo_in(halo, way, link), halo->elem_bytes, type);
    *w->ready = step;
    halo->own[way][link].is_taken = true;
    __atomic_thread_fence(__ATOMIC_RELEASE); /* the slot has been read */
    chorusx_signal_op(w->freed_there[step & 1], step, CHORUS_SIGNAL_SET, (int)w->peer);
}

/* --- an exchange -------------------------------------------------------------------------- */
static void begin(struct chorusx_halo *halo, int way, void *array)
{
    const struct ch_halo_view view = view_of(halo, way);

    halo->array = array;
    for (uint32_t i = 0; i < halo->n; i++) {
        view.own[i].sent = view.ways[i].n_out > 0 ? CH_HALO_NOT_SENT : CH_HALO_SENT;
        view.own[i].is_taken = view.ways[i].n_in == 0;
    }
    for (uint32_t i = 0; i < halo->n; i++) {
        struct ch_halo_act act = {.link = i};

        if (ch_halo_can_send(&view, i, &act.from, &act.to)) send_part(halo, way, &act);
    }
}

/* Do what can be done; returns whether all is. */
static bool advance(struct chorusx_halo *halo, int way, chorus_type type)
{
    const struct ch_halo_view view = view_of(halo, way);
    uint32_t at = 0;

    for (;;) {
        const struct ch_halo_act act = ch_halo_find(&view, &at);

        if (act.what == CH_HALO_NOTHING) return ch_halo_is_done(&view);
        if (act.what == CH_HALO_TAKE)
            take(halo, way, act.link, type);
        else
            send_part(halo, way, &act);
    }
}

/* The message of a wait that has failed: the first link that it was for, then what the wait has
 * told. */
static int fail_wait(const char *function, struct chorusx_halo *halo, int way)
{
    const uint64_t *words = (const uint64_t *)halo->memory;
    char message[FAILURE_BYTES] = "";

    for (uint32_t i = 0; i < halo->n && message[0] == '\0'; i++) {
        const struct ch_halo_way *w = &halo->ways[way][i];
        const bool waits_for_message = !halo->skipped[w->arrived[(w->taken + 1) & 1] - words],
                   waits_for_slot = !halo->skipped[w->freed[(w->sent + 1) & 1] - words];

        if (waits_for_message || waits_for_slot)
            (void)snprintf(message, sizeof(message),
                           "link %u waits for PE %d of the job, which %s: %s", i, (int)w->peer,
                           waits_for_message ? "has not sent"
                                             : "has not taken what was sent before",
                           chorusx_last_error());
    }
    halo->failed = CHORUS_ERR_TIMEOUT;
    return chorusx_fail(halo->failed, function, message);
}

/* Wait until something can be done: a message that may be taken is there, or a slot is free. */
static int wait_for_any(const char *function, struct chorusx_halo *halo, int way)
{
    uint64_t *const words = (uint64_t *)halo->memory;
    const struct ch_halo_way *ways = halo->ways[way];
    const size_t n = CH_HALO_WORDS * (size_t)halo->n;

    for (size_t i = 0; i < n; i++)
        halo->skipped[i] = 1;
    for (uint32_t i = 0; i < halo->n; i++) {
        const struct ch_halo_way *w = &ways[i];
        const struct ch_halo_own own = halo->own[way][i];
        const uint64_t out = w->sent + 1, in = w->taken + 1;
        const ptrdiff_t arrived = w->arrived[in & 1] - words, freed = w->freed[out & 1] - words;

        halo->wanted[arrived] = in;
        halo->skipped[arrived] =
            own.is_taken || !ch_halo_are_taken(ways, w->in_after, w->n_in_after);
        halo->wanted[freed] = out > 2 ? out - 2 : 0;
        halo->skipped[freed] =
            own.sent != CH_HALO_NOT_SENT ||
            (w->at_once == 0 && !ch_halo_are_taken(ways, w->after, w->n_after));
    }
    if (chorus_uint64_wait_until_any_vector(words, n, halo->skipped, CHORUS_CMP_GE,
                                            halo->wanted) < n)
        return CHORUS_OK;
    return fail_wait(function, halo, way);
}

static int wait_for_all(const char *function, struct chorusx_halo *halo, int way,
                        chorus_type type)
{
    int code = halo->failed;

    while (code == CHORUS_OK && !advance(halo, way, type))
        code = wait_for_any(function, halo, way);
    if (code != CHORUS_OK) return code;
    halo->array = NULL;
    for (uint32_t i = 0; i < halo->n; i++) {
        struct ch_halo_way *w = &halo->ways[way][i];

        w->sent += w->n_out > 0;
        w->taken += w->n_in > 0;
    }
    return CHORUS_OK;
}

/* --- the calls ---------------------------------------------------------------------------- */
static int check_object(const char *function, const struct chorusx_halo *halo)
{
    if (halo == NULL) return chorusx_fail(CHORUS_ERR_ARG, function, "the object is null");
    if (halo->tables == NULL) return CHORUS_OK;
    return chorusx_fail(CHORUS_ERR_UNSUPPORTED, function,
                        "the heap is on GPUs, and this call is for arrays in host memory; make "
                        "the call whose name ends in _on_stream");
}

static int check_begin(const char *function, const struct chorusx_halo *halo, const void *array)
{
    const int code = check_object(function, halo);

    if (code != CHORUS_OK) return code;
    if (array == NULL) return chorusx_fail(CHORUS_ERR_ARG, function, "the array is null");
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
    const int code = check_object(__func__, halo);

    if (code != CHORUS_OK) return code;
    if (halo->array == NULL)
        return chorusx_fail(CHORUS_ERR_STATE, __func__,
                            "no exchange is under way; call chorusx_halo_begin before");
    return wait_for_all(__func__, halo, CH_HALO_FORWARD, CHORUS_TYPE_u8);
}

int chorusx_halo_exchange(chorusx_halo_t halo, void *array)
{
    const int code = check_begin(__func__, halo, array);

    if (code != CHORUS_OK) return code;
    begin(halo, CH_HALO_FORWARD, array);
    return wait_for_all(__func__, halo, CH_HALO_FORWARD, CHORUS_TYPE_u8);
}

int chorusx_halo_accumulate(chorusx_halo_t halo, void *array, chorus_type type)
{
    const int code = check_begin(__func__, halo, array);
    const size_t bytes = ch_halo_type_bytes(type);

    if (code != CHORUS_OK) return code;
    if (bytes == 0 || halo->elem_bytes % bytes != 0)
        return chorusx_fail(
            CHORUS_ERR_ARG, __func__,
            "the type is not f32, f64, i32 or i64, or elements do not consist of "
            "its values");
    begin(halo, CH_HALO_REVERSE, array);
    return wait_for_all(__func__, halo, CH_HALO_REVERSE, type);
}
