/* SPDX-License-Identifier: Apache-2.0 */
/* test_gpu_device_coll.cu: barriers and collectives inside kernels. */
#include "test_gpu_device.cuh"

#include <stdlib.h>

/* --- barriers --------------------------------------------------------------------------- */
/* Every PE tells all of the round; after the barrier all have. */
__global__ void __launch_bounds__(THREADS_MAX, 1) meet(int *rounds, int *bad)
{
    const int me = chorus_my_pe(), n = chorus_n_pes();
    const chorus_team_t all =
        chorus_team_n_pes(CHORUS_TEAM_NODE) == n ? CHORUS_TEAM_NODE : CHORUS_TEAM_WORLD;
    const bool first = threadIdx.x == 0;

    for (int round = 1; round <= 3 * ROUNDS; round++) {
        for (int pe = (int)threadIdx.x; pe < n; pe += (int)blockDim.x)
            chorus_int_p(&rounds[me], round, pe);
        if (round % 3 == 0) {
            HOLDS(chorusx_barrier_block(CHORUS_TEAM_WORLD) == CHORUS_OK);
        } else {
            __syncthreads();
            if (round % 3 == 1 && first) HOLDS(chorus_barrier(CHORUS_TEAM_WORLD) == CHORUS_OK);
            if (round % 3 == 2 && threadIdx.x < 32) chorusx_barrier_all_warp();
            __syncthreads();
        }
        for (int pe = (int)threadIdx.x; pe < n; pe += (int)blockDim.x)
            HOLDS(rounds[pe] == round);
        HOLDS(chorusx_team_sync_block(all) == CHORUS_OK); /* all have looked */
    }
}

void barriers_publish(void)
{
    int *bad = make<int>(1), *rounds = make<int>((size_t)gpu_n());

    run(meet, THREADS, rounds, bad);
    run(meet, 32u, rounds, bad);
    chorus_free(rounds);
    expect_none(bad);
}

/* --- collectives ------------------------------------------------------------------------ */
__device__ int element(int pe, size_t i, int round)
{
    return (pe * 7 + (int)(i % 97) * 3 + round) % 31;
}

__device__ int sum_of(int n, size_t i, int round)
{
    int sum = 0;

    for (int pe = 0; pe < n; pe++)
        sum += element(pe, i, round);
    return sum;
}

template <typename T> __device__ void fill(T *source, size_t count, int me, int round)
{
    for (size_t i = threadIdx.x; i < count; i += blockDim.x)
        source[i] = (T)element(me, i, round);
}

/* Fresh data each round, in the same memory, with nothing between the rounds. */
__global__ void __launch_bounds__(THREADS_MAX, 1)
    move_all(chorus_team_t team, int *dest, int *source, size_t count, int *bad)
{
    const int me = chorus_team_my_pe(team), n = chorus_team_n_pes(team);

    for (int round = 0; round < ROUNDS; round++) {
        const int root = round % n;

        fill(source, count * n, me, round);
        HOLDS(chorusx_int_broadcast_block(team, dest, source, count, root) == CHORUS_OK);
        for (size_t i = threadIdx.x; i < count; i += blockDim.x)
            HOLDS(dest[i] == element(root, i, round));
        HOLDS(chorusx_int_fcollect_block(team, dest, source, count) == CHORUS_OK);
        for (size_t i = threadIdx.x; i < count * n; i += blockDim.x)
            HOLDS(dest[i] == element((int)(i / count), i % count, round));
        HOLDS(chorusx_int_alltoall_block(team, dest, source, count) == CHORUS_OK);
        for (size_t i = threadIdx.x; i < count * n; i += blockDim.x)
            HOLDS(dest[i] == element((int)(i / count), me * count + i % count, round));
        __syncthreads();
    }
    HOLDS(chorusx_int_broadcast_block(team, dest, source, count, n) == CHORUS_ERR_ARG);
}

__global__ void __launch_bounds__(THREADS_MAX, 1)
    combine_all(chorus_team_t team, float *dest, float *source, size_t count, int *bad)
{
    const int me = chorus_team_my_pe(team), n = chorus_team_n_pes(team);

    for (int round = 0; round < ROUNDS; round++) {
        fill(source, count * n, me, round);
        HOLDS(chorusx_float_sum_reduce_block(team, dest, source, count) == CHORUS_OK);
        for (size_t i = threadIdx.x; i < count; i += blockDim.x)
            HOLDS(dest[i] == (float)sum_of(n, i, round));
        HOLDS(chorusx_float_sum_reducescatter_block(team, dest, source, count) == CHORUS_OK);
        for (size_t i = threadIdx.x; i < count; i += blockDim.x)
            HOLDS(dest[i] == (float)sum_of(n, me * count + i, round));
        HOLDS(chorusx_float_sum_reduce_block(team, source, source, count) == CHORUS_OK);
        for (size_t i = threadIdx.x; i < count; i += blockDim.x)
            HOLDS(source[i] == (float)sum_of(n, i, round));
        __syncthreads();
    }
}

/* dest is source, and then this PE's block of it. */
__global__ void __launch_bounds__(THREADS_MAX, 1)
    scatter_in_place(chorus_team_t team, int *data, size_t count, int *bad)
{
    const int me = chorus_team_my_pe(team), n = chorus_team_n_pes(team);

    for (int round = 0; round < ROUNDS; round++) {
        int *const dest = round % 2 == 0 ? data : data + me * count;

        fill(data, count * n, me, round);
        HOLDS(chorusx_int_sum_reducescatter_block(team, dest, data, count) == CHORUS_OK);
        for (size_t i = threadIdx.x; i < count * n; i += blockDim.x) {
            const size_t at = i - (size_t)(dest - data); /* wraps before dest */

            HOLDS(data[i] ==
                  (at < count ? sum_of(n, me * count + at, round) : element(me, i, round)));
        }
        __syncthreads();
    }
}

/* Two-byte elements, odd counts: the powers of two up to 64, which n times are n * 2^i. */
__global__ void __launch_bounds__(THREADS_MAX, 1)
    combine_halves(chorus_bfloat16 *data, size_t count, int *bad)
{
    for (size_t i = threadIdx.x; i < count; i += blockDim.x)
        data[i] = ch_bf16_from_f32((float)(1 << i % 7));
    HOLDS(chorusx_bfloat16_sum_reduce_block(CHORUS_TEAM_WORLD, data, data, count) == CHORUS_OK);
    for (size_t i = threadIdx.x; i < count; i += blockDim.x)
        HOLDS(ch_bf16_to_f32(data[i]) == (float)(chorus_n_pes() << i % 7));
}

static const size_t counts[] = {1, 37, 3001, 70001};

static void try_collectives(chorus_team_t team, unsigned threads)
{
    const size_t most = 70001 * (size_t)gpu_n();
    int *bad = make<int>(1), *dest = make<int>(most), *source = make<int>(most);

    for (size_t count : counts) {
        if (team == CHORUS_TEAM_INVALID) break;
        run(move_all, threads, team, dest, source, count, bad);
        run(combine_all, threads, team, (float *)dest, (float *)source, count, bad);
        run(scatter_in_place, threads, team, source, count, bad);
    }
    chorus_free(source);
    chorus_free(dest);
    expect_none(bad);
}

void collectives_move_and_combine(void)
{
    int *bad;
    chorus_bfloat16 *halves;

    try_collectives(CHORUS_TEAM_WORLD, 256);
    if (getenv("CHORUS_TEST_SMALL") == 0) {
        try_collectives(CHORUS_TEAM_WORLD, 32);
        try_collectives(CHORUS_TEAM_WORLD, 20);
    }
    bad = make<int>(1);
    halves = make<chorus_bfloat16>(20001);
    run(combine_halves, THREADS, halves, (size_t)33, bad);
    run(combine_halves, THREADS, halves, (size_t)20001, bad);
    chorus_free(halves);
    expect_none(bad);
}

/* --- threads, warps and blocks ---------------------------------------------------------- */
/* A function by the block, its second warp, or its last thread. */
enum form { BY_BLOCK, BY_WARP, BY_THREAD, FORMS };
#define CALL(NAME, ...)                                                                       \
    do {                                                                                      \
        int code = CHORUS_OK;                                                                 \
                                                                                              \
        __syncthreads();                                                                      \
        if (F == BY_BLOCK) code = chorusx_##NAME##_block(__VA_ARGS__);                        \
        if (F == BY_WARP && threadIdx.x / 32 == 1) code = chorusx_##NAME##_warp(__VA_ARGS__); \
        if (F == BY_THREAD && threadIdx.x == blockDim.x - 1)                                  \
            code = chorus_##NAME(__VA_ARGS__);                                                \
        HOLDS(code == CHORUS_OK);                                                             \
        __syncthreads();                                                                      \
    } while (0)

template <form F>
__global__ void __launch_bounds__(THREADS_MAX, 1)
    share_by_form(int *dest, int *source, size_t count, int round, int *bad)
{
    const int me = chorus_my_pe(), n = chorus_n_pes(), root = round % n;

    fill(source, count, me, round);
    CALL(int_broadcast, CHORUS_TEAM_WORLD, dest, source, count, root);
    for (size_t i = threadIdx.x; i < count; i += blockDim.x)
        HOLDS(dest[i] == element(root, i, round));
    CALL(int_sum_reduce, CHORUS_TEAM_WORLD, dest, source, count);
    for (size_t i = threadIdx.x; i < count; i += blockDim.x)
        HOLDS(dest[i] == sum_of(n, i, round));
}

template <form F>
__global__ void __launch_bounds__(THREADS_MAX, 1)
    gather_by_form(int *dest, int *source, size_t count, int round, int *bad)
{
    const int me = chorus_my_pe(), n = chorus_n_pes();

    fill(source, count * n, me, round);
    CALL(int_fcollect, CHORUS_TEAM_WORLD, dest, source, count);
    for (size_t i = threadIdx.x; i < count * n; i += blockDim.x)
        HOLDS(dest[i] == element((int)(i / count), i % count, round));
    CALL(alltoallmem, CHORUS_TEAM_WORLD, dest, source, count * sizeof(int));
    for (size_t i = threadIdx.x; i < count * n; i += blockDim.x)
        HOLDS(dest[i] == element((int)(i / count), me * count + i % count, round));
}

/* PEs call by different forms at once. */
void forms_differ_among_pes(void)
{
    static void (*const share[])(int *, int *, size_t, int, int *) = {
        share_by_form<BY_BLOCK>, share_by_form<BY_WARP>, share_by_form<BY_THREAD>};
    static void (*const gather[])(int *, int *, size_t, int, int *) = {
        gather_by_form<BY_BLOCK>, gather_by_form<BY_WARP>, gather_by_form<BY_THREAD>};
    const size_t most = 3001 * (size_t)gpu_n();
    int *bad = make<int>(1), *dest = make<int>(most), *source = make<int>(most);

    for (size_t count : {(size_t)1, (size_t)37, (size_t)1500, (size_t)3001})
        for (int round = 0; round < ROUNDS; round++) {
            const int form = (round + gpu_me()) % FORMS;

            run(share[form], THREADS, dest, source, count, round, bad);
            run(gather[form], THREADS, dest, source, count, round, bad);
        }
    chorus_free(source);
    chorus_free(dest);
    expect_none(bad);
}

/* --- calls of one scope right after those of another ----------------------------------- */
/* A block's, then one of a warp of it and then of a thread of that, each warp and thread in
 * turn, with nothing between; the way back has the program's barrier. */
__global__ void __launch_bounds__(THREADS_MAX, 1)
    fewer_call_next(int *dest, int *source, size_t count, int *bad)
{
    const int me = chorus_my_pe(), n = chorus_n_pes(), warps = (int)blockDim.x / 32;
    int *const gathered = dest + count, *const one = gathered + count * n;

    for (int round = 0; round < 32 * ROUNDS / 4; round++) {
        const int lane = (int)threadIdx.x % 32;

        fill(source, count, me, round);
        HOLDS(chorusx_int_sum_reduce_block(CHORUS_TEAM_WORLD, dest, source, count) ==
              CHORUS_OK);
        if ((int)threadIdx.x / 32 == round % warps) {
            HOLDS(chorusx_int_fcollect_warp(CHORUS_TEAM_WORLD, gathered, source, count) ==
                  CHORUS_OK);
            if (lane == round % 32)
                HOLDS(chorus_int_broadcast(CHORUS_TEAM_WORLD, one, source, 1, round % n) ==
                      CHORUS_OK);
        }
        for (size_t i = threadIdx.x; i < count; i += blockDim.x)
            HOLDS(dest[i] == sum_of(n, i, round));
        __syncthreads();
        for (size_t i = threadIdx.x; i < count * n; i += blockDim.x)
            HOLDS(gathered[i] == element((int)(i / count), i % count, round));
        HOLDS(*one == element(round % n, 0, round));
        __syncthreads();
    }
}

/* What a thread, a warp and the block put, before a barrier of the block that follows at once;
 * and what the block put, before a signal of one thread that follows at once. */
__global__ void __launch_bounds__(THREADS_MAX, 1)
    put_and_meet(int *boxes, int *source, size_t count, uint64_t *signal, int *bad)
{
    const int me = chorus_my_pe(), n = chorus_n_pes(), next = (me + 1) % n,
              from = (me + n - 1) % n, warps = (int)blockDim.x / 32;
    int *const by_warp = boxes + 1, *const by_block = by_warp + count,
               *const signalled = by_block + count;

    for (int round = 1; round <= 2 * ROUNDS; round++) {
        fill(source, count, me, round);
        chorusx_int_put_block(by_block, source, count, next);
        if ((int)threadIdx.x / 32 == round % warps)
            chorusx_int_put_warp(by_warp, source, count, next);
        if ((int)threadIdx.x == round * 7 % (int)blockDim.x)
            chorus_int_put(boxes, source, 1, next);
        HOLDS(chorusx_barrier_block(CHORUS_TEAM_WORLD) == CHORUS_OK);
        HOLDS(boxes[0] == element(from, 0, round));
        for (size_t i = threadIdx.x; i < count; i += blockDim.x)
            HOLDS(by_warp[i] == element(from, i, round) &&
                  by_block[i] == element(from, i, round));
        chorusx_int_put_block(signalled, source, count, next);
        if ((int)threadIdx.x == round * 5 % (int)blockDim.x) {
            chorus_quiet();
            chorusx_signal_op(signal, (uint64_t)round, CHORUS_SIGNAL_SET, next);
        }
        if (threadIdx.x == 0)
            (void)chorus_signal_wait_until(signal, CHORUS_CMP_EQ, (uint64_t)round);
        __syncthreads();
        for (size_t i = threadIdx.x; i < count; i += blockDim.x)
            HOLDS(signalled[i] == element(from, i, round));
        HOLDS(chorusx_barrier_block(CHORUS_TEAM_WORLD) == CHORUS_OK); /* all have looked */
    }
}

void scopes_follow_at_once(void)
{
    const size_t most = 5001, all = most * (size_t)(gpu_n() + 2) + 1;
    int *bad = make<int>(1), *dest = make<int>(all + most), *source = make<int>(most);
    uint64_t *signal = make<uint64_t>(1);

    for (size_t count : {(size_t)1, (size_t)37, most}) {
        run(fewer_call_next, THREADS, dest, source, count, bad);
        gpu_meet(); /* all have looked at what others write into next */
        run(put_and_meet, THREADS, dest, source, count, signal, bad);
        gpu_meet();
        gpu_fill(signal, 0, sizeof(*signal));
        gpu_meet();
    }
    chorus_free(signal);
    chorus_free(source);
    chorus_free(dest);
    expect_none(bad);
}

/* --- teams, and calls by the host ------------------------------------------------------- */
__global__ void __launch_bounds__(THREADS_MAX, 1)
    ask(chorus_team_t team, int expected, int *bad)
{
    HOLDS(chorusx_barrier_block(team) == expected);
}

void kernels_know_new_teams(void)
{
    const int n = gpu_n(), parity = gpu_me() % 2;
    chorus_team_t team = CHORUS_TEAM_INVALID, other = CHORUS_TEAM_INVALID;
    int *bad = make<int>(1);

    EXPECT(chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, 2, (n + 1) / 2, 0, 0, &team) == 0);
    if (n > 1)
        EXPECT(chorus_team_split_strided(CHORUS_TEAM_WORLD, 1, 2, n / 2, 0, 0, &other) == 0);
    if (parity == 1) team = other;
    try_collectives(team, THREADS);
    run(ask, THREADS, team, (int)CHORUS_OK, bad);
    chorus_team_destroy(team);
    run(ask, THREADS, team, (int)CHORUS_ERR_ARG, bad);
    expect_none(bad);
}

void hosts_and_kernels_take_turns(void)
{
    const size_t count = 500;
    const float one = 1.0f;
    int *bad = make<int>(1);
    float *dest = make<float>(count * gpu_n()), *source = make<float>(count * gpu_n());

    for (int round = 0; round < 5; round++) {
        float found = 0;

        run(combine_all, THREADS, (chorus_team_t)CHORUS_TEAM_WORLD, dest, source, count, bad);
        gpu_copy(source, &one, sizeof(one));
        EXPECT(chorus_float_sum_reduce(CHORUS_TEAM_WORLD, dest, source, 1) == CHORUS_OK);
        gpu_copy(&found, dest, sizeof(found));
        EXPECT(found == (float)gpu_n());
        EXPECT(chorus_barrier(CHORUS_TEAM_WORLD) == CHORUS_OK);
    }
    chorus_free(source);
    chorus_free(dest);
    expect_none(bad);
}

/* --- several blocks --------------------------------------------------------------------- */
/* Block b on teams[b], all side by side. */
__global__ void __launch_bounds__(THREADS_MAX, 1)
    side_by_side(chorus_team_t one, chorus_team_t other, int *data, size_t count, int *bad)
{
    const chorus_team_t team = blockIdx.x == 0 ? one : other;
    const int me = chorus_team_my_pe(team), n = chorus_team_n_pes(team);
    int *const mine = data + blockIdx.x * count;

    for (int round = 0; round < ROUNDS; round++) {
        fill(mine, count, me, round);
        HOLDS(chorusx_int_sum_reduce_block(team, mine, mine, count) == CHORUS_OK);
        for (size_t i = threadIdx.x; i < count; i += blockDim.x)
            HOLDS(mine[i] == sum_of(n, i, round));
        HOLDS(chorusx_barrier_block(team) == CHORUS_OK);
    }
}

/* The same PEs again. */
static chorus_team_t same_pes(void)
{
    chorus_team_t team = CHORUS_TEAM_INVALID;

    EXPECT(chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, 1, gpu_n(), 0, 0, &team) == 0);
    return team;
}

void blocks_call_on_teams_of_their_own(void)
{
    const chorus_team_t one = same_pes(), other = same_pes();
    int *bad = make<int>(1), *data = make<int>(2 * 30001);

    for (size_t count : {(size_t)5, (size_t)30001})
        run_grid(side_by_side, 2, THREADS, one, other, data, count, bad);
    EXPECT(chorusx_stream_synchronize(0) == CHORUS_OK);
    chorus_team_destroy(other);
    chorus_team_destroy(one);
    chorus_free(data);
    expect_none(bad);
}

/*
 * Both blocks of PE 0 call. One is refused, and only then do the other PEs come, for whom the
 * one that was not has been waiting. Without others to wait for both may be served.
 */
__global__ void __launch_bounds__(THREADS_MAX, 1)
    both_call(chorus_team_t team, uint64_t *go, int *refused, int *bad)
{
    const int n = chorus_n_pes();
    int code;

    if (chorus_my_pe() != 0) {
        if (blockIdx.x != 0) return;
        if (threadIdx.x == 0) (void)chorus_signal_wait_until(go, CHORUS_CMP_EQ, 1);
        __syncthreads();
    }
    code = chorusx_barrier_block(team);
    if (threadIdx.x != 0) return;
    HOLDS(code == CHORUS_OK || (code == CHORUS_ERR_STATE && chorus_my_pe() == 0));
    if (code == CHORUS_OK) return;
    (void)atomicAdd(refused, 1);
    for (int pe = 1; pe < n; pe++)
        chorusx_signal_op(go, 1, CHORUS_SIGNAL_SET, pe);
}

void a_second_call_at_once_is_refused(void)
{
    const chorus_team_t team = same_pes();
    int *bad = make<int>(1), *refused = make<int>(1), n_refused = -1;
    uint64_t *go = make<uint64_t>(1);

    run_grid(both_call, 2, THREADS, team, go, refused, bad);
    EXPECT(chorusx_stream_synchronize(0) == CHORUS_OK); /* codes tell, not reports */
    gpu_copy(&n_refused, refused, sizeof(n_refused));
    if (gpu_n() > 1) EXPECT(n_refused == (gpu_me() == 0));
    run(ask, THREADS, team, (int)CHORUS_OK, bad); /* and the team lives on */
    chorus_team_destroy(team);
    chorus_free(go);
    chorus_free(refused);
    expect_none(bad);
}
