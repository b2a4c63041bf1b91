/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_fake.h: GPUs made of host memory, in place of the library's device files: what the
 * heap does with devices is tried without one. A PE's device has the PE's number for its
 * ordinal.
 */
#ifndef CH_TEST_DEVICE_FAKE_H
#define CH_TEST_DEVICE_FAKE_H

#include "device/device.h"
#include "transport/amo.h"

#define FAKE_GRANULE_BYTES ((size_t)2 << 20)

/* Of this process; forked PEs have their own. Faults hit one device, the others are well. */
struct fake {
    int bad;               /* the ordinal of the device with the fault; -1: none */
    int is_absent;         /* it is not there */
    int is_far;            /* it reaches no other */
    int has_no_memory;     /* creating fails */
    int maps_nothing;      /* mapping fails */
    int registers_nothing; /* giving it memory of the host fails */
    int binds_nothing;     /* binding to multicast fails */
    int has_no_multicast;
    int has_no_dma_buf;         /* making one fails */
    int has_fabric;             /* all devices offer fabric handles */
    int has_no_fabric;          /* but for this one */
    int takes_no_fabric;        /* it makes them, and takes none of others */
    int takes_no_foreign;       /* it takes none of other hosts */
    int host;                   /* the number of the host of this process's devices */
    int shares_device;          /* it is the first one, to two PEs */
    int is_one_model;           /* all devices have one name */
    int is_without_nvlink;      /* all devices */
    size_t free_bytes;          /* of every device */
    void (*flush)(int ordinal); /* writes of adapters into the memory of a device; or null */

    /* What was made and not given back: all zero in the end. */
    int devices, reserved, handles, mapped, registered, bound;

    int fabric_handles, descriptors; /* made for others, ever */
    int fabric_queries;              /* whether a device offers fabric handles, ever */
    int urgent_streams;              /* made, ever */
};
extern struct fake fake;

/* Streams that do not do their work at once. */
struct fake_streams {
    void *(*create)(int ordinal);
    void (*destroy)(void *stream);
    chorus_status (*check)(void *stream);
    chorus_status (*copy)(void *stream, void *dst, const void *src, size_t bytes);
    chorus_status (*store)(void *stream, void *word, uint64_t value, size_t bytes);
    chorus_status (*change)(void *stream, const struct ch_amo_request *request);
    bool (*is_on_gpu)(const void *ptr);
};
extern const struct fake_streams *fake_streams; /* null: streams do it at once */

#endif /* CH_TEST_DEVICE_FAKE_H */
