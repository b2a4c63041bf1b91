/* SPDX-License-Identifier: Apache-2.0 */
#include "device/driver_cuda.h"

#include <cuda_runtime_api.h>
#include <string.h>

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
