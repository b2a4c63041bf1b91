/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_gpu_differ.cu: calls inside kernels with CHORUS_CHECK=1. Those that agree are made as
 * without it; those that differ are refused on all PEs, and the report names two PEs' calls.
 * Each mistake is made on a team of its own, which is unusable afterwards. So is the team of a
 * call that is made beside one on a stream.
 */
#include "test_gpu_device.cuh"

#include <stdlib.h>
#include <unistd.h>

enum { COUNT = 64 };
enum mistake { COUNTS, ROOTS, TYPES, OPERATORS, COLLECTIVES, PLACES, NOTHING, MISTAKES };

/* What the middle one of three PEs makes, or the last of two, and what the others do. */
static const struct {
    const char *odd, *even;
} texts[MISTAKES] = {
    {"reduce (52 f32, sum), call 2 of team", "reduce (64 f32, sum), call 2 of team"},
    {"broadcast (64 f32, root 1)", "broadcast (64 f32, root 0)"},
    {"reduce (64 i32, sum)", "reduce (64 f32, sum)"},
    {"reduce (64 f32, max)", "reduce (64 f32, sum)"},
    {"barrier, call 2 of team", "reduce (64 f32, sum)"},
    {"reduce (64 f32, sum, in place)", "reduce (64 f32, sum), call"},
    {"fcollect (0 f32)", "fcollect (64 f32)"},
};

/* One sum for all mistakes: each call in the text of a kernel takes a second to compile. */
__device__ __forceinline__ int call(enum mistake mistake, bool is_odd, chorus_team_t team,
                                    float *dest, float *source)
{
    if (mistake == ROOTS)
        return chorusx_float_broadcast_block(team, dest, source, COUNT, is_odd ? 1 : 0);
    if (mistake == NOTHING)
        return chorusx_float_fcollect_block(team, dest, source, is_odd ? 0 : COUNT);
    if (mistake == TYPES && is_odd)
        return chorusx_int_sum_reduce_block(team, (int *)dest, (const int *)source, COUNT);
    if (mistake == OPERATORS && is_odd)
        return chorusx_float_max_reduce_block(team, dest, source, COUNT);
    if (mistake == COLLECTIVES && is_odd) return chorusx_barrier_block(team);
    return chorusx_float_sum_reduce_block(team, mistake == PLACES && is_odd ? source : dest,
                                          source,
                                          mistake == COUNTS && is_odd ? COUNT - 12 : COUNT);
}

__global__ void __launch_bounds__(THREADS_MAX, 1)
    differ(enum mistake mistake, chorus_team_t team, float *dest, float *source, int *bad)
{
    HOLDS(chorusx_barrier_block(team) == CHORUS_OK); /* call 1 */
    HOLDS(call(mistake, chorus_my_pe() == 1, team, dest, source) == CHORUS_ERR_ARG);
    HOLDS(chorusx_barrier_block(team) == CHORUS_ERR_STATE); /* at once */
}

static void make_mistake(enum mistake mistake, float *dest, float *source, int *bad)
{
    chorus_team_t team = CHORUS_TEAM_INVALID;

    EXPECT(chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, 1, gpu_n(), 0, 0, &team) == 0);
    run_grid(differ, 1, THREADS, mistake, team, dest, source, bad);
    EXPECT(chorusx_stream_synchronize(0) == CHORUS_ERR_ARG);
    EXPECT(strstr(chorusx_last_error(), texts[mistake].odd) != 0);
    EXPECT(strstr(chorusx_last_error(), texts[mistake].even) != 0);
    EXPECT(strstr(chorusx_last_error(), ", in a kernel") != 0);
    EXPECT(chorusx_team_status(team) == CHORUS_ERR_ARG);
    EXPECT(chorusx_stream_synchronize(0) == CHORUS_OK); /* it was told */
    chorus_team_destroy(team);
}

static void calls_that_differ_are_refused_and_named(void)
{
    int *bad = make<int>(1);
    float *dest = make<float>(COUNT * (size_t)gpu_n()), *source = make<float>(COUNT);

    for (int mistake = 0; mistake < MISTAKES && gpu_n() > 1; mistake++)
        make_mistake((enum mistake)mistake, dest, source, bad);
    chorus_free(source);
    chorus_free(dest);
    expect_none(bad);
}

/* Forms may differ between PEs, and calls of any scope follow each other. */
__global__ void __launch_bounds__(THREADS_MAX, 1) agree(float *dest, float *source, int *bad)
{
    const int me = chorus_my_pe(), n = chorus_n_pes();
    const float sum = (float)n * (float)(n - 1) / 2;

    for (int round = 0; round < 8 * ROUNDS; round++) {
        const bool is_thread = (round + me) % 2 == 0;

        for (int i = (int)threadIdx.x; i < COUNT; i += (int)blockDim.x)
            source[i] = (float)(me + i + round);
        __syncthreads();
        if (!is_thread)
            HOLDS(chorusx_float_sum_reduce_block(CHORUS_TEAM_WORLD, dest, source, COUNT) == 0);
        else if (threadIdx.x == 5)
            HOLDS(chorus_float_sum_reduce(CHORUS_TEAM_WORLD, dest, source, COUNT) == 0);
        __syncthreads();
        for (int i = (int)threadIdx.x; i < COUNT; i += (int)blockDim.x)
            HOLDS(dest[i] == sum + (float)(n * (i + round)));
        if (threadIdx.x / 32 == 1) HOLDS(chorusx_barrier_warp(CHORUS_TEAM_WORLD) == CHORUS_OK);
        __syncthreads();
    }
}

static void calls_that_agree_pass(void)
{
    int *bad = make<int>(1);
    float *dest = make<float>(COUNT), *source = make<float>(COUNT);

    run(agree, THREADS, dest, source, bad);
    chorus_free(source);
    chorus_free(dest);
    expect_none(bad);
}

/* --- a call inside a kernel beside one on a stream -------------------------------------------
 */
/* What a barrier of the team returned; PE 0's waits for PEs that do not come. */
__global__ void __launch_bounds__(THREADS_MAX, 1) meet(chorus_team_t team, int *code)
{
    const int found = chorusx_barrier_block(team);

    if (threadIdx.x == 0) *code = found;
}

static void start_meet(chorus_team_t team, int *code, cudaStream_t stream)
{
    void *args[] = {&team, &code};

    EXPECT(chorusx_collective_launch((const void *)meet, dim3(1), dim3(THREADS), args, 0,
                                     stream) == CHORUS_OK);
}

/* PE 0 makes both calls, in this order; the second one is refused, and named at once. */
static void overlap(chorus_team_t team, int *code, const cudaStream_t streams[2],
                    bool is_kernel_first)
{
    enum { AHEAD_US = 300000, STEP_US = 10000, STEPS = 500 };

    for (int i = 0; i < 2; i++) {
        if ((i == 0) == is_kernel_first)
            start_meet(team, code, streams[i]);
        else
            EXPECT(chorusx_team_sync_on_stream(team, (chorus_stream_t)streams[i]) == CHORUS_OK);
        if (i == 0) (void)usleep(AHEAD_US);
    }
    for (int i = 0; i < STEPS && chorusx_team_status(team) == CHORUS_OK; i++)
        (void)usleep(STEP_US);
    EXPECT(chorusx_team_status(team) == CHORUS_ERR_STATE);
    EXPECT(chorusx_stream_synchronize((chorus_stream_t)streams[1]) == CHORUS_ERR_STATE);
    EXPECT(strstr(chorusx_last_error(), "began while another on its team ran") != 0);
    EXPECT(cudaStreamSynchronize(streams[0]) == cudaSuccess); /* at the end of its wait */
}

static void try_overlap(bool is_kernel_first)
{
    int *code = make<int>(1), *flag = make<int>(1), found = -1;
    chorus_team_t team = CHORUS_TEAM_INVALID;
    cudaStream_t streams[2];

    EXPECT(chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, 1, gpu_n(), 0, 0, &team) == 0);
    for (cudaStream_t &stream : streams)
        EXPECT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    start_meet(team, code, streams[0]); /* alone, and the kernel is loaded */
    EXPECT(chorusx_stream_synchronize((chorus_stream_t)streams[0]) == CHORUS_OK);
    EXPECT(chorusx_team_sync_on_stream(team, (chorus_stream_t)streams[0]) == CHORUS_OK);
    EXPECT(chorusx_stream_synchronize((chorus_stream_t)streams[0]) == CHORUS_OK);
    if (gpu_me() == 0) {
        overlap(team, code, streams, is_kernel_first);
        gpu_copy(&found, code, sizeof(found));
        EXPECT(is_kernel_first || found == CHORUS_ERR_STATE);
        for (int pe = 1; pe < gpu_n(); pe++)
            chorus_int_p(flag, 1, pe);
    }
    while (gpu_me() != 0 && !chorus_int_test(flag, CHORUS_CMP_EQ, 1)) /* longer than a wait */
        (void)usleep(1000);
    for (cudaStream_t stream : streams)
        EXPECT(cudaStreamDestroy(stream) == cudaSuccess);
    chorus_team_destroy(team);
    chorus_free(flag);
    chorus_free(code);
}

static void a_call_beside_one_on_a_stream_is_refused(void)
{
    if (gpu_n() == 1) return; /* no call waits */
    try_overlap(false);
    try_overlap(true);
}

#define CASES(X)                               \
    X(calls_that_agree_pass)                   \
    X(calls_that_differ_are_refused_and_named) \
    X(a_call_beside_one_on_a_stream_is_refused)

int main(int argc, char **argv)
{
    static const struct gpu_case cases[] = {CASES(GPU_CASE)};

    /* A wait for PEs that do not come ends soon. */
    if (setenv("CHORUS_CHECK", "1", 1) != 0 || setenv("CHORUS_TIMEOUT", "10", 1) != 0)
        return EXIT_FAILURE;
    return gpu_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
