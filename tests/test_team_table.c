/* SPDX-License-Identifier: Apache-2.0 */
/* Handles: those of destroyed teams never come back to life. */
#include "chorus/chorus.h"
#include "heap_pes.h"
#include "team/table.h"

#include <check.h>
#include <stdlib.h>

#define M ((size_t)1024 * 1024)

/* The teams of a PE that is alone. */
struct side {
    struct ch_boot *boot;
    struct ch_heap *heap;
    struct ch_wait_policy policy;
    struct ch_links *links;
    struct ch_teams *teams;
};

static void side_open(struct side *s, struct ch_boot *boot)
{
    struct ch_options options = pes_options(1 * M);

    options.ctas = 1;
    s->boot = boot;
    EXPECT(ch_heap_open(boot, &options, &s->heap) == CHORUS_OK);
    ch_wait_policy_init(&s->policy, ch_heap_door(s->heap, boot->me), boot->n, 1, 0);
    EXPECT(ch_links_open(boot, s->heap, &options, &s->policy, &s->links) == CHORUS_OK);
    EXPECT(ch_teams_open(boot, s->heap, s->links, &options, &s->policy, NULL, &s->teams) ==
           CHORUS_OK);
}

static void side_close(struct side *s)
{
    ch_teams_close(s->teams);
    ch_links_close(s->links);
    ch_heap_close(s->heap);
}

static ch_team_handle make(struct side *s)
{
    const uint32_t pe = 0;
    ch_team_handle handle = CHORUS_TEAM_INVALID;

    EXPECT(ch_team_create(s->teams, CHORUS_TEAM_WORLD, &pe, 1, 0, &handle) == CHORUS_OK);
    return handle;
}

/* As if a program had made and destroyed as many teams in the slot as handles tell apart. */
static void last_main(struct ch_boot *boot)
{
    struct side s;
    ch_team_handle first, last, next;
    struct ch_team *team;
    uint32_t slot;

    side_open(&s, boot);
    first = make(&s);
    slot = (uint32_t)first % CH_TEAM_SLOTS;
    EXPECT(ch_team_destroy(s.teams, first) == CHORUS_OK);
    s.teams->slots[slot].generation = CH_TEAM_GENERATIONS - 1;
    last = make(&s);
    EXPECT(last > 0 && (uint32_t)last % CH_TEAM_SLOTS == slot);
    EXPECT(ch_team_get(s.teams, last, &team) == CHORUS_OK);
    EXPECT(ch_team_destroy(s.teams, last) == CHORUS_OK);
    next = make(&s);
    EXPECT((uint32_t)next % CH_TEAM_SLOTS == slot + 1);
    EXPECT(ch_team_get(s.teams, first, &team) == CHORUS_ERR_ARG);
    EXPECT(pes_message_has("was destroyed"));
    EXPECT(ch_team_get(s.teams, last, &team) == CHORUS_ERR_ARG);
    EXPECT(pes_message_has("was destroyed"));
    EXPECT(ch_team_get(s.teams, next, &team) == CHORUS_OK);
    side_close(&s);
}

START_TEST(destroy__last_handle_of_a_slot__slot_is_left)
{
    pes_run_threads(1, last_main);
}
END_TEST

/* The number of a team of a group of this PE in team `parent`. */
static uint32_t number_of_group(struct side *s, ch_team_handle parent, ch_team_handle *handle)
{
    const uint32_t pe = 0;
    struct ch_team *team;

    EXPECT(ch_team_create_group(s->teams, parent, &pe, 1, 3, handle) == CHORUS_OK);
    EXPECT(ch_team_get(s->teams, *handle, &team) == CHORUS_OK);
    return team->number;
}

/* Otherwise records take their calls for those of one team. */
static void group_main(struct ch_boot *boot)
{
    ch_team_handle outer, inner;
    uint32_t first, second;
    struct side s;

    side_open(&s, boot);
    first = number_of_group(&s, CHORUS_TEAM_WORLD, &outer);
    EXPECT(number_of_group(&s, outer, &inner) != first);
    EXPECT(ch_team_destroy(s.teams, inner) == CHORUS_OK);
    EXPECT(ch_team_destroy(s.teams, outer) == CHORUS_OK);
    second = number_of_group(&s, CHORUS_TEAM_WORLD, &outer);
    EXPECT(second != first && second >> 31 == 1);
    EXPECT(ch_team_destroy(s.teams, outer) == CHORUS_OK);
    side_close(&s);
}

START_TEST(create_group__again__has_another_number)
{
    pes_run_threads(1, group_main);
}
END_TEST

static void none_main(struct ch_boot *boot)
{
    const uint32_t pe = 0;
    ch_team_handle handle;
    struct side s;

    side_open(&s, boot);
    for (uint32_t slot = 0; slot < CH_TEAM_SLOTS; slot++)
        if (s.teams->slots[slot].team == NULL)
            s.teams->slots[slot].generation = CH_TEAM_GENERATIONS;
    EXPECT(ch_team_create(s.teams, CHORUS_TEAM_WORLD, &pe, 1, 0, &handle) == CHORUS_ERR_NOMEM);
    EXPECT(pes_message_has("can create 2147483648 in all"));
    side_close(&s);
}

START_TEST(create__no_handles_left__says_so)
{
    pes_run_threads(1, none_main);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("team_table");
    TCase *const tcase = tcase_create("all");
    SRunner *runner;
    int failed;

    tcase_add_test(tcase, destroy__last_handle_of_a_slot__slot_is_left);
    tcase_add_test(tcase, create_group__again__has_another_number);
    tcase_add_test(tcase, create__no_handles_left__says_so);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
