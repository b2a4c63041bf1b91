/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_gpu_differ.cu: calls inside kernels with CHORUS_CHECK=1. Those that agree are made as
 * without it; those that differ are refused on all PEs, and the report names two PEs' calls.
 * Each mistake is made on a team of its own, which is unusable afterwards.
 */
#include "test_gpu_device.cuh"

#include <stdlib.h>

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

#define CASES(X)             \
    X(calls_that_agree_pass) \
    X(calls_that_differ_are_refused_and_named)

int main(int argc, char **argv)
{
    static const struct gpu_case cases[] = {CASES(GPU_CASE)};

    if (setenv("CHORUS_CHECK", "1", 1) != 0) return EXIT_FAILURE;
    return gpu_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
