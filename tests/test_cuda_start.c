/* SPDX-License-Identifier: Apache-2.0 */
/* A job's start where CUDA, which is a fake, has something missing; which GPU a PE gets; the
 * end of memory. Every refusal has a code and says what to do. */
#include "chorus/chorusx.h"
#include "cuda_fake.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* In place of malloc of the C library for all that is linked here; the next allocation of so
 * many bytes fails. */
static size_t refused_bytes = SIZE_MAX;
void *real_malloc(size_t bytes) __asm__("__real_malloc");
void *test_malloc(size_t bytes) __asm__("__wrap_malloc");

void *test_malloc(size_t bytes)
{
    if (bytes != refused_bytes) return real_malloc(bytes);
    refused_bytes = SIZE_MAX;
    return NULL;
}

static void ask(const char *name, const char *value)
{
    ck_assert_int_eq(setenv(name, value, 1), 0);
}

static void setup(void)
{
    cuda_fake_reset();
    ask("CHORUS_HEAP", "cuda");
    ask("CHORUS_SYNC_MAX", "16M");
    ask("CHORUS_CTAS", "2");
    ask("CHORUS_LOG", "none");
}

static void expect_says(const char *part)
{
    ck_assert_msg(strstr(chorusx_last_error(), part) != NULL, "\"%s\" is not in \"%s\"", part,
                  chorusx_last_error());
}

static void expect_nothing_left(void)
{
    ck_assert_int_eq(cuda_fake.streams, 0);
    ck_assert_int_eq(cuda_fake.events, 0);
    ck_assert_int_eq(cuda_fake.handles, 0);
    ck_assert_int_eq(cuda_fake.mappings, 0);
    ck_assert_int_eq(cuda_fake.ranges, 0);
    ck_assert_int_eq(cuda_fake.pinned, 0);
}

/* A heap on GPUs is refused, nothing is left, and with auto the job runs on the host. */
static void expect_refused(int code, const char *says)
{
    chorusx_heap_info_t info;

    ck_assert_int_eq(chorus_init(), code);
    expect_says("heap on GPUs: PE 0: ");
    expect_says(says);
    expect_nothing_left();
    ask("CHORUS_HEAP", "auto");
    ck_assert_int_eq(chorus_init(), CHORUS_OK);
    ck_assert_int_eq(chorusx_heap_info(&info), CHORUS_OK);
    ck_assert_int_eq(info.heap, CHORUS_HEAP_host);
    chorus_finalize();
    expect_nothing_left();
}

START_TEST(init__no_driver__is_refused)
{
    cuda_fake.start_error = cudaErrorInsufficientDriver;
    expect_refused(CHORUS_ERR_SYSTEM, "no driver for GPUs here: libcuda.so.1 is absent");
}
END_TEST

START_TEST(init__no_device__is_refused)
{
    cuda_fake.start_error = cudaErrorNoDevice;
    expect_refused(CHORUS_ERR_SYSTEM, "no GPU here, or CUDA_VISIBLE_DEVICES hides it");
}
END_TEST

START_TEST(init__no_device_without_an_error__is_refused)
{
    cuda_fake.n_devices = 0;
    expect_refused(CHORUS_ERR_SYSTEM, "no GPU here, or CUDA_VISIBLE_DEVICES hides it");
}
END_TEST

START_TEST(init__driver_does_not_start__is_refused)
{
    cuda_fake.start_error = cudaErrorSystemDriverMismatch;
    expect_refused(CHORUS_ERR_SYSTEM, "the driver for GPUs does not start: the test says no");
}
END_TEST

START_TEST(init__driver_lacks_a_call__is_refused)
{
    cuda_fake.lacks_call = "cuMemCreate";
    expect_refused(CHORUS_ERR_SYSTEM, "the driver for GPUs lacks cuMemCreate as of CUDA 10.2");
}
END_TEST

/* The library's kernels are for other GPUs than this one. */
START_TEST(init__no_kernels_for_the_device__is_refused)
{
    cuda_fake.major = 7;
    cuda_fake.image_error = cudaErrorNoKernelImageForDevice;
    expect_refused(CHORUS_ERR_UNSUPPORTED,
                   "GPU 0 (fake 0, sm_70) does not run this library's kernels, which are for ");
}
END_TEST

static const struct {
    CUdevice_attribute attribute;
    const char *says;
} abilities[] = {
    {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
     "lacks virtual memory management"},
    {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
     "lacks memory shared by file descriptors"},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, "lacks 64-bit stream writes"},
};

START_TEST(init__device_lacks_an_ability__is_refused)
{
    cuda_fake.lacks = abilities[_i].attribute;
    expect_refused(CHORUS_ERR_UNSUPPORTED, abilities[_i].says);
}
END_TEST

START_TEST(init__gpu_is_full__is_refused)
{
    cuda_fake.is_full = 1;
    expect_refused(CHORUS_ERR_NOMEM, "bytes on GPU 0 (fake 0) failed: out of memory");
}
END_TEST

START_TEST(init__no_addresses__is_refused)
{
    cuda_fake.has_no_addresses = 1;
    expect_refused(CHORUS_ERR_NOMEM, "reserving addresses (lower CHORUS_HEAP_MAX) of ");
}
END_TEST

static void do_nothing(void *arg)
{
    (void)arg;
}

START_TEST(run__devices_without_peer_access__are_beside)
{
    cuda_fake.has_no_peer_access = 1;
    ck_assert_int_eq(chorusx_run_threads(2, do_nothing, NULL), CHORUS_OK);
    expect_nothing_left();
}
END_TEST

/* As drivers that do not bear it would crash. */
START_TEST(run__threads__map_and_unmap_one_at_a_time)
{
    cuda_fake.n_devices = 3;
    for (int job = 0; job < 5; job++)
        ck_assert_int_eq(chorusx_run_threads(3, do_nothing, NULL), CHORUS_OK);
    ck_assert_int_eq(cuda_fake.mapping_at_once, 1);
    expect_nothing_left();
}
END_TEST

static void expect_host_heap(void *arg)
{
    chorusx_heap_info_t info;

    ck_assert_int_eq(chorusx_heap_info(&info), CHORUS_OK);
    if (info.heap != CHORUS_HEAP_host) *(int *)arg = 1;
}

/* Their kernels might wait for each other. */
START_TEST(run__fewer_devices_than_threads__is_refused)
{
    int is_elsewhere = 0;

    ck_assert_int_eq(chorusx_run_threads(3, do_nothing, NULL), CHORUS_ERR_UNSUPPORTED);
    expect_says(
        "PEs 0 and 1 are threads of one process and use the same GPU (fake 0 at 0000:10:00.0)");
    expect_says(
        "give each its own GPU, start them as processes (chorusrun), or set CHORUS_HEAP=host");
    expect_nothing_left();
    ask("CHORUS_HEAP", "auto");
    ck_assert_int_eq(chorusx_run_threads(3, expect_host_heap, &is_elsewhere), CHORUS_OK);
    ck_assert_int_eq(is_elsewhere, 0);
    expect_nothing_left();
}
END_TEST

/* Once the heap is there: the others are told at once, and do not wait in vain. */
START_TEST(run__one_gpu_fails_late__is_told_on_all)
{
    cuda_fake.bad_device = 1;
    ask("CHORUS_TIMEOUT", "0"); /* for ever */
    ck_assert_int_eq(chorusx_run_threads(2, do_nothing, NULL), CHORUS_ERR_NOMEM);
    expect_says("pinning memory on GPU 1 (fake 1) failed");
    expect_nothing_left();
}
END_TEST

/* Kernels of the others wait for the PE whose own does not run: it ends them. */
START_TEST(run__trial_of_lines_fails_on_one_gpu__is_told_on_all)
{
    cuda_fake.bad_trial = 1;
    cuda_fake.is_trial_launched = _i;
    cuda_fake.n_devices = 3;
    ask("CHORUS_TIMEOUT", "0"); /* for ever */
    ck_assert_int_eq(chorusx_run_threads(3, do_nothing, NULL), CHORUS_ERR_SYSTEM);
    expect_says("PE 1: testing lines between GPUs on GPU 1 (fake 1) failed: the test says no");
    expect_nothing_left();
    cuda_fake.bad_trial = -1;
    ck_assert_int_eq(chorusx_run_threads(3, do_nothing, NULL), CHORUS_OK);
    expect_nothing_left();
}
END_TEST

/* What a call gives that is to use lines, on each PE. */
static void force_lines(void *codes)
{
    chorusx_call call = {.coll = CHORUS_COLL_fcollect,
                         .team = CHORUS_TEAM_WORLD,
                         .dest = chorus_malloc(256),
                         .source = chorus_malloc(64),
                         .count = 16,
                         .type = CHORUS_TYPE_i32,
                         .algo = "all_push:ll128"};

    ((int *)codes)[chorus_my_pe()] = chorusx_collective(&call, NULL);
}

/* Not between GPUs without NVLink, even if the trial finds all of them whole. */
START_TEST(run__lines__take_nvlink)
{
    int codes[2];

    for (int with = 0; with < 2; with++) {
        cuda_fake.is_without_nvlink = !with;
        ck_assert_int_eq(chorusx_run_threads(2, force_lines, codes), CHORUS_OK);
        ck_assert_int_eq(codes[0], with ? CHORUS_OK : CHORUS_ERR_UNSUPPORTED);
        ck_assert_int_eq(codes[1], codes[0]);
    }
    expect_nothing_left();
}
END_TEST

/* GPU 1 fails at its first operation on memory, then at its second, until a start needs no
 * more of them: whatever they were for, no PE waits for the one whose GPU it is. */
START_TEST(run__memory_of_one_gpu_fails_at_some_time__ends_for_all)
{
    int status = CHORUS_ERR_SYSTEM, n_failures = 0;

    ask("CHORUS_TIMEOUT", "0"); /* for ever */
    cuda_fake.n_devices = 3;
    cuda_fake.bad_memory = 1;
    for (int n = 0; status != CHORUS_OK; n++) {
        cuda_fake.sound_operations = n;
        status = chorusx_run_threads(3, do_nothing, NULL);
        if (cuda_fake.sound_operations < 0) n_failures++;
        expect_nothing_left();
    }
    ck_assert_int_gt(n_failures, 0);
}
END_TEST

/* --- which GPU ---------------------------------------------------------------------------- */
static int device_after(unsigned flags, const chorusx_init_attr_t *attr)
{
    chorusx_heap_info_t info;
    int current = -1;

    ck_assert_msg(chorusx_init_attr(flags, attr) == CHORUS_OK, "%s", chorusx_last_error());
    ck_assert_int_eq(chorusx_heap_info(&info), CHORUS_OK);
    ck_assert_int_eq(info.heap, CHORUS_HEAP_cuda);
    ck_assert_int_eq(cudaGetDevice(&current), cudaSuccess);
    ck_assert_int_eq(current, info.device);
    chorus_finalize();
    expect_nothing_left();
    return info.device;
}

START_TEST(device__program_set_one__is_that)
{
    ck_assert_int_eq(cudaSetDevice(1), cudaSuccess);
    ck_assert_int_eq(device_after(0, NULL), 1);
}
END_TEST

START_TEST(device__attribute__wins_over_the_current_one)
{
    const chorusx_init_attr_t attr = {.device = 0};

    ck_assert_int_eq(cudaSetDevice(1), cudaSuccess);
    ck_assert_int_eq(device_after(CHORUSX_INIT_DEVICE, &attr), 0);
}
END_TEST

START_TEST(device__that_is_not_there__is_refused)
{
    const chorusx_init_attr_t attr = {.device = 5};

    ck_assert_int_eq(chorusx_init_attr(CHORUSX_INIT_DEVICE, &attr), CHORUS_ERR_ARG);
    expect_says("GPU 5 was asked for; this process sees 2, numbered from 0");
    expect_nothing_left();
}
END_TEST

static int devices[8]; /* of the PEs */

static void note_device(void *arg)
{
    chorusx_heap_info_t info;

    (void)arg;
    if (chorusx_heap_info(&info) == CHORUS_OK) devices[chorus_my_pe()] = info.device;
}

static void expect_devices(int n_pes, const int *want)
{
    memset(devices, -1, sizeof(devices));
    ck_assert_msg(chorusx_run_threads(n_pes, note_device, NULL) == CHORUS_OK, "%s",
                  chorusx_last_error());
    for (int pe = 0; pe < n_pes; pe++)
        ck_assert_msg(devices[pe] == want[pe], "PE %d has GPU %d, not %d", pe, devices[pe],
                      want[pe]);
    expect_nothing_left();
}

/* Nobody knows what they are near: by address. */
START_TEST(devices__enough_for_all__one_each_by_address)
{
    static const int want[] = {2, 0, 1};

    cuda_fake.n_devices = 3;
    (void)strcpy(cuda_fake.bus[0], "0000:20:00.0");
    (void)strcpy(cuda_fake.bus[1], "0000:30:00.0");
    (void)strcpy(cuda_fake.bus[2], "0000:10:00.0");
    expect_devices(3, want);
}
END_TEST

/* A machine of two packages: the devices of the first have the higher addresses. */
START_TEST(devices__near_different_cores__are_dealt_out_in_their_order)
{
    static const int want[] = {1, 3, 0, 2};

    cuda_fake.n_devices = 4;
    (void)strcpy(cuda_fake.bus[0], "0000:10:00.0");
    (void)strcpy(cuda_fake.bus[1], "0000:c1:00.0");
    (void)strcpy(cuda_fake.bus[2], "0000:11:00.0");
    (void)strcpy(cuda_fake.bus[3], "0000:c2:00.0");
    ask("HWLOC_LIBXML", "0"); /* which leaks */
    ask("HWLOC_XMLFILE", TWO_PACKAGES);
    expect_devices(4, want);
}
END_TEST

/* --- memory ------------------------------------------------------------------------------- */
START_TEST(malloc__gpu_is_full__is_null_and_changes_nothing)
{
    chorusx_heap_info_t before, after;

    ck_assert_int_eq(chorus_init(), CHORUS_OK);
    ck_assert_int_eq(chorusx_heap_info(&before), CHORUS_OK);
    cuda_fake.free_bytes = 1 << 20;
    ck_assert(chorus_malloc(before.committed_bytes + (1 << 21)) == NULL);
    expect_says("PE 0: its GPU (fake 0) has 1048576 bytes free, 1 PEs share it");
    expect_says("end other work on it, or raise the limit that MPS sets");
    ck_assert(chorus_malloc((size_t)1 << 40) == NULL);
    expect_says("request less: it is more memory than there is");
    cuda_fake.free_bytes = SIZE_MAX; /* as another process took it meanwhile */
    cuda_fake.is_full = 1;
    ck_assert(chorus_malloc(before.committed_bytes + (1 << 21)) == NULL);
    expect_says("failed: out of memory");
    ck_assert(chorus_malloc((size_t)1 << 40) == NULL);
    expect_says("raise CHORUS_HEAP_MAX");
    ck_assert_int_eq(chorusx_heap_info(&after), CHORUS_OK);
    ck_assert(memcmp(&before, &after, sizeof(before)) == 0);
    cuda_fake.is_full = 0;
    chorus_free(chorus_malloc(before.committed_bytes + (1 << 21)));
    chorus_finalize();
    expect_nothing_left();
}
END_TEST

static _Thread_local int reported;

static void keep_code(int code, const char *message)
{
    (void)message;
    reported = code;
}

/* Less is free than a step of growth needs, and enough for the object. */
START_TEST(malloc__gpu_has_no_room_for_a_step__is_served)
{
    ck_assert_int_eq(chorus_init(), CHORUS_OK);
    cuda_fake.free_bytes = (size_t)3 << 20;
    chorus_free(chorus_malloc((size_t)1 << 20));
    ck_assert_str_eq(chorusx_last_error(), "");
    ck_assert(chorus_malloc((size_t)1 << 21) != NULL);
    cuda_fake.free_bytes = (size_t)1 << 20;
    ck_assert(chorus_malloc((size_t)1 << 20) == NULL);
    expect_says("1048576 bytes free");
    chorus_finalize();
    expect_nothing_left();
}
END_TEST

/* Work of the program has failed: no full GPU. */
START_TEST(malloc__cuda_has_failed__is_null_and_says_why)
{
    ck_assert_int_eq(chorus_init(), CHORUS_OK);
    (void)chorusx_set_error_handler(keep_code);
    cuda_fake.free_error = cudaErrorIllegalAddress;
    ck_assert(chorus_malloc(1) == NULL);
    ck_assert_int_eq(reported, CHORUS_ERR_SYSTEM);
    expect_says("reading how much memory is free on GPU 0 (fake 0) failed: ");
    cuda_fake.free_error = cudaSuccess;
    chorus_free(chorus_malloc(1));
    chorus_finalize();
    expect_nothing_left();
}
END_TEST

/* The host reads words on a GPU through a copy. */
START_TEST(test_any__no_memory_for_the_copy__is_refused)
{
    enum { COUNT = 12345 };
    int *words;

    ck_assert_int_eq(chorus_init(), CHORUS_OK);
    words = chorus_malloc(COUNT * sizeof(*words));
    (void)chorusx_set_error_handler(keep_code);
    refused_bytes = COUNT * sizeof(*words);
    ck_assert_uint_eq(chorus_int_test_any(words, COUNT, NULL, CHORUS_CMP_EQ, 1), SIZE_MAX);
    ck_assert_int_eq(reported, CHORUS_ERR_SYSTEM);
    expect_says("chorus_int_test_any: no memory to copy 12345 words");
    chorus_int_p(&words[7], 1, 0);
    for (int i = 0; i < COUNT; i++)
        if (i != 7) chorus_int_p(&words[i], 0, 0);
    ck_assert_uint_eq(chorus_int_test_any(words, COUNT, NULL, CHORUS_CMP_EQ, 1), 7);
    chorus_free(words);
    chorus_finalize();
    expect_nothing_left();
}
END_TEST

/* Objects of the team of the two PEs, and of one, in the sync part of their GPUs. */
static void use_team_memory(void *arg)
{
    const int me = chorus_my_pe();
    long *alone = NULL, *words;

    (void)arg;
    if (me == 1) alone = chorusx_team_malloc(CHORUS_TEAM_SAME_MYPE_NODE, 1000 * sizeof(long));
    words = chorusx_team_malloc(CHORUS_TEAM_WORLD, 1000 * sizeof(long));
    ck_assert_msg(words != NULL && (alone != NULL) == (me == 1), "%s", chorusx_last_error());
    ck_assert_int_eq(chorus_long_g(&words[999], 1 - me), 0);
    chorus_free(chorus_malloc(1)); /* a barrier */
    chorus_long_p(&words[999], 10 + me, 1 - me);
    if (me == 1) chorus_long_p(alone, 3, 1);
    chorus_quiet();
    chorus_free(chorus_malloc(1));
    ck_assert_int_eq(chorus_long_g(&words[999], me), 11 - me);
    ck_assert_ptr_null(chorusx_team_malloc(CHORUS_TEAM_WORLD, 64 << 20));
    expect_says("memory of a team: PE 0: 67108864 bytes of sync memory were requested");
    ck_assert_int_eq(chorusx_team_free(CHORUS_TEAM_WORLD, words), CHORUS_OK);
    if (me == 1)
        ck_assert_int_eq(chorusx_team_free(CHORUS_TEAM_SAME_MYPE_NODE, alone), CHORUS_OK);
}

START_TEST(run__objects_of_teams__are_on_gpus)
{
    ask("CHORUS_TIMEOUT", "0");
    ck_assert_msg(chorusx_run_threads(2, use_team_memory, NULL) == CHORUS_OK, "%s",
                  chorusx_last_error());
    expect_nothing_left();
}
END_TEST

/* Teams of a start whose sync part is too small for them. */
START_TEST(run__no_room_for_sync_memory__is_refused_on_all)
{
    ask("CHORUS_SYNC_MAX", "2M");
    ask("CHORUS_CTAS", "64");
    ask("CHORUS_TIMEOUT", "0"); /* for ever */
    ck_assert_int_eq(chorusx_run_threads(2, do_nothing, NULL), CHORUS_ERR_NOMEM);
    expect_says("raise CHORUS_SYNC_MAX");
    expect_nothing_left();
}
END_TEST

static chorus_team_t split(void)
{
    chorus_team_t team = CHORUS_TEAM_INVALID;

    const int status =
        chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, 1, chorus_n_pes(), NULL, 0, &team);

    ck_assert_int_eq(status == CHORUS_OK, team != CHORUS_TEAM_INVALID);
    return team;
}

/* PE 1's device is full for a time. */
static void make_teams_and_streams(void *arg)
{
    const int me = chorus_my_pe();
    chorus_stream_t stream = NULL;
    chorus_team_t team;

    (void)arg;
    if (me == 1) cuda_fake.full_device = 1;
    chorus_free(chorus_malloc(1)); /* a barrier */
    ck_assert_int_eq(split(), CHORUS_TEAM_INVALID);
    expect_says("team: PE 1: making an event on GPU 1 (fake 1) failed");
    ck_assert_int_eq(chorusx_stream_create(&stream), me == 1 ? CHORUS_ERR_NOMEM : CHORUS_OK);
    chorus_free(chorus_malloc(1));
    if (me == 1) cuda_fake.full_device = -1;
    chorus_free(chorus_malloc(1));
    team = split();
    ck_assert_int_ne(team, CHORUS_TEAM_INVALID);
    chorus_team_destroy(team);
}

START_TEST(team_create__one_gpu_is_full__fails_on_all_and_changes_nothing)
{
    ask("CHORUS_TIMEOUT", "0");
    ck_assert_msg(chorusx_run_threads(2, make_teams_and_streams, NULL) == CHORUS_OK, "%s",
                  chorusx_last_error());
    expect_nothing_left();
}
END_TEST

/* PE 1's GPU fails at its first operation on memory, then at its second, and so on until a team
 * is made: each time all PEs come to the same. */
static void make_teams_on_failing_gpu(void *arg)
{
    const int me = chorus_my_pe();
    chorus_team_t team = CHORUS_TEAM_INVALID;
    int n = 0;

    (void)arg;
    for (; team == CHORUS_TEAM_INVALID; n++) {
        if (me == 1) {
            cuda_fake.sound_operations = n;
            cuda_fake.bad_memory = 1;
        }
        team = split();
        if (team == CHORUS_TEAM_INVALID) {
            expect_says("PE 1: ");
            expect_says("on GPU 1 (fake 1)");
        }
        if (me == 1) cuda_fake.bad_memory = -1;
        chorus_free(chorus_malloc(1)); /* a barrier */
    }
    ck_assert_int_gt(n, 1);
    chorus_team_destroy(team);
}

START_TEST(team_create__memory_of_one_gpu_fails__fails_on_all)
{
    cuda_fake.n_devices = 3;
    ask("CHORUS_TIMEOUT", "0");
    ck_assert_msg(chorusx_run_threads(3, make_teams_on_failing_gpu, NULL) == CHORUS_OK, "%s",
                  chorusx_last_error());
    expect_nothing_left();
}
END_TEST

/* --- memory of another GPU ---------------------------------------------------------------- */
static void expect_report(void)
{
    ck_assert_int_eq(reported, CHORUS_ERR_NOT_SYMMETRIC);
    expect_says("not in the symmetric heap");
    reported = CHORUS_OK;
}

static void use_peers_object(void *arg)
{
    const int other = 1 - chorus_my_pe();
    int *object = chorus_calloc(1, sizeof(int)), *its = chorus_ptr(object, other);

    (void)arg;
    ck_assert(its != NULL && its != object);
    ck_assert_int_eq(chorus_int_sum_reduce(CHORUS_TEAM_WORLD, its, object, 1),
                     CHORUS_ERR_NOT_SYMMETRIC);
    expect_says("dest");
    ck_assert_int_eq(chorusx_int_sum_reduce_on_stream(CHORUS_TEAM_WORLD, object, its, 1,
                                                      (void *)cudaStreamPerThread),
                     CHORUS_ERR_NOT_SYMMETRIC);
    expect_says("source");
    chorus_int_p(its, 1, other);
    expect_report();
    chorus_int_atomic_add(its, 1, other);
    expect_report();
    (void)chorus_int_test(its, CHORUS_CMP_EQ, 0);
    expect_report();
    chorus_free(its);
    expect_report();
    ck_assert_ptr_null(chorus_ptr(its, other));
    ck_assert_int_eq(chorus_int_g(object, other), 0); /* nobody wrote there */
    chorus_free(object);
}

START_TEST(address__on_a_peer_s_gpu__is_refused)
{
    (void)chorusx_set_error_handler(keep_code);
    ck_assert_int_eq(chorusx_run_threads(2, use_peers_object, NULL), CHORUS_OK);
    expect_nothing_left();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cuda_start");
    TCase *tcase = tcase_create("all");
    SRunner *runner = srunner_create(suite);
    int n_failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, init__no_driver__is_refused);
    tcase_add_test(tcase, init__no_device__is_refused);
    tcase_add_test(tcase, init__no_device_without_an_error__is_refused);
    tcase_add_test(tcase, init__driver_does_not_start__is_refused);
    tcase_add_test(tcase, init__driver_lacks_a_call__is_refused);
    tcase_add_test(tcase, init__no_kernels_for_the_device__is_refused);
    tcase_add_loop_test(tcase, init__device_lacks_an_ability__is_refused, 0,
                        sizeof(abilities) / sizeof(abilities[0]));
    tcase_add_test(tcase, init__gpu_is_full__is_refused);
    tcase_add_test(tcase, init__no_addresses__is_refused);
    tcase_add_test(tcase, run__one_gpu_fails_late__is_told_on_all);
    tcase_add_loop_test(tcase, run__trial_of_lines_fails_on_one_gpu__is_told_on_all, 0, 2);
    tcase_add_test(tcase, run__lines__take_nvlink);
    tcase_add_test(tcase, run__memory_of_one_gpu_fails_at_some_time__ends_for_all);
    tcase_add_test(tcase, run__devices_without_peer_access__are_beside);
    tcase_add_test(tcase, run__threads__map_and_unmap_one_at_a_time);
    tcase_add_test(tcase, run__fewer_devices_than_threads__is_refused);
    tcase_add_test(tcase, device__program_set_one__is_that);
    tcase_add_test(tcase, device__attribute__wins_over_the_current_one);
    tcase_add_test(tcase, device__that_is_not_there__is_refused);
    tcase_add_test(tcase, devices__enough_for_all__one_each_by_address);
    tcase_add_test(tcase, devices__near_different_cores__are_dealt_out_in_their_order);
    tcase_add_test(tcase, malloc__gpu_is_full__is_null_and_changes_nothing);
    tcase_add_test(tcase, malloc__gpu_has_no_room_for_a_step__is_served);
    tcase_add_test(tcase, malloc__cuda_has_failed__is_null_and_says_why);
    tcase_add_test(tcase, test_any__no_memory_for_the_copy__is_refused);
    tcase_add_test(tcase, run__objects_of_teams__are_on_gpus);
    tcase_add_test(tcase, run__no_room_for_sync_memory__is_refused_on_all);
    tcase_add_test(tcase, team_create__one_gpu_is_full__fails_on_all_and_changes_nothing);
    tcase_add_test(tcase, team_create__memory_of_one_gpu_fails__fails_on_all);
    tcase_add_test(tcase, address__on_a_peer_s_gpu__is_refused);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
