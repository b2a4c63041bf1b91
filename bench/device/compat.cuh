/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compat.cuh: this library by NVSHMEM's names and headers, in the form that kernels.cuh uses.
 * Kernels are launched as most programs for NVSHMEM launch theirs.
 */
#ifndef CH_BENCH_DEVICE_COMPAT_CUH
#define CH_BENCH_DEVICE_COMPAT_CUH

#include "bench/device/own.cuh"

#include <nvshmem.h>
#include <nvshmemx.h>

#define LIBRARY "compat"
#define CALL(name) nvshmem_##name
#define CALLX(name) nvshmemx_##name
#define CONSTANT(name) NVSHMEM_##name
#define PLAIN_LAUNCH

#endif /* CH_BENCH_DEVICE_COMPAT_CUH */
