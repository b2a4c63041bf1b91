/* SPDX-License-Identifier: Apache-2.0 */
/* The libraries of --vs, found at run time: those that stand in for them are asked as they are.
 */
#include "bench/vs.h"
#include "chorus/status.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { STREAM = 4711, ELEMENTS = 8, DEST_BYTES = 64 };

static void share(void *bytes_of_first, size_t bytes)
{
    (void)bytes_of_first;
    (void)bytes;
}

static void lose(const char *why)
{
    ck_abort_msg("%s", why);
}

static const struct ch_vs_job job = {
    .me = 0, .pes = 1, .stream = (void *)STREAM, .share = share, .lose = lose};

/* Make a call; true if the first `bytes` of the destination, and no more, are the source's. */
static bool moves(const struct ch_peer *peer, struct ch_work work, size_t bytes)
{
    unsigned char source[DEST_BYTES], dest[DEST_BYTES] = {0};

    memset(source, 0x5a, sizeof(source));
    work.count = ELEMENTS;
    ck_assert_int_eq(peer->call(&work, dest, source, 0), 0);
    return memcmp(dest, source, bytes) == 0 && (bytes == DEST_BYTES || dest[bytes] == 0);
}

static int code_of(const struct ch_peer *peer, struct ch_work work)
{
    char source[DEST_BYTES] = {0}, dest[DEST_BYTES];

    work.count = 1;
    return peer->call(&work, dest, source, 0);
}

#define WORK(COLL, TYPE, OP) \
    ((struct ch_work){       \
        .coll = CH_SWEEP_##COLL, .type = CHORUS_TYPE_##TYPE, .op = CHORUS_OP_##OP})

START_TEST(nccl__each_collective__is_its_call)
{
    struct ch_peer peer;
    char error[256] = "";

    ck_assert_msg(ch_nccl_load(FAKE_PEERS, error, sizeof(error)), "%s", error);
    ck_assert_msg(ch_nccl_join(&job, &peer, error, sizeof(error)), "%s", error);
    ck_assert_str_eq(peer.version, "2.28.9");
    ck_assert(moves(&peer, WORK(broadcast, u16, sum), 2 * ELEMENTS));
    ck_assert(moves(&peer, WORK(fcollect, f64, sum), 8 * ELEMENTS));
    ck_assert(moves(&peer, WORK(alltoall, c64, sum), 8 * ELEMENTS));
    ck_assert(moves(&peer, WORK(reduce, f32, sum), 4 * ELEMENTS));
    ck_assert(moves(&peer, WORK(reducescatter, f32, max), 4 * ELEMENTS));
    ck_assert_int_eq(code_of(&peer, WORK(barrier, u8, sum)), CHORUS_ERR_UNSUPPORTED);
    ck_assert_int_eq(code_of(&peer, WORK(reduce, i16, sum)), CHORUS_ERR_UNSUPPORTED);
    ck_assert_int_eq(code_of(&peer, WORK(reduce, i32, xor)), CHORUS_ERR_UNSUPPORTED);
    ch_nccl_leave();
}
END_TEST

START_TEST(nccl__without_later_functions__sends_and_receives)
{
    struct ch_peer peer;
    char error[256] = "";

    ck_assert_msg(ch_nccl_load(FAKE_PEERS_OLD, error, sizeof(error)), "%s", error);
    ck_assert_msg(ch_nccl_join(&job, &peer, error, sizeof(error)), "%s", error);
    ck_assert(moves(&peer, WORK(alltoall, c64, sum), 8 * ELEMENTS));
    ch_nccl_leave();
    ck_assert(!ch_nccl_windows_load(FAKE_PEERS_OLD, error, sizeof(error)));
    ck_assert_ptr_nonnull(strstr(error, "needs NCCL 2.27"));
}
END_TEST

START_TEST(nccl_windows__beside_nccl__allocates_what_it_registers)
{
    struct ch_peer plain, peer;
    char error[256] = "";
    void *area;

    ck_assert(ch_nccl_load(FAKE_PEERS, error, sizeof(error)));
    ck_assert(ch_nccl_join(&job, &plain, error, sizeof(error)));
    ck_assert(!ch_nccl_windows_load("libm.so.6", error, sizeof(error)));
    ck_assert_ptr_nonnull(strstr(error, "name one library for both"));
    ck_assert_msg(ch_nccl_windows_load(FAKE_PEERS, error, sizeof(error)), "%s", error);
    ck_assert_msg(ch_nccl_windows_join(&job, &peer, error, sizeof(error)), "%s", error);
    area = peer.allocate(8);
    ck_assert_ptr_nonnull(area);
    ck_assert(moves(&peer, WORK(fcollect, f64, sum), 8 * ELEMENTS));
    peer.release(area);
    ch_nccl_windows_leave();
    ck_assert(moves(&plain, WORK(reduce, f32, sum), 4 * ELEMENTS));
    ch_nccl_leave();
}
END_TEST

START_TEST(nvshmem__each_collective__is_found_by_name)
{
    struct ch_peer peer;
    char error[256] = "";
    void *area;

    ck_assert_msg(ch_nvshmem_load(FAKE_PEERS, error, sizeof(error)), "%s", error);
    ck_assert_msg(ch_nvshmem_join(&job, &peer, error, sizeof(error)), "%s", error);
    ck_assert_str_eq(peer.version, "3.4.5");
    area = peer.allocate(1);
    ck_assert_ptr_nonnull(area);
    peer.release(area);
    for (int again = 0; again < 2; again++) {
        ck_assert(moves(&peer, WORK(broadcast, u8, sum), ELEMENTS));
        ck_assert(moves(&peer, WORK(fcollect, f16, sum), 2 * ELEMENTS));
        ck_assert(moves(&peer, WORK(alltoall, i64, sum), 8 * ELEMENTS));
        ck_assert(moves(&peer, WORK(reduce, f32, sum), 4 * ELEMENTS));
        ck_assert(moves(&peer, WORK(reducescatter, f32, max), 4 * ELEMENTS));
        ck_assert_int_eq(code_of(&peer, WORK(reduce, f32, prod)), CHORUS_ERR_UNSUPPORTED);
        ck_assert_int_eq(code_of(&peer, WORK(fcollect, c64, sum)), CHORUS_ERR_UNSUPPORTED);
    }
    ck_assert_int_eq(code_of(&peer, WORK(barrier, u8, sum)), 0);
    ck_assert_int_eq(code_of(&peer, WORK(sync, u8, sum)), 0);
    ch_nvshmem_leave();
}
END_TEST

START_TEST(load__no_library_or_another__says_which)
{
    char error[256] = "";

    ck_assert(!ch_nccl_load("/nonexistent/libnccl.so.2", error, sizeof(error)));
    ck_assert_ptr_nonnull(strstr(error, "/nonexistent/libnccl.so.2"));
    ck_assert(!ch_nvshmem_load("/nonexistent/libnvshmem_host.so.3", error, sizeof(error)));
    ck_assert_ptr_nonnull(strstr(error, "/nonexistent/libnvshmem_host.so.3"));
    ck_assert(!ch_nccl_load("libm.so.6", error, sizeof(error)));
    ck_assert_ptr_nonnull(strstr(error, "no ncclGetVersion"));
    ck_assert(!ch_nvshmem_load("libm.so.6", error, sizeof(error)));
    ck_assert_ptr_nonnull(strstr(error, "no nvshmemx_get_uniqueid"));
}
END_TEST

START_TEST(join__that_fails__says_why)
{
    struct ch_peer peer;
    char error[256] = "";

    ck_assert_int_eq(setenv("FAKE_PEERS_FAIL", "1", 1), 0);
    ck_assert(ch_nccl_load(FAKE_PEERS, error, sizeof(error)));
    ck_assert(!ch_nccl_join(&job, &peer, error, sizeof(error)));
    ck_assert_str_eq(error, "cannot join: made-up error");
    ck_assert(ch_nvshmem_load(FAKE_PEERS, error, sizeof(error)));
    ck_assert(!ch_nvshmem_join(&job, &peer, error, sizeof(error)));
    ck_assert_str_eq(error, "cannot join: NVSHMEM returned 7");
    ck_assert_int_eq(unsetenv("FAKE_PEERS_FAIL"), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bench");
    TCase *tcase = tcase_create("peers");
    SRunner *runner;
    int failed;

    tcase_add_test(tcase, nccl__each_collective__is_its_call);
    tcase_add_test(tcase, nccl__without_later_functions__sends_and_receives);
    tcase_add_test(tcase, nccl_windows__beside_nccl__allocates_what_it_registers);
    tcase_add_test(tcase, nvshmem__each_collective__is_found_by_name);
    tcase_add_test(tcase, load__no_library_or_another__says_which);
    tcase_add_test(tcase, join__that_fails__says_why);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
