/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_none.c: a build without CUDA has no heap on GPUs, and so no way there. */
#include "transport/transport.h"

static chorus_status absent_open(struct ch_heap *heap, const struct ch_patience *patience,
                                 struct ch_transport **self_out)
{
    (void)heap, (void)patience, (void)self_out;
    return CH_FAIL(CHORUS_ERR_UNSUPPORTED, "this library was built without CUDA");
}

static void absent_close(struct ch_transport *self)
{
    (void)self;
}

const struct ch_transport_ops ch_transport_cuda = {
    .name = "cuda",
    .caps = 0,
    .open = absent_open,
    .close = absent_close,
};
