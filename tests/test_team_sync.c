/* SPDX-License-Identifier: Apache-2.0 */
/* How long sync memory is, for numbers of PEs that no machine here has. */
#include "coll/shape_rounds.h"
#include "heap/segment.h"
#include "team/device.h"
#include "team/sync.h"

#include <check.h>
#include <stdlib.h>

#define M ((size_t)1024 * 1024)

enum { PES_MAX = 4096, TEAMS = 3, CHUNK = 16384, RADIX_MAX = 64 };

static struct ch_sync_layout layout_of(uint32_t n, size_t chunk)
{
    struct ch_sync_layout layout;

    ch_sync_layout_init(&layout, n, ch_sync_chunk_bytes(n, chunk, false, CH_DUP_BYTES_MAX),
                        false);
    return layout;
}

/* What a team of n asks of the local part, mailbox included; see alloc_shared of team.c. */
static size_t team_bytes(uint32_t n)
{
    return layout_of(n, CHUNK).dup_bytes + CH_DEVICE_DUP_BYTES(n) + CH_DEVICE_TEAM_BYTES(n) +
           2 * n * sizeof(struct ch_packet) + 2 * sizeof(struct ch_line);
}

/* A place once had room for a block of every PE: 275 MiB with 1,024 PEs, more than there was.
 */
START_TEST(sync__many_pes__predefined_teams_fit_the_smallest_heap)
{
    for (uint32_t n = 1; n <= PES_MAX; n++) {
        struct ch_layout layout;

        ch_layout_init(&layout, 64 << 10, 0, n);
        ck_assert_msg(TEAMS * team_bytes(n) <= layout.local_bytes,
                      "%u PEs: 3 teams take %zu bytes of %zu", n, TEAMS * team_bytes(n),
                      layout.local_bytes);
        ch_layout_init(&layout, 512 * M, 0, n);
        ck_assert_uint_le(TEAMS * team_bytes(n), layout.local_bytes);
    }
}
END_TEST

START_TEST(sync__twice_the_pes__takes_little_more_than_twice_the_bytes)
{
    for (uint32_t n = 1024; n <= PES_MAX / 2; n *= 2)
        ck_assert_uint_le(team_bytes(2 * n), team_bytes(n) * 21 / 10);
}
END_TEST

/* Of every block 16 bytes or more go at a time, for any chunk: else a call would not end. */
static void check_rounds(uint32_t n, const struct ch_sync_layout *layout)
{
    const uint64_t p = layout->slot_bytes[CH_CELL_ll] / CH_SLOT_UNIT,
                   o = layout->own_bytes[CH_CELL_ll] / CH_SLOT_UNIT,
                   plain = layout->own_bytes[CH_CELL_simple] / CH_SLOT_UNIT;

    for (uint32_t k = 2; k <= RADIX_MAX; k++) {
        ck_assert_uint_gt(n * p, ch_fan(n, k) * (CH_MESSAGE_UNITS - 1));
        ck_assert_uint_ge(ch_gather_bytes(n, k, p), 16);
        ck_assert_uint_le(ch_gather_bytes(n, k, p), n * p * CH_SLOT_UNIT);
        ck_assert_uint_ge(ch_combine_bytes(n, k, p, o), 16); /* at most ch_forward_bytes */
        ck_assert_uint_ge(ch_level_bytes(n, k, plain), 16);
    }
}

START_TEST(sync__any_pes_and_radix__rounds_have_room)
{
    for (uint32_t n = 1; n <= PES_MAX; n += n < 300 ? 1 : 61) {
        const struct ch_sync_layout usual = layout_of(n, CHUNK), tiny = layout_of(n, 64);

        check_rounds(n, &usual);
        check_rounds(n, &tiny);
    }
}
END_TEST

/* Messages of all rounds, each from a line on, as rounds.h lays them out. */
static uint64_t units_of_messages(uint32_t n, uint32_t k, uint64_t bytes, int by_digit)
{
    uint64_t units = 0;

    for (uint32_t span = 1; span < n; span *= k)
        for (uint32_t j = 1; j < k && (uint64_t)j * span < n; j++) {
            const uint64_t blocks =
                by_digit ? ch_count_with_digit(n, k, span, j) : ch_gather_sent(n, span, j);

            units += ch_divide_up(blocks * (bytes / 8), CH_MESSAGE_UNITS) * CH_MESSAGE_UNITS;
        }
    return units;
}

START_TEST(sync__messages_of_all_rounds__end_within_the_places)
{
    for (uint32_t n = 1; n <= PES_MAX; n += n < 300 ? 1 : 61) {
        const struct ch_sync_layout layout = layout_of(n, n % 2 == 0 ? CHUNK : 64);
        const uint64_t p = layout.slot_bytes[CH_CELL_ll] / CH_SLOT_UNIT;

        for (uint32_t k = 2; k <= RADIX_MAX; k++) {
            ck_assert_uint_le(units_of_messages(n, k, ch_gather_bytes(n, k, p), 0), n * p);
            ck_assert_uint_le(units_of_messages(n, k, ch_forward_bytes(n, k, p), 1), n * p);
        }
    }
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("team_sync");
    TCase *const tcase = tcase_create("all");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, sync__many_pes__predefined_teams_fit_the_smallest_heap);
    tcase_add_test(tcase, sync__twice_the_pes__takes_little_more_than_twice_the_bytes);
    tcase_add_test(tcase, sync__any_pes_and_radix__rounds_have_room);
    tcase_add_test(tcase, sync__messages_of_all_rounds__end_within_the_places);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
