/* SPDX-License-Identifier: Apache-2.0 */
/* Which calls get kernels for multicast in hardware. None is launched here. */
#include "coll/cuda/kernels.h"

#include <check.h>
#include <stdlib.h>

#define KERNEL(algo, T, OP) \
    ch_nvls_kernel(CH_KERNEL_ID_ch_##algo, CHORUS_TYPE_##T, CHORUS_OP_##OP)

START_TEST(nvls__what_the_switch_combines__has_a_kernel)
{
    ck_assert_ptr_nonnull(KERNEL(reduce_multicast_two, f32, sum));
    ck_assert_ptr_nonnull(KERNEL(reduce_multicast_two, f64, sum));
    ck_assert_ptr_nonnull(KERNEL(reduce_multicast_two, f16, sum));
    ck_assert_ptr_nonnull(KERNEL(reduce_multicast_two, i64, min));
    ck_assert_ptr_nonnull(KERNEL(reduce_multicast_one, u32, xor));
    ck_assert_ptr_nonnull(KERNEL(reducescatter_multicast, bf16, sum));
    ck_assert_ptr_ne(KERNEL(reducescatter_multicast, bf16, sum),
                     KERNEL(reducescatter_multicast, f16, sum));
}
END_TEST

START_TEST(nvls__moves__have_one_for_all_types)
{
    ck_assert_ptr_nonnull(KERNEL(broadcast_multicast, c128, sum));
    ck_assert_ptr_nonnull(KERNEL(fcollect_multicast, i8, sum));
    ck_assert_ptr_eq(KERNEL(fcollect_multicast, i8, sum), KERNEL(fcollect_multicast, f32, sum));
}
END_TEST

/* A sum's bits depend on the order, and by one shot each PE combines for itself; NaN wins here,
 * and not in a switch. */
START_TEST(nvls__what_it_would_not_do_alike__has_none)
{
    ck_assert_ptr_null(KERNEL(reduce_multicast_one, f32, sum));
    ck_assert_ptr_null(KERNEL(reduce_multicast_two, f32, prod));
    ck_assert_ptr_null(KERNEL(reduce_multicast_two, f32, min));
    ck_assert_ptr_null(KERNEL(reduce_multicast_two, bf16, max));
    ck_assert_ptr_null(KERNEL(reduce_multicast_two, i32, prod));
    ck_assert_ptr_null(KERNEL(reduce_multicast_two, i16, sum));
    ck_assert_ptr_null(KERNEL(reduce_multicast_two, u8, sum));
    ck_assert_ptr_null(KERNEL(reduce_two_shot, f32, sum));
    ck_assert_ptr_null(KERNEL(barrier_dissemination, u8, sum));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("coll_nvls");
    TCase *tcase = tcase_create("all");
    SRunner *runner;
    int n_failed;

    tcase_add_test(tcase, nvls__what_the_switch_combines__has_a_kernel);
    tcase_add_test(tcase, nvls__moves__have_one_for_all_types);
    tcase_add_test(tcase, nvls__what_it_would_not_do_alike__has_none);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
