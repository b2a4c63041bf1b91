/* SPDX-License-Identifier: Apache-2.0 */
/* moe_wire.c: the messages of a call. */
#include "apps/moe.h"

#include <stdio.h>

enum { LINE = 64, FAILURE_BYTES = 512 };

enum which { ARRIVED, FREED };

size_t ch_moe_words_bytes(uint32_t n_pes)
{
    return (n_pes * CH_MOE_WORDS * sizeof(uint64_t) + LINE - 1) / LINE * LINE;
}

/* The word of message `number` between a PE that has it and `peer`. */
static uint64_t *word(const struct chorusx_moe *moe, enum which which, uint64_t number,
                      uint32_t peer)
{
    return (uint64_t *)moe->memory + (2 * (size_t)which + (number & 1)) * moe->n_pes + peer;
}

/* --- sends -------------------------------------------------------------------------------- */
static bool is_free(const struct chorusx_moe *moe, uint32_t peer, uint64_t number)
{
    return number <= 2 ||
           __atomic_load_n(word(moe, FREED, number, peer), __ATOMIC_ACQUIRE) >= number - 2;
}

/* Whether there is a next message to a peer, and nothing of it is still to come. */
static bool has_message(const struct chorusx_moe *moe, uint32_t peer)
{
    const struct ch_moe_kind *kind = moe->call.kind;
    const size_t at = moe->peers[peer].out_at;

    if (at == moe->peers[peer].n_out) return false;
    return kind->is_ready == NULL ||
           kind->is_ready(moe, peer, at, kind->end(moe, peer, true, at));
}

static bool try_send(struct chorusx_moe *moe, uint32_t peer)
{
    struct ch_moe_peer *p = &moe->peers[peer];
    const uint64_t number = p->sent + 1;
    const size_t at = (number & 1) * moe->slot_bytes;
    uint64_t *arrived = word(moe, ARRIVED, number, moe->me);
    size_t end, bytes;

    if (!is_free(moe, peer, number) || !has_message(moe, peer)) return false;
    end = moe->call.kind->end(moe, peer, true, p->out_at);
    bytes = moe->call.kind->pack(moe, peer, p->out_at, end,
                                 (p->direct != NULL ? p->direct : p->staging) + at);
    if (p->direct != NULL) {
        __atomic_thread_fence(__ATOMIC_RELEASE); /* the slot has been written */
        chorusx_signal_op(arrived, number, CHORUS_SIGNAL_SET, p->pe);
    } else {
        chorus_putmem_signal_nbi(p->there + at, p->staging + at, bytes, arrived, number,
                                 CHORUS_SIGNAL_SET, p->pe);
    }
    p->sent = number;
    p->out_at = end;
    return true;
}

/* --- what arrives ------------------------------------------------------------------------- */
bool ch_moe_open(struct chorusx_moe *moe, uint32_t peer)
{
    struct ch_moe_peer *p = &moe->peers[peer];
    const uint64_t number = p->taken + 1;

    if (p->is_open) return true;
    if (p->in_at == p->n_in ||
        __atomic_load_n(word(moe, ARRIVED, number, peer), __ATOMIC_ACQUIRE) < number)
        return false;
    p->is_open = true;
    p->in_end = moe->call.kind->end(moe, peer, false, p->in_at);
    p->row_at = 0;
    return true;
}

const char *ch_moe_slot(const struct chorusx_moe *moe, uint32_t peer)
{
    const uint64_t number = moe->peers[peer].taken + 1;

    return moe->memory + ch_moe_words_bytes(moe->n_pes) +
           (2 * (size_t)peer + (number & 1)) * moe->slot_bytes;
}

void ch_moe_close(struct chorusx_moe *moe, uint32_t peer)
{
    struct ch_moe_peer *p = &moe->peers[peer];

    p->taken++;
    p->in_at = p->in_end;
    p->is_open = false;
    __atomic_thread_fence(__ATOMIC_RELEASE); /* the slot has been read */
    chorusx_signal_op(word(moe, FREED, p->taken, moe->me), p->taken, CHORUS_SIGNAL_SET, p->pe);
}

static bool try_take(struct chorusx_moe *moe, uint32_t peer)
{
    struct ch_moe_peer *p = &moe->peers[peer];

    if (!ch_moe_open(moe, peer)) return false;
    moe->call.kind->take(moe, peer, p->in_at, p->in_end, ch_moe_slot(moe, peer));
    ch_moe_close(moe, peer);
    return true;
}

/* --- a call ------------------------------------------------------------------------------- */
/* PE k of those that a PE serves: the next one first, so that not all send to the same one. */
static uint32_t in_turn(const struct chorusx_moe *moe, uint32_t k)
{
    return (moe->me + k) % moe->n_pes;
}

void ch_moe_start(struct chorusx_moe *moe)
{
    for (uint32_t p = 0; p < moe->n_pes; p++) {
        moe->peers[p].out_at = moe->peers[p].in_at = 0;
        moe->peers[p].is_open = false;
    }
    for (uint32_t k = 1; k < moe->n_pes; k++)
        while (try_send(moe, in_turn(moe, k)))
            continue;
}

/* Do what can be done now; returns whether there was anything. */
static bool advance(struct chorusx_moe *moe)
{
    const struct ch_moe_kind *kind = moe->call.kind;
    bool has_moved = false;

    for (uint32_t k = 1; k < moe->n_pes; k++) {
        const uint32_t peer = in_turn(moe, k);

        if (kind->take != NULL && try_take(moe, peer)) has_moved = true;
        if (try_send(moe, peer)) has_moved = true;
    }
    if (kind->merge != NULL && kind->merge(moe)) has_moved = true;
    return has_moved;
}

static bool is_done(const struct chorusx_moe *moe)
{
    for (uint32_t p = 0; p < moe->n_pes; p++)
        if (moe->peers[p].out_at < moe->peers[p].n_out ||
            moe->peers[p].in_at < moe->peers[p].n_in)
            return false;
    return moe->call.kind->merge == NULL || moe->call.token == moe->call.route->info.n_tokens;
}

static void want(struct chorusx_moe *moe, const uint64_t *of, bool is_wanted, uint64_t value)
{
    const size_t i = (size_t)(of - (const uint64_t *)moe->memory);

    moe->skipped[i] = !is_wanted;
    moe->wanted[i] = value;
}

/* The message of a wait that has failed: the first PE that it was for, then what the wait has
 * told. */
static int fail_wait(const char *function, struct chorusx_moe *moe)
{
    const uint64_t *words = (const uint64_t *)moe->memory;
    char message[FAILURE_BYTES] = "";

    for (uint32_t k = 0; k < moe->n_pes && message[0] == '\0'; k++) {
        const struct ch_moe_peer *p = &moe->peers[k];
        const bool waits_for_message =
                       !moe->skipped[word(moe, ARRIVED, p->taken + 1, k) - words],
                   waits_for_slot = !moe->skipped[word(moe, FREED, p->sent + 1, k) - words];

        if (waits_for_message || waits_for_slot)
            (void)snprintf(
                message, sizeof(message), "waits for PE %u of the team, which %s: %s", k,
                waits_for_message ? "has not sent" : "has not taken what was sent before",
                chorusx_last_error());
    }
    moe->failed = CHORUS_ERR_TIMEOUT;
    return chorusx_fail(moe->failed, function, message);
}

/* Wait until something can be done: a message can be read, or a slot is free. */
static int wait_for_any(const char *function, struct chorusx_moe *moe)
{
    const size_t n = (size_t)CH_MOE_WORDS * moe->n_pes;

    for (size_t i = 0; i < n; i++)
        moe->skipped[i] = 1;
    for (uint32_t k = 0; k < moe->n_pes; k++) {
        const struct ch_moe_peer *p = &moe->peers[k];
        const uint64_t next = p->taken + 1, out = p->sent + 1;

        want(moe, word(moe, ARRIVED, next, k),
             p->in_at < p->n_in && (moe->call.kind->merge == NULL || p->is_wanted), next);
        want(moe, word(moe, FREED, out, k), has_message(moe, k), out > 2 ? out - 2 : 0);
    }
    if (chorus_uint64_wait_until_any_vector((uint64_t *)moe->memory, n, moe->skipped,
                                            CHORUS_CMP_GE, moe->wanted) < n)
        return CHORUS_OK;
    return fail_wait(function, moe);
}

int ch_moe_finish(const char *function, struct chorusx_moe *moe)
{
    int code = moe->failed;

    if (code == CHORUS_OK && moe->call.kind->local != NULL) moe->call.kind->local(moe);
    while (code == CHORUS_OK && !is_done(moe))
        if (!advance(moe)) code = wait_for_any(function, moe);
    moe->call.kind = NULL;
    return code;
}

int ch_moe_end(const char *function, struct chorusx_moe_route *route,
               const struct ch_moe_kind *kind)
{
    if (route == NULL) return chorusx_fail(CHORUS_ERR_ARG, function, "the route is null");
    if (route->moe->call.kind != kind || route->moe->call.route != route)
        return chorusx_fail(CHORUS_ERR_STATE, function,
                            "no such call of the route is under way; begin it before");
    return ch_moe_finish(function, route->moe);
}
