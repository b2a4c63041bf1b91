/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of callers, over a CUDA that is a fake: what is queued, and what is said of failures.
 */
#include "cuda_fake.h"

#include "device/device.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct ch_device *device;

static void setup(void)
{
    struct ch_device_id id;

    cuda_fake_reset();
    ck_assert_int_eq(ch_device_find(0, 0, 1, &id), CHORUS_OK);
    ck_assert_int_eq(ch_device_open(&id, &device), CHORUS_OK);
}

static void teardown(void)
{
    ch_device_close(device);
    ck_assert_int_eq(cuda_fake.streams, 0);
}

static void expect_said(const char *text)
{
    ck_assert_msg(strstr(ch_error_message(), text) != NULL, "%s", ch_error_message());
}

START_TEST(stream__created__takes_stores_of_words)
{
    struct {
        uint32_t before, word, after;
    } narrow = {1, 2, 3};
    uint64_t wide = 0;
    void *stream = NULL;

    ck_assert_int_eq(ch_device_stream_create(device, false, &stream), CHORUS_OK);
    ck_assert_ptr_ne(stream, ch_device_stream(device));
    ck_assert_int_eq(ch_device_put_store(device, stream, &narrow.word, 0x80000007, 4),
                     CHORUS_OK);
    ck_assert_int_eq(ch_device_put_store(device, stream, &wide, UINT64_MAX - 1, 8), CHORUS_OK);
    ck_assert(narrow.before == 1 && narrow.word == 0x80000007 && narrow.after == 3);
    ck_assert_uint_eq(wide, UINT64_MAX - 1);
    ch_device_stream_destroy(device, stream);
    ch_device_stream_destroy(device, NULL);
}
END_TEST

START_TEST(engine_copy__any_bytes__are_all_copied)
{
    static const size_t lengths[] = {1,  2,    3,     4,     5,     7,     8,     9,
                                     63, 1021, 16384, 32767, 32768, 32769, 100000};
    static unsigned char from[100000], to[100000 + 2];
    void *stream = NULL;

    ck_assert_int_eq(ch_device_stream_create(device, true, &stream), CHORUS_OK);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        const size_t bytes = lengths[i];

        for (size_t k = 0; k < bytes; k++)
            from[k] = (unsigned char)(k * 7 + i + k / 256);
        memset(to, 0xee, sizeof(to));
        ck_assert_int_eq(ch_device_put_engine_copy(device, stream, to + 1, from, bytes),
                         CHORUS_OK);
        ck_assert_mem_eq(to + 1, from, bytes);
        ck_assert(to[0] == 0xee && to[bytes + 1] == 0xee);
    }
    ch_device_stream_destroy(device, stream);
}
END_TEST

START_TEST(stream__urgent__has_the_highest_priority)
{
    void *urgent = NULL, *other = NULL;
    int priority = 0;

    ck_assert_int_eq(ch_device_stream_create(device, true, &urgent), CHORUS_OK);
    ck_assert_int_eq(ch_device_stream_create(device, false, &other), CHORUS_OK);
    ck_assert_int_eq(cudaStreamGetPriority(urgent, &priority), cudaSuccess);
    ck_assert_int_eq(priority, FAKE_PRIORITY_HIGHEST);
    ck_assert_int_eq(cudaStreamGetPriority(other, &priority), cudaSuccess);
    ck_assert_int_eq(priority, 0);
    ch_device_stream_destroy(device, urgent);
    ch_device_stream_destroy(device, other);
}
END_TEST

START_TEST(stream__on_a_full_gpu__is_refused)
{
    void *stream = NULL;

    cuda_fake.full_device = 0;
    ck_assert_int_eq(ch_device_stream_create(device, false, &stream), CHORUS_ERR_NOMEM);
    expect_said("creating a stream on GPU 0");
    ck_assert_ptr_null(stream);
}
END_TEST

START_TEST(store__on_a_gpu_that_fails__is_a_failure)
{
    uint32_t word = 5;
    void *stream = NULL;

    ck_assert_int_eq(ch_device_stream_create(device, false, &stream), CHORUS_OK);
    cuda_fake.bad_memory = 0;
    ck_assert_int_eq(ch_device_put_store(device, stream, &word, 1, 4), CHORUS_ERR_SYSTEM);
    expect_said("a store of 4 bytes on GPU 0");
    ck_assert_uint_eq(word, 5);
    ch_device_stream_destroy(device, stream);
}
END_TEST

/* Work that is under way is no failure, and is not waited for. */
START_TEST(check__of_a_stream__finds_failures)
{
    uint64_t word = 0;
    void *stream = NULL;

    ck_assert_int_eq(ch_device_stream_create(device, false, &stream), CHORUS_OK);
    ck_assert_int_eq(ch_device_stream_check(device, stream), CHORUS_OK);
    cuda_fake_wait(stream, &word, 1);
    ck_assert_int_eq(ch_device_stream_check(device, stream), CHORUS_OK);
    cuda_fake.broken_stream = stream;
    ck_assert_int_eq(ch_device_stream_check(device, stream), CHORUS_ERR_SYSTEM);
    expect_said("queued work on GPU 0");
    ch_device_stream_destroy(device, stream);
}
END_TEST

START_TEST(address__of_a_gpu__is_known)
{
    int on_gpu = 0, registered = 0, other = 0;

    cuda_fake.on_gpu = &on_gpu;
    cuda_fake.registered = &registered;
    ck_assert(ch_device_is_on_gpu(device, &on_gpu));
    ck_assert(!ch_device_is_on_gpu(device, &registered));
    ck_assert(!ch_device_is_on_gpu(device, &other));
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("device");
    Suite *suite = suite_create("cuda_callers");
    SRunner *runner = srunner_create(suite);
    int failed;

    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, stream__created__takes_stores_of_words);
    tcase_add_test(tcase, engine_copy__any_bytes__are_all_copied);
    tcase_add_test(tcase, stream__urgent__has_the_highest_priority);
    tcase_add_test(tcase, stream__on_a_full_gpu__is_refused);
    tcase_add_test(tcase, store__on_a_gpu_that_fails__is_a_failure);
    tcase_add_test(tcase, check__of_a_stream__finds_failures);
    tcase_add_test(tcase, address__of_a_gpu__is_known);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
