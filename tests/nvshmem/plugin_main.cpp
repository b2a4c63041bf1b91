/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_main.cpp: kernels in libraries that are loaded while the job runs, as extensions of
 * Python are: libplugin.so, and libplugin_rdc.so, compiled separately, each twice.
 */
#include "program.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <nvshmem.h>
#include <nvshmemx.h>

/* The number of wrong values. */
static int run(const char *name)
{
    void *const library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    int wrong = 1;

    if (library == nullptr) {
        fprintf(stderr, "%s\n", dlerror());
        return wrong;
    }
    auto *const function = reinterpret_cast<int (*)()>(dlsym(library, "plugin_run"));
    if (function != nullptr) wrong = function();
    dlclose(library);
    return wrong;
}

int main()
{
    int n_gpus = 1, wrong = 0;

    nvshmem_init();
    const int me = nvshmem_my_pe(), n_pes = nvshmem_n_pes();
    if (cudaGetDeviceCount(&n_gpus) != cudaSuccess ||
        cudaSetDevice(nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE) % n_gpus) != cudaSuccess)
        return EXIT_FAILURE;
    for (int again = 0; again < 2; again++)
        wrong += run("libplugin.so") + run("libplugin_rdc.so");
    nvshmem_finalize();
    return program_end("plugin", me, n_pes, wrong);
}
