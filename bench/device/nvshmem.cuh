/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvshmem.cuh: NVSHMEM, in the form that kernels.cuh uses. The job is one of Chorus, with a
 * heap in host memory: it distributes the unique id with which NVSHMEM starts.
 */
#ifndef CH_BENCH_DEVICE_NVSHMEM_CUH
#define CH_BENCH_DEVICE_NVSHMEM_CUH

#include "bench/device/job.h"

#include <nvshmem.h>
#include <nvshmemx.h>
#include <stdlib.h>

#define LIBRARY "nvshmem"
#define CALL(name) nvshmem_##name
#define CALLX(name) nvshmemx_##name
#define CONSTANT(name) NVSHMEM_##name

/* NVLink multicast is disabled, NVSHMEM's own collectives are measured and not those of NCCL,
 * and all connections are on this host, unless the user's variables say otherwise. */
static void set_environment(void)
{
    (void)setenv("NVSHMEM_DISABLE_NVLS", "1", 0);
    (void)setenv("NVSHMEM_DISABLE_NCCL", "1", 0);
    (void)setenv("NVSHMEM_REMOTE_TRANSPORT", "none", 0);
    (void)setenv("NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME", "lo", 0);
    (void)setenv("NVSHMEM_SYMMETRIC_SIZE", "1G", 0);
}

static bool library_open(int me, int n)
{
    nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
    nvshmemx_init_attr_t attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
    int gpus = 0;

    set_environment();
    if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) return false;
    if (cudaSetDevice(me % gpus) != cudaSuccess) return false;
    if (me == 0 && nvshmemx_get_uniqueid(&id) != 0) return false;
    job_share(&id, sizeof(id));
    return nvshmemx_set_attr_uniqueid_args(me, n, &id, &attributes) == 0 &&
           nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attributes) == 0;
}

/* Can all blocks run at once? A PE that shares its GPU has a part of it. */
static bool library_has_room(const void *kernel, unsigned ctas, unsigned threads)
{
    int most = 0;

    return nvshmemx_collective_launch_query_gridsize(kernel, dim3(threads), 0, 0, &most) == 0 &&
           ctas <= (unsigned)most;
}

static void library_close(void)
{
    nvshmem_finalize();
}

#endif /* CH_BENCH_DEVICE_NVSHMEM_CUH */
