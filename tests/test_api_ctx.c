/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts: made, named, destroyed and refused; calls on them that have no type; and what
 * OpenSHMEM 1.6 has besides. */
#include "api_pes.h"

#include <stdint.h>
#include <string.h>

enum { COUNT = 6 };

static void ctx__of_a_team__counts_its_pes(void)
{
    int pes[API_PES_MAX], *dest = chorus_calloc(1, sizeof(*dest));
    chorus_team_t team, from = CHORUS_TEAM_INVALID;
    chorus_ctx_t ctx;

    for (int i = 0; i < api_n(); i++)
        pes[i] = api_n() - 1 - i;
    EXPECT(chorusx_team_create(CHORUS_TEAM_WORLD, pes, api_n(), &team) == CHORUS_OK);
    EXPECT(chorus_team_create_ctx(team, CHORUS_CTX_PRIVATE | CHORUS_CTX_NOSTORE, &ctx) ==
           CHORUS_OK);
    EXPECT(chorus_ctx_get_team(ctx, &from) == CHORUS_OK && from == team);
    chorus_ctx_int_p(ctx, dest, 100 + api_me(), chorus_team_my_pe(team));
    chorus_ctx_pe_quiet(ctx, (int[]){0}, 1);
    EXPECT(*dest == 100 + api_me()); /* the PE's own number in the team reached itself */
    EXPECT(chorus_team_ptr(team, dest, chorus_team_my_pe(team)) == dest);
    chorus_ctx_int_p(ctx, dest, 1, api_n());
    EXPECT_REPORT(CHORUS_ERR_ARG, "since the team of the context has");
    chorus_ctx_destroy(ctx);
    chorus_ctx_int_p(ctx, dest, 1, 0);
    EXPECT_REPORT(CHORUS_ERR_ARG, "is not a context of this PE, or was destroyed");
    chorus_team_destroy(team);
    chorus_free(dest);
}

static void ctx__bad__is_named(void)
{
    chorus_ctx_t ctx = CHORUS_CTX_DEFAULT;
    chorus_team_t team;

    EXPECT_FAILS(chorus_ctx_create(64, &ctx), CHORUS_ERR_ARG, "options is 0x40");
    EXPECT(ctx == CHORUS_CTX_INVALID);
    EXPECT_FAILS(chorus_team_create_ctx(CHORUS_TEAM_INVALID, 0, &ctx), CHORUS_ERR_ARG,
                 "team is CHORUS_TEAM_INVALID");
    EXPECT_FAILS(chorus_ctx_get_team(CHORUS_CTX_INVALID, &team), CHORUS_ERR_ARG,
                 "ctx is CHORUS_CTX_INVALID");
    EXPECT(team == CHORUS_TEAM_INVALID);
    EXPECT(chorus_ctx_get_team(CHORUS_CTX_DEFAULT, &team) == CHORUS_OK &&
           team == CHORUS_TEAM_WORLD);
    chorus_ctx_destroy(CHORUS_CTX_INVALID);
    chorus_ctx_fence(CHORUS_CTX_INVALID);
    chorus_ctx_quiet(CHORUS_CTX_INVALID);
    chorus_ctx_destroy(CHORUS_CTX_DEFAULT);
    EXPECT_REPORT(CHORUS_ERR_ARG, "the default context, which cannot be destroyed");
}

/* All there can be, and as many again. */
static void ctx__every_slot__is_used_again(void)
{
    enum { ALL = 1024 };
    chorus_ctx_t all[ALL], more;

    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < ALL; i++)
            EXPECT(chorus_ctx_create(0, &all[i]) == CHORUS_OK);
        EXPECT_FAILS(chorus_ctx_create(0, &more), CHORUS_ERR_NOMEM,
                     "a PE can have 1024 contexts at the same time");
        for (int i = 0; i < ALL; i++)
            chorus_ctx_destroy(all[i]);
    }
}

static unsigned char byte_of(int pe, size_t i)
{
    return (unsigned char)(pe * 41 + (int)i * 3 + 1);
}

/* What the previous PE put on this context, in blocks of `block` bytes, `step` from one to the
 * next. */
static bool is_here(unsigned char *dest, size_t block, size_t step, size_t blocks)
{
    bool is_right = true;

    chorus_barrier_all();
    for (size_t i = 0; i < blocks * block; i++)
        is_right = is_right && dest[i / block * step + i % block] == byte_of(api_previous(), i);
    memset(dest, 0, 256);
    chorus_barrier_all();
    return is_right;
}

/* The forms of a size: BYTES an element. */
#define TEST_SIZE(BITS, BYTES)                                                                \
    do {                                                                                      \
        const size_t bytes = COUNT * (BYTES);                                                 \
                                                                                              \
        chorus_ctx_put##BITS(ctx, dest, mine, COUNT, next);                                   \
        chorus_ctx_quiet(ctx);                                                                \
        EXPECT(is_here(dest, bytes, bytes, 1));                                               \
        chorus_ctx_put##BITS##_nbi(ctx, dest, mine, COUNT, next);                             \
        chorus_ctx_quiet(ctx);                                                                \
        EXPECT(is_here(dest, bytes, bytes, 1));                                               \
        chorus_ctx_iput##BITS(ctx, dest, mine, 2, 1, COUNT, next);                            \
        chorus_ctx_quiet(ctx);                                                                \
        EXPECT(is_here(dest, (BYTES), 2 * (BYTES), COUNT));                                   \
        chorus_ctx_ibput##BITS(ctx, dest, mine, 3, 2, 2, 3, next);                            \
        chorus_ctx_quiet(ctx);                                                                \
        EXPECT(is_here(dest, 2 * (BYTES), 3 * (BYTES), 3));                                   \
        chorus_ibput##BITS(dest, mine, 3, 2, 2, 3, next);                                     \
        EXPECT(is_here(dest, 2 * (BYTES), 3 * (BYTES), 3));                                   \
        chorus_ctx_put##BITS##_signal(ctx, dest, mine, COUNT, word, 1, CHORUS_SIGNAL_ADD,     \
                                      next);                                                  \
        chorus_ctx_put##BITS##_signal_nbi(ctx, dest, mine, COUNT, word, 1, CHORUS_SIGNAL_ADD, \
                                          next);                                              \
        chorus_ctx_quiet(ctx);                                                                \
        EXPECT(is_here(dest, bytes, bytes, 1));                                               \
        chorus_ctx_get##BITS(ctx, got, source, COUNT, next);                                  \
        EXPECT(memcmp(got, theirs, bytes) == 0);                                              \
        memset(got, 0, sizeof(got));                                                          \
        chorus_ctx_get##BITS##_nbi(ctx, got, source, COUNT, next);                            \
        chorus_ctx_quiet(ctx);                                                                \
        EXPECT(memcmp(got, theirs, bytes) == 0);                                              \
        memset(got, 0, sizeof(got));                                                          \
        chorus_ctx_iget##BITS(ctx, got, source, 1, 1, COUNT, next);                           \
        EXPECT(memcmp(got, theirs, bytes) == 0);                                              \
        memset(got, 0, sizeof(got));                                                          \
        chorus_ctx_ibget##BITS(ctx, got, source, 2, 2, 2, 3, next);                           \
        EXPECT(memcmp(got, theirs, bytes) == 0);                                              \
        memset(got, 0, sizeof(got));                                                          \
        chorus_ibget##BITS(got, source, 2, 2, 2, 3, next);                                    \
        EXPECT(memcmp(got, theirs, bytes) == 0);                                              \
    } while (0);

static void ctx__calls_without_a_type__move_bytes(void)
{
    unsigned char *dest = chorus_calloc(1, 512), *source = chorus_malloc(256);
    unsigned char mine[256], theirs[256], got[256];
    uint64_t *word = chorus_calloc(1, sizeof(*word));
    const int next = api_next();
    chorus_ctx_t ctx;

    EXPECT(chorus_ctx_create(CHORUS_CTX_SERIALIZED, &ctx) == CHORUS_OK);
    for (size_t i = 0; i < sizeof(mine); i++) {
        mine[i] = source[i] = byte_of(api_me(), i);
        theirs[i] = byte_of(next, i);
    }
    chorus_barrier_all();
    chorus_ctx_session_start(ctx, CHORUS_CTX_SESSION_BATCH, NULL, 0);
    CHORUS_SIZES(TEST_SIZE)
    chorus_ctx_putmem(ctx, dest, mine, 100, next);
    chorus_ctx_fence(ctx);
    chorus_ctx_putmem_nbi(ctx, dest + 100, mine + 100, 50, next);
    chorus_ctx_quiet(ctx);
    EXPECT(is_here(dest, 150, 150, 1));
    chorus_ctx_putmem_signal(ctx, dest, mine, 100, word, 1, CHORUS_SIGNAL_ADD, next);
    chorus_ctx_putmem_signal_nbi(ctx, dest + 100, mine + 100, 9, word, 1, CHORUS_SIGNAL_ADD,
                                 next);
    chorus_ctx_signal_add(ctx, word, 7, next);
    chorus_signal_add(word, 1, next);
    chorus_ctx_session_stop(ctx);
    chorus_ctx_quiet(ctx);
    chorus_pe_quiet(&next, 1);
    EXPECT(is_here(dest, 109, 109, 1));
    EXPECT(chorus_signal_fetch(word) == 2 * 5 + 2 + 7 + 1);
    chorus_sync_all();
    chorus_ctx_signal_set(ctx, word, 77, next);
    chorus_ctx_quiet(ctx);
    chorus_barrier_all();
    EXPECT(chorus_signal_fetch(word) == 77);
    chorus_barrier_all();
    chorus_signal_set(word, 78, next);
    chorus_barrier_all();
    EXPECT(chorus_signal_fetch(word) == 78);
    chorus_ctx_getmem(ctx, got, source, 200, next);
    EXPECT(memcmp(got, theirs, 200) == 0);
    memset(got, 0, sizeof(got));
    chorus_ctx_getmem_nbi(ctx, got, source, 200, next);
    chorus_ctx_quiet(ctx);
    EXPECT(memcmp(got, theirs, 200) == 0);
    chorus_barrier_all();
    chorus_ctx_destroy(ctx);
    chorus_free(word);
    chorus_free(source);
    chorus_free(dest);
}

static void blocks__that_overlap__are_refused(void)
{
    int *dest = chorus_calloc(8, sizeof(int));
    const int source[8] = {0};

    chorus_int_ibput(dest, source, 1, 2, 2, 2, api_me());
    EXPECT_REPORT(CHORUS_ERR_ARG, "chorus_int_ibput: dst is 1 elements; expected 2 or more");
    chorus_int_ibput(dest, source, PTRDIFF_MAX, 2, 2, 8, api_me());
    EXPECT_REPORT(CHORUS_ERR_ARG, "exceed the address space");
    chorus_pe_quiet((int[]){0, api_n()}, 2);
    EXPECT_REPORT(CHORUS_ERR_ARG, "chorus_pe_quiet: pe is");
    EXPECT(chorus_team_ptr(CHORUS_TEAM_WORLD, dest, api_n()) == NULL);
    EXPECT(chorus_team_ptr(CHORUS_TEAM_INVALID, dest, 0) == NULL);
    EXPECT(chorusx_mc_ptr(CHORUS_TEAM_WORLD, dest) == NULL); /* nothing multicasts here */
    EXPECT(chorusx_mc_ptr(CHORUS_TEAM_INVALID, dest) == NULL);
    EXPECT(strstr(chorusx_last_error(), "chorusx_mc_ptr: team is CHORUS_TEAM_INVALID") != NULL);
    EXPECT(chorusx_mc_ptr(CHORUS_TEAM_WORLD, &dest) == NULL);
    EXPECT(strstr(chorusx_last_error(), "chorusx_mc_ptr: addr is ") != NULL);
    chorus_free(dest);
}

#define TESTS(X)                             \
    X(ctx__of_a_team__counts_its_pes)        \
    X(ctx__bad__is_named)                    \
    X(ctx__every_slot__is_used_again)        \
    X(ctx__calls_without_a_type__move_bytes) \
    X(blocks__that_overlap__are_refused)
API_MAIN(TESTS)
