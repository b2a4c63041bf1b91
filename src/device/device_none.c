/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_none.c: a build without CUDA finds no device, and so never calls the functions that
 * take one; profilers see no ranges.
 */
#include "device/device.h"

static chorus_status fail_without_cuda(void)
{
    return CH_FAIL(CHORUS_ERR_UNSUPPORTED,
                   "this library was built without CUDA; build it where nvcc is, or set "
                   "CHORUS_HEAP=host");
}

chorus_status ch_device_find(int ordinal, uint32_t place, uint32_t n_places,
                             struct ch_device_id *id_out)
{
    (void)ordinal, (void)place, (void)n_places, (void)id_out;
    return fail_without_cuda();
}

chorus_status ch_device_open(const struct ch_device_id *id, struct ch_device **device_out)
{
    (void)id, (void)device_out;
    return fail_without_cuda();
}

void ch_device_close(struct ch_device *device)
{
    (void)device;
}

const struct ch_device_id *ch_device_id_of(const struct ch_device *device)
{
    (void)device;
    return NULL;
}

const char *ch_device_archs(void)
{
    return NULL;
}

bool ch_device_orders_kernels(const struct ch_device *device)
{
    (void)device;
    return false;
}

bool ch_device_reaches(const struct ch_device *device, const void *ptr)
{
    (void)device, (void)ptr;
    return false;
}

bool ch_device_is_on_gpu(const struct ch_device *device, const void *ptr)
{
    (void)device, (void)ptr;
    return false;
}

int ch_device_enter(const struct ch_device *device)
{
    (void)device;
    return 0;
}

void ch_device_leave(const struct ch_device *device, int before)
{
    (void)device, (void)before;
}

void *ch_device_stream(const struct ch_device *device)
{
    (void)device;
    return NULL;
}

chorus_status ch_device_check_peer(const struct ch_device *device, uint32_t me,
                                   const struct ch_device_id *peer, uint32_t pe)
{
    (void)device, (void)me, (void)peer, (void)pe;
    return fail_without_cuda();
}

enum ch_device_path ch_device_path_to(const struct ch_device *device, const char *bus)
{
    (void)device, (void)bus;
    return CH_PATH_UNKNOWN;
}

chorus_status ch_device_reserve(const struct ch_device *device, size_t bytes, char **base_out)
{
    (void)device, (void)bytes, (void)base_out;
    return fail_without_cuda();
}

void ch_device_unreserve(const struct ch_device *device, char *base, size_t bytes)
{
    (void)device, (void)base, (void)bytes;
}

bool ch_device_offers_fabric(const struct ch_device *device, size_t bytes)
{
    (void)device, (void)bytes;
    return false;
}

chorus_status ch_device_create(const struct ch_device *device, size_t bytes, bool by_fabric,
                               uint64_t *handle_out, struct ch_pass *pass_out)
{
    (void)device, (void)bytes, (void)by_fabric, (void)handle_out, (void)pass_out;
    return fail_without_cuda();
}

chorus_status ch_device_import(const struct ch_device *device, const struct ch_pass *pass,
                               uint64_t *handle_out)
{
    (void)device, (void)pass, (void)handle_out;
    return fail_without_cuda();
}

chorus_status ch_device_retain(const struct ch_device *device, void *at, size_t bytes,
                               bool by_fabric, uint64_t *handle_out, struct ch_pass *pass_out)
{
    (void)device, (void)at, (void)bytes, (void)by_fabric, (void)handle_out, (void)pass_out;
    return fail_without_cuda();
}

chorus_status ch_device_dma_buf(const struct ch_device *device, const void *at, size_t bytes,
                                int *fd_out, uint64_t *offset_out)
{
    (void)device, (void)at, (void)bytes, (void)fd_out, (void)offset_out;
    return fail_without_cuda();
}

chorus_status ch_device_flush_rdma(const struct ch_device *device)
{
    (void)device;
    return fail_without_cuda();
}

void ch_device_release(const struct ch_device *device, uint64_t handle)
{
    (void)device, (void)handle;
}

chorus_status ch_device_map(const struct ch_device *device, char *at, size_t bytes,
                            uint64_t handle)
{
    (void)device, (void)at, (void)bytes, (void)handle;
    return fail_without_cuda();
}

void ch_device_unmap(const struct ch_device *device, char *at, size_t bytes)
{
    (void)device, (void)at, (void)bytes;
}

chorus_status ch_device_multicast_create(const struct ch_device *device, uint32_t n,
                                         size_t bytes, uint64_t *handle_out, int *fd_out)
{
    (void)device, (void)n, (void)bytes, (void)handle_out, (void)fd_out;
    return fail_without_cuda();
}

chorus_status ch_device_multicast_join(const struct ch_device *device, uint64_t multicast)
{
    (void)device, (void)multicast;
    return fail_without_cuda();
}

chorus_status ch_device_multicast_bind(const struct ch_device *device, uint64_t multicast,
                                       uint64_t memory, size_t bytes)
{
    (void)device, (void)multicast, (void)memory, (void)bytes;
    return fail_without_cuda();
}

void ch_device_multicast_unbind(const struct ch_device *device, uint64_t multicast,
                                size_t bytes)
{
    (void)device, (void)multicast, (void)bytes;
}

chorus_status ch_device_free_bytes(const struct ch_device *device, size_t *bytes_out)
{
    (void)device, (void)bytes_out;
    return fail_without_cuda();
}

chorus_status ch_device_copy(const struct ch_device *device, void *dst, const void *src,
                             size_t bytes)
{
    (void)device, (void)dst, (void)src, (void)bytes;
    return fail_without_cuda();
}

chorus_status ch_device_zero(const struct ch_device *device, void *dst, size_t bytes)
{
    (void)device, (void)dst, (void)bytes;
    return fail_without_cuda();
}

chorus_status ch_device_store(const struct ch_device *device, void *dst, uint64_t value,
                              size_t bytes)
{
    (void)device, (void)dst, (void)value, (void)bytes;
    return fail_without_cuda();
}

chorus_status ch_device_wait(const struct ch_device *device)
{
    (void)device;
    return fail_without_cuda();
}

chorus_status ch_device_pinned_alloc(const struct ch_device *device, size_t bytes,
                                     void **ptr_out)
{
    (void)device, (void)bytes, (void)ptr_out;
    return fail_without_cuda();
}

void ch_device_pinned_free(const struct ch_device *device, void *ptr)
{
    (void)device, (void)ptr;
}

chorus_status ch_device_register(const struct ch_device *device, void *host, size_t bytes,
                                 void **device_out)
{
    (void)device, (void)host, (void)bytes, (void)device_out;
    return fail_without_cuda();
}

void ch_device_unregister(const struct ch_device *device, void *host)
{
    (void)device, (void)host;
}

chorus_status ch_device_check_legacy(const struct ch_device *device, const void *stream)
{
    (void)device, (void)stream;
    return fail_without_cuda();
}

chorus_status ch_device_event_create(const struct ch_device *device, void **event_out)
{
    (void)device, (void)event_out;
    return fail_without_cuda();
}

void ch_device_event_destroy(const struct ch_device *device, void *event)
{
    (void)device, (void)event;
}

chorus_status ch_device_stream_create(const struct ch_device *device, bool is_urgent,
                                      void **stream_out)
{
    (void)device, (void)is_urgent, (void)stream_out;
    return fail_without_cuda();
}

void ch_device_stream_destroy(const struct ch_device *device, void *stream)
{
    (void)device, (void)stream;
}

chorus_status ch_device_stream_check(const struct ch_device *device, void *stream)
{
    (void)device, (void)stream;
    return fail_without_cuda();
}

chorus_status ch_device_put_engine_copy(const struct ch_device *device, void *stream, void *dst,
                                        const void *src, size_t bytes)
{
    (void)device, (void)stream, (void)dst, (void)src, (void)bytes;
    return fail_without_cuda();
}

chorus_status ch_device_put_copy(const struct ch_device *device, void *stream, void *dst,
                                 const void *src, size_t bytes)
{
    (void)device, (void)stream, (void)dst, (void)src, (void)bytes;
    return fail_without_cuda();
}

chorus_status ch_device_put_store(const struct ch_device *device, void *stream, void *word,
                                  uint64_t value, size_t bytes)
{
    (void)device, (void)stream, (void)word, (void)value, (void)bytes;
    return fail_without_cuda();
}

chorus_status ch_device_put_wait(const struct ch_device *device, void *stream,
                                 const uint64_t *word, uint64_t value, bool is_exact)
{
    (void)device, (void)stream, (void)word, (void)value, (void)is_exact;
    return fail_without_cuda();
}

chorus_status ch_device_word_wait(const struct ch_device *device,
                                  const struct ch_wait_policy *policy, const uint64_t *word,
                                  uint64_t least)
{
    (void)device, (void)policy, (void)word, (void)least;
    return fail_without_cuda();
}

bool ch_nvtx_is_there(void)
{
    return false;
}

void ch_nvtx_push(const char *text)
{
    (void)text;
}

void ch_nvtx_pop(void)
{
}
