/* SPDX-License-Identifier: Apache-2.0 */
/* The record of a PE's last calls: what readers find in it, also while it is written. */
#include "base/record.h"
#include "chorus/chorus.h"

#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS = 3000, TEAMS = 7, CALLS_AT_ONCE = 200000 };

static struct ch_record record;

static void empty_record(void)
{
    memset(&record, 0, sizeof(record));
    ch_record_init(&record, 1, 4);
}

/* The call that index i is in these tests: nothing of it is like another's in reach. */
static struct ch_doing call_of(uint64_t i)
{
    return (struct ch_doing){.what = CHORUS_COLL_broadcast,
                             .type = CHORUS_TYPE_f32,
                             .root = (int32_t)(i & 0xffff),
                             .team = (uint32_t)(i % TEAMS),
                             .number = i,
                             .count = i * 3};
}

static uint64_t begin_call(const struct ch_doing *call)
{
    const struct ch_entry noted = ch_entry_of(call);

    return ch_record_begin(&record, &noted, true, CH_ENTRY_RUNNING);
}

static uint64_t begin(uint64_t i)
{
    const struct ch_doing call = call_of(i);

    return begin_call(&call);
}

static bool is_call(const struct ch_record_call *called, uint64_t i)
{
    const struct ch_doing call = call_of(i);

    return called->index == i && called->doing.what == call.what &&
           called->doing.type == call.type && called->doing.root == call.root &&
           called->doing.team == call.team && called->doing.number == call.number &&
           called->doing.count == call.count;
}

START_TEST(read__any_call__the_last_ones_alone)
{
    struct ch_record_call called;

    empty_record();
    ck_assert(!ch_record_read(&record, 0, &called));
    ck_assert(!ch_record_latest(&record, &called));
    for (uint64_t i = 1; i <= CALLS; i++)
        ck_assert_uint_eq(begin(i), i);
    for (uint64_t i = 0; i <= CALLS + 1; i++) {
        const bool is_kept = i > CALLS - CH_RECORD_ENTRIES && i <= CALLS;

        ck_assert_int_eq(ch_record_read(&record, i, &called), is_kept);
        if (is_kept) ck_assert(is_call(&called, i));
    }
}
END_TEST

START_TEST(find__a_team_and_a_number__gives_that_call)
{
    const struct ch_doing other = {
        .what = CH_DOING_malloc, .team = 3, .number = 10, .count = 77};
    struct ch_record_call called;

    empty_record();
    for (uint64_t i = 1; i <= 20; i++)
        (void)begin(i);
    (void)begin_call(&other);
    ck_assert(ch_record_find(&record, 3, 10, true, &called) && is_call(&called, 10));
    ck_assert(ch_record_find(&record, 3, 10, false, &called) && called.doing.count == 77);
    ck_assert(!ch_record_find(&record, 4, 10, true, &called)); /* another team's */
    ck_assert(!ch_record_find(&record, 3, 9, false, &called));
}
END_TEST

START_TEST(latest__a_call_that_runs__comes_before_later_ones)
{
    struct ch_record_call called;

    empty_record();
    for (uint64_t i = 1; i <= 5; i++)
        (void)begin(i);
    for (uint64_t i = 1; i <= 5; i++)
        if (i != 3) ch_record_mark(&record, i, CH_ENTRY_ENDED);
    ck_assert(ch_record_latest(&record, &called) && is_call(&called, 3));
    ch_record_mark(&record, 3, CH_ENTRY_FAILED);
    ck_assert(ch_record_latest(&record, &called) && is_call(&called, 5));
    ck_assert_int_eq(called.state, CH_ENTRY_ENDED);
}
END_TEST

static struct ch_doing comes_back(const struct ch_doing *call)
{
    return ch_doing_unpack(ch_doing_pack(call), ch_doing_plan(call));
}

START_TEST(agrees__calls_that_differ_in_one_thing__as_all_pes_see_them)
{
    const struct ch_doing reduce = {.what = CHORUS_COLL_reduce,
                                    .type = CHORUS_TYPE_f32,
                                    .op = CHORUS_OP_sum,
                                    .algo = 4,
                                    .radix = 2,
                                    .ctas = 1,
                                    .count = 64};
    const struct ch_doing collect = {.what = CHORUS_COLL_collect, .count = 64};
    struct ch_doing one = reduce, uneven = collect, read;

    ck_assert(ch_doing_agrees(&reduce, &one));
    one.is_on_stream = 1;
    one.is_dest_outside = one.is_source_outside = 1;
    ck_assert(ch_doing_agrees(&reduce, &one));
    uneven.count = 65;
    ck_assert(ch_doing_agrees(&collect, &uneven));
#define DIFFERS(field, value) \
    one = reduce;             \
    one.field = value;        \
    ck_assert_msg(!ch_doing_agrees(&reduce, &one), #field)
    DIFFERS(what, CHORUS_COLL_reducescatter);
    DIFFERS(type, CHORUS_TYPE_f64);
    DIFFERS(op, CHORUS_OP_max);
    DIFFERS(algo, 5);
    DIFFERS(radix, 3);
    DIFFERS(ctas, 2);
    DIFFERS(is_in_place, 1);
    DIFFERS(is_in_kernel, 1);
    DIFFERS(root, 1);
    DIFFERS(count, 65);
#undef DIFFERS
    one = reduce;
    one.root = 1; /* which a reduce does not have */
    read = comes_back(&one);
    read.count = 64;
    ck_assert(ch_doing_agrees(&reduce, &read));
}
END_TEST

START_TEST(clashes__calls_that_cannot_be_one__and_no_others)
{
    const struct ch_doing reduce = {.what = CHORUS_COLL_reduce,
                                    .type = CHORUS_TYPE_f32,
                                    .op = CHORUS_OP_sum,
                                    .algo = 4,
                                    .radix = 2,
                                    .ctas = 1,
                                    .count = 64};
    const struct ch_doing collect = {.what = CHORUS_COLL_collect, .count = 64};
    const struct ch_doing free = {.what = CH_DOING_free, .count = 64};
    struct ch_doing other;

#define CLASHES(call, field, value, expected) \
    other = call;                             \
    other.field = value;                      \
    ck_assert_msg(ch_doing_clashes(&(call), &other) == (expected), #call ": " #field)
    CLASHES(reduce, what, CHORUS_COLL_reducescatter, true);
    CLASHES(reduce, type, CHORUS_TYPE_f64, true);
    CLASHES(reduce, op, CHORUS_OP_max, true);
    CLASHES(reduce, algo, 5, true);
    CLASHES(reduce, radix, 4, true);
    CLASHES(reduce, ctas, 2, true);
    CLASHES(reduce, count, 65, true);
    CLASHES(reduce, is_in_place, 1, false);
    CLASHES(reduce, is_dest_outside, 1, false);
    CLASHES(reduce, is_source_outside, 1, false);
    CLASHES(reduce, is_on_stream, 1, false);
    CLASHES(collect, count, 65, false);
    CLASHES(free, count, 65, false);
#undef CLASHES
}
END_TEST

START_TEST(pack__every_member__comes_back)
{
    const struct ch_doing call = {.what = CHORUS_COLL_broadcast,
                                  .type = UINT8_MAX,
                                  .algo = 1 << 12,
                                  .radix = 64,
                                  .ctas = UINT8_MAX,
                                  .is_in_place = 1,
                                  .is_on_stream = 1,
                                  .is_dest_outside = 1,
                                  .root = (1 << 20) - 1};
    const struct ch_doing reduce = {
        .what = CHORUS_COLL_reduce, .type = CHORUS_TYPE_u16, .op = UINT8_MAX};
    struct ch_doing other = call, read;

    read = comes_back(&call);
    ck_assert(memcmp(&read, &call, sizeof(call)) == 0);
    other.is_dest_outside = 0;
    other.is_source_outside = 1;
    other.algo = other.radix = other.ctas = 0;
    read = comes_back(&other);
    ck_assert(memcmp(&read, &other, sizeof(other)) == 0);
    read = comes_back(&reduce);
    ck_assert(memcmp(&read, &reduce, sizeof(reduce)) == 0);
}
END_TEST

/* A record may be a file that is not what it should be. */
START_TEST(unpack__any_word__is_a_call_that_has_a_text)
{
    char text[CH_DOING_TEXT_BYTES];

    for (uint64_t number = 0; number < 256; number++) {
        const uint64_t is_other = UINT64_C(1) << CH_CALL_OTHER_AT;
        const struct ch_doing call =
            ch_doing_unpack(~is_other ^ (number ^ UINT8_MAX), UINT64_MAX);
        const struct ch_doing other = ch_doing_unpack(~UINT64_C(0) ^ (number ^ UINT8_MAX), 0);

        ck_assert(ch_doing_is_collective(&call) && !ch_doing_is_collective(&other));
        ch_doing_text(&call, text);
        ck_assert((strstr(text, "an unknown call") != NULL) == (number != CHORUS_COLL_barrier));
        ch_doing_text(&other, text);
    }
}
END_TEST

START_TEST(find__the_latest_of_a_team__and_the_first_that_runs)
{
    /* The number is that of team 3. */
    const struct ch_doing other = {
        .what = CHORUS_COLL_barrier, .team = UINT64_C(1) << 32 | 3, .number = 11};
    struct ch_record_call called;

    empty_record();
    for (uint64_t i = 1; i <= 20; i++)
        (void)begin(i);
    ck_assert_uint_eq(begin_call(&other), 21);
    ck_assert(ch_record_find_upto(&record, 3, 99, &called) && is_call(&called, 17));
    ck_assert(ch_record_find_upto(&record, 3, 16, &called) && is_call(&called, 10));
    ck_assert(!ch_record_find_upto(&record, 3, 2, &called));
    ck_assert(ch_record_find_upto(&record, other.team, 11, &called) && called.index == 21);
    for (uint64_t i = 1; i <= 21; i++)
        if (i != 10 && i != 17) ch_record_mark(&record, i, CH_ENTRY_ENDED);
    ck_assert(ch_record_find_running(&record, 3, &called) && is_call(&called, 10));
    ck_assert(!ch_record_find_running(&record, other.team, &called));
}
END_TEST

START_TEST(read__a_wait__has_its_word_and_its_condition)
{
    const struct ch_doing wait = {.what = CH_DOING_wait,
                                  .type = CHORUS_TYPE_i32,
                                  .op = CHORUS_CMP_GE,
                                  .count = 1,
                                  .offset = 0x40,
                                  .value = (uint64_t)-3};
    struct ch_record_call called;
    char text[CH_DOING_TEXT_BYTES];

    empty_record();
    ck_assert_uint_eq(begin_call(&wait), 1);
    ck_assert(ch_record_latest(&record, &called));
    ck_assert_uint_eq(called.doing.offset, 0x40);
    ck_assert_uint_eq(called.doing.value, (uint64_t)-3);
    ch_doing_text(&called.doing, text);
    ck_assert_str_eq(text, "a wait for the word at +0x40 of the heap to be >= -3");
    /* Its words are not taken for a team and a number. */
    ck_assert(!ch_record_find(&record, (uint32_t)-3, 0x40, false, &called));
}
END_TEST

/* Calls that follow each other closely do not all get their times. */
START_TEST(before__a_call_without_a_time__began_between_those_that_have_one)
{
    struct ch_record_call called;
    int n_untimed = 0;

    empty_record();
    for (uint64_t i = 1; i <= 200; i++)
        (void)begin(i);
    for (uint64_t i = 1; i <= 100; i++) {
        uint64_t before;

        ck_assert(ch_record_read(&record, i, &called));
        before = ch_record_ticks_after(&record, i);
        ck_assert_uint_gt(before, called.ticks);
        n_untimed += !called.is_timed;
    }
    ck_assert_int_gt(n_untimed, 0);
    ck_assert_uint_eq(ch_record_ticks_after(&record, 200), 0);
}
END_TEST

START_TEST(full__each_call__has_the_times_of_its_beginning_and_its_end)
{
    struct ch_record_call called;

    empty_record();
    record.is_full = 1;
    for (uint64_t i = 1; i <= CALLS; i++) {
        (void)begin(i);
        ck_assert(ch_record_read(&record, i, &called));
        ck_assert(called.is_timed && called.ended == 0);
        ch_record_mark(&record, i, CH_ENTRY_ENDED);
        ck_assert(ch_record_read(&record, i, &called));
        ck_assert_uint_ge(called.ended, called.ticks);
    }
}
END_TEST

START_TEST(read_access__any__the_last_ones_alone)
{
    struct ch_access access;

    empty_record();
    ck_assert(!ch_record_read_access(&record, 0, &access));
    for (uint64_t i = 1; i <= CALLS; i++) {
        const struct ch_access made = {
            .what = CH_ACCESS_add, .pe = i % 5, .offset = i * 8, .bytes = 8, .value = i};

        ck_assert_uint_eq(ch_record_access(&record, &made), i);
        if (i != CALLS) ch_record_access_end(&record, i);
    }
    for (uint64_t i = 0; i <= CALLS + 1; i++) {
        const bool is_kept = i > CALLS - CH_RECORD_ENTRIES && i <= CALLS;

        ck_assert_int_eq(ch_record_read_access(&record, i, &access), is_kept);
        if (!is_kept) continue;
        ck_assert_uint_eq(access.value, i);
        ck_assert_uint_eq(access.offset, i * 8);
        ck_assert_uint_eq(access.pe, i % 5);
        ck_assert_int_eq(access.ended != 0, i != CALLS);
    }
}
END_TEST

static void *write_calls(void *unused)
{
    for (uint64_t i = 1; i <= CALLS_AT_ONCE; i++) {
        (void)begin(i);
        ch_record_mark(&record, i, CH_ENTRY_ENDED);
    }
    return unused;
}

/* The reader looks where the writer is about to write. */
START_TEST(read__while_it_is_written__no_call_is_mixed_with_another)
{
    struct ch_record_call called;
    uint64_t n, n_read = 0;
    pthread_t writer;

    empty_record();
    ck_assert_int_eq(pthread_create(&writer, NULL, write_calls, NULL), 0);
    do {
        n = __atomic_load_n(&record.n, __ATOMIC_RELAXED);
        for (uint64_t i = n; i != 0 && i + 8 > n; i--) {
            const uint64_t oldest = i > CH_RECORD_ENTRIES ? i - CH_RECORD_ENTRIES + 1 : i;

            if (!ch_record_read(&record, oldest, &called)) continue;
            ck_assert(is_call(&called, oldest));
            n_read++;
        }
    } while (n < CALLS_AT_ONCE);
    ck_assert_int_eq(pthread_join(writer, NULL), 0);
    ck_assert_uint_gt(n_read, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base record");
    TCase *tcase = tcase_create("record");
    SRunner *runner = srunner_create(suite);
    int n_failed;

    tcase_add_test(tcase, read__any_call__the_last_ones_alone);
    tcase_add_test(tcase, find__a_team_and_a_number__gives_that_call);
    tcase_add_test(tcase, latest__a_call_that_runs__comes_before_later_ones);
    tcase_add_test(tcase, agrees__calls_that_differ_in_one_thing__as_all_pes_see_them);
    tcase_add_test(tcase, clashes__calls_that_cannot_be_one__and_no_others);
    tcase_add_test(tcase, pack__every_member__comes_back);
    tcase_add_test(tcase, unpack__any_word__is_a_call_that_has_a_text);
    tcase_add_test(tcase, find__the_latest_of_a_team__and_the_first_that_runs);
    tcase_add_test(tcase, read__a_wait__has_its_word_and_its_condition);
    tcase_add_test(tcase, before__a_call_without_a_time__began_between_those_that_have_one);
    tcase_add_test(tcase, full__each_call__has_the_times_of_its_beginning_and_its_end);
    tcase_add_test(tcase, read_access__any__the_last_ones_alone);
    tcase_add_test(tcase, read__while_it_is_written__no_call_is_mixed_with_another);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
