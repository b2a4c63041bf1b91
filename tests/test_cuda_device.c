/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of a GPU for network adapters: dma-bufs, and the order of writes into it. */
#include "cuda_fake.h"

#include "base/option.h"
#include "device/device.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct ch_device_id id;
static struct ch_device *device;

static void expect_message(const char *part)
{
    ck_assert_msg(strstr(ch_error_message(), part) != NULL, "\"%s\" is not in \"%s\"", part,
                  ch_error_message());
}

static void find(void)
{
    ck_assert_msg(ch_device_find(1, 0, 1, &id) == CHORUS_OK, "%s", ch_error_message());
}

static void setup(void)
{
    cuda_fake_reset();
    find();
    ck_assert_msg(ch_device_open(&id, &device) == CHORUS_OK, "%s", ch_error_message());
}

static void teardown(void)
{
    ch_device_close(device);
}

/* --- dma-bufs --- */

START_TEST(dma_buf__any_range__is_made_of_its_pages)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), base = 64 * page;
    const struct {
        uintptr_t at, bytes, lo, hi;
    } cases[] = {{0, page, 0, page},
                 {0, 3 * page, 0, 3 * page},
                 {page + 904, 100, page, 2 * page},
                 {page - 1, 2, 0, 2 * page},
                 {page - 1, 1, 0, page}};
    uint64_t offset = 0;
    struct stat is;
    int fd = -1;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ck_assert_int_eq(ch_device_dma_buf(device, (void *)(base + cases[i].at), cases[i].bytes,
                                           &fd, &offset),
                         CHORUS_OK);
        ck_assert_uint_eq(cuda_fake.dma_buf_lo, base + cases[i].lo);
        ck_assert_uint_eq(cuda_fake.dma_buf_hi, base + cases[i].hi);
        ck_assert_uint_eq(offset, cases[i].at - cases[i].lo);
        ck_assert_int_eq(fstat(fd, &is), 0);
        ck_assert_uint_eq((size_t)is.st_size, cases[i].hi - cases[i].lo);
        (void)close(fd);
    }
}
END_TEST

static void expect_no_dma_buf(const char *why)
{
    uint64_t offset = 7;
    int fd = 7;

    ck_assert_int_eq(ch_device_dma_buf(device, (void *)0x10000, 4096, &fd, &offset),
                     CHORUS_ERR_UNSUPPORTED);
    expect_message("no dma-buf of 4096 bytes at 0x10000 on GPU 1 (fake 1), by which adapters "
                   "access its memory: ");
    expect_message(why);
    ck_assert(fd == 7 && offset == 7);
}

START_TEST(dma_buf__device_has_none__says_what_is_needed)
{
    cuda_fake.lacks = CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED;
    expect_no_dma_buf(
        "the test says no; this needs NVIDIA's open kernel modules, and Linux 5.12");
}
END_TEST

START_TEST(dma_buf__driver_refuses__says_why)
{
    cuda_fake.dma_buf_error = CUDA_ERROR_INVALID_VALUE;
    expect_no_dma_buf("the test says no; all of its pages must be mapped memory of this GPU");
    cuda_fake.dma_buf_error = CUDA_ERROR_NOT_SUPPORTED;
    expect_no_dma_buf(
        "the test says no; this needs NVIDIA's open kernel modules, and Linux 5.12");
}
END_TEST

START_TEST(create__memory__is_for_adapters_where_the_device_can)
{
    struct ch_pass pass;
    uint64_t handle = 0;

    ck_assert_int_eq(ch_device_create(device, 2 << 20, false, &handle, &pass), CHORUS_OK);
    ck_assert_int_eq(cuda_fake.rdma_capable, 1);
    ch_device_release(device, handle);
    (void)close(pass.fd);
    cuda_fake.lacks = CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED;
    ck_assert_int_eq(ch_device_create(device, 2 << 20, false, &handle, &pass), CHORUS_OK);
    ck_assert_int_eq(cuda_fake.rdma_capable, 1);
    ch_device_release(device, handle);
    (void)close(pass.fd);
}
END_TEST

/* --- the order of writes --- */

static const struct {
    int order, flush;
    enum ch_rdma_order is;
    bool has_flush;
} orders[] = {
    {CU_GPU_DIRECT_RDMA_WRITES_ORDERING_NONE, 0, CH_RDMA_ORDER_NONE, false},
    {CU_GPU_DIRECT_RDMA_WRITES_ORDERING_NONE, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST,
     CH_RDMA_ORDER_NONE, true},
    {CU_GPU_DIRECT_RDMA_WRITES_ORDERING_NONE, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_MEMOPS,
     CH_RDMA_ORDER_NONE, false},
    {CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST,
     CH_RDMA_ORDER_OWNER, true},
    {CU_GPU_DIRECT_RDMA_WRITES_ORDERING_ALL_DEVICES, 0, CH_RDMA_ORDER_ALL, false},
};

START_TEST(find__order_of_writes__is_what_the_driver_says)
{
    cuda_fake.rdma_order = orders[_i].order;
    cuda_fake.rdma_flush = orders[_i].flush;
    find();
    ck_assert_int_eq(id.rdma_order, orders[_i].is);
    ck_assert_int_eq(id.has_rdma_flush, orders[_i].has_flush);
}
END_TEST

START_TEST(flush__asks_the_driver_for_all_devices)
{
    ck_assert_int_eq(ch_device_flush_rdma(device), CHORUS_OK);
    ck_assert_int_eq(cuda_fake.rdma_flushes, 1);
    cuda_fake.rdma_flush = 0;
    ck_assert_int_eq(ch_device_flush_rdma(device), CHORUS_ERR_SYSTEM);
    expect_message("flushing writes of adapters");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cuda_device");
    TCase *tcase = tcase_create("cuda_device");
    SRunner *runner;
    int failed;

    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, dma_buf__any_range__is_made_of_its_pages);
    tcase_add_test(tcase, dma_buf__device_has_none__says_what_is_needed);
    tcase_add_test(tcase, dma_buf__driver_refuses__says_why);
    tcase_add_test(tcase, create__memory__is_for_adapters_where_the_device_can);
    tcase_add_loop_test(tcase, find__order_of_writes__is_what_the_driver_says, 0,
                        (int)(sizeof(orders) / sizeof(orders[0])));
    tcase_add_test(tcase, flush__asks_the_driver_for_all_devices);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
