/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver_cuda.c: the driver's functions and failures of CUDA, and the GPU that a PE uses; and
 * ranges for profilers over NVTX's headers, which open the profiler's library if the
 * environment names one.
 */
#include "device/driver_cuda.h"

#include "base/option.h"
#include "boot/place.h"
#include "device/device.h"

#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* ---- the driver ---- */

/* Look up a function of the driver in its form of a version of CUDA. address_out: the address
 * of the pointer to it. */
static chorus_status load_function(const char *call, unsigned version, void *address_out)
{
    enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    void *address = NULL;
    const cudaError_t error =
        cudaGetDriverEntryPointByVersion(call, &address, version, cudaEnableDefault, &found);

    if (error != cudaSuccess || found != cudaDriverEntryPointSuccess || address == NULL) {
        (void)cudaGetLastError(); /* clear the error, so that the program's own checks do not
                                     find it */
        return CH_FAIL(CHORUS_ERR_SYSTEM,
                       "the driver for GPUs lacks %s as of CUDA %u.%u (%s); update it, or set "
                       "CHORUS_HEAP=host",
                       call, version / 1000, version % 1000 / 10, cudaGetErrorString(error));
    }
    memcpy(address_out, &address,
           sizeof(address)); /* C has no conversion from a data pointer to a function pointer */
    return CHORUS_OK;
}

chorus_status ch_driver_load(struct ch_driver *driver_out)
{
#define X(call, version) CH_TRY(load_function(#call, version, &driver_out->call));
    CH_DRIVER_LIST(X)
#undef X
    return CHORUS_OK;
}

int ch_driver_attribute(const struct ch_driver *driver, int ordinal,
                        CUdevice_attribute attribute)
{
    int value = 0;
    const CUresult result = driver->cuDeviceGetAttribute(&value, attribute, (CUdevice)ordinal);

    return result == CUDA_SUCCESS ? value : 0;
}

CUmemAllocationProp ch_driver_memory_of(int ordinal, CUmemAllocationHandleType kind)
{
    const CUmemAllocationProp memory = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = kind,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = ordinal},
    };

    return memory;
}

/* ---- failures ---- */

chorus_status ch_device_fail_runtime(const struct ch_device *device, const char *what,
                                     cudaError_t error)
{
    const struct ch_device_id *id = &device->id;

    (void)cudaGetLastError();
    return CH_FAIL(error == cudaErrorMemoryAllocation ? CHORUS_ERR_NOMEM : CHORUS_ERR_SYSTEM,
                   "%s on GPU %d (%s) failed: %s", what, id->ordinal, id->name,
                   cudaGetErrorString(error));
}

chorus_status ch_device_fail_driver(const struct ch_device *device, const char *what,
                                    size_t bytes, CUresult result)
{
    const chorus_status code =
        result == CUDA_ERROR_OUT_OF_MEMORY ? CHORUS_ERR_NOMEM : CHORUS_ERR_SYSTEM;
    const char *why = NULL;

    (void)device->driver.cuGetErrorString(result, &why);
    return CH_FAIL(code, "%s of %zu bytes on GPU %d (%s) failed: %s", what, bytes,
                   device->id.ordinal, device->id.name, why != NULL ? why : "unknown error");
}

/* ---- ranges for profilers ---- */

static nvtxDomainHandle_t domain;

static void make_domain(void)
{
    domain = nvtxDomainCreateA("chorus");
}

bool ch_nvtx_is_there(void)
{
    return true;
}

void ch_nvtx_push(const char *text)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const nvtxEventAttributes_t range = {.version = NVTX_VERSION,
                                         .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                         .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                         .message.ascii = text};

    (void)pthread_once(&once, make_domain);
    (void)nvtxDomainRangePushEx(domain, &range);
}

void ch_nvtx_pop(void)
{
    (void)nvtxDomainRangePop(domain);
}

/* ---- which GPU a PE uses, and whether it has what the library needs ---- */

/* Larger than the number of devices of any machine. */
enum { DEVICES_MAX = 64 };

/* Count the devices that this process sees; ERR_SYSTEM says why there are none. */
static chorus_status count_devices(int *n_out)
{
    int n = 0;
    const cudaError_t error = cudaGetDeviceCount(&n);

    if (error != cudaSuccess) (void)cudaGetLastError();
    if (error == cudaErrorInsufficientDriver || error == cudaErrorStubLibrary)
        return CH_FAIL(CHORUS_ERR_SYSTEM,
                       "no driver for GPUs here: libcuda.so.1 is absent, or older than CUDA "
                       "%d.%d; install it, or set CHORUS_HEAP=host",
                       CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    if (error == cudaErrorNoDevice || (error == cudaSuccess && n == 0))
        return CH_FAIL(CHORUS_ERR_SYSTEM,
                       "no GPU here, or CUDA_VISIBLE_DEVICES hides it; show one, or set "
                       "CHORUS_HEAP=host");
    if (error != cudaSuccess)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "the driver for GPUs does not start: %s",
                       cudaGetErrorString(error));
    *n_out = n < DEVICES_MAX ? n : DEVICES_MAX;
    return CHORUS_OK;
}

/* The device that the program made current on this thread; CH_OPTION_NO_DEVICE if there is
 * none. */
static int current_device(const struct ch_driver *driver)
{
    CUcontext context = NULL;
    CUdevice device = CH_OPTION_NO_DEVICE;

    if (driver->cuCtxGetCurrent(&context) != CUDA_SUCCESS || context == NULL)
        return CH_OPTION_NO_DEVICE;
    return driver->cuCtxGetDevice(&device) == CUDA_SUCCESS ? (int)device : CH_OPTION_NO_DEVICE;
}

/* List the n devices in the order of the cores that they are near; devices with the same or
 * unknown cores are ordered by their PCI addresses. */
static void order_devices(int n, int *order_out)
{
    char buses[DEVICES_MAX][CH_BUS_BYTES];
    uint32_t cores[DEVICES_MAX];

    memset(buses, 0, sizeof(buses));
    for (int i = 0; i < n; i++)
        (void)cudaDeviceGetPCIBusId(buses[i], CH_BUS_BYTES, i);
    ch_place_find_near(buses, (uint32_t)n, cores);
    for (int i = 0; i < n; i++) {
        int place = 0;

        for (int k = 0; k < n; k++)
            if (cores[k] < cores[i] || (cores[k] == cores[i] && strcmp(buses[k], buses[i]) < 0))
                place++;
        order_out[place] = i;
    }
}

/* The device of the `place`th of n_places PEs: one for each PE if there are enough, otherwise
 * neighbours share. */
static int device_by_place(int n, uint32_t place, uint32_t n_places)
{
    const uint32_t devices = (uint32_t)n;
    int order[DEVICES_MAX] = {0};

    order_devices(n, order);
    if (n_places <= devices) return order[place];
    return order[(uint64_t)place * devices / n_places];
}

struct choice {
    int ordinal;
    uint32_t place, n_places;
};

/* Choose one of the n devices, as ch_device_find describes it. */
static chorus_status choose_device(const struct ch_driver *driver, int n,
                                   const struct choice *choice, int *ordinal_out)
{
    int ordinal = choice->ordinal;

    if (ordinal == CH_OPTION_NO_DEVICE) ordinal = current_device(driver);
    if (ordinal == CH_OPTION_NO_DEVICE)
        ordinal = device_by_place(n, choice->place, choice->n_places);
    if (ordinal < 0 || ordinal >= n)
        return CH_FAIL(CHORUS_ERR_ARG,
                       "GPU %d was asked for; this process sees %d, numbered from 0", ordinal,
                       n);
    *ordinal_out = ordinal;
    return CHORUS_OK;
}

/* ERR_UNSUPPORTED unless the device has what the heap and signals need; what kernels need is
 * checked when the device is opened. */
static chorus_status check_abilities(const struct ch_driver *driver,
                                     const struct cudaDeviceProp *is, int ordinal)
{
    static const struct {
        CUdevice_attribute attribute;
        const char *name;
    } needs[] = {
        {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, "virtual memory management"},
        {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
         "memory shared by file descriptors"},
        {CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, "64-bit stream writes"},
    };

    for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
        if (ch_driver_attribute(driver, ordinal, needs[i].attribute) == 0)
            return CH_FAIL(CHORUS_ERR_UNSUPPORTED,
                           "GPU %d (%s) lacks %s, or this machine does not allow it; set "
                           "CHORUS_HEAP=host",
                           ordinal, is->name, needs[i].name);
    }
    return CHORUS_OK;
}

/* What the device does with writes of network adapters. */
static void read_rdma_order(const struct ch_driver *driver, struct ch_device_id *id)
{
    const int order = ch_driver_attribute(driver, id->ordinal,
                                          CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING),
              flush =
                  ch_driver_attribute(driver, id->ordinal,
                                      CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS);

    id->rdma_order = order >= CU_GPU_DIRECT_RDMA_WRITES_ORDERING_ALL_DEVICES ? CH_RDMA_ORDER_ALL
                     : order >= CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER ? CH_RDMA_ORDER_OWNER
                                                                         : CH_RDMA_ORDER_NONE;
    id->has_rdma_flush = (flush & CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST) != 0;
}

/* Fill in what a PE publishes about the device; ERR_UNSUPPORTED if it lacks a feature. */
static chorus_status read_device_id(const struct ch_driver *driver, int ordinal,
                                    struct ch_device_id *id_out)
{
    const CUmemAllocationProp memory =
        ch_driver_memory_of(ordinal, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    struct cudaDeviceProp is;
    struct ch_device_id id = {.ordinal = ordinal};
    size_t granule = 0;
    const cudaError_t error = cudaGetDeviceProperties(&is, ordinal);
    CUresult result;

    if (error != cudaSuccess) {
        (void)cudaGetLastError();
        return CH_FAIL(CHORUS_ERR_SYSTEM, "the properties of GPU %d cannot be read: %s",
                       ordinal, cudaGetErrorString(error));
    }
    CH_TRY(check_abilities(driver, &is, ordinal));
    result = driver->cuMemGetAllocationGranularity(&granule, &memory,
                                                   CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
    if (result != CUDA_SUCCESS || granule == 0)
        return CH_FAIL(CHORUS_ERR_SYSTEM,
                       "the granularity of memory of GPU %d (%s) cannot be read: error %d",
                       ordinal, is.name, (int)result);
    (void)snprintf(id.name, sizeof(id.name), "%.63s", is.name);
    (void)cudaDeviceGetPCIBusId(id.bus, (int)sizeof(id.bus), ordinal);
    memcpy(id.uuid, &is.uuid, sizeof(id.uuid));
    id.has_multicast =
        ch_driver_attribute(driver, ordinal, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED) != 0;
    read_rdma_order(driver, &id);
    id.memory_bytes = is.totalGlobalMem;
    id.granule_bytes = granule;
    *id_out = id;
    return CHORUS_OK;
}

chorus_status ch_device_find(int ordinal, uint32_t place, uint32_t n_places,
                             struct ch_device_id *id_out)
{
    const struct choice choice = {ordinal, place, n_places};
    struct ch_driver driver;
    int n = 0, chosen = 0;

    CH_TRY(
        count_devices(&n)); /* the runtime opens the driver, and has the reason of a failure */
    CH_TRY(ch_driver_load(&driver));
    CH_TRY(choose_device(&driver, n, &choice, &chosen));
    return read_device_id(&driver, chosen, id_out);
}
