/* SPDX-License-Identifier: Apache-2.0 */
/* When multicast in hardware may be used: CHORUS_NVLS, and what sites set for other libraries.
 */
#include "base/limits.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

struct setting {
    const char *name, *value;
};

/* The environment of the case under test. */
static struct setting set[3];

static char *look_up(const char *name)
{
    for (size_t i = 0; i < sizeof(set) / sizeof(set[0]); i++)
        if (set[i].name != NULL && strcmp(set[i].name, name) == 0) return (char *)set[i].value;
    return NULL;
}

START_TEST(nvls__each_setting__permits_or_forbids)
{
    static const struct {
        struct setting set;
        bool forbids;
    } cases[] = {
        {{NULL, NULL}, false},
        {{"NCCL_NVLS_ENABLE", ""}, false},
        {{"NCCL_NVLS_ENABLE", "1"}, false},
        {{"NCCL_NVLS_ENABLE", "2"}, false},
        {{"NCCL_NVLS_ENABLE", "0"}, true},
        {{"NCCL_NVLS_ENABLE", "no"}, true},
        {{"NVSHMEM_DISABLE_NVLS", ""}, false},
        {{"NVSHMEM_DISABLE_NVLS", "0"}, false},
        {{"NVSHMEM_DISABLE_NVLS", "1"}, true},
        {{"NVSHMEM_DISABLE_NVLS", "true"}, true},
        {{"TORCH_SYMM_MEM_DISABLE_MULTICAST", "0"}, false},
        {{"TORCH_SYMM_MEM_DISABLE_MULTICAST", "1"}, true},
        {{"NCCL_DEBUG", "0"}, false},
    };
    const char *no;

    set[0] = cases[_i].set;
    no = ch_nvls_forbidding_variable(true, look_up);
    if (cases[_i].forbids)
        ck_assert_str_eq(no, cases[_i].set.name);
    else
        ck_assert_ptr_null(no);
    ck_assert_str_eq(ch_nvls_forbidding_variable(false, look_up), "CHORUS_NVLS");
}
END_TEST

/* Bit i of the case: site i forbids it. One is enough. */
START_TEST(nvls__every_mix_of_sites__one_that_forbids_is_enough)
{
    static const struct setting permits[] = {{"NCCL_NVLS_ENABLE", "1"},
                                             {"NVSHMEM_DISABLE_NVLS", "0"},
                                             {"TORCH_SYMM_MEM_DISABLE_MULTICAST", "0"}};
    static const char *const forbids[] = {"0", "1", "1"};

    for (int i = 0; i < 3; i++) {
        set[i] = permits[i];
        if (_i & 1 << i) set[i].value = forbids[i];
    }
    ck_assert_int_eq(ch_nvls_forbidding_variable(true, look_up) == NULL, _i == 0);
    ck_assert_str_eq(ch_nvls_forbidding_variable(false, look_up), "CHORUS_NVLS");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("nvls");
    TCase *tcase = tcase_create("all");
    SRunner *runner;
    int n_failed;

    tcase_add_loop_test(tcase, nvls__each_setting__permits_or_forbids, 0, 13);
    tcase_add_loop_test(tcase, nvls__every_mix_of_sites__one_that_forbids_is_enough, 0, 8);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
