/* SPDX-License-Identifier: Apache-2.0 */
#include "coll/kernels.h"

#include "coll/kernels_nvls.h"
#include "coll/operators.h"
#include "heap/runtime_cuda.h"

extern const ch_kernel_table ch_kernels_move;
#define X(T, ctype, CLASS, bytes) \
    CH_ON_GPU(CLASS, bytes, extern const ch_kernel_table ch_kernels_##T;)
CHORUS_TYPE_LIST(X)
#undef X

static const void *const *const combining[CHORUS_TYPE_COUNT] = {
#define X(T, ctype, CLASS, bytes) CH_ON_GPU(CLASS, bytes, [CHORUS_TYPE_##T] = ch_kernels_##T, )
    CHORUS_TYPE_LIST(X)
#undef X
};

static bool combines(const struct ch_algo *algo)
{
    return algo->coll == CHORUS_COLL_reduce || algo->coll == CHORUS_COLL_reducescatter;
}

const void *ch_kernel_of(const struct ch_call *call)
{
    const void *nvls = call->team->multicast == 0
                           ? NULL
                           : ch_nvls_kernel(call->algo->id, call->type, call->op);

    if (nvls != NULL) return nvls;
    if (!combines(call->algo)) return ch_kernels_move[call->algo->id];
    return combining[call->type] == NULL ? NULL : combining[call->type][call->algo->id];
}

static chorus_status load(const struct ch_device *device, const void *kernel)
{
    struct cudaFuncAttributes is;

    if (kernel == NULL) return CHORUS_OK;
    CH_TRY_CUDA(device, "loading the library's kernels", cudaFuncGetAttributes(&is, kernel));
    return CHORUS_OK;
}

static chorus_status load_table(const struct ch_device *device, const ch_kernel_table table)
{
    for (int id = 0; id < CH_ALGO_COUNT; id++)
        CH_TRY(load(device, table[id]));
    return CHORUS_OK;
}

static chorus_status load_nvls(const struct ch_device *device)
{
    for (int id = 0; id < CH_ALGO_COUNT; id++)
        for (int type = 0; type < CHORUS_TYPE_COUNT; type++)
            for (int op = 0; op < CHORUS_OP_COUNT; op++)
                CH_TRY(load(device, ch_nvls_kernel((enum ch_algo_id)id, (chorus_type)type,
                                                   (chorus_op)op)));
    return CHORUS_OK;
}

chorus_status ch_kernels_load(const struct ch_device *device)
{
    CH_TRY(load(device, ch_kernel_engine_enter));
    CH_TRY(load(device, ch_kernel_engine_leave));
    CH_TRY(load_table(device, ch_kernels_move));
    for (int type = 0; type < CHORUS_TYPE_COUNT; type++)
        if (combining[type] != NULL) CH_TRY(load_table(device, combining[type]));
    return ch_device_id_of(device)->has_multicast ? load_nvls(device) : CHORUS_OK;
}
