/* SPDX-License-Identifier: Apache-2.0 */
#include "coll/cuda/kernels.h"

#include "coll/algorithm.h"
#include "coll/cuda/kernel_table.h"
#include "coll/cuda/kernels_nvls.h"
#include "coll/operators.h"
#include "device/driver_cuda.h"

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

static const enum ch_kernel_id ids[CH_ALGO_COUNT] = {
#define X(coll, work, dest, proto, fn, kind, parts) [CH_ALGO_##fn] = CH_KERNEL_ID_##fn,
    CH_KERNEL_ROWS(X)
#undef X
};

const void *ch_kernel_of(const struct ch_call *call)
{
    const enum ch_kernel_id id = ids[call->algo->id];

    if (call->algo->needs & CH_NEED_multicast)
        return ch_nvls_kernel(id, call->asked->type, call->asked->op);
    if (call->algo->needs & CH_NEED_copy_engine) return ch_kernel_engine_enter;
    if (!ch_coll_reduces(call->algo->coll)) return ch_kernels_move[id];
    return combining[call->asked->type] == NULL ? NULL : combining[call->asked->type][id];
}

/* A kernel, and the number of its CTAs that fit on a multiprocessor; *least_ctas becomes the
 * smallest such number. */
static chorus_status load(const struct ch_device *device, const void *kernel,
                          uint32_t *least_ctas)
{
    struct cudaFuncAttributes is;
    int ctas = 0;

    if (kernel == NULL) return CHORUS_OK;
    CH_TRY_CUDA(device, "loading the library's kernels", cudaFuncGetAttributes(&is, kernel));
    CH_TRY_CUDA(
        device, "reading the occupancy of a kernel",
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&ctas, kernel, is.maxThreadsPerBlock, 0));
    if ((uint32_t)ctas < *least_ctas) *least_ctas = (uint32_t)ctas;
    return CHORUS_OK;
}

static chorus_status load_table(const struct ch_device *device, const ch_kernel_table table,
                                uint32_t *least_ctas)
{
    for (int id = 0; id < CH_KERNEL_ID_COUNT; id++)
        CH_TRY(load(device, table[id], least_ctas));
    return CHORUS_OK;
}

static chorus_status load_nvls(const struct ch_device *device, uint32_t *least_ctas)
{
    for (int id = 0; id < CH_KERNEL_ID_COUNT; id++)
        for (int type = 0; type < CHORUS_TYPE_COUNT; type++)
            for (int op = 0; op < CHORUS_OP_COUNT; op++)
                CH_TRY(load(
                    device,
                    ch_nvls_kernel((enum ch_kernel_id)id, (chorus_type)type, (chorus_op)op),
                    least_ctas));
    return CHORUS_OK;
}

chorus_status ch_kernels_load(const struct ch_device *device, uint32_t *ctas_out)
{
    const void *const others[] = {ch_kernel_engine_enter, ch_kernel_engine_leave,
                                  ch_kernel_check_begin, ch_kernel_check_end};

    *ctas_out = UINT32_MAX;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        CH_TRY(load(device, others[i], ctas_out));
    CH_TRY(load_table(device, ch_kernels_move, ctas_out));
    for (int type = 0; type < CHORUS_TYPE_COUNT; type++)
        if (combining[type] != NULL) CH_TRY(load_table(device, combining[type], ctas_out));
    return ch_device_id_of(device)->has_multicast ? load_nvls(device, ctas_out) : CHORUS_OK;
}
