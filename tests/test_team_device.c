/* SPDX-License-Identifier: Apache-2.0 */
/* Teams as kernels see them, on GPUs that are fakes. */
#include "chorus/chorus.h"
#include "device_fake.h"
#include "heap_pes.h"
#include "team/table.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define M ((size_t)1 << 20)

static const uint32_t aborted;
static const struct ch_device_terms terms = {.aborted = &aborted, .timeout_ns = 7};

/* A PE's teams on a fake GPU, or in host memory. */
struct side {
    struct ch_boot *boot;
    struct ch_heap *heap;
    struct ch_wait_policy policy;
    struct ch_links *links;
    struct ch_teams *teams;
};

static void side_open_with(struct side *s, struct ch_boot *boot, int is_on_gpu, bool nvls)
{
    struct ch_options options = pes_options(16 * M);

    options.heap = is_on_gpu ? CHORUS_HEAP_cuda : CHORUS_HEAP_host;
    options.sync_max = 16 * M;
    options.ctas = 2;
    options.nvls = nvls;
    options.check = !nvls; /* so that both are seen */
    s->boot = boot;
    EXPECT(ch_heap_open(boot, &options, &s->heap) == CHORUS_OK);
    ch_wait_policy_init(&s->policy, ch_heap_door(s->heap, boot->me), boot->n, 1, 0);
    EXPECT(ch_links_open(boot, s->heap, &options, &s->policy, &s->links) == CHORUS_OK);
    EXPECT(ch_teams_open(boot, s->heap, s->links, &options, &s->policy,
                         is_on_gpu ? &terms : NULL, &s->teams) == CHORUS_OK);
}

static void side_open(struct side *s, struct ch_boot *boot, int is_on_gpu)
{
    side_open_with(s, boot, is_on_gpu, false);
}

static void side_close(struct side *s)
{
    pes_meet(s->boot);
    ch_teams_close(s->teams);
    ch_links_close(s->links);
    ch_heap_close(s->heap);
    pes_meet(s->boot);
}

/* What a kernel finds by a handle; a fake GPU's memory can be looked at. */
static const struct ch_device_team *find(const struct side *s, ch_team_handle handle)
{
    struct ch_device_state state;

    EXPECT(ch_teams_device_state(s->teams, &state) == CHORUS_OK);
    return state.teams[(uint32_t)handle & state.slot_mask];
}

/* That of duplicate 0, but for places of packets: behind the record, in the team's memory. */
static void check_layout(const struct ch_sync_layout *found, const struct ch_team *team,
                         const char *record)
{
    const size_t chunk = found->chunk_bytes[CH_CELL_ll], n = team->n,
                 at = found->slot_offset[CH_CELL_ll],
                 end = ch_device_check_offset(found, team->n) +
                       (team->check != NULL ? CH_DEVICE_CHECK_BYTES(n) : 0);
    struct ch_sync_layout other = *found;

    EXPECT(chunk >= team->layout.chunk_bytes[CH_CELL_ll] && chunk % 16 == 0);
    EXPECT(found->slot_bytes[CH_CELL_ll] >=
           ch_cells(CH_CELL_ll, chunk) * sizeof(struct ch_packet));
    EXPECT(at % sizeof(struct ch_line) == 0);
    EXPECT((const char *)team->sync + at >= record + CH_DEVICE_TEAM_BYTES(n));
    EXPECT(end <= team->n_dups * (team->layout.dup_bytes + CH_DEVICE_DUP_BYTES(n)) +
                      ch_device_area_bytes(team));
    other.chunk_bytes[CH_CELL_ll] = team->layout.chunk_bytes[CH_CELL_ll];
    other.slot_bytes[CH_CELL_ll] = team->layout.slot_bytes[CH_CELL_ll];
    other.slot_offset[CH_CELL_ll] = team->layout.slot_offset[CH_CELL_ll];
    EXPECT(memcmp(&other, &team->layout, sizeof(other)) == 0);
}

/* The record says what the library knows of the team, and its duplicate is new. */
static void check_record(const struct side *s, ch_team_handle handle)
{
    const struct ch_device_team *record = find(s, handle);
    struct ch_team *team = NULL;
    const char *sync;

    EXPECT(ch_team_get(s->teams, handle, &team) == CHORUS_OK && record != NULL);
    if (team == NULL || record == NULL) return;
    sync = team->sync;
    EXPECT(record->me == team->me && record->n == team->n && record->handle == handle);
    EXPECT(record->id == team->id);
    EXPECT(record->is_checked == (team->check != NULL));
    check_layout(&record->layout, team, (const char *)record);
    EXPECT(memcmp(record->peers, team->peers, team->n * sizeof(struct ch_peer)) == 0);
    for (uint32_t pe = 0; pe < team->n; pe++)
        EXPECT(record->worlds[pe] == team->members[pe].world);
    EXPECT(team->n_dups == 2 * team->layout.n_whole);
    EXPECT((const char *)record->dup ==
           sync + team->layout.n_whole * (team->layout.dup_bytes + team->layout.slim_bytes));
    EXPECT(record->dup->epoch == 0 && record->dup->exchanges[CH_CELL_ll] == 0);
    /* Behind all duplicates, and not in one of them. */
    EXPECT((const char *)record ==
           (const char *)record->dup + team->n_dups * CH_DEVICE_DUP_BYTES(team->n));
}

/* Where the memory that a team's kernels use ends. */
static const char *end_of(const struct side *s, ch_team_handle handle)
{
    const struct ch_device_team *record = find(s, handle);
    struct ch_team *team = NULL;

    EXPECT(ch_team_get(s->teams, handle, &team) == CHORUS_OK);
    return (const char *)team->sync + ch_device_check_offset(&record->layout, team->n) +
           (team->check != NULL ? CH_DEVICE_CHECK_BYTES(team->n) : 0);
}

static void check_apart(const struct side *s, ch_team_handle one, ch_team_handle other)
{
    struct ch_team *first = NULL, *second = NULL;

    EXPECT(ch_team_get(s->teams, one, &first) == CHORUS_OK);
    EXPECT(ch_team_get(s->teams, other, &second) == CHORUS_OK);
    EXPECT(end_of(s, one) <= (const char *)second->sync ||
           end_of(s, other) <= (const char *)first->sync);
}

static void make_and_destroy(struct ch_boot *boot)
{
    const uint32_t all[] = {0, 1, 2};
    struct ch_device_state state;
    ch_team_handle first, second;
    struct side s;

    side_open(&s, boot, 1);
    EXPECT(ch_teams_device_state(s.teams, &state) == CHORUS_OK);
    EXPECT(state.ordinal == (int32_t)boot->me);
    EXPECT(memcmp(&state.world, find(&s, CHORUS_TEAM_WORLD), sizeof(state.world)) == 0);
    EXPECT(memcmp(state.peers, state.world.peers, boot->n * sizeof(struct ch_peer)) == 0);
    EXPECT(memcmp(&state.terms, &terms, sizeof(terms)) == 0);
    for (ch_team_handle handle = CHORUS_TEAM_WORLD; handle <= CHORUS_TEAM_NODE; handle++)
        check_record(&s, handle);
    check_apart(&s, CHORUS_TEAM_WORLD, CHORUS_TEAM_SHARED);
    check_apart(&s, CHORUS_TEAM_SHARED, CHORUS_TEAM_NODE);
    EXPECT(ch_team_create(s.teams, CHORUS_TEAM_WORLD, all, boot->n, 0, &first) == CHORUS_OK);
    check_record(&s, first);
    EXPECT(ch_team_destroy(s.teams, first) == CHORUS_OK);
    EXPECT(find(&s, first) == NULL);
    EXPECT(ch_team_create(s.teams, CHORUS_TEAM_WORLD, all, boot->n, 0, &second) == CHORUS_OK);
    EXPECT(second != first && find(&s, second) == find(&s, first)); /* the slot is used again */
    check_record(&s, second);
    side_close(&s);
}

/* What collective launches compare as bytes. */
START_TEST(state__any__has_no_padding)
{
    const struct ch_device_state *s = NULL;
    const struct ch_device_team *t = NULL;
    const struct ch_sync_layout *l = NULL;
    const size_t layout = sizeof(l->chunk_bytes) + sizeof(l->cells_log2) +
                          sizeof(l->slot_bytes) + sizeof(l->own_bytes) + sizeof(l->n_whole) +
                          sizeof(l->fifo_bytes) + sizeof(l->fifo_offset) +
                          sizeof(l->slot_offset) + sizeof(l->own_offset) +
                          sizeof(l->dup_bytes) + sizeof(l->slim_bytes);
    const size_t team = sizeof(t->me) + sizeof(t->n) + sizeof(t->handle) +
                        sizeof(t->is_checked) + sizeof(t->id) + sizeof(t->remotes) +
                        sizeof(t->levels) + sizeof(t->is_beside) + sizeof(t->is_away) +
                        sizeof(t->short_bytes) + sizeof(t->peers) + sizeof(t->worlds) +
                        sizeof(t->dup) + sizeof(t->multicast) + layout;
    const struct ch_ring *r = NULL;
    const size_t ring = sizeof(r->slots) + sizeof(r->freed) + sizeof(r->shared) +
                        sizeof(r->capacity_log2) + sizeof(r->words_log2) + sizeof(r->words) +
                        sizeof(r->outboxes) + sizeof(r->inboxes);

    ck_assert_uint_eq(sizeof(*l), layout);
    ck_assert_uint_eq(sizeof(*t), team);
    ck_assert_uint_eq(sizeof(*r), ring);
    ck_assert_uint_eq(sizeof(struct ch_device_terms), sizeof(s->terms.aborted) +
                                                          sizeof(s->terms.timeout_ns) +
                                                          sizeof(s->terms.fault));
    ck_assert_uint_eq(sizeof(struct ch_peer), sizeof(s->peers[0].shift) +
                                                  sizeof(s->peers[0].sync) +
                                                  sizeof(s->peers[0].door));
    ck_assert_uint_eq(sizeof(*s), sizeof(s->teams) + sizeof(s->slot_mask) + sizeof(s->ordinal) +
                                      sizeof(s->n_sharing) + sizeof(s->terms) + sizeof(s->far) +
                                      sizeof(s->has_far) + sizeof(s->fence_is_quiet) + ring +
                                      team + sizeof(s->peers) + sizeof(s->all));
    ck_assert_uint_eq(sizeof(struct ch_device_pe),
                      sizeof(s->all->shift) + sizeof(s->all->is_far));
}
END_TEST

START_TEST(records__teams_made_and_destroyed__are_what_the_library_knows)
{
    pes_run_threads(1, make_and_destroy);
    pes_run_threads(3, make_and_destroy);
    pes_run_processes(3, make_and_destroy);
}
END_TEST

/* Multicast in hardware, as far as a team knows of it. */
static void make_with_multicast(struct ch_boot *boot)
{
    const uint32_t all[] = {0, 1, 2}, some[] = {0, 1};
    struct ch_team *team = NULL;
    ch_team_handle handle;
    struct side s;

    side_open_with(&s, boot, 1, true);
    EXPECT(ch_team_get(s.teams, CHORUS_TEAM_WORLD, &team) == CHORUS_OK);
    EXPECT(team->multicast != 0 && team->multicast == ch_heap_multicast_shift(s.heap));
    EXPECT(team->is_sync_alike);
    EXPECT(ch_team_create(s.teams, CHORUS_TEAM_WORLD, some, 2, 0, &handle) == CHORUS_OK);
    if (boot->me < 2) {
        EXPECT(ch_team_get(s.teams, handle, &team) == CHORUS_OK && team->multicast == 0);
    }
    EXPECT(ch_team_create(s.teams, CHORUS_TEAM_WORLD, all, 3, 0, &handle) == CHORUS_OK);
    EXPECT(ch_team_get(s.teams, handle, &team) == CHORUS_OK && team->multicast != 0);
    EXPECT(!team->is_sync_alike); /* PE 2 has no part in the team before */
    side_close(&s);
}

START_TEST(multicast__teams_of_all_and_of_some__serves_those_of_all)
{
    pes_run_threads(3, make_with_multicast);
    pes_run_processes(3, make_with_multicast);
}
END_TEST

static void ask_on_host(struct ch_boot *boot)
{
    struct ch_device_state state;
    struct side s;

    side_open(&s, boot, 0);
    EXPECT(ch_teams_device_state(s.teams, &state) == CHORUS_ERR_UNSUPPORTED);
    EXPECT(pes_message_has("heap is in host memory"));
    side_close(&s);
}

START_TEST(state__heap_on_host__refused)
{
    pes_run_threads(2, ask_on_host);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("team_device");
    TCase *tcase = tcase_create("all");
    SRunner *runner = srunner_create(suite);
    int n_failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, state__any__has_no_padding);
    tcase_add_test(tcase, records__teams_made_and_destroyed__are_what_the_library_knows);
    tcase_add_test(tcase, multicast__teams_of_all_and_of_some__serves_those_of_all);
    tcase_add_test(tcase, state__heap_on_host__refused);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
