/* SPDX-License-Identifier: Apache-2.0 */
/* Locks: one PE at a time, in the order of asking, with what the one before wrote. */
#include "api_pes.h"

#include <stdint.h>

enum { ROUNDS = 200 };

/* A counter on PE 0 that is read and written in two steps. */
static void lock__plain_counter__loses_nothing(void)
{
    long *lock = chorus_calloc(1, sizeof(*lock)), *count = chorus_calloc(1, sizeof(*count));

    for (int i = 0; i < ROUNDS; i++) {
        if (i % 3 == 0)
            while (chorus_test_lock(lock) != 0)
                chorus_quiet();
        else
            chorus_set_lock(lock);
        chorus_long_p(count, chorus_long_g(count, 0) + 1, 0);
        chorus_clear_lock(lock);
    }
    chorus_barrier_all();
    EXPECT(chorus_long_g(count, 0) == (long)ROUNDS * api_n());
    chorus_barrier_all();
    chorus_free(count);
    chorus_free(lock);
}

/* While PE 0 holds it, the others ask one after another; they get it in that order. */
static void lock__queue__is_served_in_order(void)
{
    long *lock = chorus_calloc(1, sizeof(*lock));
    int *turn = chorus_calloc(1, sizeof(*turn)), *served = chorus_calloc(1, sizeof(*served));
    const int asked = api_n() - 1 - api_me();

    if (api_me() == 0) chorus_set_lock(lock);
    chorus_barrier_all();
    if (api_me() == 0) {
        EXPECT(chorus_test_lock(lock) == 1);
        /* The others ask from the last to the first, each once the tail is the one before it.
         */
        for (int pe = api_n() - 1; pe > 0; pe--) {
            const uint32_t *tail = (const uint32_t *)(const void *)lock;

            chorus_int_p(turn, 1, pe);
            chorus_quiet();
            while (chorus_uint32_atomic_fetch(tail, 0) != (uint32_t)pe + 1)
                chorus_fence();
        }
        chorus_clear_lock(lock);
    } else {
        chorus_int_wait_until(turn, CHORUS_CMP_EQ, 1);
        chorus_set_lock(lock);
        EXPECT(chorus_int_atomic_fetch_inc(served, 0) == asked);
        chorus_clear_lock(lock);
    }
    chorus_barrier_all();
    chorus_free(served);
    chorus_free(turn);
    chorus_free(lock);
}

static void lock__bad_address__is_named(void)
{
    long mine = 0, *lock = chorus_calloc(2, sizeof(*lock));

    chorus_set_lock(&mine);
    EXPECT_REPORT(CHORUS_ERR_NOT_SYMMETRIC, "chorus_set_lock: lock is");
    EXPECT(chorus_test_lock((long *)(void *)((char *)lock + 4)) == 1);
    EXPECT_REPORT(CHORUS_ERR_ARG, "chorus_test_lock: lock is");
    chorus_free(lock);
}

/* Clear is refused where the PE does not hold the lock: before its first use, after a clear,
 * while another PE holds it, and while PEs wait; set is refused where it does. The lock serves
 * everybody afterwards. */
static void lock__not_held__is_refused_and_remains_usable(void)
{
    long *lock = chorus_calloc(1, sizeof(*lock));

    chorus_clear_lock(lock);
    EXPECT_REPORT(CHORUS_ERR_ARG, "chorus_clear_lock: PE");
    chorus_barrier_all();
    if (api_me() == 0) {
        chorus_set_lock(lock);
        chorus_set_lock(lock);
        EXPECT_REPORT(CHORUS_ERR_ARG, "holds the lock");
    }
    chorus_barrier_all();
    if (api_me() != 0) {
        chorus_clear_lock(lock);
        EXPECT_REPORT(CHORUS_ERR_ARG, "does not hold the lock");
        EXPECT(chorus_test_lock(lock) == 1);
        chorus_clear_lock(lock);
        EXPECT_REPORT(CHORUS_ERR_ARG, "does not hold the lock");
    }
    chorus_barrier_all();
    if (api_me() == 0) chorus_clear_lock(lock);
    for (int i = 0; i < 20; i++) { /* contended: the entries are used again */
        chorus_set_lock(lock);
        chorus_clear_lock(lock);
        chorus_clear_lock(lock);
        EXPECT_REPORT(CHORUS_ERR_ARG, "does not hold the lock");
    }
    chorus_barrier_all();
    EXPECT(chorus_long_g(lock, 0) % ((long)1 << 32) == 0);
    chorus_barrier_all();
    chorus_free(lock);
}

#define TESTS(X)                          \
    X(lock__plain_counter__loses_nothing) \
    X(lock__queue__is_served_in_order)    \
    X(lock__bad_address__is_named)        \
    X(lock__not_held__is_refused_and_remains_usable)
API_MAIN(TESTS)
