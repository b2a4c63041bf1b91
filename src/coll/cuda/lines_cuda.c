/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lines_cuda.c: does the link between GPUs keep lines of 128 bytes whole? No documentation says
 * so, but NCCL relies on it over NVLink. Lines are therefore used only if NVLink connects all
 * GPUs and a trial at the start succeeds. This runs kernels_lines.cu.
 */
#include "coll/cuda/gpu.h"

#include "base/error.h"
#include "boot/boot.h"
#include "coll/cuda/kernels.h"
#include "device/device.h"
#include "device/driver_cuda.h"

#include <cuda_runtime_api.h>
#include <inttypes.h>
#include <string.h>

/* What a PE publishes before the test: the address of its area, and its GPU. */
struct place {
    uint64_t offset; /* offset in its data segment */
    int32_t can;
    char bus[CH_BUS_BYTES];
};

/* Run this PE's part of the test, and return what it found. */
static chorus_status run_test_kernel(const struct ch_device *device,
                                     const struct ch_lines_args *args,
                                     struct ch_lines_found *found_out)
{
    void *stream = ch_device_stream(device);
    const int before = ch_device_enter(device);
    cudaError_t error = (cudaError_t)ch_lines_launch(stream, args);

    if (error == cudaSuccess) error = cudaStreamSynchronize(stream);
    ch_device_leave(device, before);
    CH_TRY_CUDA(device, "testing lines between GPUs", error);
    return ch_device_copy(device, found_out, args->areas[args->me], sizeof(*found_out));
}

/* Does NVLink connect this GPU with the one at `bus`, unless they are the same? */
static bool is_linked(const struct ch_device *device, const char *bus)
{
    const enum ch_device_path path = ch_device_path_to(device, bus);

    if (path == CH_PATH_SAME || path == CH_PATH_NVLINK) return true;
    CH_LOG(INFO,
           "no lines of 128 bytes: the GPUs at %s and %s are not known to be linked by NVLink",
           ch_device_id_of(device)->bus, bus);
    return false;
}

/* Exchange the addresses of the PEs' areas, for args. *can_out: all PEs have an area;
 * *linked_out: the GPUs of all PEs are linked with this PE's. */
static chorus_status exchange_areas(struct ch_boot *boot, const struct ch_heap *heap,
                                    const char *area, struct ch_lines_args *args, bool *can_out,
                                    bool *linked_out)
{
    const struct ch_device *device = ch_heap_device(heap);
    struct place mine = {.can = area != NULL}, places[CH_KERNEL_PES_MAX];

    memcpy(mine.bus, ch_device_id_of(device)->bus, sizeof(mine.bus));
    if (area != NULL) mine.offset = (uint64_t)(area - ch_heap_data_base(heap, boot->me));
    CH_TRY(boot->ops->exchange(boot, &mine, sizeof(mine), -1, places, NULL));
    *can_out = *linked_out = true;
    for (uint32_t pe = 0; pe < boot->n; pe++) {
        if (!places[pe].can) *can_out = false;
        /* Only NVLink makes GPUs of other hosts near, whose addresses name none of this host.
         */
        if (*linked_out && ch_boot_is_near(boot, pe))
            *linked_out = is_linked(device, places[pe].bus);
        args->areas[pe] =
            (struct ch_lines_area *)(void *)(ch_heap_data_base(heap, pe) + places[pe].offset);
    }
    return CHORUS_OK;
}

/* End the tests of the other PEs, which would otherwise wait for this one: by their doorbells,
 * or, on other hosts, by the control plane. */
static void end_tests(struct ch_boot *boot, const struct ch_heap *heap)
{
    bool has_far = false;

    for (uint32_t pe = 0; pe < boot->n; pe++)
        if (ch_heap_is_mapped(heap, pe))
            ch_door_abort(ch_heap_door(heap, pe));
        else
            has_far = true;
    if (has_far && boot->ops->give_up != NULL) boot->ops->give_up(boot, ch_error_message());
}

/* Run the test, as all PEs can. If it fails here, end those of the other PEs. */
static chorus_status try_lines(struct ch_boot *boot, const struct ch_heap *heap,
                               const struct ch_lines_args *args, bool *are_whole_out)
{
    struct ch_lines_found found = {0, 0};
    const chorus_status status = run_test_kernel(ch_heap_device(heap), args, &found);

    if (status != CHORUS_OK) {
        end_tests(boot, heap);
        return status;
    }
    *are_whole_out = found.torn == 0 && found.lost == 0;
    CH_LOG(INFO,
           "%u lines of %zu bytes from each of %u peers, and as many read there: %" PRIu32
           " parts torn, %" PRIu32 " peers lost",
           CH_LINES_OF_PAIR, sizeof(struct ch_line), args->n - 1, found.torn, found.lost);
    return CHORUS_OK;
}

/* Combine the results of all PEs, after they have finished with each other's areas. *are_whole:
 * the result of this PE, then that of all. */
static chorus_status vote_on_lines(struct ch_boot *boot, chorus_status status, bool *are_whole)
{
    const struct ch_vote vote = {"lines between GPUs", status, are_whole, sizeof(*are_whole)};
    bool all[CH_KERNEL_PES_MAX];

    CH_TRY(ch_boot_vote(boot, &vote, all));
    for (uint32_t pe = 0; pe < boot->n; pe++)
        *are_whole = *are_whole && all[pe];
    CH_LOG(INFO, "lines of 128 bytes are %s", *are_whole ? "whole: ll128 is used" : "not used");
    return CHORUS_OK;
}

/* Test if all PEs can, and combine the results. area: null if this PE has no memory for it.
 * Whatever the result of this PE's test, it takes part in the vote. */
static chorus_status test_lines_and_vote(struct ch_boot *boot, const struct ch_heap *heap,
                                         uint64_t timeout_ns, const char *area,
                                         bool *are_whole_out)
{
    struct ch_lines_args args = {.me = boot->me,
                                 .n = boot->n,
                                 .aborted = &ch_heap_door_on_device(heap)->aborted,
                                 .timeout_ns = timeout_ns};
    bool can, is_linked_to_all;
    chorus_status status = CHORUS_OK;

    CH_TRY(exchange_areas(boot, heap, area, &args, &can, &is_linked_to_all));
    if (can) status = try_lines(boot, heap, &args, are_whole_out);
    *are_whole_out = *are_whole_out && is_linked_to_all;
    return vote_on_lines(boot, status, are_whole_out);
}

chorus_status ch_lines_try(struct ch_boot *boot, struct ch_heap *heap, uint64_t timeout_ns,
                           bool *are_whole_out)
{
    void *area = NULL;
    chorus_status status;

    *are_whole_out = boot->n == 1; /* there is no link */
    if (boot->n == 1 || boot->n > CH_KERNEL_PES_MAX || ch_heap_has_pool(heap)) return CHORUS_OK;
    if (ch_heap_sync_alloc(heap, CH_LINES_AREA_BYTES(boot->n), &area) != CHORUS_OK)
        ch_error_forget(); /* the others learn it in the vote, and do not use lines either */
    status = test_lines_and_vote(boot, heap, timeout_ns, area, are_whole_out);
    ch_heap_sync_free(heap, area);
    return status;
}
