/* SPDX-License-Identifier: Apache-2.0 */
#include "apps/moe_gpu_fake.h"

#include "apps/kernel_fake.h"

#include "apps/moe_kernel_cuda.h"

/* Elsewhere it is moe_fake_heap_info, whose declaration is that of the header. */
#undef chorusx_heap_info
int chorusx_heap_info(chorusx_heap_info_t *info_out);

static _Thread_local struct moe_fake of_pe = {CHORUS_HEAP_host, 1, 32};

struct moe_fake *moe_fake(void)
{
    return &of_pe;
}

int moe_fake_heap_info(chorusx_heap_info_t *info_out)
{
    const int code = chorusx_heap_info(info_out);

    info_out->heap = of_pe.heap;
    return code;
}

struct call {
    const struct ch_moe_gpu *moe;
    const void *of;
};

static void run_dispatch(void *arg)
{
    const struct call *call = arg;

    ch_moe_dispatch_kernel(call->moe, call->of);
}

static void run_combine(void *arg)
{
    const struct call *call = arg;

    ch_moe_combine_kernel(call->moe, call->of);
}

static void run_end(void *arg)
{
    const struct call *call = arg;

    ch_moe_end_kernel(call->moe);
}

int ch_moe_gpu_dispatch(const struct ch_moe_gpu *moe, const struct ch_moe_gpu_dispatch *call,
                        void *stream)
{
    struct call with = {moe, call};

    (void)stream;
    fake_launch(run_dispatch, &with, of_pe.blocks, of_pe.threads);
    return CHORUS_OK;
}

int ch_moe_gpu_combine(const struct ch_moe_gpu *moe, const struct ch_moe_gpu_combine *call,
                       void *stream)
{
    struct call with = {moe, call};

    (void)stream;
    fake_launch(run_combine, &with, of_pe.blocks, of_pe.threads);
    return CHORUS_OK;
}

int ch_moe_gpu_end(const struct ch_moe_gpu *moe, void *stream)
{
    struct call with = {moe, NULL};

    (void)stream;
    fake_launch(run_end, &with, 1, of_pe.threads);
    return CHORUS_OK;
}
