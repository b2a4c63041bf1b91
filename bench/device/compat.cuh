/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compat.cuh: this library by NVSHMEM's names and headers, in the form that kernels.cuh uses.
 * Kernels are launched as most programs for NVSHMEM launch theirs.
 */
#ifndef CH_BENCH_DEVICE_COMPAT_CUH
#define CH_BENCH_DEVICE_COMPAT_CUH

#include <nvshmem.h>
#include <nvshmemx.h>

#define LIBRARY "compat"
#define CALL(name) nvshmem_##name
#define CALLX(name) nvshmemx_##name
#define CONSTANT(name) NVSHMEM_##name
#define PLAIN_LAUNCH

/* The library of the job is initialised already. */
static bool library_open(int me, int n)
{
    (void)me, (void)n;
    return true;
}

static bool library_has_room(const void *kernel, unsigned ctas, unsigned threads)
{
    (void)kernel, (void)ctas, (void)threads;
    return true;
}

static void library_close(void)
{
}

#endif /* CH_BENCH_DEVICE_COMPAT_CUH */
