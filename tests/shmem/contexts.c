/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One-sided calls on a context, of all types; then what contexts are made from and end in, and
 * what each covers.
 */
#include <shmem.h>

static shmem_ctx_t on;
#define CONTEXTS
#define CALL(name, ...) shmem_ctx_##name(on, __VA_ARGS__)
#define QUIET() shmem_ctx_quiet(on)
#include "calls.c"

static void contexts_know_their_team(void)
{
    shmem_team_t team = SHMEM_TEAM_INVALID, reverse;
    shmem_ctx_t ctx;
    static int word = -1;

    EXPECT(shmem_ctx_get_team(SHMEM_CTX_DEFAULT, &team) == 0 && team == SHMEM_TEAM_WORLD);
    EXPECT(shmem_ctx_get_team(SHMEM_CTX_INVALID, &team) != 0);
    EXPECT(shmem_team_split_strided(SHMEM_TEAM_WORLD, n - 1, -1, n, NULL, 0, &reverse) == 0);
    EXPECT(shmem_team_create_ctx(reverse, SHMEM_CTX_PRIVATE, &ctx) == 0);
    EXPECT(shmem_ctx_get_team(ctx, &team) == 0 && team == reverse);
    /* PEs are numbers in the context's team. */
    shmem_ctx_int_p(ctx, &word, me, n - 1 - next);
    shmem_ctx_quiet(ctx);
    shmem_barrier_all();
    EXPECT(word == previous);
    shmem_ctx_destroy(ctx);
    shmem_ctx_destroy(SHMEM_CTX_INVALID);
    shmem_ctx_fence(SHMEM_CTX_INVALID);
    shmem_ctx_quiet(SHMEM_CTX_INVALID);
    shmem_ctx_pe_quiet(SHMEM_CTX_INVALID, &next, 1);
    shmem_team_destroy(reverse);
    EXPECT(shmem_team_ptr(SHMEM_TEAM_WORLD, &word, me) == &word);
}

/* Data and a flag on one context, with a fence between; sessions change nothing. */
static void fences_order(void)
{
    static int data[64], flag;
    const shmem_ctx_session_config_t config = {4};
    int values[64];

    for (int round = 1; round <= 20; round++) {
        for (int i = 0; i < 64; i++)
            values[i] = 1000 * round + me;
        shmem_ctx_session_start(on, SHMEM_CTX_SESSION_BATCH, &config,
                                SHMEM_CTX_SESSION_TOTAL_OPS);
        shmem_ctx_int_put_nbi(on, data, values, 64, next);
        shmem_ctx_fence(on);
        shmem_ctx_int_atomic_set(on, &flag, round, next);
        shmem_ctx_session_stop(on);
        shmem_ctx_pe_quiet(on, &next, 1);
        shmem_int_wait_until(&flag, SHMEM_CMP_EQ, round);
        EXPECT(data[0] == 1000 * round + previous && data[63] == 1000 * round + previous);
        shmem_pe_quiet(&next, 1);
        shmem_barrier_all();
    }
}

int main(void)
{
    shmem_init();
    find_neighbours();
    EXPECT(n <= PES_MAX);
    EXPECT(shmem_ctx_create(0, &on) == 0 && on != SHMEM_CTX_INVALID);
    run();
    contexts_know_their_team();
    fences_order();
    shmem_ctx_destroy(on);
    shmem_finalize();
    return 0;
}
