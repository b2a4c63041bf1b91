/* SPDX-License-Identifier: Apache-2.0 */
/* amo_none.c: a build without CUDA has no heap on GPUs, and so no words there. */
#include "transport/amo.h"

#include "base/error.h"

static chorus_status none(void)
{
    return CH_FAIL(CHORUS_ERR_UNSUPPORTED, "this library was built without CUDA");
}

chorus_status ch_amo_load(const struct ch_device *device)
{
    (void)device;
    return none();
}

chorus_status ch_amo_launch(const struct ch_device *device, void *stream,
                            const struct ch_amo_request *request)
{
    (void)device, (void)stream, (void)request;
    return none();
}

chorus_status ch_wait_launch(const struct ch_device *device, void *stream,
                             const struct ch_wait_request *request)
{
    (void)device, (void)stream, (void)request;
    return none();
}
