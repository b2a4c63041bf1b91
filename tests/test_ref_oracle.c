/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels check by is what the one oracle says. */
#include "gpu/stream_oracle.h"
#include "ref/ref_coll.h"

#include "base/error.h"
#include "coll/algorithm.h"

#include <check.h>
#include <stdlib.h>

enum { PES_MAX = 4, COUNT = 37, BYTES = PES_MAX * COUNT * 8 };

static uint64_t element(const unsigned char *at, uint32_t width, uint64_t i)
{
    uint64_t bits = 0;

    memcpy(&bits, at + i * width, width); /* machines with GPUs are little-endian */
    return bits;
}

static void expect_same(const struct oracle_call *c, uint64_t seed)
{
    static unsigned char sources[PES_MAX][BYTES], want[BYTES];
    const void *all[PES_MAX];

    for (uint32_t pe = 0; pe < c->n; pe++) {
        for (uint64_t i = 0; i < oracle_source_count(c); i++) {
            const uint64_t bits = oracle_source(c, seed, pe, i);

            memcpy(&sources[pe][i * c->width], &bits, c->width);
        }
        all[pe] = sources[pe];
    }
    ref_expect(c->coll, c->type, c->op, c->n, c->root, c->count, all, c->me, want);
    for (uint64_t i = 0; i < oracle_dest_count(c); i++)
        ck_assert_msg(oracle_dest(c, seed, i) == element(want, c->width, i),
                      "%s of %s, %s, %u PEs, PE %u, element %llu: %llx, not %llx",
                      ch_coll_names[c->coll], ch_type_names[c->type], ch_op_names[c->op], c->n,
                      c->me, (unsigned long long)i, (unsigned long long)oracle_dest(c, seed, i),
                      (unsigned long long)element(want, c->width, i));
}

static void each_place(struct oracle_call c)
{
    for (c.n = 1; c.n <= PES_MAX; c.n++)
        for (c.me = 0; c.me < c.n; c.me++) {
            c.root = c.n - 1;
            expect_same(&c, 1000 * c.n + c.me);
        }
}

START_TEST(oracle__every_call_with_a_kernel__is_the_reference_s)
{
    for (int coll = CHORUS_COLL_broadcast; coll < CHORUS_COLL_COUNT; coll++)
        for (int type = 0; type < CHORUS_TYPE_COUNT; type++)
            for (int op = 0; op < CHORUS_OP_COUNT; op++) {
                const struct oracle_call c = {.coll = (chorus_coll)coll,
                                              .type = (chorus_type)type,
                                              .op = (chorus_op)op,
                                              .width = oracle_bytes_of((chorus_type)type),
                                              .count = COUNT};

                if (ch_coll_is_uneven(c.coll)) continue; /* of blocks of other lengths there */
                if (c.width > 8 || oracle_class_of(c.type) == ORACLE_COMPLEX) continue;
                if (oracle_reduces(c.coll) && !ch_op_takes(c.op, c.type)) continue;
                each_place(c);
            }
}
END_TEST

/* Of block 1 of the dest of PE 2 of 4, or of its only block; PE 3 is the root. */
static void expect_origin(chorus_coll coll, uint32_t lo, uint32_t hi, size_t first)
{
    const struct ref_origin o = ref_origin_of(coll, 4, 3, 2, 10, ref_is_of_each(coll) ? 1 : 0);

    ck_assert_msg(o.lo == lo && o.hi == hi && o.first == first, "%s: PEs %u to %u, from %zu on",
                  ch_coll_names[coll], o.lo, o.hi, o.first);
}

/* The reference, and what compares with it, have this in common. */
START_TEST(origin__of_each_pattern__is_what_the_standard_says)
{
    expect_origin(CHORUS_COLL_broadcast, 3, 4, 0);
    expect_origin(CHORUS_COLL_scatter, 3, 4, 20);
    expect_origin(CHORUS_COLL_fcollect, 1, 2, 0);
    expect_origin(CHORUS_COLL_alltoall, 1, 2, 20);
    expect_origin(CHORUS_COLL_reduce, 0, 4, 0);
    expect_origin(CHORUS_COLL_reducescatter, 0, 4, 20);
    expect_origin(CHORUS_COLL_inscan, 0, 3, 0);
    expect_origin(CHORUS_COLL_exscan, 0, 2, 0);
}
END_TEST

/* Data of one round is not that of the next, nor of another PE. */
START_TEST(oracle__seed_pe_and_place__each_change_the_data)
{
    const struct oracle_call c = {
        .coll = CHORUS_COLL_fcollect, .type = CHORUS_TYPE_u64, .n = 2, .width = 8, .count = 2};

    ck_assert(oracle_source(&c, 1, 0, 0) != oracle_source(&c, 2, 0, 0));
    ck_assert(oracle_source(&c, 1, 0, 0) != oracle_source(&c, 1, 1, 0));
    ck_assert(oracle_source(&c, 1, 0, 0) != oracle_source(&c, 1, 0, 1));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ref_oracle");
    TCase *tcase = tcase_create("all");
    SRunner *runner = srunner_create(suite);
    int n_failed;

    tcase_add_test(tcase, oracle__every_call_with_a_kernel__is_the_reference_s);
    tcase_add_test(tcase, oracle__seed_pe_and_place__each_change_the_data);
    tcase_add_test(tcase, origin__of_each_pattern__is_what_the_standard_says);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
