/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library.c: loads libfabric at run time, when it is requested. A program that is linked with
 * it would load the libraries of all its providers, one of which replaces the program's
 * handlers of fatal signals.
 */
#include "transport/ofi/ofi.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* The functions that are not defined in headers: name, symbol. */
/* clang-format off */
#define FUNCTION_LIST(X)          \
    X(getinfo, "fi_getinfo")      \
    X(freeinfo, "fi_freeinfo")    \
    X(dupinfo, "fi_dupinfo")      \
    X(fabric, "fi_fabric")        \
    X(strerror, "fi_strerror")
/* clang-format on */

static struct {
    pthread_once_t once;
    bool is_loaded;
    char why[200];
#define X(name, symbol) __typeof__(&ch_ofi_##name) name;
    FUNCTION_LIST(X)
#undef X
} library = {.once = PTHREAD_ONCE_INIT};

/* Returns the address of a function of libfabric; null: it is not there, which is the failure
 * of loading. */
static void *find_symbol(void *handle, const char *symbol)
{
    void *const found = dlsym(handle, symbol);

    if (found == NULL) {
        (void)snprintf(library.why, sizeof(library.why), "%s is not in it", symbol);
        library.is_loaded = false;
    }
    return found;
}

/* Load libfabric and find its functions; sets library.is_loaded, or library.why. */
static void load_library(void)
{
    void *handle;

    /* Providers for Omni-Path write files when the program crashes, unless told not to. */
    (void)setenv("HFI_NO_BACKTRACE", "1", 0);
    (void)setenv("IPATH_NO_BACKTRACE", "1", 0);
    handle = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    library.is_loaded = handle != NULL;
    if (handle == NULL) {
        (void)snprintf(library.why, sizeof(library.why), "%s", dlerror());
        return;
    }
#define X(name, symbol) *(void **)(void *)&library.name = find_symbol(handle, symbol);
    FUNCTION_LIST(X)
#undef X
}

chorus_status ch_ofi_load(void)
{
    (void)pthread_once(&library.once, load_library);
    if (library.is_loaded) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_UNSUPPORTED, "libfabric cannot be loaded: %s", library.why);
}

/* The functions that the headers of libfabric call; only after it was loaded. */
int fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
               const struct fi_info *hints, struct fi_info **info)
{
    return library.getinfo(version, node, service, flags, hints, info);
}

void fi_freeinfo(struct fi_info *info)
{
    library.freeinfo(info);
}

struct fi_info *fi_dupinfo(const struct fi_info *info)
{
    return library.dupinfo(info);
}

int fi_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
    return library.fabric(attr, fabric, context);
}

const char *fi_strerror(int error)
{
    return library.strerror(error);
}
