/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls.cu: calls inside kernels as functions of C, for kernels that other compilers than nvcc
 * make. It is compiled to PTX, LTO-IR and bitcode of LLVM, which programs link to their
 * kernels. The state has a name that the driver finds: ch_state; the program passes its address
 * to chorusx_module_give.
 */
#define CH_STATE_SCOPE /* external */
#include "chorus/chorus_device.cuh"

#define NVSHMEM_CALLS_HALF chorus_half
#define NVSHMEM_CALLS_BFLOAT16 chorus_bfloat16
#include "compat/nvshmem_calls.cuh"

static_assert((int)NVSHMEM_SIGNAL_ADD == (int)CHORUS_SIGNAL_ADD &&
                  (int)NVSHMEM_TEAM_WORLD == (int)CHORUS_TEAM_WORLD &&
                  (int)NVSHMEM_CMP_EQ == (int)CHORUS_CMP_EQ &&
                  (int)NVSHMEM_CMP_NE == (int)CHORUS_CMP_NE &&
                  (int)NVSHMEM_CMP_GT == (int)CHORUS_CMP_GT &&
                  (int)NVSHMEM_CMP_GE == (int)CHORUS_CMP_GE &&
                  (int)NVSHMEM_CMP_LT == (int)CHORUS_CMP_LT &&
                  (int)NVSHMEM_CMP_LE == (int)CHORUS_CMP_LE,
              "nvshmem_calls.cuh has the values of chorus.h");

#define DEFINE_F(R, X, NAME, parameters, arguments)        \
    extern "C" __device__ R nvshmem##X##_##NAME parameters \
    {                                                      \
        return chorus##X##_##NAME arguments;               \
    }
#define DEFINE_P(X, NAME, parameters, arguments)              \
    extern "C" __device__ void nvshmem##X##_##NAME parameters \
    {                                                         \
        chorus##X##_##NAME arguments;                         \
    }
NVSHMEM_CALLS(DEFINE_F, DEFINE_P)
