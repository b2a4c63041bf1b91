/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_gpu_late.cu: waits inside kernels that nobody ends. They end by CHORUS_TIMEOUT, and are
 * reported.
 */
#include "test_gpu_device.cuh"

#include <stdlib.h>
#include <unistd.h>

enum { SECONDS = 5 }; /* longer than PEs start one after another */

/* --- a peer that does not come ---------------------------------------------------------- */
__global__ void __launch_bounds__(THREADS_MAX, 1) meet_nobody(chorus_team_t team, int *bad)
{
    HOLDS(chorusx_barrier_block(team) == CHORUS_ERR_TIMEOUT);
    HOLDS(chorusx_barrier_block(team) == CHORUS_ERR_STATE); /* at once */
    HOLDS(chorusx_int_sum_reduce_block(team, bad, bad, 1) == CHORUS_ERR_STATE);
}

static void a_peer_is_late(void)
{
    chorus_team_t team = CHORUS_TEAM_INVALID;
    int *bad = make<int>(1), n_bad = -1;

    EXPECT(chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, 1, gpu_n(), 0, 0, &team) == 0);
    if (gpu_me() != 0) {
        (void)sleep(SECONDS); /* what PE 0 waits inside the kernel, nobody waits for PE 0 */
    } else if (gpu_n() > 1) {
        run_grid(meet_nobody, 1, THREADS, team, bad);
        EXPECT(chorusx_stream_synchronize(0) == CHORUS_ERR_TIMEOUT);
        EXPECT(strstr(chorusx_last_error(), "which has not begun this call") != 0);
        EXPECT(chorusx_team_status(team) == CHORUS_ERR_TIMEOUT);
        EXPECT(chorus_barrier(team) == CHORUS_ERR_STATE);
        EXPECT(chorusx_stream_synchronize(0) == CHORUS_OK); /* it was told */
    }
    gpu_copy(&n_bad, bad, sizeof(n_bad));
    EXPECT(n_bad == 0);
}

/* --- a call on a stream that failed ------------------------------------------------------ */
__global__ void __launch_bounds__(THREADS_MAX, 1) be_refused(chorus_team_t team, int *bad)
{
    HOLDS(chorusx_barrier_block(team) == CHORUS_ERR_STATE); /* and does not wait */
    HOLDS(chorusx_int_sum_reduce_block(team, bad, bad, 1) == CHORUS_ERR_STATE);
}

static void a_stream_s_call_has_failed(void)
{
    chorus_team_t team = CHORUS_TEAM_INVALID;
    int *bad = make<int>(1);

    EXPECT(chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, 1, gpu_n(), 0, 0, &team) == 0);
    if (gpu_me() != 0) {
        (void)sleep(SECONDS); /* what PE 0 waits, nobody waits for PE 0 */
    } else if (gpu_n() > 1) {
        EXPECT(chorusx_team_sync_on_stream(team, 0) == CHORUS_OK);
        run_grid(be_refused, 1, THREADS, team, bad);
        EXPECT(chorusx_stream_synchronize(0) == CHORUS_ERR_TIMEOUT);
        EXPECT(chorusx_stream_synchronize(0) == CHORUS_OK);
    }
    expect_none(bad);
    chorus_team_destroy(team);
}

/* --- a call in a kernel that failed ------------------------------------------------------ */
__global__ void __launch_bounds__(THREADS_MAX, 1) fail_alone(chorus_team_t team, int *bad)
{
    HOLDS(chorusx_barrier_block(team) == CHORUS_ERR_TIMEOUT);
}

/* Calls on streams that were queued behind it are skipped, and say so. */
static void a_kernel_s_call_has_failed(void)
{
    chorus_team_t team = CHORUS_TEAM_INVALID;
    int *bad = make<int>(1);

    EXPECT(chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, 1, gpu_n(), 0, 0, &team) == 0);
    if (gpu_me() != 0) {
        (void)sleep(SECONDS); /* what PE 0 waits, nobody waits for PE 0 */
    } else if (gpu_n() > 1) {
        void *args[] = {&team, &bad};

        EXPECT(chorusx_collective_launch((const void *)fail_alone, 1, THREADS, args, 0, 0) ==
               CHORUS_OK);
        EXPECT(chorusx_team_sync_on_stream(team, 0) == CHORUS_OK);
        EXPECT(cudaStreamSynchronize(0) == cudaSuccess);
        EXPECT(chorusx_stream_synchronize(0) == CHORUS_ERR_TIMEOUT);
        EXPECT(strstr(chorusx_last_error(), "which has not begun this call") != 0);
        EXPECT(chorusx_stream_synchronize(0) == CHORUS_ERR_TIMEOUT);
        EXPECT(strstr(chorusx_last_error(), "was skipped") != 0);
        EXPECT(chorusx_stream_synchronize(0) == CHORUS_OK);
    }
    expect_none(bad);
    chorus_team_destroy(team);
}

/* --- a call on a stream while a kernel has the team -------------------------------------- */
__global__ void __launch_bounds__(THREADS_MAX, 1) meet_all(chorus_team_t team, int *bad)
{
    HOLDS(chorusx_barrier_block(team) == CHORUS_OK);
}

/* PE 0's kernel waits for the others, who come once PE 0's call on a stream was refused. */
static void call_beside_a_kernel(chorus_team_t team, bool reduces, int *data, int *bad)
{
    void *args[] = {&team, &bad};
    cudaStream_t streams[2];

    for (cudaStream_t &stream : streams)
        EXPECT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    EXPECT(chorusx_collective_launch((const void *)meet_all, 1, THREADS, args, 0, streams[0]) ==
           CHORUS_OK);
    (void)sleep(1); /* it has the team now */
    if (reduces)
        EXPECT(chorusx_int_sum_reduce_on_stream(team, data, data, 1,
                                                (chorus_stream_t)streams[1]) == CHORUS_OK);
    else
        EXPECT(chorusx_int_fcollect_on_stream(team, data + 1, data, 1,
                                              (chorus_stream_t)streams[1]) == CHORUS_OK);
    EXPECT(chorusx_stream_synchronize((chorus_stream_t)streams[1]) == CHORUS_ERR_STATE);
    EXPECT(strstr(chorusx_last_error(), "began while another on its team ran") != 0);
    EXPECT(chorusx_team_status(team) == CHORUS_ERR_STATE);
    for (int pe = 1; pe < gpu_n(); pe++)
        chorus_int_p(data, 1, pe);
    EXPECT(cudaStreamSynchronize(streams[0]) == cudaSuccess);
    EXPECT(chorusx_stream_synchronize((chorus_stream_t)streams[0]) ==
           CHORUS_OK); /* the kernel's call was good */
    for (cudaStream_t stream : streams)
        EXPECT(cudaStreamDestroy(stream) == cudaSuccess);
}

/* By an exchange in one round, and by one in several; see main. */
static void a_kernel_has_the_team(void)
{
    for (bool reduces : {true, false}) {
        chorus_team_t team = CHORUS_TEAM_INVALID;
        int *bad = make<int>(1), *data = make<int>(1 + (size_t)gpu_n());

        EXPECT(chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, 1, gpu_n(), 0, 0, &team) == 0);
        if (gpu_me() == 0 && gpu_n() > 1) {
            call_beside_a_kernel(team, reduces, data, bad);
        } else if (gpu_n() > 1) {
            chorus_int_wait_until(data, CHORUS_CMP_EQ, 1);
            run(meet_all, THREADS, team, bad);
        }
        chorus_team_destroy(team);
        chorus_free(data);
        expect_none(bad);
    }
}

/* --- a report that nobody asks for ------------------------------------------------------- */
/* The next test expects that its own report is not lost because of this one. */
static void a_team_ends_unasked(void)
{
    chorus_team_t team = CHORUS_TEAM_INVALID;
    int *bad = make<int>(1);

    EXPECT(chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, 1, gpu_n(), 0, 0, &team) == 0);
    if (gpu_me() != 0)
        (void)sleep(SECONDS); /* what PE 0 waits inside the kernel, nobody waits for PE 0 */
    else if (gpu_n() > 1)
        run_grid(fail_alone, 1, THREADS, team, bad);
    expect_none(bad);
    chorus_team_destroy(team);
}

/* --- a value that is never stored ------------------------------------------------------- */
__global__ void __launch_bounds__(THREADS_MAX, 1)
    wait_for_nothing(int *flags, size_t *found, int *bad)
{
    if (threadIdx.x == 0) chorus_int_wait_until(flags, CHORUS_CMP_EQ, 1);
    if (threadIdx.x == 32)
        HOLDS(chorus_int_wait_until_any(flags, 2, 0, CHORUS_CMP_EQ, 1) == SIZE_MAX);
    if (threadIdx.x == 64)
        HOLDS(chorus_int_wait_until_some(flags, 2, found, 0, CHORUS_CMP_EQ, 1) == 0);
}

static void a_value_is_late(void)
{
    int *bad = make<int>(1), *flags = make<int>(2);
    size_t *found = make<size_t>(2);

    run_grid(wait_for_nothing, 1, THREADS, flags, found, bad);
    EXPECT(chorusx_stream_synchronize(0) == CHORUS_ERR_TIMEOUT);
    chorus_free(found);
    chorus_free(flags);
    expect_none(bad);
}

/* --- a wait on a stream that nobody ends -------------------------------------------------- */
/* The front end of the GPU has no deadline, but the host that waits for it has. */
static void a_signal_is_late(cudaStream_t stream, uint64_t *word)
{
    const chorus_stream_t s = (chorus_stream_t)stream;

    EXPECT(chorusx_signal_wait_until_on_stream(word, CHORUS_CMP_GE, 1, s) == CHORUS_OK);
    EXPECT(chorusx_stream_synchronize(s) == CHORUS_ERR_TIMEOUT);
    EXPECT(strstr(chorusx_last_error(), "a wait on a stream is for the word") != 0);
    chorus_uint64_p(word, 1, gpu_me());
    EXPECT(chorusx_stream_synchronize(s) == CHORUS_OK);
}

static void a_call_is_behind_it(cudaStream_t stream, uint64_t *word)
{
    const chorus_stream_t s = (chorus_stream_t)stream;
    chorus_team_t team = CHORUS_TEAM_INVALID;

    EXPECT(chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, 1, gpu_n(), 0, 0, &team) == 0);
    EXPECT(chorusx_signal_wait_until_on_stream(word, CHORUS_CMP_GE, 2, s) == CHORUS_OK);
    EXPECT(chorusx_team_sync_on_stream(team, s) == CHORUS_OK);
    chorus_team_destroy(team);
    EXPECT_REPORT(CHORUS_ERR_TIMEOUT, "have not ended");
    chorus_uint64_p(word, 2, gpu_me());
    EXPECT(chorusx_stream_synchronize(s) == CHORUS_OK);
    chorus_team_destroy(team);
}

/* A kernel of the library waits, which ends by itself. */
static void a_word_is_late(cudaStream_t stream, int *flag)
{
    const chorus_stream_t s = (chorus_stream_t)stream;

    EXPECT(chorusx_int_wait_until_on_stream(flag, CHORUS_CMP_EQ, 1, s) == CHORUS_OK);
    EXPECT(cudaStreamSynchronize(stream) == cudaSuccess);
    EXPECT(chorusx_stream_synchronize(s) == CHORUS_ERR_TIMEOUT);
    EXPECT(strstr(chorusx_last_error(), "a wait on a stream for the word at") != 0);
    EXPECT(chorusx_stream_synchronize(s) == CHORUS_OK); /* it was told */
}

static void a_stream_s_wait_is_late(void)
{
    uint64_t *word = make<uint64_t>(1);
    int *flag = make<int>(1);
    cudaStream_t stream;

    EXPECT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    a_signal_is_late(stream, word);
    a_call_is_behind_it(stream, word);
    a_word_is_late(stream, flag);
    EXPECT(cudaStreamDestroy(stream) == cudaSuccess);
    chorus_free(flag);
    chorus_free(word);
}

#define CASES(X)                  \
    X(a_peer_is_late)             \
    X(a_stream_s_call_has_failed) \
    X(a_kernel_s_call_has_failed) \
    X(a_kernel_has_the_team)      \
    X(a_team_ends_unasked)        \
    X(a_value_is_late)            \
    X(a_stream_s_wait_is_late)

int main(int argc, char **argv)
{
    static const struct gpu_case cases[] = {CASES(GPU_CASE)};

    if (setenv("CHORUS_TIMEOUT", "5", 1) != 0) return EXIT_FAILURE;
    if (setenv("CHORUS_ALGO", "reduce:one_shot:ll,fcollect:bruck:ll", 1) != 0)
        return EXIT_FAILURE;
    return gpu_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
