/* SPDX-License-Identifier: Apache-2.0 */
/* chorus.cuh: this library, in the form that kernels.cuh uses. */
#ifndef CH_BENCH_DEVICE_CHORUS_CUH
#define CH_BENCH_DEVICE_CHORUS_CUH

#include "bench/device/own.cuh"
#include "chorus/chorus_device.cuh"

#define LIBRARY "chorus"
#define CALL(name) chorus_##name
#define CALLX(name) chorusx_##name
#define CONSTANT(name) CHORUS_##name

#endif /* CH_BENCH_DEVICE_CHORUS_CUH */
