/* SPDX-License-Identifier: Apache-2.0 */
/* Teams through the public calls: who is in, who is who, and what is refused. */
#include "api_pes.h"

#include <stdlib.h>
#include <string.h>

#define WORLD CHORUS_TEAM_WORLD

/* Those whose memory this PE reaches by loads and stores: all of them on one host. */
static int count_near(void)
{
    int *word = chorus_malloc(sizeof(*word)), count = 0;

    for (int pe = 0; pe < api_n(); pe++)
        count += chorus_ptr(word, pe) != NULL;
    chorus_free(word);
    return count;
}

static void predefined__each__holds_the_pes_of_the_job_or_host(void)
{
    static const chorus_team_t teams[] = {WORLD, CHORUS_TEAM_SHARED, CHORUS_TEAM_NODE};
    const int n_near = count_near();

    for (int i = 0; i < 3; i++) {
        const int me = chorus_team_my_pe(teams[i]);
        EXPECT(chorus_team_translate_pe(teams[i], me, WORLD) == api_me());
        EXPECT(chorus_team_n_pes(teams[i]) == (teams[i] == WORLD ? api_n() : n_near));
        EXPECT(chorusx_team_status(teams[i]) == CHORUS_OK);
        EXPECT(chorus_team_sync(teams[i]) == CHORUS_OK);
    }
}

/* Those with this PE's number on their hosts, in the order of WORLD. */
static void same_mype_node__its_pes__have_one_number_on_their_hosts(void)
{
    const chorus_team_t team = CHORUS_TEAM_SAME_MYPE_NODE;
    int *numbers = chorus_malloc((size_t)(api_n() + 1) * sizeof(int)),
        *mine = numbers + api_n();
    int count = 0;

    *mine = chorus_team_my_pe(CHORUS_TEAM_NODE);
    EXPECT(chorus_int_fcollect(WORLD, numbers, mine, 1) == CHORUS_OK);
    for (int pe = 0; pe < api_n(); pe++) {
        const bool is_in = numbers[pe] == *mine;

        EXPECT(chorus_team_translate_pe(WORLD, pe, team) == (is_in ? count : -1));
        count += is_in;
    }
    EXPECT(chorus_team_n_pes(team) == count);
    *numbers = api_me();
    EXPECT(chorus_int_max_reduce(team, mine, numbers, 1) == CHORUS_OK);
    EXPECT(*mine == chorus_team_translate_pe(team, count - 1, WORLD));
    chorus_free(numbers);
}

/* Make the team of a triplet, and compare each PE's place in it with the formula. */
static void check_triplet(int start, int stride, int count)
{
    chorus_team_t team = 77;
    int number = -1;

    for (int i = 0; i < count; i++)
        if (start + i * stride == api_me()) number = i;
    EXPECT(chorus_team_split_strided(WORLD, start, stride, count, NULL, 0, &team) == CHORUS_OK);
    EXPECT((team == CHORUS_TEAM_INVALID) == (number < 0));
    EXPECT(chorus_team_my_pe(team) == number);
    EXPECT(chorus_team_n_pes(team) == (number < 0 ? -1 : count));
    if (number < 0) return;
    for (int i = 0; i < count; i++) {
        EXPECT(chorus_team_translate_pe(team, i, WORLD) == start + i * stride);
        EXPECT(chorus_team_translate_pe(WORLD, start + i * stride, team) == i);
    }
    EXPECT(chorus_team_translate_pe(team, count, WORLD) == -1);
    EXPECT(chorus_team_translate_pe(team, -1, WORLD) == -1);
    EXPECT(chorus_team_sync(team) == CHORUS_OK);
    chorus_team_destroy(team);
}

/* Every triplet that the standard allows: also strides below 0, and 0 for one PE. */
static void split_strided__every_valid_triplet__gives_its_pes(void)
{
    const int n = api_n() < 4 ? api_n() : 4;

    for (int start = 0; start < n; start++)
        for (int stride = -n; stride <= n; stride++)
            for (int count = 1; count <= n; count++) {
                const int last = start + stride * (count - 1);
                const bool valid = last >= 0 && last < n && (stride != 0 || count == 1);

                if (valid) check_triplet(start, stride, count);
            }
}

static void split_strided__invalid_triplet__says_what_is_wrong(void)
{
    chorus_team_t team = 77;
    const int n = api_n();

    EXPECT_FAILS(chorus_team_split_strided(WORLD, -1, 1, 1, NULL, 0, &team), CHORUS_ERR_ARG,
                 "chorus_team_split_strided: start is -1");
    EXPECT(team == CHORUS_TEAM_INVALID);
    EXPECT_FAILS(chorus_team_split_strided(WORLD, n, 1, 1, NULL, 0, &team), CHORUS_ERR_ARG,
                 "start is");
    EXPECT_FAILS(chorus_team_split_strided(WORLD, 0, 1, 0, NULL, 0, &team), CHORUS_ERR_ARG,
                 "count of PEs is 0");
    EXPECT_FAILS(chorus_team_split_strided(WORLD, 0, 1, n + 1, NULL, 0, &team), CHORUS_ERR_ARG,
                 "count of PEs is");
    if (n > 1) {
        EXPECT_FAILS(chorus_team_split_strided(WORLD, 0, 0, 2, NULL, 0, &team), CHORUS_ERR_ARG,
                     "stride is 0 for 2 PEs");
        EXPECT_FAILS(chorus_team_split_strided(WORLD, 0, -1, 2, NULL, 0, &team), CHORUS_ERR_ARG,
                     "end at PE -1");
        EXPECT_FAILS(chorus_team_split_strided(WORLD, 0, 2147483647, 2, NULL, 0, &team),
                     CHORUS_ERR_ARG, "end at PE 2147483647");
    }
    EXPECT_FAILS(chorus_team_split_strided(WORLD, 0, 1, n, NULL, 6, &team), CHORUS_ERR_ARG,
                 "config_mask is 0x6");
    EXPECT_FAILS(
        chorus_team_split_strided(WORLD, 0, 1, n, NULL, CHORUS_TEAM_NUM_CONTEXTS, &team),
        CHORUS_ERR_ARG, "config is null");
    EXPECT_FAILS(chorus_team_split_strided(CHORUS_TEAM_INVALID, 0, 1, 1, NULL, 0, &team),
                 CHORUS_ERR_ARG, "CHORUS_TEAM_INVALID");
    EXPECT(chorus_team_sync(WORLD) == CHORUS_OK);
}

static void check_grid(chorus_team_t parent, int xrange)
{
    const int n = chorus_team_n_pes(parent), me = chorus_team_my_pe(parent);
    const int width = xrange < n ? xrange : n;
    const int x = me % xrange, y = me / xrange;
    const int row = n - y * width < width ? n - y * width : width;
    const int column = (n - x + width - 1) / width;
    chorus_team_t xteam, yteam;

    EXPECT(chorus_team_split_2d(parent, xrange, NULL, 0, &xteam, NULL, 0, &yteam) == CHORUS_OK);
    EXPECT(chorus_team_my_pe(xteam) == x && chorus_team_n_pes(xteam) == row);
    EXPECT(chorus_team_my_pe(yteam) == y && chorus_team_n_pes(yteam) == column);
    EXPECT(chorus_team_translate_pe(xteam, 0, parent) == y * width);
    EXPECT(chorus_team_translate_pe(yteam, 0, parent) == x);
    chorus_team_destroy(yteam);
    chorus_team_destroy(xteam);
}

static void split_2d__every_width__rows_and_columns(void)
{
    chorus_team_t xteam, yteam, reverse;

    EXPECT(chorus_team_split_strided(WORLD, api_n() - 1, -1, api_n(), NULL, 0, &reverse) ==
           CHORUS_OK);
    for (int xrange = 1; xrange <= api_n() + 1; xrange++) {
        check_grid(WORLD, xrange);
        check_grid(reverse, xrange);
    }
    chorus_team_destroy(reverse);
    EXPECT_FAILS(chorus_team_split_2d(WORLD, 0, NULL, 0, &xteam, NULL, 0, &yteam),
                 CHORUS_ERR_ARG, "chorus_team_split_2d: xrange is 0");
    EXPECT(xteam == CHORUS_TEAM_INVALID && yteam == CHORUS_TEAM_INVALID);
}

/* Every PE but one in reverse, then its own parent reversed again. */
static void team_create__nested_lists_in_any_order__number_as_listed(void)
{
    const int n = api_n() < API_PES_MAX ? api_n() : API_PES_MAX;
    int down[API_PES_MAX], up[API_PES_MAX];
    chorus_team_t outer, inner;

    for (int i = 0; i < n; i++) {
        down[i] = n - 1 - i;
        up[i] = n - 1 - i; /* in numbers of outer */
    }
    EXPECT(chorusx_team_create(WORLD, down, n, &outer) == CHORUS_OK);
    if (api_me() >= n) return;
    EXPECT(chorus_team_my_pe(outer) == n - 1 - api_me());
    EXPECT(chorusx_team_create(outer, up, n, &inner) == CHORUS_OK);
    EXPECT(chorus_team_my_pe(inner) == api_me());
    EXPECT(chorus_team_translate_pe(inner, 0, outer) == n - 1);
    chorus_team_destroy(outer); /* a child outlives its parent */
    EXPECT(chorus_team_sync(inner) == CHORUS_OK);
    chorus_team_destroy(inner);
}

static void team_create__bad_lists__say_what_is_wrong(void)
{
    const int outside[1] = {-1}, twice[2] = {0, 0};
    chorus_team_t team = 77;

    EXPECT_FAILS(chorusx_team_create(WORLD, outside, 1, &team), CHORUS_ERR_ARG,
                 "PE -1 of the list is not in the parent team");
    EXPECT(team == CHORUS_TEAM_INVALID);
    EXPECT_FAILS(chorusx_team_create(WORLD, outside, 0, &team), CHORUS_ERR_ARG,
                 "chorusx_team_create: n is 0");
    EXPECT_FAILS(chorusx_team_create(WORLD, outside, -4, &team), CHORUS_ERR_ARG, "n is -4");
    if (api_n() > 1)
        EXPECT_FAILS(chorusx_team_create(WORLD, twice, 2, &team), CHORUS_ERR_ARG,
                     "PE 0 is in the list twice");
    EXPECT(chorus_team_sync(WORLD) == CHORUS_OK);
}

/* Groups that overlap, each of two PEs, in the order of their first; the third PE of a job is
 * in none of the calls for the first two. */
static void team_create_group__neighbours__others_are_not_asked(void)
{
    chorus_team_t team;
    int *word = chorus_malloc(sizeof(int));

    for (int round = 0; round < 20; round++)
        for (int first = 0; first + 1 < api_n(); first++) {
            const int pes[2] = {first + 1, first}, place = first + 1 - api_me();

            if (place != 0 && place != 1) continue;
            EXPECT(chorusx_team_create_group(WORLD, pes, 2, first, &team) == CHORUS_OK);
            EXPECT(chorus_team_my_pe(team) == place && chorus_team_n_pes(team) == 2);
            *word = 10 * round + place;
            EXPECT(chorus_int_sum_reduce(team, word, word, 1) == CHORUS_OK);
            EXPECT(*word == 20 * round + 1);
            chorus_team_destroy(team);
        }
    chorus_free(word);
}

/* In a team that is not WORLD, whose numbers the list has. */
static void team_create_group__of_a_team__numbers_are_the_teams(void)
{
    const int alone[1] = {0};
    int *down = calloc((size_t)api_n(), sizeof(*down));
    chorus_team_t outer, inner, single;

    for (int i = 0; i < api_n(); i++)
        down[i] = api_n() - 1 - i;
    EXPECT(chorusx_team_create_group(WORLD, down, api_n(), 7, &outer) == CHORUS_OK);
    EXPECT(chorus_team_my_pe(outer) == api_n() - 1 - api_me());
    EXPECT(chorusx_team_create_group(outer, down, api_n(), 7, &inner) == CHORUS_OK);
    EXPECT(chorus_team_my_pe(inner) == api_me());
    EXPECT(chorus_team_sync(inner) == CHORUS_OK);
    if (chorus_team_my_pe(outer) == 0) {
        EXPECT(chorusx_team_create_group(outer, alone, 1, 0, &single) == CHORUS_OK);
        EXPECT(chorus_team_translate_pe(single, 0, WORLD) == api_n() - 1);
        chorus_team_destroy(single);
    }
    chorus_team_destroy(inner);
    chorus_team_destroy(outer);
    free(down);
}

/* Odd and even PEs, in the opposite order; then PE 0 alone, and then all by their numbers. */
static void team_split_color__pes_of_a_colour__are_in_the_order_of_their_keys(void)
{
    const int n = api_n(), me = api_me(), mine = (n + 1 - me % 2) / 2;
    chorus_team_t half, alone, all;

    EXPECT(chorusx_team_split_color(WORLD, me % 2, -me, &half) == CHORUS_OK);
    EXPECT(chorus_team_n_pes(half) == mine && chorus_team_my_pe(half) == mine - 1 - me / 2);
    EXPECT(chorus_team_sync(half) == CHORUS_OK);
    EXPECT(chorusx_team_split_color(half, chorus_team_my_pe(half), 0, &alone) == CHORUS_OK);
    EXPECT(chorus_team_n_pes(alone) == 1 && chorus_team_translate_pe(alone, 0, WORLD) == me);
    chorus_team_destroy(alone);
    chorus_team_destroy(half);
    EXPECT(chorusx_team_split_color(WORLD, me == 0 ? 9 : -1, 0, &alone) == CHORUS_OK);
    EXPECT(me == 0 ? chorus_team_n_pes(alone) == 1 : alone == CHORUS_TEAM_INVALID);
    if (me == 0) chorus_team_destroy(alone);
    EXPECT(chorusx_team_split_color(WORLD, 3, 5, &all) == CHORUS_OK);
    EXPECT(chorus_team_my_pe(all) == me && chorus_team_n_pes(all) == n);
    EXPECT(chorus_team_sync(all) == CHORUS_OK);
    chorus_team_destroy(all);
    EXPECT_FAILS(chorusx_team_split_color(CHORUS_TEAM_INVALID, 0, 0, &all), CHORUS_ERR_ARG,
                 "chorusx_team_split_color: ");
}

static void team_create_group__wrong_calls__say_so_and_the_next_works(void)
{
    const int twice[2] = {0, 0}, other[1] = {(api_me() + 1) % api_n()};
    int *all = calloc((size_t)api_n(), sizeof(*all));
    chorus_team_t team = 77;

    for (int i = 0; i < api_n(); i++)
        all[i] = i;
    EXPECT_FAILS(chorusx_team_create_group(WORLD, all, 0, 0, &team), CHORUS_ERR_ARG,
                 "chorusx_team_create_group: n is 0");
    EXPECT(team == CHORUS_TEAM_INVALID);
    if (api_n() > 1) {
        EXPECT_FAILS(chorusx_team_create_group(WORLD, twice, 2, 0, &team), CHORUS_ERR_ARG,
                     "PE 0 is in the list twice");
        EXPECT_FAILS(chorusx_team_create_group(WORLD, other, 1, 0, &team), CHORUS_ERR_ARG,
                     "by members only");
        EXPECT_FAILS(chorusx_team_create_group(WORLD, all, api_n(), api_me(), &team),
                     CHORUS_ERR_ARG, "or with another tag, than PE 0");
        EXPECT(team == CHORUS_TEAM_INVALID);
    }
    EXPECT(chorusx_team_create_group(WORLD, all, api_n(), 1, &team) == CHORUS_OK);
    chorus_team_destroy(team);
    free(all);
}

static void config__number_of_contexts__is_kept_and_given_back(void)
{
    const chorus_team_config_t wanted = {.num_contexts = 5}, negative = {.num_contexts = -1};
    chorus_team_config_t got = {.num_contexts = 99};
    chorus_team_t team;

    EXPECT(chorus_team_get_config(WORLD, CHORUS_TEAM_NUM_CONTEXTS, &got) == CHORUS_OK);
    EXPECT(got.num_contexts == 0);
    EXPECT(chorus_team_split_strided(WORLD, 0, 1, api_n(), &wanted, CHORUS_TEAM_NUM_CONTEXTS,
                                     &team) == CHORUS_OK);
    EXPECT(chorus_team_get_config(team, 0, &got) == CHORUS_OK && got.num_contexts == 0);
    EXPECT(chorus_team_get_config(team, CHORUS_TEAM_NUM_CONTEXTS, &got) == CHORUS_OK);
    EXPECT(got.num_contexts == 5);
    chorus_team_destroy(team);
    EXPECT_FAILS(chorus_team_get_config(team, CHORUS_TEAM_NUM_CONTEXTS, &got), CHORUS_ERR_ARG,
                 "was destroyed");
    EXPECT_FAILS(
        chorus_team_split_strided(WORLD, 0, 1, 1, &negative, CHORUS_TEAM_NUM_CONTEXTS, &team),
        CHORUS_ERR_ARG, "num_contexts is -1");
}

static void destroyed_handle__every_call__is_refused(void)
{
    chorus_team_t team, other;

    EXPECT(chorus_team_split_strided(WORLD, 0, 1, api_n(), NULL, 0, &team) == CHORUS_OK);
    chorus_team_destroy(team);
    EXPECT(chorus_team_my_pe(team) == -1 && chorus_team_n_pes(team) == -1);
    EXPECT(strstr(chorusx_last_error(), "of a team that was destroyed") != NULL);
    EXPECT(chorus_team_translate_pe(team, 0, WORLD) == -1);
    EXPECT(chorus_team_translate_pe(WORLD, 0, team) == -1);
    EXPECT_FAILS(chorusx_team_status(team), CHORUS_ERR_ARG, "was destroyed");
    EXPECT_FAILS(chorus_team_sync(team), CHORUS_ERR_ARG, "was destroyed");
    EXPECT_FAILS(chorus_team_split_strided(team, 0, 1, 1, NULL, 0, &other), CHORUS_ERR_ARG,
                 "was destroyed");
    chorus_team_destroy(team);
    EXPECT_REPORT(CHORUS_ERR_ARG, "was destroyed");
    EXPECT(chorus_team_my_pe(4000) == -1);
    EXPECT(strstr(chorusx_last_error(), "was never returned by the library") != NULL);
}

static void destroy__predefined_team__is_refused(void)
{
    chorus_team_destroy(WORLD);
    EXPECT_REPORT(CHORUS_ERR_ARG, "predefined");
    chorus_team_destroy(CHORUS_TEAM_SHARED);
    EXPECT_REPORT(CHORUS_ERR_ARG, "predefined");
    chorus_team_destroy(CHORUS_TEAM_NODE);
    EXPECT_REPORT(CHORUS_ERR_ARG, "predefined");
    chorus_team_destroy(CHORUS_TEAM_SAME_MYPE_NODE);
    EXPECT_REPORT(CHORUS_ERR_ARG, "predefined");
    chorus_team_destroy(4000);
    EXPECT_REPORT(CHORUS_ERR_ARG,
                  "chorus_team_destroy: team handle 4000 was never returned by the library");
    EXPECT(chorus_team_n_pes(WORLD) == api_n());
}

/* The standard's: a PE that is in no team of a split may destroy what it got. */
static void destroy__invalid_team__does_nothing(void)
{
    chorus_team_t team = WORLD;

    EXPECT(chorus_team_split_strided(WORLD, 0, 1, 1, NULL, 0, &team) == CHORUS_OK);
    EXPECT((team == CHORUS_TEAM_INVALID) == (api_me() != 0));
    chorus_team_destroy(team);
    chorus_team_destroy(CHORUS_TEAM_INVALID);
    EXPECT(chorus_team_n_pes(WORLD) == api_n());
}

static void make_and_destroy(chorus_team_t parent, int times)
{
    const int n = chorus_team_n_pes(parent);
    chorus_team_t team;

    for (int i = 0; i < times; i++) {
        const int made =
            chorus_team_split_strided(parent, 0, 1, n, NULL, 0, &team) == CHORUS_OK;

        EXPECT(made);
        if (!made) break;
        chorus_team_destroy(team);
    }
}

/* More teams one after another than there are slots: each gives all back. Most are of one PE,
 * which waits for nobody; so a job of 2 PEs tells as much as larger ones. */
static void destroy__many_teams__memory_comes_back(void)
{
    chorusx_heap_info_t before, after;
    chorus_team_t row, alone;

    if (api_n() > 2) return;
    EXPECT(chorus_team_split_2d(WORLD, api_n(), NULL, 0, &row, NULL, 0, &alone) == CHORUS_OK);
    EXPECT(chorusx_heap_info(&before) == CHORUS_OK);
    make_and_destroy(alone, 4200);
    make_and_destroy(row, 50);
    EXPECT(chorusx_heap_info(&after) == CHORUS_OK);
    EXPECT(after.local_used_bytes == before.local_used_bytes);
    chorus_team_destroy(alone);
    chorus_team_destroy(row);
}

/* As many as there are slots: the next is refused, and room is again once one is gone. */
static void create__more_than_a_pe_can_have__says_so(void)
{
    enum { SLOTS = 4096 };
    chorus_team_t *teams, row, alone;
    int n = 0;

    if (api_n() > (getenv("CHORUS_TEST_FULL") != NULL ? 2 : 1)) return;
    teams = malloc(SLOTS * sizeof(*teams));
    EXPECT(chorus_team_split_2d(WORLD, api_n(), NULL, 0, &row, NULL, 0, &alone) == CHORUS_OK);
    while (n < SLOTS &&
           chorus_team_split_strided(alone, 0, 1, 1, NULL, 0, &teams[n]) == CHORUS_OK)
        n++;
    EXPECT(n > 0 && n < SLOTS); /* some are predefined */
    EXPECT_FAILS(chorus_team_split_strided(alone, 0, 1, 1, NULL, 0, &teams[n]),
                 CHORUS_ERR_NOMEM, "a PE can be in 4096 teams at the same time");
    chorus_team_destroy(teams[--n]);
    EXPECT(chorus_team_split_strided(alone, 0, 1, 1, NULL, 0, &teams[n]) == CHORUS_OK);
    EXPECT(chorus_team_n_pes(teams[n]) == 1);
    for (; n >= 0; n--)
        chorus_team_destroy(teams[n]);
    chorus_team_destroy(alone);
    chorus_team_destroy(row);
    free(teams);
}

#define TESTS(X)                                                         \
    X(predefined__each__holds_the_pes_of_the_job_or_host)                \
    X(same_mype_node__its_pes__have_one_number_on_their_hosts)           \
    X(split_strided__every_valid_triplet__gives_its_pes)                 \
    X(split_strided__invalid_triplet__says_what_is_wrong)                \
    X(split_2d__every_width__rows_and_columns)                           \
    X(team_create__nested_lists_in_any_order__number_as_listed)          \
    X(team_create__bad_lists__say_what_is_wrong)                         \
    X(team_create_group__neighbours__others_are_not_asked)               \
    X(team_create_group__of_a_team__numbers_are_the_teams)               \
    X(team_split_color__pes_of_a_colour__are_in_the_order_of_their_keys) \
    X(team_create_group__wrong_calls__say_so_and_the_next_works)         \
    X(config__number_of_contexts__is_kept_and_given_back)                \
    X(destroyed_handle__every_call__is_refused)                          \
    X(destroy__predefined_team__is_refused)                              \
    X(destroy__invalid_team__does_nothing)                               \
    X(destroy__many_teams__memory_comes_back)                            \
    X(create__more_than_a_pe_can_have__says_so)
API_MAIN(TESTS)
