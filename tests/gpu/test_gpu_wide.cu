/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_gpu_wide.cu: kernels of 1,024 threads make calls, which leaves 64 registers for a
 * thread. They have no launch bounds, as those that tests/test_gpu_calls.py compiles.
 */
#include "test_gpu_device.cuh"

enum { WIDE = 1024, COUNT = 100000 };

__device__ int element(int pe, int i, int round)
{
    return (pe * 7 + i % 97 * 3 + round) % 31;
}

__global__ void fill(int *source, int round)
{
    for (int i = (int)threadIdx.x; i < COUNT; i += (int)blockDim.x)
        source[i] = element(chorus_my_pe(), i, round);
}

__global__ void compare(const int *dest, int pe, int round, int *bad)
{
    for (int i = (int)threadIdx.x; i < COUNT; i += (int)blockDim.x)
        HOLDS(dest[i] == element(pe, i, round));
}

__global__ void put(int *dest, const int *source, size_t count, int pe)
{
    chorusx_int_put_block(dest, source, count, pe);
}

__global__ void get(int *dest, const int *source, size_t count, int pe)
{
    chorusx_int_get_block(dest, source, count, pe);
}

__global__ void meet(int *code)
{
    const int found = chorusx_barrier_block(CHORUS_TEAM_WORLD);

    if (found != CHORUS_OK) *code = found;
}

static void a_put_a_get_and_a_barrier_fit(void)
{
    const int next = (gpu_me() + 1) % gpu_n(), last = (gpu_me() + gpu_n() - 1) % gpu_n();
    int *bad = make<int>(1), *dest = make<int>(COUNT), *source = make<int>(COUNT);

    for (int round = 0; round < ROUNDS; round++) {
        run(fill, WIDE, source, round);
        run(put, WIDE, dest, (const int *)source, (size_t)COUNT, next);
        run(meet, WIDE, bad);
        run(compare, WIDE, (const int *)dest, last, round, bad);
        run(meet, WIDE, bad); /* all have read */
        run(get, WIDE, dest, (const int *)source, (size_t)COUNT, next);
        run(compare, WIDE, (const int *)dest, next, round, bad);
        run(meet, WIDE, bad);
    }
    chorus_free(source);
    chorus_free(dest);
    expect_none(bad);
}

__global__ void combine(int *dest, const int *source, size_t count, int *bad)
{
    HOLDS(chorusx_int_sum_reduce_block(CHORUS_TEAM_WORLD, dest, source, count) == CHORUS_OK);
}

__global__ void scatter(int *dest, const int *source, size_t count, int *bad)
{
    HOLDS(chorusx_int_sum_reducescatter_block(CHORUS_TEAM_WORLD, dest, source, count) ==
          CHORUS_OK);
}

/* dest[i] is the sum of element `first` + i. */
__global__ void compare_sums(const int *dest, int count, int first, int round, int *bad)
{
    const int n = chorus_n_pes();

    for (int i = (int)threadIdx.x; i < count; i += (int)blockDim.x) {
        int sum = 0;

        for (int pe = 0; pe < n; pe++)
            sum += element(pe, first + i, round);
        HOLDS(dest[i] == sum);
    }
}

static void a_reduce_and_a_reducescatter_fit(void)
{
    int *bad = make<int>(1), *dest = make<int>(COUNT), *source = make<int>(COUNT);

    for (int count : {1, 1000, COUNT + 0})
        for (int round = 0; round < ROUNDS; round++) {
            const int block = count < gpu_n() ? 1 : count / gpu_n();

            run(fill, WIDE, source, round);
            run(combine, WIDE, dest, (const int *)source, (size_t)count, bad);
            run(compare_sums, WIDE, (const int *)dest, count, 0, round, bad);
            run(scatter, WIDE, dest, (const int *)source, (size_t)block, bad);
            run(compare_sums, WIDE, (const int *)dest, block, gpu_me() * block, round, bad);
        }
    chorus_free(source);
    chorus_free(dest);
    expect_none(bad);
}

#define CASES(X)                     \
    X(a_put_a_get_and_a_barrier_fit) \
    X(a_reduce_and_a_reducescatter_fit)
GPU_MAIN(CASES)
