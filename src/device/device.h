/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.h: the GPU of a PE: which one it is, its memory, streams and events, and copies to
 * and from it; and ranges for profilers.
 *
 * device_cuda.c is used in builds with CUDA; in others, device_none.c finds no device, so no
 * function that takes one is reached, and profilers see no ranges. Any thread of the PE may
 * call these functions, whichever device it has made current; they leave the current device
 * unchanged, except ch_device_open, which makes its device current. Addresses of objects on
 * GPUs are void *; the CPU must not access them.
 */
#ifndef CH_DEVICE_H
#define CH_DEVICE_H

#include "base/error.h"
#include "boot/place.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { CH_UUID_BYTES = 16 };

/* Which devices see what a network adapter has written into the memory of one, its owner, once
 * the adapter has announced it by a later word or a completion? */
enum ch_rdma_order { CH_RDMA_ORDER_NONE, CH_RDMA_ORDER_OWNER, CH_RDMA_ORDER_ALL };

/* What a PE publishes about its device. */
struct ch_device_id {
    int32_t ordinal; /* in the numbering of this process */
    char name[64];
    char bus[CH_BUS_BYTES];            /* its PCI address */
    unsigned char uuid[CH_UUID_BYTES]; /* identifies it among those of all hosts, also where a
                                          host has several at one PCI address (MIG) */
    uint64_t memory_bytes;
    uint64_t granule_bytes;        /* memory comes in multiples of this */
    bool has_multicast;            /* in hardware */
    enum ch_rdma_order rdma_order; /* of its memory */
    bool has_rdma_flush; /* the host can have all devices see such writes, see below */
};

/* Do both describe the same device? */
static inline bool ch_device_is_same(const struct ch_device_id *a, const struct ch_device_id *b)
{
    return memcmp(a->uuid, b->uuid, sizeof(a->uuid)) == 0;
}

struct ch_device;
struct ch_wait_policy; /* base/door.h */

/* Where memory is: may the CPU access it? */
enum ch_memory_kind { CH_MEMORY_HOST, CH_MEMORY_GPU };

/* A part of a PE's memory that peers on other hosts may access through a network. */
struct ch_memory_part {
    void *base; /* address in that PE */
    size_t bytes;
    enum ch_memory_kind kind;
    int dma_buf;     /* of memory of a GPU at this PE: the descriptor of a dma-buf that contains
                        it; -1: there is none */
    uint64_t offset; /* of base in that dma-buf */
};

/*
 * Choose the device for a PE, which is the `place`th of n_places on this machine: the given
 * ordinal; with CH_OPTION_NO_DEVICE the device that the program made current on this thread,
 * otherwise devices are assigned in the order of the cores that they are near. ERR_ARG: there
 * is no such ordinal; ERR_UNSUPPORTED: built without CUDA, or the device lacks a feature that
 * the library needs; ERR_SYSTEM: no driver, no device.
 */
CH_MUST_CHECK chorus_status ch_device_find(int ordinal, uint32_t place, uint32_t n_places,
                                           struct ch_device_id *id_out);

/* Open the device, and make it current for this thread. ERR_UNSUPPORTED: no kernel is compiled
 * for it. */
CH_MUST_CHECK chorus_status ch_device_open(const struct ch_device_id *id,
                                           struct ch_device **device_out);
void ch_device_close(struct ch_device *device); /* null is a no-op */
/* What ch_device_find said about the device. */
const struct ch_device_id *ch_device_id_of(const struct ch_device *device);

/* The architectures that this library's kernels are compiled for, in nvcc's notation; null:
 * there are none. */
const char *ch_device_archs(void);

/* Does this device support ch_kernel_wait_previous? Only then may kernels be launched before
 * earlier work of their stream has ended. */
bool ch_device_orders_kernels(const struct ch_device *device);

/* May kernels load and store at this address of the process: is it memory of this device,
 * managed memory of CUDA, or host memory that is registered with CUDA under the same
 * address? */
bool ch_device_reaches(const struct ch_device *device, const void *ptr);

/* Is this memory of a GPU, of this device or another, which the CPU must not access? */
bool ch_device_is_on_gpu(const struct ch_device *device, const void *ptr);

/* Make the device current for this thread. Until leave, the thread may make calls that a
 * capture of streams would otherwise forbid; they are not recorded. Leave takes what enter
 * returned, and undoes it. */
int ch_device_enter(const struct ch_device *device);
void ch_device_leave(const struct ch_device *device, int before);

/* The stream of the PE's own copies, a cudaStream_t; it does not synchronise with other
 * streams. */
void *ch_device_stream(const struct ch_device *device);

/* ERR_UNSUPPORTED, naming both devices, unless this device can access the memory of PE pe's. */
CH_MUST_CHECK chorus_status ch_device_check_peer(const struct ch_device *device, uint32_t me,
                                                 const struct ch_device_id *peer, uint32_t pe);

/* What connects two devices. UNKNOWN: this process does not see the other one. */
enum ch_device_path { CH_PATH_SAME, CH_PATH_NVLINK, CH_PATH_PCI, CH_PATH_UNKNOWN };
/* What connects this device with the one at a PCI address, which it can access? */
enum ch_device_path ch_device_path_to(const struct ch_device *device, const char *bus);

/* May work be queued on a cudaStream_t? ERR_STATE if it is the legacy default stream and a
 * stream that waits for that one is being captured: CUDA would refuse the work, and end the
 * capture. */
CH_MUST_CHECK chorus_status ch_device_check_legacy(const struct ch_device *device,
                                                   const void *stream);

/* Create a cudaEvent_t of this device; destroying null is a no-op. */
CH_MUST_CHECK chorus_status ch_device_event_create(const struct ch_device *device,
                                                   void **event_out);
void ch_device_event_destroy(const struct ch_device *device, void *event);

/* Create a cudaStream_t of this device, which does not synchronise with other streams, not even
 * with the default one. is_urgent: it has the highest priority. Destroying null is a no-op. */
CH_MUST_CHECK chorus_status ch_device_stream_create(const struct ch_device *device,
                                                    bool is_urgent, void **stream_out);
void ch_device_stream_destroy(const struct ch_device *device, void *stream);
/* Has work of a cudaStream_t failed? Does not wait for work that is under way. */
CH_MUST_CHECK chorus_status ch_device_stream_check(const struct ch_device *device,
                                                   void *stream);

/* Queue a copy on a cudaStream_t, without waiting. */
CH_MUST_CHECK chorus_status ch_device_put_copy(const struct ch_device *device, void *stream,
                                               void *dst, const void *src, size_t bytes);
/* The same for a copy by a copy engine, which starts although kernels occupy the queues in
 * which the front end of the GPU takes work: CUDA gives short copies to the GPU to that front
 * end otherwise. Not one access, even of a word; of at least two bytes. */
CH_MUST_CHECK chorus_status ch_device_put_engine_copy(const struct ch_device *device,
                                                      void *stream, void *dst, const void *src,
                                                      size_t bytes);
/* The same for a store of a word of 8 or 4 bytes, as one access. It takes the way of the work
 * before it in the stream: after copies by copy engines it needs none of these queues. */
CH_MUST_CHECK chorus_status ch_device_put_store(const struct ch_device *device, void *stream,
                                                void *word, uint64_t value, size_t bytes);

/* Wait until a word in this device's memory is at least, or equal to, a value, which work that
 * was queued earlier stores: queued on a cudaStream_t, for later work of that stream, without a
 * deadline; or in the caller, as long as `policy` allows. */
CH_MUST_CHECK chorus_status ch_device_put_wait(const struct ch_device *device, void *stream,
                                               const uint64_t *word, uint64_t value,
                                               bool is_exact);
CH_MUST_CHECK chorus_status ch_device_word_wait(const struct ch_device *device,
                                                const struct ch_wait_policy *policy,
                                                const uint64_t *word, uint64_t least);

/* Reserve an address range without memory. */
CH_MUST_CHECK chorus_status ch_device_reserve(const struct ch_device *device, size_t bytes,
                                              char **base_out);
void ch_device_unreserve(const struct ch_device *device, char *base, size_t bytes);

/*
 * A handle with which another process can map memory of this one: a descriptor, which must be
 * sent by a socket and closed by its receiver, or, if the device supports fabric handles, only
 * bytes.
 */
enum { CH_FABRIC_BYTES = 64 };
struct ch_pass {
    int fd; /* -1: a fabric handle */
    unsigned char fabric[CH_FABRIC_BYTES];
};

/* Does this device support fabric handles for memory of this size? Tested by creating one,
 * since many devices report support and refuse. The reason of a refusal is logged. */
bool ch_device_offers_fabric(const struct ch_device *device, size_t bytes);

/*
 * Allocate memory without an address; return its handle, valid in this process, and its pass,
 * for others, from which import makes their handle. ERR_NOMEM when the device is full. The
 * memory is freed once the handles of all PEs are released, the passes are closed and the
 * mappings are undone.
 */
CH_MUST_CHECK chorus_status ch_device_create(const struct ch_device *device, size_t bytes,
                                             bool by_fabric, uint64_t *handle_out,
                                             struct ch_pass *pass_out);
/* Return a handle, valid in this process, of the memory of a pass. */
CH_MUST_CHECK chorus_status ch_device_import(const struct ch_device *device,
                                             const struct ch_pass *pass, uint64_t *handle_out);
void ch_device_release(const struct ch_device *device, uint64_t handle);

/* Return a handle and a pass of memory that the program has mapped at [at, at + bytes), on this
 * device: ERR_UNSUPPORTED with the reason where it cannot be shared in that way, ERR_ARG unless
 * it is all that was mapped there at once. */
CH_MUST_CHECK chorus_status ch_device_retain(const struct ch_device *device, void *at,
                                             size_t bytes, bool by_fabric, uint64_t *handle_out,
                                             struct ch_pass *pass_out);

/*
 * Make a dma-buf, by which network adapters access memory of this device: its descriptor, which
 * the caller closes once networks have attached the memory, and the offset of `at` in it. All
 * memory of the pages that contain [at, at + bytes) must be mapped. ERR_UNSUPPORTED: the
 * device, its driver or the kernel makes none, with the reason.
 */
CH_MUST_CHECK chorus_status ch_device_dma_buf(const struct ch_device *device, const void *at,
                                              size_t bytes, int *fd_out, uint64_t *offset_out);

/* Have all devices see what network adapters have written into the memory of this one: what has
 * arrived there before this call. Only with has_rdma_flush. */
CH_MUST_CHECK chorus_status ch_device_flush_rdma(const struct ch_device *device);

/* Map all of a handle's memory, for this device to load and store. */
CH_MUST_CHECK chorus_status ch_device_map(const struct ch_device *device, char *at,
                                          size_t bytes, uint64_t handle);
void ch_device_unmap(const struct ch_device *device, char *at, size_t bytes);

/*
 * Multicast in hardware: an object that represents the memory of n devices at once. One PE
 * creates it, with a handle and a descriptor as above; each PE adds its device, once it has the
 * handle; when all have done so, each binds its own memory. The object is then mapped like
 * memory, and accessed only by special instructions (coll/cuda/multimem_cuda.h).
 */
CH_MUST_CHECK chorus_status ch_device_multicast_create(const struct ch_device *device,
                                                       uint32_t n, size_t bytes,
                                                       uint64_t *handle_out, int *fd_out);
/* Add this device to the object. */
CH_MUST_CHECK chorus_status ch_device_multicast_join(const struct ch_device *device,
                                                     uint64_t multicast);
/* Bind `bytes` of this device's memory, a handle, at the object's beginning. */
CH_MUST_CHECK chorus_status ch_device_multicast_bind(const struct ch_device *device,
                                                     uint64_t multicast, uint64_t memory,
                                                     size_t bytes);
void ch_device_multicast_unbind(const struct ch_device *device, uint64_t multicast,
                                size_t bytes);

/* Number of free bytes of the device, as far as this process may use them. */
CH_MUST_CHECK chorus_status ch_device_free_bytes(const struct ch_device *device,
                                                 size_t *bytes_out);

/* Copy, zero, store an aligned word of 4 or 8 bytes: complete, and visible to every PE, on
 * return. dst and src may each be on any GPU that is mapped here, or on the host. */
CH_MUST_CHECK chorus_status ch_device_copy(const struct ch_device *device, void *dst,
                                           const void *src, size_t bytes);
CH_MUST_CHECK chorus_status ch_device_zero(const struct ch_device *device, void *dst,
                                           size_t bytes);
CH_MUST_CHECK chorus_status ch_device_store(const struct ch_device *device, void *dst,
                                            uint64_t value, size_t bytes);

/* Wait until all work of ch_device_stream is complete. */
CH_MUST_CHECK chorus_status ch_device_wait(const struct ch_device *device);

/* Allocate host memory that kernels access at the same address. */
CH_MUST_CHECK chorus_status ch_device_pinned_alloc(const struct ch_device *device, size_t bytes,
                                                   void **ptr_out);
void ch_device_pinned_free(const struct ch_device *device, void *ptr);

/* Give kernels access to whole pages of the host, at *device_out. */
CH_MUST_CHECK chorus_status ch_device_register(const struct ch_device *device, void *host,
                                               size_t bytes, void **device_out);
void ch_device_unregister(const struct ch_device *device, void *host);

/* ---- ranges that NVIDIA's profilers show; without a profiler these do nothing ---- */

/* Was this compiled with NVTX? Otherwise the other functions do nothing. */
bool ch_nvtx_is_there(void);

/* Begin and end a range on this thread, in the domain "chorus"; they nest. */
void ch_nvtx_push(const char *text);
void ch_nvtx_pop(void);

#endif /* CH_DEVICE_H */
