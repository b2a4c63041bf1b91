/* SPDX-License-Identifier: Apache-2.0 */
/* How PEs that are processes share devices and get at each other's memory, over a CUDA that is
 * a fake: by fabric handles where every device makes them, else by descriptors. */
#include "cuda_fake.h"
#include "heap_pes.h"

#include "base/log.h"
#include "device/device.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define M ((size_t)1 << 20)

enum { PES = 3, LOG_BYTES = 8192 };

static char said[LOG_BYTES]; /* by this process */

static void keep_line(enum ch_log_level level, const char *line)
{
    (void)level;
    (void)strncat(said, line, sizeof(said) - strlen(said) - 1);
}

static void setup(void)
{
    cuda_fake_reset();
    cuda_fake.n_devices = PES;
    ch_log_configure(CH_LOG_DEBUG, keep_line);
}

static chorus_status open_heap(struct ch_boot *boot, struct ch_heap **heap_out)
{
    struct ch_options options = pes_options(64 * M);

    options.heap = CHORUS_HEAP_cuda;
    options.sync_max = 4 * M;
    return ch_heap_open(boot, &options, heap_out);
}

static void expect_nothing_left(void)
{
    EXPECT(cuda_fake.handles == 0 && cuda_fake.mappings == 0);
    EXPECT(cuda_fake.ranges == 0 && cuda_fake.pinned == 0);
}

/* What each PE writes to the next is what that one finds. */
static void share(struct ch_boot *boot)
{
    const uint32_t next = (boot->me + 1) % boot->n;
    struct ch_heap *heap = NULL;
    void *block = NULL;
    char *there;

    EXPECT(open_heap(boot, &heap) == CHORUS_OK);
    EXPECT(ch_heap_alloc(heap, 64, 7 * M, &block) == CHORUS_OK);
    there = (char *)block - ch_heap_data_base(heap, boot->me) + ch_heap_data_base(heap, next);
    memset(there, (int)boot->me + 1, 7 * M);
    pes_meet(boot);
    EXPECT(((char *)block)[7 * M - 1] == (char)((boot->me + boot->n - 1) % boot->n + 1));
    pes_meet(boot);
    ch_heap_close(heap);
    expect_nothing_left();
}

/* The trial's is one more than the two chunks'. */
static void share_by_fabric(struct ch_boot *boot)
{
    share(boot);
    EXPECT(cuda_fake.fabric_handles == 3 && cuda_fake.descriptors == 0);
    EXPECT(strstr(said, "memory of GPUs is shared by fabric handles") != NULL);
}

static void share_by_descriptors(struct ch_boot *boot)
{
    share(boot);
    EXPECT(cuda_fake.descriptors == 2);
}

static void share_devices(struct ch_boot *boot)
{
    static const int want[] = {0, 0, 0, 1, 1};
    struct ch_heap *heap = NULL;

    EXPECT(open_heap(boot, &heap) == CHORUS_OK);
    EXPECT(ch_device_id_of(ch_heap_device(heap))->ordinal == want[boot->me]);
    ch_heap_close(heap);
    share(boot);
}

START_TEST(devices__fewer_than_pes__neighbours_share)
{
    cuda_fake.n_devices = 2;
    pes_run_processes(5, share_devices);
}
END_TEST

START_TEST(handles__all_devices_make_fabric_handles__are_these)
{
    pes_run_processes(PES, share_by_fabric);
}
END_TEST

static void lack_attribute(struct ch_boot *boot)
{
    if (boot->me == 1) cuda_fake.lacks = CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED;
    share_by_descriptors(boot);
    EXPECT(strstr(said, "shared by descriptors: PE 1 has no fabric handles") != NULL);
    if (boot->me == 1)
        EXPECT(strstr(said, "no fabric handles: GPU 1 (fake 1) has none") != NULL);
}

START_TEST(handles__one_device_does_not_claim_them__are_descriptors)
{
    pes_run_processes(PES, lack_attribute);
}
END_TEST

static void refuse_to_create(struct ch_boot *boot)
{
    if (boot->me == 2) cuda_fake.fabric_error = CUDA_ERROR_NOT_PERMITTED;
    share_by_descriptors(boot);
    EXPECT(strstr(said, "shared by descriptors: PE 2 has no fabric handles") != NULL);
    EXPECT((strstr(said, "an allocation on GPU 2 (fake 2) is refused: not permitted; is there "
                         "an IMEX channel?") != NULL) == (boot->me == 2));
}

/* As on a machine whose devices could, but where nobody made a channel. */
START_TEST(handles__one_device_refuses_them__are_descriptors)
{
    pes_run_processes(PES, refuse_to_create);
}
END_TEST

static void refuse_to_import(struct ch_boot *boot)
{
    struct ch_heap *heap = NULL;

    if (boot->me == 1) cuda_fake.import_error = CUDA_ERROR_NOT_PERMITTED;
    EXPECT(open_heap(boot, &heap) == CHORUS_ERR_SYSTEM);
    EXPECT(pes_message_has("heap on GPUs: PE 1: GPU 1 (fake 1) cannot take a peer's memory by "
                           "fabric handle: not permitted; give all PEs one IMEX channel, or "
                           "set CHORUS_FABRIC=0"));
    expect_nothing_left();
    ck_assert_int_eq(setenv("CHORUS_FABRIC", "0", 1), 0);
    share_by_descriptors(boot); /* as the message says */
}

START_TEST(handles__one_device_takes_none__is_told_on_all)
{
    pes_run_processes(PES, refuse_to_import);
}
END_TEST

static void lack_access(struct ch_boot *boot)
{
    struct ch_heap *heap = NULL;

    if (boot->me == 1) cuda_fake.access_error = CUDA_ERROR_INVALID_DEVICE;
    EXPECT(open_heap(boot, &heap) == CHORUS_ERR_SYSTEM);
    EXPECT(pes_message_has("heap on GPUs: PE 1: access to mapped memory"));
    EXPECT(pes_message_has("of 4194304 bytes on GPU 1 (fake 1) failed: the test says no"));
    expect_nothing_left();
    cuda_fake.access_error = CUDA_SUCCESS;
    share(boot);
}

/* A peer's device that the process does not see cannot be asked whether it can be reached. */
START_TEST(map__device_without_access__is_told_on_all)
{
    pes_run_processes(PES, lack_access);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cuda_heap");
    TCase *tcase = tcase_create("all");
    SRunner *runner = srunner_create(suite);
    int n_failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, devices__fewer_than_pes__neighbours_share);
    tcase_add_test(tcase, handles__all_devices_make_fabric_handles__are_these);
    tcase_add_test(tcase, handles__one_device_does_not_claim_them__are_descriptors);
    tcase_add_test(tcase, handles__one_device_refuses_them__are_descriptors);
    tcase_add_test(tcase, handles__one_device_takes_none__is_told_on_all);
    tcase_add_test(tcase, map__device_without_access__is_told_on_all);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
