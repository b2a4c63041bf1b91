/* SPDX-License-Identifier: Apache-2.0 */
/* How PEs that are processes share devices and get at each other's memory, over a CUDA that is
 * a fake: by fabric handles where every device makes them, else by descriptors. */
#include "cuda_fake.h"
#include "heap_pes.h"

#include "base/error.h"
#include "device/device.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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

/* As a program makes and maps it on the PE's device. */
static char *map_program(int device, size_t bytes)
{
    const int fd = memfd_create("program", MFD_CLOEXEC);
    char *memory;

    EXPECT(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
    memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    EXPECT(memory != MAP_FAILED);
    cuda_fake.program = memory;
    cuda_fake.program_bytes = bytes;
    cuda_fake.program_fd = fd;
    cuda_fake.program_is =
        (CUmemAllocationProp){.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                              .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}};
    return memory;
}

/* What each PE writes to the object of the next is in the program's memory of that one. */
static void expect_shared(struct ch_boot *boot, const struct ch_heap *heap, char *object,
                          const char *memory, size_t bytes)
{
    const uint32_t next = (boot->me + 1) % boot->n;
    const uint32_t before = (boot->me + boot->n - 1) % boot->n;
    char *const there =
        object - ch_heap_data_base(heap, boot->me) + ch_heap_data_base(heap, next);

    EXPECT(ch_heap_contains(heap, object, bytes));
    memset(there, (int)boot->me + 1, bytes);
    pes_meet(boot);
    EXPECT(memory[0] == (char)(before + 1) && memory[bytes - 1] == (char)(before + 1));
    pes_meet(boot);
}

static void adopt(struct ch_boot *boot)
{
    struct ch_heap *heap = NULL;
    void *block = NULL, *object = NULL, *again = NULL, *other = NULL;
    char *memory;

    EXPECT(open_heap(boot, &heap) == CHORUS_OK);
    EXPECT(ch_heap_alloc(heap, 64, 3 * M, &block) == CHORUS_OK);
    memory = map_program((int)boot->me, 6 * M);
    EXPECT(ch_heap_adopt(heap, memory, 6 * M, &object) == CHORUS_OK);
    expect_shared(boot, heap, object, memory, 6 * M);
    EXPECT(ch_heap_alloc(heap, 64, 9 * M, &other) == CHORUS_OK); /* the heap grows behind it */
    expect_shared(boot, heap, object, memory, 6 * M);
    ch_heap_disown(heap, object);
    pes_meet(boot);
    EXPECT(ch_heap_adopt(heap, memory, 6 * M, &again) == CHORUS_OK && again == object);
    memory[5] = 0;
    pes_meet(boot);
    expect_shared(boot, heap, again, memory, 6 * M);
    ch_heap_disown(heap, again);
    memory = map_program((int)boot->me, 2 * M);
    EXPECT(ch_heap_adopt(heap, memory, 2 * M, &again) == CHORUS_OK && again != object);
    expect_shared(boot, heap, again, memory, 2 * M);
    EXPECT(ch_heap_check(heap) == CHORUS_OK);
    ch_heap_close(heap);
    expect_nothing_left();
}

START_TEST(program__memory_of_the_driver__is_an_object)
{
    pes_run_processes(PES, adopt);
}
END_TEST

/* What is wrong with one PE's memory is said on all. */
static void refuse_to_adopt(struct ch_boot *boot)
{
    const int is_wrong = boot->me == 1;
    struct ch_heap *heap = NULL;
    void *object = NULL;
    char *memory, local[16];

    EXPECT(open_heap(boot, &heap) == CHORUS_OK);
    memory = map_program((int)boot->me, 6 * M);
    EXPECT(ch_heap_adopt(heap, is_wrong ? local : memory, 6 * M, &object) ==
           CHORUS_ERR_UNSUPPORTED);
    EXPECT(pes_message_has("PE 1: ") && pes_message_has("cudaMalloc's cannot"));
    EXPECT(ch_heap_adopt(heap, memory + (is_wrong ? 2 * M : 0), 6 * M, &object) ==
           CHORUS_ERR_ARG);
    EXPECT(
        pes_message_has("not all that was mapped there at once; expected the 6291456 bytes"));
    EXPECT(ch_heap_adopt(heap, memory, is_wrong ? 4 * M : 6 * M, &object) == CHORUS_ERR_ARG);
    EXPECT(pes_message_has("PE 1 requests 4194304"));
    EXPECT(ch_heap_adopt(heap, memory, 128 * M, &object) == CHORUS_ERR_NOMEM);
    cuda_fake.program_is.requestedHandleTypes = is_wrong ? 0 : 1;
    EXPECT(ch_heap_adopt(heap, memory, 6 * M, &object) == CHORUS_ERR_UNSUPPORTED);
    EXPECT(pes_message_has("was made to be shared by no file descriptor"));
    cuda_fake.program_is.requestedHandleTypes = 1;
    cuda_fake.program_is.location.id = is_wrong ? 0 : (int)boot->me;
    EXPECT(ch_heap_adopt(heap, memory, 6 * M, &object) == CHORUS_ERR_UNSUPPORTED);
    EXPECT(pes_message_has("memory of another device than GPU 1 (fake 1)"));
    EXPECT(object == NULL && ch_heap_check(heap) == CHORUS_OK);
    ch_heap_close(heap);
    expect_nothing_left();
}

START_TEST(program__memory_that_cannot_be_shared__is_refused_with_the_reason)
{
    pes_run_processes(PES, refuse_to_adopt);
}
END_TEST

/* A network that takes memory unless *self is not 0. */
static chorus_status attach(void *self, const struct ch_memory_part *part, uint64_t *key_out)
{
    (void)part;
    *key_out = 0;
    if (*(const int *)self == 0) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_SYSTEM, "attaching: the test says no");
}

static void detach(void *self, void *base)
{
    (void)self, (void)base;
}

static chorus_status add_key(void *self, uint32_t pe, const struct ch_memory_part *there,
                             uint64_t key)
{
    (void)self, (void)pe, (void)there, (void)key;
    return CHORUS_OK;
}

static void drop_key(void *self, uint32_t pe, const char *there)
{
    (void)self, (void)pe, (void)there;
}

/* At a new place, then at that of an earlier object. */
static void refuse_to_attach(struct ch_boot *boot)
{
    int refuses = 0;
    const struct ch_heap_registration registration = {attach, detach, add_key, drop_key,
                                                      &refuses};
    struct ch_heap *heap = NULL;
    void *object = NULL, *again = NULL, *block = NULL;
    char *memory;

    EXPECT(open_heap(boot, &heap) == CHORUS_OK);
    ch_heap_set_registration(heap, &registration);
    memory = map_program((int)boot->me, 6 * M);
    refuses = boot->me == 1;
    EXPECT(ch_heap_adopt(heap, memory, 6 * M, &object) == CHORUS_ERR_SYSTEM);
    EXPECT(pes_message_has("growth: PE 1: attaching: the test says no") && object == NULL);
    refuses = 0;
    EXPECT(ch_heap_adopt(heap, memory, 6 * M, &object) == CHORUS_OK);
    expect_shared(boot, heap, object, memory, 6 * M);
    ch_heap_disown(heap, object);
    refuses = boot->me == 1;
    EXPECT(ch_heap_adopt(heap, memory, 6 * M, &again) == CHORUS_ERR_SYSTEM && again == NULL);
    refuses = 0;
    EXPECT(ch_heap_adopt(heap, memory, 6 * M, &again) == CHORUS_OK && again == object);
    memset(memory, 0, 6 * M);
    pes_meet(boot);
    expect_shared(boot, heap, again, memory, 6 * M);
    EXPECT(ch_heap_alloc(heap, 64, 9 * M, &block) == CHORUS_OK);
    EXPECT(ch_heap_check(heap) == CHORUS_OK);
    ch_heap_close(heap);
    expect_nothing_left();
}

START_TEST(program__network_refuses_memory__may_be_tried_again)
{
    pes_run_processes(PES, refuse_to_attach);
}
END_TEST

/* As open_heap, with each PE on a host of its own. */
static void open_on_hosts(struct ch_boot *boot, struct ch_heap **heap_out)
{
    static const char *const hosts[] = {"a", "b", "c"};
    struct ch_options options = pes_options(64 * M);

    options.heap = CHORUS_HEAP_cuda;
    options.sync_max = 4 * M;
    options.node = hosts[boot->me];
    EXPECT(cudaSetDevice((int)boot->me) == cudaSuccess);
    EXPECT(ch_boot_locate(boot, &options) == CHORUS_OK);
    EXPECT(ch_heap_open(boot, &options, heap_out) == CHORUS_OK);
    EXPECT(!ch_heap_has_pool(*heap_out));
}

/* By fabric handles, as descriptors do not reach other hosts. */
static void adopt_on_hosts(struct ch_boot *boot)
{
    struct ch_heap *heap = NULL;
    void *object = NULL;
    char *memory;

    open_on_hosts(boot, &heap);
    memory = map_program((int)boot->me, 6 * M);
    EXPECT(ch_heap_adopt(heap, memory, 6 * M, &object) == CHORUS_ERR_UNSUPPORTED);
    EXPECT(pes_message_has("was made to be shared by no fabric handle, as peers of other hosts "
                           "need; ask cuMemCreate for CU_MEM_HANDLE_TYPE_FABRIC"));
    cuda_fake.program_is.requestedHandleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
    EXPECT(ch_heap_adopt(heap, memory, 6 * M, &object) == CHORUS_OK);
    expect_shared(boot, heap, object, memory, 6 * M);
    EXPECT(cuda_fake.descriptors == 0);
    ch_heap_close(heap);
    expect_nothing_left();
}

START_TEST(program__memory_for_peers_of_other_hosts__needs_fabric_handles)
{
    pes_run_processes(PES, adopt_on_hosts);
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
    EXPECT(pes_message_has(
        "heap on GPUs: PE 1: GPU 1 (fake 1) cannot import a peer's memory by fabric handle: "
        "not permitted; give all PEs one IMEX channel, or set CHORUS_FABRIC=0"));
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
    tcase_add_test(tcase, program__memory_of_the_driver__is_an_object);
    tcase_add_test(tcase, program__memory_that_cannot_be_shared__is_refused_with_the_reason);
    tcase_add_test(tcase, program__network_refuses_memory__may_be_tried_again);
    tcase_add_test(tcase, program__memory_for_peers_of_other_hosts__needs_fabric_handles);
    tcase_add_test(tcase, handles__one_device_refuses_them__are_descriptors);
    tcase_add_test(tcase, handles__one_device_takes_none__is_told_on_all);
    tcase_add_test(tcase, map__device_without_access__is_told_on_all);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
