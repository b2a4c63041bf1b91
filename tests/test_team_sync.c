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

static struct ch_sync_layout layout_in_pool(uint32_t n, bool is_world)
{
    const size_t most = CH_POOL_DUP_BYTES_MAX(n, is_world, true);
    struct ch_sync_layout layout;

    ch_sync_layout_init(&layout, n, ch_sync_chunk_bytes(n, 8 * CHUNK, true, most), true);
    return layout;
}

/* What a team of n on n hosts takes of the pool: its memory, and the mirrors. */
static size_t pool_bytes(uint32_t n, uint32_t me, bool is_world)
{
    const struct ch_sync_layout layout = layout_in_pool(n, is_world);
    const uint32_t dups = CH_POOL_DUPS_OF(n, true);

    return 2 * dups * layout.dup_bytes + (n - 2) * ch_sync_mirror_step(&layout, n, me, dups);
}

/* A mirror for each peer, of all its memory, once took 32 MiB with 64 PEs, and 130 MiB with
 * 128. Beside the teams there is memory of networks. */
START_TEST(pool__many_pes__has_room_for_several_teams)
{
    enum { POOL = 64, OTHERS = 9 };

    for (uint32_t n = 2; n <= 256; n++)
        for (uint32_t me = 0; me < n; me += 1 + n / 9)
            ck_assert_uint_le(pool_bytes(n, me, true) + 2 * pool_bytes(n, me, false),
                              (POOL - OTHERS) * M);
    ck_assert_uint_le(pool_bytes(2, 0, true) + 10 * pool_bytes(2, 0, false),
                      (POOL - OTHERS) * M);
}
END_TEST

/* Bytes of a team whose PEs are beside each other, with so many duplicates at most. */
static size_t beside_bytes(uint32_t n, size_t chunk, uint32_t most)
{
    const uint32_t dups = CH_POOL_DUPS_OF(n, false);
    struct ch_sync_layout layout;

    ch_sync_layout_init(&layout, n, chunk, false);
    return layout.dup_bytes * (dups < most ? dups : most);
}

static size_t beside_chunk(uint32_t n, bool is_world)
{
    return ch_sync_chunk_bytes(n, CHUNK, false, CH_POOL_DUP_BYTES_MAX(n, is_world, false));
}

/* WORLD, NODE with the same PEs, and the rails of WORLD between groups of near PEs. */
START_TEST(pool__groups_on_one_host__has_room_for_their_teams)
{
    enum { POOL = 64, OTHERS = 9 };

    for (uint32_t n = 2; n <= 256; n += n < 64 ? 1 : 16)
        for (uint32_t groups = 2; groups <= n / 2; groups++) {
            const uint32_t dups = CH_POOL_DUPS_OF(n, false);
            const size_t chunk = beside_chunk(n, true);

            ck_assert_uint_le(beside_bytes(n, chunk, dups) +
                                  beside_bytes(n, beside_chunk(n, false), dups) +
                                  beside_bytes(groups, chunk, dups),
                              (POOL - OTHERS) * M);
        }
}
END_TEST

enum { UNIT = 128 }; /* of the lengths of places */

/* Mark a place that is written; it was not marked before. */
static void mark(unsigned char *marks, size_t at, size_t bytes)
{
    ck_assert_uint_eq(at % UNIT, 0);
    for (size_t unit = at / UNIT; unit < (at + bytes) / UNIT; unit++)
        ck_assert_int_eq(marks[unit]++, 0);
}

/* Mark what PE me writes in a mirror. */
static void mark_mirror(unsigned char *marks, size_t base, const struct ch_sync_layout *layout,
                        uint32_t n, uint32_t me, uint32_t dups)
{
    const size_t slot = layout->slot_bytes[CH_CELL_simple],
                 fifo = layout->fifo_bytes[CH_CELL_simple];

    for (uint32_t d = 0; d < dups; d++) {
        const size_t dup = base + ch_dup_offset(layout, d);

        mark(marks, dup + layout->slot_offset[CH_CELL_simple] + me * slot, slot);
        mark(marks, dup + layout->slot_offset[CH_CELL_simple] + (n + me) * slot, slot);
        mark(marks, dup + layout->fifo_offset[CH_CELL_simple] + me * fifo, fifo);
    }
}

START_TEST(mirrors__of_any_team__share_no_place)
{
    static const uint32_t many[] = {2, 3, 4, 5, 8, 9, 16, 17, 31, 32, 33, 64, 100, 256};

    for (size_t i = 0; i < sizeof(many) / sizeof(many[0]); i++)
        for (uint32_t me = 0; me < many[i]; me += 1 + many[i] / 4) {
            const uint32_t n = many[i], dups = CH_POOL_DUPS_OF(n, true);
            const struct ch_sync_layout layout = layout_in_pool(n, false);
            const size_t step = ch_sync_mirror_step(&layout, n, me, dups);
            unsigned char *marks =
                calloc(((n - 1) * step + dups * layout.dup_bytes) / UNIT + 1, 1);

            ck_assert_ptr_nonnull(marks);
            for (uint32_t peer = 0; peer < n - 1; peer++)
                mark_mirror(marks, peer * step, &layout, n, me, dups);
            free(marks);
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
    tcase_add_test(tcase, pool__many_pes__has_room_for_several_teams);
    tcase_add_test(tcase, pool__groups_on_one_host__has_room_for_their_teams);
    tcase_add_test(tcase, mirrors__of_any_team__share_no_place);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
