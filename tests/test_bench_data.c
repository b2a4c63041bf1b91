/* SPDX-License-Identifier: Apache-2.0 */
/* The sweep's data against the oracle: what it fills gives what it expects, and its check finds
 * what was done wrong. */
#include "bench/data.h"
#include "bench/terms.h"
#include "ref/ref_coll.h"
#include "ref/ref_origin.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { PES = 8, COUNT = 37, ELEMENT_MAX = 16, BYTES = PES * COUNT * ELEMENT_MAX };

static const uint32_t team_sizes[] = {1, 2, 3, 5, PES};

static max_align_t sources[PES][BYTES / sizeof(max_align_t)], dest[BYTES / sizeof(max_align_t)];

static bool op_takes(chorus_op op, chorus_type type)
{
    if (!ch_terms_have(op)) return false;
#define X(name, ctype, kind) \
    if (type == (kind)) return true;
#define Y(OP, NAMES)                       \
    if (op == CHORUS_OP##OP) {             \
        NAMES(CHORUS_ROW, X) return false; \
    }
    CHORUS_REDUCE_LIST(Y)
#undef Y
#undef X
    return false;
}

/* Every work there is, one a number; false for a number that is none. */
static bool work_of(int number, struct ch_work *work_out)
{
    work_out->op = (chorus_op)(number % CHORUS_OP_COUNT);
    work_out->type = (chorus_type)(number / CHORUS_OP_COUNT % CHORUS_TYPE_COUNT);
    work_out->coll = (enum ch_sweep_coll)(number / CHORUS_OP_COUNT / CHORUS_TYPE_COUNT);
    work_out->count = COUNT;
    work_out->algo = NULL;
    if (!ch_work_moves(work_out)) return false;
    if (ch_work_scans(work_out) && work_out->op != CHORUS_OP_sum) return false;
    return ch_work_reduces(work_out) ? op_takes(work_out->op, work_out->type)
                                     : work_out->op == CHORUS_OP_sum;
}

/* The sweep's blocks are all alike, unlike the oracle's of these two. */
static chorus_coll coll_of(const struct ch_work *work)
{
    if (work->coll == CH_SWEEP_collect) return CHORUS_COLL_fcollect;
    if (work->coll == CH_SWEEP_alltoallv) return CHORUS_COLL_alltoall;
    return (chorus_coll)work->coll;
}

enum { WORKS = CHORUS_COLL_COUNT * CHORUS_TYPE_COUNT * CHORUS_OP_COUNT };

static struct ch_data data_of(const struct ch_work *work, uint32_t pes, uint32_t me,
                              uint64_t seed)
{
    const struct ch_data data = {work, pes, me, pes / 2, seed};

    return data;
}

static void fill_all(const struct ch_work *work, uint32_t pes, uint64_t seed)
{
    for (uint32_t pe = 0; pe < pes; pe++) {
        const struct ch_data data = data_of(work, pes, pe, seed);

        memset(sources[pe], 0x55, sizeof(sources[pe]));
        ch_data_fill(&data, sources[pe]);
    }
}

/* What the oracle makes of the sources on PE `me`; PE p's is sources[order[p]]. */
static void collect(const struct ch_work *work, uint32_t pes, uint32_t me,
                    const uint32_t order[])
{
    const void *in_order[PES];

    for (uint32_t pe = 0; pe < pes; pe++)
        in_order[pe] = sources[order[pe]];
    ref_expect(coll_of(work), work->type, work->op, pes, pes / 2, work->count, in_order, me,
               dest);
}

static const uint32_t upwards[PES] = {0, 1, 2, 3, 4, 5, 6, 7};

START_TEST(data__right_result_on_every_pe__has_nothing_wrong)
{
    struct ch_work work;

    if (!work_of(_i, &work)) return;
    for (size_t k = 0; k < sizeof(team_sizes) / sizeof(team_sizes[0]); k++) {
        const uint32_t pes = team_sizes[k];

        fill_all(&work, pes, 99);
        for (uint32_t me = 0; me < pes; me++) {
            const struct ch_data data = data_of(&work, pes, me, 99);

            collect(&work, pes, me, upwards);
            ck_assert_uint_eq(ch_data_wrong(&data, dest), 0);
        }
    }
}
END_TEST

/* The oracle combines in the order it is given: exact terms give the same bits in each. */
START_TEST(data__reduction_in_another_order__has_nothing_wrong)
{
    const uint32_t order[PES] = {3, 0, 4, 2, 1};
    struct ch_work work;

    if (!work_of(_i, &work) || work.coll != CH_SWEEP_reduce) return;
    fill_all(&work, 5, 7);
    for (uint32_t me = 0; me < 5; me++) {
        const struct ch_data data = data_of(&work, 5, me, 7);

        collect(&work, 5, me, order);
        ck_assert_uint_eq(ch_data_wrong(&data, dest), 0);
    }
}
END_TEST

START_TEST(data__one_element_changed__is_one_wrong)
{
    struct ch_work work;

    if (!work_of(_i, &work)) return;
    fill_all(&work, 3, 1);
    for (size_t at = 0; at < ch_work_dest_bytes(&work, 3); at += 13) {
        const struct ch_data data = data_of(&work, 3, 2, 1);
        const size_t element = ch_sweep_type_bytes[work.type];
        /* Bytes 10 to 15 of an f80 hold no value; a check of sums must not look there. */
        const size_t byte = work.type == CHORUS_TYPE_f80 ? at / element * element : at;

        collect(&work, 3, 2, upwards);
        ((unsigned char *)dest)[byte] ^= 0x10;
        ck_assert_uint_eq(ch_data_wrong(&data, dest), 1);
    }
}
END_TEST

START_TEST(data__nothing_written__is_all_wrong_but_for_chance)
{
    struct ch_work work;

    if (!work_of(_i, &work)) return;
    for (uint32_t me = 0; me < 3; me++) {
        const struct ch_data data = data_of(&work, 3, me, 4);
        const uint64_t elements = ch_work_dest_bytes(&work, 3) / ch_sweep_type_bytes[work.type];

        ch_data_poison(&data, dest);
        ck_assert_uint_ge(ch_data_wrong(&data, dest), elements - elements / 8);
    }
}
END_TEST

START_TEST(data__result_of_the_call_before__is_wrong)
{
    struct ch_work work;

    if (!work_of(_i, &work)) return;
    fill_all(&work, 3, 10);
    for (uint32_t me = work.coll == CH_SWEEP_exscan; me < 3;
         me++) { /* whose PE 0 always gets 0 */
        const struct ch_data data = data_of(&work, 3, me, 11);

        collect(&work, 3, me, upwards);
        ck_assert_uint_gt(ch_data_wrong(&data, dest), 0);
    }
}
END_TEST

/* Has this PE's dest data of PE 2, of 3 PEs? */
static bool has_last(const struct ch_work *work, uint32_t me)
{
    const chorus_coll coll = coll_of(work);
    const uint32_t block = ref_is_of_each(coll) ? 2 : 0;

    return ref_origin_of(coll, 3, 1, me, work->count, block).hi == 3;
}

/* PE 1 counts twice and PE 2 not at all: the commonest slip of a reduction. */
START_TEST(data__one_pe_in_place_of_another__is_wrong)
{
    const uint32_t order[PES] = {0, 1, 1};
    struct ch_work work;

    if (!work_of(_i, &work)) return;
    fill_all(&work, 3, 21);
    for (uint32_t me = 0; me < 3; me++) {
        const struct ch_data data = data_of(&work, 3, me, 21);

        if (!has_last(&work, me)) continue;
        collect(&work, 3, me, order);
        ck_assert_uint_gt(ch_data_wrong(&data, dest), 0);
    }
}
END_TEST

/* Operators that a table of kernels could confuse give different results. */
START_TEST(data__another_operator__is_wrong)
{
    struct ch_work work, other;

    if (!work_of(_i, &work) || !ch_work_reduces(&work)) return;
    if (work.coll == CH_SWEEP_exscan) return; /* of one PE for PE 1 */
    fill_all(&work, 3, 33);
    other = work;
    for (unsigned op = 0; op < CHORUS_OP_COUNT; op++) {
        const struct ch_data data = data_of(&work, 3, 1, 33);

        other.op = (chorus_op)op;
        if (other.op == work.op || !op_takes(other.op, work.type)) continue;
        collect(&other, 3, 1, upwards);
        ck_assert_uint_gt(ch_data_wrong(&data, dest), 0);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bench");
    TCase *tcase = tcase_create("data");
    SRunner *runner;
    int failed;

    tcase_add_loop_test(tcase, data__right_result_on_every_pe__has_nothing_wrong, 0, WORKS);
    tcase_add_loop_test(tcase, data__reduction_in_another_order__has_nothing_wrong, 0, WORKS);
    tcase_add_loop_test(tcase, data__one_element_changed__is_one_wrong, 0, WORKS);
    tcase_add_loop_test(tcase, data__nothing_written__is_all_wrong_but_for_chance, 0, WORKS);
    tcase_add_loop_test(tcase, data__result_of_the_call_before__is_wrong, 0, WORKS);
    tcase_add_loop_test(tcase, data__one_pe_in_place_of_another__is_wrong, 0, WORKS);
    tcase_add_loop_test(tcase, data__another_operator__is_wrong, 0, WORKS);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_NOFORK); /* thousands of short cases */
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
