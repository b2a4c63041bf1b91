/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvshmemx_kernels.h: host calls about kernels, for nvshmemx.h: modules that the program loads
 * by the driver's API, handles of queue pairs, and in files of CUDA launches.
 */
#ifndef NVSHMEMX_KERNELS_H
#define NVSHMEMX_KERNELS_H

#include "nvshmemx_init.h"

/* --- queue pairs ------------------------------------------------------------------------ */
/* All handles are the same one: each PE has one way to a peer. */
typedef int nvshmemx_qp_handle_t;
typedef enum {
    NVSHMEMX_QP_HOST = 0,
    NVSHMEMX_QP_DEFAULT = 1,
    NVSHMEMX_QP_ANY = 0x7fffffff,
    NVSHMEMX_QP_ALL = 0x7fffffff
} nvshmemx_qp_handle_index_t;

#ifdef NVSHMEM_HAS_CUDA
/* The handles are in memory of the host that kernels access, until the process ends. */
static inline int nvshmemx_qp_create(int num_qps, nvshmemx_qp_handle_t **out_qp_array)
{
    void *handles;

    if (num_qps < 1 || out_qp_array == NULL) return NVSHMEMX_ERROR_INVALID_VALUE;
    if (cudaHostAlloc(&handles, (size_t)num_qps * sizeof(nvshmemx_qp_handle_t),
                      cudaHostAllocPortable | cudaHostAllocMapped) != cudaSuccess)
        return NVSHMEMX_ERROR_OUT_OF_MEMORY;
    *out_qp_array = (nvshmemx_qp_handle_t *)handles;
    for (int i = 0; i < num_qps; i++)
        (*out_qp_array)[i] = NVSHMEMX_QP_DEFAULT;
    return NVSHMEMX_SUCCESS;
}

/* --- modules that the program loads ------------------------------------------------------- */
/* A function of the driver, with which programs of CUDA's runtime are not linked; null: there
 * is no driver. */
static inline void *nvshmemx_driver_function(const char *name)
{
    static void *driver; /* opened by the first call that finds it, for good */

    if (driver == NULL) driver = dlopen("libcuda.so.1", RTLD_NOW);
    return driver != NULL ? dlsym(driver, name) : NULL;
}

/* Files of the program itself have their state without these calls. `module` is a CUmodule or a
 * CUlibrary, in which this function of the driver finds the variable ch_state. */
static inline int nvshmemx_set_state(const char *function, void *module, int is_given)
{
    CUresult (*find)(CUdeviceptr *, size_t *, void *, const char *);
    CUdeviceptr state = 0;
    size_t bytes = 0;

    *(void **)(void *)&find = nvshmemx_driver_function(function);
    if (find == NULL)
        return chorusx_device_failed("finding the state of a module's kernels",
                                     "there is no driver (libcuda.so.1), or it is too old");
    if (find(&state, &bytes, module, "ch_state") != CUDA_SUCCESS)
        return chorusx_device_failed(
            "finding the state of a module's kernels",
            "no variable ch_state; no kernel of it makes calls, or it was compiled with "
            "-rdc=true");
    return is_given ? chorusx_module_give((void *)(uintptr_t)state, bytes)
                    : chorusx_module_take((void *)(uintptr_t)state, bytes);
}

static inline int nvshmemx_cumodule_init(CUmodule module)
{
    return nvshmemx_set_state("cuModuleGetGlobal_v2", module, 1);
}

static inline int nvshmemx_cumodule_finalize(CUmodule module)
{
    return nvshmemx_set_state("cuModuleGetGlobal_v2", module, 0);
}

#if CUDA_VERSION >= 12000
static inline int nvshmemx_culibrary_init(CUlibrary library)
{
    return nvshmemx_set_state("cuLibraryGetGlobal", library, 1);
}

static inline int nvshmemx_culibrary_finalize(CUlibrary library)
{
    return nvshmemx_set_state("cuLibraryGetGlobal", library, 0);
}
#endif
#endif /* NVSHMEM_HAS_CUDA */

/* --- launches: in files of CUDA --------------------------------------------------------- */
#ifdef __CUDACC__
static inline int nvshmemx_collective_launch(const void *func, dim3 grid, dim3 block,
                                             void **args, size_t shared, cudaStream_t stream)
{
    return chorusx_collective_launch(func, grid, block, args, shared, stream);
}

typedef struct nvshmemx_collective_launch_attr {
    cudaLaunchConfig_t cuda_config;
} nvshmemx_collective_launch_attr_t;

/* As nvshmemx_collective_launch, with further attributes of CUDA. */
static inline int nvshmemx_collective_launch_attr(const nvshmemx_collective_launch_attr_t *attr,
                                                  const void *func, void **args)
{
    return attr != NULL ? chorusx_collective_launch_config(&attr->cuda_config, func, args)
                        : NVSHMEMX_ERROR_INVALID_VALUE;
}

/* Blocks of the largest grid whose blocks all run at once beside equal grids of the other PEs
 * that use this PE's GPU. */
static inline int nvshmemx_collective_launch_query_gridsize(const void *func, dim3 block,
                                                            void **args, size_t shared,
                                                            int *gridsize)
{
    const int threads = (int)(block.x * block.y * block.z);
    struct ch_device_state state;
    int of_one = 0, n = 0;

    (void)args;
    if (ch_state_find(&state) != CHORUS_OK ||
        cudaDeviceGetAttribute(&n, cudaDevAttrMultiProcessorCount, state.ordinal) !=
            cudaSuccess ||
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&of_one, func, threads, shared) !=
            cudaSuccess)
        return NVSHMEMX_ERROR_INTERNAL;
    *gridsize = n * of_one / (int)state.n_sharing;
    if (*gridsize == 0 && of_one > 0) *gridsize = 1;
    return NVSHMEMX_SUCCESS;
}

#endif /* __CUDACC__ */

#endif /* NVSHMEMX_KERNELS_H */
