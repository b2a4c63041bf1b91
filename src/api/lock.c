/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock.c: locks as queues of PEs, after Mellor-Crummey and Scott: a PE that waits polls a word
 * of its own memory, and PEs get the lock in the order in which they requested it.
 *
 * A lock has two words of 32 bits on each PE. The first is used on PE 0 only, and names the
 * last PE of the queue, or none. The second is the PE's entry in the queue: whether it waits or
 * holds the lock, the PE behind it and the PE before it. A PE is stored as its number + 1, so
 * that 0 means none. The entry of a PE that neither waits nor holds the lock is 0.
 */
#include "api/check.h"
#include "base/clock.h"
#include "chorus/chorus.h"

_Static_assert(sizeof(long) == 2 * sizeof(uint32_t), "a lock has two words of 32 bits");

enum { HOME = 0, WAITS = 1, NEXT_AT = 1, BEFORE_AT = 16, PE_MASK = 0x7fff };
#define HOLDS (1u << 31)

struct lock {
    const char *function;
    struct ch_context *context;
    uint32_t me;
    uint32_t *tail, *place; /* symmetric */
};

/* Check the program's lock, and set *out to its words; acquires nothing. */
static chorus_status describe_lock(const char *function, long *lock, struct lock *out)
{
    CH_TRY(ch_context_require(function, &out->context));
    CH_TRY(ch_check_symmetric(out->context, function, "lock", lock, sizeof(*lock)));
    CH_TRY(ch_check_owner(out->context, function, "lock", lock, HOME));
    CH_TRY(ch_check_aligned(function, "lock", lock, sizeof(*lock)));
    if (out->context->boot->n > PE_MASK)
        return CH_FAIL(CHORUS_ERR_UNSUPPORTED, "%s: the job has %u PEs; locks serve up to %u",
                       function, out->context->boot->n, (unsigned)PE_MASK);
    out->function = function;
    out->me = out->context->boot->me;
    out->tail = (uint32_t *)(void *)lock;
    out->place = out->tail + 1;
    return CHORUS_OK;
}

/* Perform an atomic on a word of a lock on PE `pe`; fetched_out, unless null, gets the old
 * value. */
static chorus_status amo(const struct lock *l, enum ch_amo op, uint32_t *word, uint32_t value,
                         uint32_t compare, uint32_t pe, uint32_t *fetched_out)
{
    uint64_t fetched = 0;
    struct ch_context *c = l->context;

    CH_TRY(ch_links_amo(c->links, CH_CTX_DEFAULT, op, word, sizeof(*word), value, compare, pe,
                        fetched_out != NULL ? &fetched : NULL));
    if (fetched_out != NULL) *fetched_out = (uint32_t)fetched;
    return CHORUS_OK;
}

/* Load this PE's entry in the queue to *place_out. */
static chorus_status load_entry(const struct lock *l, uint32_t *place_out)
{
    struct ch_context *c = l->context;

    if (ch_links_must_load(c->links))
        return ch_links_load(c->links, place_out, l->place, sizeof(*l->place));
    *place_out = __atomic_load_n(l->place, __ATOMIC_ACQUIRE);
    return CHORUS_OK;
}

/* Returns the PE that holds the lock, found by going from this PE to the PEs before it; the
 * last PE that was found if the queue changes meanwhile or cannot be read. */
static uint32_t holder_of(const struct lock *l)
{
    uint32_t place = 0, pe = l->me;

    if (load_entry(l, &place) != CHORUS_OK) return l->me;
    for (uint32_t i = 0; i < l->context->boot->n; i++) {
        const uint32_t before = place >> BEFORE_AT & PE_MASK;

        if (before == 0) return pe;
        pe = before - 1;
        if (amo(l, CH_AMO_FETCH, l->place, 0, 0, pe, &place) != CHORUS_OK) return pe;
        if ((place & WAITS) == 0) return pe;
    }
    return pe;
}

/* Fail with the message of a wait for the lock that ended with `status`. */
static chorus_status fail_wait(const struct lock *l, chorus_status status)
{
    const uint32_t holder = holder_of(l);
    const char *const why = ch_wait_end_reason(&l->context->policy);

    if (status != CHORUS_ERR_TIMEOUT)
        return CH_FAIL(status,
                       "%s: PE %u stopped waiting for a lock that PE %u holds: the job is "
                       "ending%s%s",
                       l->function, l->me, holder, *why != '\0' ? ": " : "", why);
    return CH_FAIL(status,
                   "%s: PE %u waited %.3g s for a lock that PE %u holds; that PE does not "
                   "clear it, or has "
                   "ended, or CHORUS_TIMEOUT is too short",
                   l->function, l->me,
                   (double)l->context->policy.timeout_ns / (double)CH_NS_PER_S, holder);
}

/* Wait until the bits of `mask` in this PE's entry are 0 (zero), or until they are not 0
 * (!zero); *place_out is the entry then. */
static chorus_status await_entry_bits(const struct lock *l, uint32_t mask, bool zero,
                                      uint32_t *place_out)
{
    struct ch_wait w = {.is_listening = true};
    chorus_status status = load_entry(l, place_out), waited = CHORUS_OK;

    while (status == CHORUS_OK && waited == CHORUS_OK && ((*place_out & mask) == 0) != zero) {
        waited = ch_wait_slow(&l->context->policy, &w);
        status = load_entry(l, place_out);
    }
    ch_wait_end(&l->context->policy, &w);
    if (status != CHORUS_OK) return status;
    return ((*place_out & mask) == 0) == zero ? CHORUS_OK : fail_wait(l, waited);
}

/* Wait until the previous PE has passed on the lock. The call is in the record meanwhile. */
static chorus_status await_turn(const struct lock *l)
{
    const struct ch_context *c = l->context;
    const struct ch_doing doing = {.what = CH_DOING_lock,
                                   .count = ch_heap_offset(c->heap, l->tail)};
    const uint64_t index = ch_doing_begin_alone(c, &doing);
    uint32_t place;

    return ch_doing_end(c, index, await_entry_bits(l, WAITS, true, &place));
}

/* Give the lock to a PE that waits: its entry changes in one step, to which the PE behind it
 * may add itself at the same time. */
static chorus_status hand_lock_to(const struct lock *l, uint32_t pe)
{
    return amo(l, CH_AMO_XOR, l->place, WAITS | HOLDS, 0, pe, NULL);
}

/* Join the queue, and wait until this PE holds the lock. Its entry is initialised before it
 * joins, since the next PE stores to it, too. */
static chorus_status set_lock(const char *function, long *lock)
{
    struct lock l;
    uint32_t last, place;

    CH_TRY(describe_lock(function, lock, &l));
    CH_TRY(load_entry(&l, &place));
    if ((place & HOLDS) != 0)
        return CH_FAIL(CHORUS_ERR_ARG,
                       "%s: PE %u holds the lock at %p already; it must clear it first",
                       function, l.me, (void *)lock);
    CH_TRY(amo(&l, CH_AMO_SET, l.place, WAITS, 0, l.me, NULL));
    CH_TRY(ch_links_quiet(l.context->links, CH_CTX_DEFAULT, CH_LINK_ALL));
    CH_TRY(amo(&l, CH_AMO_SWAP, l.tail, l.me + 1, 0, HOME, &last));
    if (last == 0) return hand_lock_to(&l, l.me);
    CH_TRY(amo(&l, CH_AMO_OR, l.place, last << BEFORE_AT, 0, l.me, NULL));
    CH_TRY(amo(&l, CH_AMO_OR, l.place, (l.me + 1) << NEXT_AT, 0, last - 1, NULL));
    return await_turn(&l);
}

/* Acquire the lock if no PE holds it or waits for it. *is_held_out: did this PE acquire it? */
static chorus_status test_lock(const char *function, long *lock, bool *is_held_out)
{
    struct lock l;
    uint32_t last;

    CH_TRY(describe_lock(function, lock, &l));
    CH_TRY(amo(&l, CH_AMO_FETCH, l.tail, 0, 0, HOME, &last));
    *is_held_out = false;
    if (last != 0) return CHORUS_OK; /* possibly by this PE, whose entry is in use */
    CH_TRY(amo(&l, CH_AMO_SET, l.place, HOLDS, 0, l.me, NULL));
    CH_TRY(ch_links_quiet(l.context->links, CH_CTX_DEFAULT, CH_LINK_ALL));
    CH_TRY(amo(&l, CH_AMO_COMPARE_SWAP, l.tail, l.me + 1, 0, HOME, &last));
    *is_held_out = last == 0;
    return last == 0 ? CHORUS_OK : amo(&l, CH_AMO_SET, l.place, 0, 0, l.me, NULL);
}

/* Release the lock; the PE behind this one in the queue, if there is one, gets it. */
static chorus_status clear_lock(const char *function, long *lock)
{
    struct lock l;
    uint32_t last, place;

    CH_TRY(describe_lock(function, lock, &l));
    CH_TRY(load_entry(&l, &place));
    if ((place & HOLDS) == 0)
        return CH_FAIL(CHORUS_ERR_ARG,
                       "%s: PE %u does not hold the lock at %p; expected a lock that this PE "
                       "has set",
                       function, l.me, (void *)lock);
    CH_TRY(ch_links_quiet(l.context->links, CH_CTX_DEFAULT, CH_LINK_ALL));
    CH_TRY(amo(&l, CH_AMO_COMPARE_SWAP, l.tail, 0, l.me + 1, HOME, &last));
    if (last == l.me + 1) /* the queue is empty */
        return amo(&l, CH_AMO_SET, l.place, 0, 0, l.me, NULL);
    CH_TRY(await_entry_bits(&l, PE_MASK << NEXT_AT, false, &place));
    CH_TRY(amo(&l, CH_AMO_SET, l.place, 0, 0, l.me, NULL));
    return hand_lock_to(&l, ((place >> NEXT_AT) & PE_MASK) - 1);
}

void chorus_set_lock(long *lock)
{
    ch_report(set_lock(__func__, lock));
}

int chorus_test_lock(long *lock)
{
    bool is_held = false;

    ch_report(test_lock(__func__, lock, &is_held));
    return is_held ? 0 : 1;
}

void chorus_clear_lock(long *lock)
{
    ch_report(clear_lock(__func__, lock));
}
