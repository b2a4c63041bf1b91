/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_none.c: a build without CUDA. No heap is on a GPU, so these functions are never called;
 * nor are those of kernels of one thread, for which transport/ has no other file then.
 */
#include "coll/cuda/gpu.h"

#include "transport/post.h"

static chorus_status fail_without_cuda(void)
{
    return CH_FAIL(CHORUS_ERR_UNSUPPORTED, "this library was built without CUDA");
}

chorus_status ch_gpu_open(const struct ch_heap *heap, const struct ch_options *options,
                          const struct ch_wait_policy *policy, struct ch_gpu **gpu_out)
{
    (void)heap, (void)options, (void)policy, (void)gpu_out;
    return fail_without_cuda();
}

void ch_gpu_close(struct ch_gpu *gpu)
{
    (void)gpu;
}

struct ch_device_terms ch_gpu_terms(const struct ch_gpu *gpu)
{
    (void)gpu;
    return (struct ch_device_terms){NULL, 0, NULL};
}

uint32_t ch_gpu_share_ctas(const struct ch_gpu *gpu)
{
    (void)gpu;
    return 1;
}

void ch_gpu_team_ended(struct ch_gpu *gpu, uint32_t slot)
{
    (void)gpu, (void)slot;
}

chorus_status ch_gpu_check(const struct ch_call *call)
{
    (void)call;
    return fail_without_cuda();
}

chorus_status ch_gpu_push(struct ch_gpu *gpu, const struct ch_call *call, void *stream)
{
    (void)gpu, (void)call, (void)stream;
    return fail_without_cuda();
}

chorus_status ch_gpu_run(struct ch_gpu *gpu, const struct ch_call *call)
{
    (void)gpu, (void)call;
    return fail_without_cuda();
}

chorus_status ch_gpu_drain(const struct ch_gpu *gpu)
{
    (void)gpu;
    return fail_without_cuda();
}

chorus_status ch_gpu_put_wait(struct ch_gpu *gpu, void *stream,
                              const struct ch_front_wait *wait)
{
    (void)gpu, (void)stream, (void)wait;
    return fail_without_cuda();
}

struct ch_wait_limit ch_gpu_wait_limit(const struct ch_gpu *gpu)
{
    (void)gpu;
    return (struct ch_wait_limit){NULL, 0, NULL};
}

int ch_gpu_team_status(const struct ch_gpu *gpu, const struct ch_team *team)
{
    (void)gpu, (void)team;
    return fail_without_cuda();
}

chorus_status ch_gpu_stream_destroy(const struct ch_gpu *gpu, void *stream)
{
    (void)gpu, (void)stream;
    return fail_without_cuda();
}

chorus_status ch_gpu_stream_synchronize(const struct ch_gpu *gpu, const struct ch_teams *teams,
                                        void *stream)
{
    (void)gpu, (void)teams, (void)stream;
    return fail_without_cuda();
}

void ch_gpu_settle(const struct ch_gpu *gpu, struct ch_links *links)
{
    (void)gpu, (void)links;
}

chorus_status ch_lines_try(struct ch_boot *boot, struct ch_heap *heap, uint64_t timeout_ns,
                           bool *are_whole_out)
{
    (void)boot, (void)heap, (void)timeout_ns, (void)are_whole_out;
    return fail_without_cuda();
}

/* ---- kernels of one thread (transport/amo.h, transport/post.h) ---- */

chorus_status ch_post_load(const struct ch_device *device)
{
    (void)device;
    return fail_without_cuda();
}

chorus_status ch_post_launch(const struct ch_device *device, void *stream,
                             const struct ch_post *post)
{
    (void)device, (void)stream, (void)post;
    return fail_without_cuda();
}

chorus_status ch_amo_load(const struct ch_device *device)
{
    (void)device;
    return fail_without_cuda();
}

chorus_status ch_amo_launch(const struct ch_device *device, void *stream,
                            const struct ch_amo_request *request)
{
    (void)device, (void)stream, (void)request;
    return fail_without_cuda();
}

chorus_status ch_wait_launch(const struct ch_device *device, void *stream,
                             const struct ch_wait_request *request)
{
    (void)device, (void)stream, (void)request;
    return fail_without_cuda();
}
