/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program of NVSHMEM with kernels, by NVSHMEM's names: calls by a thread, a warp and a block,
 * each with its result checked; launched as NVSHMEM launches, on the largest grid.
 */
#include <nvshmem.h>

#include <dlfcn.h>
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

struct more {
    double2 largest[1];
    double total;
    int from_qp, block[N], source[N], code, major, minor, has_multicast;
    half halves[2];
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

/* What differs from chorus_device.cuh: maxloc, barriers of warpgroups, queue pairs, atomics of
 * floating numbers, flush, and calls of the host inside kernels. */
__global__ void further_work(struct more *m, const nvshmemx_qp_handle_t *qps)
{
    const int me = nvshmem_my_pe(), n = nvshmem_n_pes(), next = (me + 1) % n;
    const double2 mine = {(double)(me / 2), (double)(10 - me)};

    if (threadIdx.x == 0) {
        nvshmemx_qp_int_p(&m->from_qp, 7 + me, next, qps[0]);
        nvshmemx_qp_quiet(next, NULL, 1);
        nvshmemx_half_atomic_add(&m->halves[1], __float2half(0.5f), 0);
        nvshmemx_double_atomic_add(&m->total, 0.5, 0);
        nvshmem_info_get_version(&m->major, &m->minor);
        m->has_multicast = nvshmemx_mc_ptr(NVSHMEM_TEAM_WORLD, m) != NULL;
        m->largest[0] = mine;
    }
    nvshmemx_flush_block();
    if (threadIdx.x / 128 == 1) m->code = nvshmemx_barrier_warpgroup(NVSHMEM_TEAM_WORLD);
    __syncthreads();
    (void)nvshmemx_double2_maxloc_reduce_block(NVSHMEM_TEAM_WORLD, m->largest, m->largest, 1);
    nvshmemx_qp_int_put_block(m->block, m->source, N, next, qps[1]);
    nvshmemx_barrier_all_block();
}

static void further(void)
{
    const int me = nvshmem_my_pe(), n = nvshmem_n_pes(), previous = (me + n - 1) % n;
    struct more here = {};
    struct more *m = (struct more *)nvshmem_malloc(sizeof(*m));
    nvshmemx_qp_handle_t *qps = NULL;
    void *args[] = {&m, &qps};
    nvshmemx_collective_launch_attr_t attr = {};

    here.code = -1;
    here.source[N - 1] = 30 + me;
    expect(nvshmemx_qp_create(2, &qps) == NVSHMEMX_SUCCESS && qps[1] == NVSHMEMX_QP_DEFAULT,
           "queue pairs");
    expect(cudaMemcpy(m, &here, sizeof(here), cudaMemcpyHostToDevice) == cudaSuccess, "copy");
    attr.cuda_config.gridDim = 1;
    attr.cuda_config.blockDim = 256;
    nvshmem_barrier_all();
    expect(nvshmemx_collective_launch_attr(&attr, (const void *)further_work, args) ==
               NVSHMEMX_SUCCESS,
           "collective_launch_attr");
    nvshmemx_barrier_all_on_stream(0);
    expect(chorusx_stream_synchronize(0) == 0, "kernel");
    expect(cudaMemcpy(&here, m, sizeof(here), cudaMemcpyDeviceToHost) == cudaSuccess, "copy");
    expect(here.from_qp == 7 + previous && here.block[N - 1] == 30 + previous, "queue pairs");
    expect(here.code == 0, "the barrier of a warpgroup");
    expect(here.largest[0].x == (n - 1) / 2 && here.largest[0].y == 10 - (n - 1), "maxloc");
    expect(here.major == NVSHMEM_MAJOR_VERSION && !here.has_multicast, "version, multicast");
    expect(me != 0 || (here.total == 0.5 * n && __half2float(here.halves[1]) == 0.5f * n),
           "sums");
    nvshmem_barrier_all();
    nvshmem_free(m);
}

/* A function of the driver, whose library does not exist where there is no GPU. */
#define DRIVER(name) ((decltype(&name))dlsym(dlopen("libcuda.so.1", RTLD_NOW), #name))

/* The kernel of a file that the program loads as a module and as a library. */
static void modules(const char *path, int *word)
{
    const int me = nvshmem_my_pe(), n = nvshmem_n_pes();
    CUlibrary library;
    CUmodule module;
    CUkernel kernel;
    CUfunction function;

    expect(DRIVER(cuModuleLoad)(&module, path) == CUDA_SUCCESS &&
               DRIVER(cuModuleGetFunction)(&function, module, "pass_on") == CUDA_SUCCESS,
           "a module");
    expect(DRIVER(cuLibraryLoadFromFile)(&library, path, NULL, NULL, 0, NULL, NULL, 0) ==
                   CUDA_SUCCESS &&
               DRIVER(cuLibraryGetKernel)(&kernel, library, "pass_on") == CUDA_SUCCESS,
           "a library");
    expect(nvshmemx_cumodule_init(module) == NVSHMEMX_SUCCESS, "cumodule_init");
    expect(nvshmemx_culibrary_init(library) == NVSHMEMX_SUCCESS, "culibrary_init");
    for (int round = 0; round < 2; round++) {
        int value = 40 + 10 * round, got = 0;
        void *args[] = {&word, &value};

        expect(DRIVER(cuLaunchKernel)(round == 0 ? function : (CUfunction)kernel, 1, 1, 1, 1, 1,
                                      1, 0, 0, args, NULL) == CUDA_SUCCESS &&
                   cudaStreamSynchronize(0) == cudaSuccess,
               "its kernel");
        nvshmem_barrier_all();
        expect(cudaMemcpy(&got, word, sizeof(got), cudaMemcpyDeviceToHost) == cudaSuccess &&
                   got == value + (me + n - 1) % n,
               "what it puts");
        nvshmem_barrier_all();
    }
    expect(nvshmemx_cumodule_finalize(module) == NVSHMEMX_SUCCESS, "cumodule_finalize");
    expect(nvshmemx_culibrary_finalize(library) == NVSHMEMX_SUCCESS, "culibrary_finalize");
    expect(nvshmemx_cumodule_init(NULL) != NVSHMEMX_SUCCESS, "no module is refused");
    expect(DRIVER(cuModuleUnload)(module) == CUDA_SUCCESS &&
               DRIVER(cuLibraryUnload)(library) == CUDA_SUCCESS,
           "their end");
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

int main(int argc, char **argv)
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
    further();
    wait_on_stream(r);
    if (argc > 1) modules(argv[1], &r->from_p);
    nvshmem_free(r);
    nvshmem_finalize();
    return 0;
}
