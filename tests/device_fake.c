/* SPDX-License-Identifier: Apache-2.0 */
#include "device_fake.h"

#include "transport/amo.h"
#include "transport/post.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

const struct fake_streams *fake_streams;

struct fake fake = {.bad = -1, .free_bytes = SIZE_MAX};

struct ch_device {
    struct ch_device_id id;
};

static void count(int *what, int by)
{
    (void)__atomic_fetch_add(what, by, __ATOMIC_RELAXED);
}

static int is_bad(const struct ch_device *device)
{
    return device->id.ordinal == fake.bad;
}

chorus_status ch_device_find(int ordinal, uint32_t place, uint32_t n_places,
                             struct ch_device_id *id_out)
{
    (void)ordinal, (void)n_places;
    if (fake.is_absent && (int)place == fake.bad)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no GPU here, says the test");
    memset(id_out, 0, sizeof(*id_out));
    id_out->ordinal = (int32_t)place;
    (void)snprintf(id_out->name, sizeof(id_out->name), "fake %u",
                   fake.is_one_model ? 0 : place);
    (void)snprintf(id_out->bus, sizeof(id_out->bus), "0000:%02x:00.0",
                   fake.shares_device && (int)place == fake.bad ? 0 : place);
    memcpy(id_out->uuid, id_out->bus, strlen(id_out->bus));
    id_out->uuid[CH_UUID_BYTES - 1] = (unsigned char)fake.host;
    id_out->memory_bytes = (uint64_t)1 << 30;
    id_out->granule_bytes = FAKE_GRANULE_BYTES;
    id_out->rdma_order = CH_RDMA_ORDER_ALL;
    id_out->has_rdma_flush = true;
    id_out->has_multicast = !fake.has_no_multicast || (int)place != fake.bad;
    return CHORUS_OK;
}

chorus_status ch_device_open(const struct ch_device_id *id, struct ch_device **device_out)
{
    struct ch_device *device = calloc(1, sizeof(*device));

    if (device == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory");
    device->id = *id;
    count(&fake.devices, 1);
    *device_out = device;
    return CHORUS_OK;
}

void ch_device_close(struct ch_device *device)
{
    if (device != NULL) count(&fake.devices, -1);
    free(device);
}

const char *ch_device_archs(void)
{
    return "none";
}

bool ch_device_orders_kernels(const struct ch_device *device)
{
    (void)device;
    return true;
}

const struct ch_device_id *ch_device_id_of(const struct ch_device *device)
{
    return &device->id;
}

chorus_status ch_device_check_peer(const struct ch_device *device, uint32_t me,
                                   const struct ch_device_id *peer, uint32_t pe)
{
    if (!fake.is_far || !is_bad(device) || peer->ordinal == device->id.ordinal)
        return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_UNSUPPORTED, "PE %u's %s cannot reach PE %u's %s", me,
                   device->id.name, pe, peer->name);
}

enum ch_device_path ch_device_path_to(const struct ch_device *device, const char *bus)
{
    if (strcmp(device->id.bus, bus) == 0) return CH_PATH_SAME;
    return fake.is_without_nvlink ? CH_PATH_PCI : CH_PATH_NVLINK;
}

chorus_status ch_device_reserve(const struct ch_device *device, size_t bytes, char **base_out)
{
    char *base =
        mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    (void)device;
    if (base == MAP_FAILED) return CH_FAIL(CHORUS_ERR_SYSTEM, "no addresses");
    count(&fake.reserved, 1);
    *base_out = base;
    return CHORUS_OK;
}

void ch_device_unreserve(const struct ch_device *device, char *base, size_t bytes)
{
    (void)device;
    if (munmap(base, bytes) == 0) count(&fake.reserved, -1);
}

bool ch_device_offers_fabric(const struct ch_device *device, size_t bytes)
{
    count(&fake.fabric_queries, 1);
    if (bytes % FAKE_GRANULE_BYTES != 0) return false;
    return fake.has_fabric && !(is_bad(device) && fake.has_no_fabric);
}

/* A handle is a descriptor too, and a fabric handle names it to other processes. */
static chorus_status keep_fd(int fd, uint64_t *handle_out)
{
    if (fd < 0) return CH_FAIL(CHORUS_ERR_SYSTEM, "no descriptor");
    count(&fake.handles, 1);
    *handle_out = (uint64_t)fd;
    return CHORUS_OK;
}

static chorus_status make(const struct ch_device *device, size_t bytes, uint64_t *handle_out)
{
    int fd;

    if (is_bad(device) && fake.has_no_memory)
        return CH_FAIL(CHORUS_ERR_NOMEM, "allocating %zu bytes: the test says no", bytes);
    if (bytes % FAKE_GRANULE_BYTES != 0)
        return CH_FAIL(CHORUS_ERR_ARG, "%zu bytes are no whole granules", bytes);
    fd = memfd_create("fake", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no file");
    return keep_fd(fd, handle_out);
}

static int copy_of(uint64_t handle)
{
    return fcntl((int)handle, F_DUPFD_CLOEXEC, 0);
}

chorus_status ch_device_create(const struct ch_device *device, size_t bytes, bool by_fabric,
                               uint64_t *handle_out, struct ch_pass *pass_out)
{
    struct ch_pass pass = {.fd = -1};

    CH_TRY(make(device, bytes, handle_out));
    pass.fabric[CH_FABRIC_BYTES - 1] = (unsigned char)fake.host;
    if (by_fabric)
        (void)snprintf((char *)pass.fabric, sizeof(pass.fabric) - 1, "/proc/%d/fd/%d",
                       (int)getpid(), (int)*handle_out);
    else
        pass.fd = copy_of(*handle_out);
    count(by_fabric ? &fake.fabric_handles : &fake.descriptors, 1);
    *pass_out = pass;
    return CHORUS_OK;
}

chorus_status ch_device_import(const struct ch_device *device, const struct ch_pass *pass,
                               uint64_t *handle_out)
{
    if (pass->fd >= 0) return keep_fd(copy_of((uint64_t)pass->fd), handle_out);
    if (is_bad(device) &&
        (fake.takes_no_fabric ||
         (fake.takes_no_foreign && pass->fabric[CH_FABRIC_BYTES - 1] != fake.host)))
        return CH_FAIL(CHORUS_ERR_SYSTEM, "taking memory: the test says no");
    return keep_fd(open((const char *)pass->fabric, O_RDWR | O_CLOEXEC), handle_out);
}

chorus_status ch_device_retain(const struct ch_device *device, void *at, size_t bytes,
                               bool by_fabric, uint64_t *handle_out, struct ch_pass *pass_out)
{
    (void)device, (void)at, (void)bytes, (void)by_fabric, (void)handle_out, (void)pass_out;
    return CH_FAIL(CHORUS_ERR_UNSUPPORTED, "taking memory: the test says no");
}

/* A file that has only the length of the memory. */
chorus_status ch_device_dma_buf(const struct ch_device *device, const void *at, size_t bytes,
                                int *fd_out, uint64_t *offset_out)
{
    int fd;

    if (is_bad(device) && fake.has_no_dma_buf)
        return CH_FAIL(CHORUS_ERR_UNSUPPORTED, "a dma-buf at %p: the test says no", at);
    fd = memfd_create("fake dma-buf", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no file");
    *fd_out = fd;
    *offset_out = 0;
    return CHORUS_OK;
}

chorus_status ch_device_flush_rdma(const struct ch_device *device)
{
    if (fake.flush != NULL) fake.flush(device->id.ordinal);
    return CHORUS_OK;
}

void ch_device_release(const struct ch_device *device, uint64_t handle)
{
    (void)device;
    if (close((int)handle) == 0) count(&fake.handles, -1);
}

chorus_status ch_device_map(const struct ch_device *device, char *at, size_t bytes,
                            uint64_t handle)
{
    if (is_bad(device) && fake.maps_nothing)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "mapping: the test says no");
    if (mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, (int)handle, 0) != at)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "cannot map");
    count(&fake.mapped, 1);
    return CHORUS_OK;
}

void ch_device_unmap(const struct ch_device *device, char *at, size_t bytes)
{
    (void)device;
    if (mmap(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
             0) == at)
        count(&fake.mapped, -1);
}

/* Memory that reaches nobody: what it is for, only hardware does. */
chorus_status ch_device_multicast_create(const struct ch_device *device, uint32_t n,
                                         size_t bytes, uint64_t *handle_out, int *fd_out)
{
    if (device->id.ordinal != 0 || n < 2)
        return CH_FAIL(CHORUS_ERR_ARG, "not the PE that is to create it");
    CH_TRY(make(device, bytes, handle_out));
    *fd_out = copy_of(*handle_out);
    return CHORUS_OK;
}

chorus_status ch_device_multicast_join(const struct ch_device *device, uint64_t multicast)
{
    (void)device, (void)multicast;
    return CHORUS_OK;
}

chorus_status ch_device_multicast_bind(const struct ch_device *device, uint64_t multicast,
                                       uint64_t memory, size_t bytes)
{
    (void)multicast, (void)memory, (void)bytes;
    if (is_bad(device) && fake.binds_nothing)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "binding: the test says no");
    count(&fake.bound, 1);
    return CHORUS_OK;
}

void ch_device_multicast_unbind(const struct ch_device *device, uint64_t multicast,
                                size_t bytes)
{
    (void)device, (void)multicast, (void)bytes;
    count(&fake.bound, -1);
}

chorus_status ch_device_free_bytes(const struct ch_device *device, size_t *bytes_out)
{
    (void)device;
    *bytes_out = fake.free_bytes;
    return CHORUS_OK;
}

chorus_status ch_device_copy(const struct ch_device *device, void *dst, const void *src,
                             size_t bytes)
{
    (void)device;
    memcpy(dst, src, bytes);
    return CHORUS_OK;
}

chorus_status ch_device_zero(const struct ch_device *device, void *dst, size_t bytes)
{
    (void)device;
    memset(dst, 0, bytes);
    return CHORUS_OK;
}

chorus_status ch_device_register(const struct ch_device *device, void *host, size_t bytes,
                                 void **device_out)
{
    (void)bytes;
    if (is_bad(device) && fake.registers_nothing)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "registering: the test says no");
    count(&fake.registered, 1);
    *device_out = host;
    return CHORUS_OK;
}

void ch_device_unregister(const struct ch_device *device, void *host)
{
    (void)device, (void)host;
    count(&fake.registered, -1);
}

chorus_status ch_device_store(const struct ch_device *device, void *dst, uint64_t value,
                              size_t bytes)
{
    (void)device;
    if (bytes == sizeof(uint32_t))
        __atomic_store_n((uint32_t *)dst, (uint32_t)value, __ATOMIC_RELEASE);
    else
        __atomic_store_n((uint64_t *)dst, value, __ATOMIC_RELEASE);
    return CHORUS_OK;
}

chorus_status ch_device_wait(const struct ch_device *device)
{
    (void)device;
    return CHORUS_OK;
}

/* Streams that events are recorded on are not faked, so any address serves. */
chorus_status ch_device_event_create(const struct ch_device *device, void **event_out)
{
    (void)device;
    *event_out = &fake;
    return CHORUS_OK;
}

void ch_device_event_destroy(const struct ch_device *device, void *event)
{
    (void)device, (void)event;
}

void *ch_device_stream(const struct ch_device *device)
{
    (void)device;
    return NULL;
}

chorus_status ch_device_stream_create(const struct ch_device *device, bool is_urgent,
                                      void **stream_out)
{
    count(&fake.urgent_streams, is_urgent);
    *stream_out = fake_streams != NULL ? fake_streams->create(device->id.ordinal) : &fake;
    return CHORUS_OK;
}

void ch_device_stream_destroy(const struct ch_device *device, void *stream)
{
    (void)device;
    if (fake_streams != NULL && stream != NULL) fake_streams->destroy(stream);
}

chorus_status ch_device_stream_check(const struct ch_device *device, void *stream)
{
    (void)device;
    return fake_streams != NULL ? fake_streams->check(stream) : CHORUS_OK;
}

/* The CPU may access the memory of fakes. */
bool ch_device_is_on_gpu(const struct ch_device *device, const void *ptr)
{
    (void)device;
    return fake_streams != NULL && fake_streams->is_on_gpu(ptr);
}

chorus_status ch_device_put_engine_copy(const struct ch_device *device, void *stream, void *dst,
                                        const void *src, size_t bytes)
{
    return ch_device_put_copy(device, stream, dst, src, bytes);
}

chorus_status ch_device_put_copy(const struct ch_device *device, void *stream, void *dst,
                                 const void *src, size_t bytes)
{
    if (fake_streams != NULL) return fake_streams->copy(stream, dst, src, bytes);
    return ch_device_copy(device, dst, src, bytes);
}

chorus_status ch_device_put_store(const struct ch_device *device, void *stream, void *word,
                                  uint64_t value, size_t bytes)
{
    if (fake_streams != NULL) return fake_streams->store(stream, word, value, bytes);
    return ch_device_store(device, word, value, bytes);
}

chorus_status ch_device_put_wait(const struct ch_device *device, void *stream,
                                 const uint64_t *word, uint64_t value, bool is_exact)
{
    (void)device, (void)stream, (void)word, (void)value, (void)is_exact;
    return CHORUS_OK;
}

chorus_status ch_device_word_wait(const struct ch_device *device,
                                  const struct ch_wait_policy *policy, const uint64_t *word,
                                  uint64_t least)
{
    (void)device, (void)policy, (void)word, (void)least;
    return CHORUS_OK;
}

chorus_status ch_device_pinned_alloc(const struct ch_device *device, size_t bytes,
                                     void **ptr_out)
{
    (void)device;
    *ptr_out = calloc(1, bytes);
    count(&fake.registered, 1);
    return CHORUS_OK;
}

void ch_device_pinned_free(const struct ch_device *device, void *ptr)
{
    (void)device;
    count(&fake.registered, -1);
    free(ptr);
}

chorus_status ch_amo_load(const struct ch_device *device)
{
    (void)device;
    return CHORUS_OK;
}

chorus_status ch_wait_launch(const struct ch_device *device, void *stream,
                             const struct ch_wait_request *request)
{
    (void)device, (void)stream, (void)request;
    return CH_FAIL(CHORUS_ERR_UNSUPPORTED, "not in the fake");
}

/* An addition; the others are the kernel's own affair. */
chorus_status ch_amo_launch(const struct ch_device *device, void *stream,
                            const struct ch_amo_request *request)
{
    (void)device;
    if (fake_streams != NULL) return fake_streams->change(stream, request);
    if (request->op != CH_AMO_ADD) return CH_FAIL(CHORUS_ERR_UNSUPPORTED, "not in the fake");
    if (request->bytes == sizeof(uint32_t))
        *request->fetched = __atomic_fetch_add((uint32_t *)request->word,
                                               (uint32_t)request->value, __ATOMIC_SEQ_CST);
    else
        *request->fetched =
            __atomic_fetch_add((uint64_t *)request->word, request->value, __ATOMIC_SEQ_CST);
    return CHORUS_OK;
}

chorus_status ch_post_load(const struct ch_device *device)
{
    (void)device;
    return CHORUS_OK;
}

chorus_status ch_post_launch(const struct ch_device *device, void *stream,
                             const struct ch_post *post)
{
    (void)device, (void)stream, (void)post;
    return CH_FAIL(CHORUS_ERR_UNSUPPORTED, "not in the fake");
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
