/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program of NVSHMEM with kernels, by NVSHMEM's names: calls by a thread, a warp and a block,
 * each with its result checked; launched as NVSHMEM launches, on the largest grid.
 */
#include <nvshmem.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { N = 64, SKIP = 77 };

static void expect(bool holds, const char *what)
{
    if (holds) return;
    (void)fprintf(stderr, "PE %d: %s; %s\n", nvshmem_my_pe(), what, chorusx_last_error());
    nvshmem_global_exit(1);
}

/* What each PE has; symmetric. */
struct room {
    int from_p, from_get, from_block[N], from_warp[N], from_stride[N], sum[N], gathered[N];
    int source[N];
    unsigned long long counter;
    uint64_t signal, seen;
    short shorts[3];
    long longs[3], values[3];
    int status[3];
};

/* The grid's other blocks count alone. */
__global__ void work(struct room *r)
{
    const int me = nvshmem_my_pe(), n = nvshmem_n_pes(), next = (me + 1) % n;

    if (threadIdx.x == 0) nvshmem_ulonglong_atomic_inc(&r->counter, next);
    if (blockIdx.x != 0) return;
    if (threadIdx.x == 0) {
        nvshmem_int_p(&r->from_p, me, next);
        r->from_get = nvshmem_int_g(&r->source[1], next);
        nvshmem_int_iput(r->from_stride, r->source, 2, 3, 4, next);
        nvshmem_quiet();
    }
    nvshmemx_int_put_block(r->from_block, r->source, N, next);
    nvshmemx_barrier_all_block();
    if (threadIdx.x < 32) {
        nvshmemx_int_put_signal_warp(r->from_warp, r->source, N, &r->signal, 7,
                                     NVSHMEM_SIGNAL_SET, next);
        if (threadIdx.x == 0)
            r->seen = nvshmem_signal_wait_until(&r->signal, NVSHMEM_CMP_EQ, 7);
    }
    __syncthreads();
    (void)nvshmemx_int_sum_reduce_block(NVSHMEM_TEAM_WORLD, r->sum, r->source, N);
    (void)nvshmemx_int_fcollect_block(NVSHMEM_TEAM_WORLD, r->gathered, r->source, 1);
    nvshmem_fence();
}

static void check(const struct room *r, int grid)
{
    const int me = nvshmem_my_pe(), n = nvshmem_n_pes(), next = (me + 1) % n,
              previous = (me + n - 1) % n;

    expect(r->from_p == previous && r->from_get == 100 * next + 1, "p and g");
    expect(r->seen == 7 && r->counter == (unsigned long long)grid, "signal and atomics");
    for (int i = 0; i < N; i++) {
        expect(r->from_block[i] == 100 * previous + i, "put by a block");
        expect(r->from_warp[i] == 100 * previous + i, "put by a warp");
        expect(r->sum[i] == 50 * n * (n - 1) + n * i, "sum");
    }
    for (int i = 0; i < 4; i++)
        expect(r->from_stride[2 * i] == 100 * previous + 3 * i, "put with strides");
    for (int pe = 0; pe < n; pe++)
        expect(r->gathered[pe] == 100 * pe, "fcollect");
}

/* Waits on a stream: by the front end, and by a kernel for other words and comparisons. None
 * ends before the words are there, of which the second is left out. */
static void wait_on_stream(struct room *r)
{
    const int next = (nvshmem_my_pe() + 1) % nvshmem_n_pes();
    const short negative = -1;
    const int status = 0;
    cudaStream_t stream;

    expect(cudaStreamCreate(&stream) == cudaSuccess, "a stream");
    nvshmemx_signal_wait_until_on_stream(&r->signal, NVSHMEM_CMP_GE, 8, stream);
    nvshmemx_short_wait_until_on_stream(&r->shorts[0], NVSHMEM_CMP_LT, 0, stream);
    nvshmemx_short_wait_until_all_on_stream(r->shorts, 3, r->status, NVSHMEM_CMP_EQ, negative,
                                            stream);
    nvshmemx_long_wait_until_all_vector_on_stream(r->longs, 3, r->status, NVSHMEM_CMP_EQ,
                                                  r->values, stream);
    nvshmemx_signal_wait_until_on_stream(&r->signal, NVSHMEM_CMP_NE, 8, stream);
    nvshmem_barrier_all();
    expect(cudaStreamQuery(stream) == cudaErrorNotReady, "a wait that ended early");
    nvshmemx_signal_op(&r->signal, 8, NVSHMEM_SIGNAL_SET, next);
    nvshmem_short_p(&r->shorts[0], negative, next);
    nvshmem_short_p(&r->shorts[2], negative, next);
    nvshmem_long_p(&r->longs[0], 70, next);
    nvshmem_long_p(&r->longs[2], -72, next);
    nvshmem_barrier_all();
    (void)usleep(100000);
    expect(cudaStreamQuery(stream) == cudaErrorNotReady, "the last wait ended early");
    nvshmem_barrier_all(); /* every PE has looked */
    nvshmemx_signal_op(&r->signal, 9, NVSHMEM_SIGNAL_SET, next);
    expect(nvshmemx_long_g_on_stream(&r->longs[2], next, stream) == -72, "g on a stream");
    expect(chorusx_short_wait_until_all_on_stream(r->shorts, 1, &status, NVSHMEM_CMP_EQ,
                                                  negative,
                                                  (chorus_stream_t)stream) == CHORUS_ERR_ARG,
           "a status that the GPU does not reach is refused");
    expect(cudaStreamDestroy(stream) == cudaSuccess, "its end");
}

/* PEs whose GPU is this PE's. */
static int count_sharing(void)
{
    enum { BUS_BYTES = 16 };
    char *bus = (char *)nvshmem_calloc(1, BUS_BYTES);
    char mine[BUS_BYTES] = "", theirs[BUS_BYTES];
    int device = 0, n_sharing = 0;

    expect(bus != NULL && cudaGetDevice(&device) == cudaSuccess &&
               cudaDeviceGetPCIBusId(mine, BUS_BYTES, device) == cudaSuccess &&
               cudaMemcpy(bus, mine, BUS_BYTES, cudaMemcpyHostToDevice) == cudaSuccess,
           "the name of the GPU");
    nvshmem_barrier_all();
    for (int pe = 0; pe < nvshmem_n_pes(); pe++) {
        nvshmem_getmem(theirs, bus, BUS_BYTES, pe);
        n_sharing += strncmp(mine, theirs, BUS_BYTES) == 0;
    }
    nvshmem_free(bus);
    return n_sharing;
}

/* What NVSHMEM's largest grid of a kernel has, of this PE's part of the GPU. */
static int blocks_at_once(const void *kernel, int threads)
{
    int device = 0, multiprocessors = 0, of_one = 0;

    expect(cudaGetDevice(&device) == cudaSuccess &&
               cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount,
                                      device) == cudaSuccess &&
               cudaOccupancyMaxActiveBlocksPerMultiprocessor(&of_one, kernel, threads, 0) ==
                   cudaSuccess,
           "the room for a kernel");
    return multiprocessors * of_one / count_sharing();
}

int main(void)
{
    struct room here = {};
    struct room *r;
    int grid = 0, devices = 0;
    void *args[] = {&r};

    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        (void)puts("no GPU here");
        return SKIP;
    }
    nvshmem_init();
    r = (struct room *)nvshmem_malloc(sizeof(*r));
    expect(r != NULL, "malloc");
    for (int i = 0; i < N; i++)
        here.source[i] = 100 * nvshmem_my_pe() + i;
    here.status[1] = 1;
    here.values[0] = 70;
    here.values[2] = -72;
    expect(cudaMemcpy(r, &here, sizeof(here), cudaMemcpyHostToDevice) == cudaSuccess, "copy");
    expect(nvshmemx_cumodule_init(NULL) == NVSHMEMX_SUCCESS, "cumodule_init");
    expect(nvshmemx_collective_launch_query_gridsize((const void *)work, 64, args, 0, &grid) ==
                   NVSHMEMX_SUCCESS &&
               grid > 0 && grid == blocks_at_once((const void *)work, 64),
           "query_gridsize");
    nvshmem_barrier_all();
    expect(nvshmemx_collective_launch((const void *)work, grid, 64, args, 0, 0) ==
               NVSHMEMX_SUCCESS,
           "collective_launch");
    expect(nvshmemx_collective_launch((const void *)work, (grid + 1) * nvshmem_n_pes(), 64,
                                      args, 0, 0) != NVSHMEMX_SUCCESS,
           "a grid that is too large, also if this PE had the GPU alone, is refused");
    nvshmemx_quiet_on_stream(0);
    nvshmemx_barrier_all_on_stream(0);
    expect(chorusx_stream_synchronize(0) == 0, "kernel");
    expect(cudaMemcpy(&here, r, sizeof(here), cudaMemcpyDeviceToHost) == cudaSuccess,
           "copy back");
    check(&here, grid);
    wait_on_stream(r);
    expect(nvshmemx_cumodule_finalize(NULL) == NVSHMEMX_SUCCESS, "cumodule_finalize");
    nvshmem_free(r);
    nvshmem_finalize();
    return 0;
}
