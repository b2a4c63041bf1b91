/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/kernel_cuda.h"
#include "transport/post.h"

/* Work after the kernel sees what a get has stored: the wait acquires. */
extern "C" __global__ void __launch_bounds__(1)
    ch_k_post(const __grid_constant__ struct ch_post p)
{
    const struct ch_wait_policy policy = {p.limit.aborted, p.limit.timeout_ns};
    const chorus_status st = ch_post_run(&p, &policy);

    if (st != CHORUS_OK) ch_kernel_report(p.limit.report, st, NULL, ch_request_pe(&p.call));
}

chorus_status ch_post_load(const struct ch_device *device)
{
    return ch_kernel_load(device, ch_k_post);
}

chorus_status ch_post_launch(const struct ch_device *device, void *stream,
                             const struct ch_post *post)
{
    return ch_kernel_launch(device, stream, ch_k_post, post);
}
