/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of a team alone: teams that overlap allocate without the other PEs of the job. */
#include "api_pes.h"

#include <stdlib.h>
#include <string.h>

#define WORLD CHORUS_TEAM_WORLD

enum { WORDS = 1000, PAIRS_MAX = API_PES_MAX - 1 };

/* A team of PE `first` and the next one, in this order backwards; invalid: this PE is in
 * neither. */
static chorus_team_t pair_of(int first)
{
    const int pes[2] = {first + 1, first};
    chorus_team_t team = CHORUS_TEAM_INVALID;

    if (api_me() != first && api_me() != first + 1) return team;
    EXPECT(chorusx_team_create_group(WORLD, pes, 2, first, &team) == CHORUS_OK);
    return team;
}

static chorus_team_t alone(void)
{
    const int me = api_me();
    chorus_team_t team;

    EXPECT(chorusx_team_create_group(WORLD, &me, 1, 0, &team) == CHORUS_OK);
    return team;
}

static bool is_filled(const long *words, size_t count, long value)
{
    for (size_t i = 0; i < count; i++)
        if (words[i] != value) return false;
    return true;
}

/* Each kind of access between the two members of the team, through an object of it. */
static void use(chorus_team_t team, int seed)
{
    const int me = chorus_team_my_pe(team);
    const int peer = chorus_team_translate_pe(team, 1 - me, WORLD);
    long mine[WORDS], *words = chorusx_team_malloc(team, 4 * WORDS * sizeof(long));
    uint64_t *signal = chorusx_team_malloc(team, sizeof(*signal));

    EXPECT(words != NULL && signal != NULL);
    if (words == NULL || signal == NULL) return;
    EXPECT(is_filled(words, (size_t)4 * WORDS, 0) && *signal == 0);
    EXPECT(chorus_addr_accessible(words, peer) == 1);
    EXPECT(chorus_team_sync(team) == CHORUS_OK); /* before the peer writes to it */
    for (int i = 0; i < WORDS; i++)
        mine[i] = 100 * seed + me;
    chorus_long_put_signal(words, mine, WORDS, signal, 7, CHORUS_SIGNAL_SET, peer);
    EXPECT(chorus_signal_wait_until(signal, CHORUS_CMP_EQ, 7) == 7);
    EXPECT(is_filled(words, WORDS, 100 * seed + 1 - me));
    chorus_long_get(mine, words, WORDS, peer);
    EXPECT(is_filled(mine, WORDS, 100 * seed + me));
    EXPECT(chorus_long_fcollect(team, words + 2 * WORDS, words, WORDS) == CHORUS_OK);
    EXPECT(is_filled(words + 2 * WORDS, WORDS, 100 * seed + 1));
    EXPECT(is_filled(words + 3 * WORDS, WORDS, 100 * seed));
    EXPECT(chorus_long_sum_reduce(team, words + WORDS, words, WORDS) == CHORUS_OK);
    EXPECT(is_filled(words + WORDS, WORDS, 200 * seed + 1));
    EXPECT(chorus_team_sync(team) == CHORUS_OK);
    chorus_long_atomic_add(words + WORDS, 5 + me, peer);
    chorus_quiet();
    EXPECT(chorus_team_sync(team) == CHORUS_OK);
    EXPECT(words[WORDS] == 200 * seed + 7 - me);
    EXPECT(chorusx_team_free(team, signal) == CHORUS_OK);
    EXPECT(chorusx_team_free(team, words) == CHORUS_OK);
}

static void pairs__that_overlap__use_objects_of_their_own(void)
{
    for (int round = 0; round < 3; round++)
        for (int first = 0; first + 1 < api_n(); first++) {
            const chorus_team_t team = pair_of(first);

            if (team == CHORUS_TEAM_INVALID) continue;
            use(team, 10 * round + first + 1);
            chorus_team_destroy(team);
        }
}

/* PE k has k objects of its own, with holes between them, so the lowest free offsets differ;
 * the job's heap stays symmetric. */
static void objects__pes_with_different_holes__do_not_overlap(void)
{
    chorus_team_t single = alone(), pairs[PAIRS_MAX];
    char *own[2 * API_PES_MAX] = {NULL};
    long *objects[PAIRS_MAX] = {NULL}, *word = chorus_calloc(1, sizeof(*word));

    for (int i = 0; i < 2 * api_me(); i++)
        own[i] = chorusx_team_malloc(single, 3000 + 1000 * (size_t)i);
    for (int i = 0; i < 2 * api_me(); i += 2)
        EXPECT(chorusx_team_free(single, own[i]) == CHORUS_OK);
    for (int first = 0; first + 1 < api_n(); first++) {
        pairs[first] = pair_of(first);
        if (pairs[first] == CHORUS_TEAM_INVALID) continue;
        objects[first] = chorusx_team_malloc(pairs[first], WORDS * sizeof(long));
        EXPECT(is_filled(objects[first], WORDS, 0));
    }
    chorus_barrier_all();
    for (int first = 0; first + 1 < api_n(); first++)
        for (int i = 0; objects[first] != NULL && i < WORDS; i++)
            chorus_long_p(objects[first] + i, first + 1,
                          chorus_team_translate_pe(pairs[first],
                                                   1 - chorus_team_my_pe(pairs[first]), WORLD));
    for (int i = 1; i < 2 * api_me(); i += 2)
        memset(own[i], 0xff, 3000 + 1000 * (size_t)i);
    chorus_barrier_all();
    for (int first = 0; first + 1 < api_n(); first++)
        if (objects[first] != NULL) EXPECT(is_filled(objects[first], WORDS, first + 1));
    chorus_long_atomic_inc(word, api_next());
    chorus_barrier_all();
    EXPECT(*word == 1);
    for (int first = api_n() - 2; first >= 0; first--)
        if (pairs[first] != CHORUS_TEAM_INVALID) chorus_team_destroy(pairs[first]);
    chorus_team_destroy(single);
    chorus_free(word);
}

/* The number of bytes that teams have, which is that before a team existed. */
static size_t bytes_of_teams(void)
{
    chorusx_heap_info_t info;

    EXPECT(chorusx_heap_info(&info) == CHORUS_OK);
    return info.local_used_bytes;
}

static void destroyed_team__its_objects__are_free_again(void)
{
    const size_t before = bytes_of_teams();
    chorus_team_t team = alone();
    const size_t with_team = bytes_of_teams();
    char *object;

    object = chorusx_team_malloc(team, 100000);
    EXPECT(bytes_of_teams() >= with_team + 100000);
    EXPECT(chorusx_team_free(team, object) == CHORUS_OK && bytes_of_teams() == with_team);
    object = chorusx_team_malloc(team, 100000);
    EXPECT(chorus_addr_accessible(object, api_me()) == 1);
    chorus_team_destroy(team);
    EXPECT(bytes_of_teams() == before);
    EXPECT(chorus_addr_accessible(object, api_me()) == 0);
}

/* A PE that is not in the team, and bytes past the end. */
static void object_of_a_pe__access_elsewhere__is_refused(void)
{
    chorus_team_t team = alone();
    long *object = chorusx_team_malloc(team, sizeof(*object)), value[WORDS] = {0};

    chorus_long_p(object, 3, api_me());
    EXPECT(*object == 3);
    if (api_n() > 1) {
        EXPECT(chorus_addr_accessible(object, api_next()) == 0);
        chorus_long_p(object, 4, api_next());
        EXPECT_REPORT(CHORUS_ERR_NOT_SYMMETRIC, "in an object of a team that PE");
        chorusx_signal_op((uint64_t *)object, 4, CHORUS_SIGNAL_SET, api_next());
        EXPECT_REPORT(CHORUS_ERR_NOT_SYMMETRIC, "in an object of a team that PE");
        EXPECT(chorus_ptr(object, api_next()) == NULL);
        EXPECT(strstr(chorusx_last_error(), "that PE") != NULL);
    }
    chorus_long_put(object, value, WORDS, api_me());
    EXPECT_REPORT(CHORUS_ERR_NOT_SYMMETRIC, "end past the object's end");
    EXPECT_FAILS(chorus_long_sum_reduce(team, object, object, WORDS), CHORUS_ERR_NOT_SYMMETRIC,
                 "end past the object's end");
    EXPECT_FAILS(chorusx_buffer_register(object, 1 << 16), CHORUS_ERR_ARG, "chorusx_buffer");
    EXPECT(*object == 3);
    chorus_team_destroy(team);
}

/* For a team with other PEs too, it is memory like any other. */
static void object_of_a_pe__collective_of_all__takes_it_for_local(void)
{
    chorus_team_t team = alone();
    long *object = chorusx_team_malloc(team, 2 * sizeof(*object));

    object[0] = api_me() + 1;
    EXPECT(chorus_long_sum_reduce(WORLD, object + 1, object, 1) == CHORUS_OK);
    EXPECT(object[1] == api_n() * (api_n() + 1) / 2);
    chorus_team_destroy(team);
}

static void wrong_calls__each__says_so_and_the_next_works(void)
{
    chorus_team_t team;
    char *object, *other;

    EXPECT(chorus_team_split_strided(WORLD, 0, 1, api_n(), NULL, 0, &team) == CHORUS_OK);
    EXPECT(chorusx_team_malloc(CHORUS_TEAM_INVALID, 8) == NULL);
    EXPECT(strstr(chorusx_last_error(), "chorusx_team_malloc: team is CHORUS_TEAM_INVALID") !=
           NULL);
    EXPECT(chorusx_team_malloc(team, 0) == NULL);
    EXPECT(chorusx_team_malloc(team, (size_t)1 << 50) == NULL);
    EXPECT(strstr(chorusx_last_error(), "chorusx_team_malloc: memory of a team: PE 0:") !=
           NULL);
    if (api_n() > 1) {
        EXPECT(chorusx_team_malloc(team, 64 + 64 * (size_t)api_me()) == NULL);
        EXPECT(strstr(chorusx_last_error(), "PE 1 of it requests 128") != NULL);
    }
    object = chorusx_team_malloc(team, 4096);
    other = chorusx_team_malloc(WORLD, 64);
    EXPECT(object != NULL && other != NULL);
    EXPECT(chorusx_team_free(team, NULL) == CHORUS_OK);
    EXPECT_FAILS(chorusx_team_free(CHORUS_TEAM_INVALID, object), CHORUS_ERR_ARG,
                 "chorusx_team_free: team is CHORUS_TEAM_INVALID");
    EXPECT_FAILS(chorusx_team_free(team, object + 64), CHORUS_ERR_ARG,
                 "is not the start of an object");
    EXPECT_FAILS(chorusx_team_free(team, other), CHORUS_ERR_ARG,
                 "is not the start of an object");
    EXPECT(chorusx_team_free(team, object) == CHORUS_OK);
    EXPECT_FAILS(chorusx_team_free(team, object), CHORUS_ERR_ARG,
                 "is not the start of an object");
    EXPECT(chorusx_team_free(WORLD, other) == CHORUS_OK);
    object = chorusx_team_malloc(team, 64);
    other = chorusx_team_malloc(team, 64);
    if (api_n() > 1)
        EXPECT_FAILS(chorusx_team_free(team, api_me() == 0 ? object : other), CHORUS_ERR_ARG,
                     "free different objects");
    chorus_team_destroy(team);
}

/* clang-format off */
#define CASES(X)                                               \
    X(pairs__that_overlap__use_objects_of_their_own)           \
    X(objects__pes_with_different_holes__do_not_overlap)       \
    X(destroyed_team__its_objects__are_free_again)             \
    X(object_of_a_pe__access_elsewhere__is_refused)            \
    X(object_of_a_pe__collective_of_all__takes_it_for_local)   \
    X(wrong_calls__each__says_so_and_the_next_works)
/* clang-format on */

API_MAIN(CASES)
