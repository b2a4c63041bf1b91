/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_collectives.cpp: a host program that queues collectives on a stream, as training
 * frameworks do; compiled by the compiler of C++, with CUDA's runtime but without kernels.
 */
#include "program.h"

#include <cuda_runtime_api.h>
#include <nvshmem.h>
#include <nvshmemx.h>

#include <vector>

static int n_wrong;

static void check(cudaError_t error)
{
    if (error == cudaSuccess) return;
    fprintf(stderr, "stream_collectives: %s\n", cudaGetErrorString(error));
    exit(EXIT_FAILURE);
}

static int value(int pe, int round, size_t i)
{
    return pe * 10007 + round * 101 + (int)i;
}

/* Compare what the stream has written with what a function expects. */
template <typename Expected>
static void expect(const int *dest, size_t count, cudaStream_t stream, Expected expected)
{
    std::vector<int> got(count);

    check(
        cudaMemcpyAsync(got.data(), dest, count * sizeof(int), cudaMemcpyDeviceToHost, stream));
    check(cudaStreamSynchronize(stream));
    for (size_t i = 0; i < count; i++)
        if (got[i] != expected(i)) n_wrong++;
}

int main()
{
    const size_t count = 1234;
    const nvshmem_team_t team = NVSHMEM_TEAM_WORLD;
    int n_gpus = 0;
    cudaStream_t stream;

    nvshmem_init();
    const int me = nvshmem_my_pe(), n = nvshmem_n_pes();
    const size_t all = count * (size_t)n;
    check(cudaGetDeviceCount(&n_gpus));
    check(cudaSetDevice(nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE) % n_gpus));
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    int *const source = (int *)nvshmem_malloc(all * sizeof(int));
    int *const dest = (int *)nvshmem_malloc(all * sizeof(int));
    std::vector<int> mine(all);
    for (int round = 0; round < 4; round++) {
        const int root = round % n;
        const auto poison = [&] {
            check(cudaMemsetAsync(dest, 0xa5, all * sizeof(int), stream));
            nvshmemx_barrier_on_stream(team, stream);
        };

        for (size_t i = 0; i < all; i++)
            mine[i] = value(me, round, i);
        check(cudaMemcpyAsync(source, mine.data(), all * sizeof(int), cudaMemcpyHostToDevice,
                              stream));
        poison();
        nvshmemx_int_broadcast_on_stream(team, dest, source, count, root, stream);
        expect(dest, count, stream, [&](size_t i) { return value(root, round, i); });
        poison();
        nvshmemx_int_fcollect_on_stream(team, dest, source, count, stream);
        expect(dest, all, stream,
               [&](size_t i) { return value((int)(i / count), round, i % count); });
        poison();
        nvshmemx_int_alltoall_on_stream(team, dest, source, count, stream);
        expect(dest, all, stream, [&](size_t i) {
            return value((int)(i / count), round, (size_t)me * count + i % count);
        });
        poison();
        nvshmemx_int_max_reduce_on_stream(team, dest, source, count, stream);
        expect(dest, count, stream, [&](size_t i) { return value(n - 1, round, i); });
        poison();
        nvshmemx_int_sum_reducescatter_on_stream(team, dest, source, count, stream);
        expect(dest, count, stream, [&](size_t i) {
            int sum = 0;
            for (int pe = 0; pe < n; pe++)
                sum += value(pe, round, (size_t)me * count + i);
            return sum;
        });
        nvshmemx_sync_all_on_stream(stream);
    }
    check(cudaStreamSynchronize(stream));
    nvshmem_free(dest);
    nvshmem_free(source);
    nvshmem_finalize();
    return program_end("stream_collectives", me, n, n_wrong);
}
