/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.h: the GPU of a PE: which one it is, its memory, streams and events, and copies to
 * and from it.
 *
 * device_cuda.c is used in builds with CUDA; in others, device_none.c finds no device, so no
 * other function here is reached. Any thread of the PE may call these functions, whichever
 * device it has made current; they leave the current device unchanged, except ch_device_open,
 * which makes its device current. Addresses of objects on GPUs are void *; the CPU must not
 * access them.
 */
#ifndef CH_DEVICE_H
#define CH_DEVICE_H

#include "base/error.h"
#include "boot/place.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a PE tells the others of its device. */
struct ch_device_id {
    int32_t ordinal; /* as this process counts */
    char name[64];
    char bus[CH_BUS_BYTES]; /* its PCI address, which names it on this machine */
    uint64_t memory_bytes;
    uint64_t granule_bytes; /* memory comes in multiples of this */
    bool has_multicast;     /* in hardware */
};

struct ch_device;

/*
 * The device for a PE, which is the `place`th of n_places on this machine: the ordinal wished
 * for; with CH_OPTION_NO_DEVICE the one that the program made current on this thread, else
 * devices are dealt out in the order of the cores they are near. ERR_ARG: there is no such
 * ordinal; ERR_UNSUPPORTED: built without CUDA, or the device lacks what the library needs;
 * ERR_SYSTEM: no driver, no device.
 */
CH_MUST_CHECK chorus_status ch_device_find(int ordinal, uint32_t place, uint32_t n_places,
                                           struct ch_device_id *id_out);

/* Use it, and make it current for this thread. ERR_UNSUPPORTED: no kernel is compiled for it.
 */
CH_MUST_CHECK chorus_status ch_device_open(const struct ch_device_id *id,
                                           struct ch_device **device_out);
void ch_device_close(struct ch_device *device); /* null is a no-op */
const struct ch_device_id *ch_device_id_of(const struct ch_device *device);

/* What this library's kernels are compiled for, in nvcc's words; null: it has none. */
const char *ch_device_archs(void);

/* Do kernels wait for their turn on this device (ch_kernel_order)? Only those that do may be
 * launched before what comes before them in the stream has ended. */
bool ch_device_orders_kernels(const struct ch_device *device);

/* May its kernels load and store at this address of the process: memory of this device, of
 * CUDA's managed kind, or of the host registered with CUDA under the same address? */
bool ch_device_reaches(const struct ch_device *device, const void *ptr);

/* Make the device current for this thread, which may then do what a capture of streams forbids
 * it otherwise: it is not recorded. Leave takes what enter gave, and undoes it. */
int ch_device_enter(const struct ch_device *device);
void ch_device_leave(const struct ch_device *device, int before);

/* The stream of the PE's own copies, a cudaStream_t; it waits for no other. */
void *ch_device_stream(const struct ch_device *device);

/* ERR_UNSUPPORTED, naming both, unless this device reaches the memory of PE pe's. */
CH_MUST_CHECK chorus_status ch_device_check_peer(const struct ch_device *device, uint32_t me,
                                                 const struct ch_device_id *peer, uint32_t pe);

/* A cudaEvent_t of this device; destroying null is a no-op. */
CH_MUST_CHECK chorus_status ch_device_event_create(const struct ch_device *device,
                                                   void **event_out);
void ch_device_event_destroy(const struct ch_device *device, void *event);

/* Put on a cudaStream_t, without waiting for it: a copy, and a word that is stored after it. */
CH_MUST_CHECK chorus_status ch_device_put_copy(const struct ch_device *device, void *stream,
                                               void *dst, const void *src, size_t bytes);
CH_MUST_CHECK chorus_status ch_device_put_store(const struct ch_device *device, void *stream,
                                                uint64_t *word, uint64_t value);

/* Until a word in this device's memory is at least so much, or exactly that, by what was put on
 * the device before: what is put on a cudaStream_t from now on waits, or the caller does. */
CH_MUST_CHECK chorus_status ch_device_put_wait(const struct ch_device *device, void *stream,
                                               const uint64_t *word, uint64_t value,
                                               bool is_exact);
CH_MUST_CHECK chorus_status ch_device_word_wait(const struct ch_device *device,
                                                const uint64_t *word, uint64_t least);

/* Addresses without memory. */
CH_MUST_CHECK chorus_status ch_device_reserve(const struct ch_device *device, size_t bytes,
                                              char **base_out);
void ch_device_unreserve(const struct ch_device *device, char *base, size_t bytes);

/*
 * What another process needs to get at memory of this one: a descriptor, which only sockets
 * carry and whoever has it closes, or, where the device offers fabric handles, bytes alone.
 */
enum { CH_FABRIC_BYTES = 64 };
struct ch_pass {
    int fd; /* -1: fabric serves */
    unsigned char fabric[CH_FABRIC_BYTES];
};

/* Does this device make fabric handles, of memory of so many bytes? Tried, since many claim it
 * and refuse. What is against it is logged. */
bool ch_device_offers_fabric(const struct ch_device *device, size_t bytes);

/*
 * Memory without an address: a handle, good in this process, and a pass, for others. ERR_NOMEM
 * when the device is full. It is given back once the handles of all PEs are released, the
 * passes closed and the mappings gone.
 */
CH_MUST_CHECK chorus_status ch_device_create(const struct ch_device *device, size_t bytes,
                                             bool by_fabric, uint64_t *handle_out,
                                             struct ch_pass *pass_out);
CH_MUST_CHECK chorus_status ch_device_import(const struct ch_device *device,
                                             const struct ch_pass *pass, uint64_t *handle_out);
void ch_device_release(const struct ch_device *device, uint64_t handle);

/* The same of memory that the program has mapped at [at, at + bytes), on this device:
 * ERR_UNSUPPORTED with the reason where it cannot be shared, ERR_ARG unless it is all that was
 * mapped there at once. The pass is a descriptor. */
CH_MUST_CHECK chorus_status ch_device_take(const struct ch_device *device, void *at,
                                           size_t bytes, uint64_t *handle_out,
                                           struct ch_pass *pass_out);

/* Map all of a handle's memory, for this device to load and store. */
CH_MUST_CHECK chorus_status ch_device_map(const struct ch_device *device, char *at,
                                          size_t bytes, uint64_t handle);
void ch_device_unmap(const struct ch_device *device, char *at, size_t bytes);

/*
 * Multicast in hardware: an object that stands for the memory of n devices at once. One PE
 * creates it, with a handle and a descriptor as above; each adds its device, once it has the
 * handle; when all have, each binds memory of its own. Then it is mapped like memory, for
 * instructions of its own (coll/cuda/multimem_cuda.h) and no others.
 */
CH_MUST_CHECK chorus_status ch_device_multicast_create(const struct ch_device *device,
                                                       uint32_t n, size_t bytes,
                                                       uint64_t *handle_out, int *fd_out);
CH_MUST_CHECK chorus_status ch_device_multicast_join(const struct ch_device *device,
                                                     uint64_t multicast);
CH_MUST_CHECK chorus_status ch_device_multicast_bind(const struct ch_device *device,
                                                     uint64_t multicast, uint64_t memory,
                                                     size_t bytes);
void ch_device_multicast_unbind(const struct ch_device *device, uint64_t multicast,
                                size_t bytes);

/* Bytes of the device that nobody has. */
size_t ch_device_free_bytes(const struct ch_device *device);

/* Copy, zero, store an aligned word of 4 or 8 bytes: done, for every PE to see, on return.
 * Each of dst and src is on any GPU that is mapped here, or on the host. */
CH_MUST_CHECK chorus_status ch_device_copy(const struct ch_device *device, void *dst,
                                           const void *src, size_t bytes);
CH_MUST_CHECK chorus_status ch_device_zero(const struct ch_device *device, void *dst,
                                           size_t bytes);
CH_MUST_CHECK chorus_status ch_device_store(const struct ch_device *device, void *dst,
                                            uint64_t value, size_t bytes);

/* Until all that was put on ch_device_stream is done. */
CH_MUST_CHECK chorus_status ch_device_wait(const struct ch_device *device);

/* Host memory that kernels reach at the same address. */
CH_MUST_CHECK chorus_status ch_device_pinned_alloc(const struct ch_device *device, size_t bytes,
                                                   void **ptr_out);
void ch_device_pinned_free(const struct ch_device *device, void *ptr);

/* Let kernels reach whole pages of the host, at *device_out. */
CH_MUST_CHECK chorus_status ch_device_register(const struct ch_device *device, void *host,
                                               size_t bytes, void **device_out);
void ch_device_unregister(const struct ch_device *device, void *host);

#endif /* CH_DEVICE_H */
