/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver_cuda.c: the driver's functions and failures of CUDA; and ranges for profilers over
 * NVTX's headers, which open the profiler's library if the environment names one.
 */
#include "device/driver_cuda.h"

#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

/* ---- the driver ---- */

static chorus_status load(const char *call, unsigned version, void *address_out)
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
#define X(call, version) CH_TRY(load(#call, version, &driver_out->call));
    CH_DRIVER_LIST(X)
#undef X
    return CHORUS_OK;
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

chorus_status ch_runtime_failed(const struct ch_device *device, const char *what,
                                cudaError_t error)
{
    const struct ch_device_id *id = &device->id;

    (void)cudaGetLastError();
    return CH_FAIL(error == cudaErrorMemoryAllocation ? CHORUS_ERR_NOMEM : CHORUS_ERR_SYSTEM,
                   "%s on GPU %d (%s) failed: %s", what, id->ordinal, id->name,
                   cudaGetErrorString(error));
}

chorus_status ch_device_failed(const struct ch_device *device, const char *what, size_t bytes,
                               CUresult result)
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
