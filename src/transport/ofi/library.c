/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library.c: libfabric, loaded when it is asked for. Linked, it would bring the libraries of
 * all its providers into every program, one of which takes over the program's signals of
 * crashes.
 */
#include "transport/ofi/ofi.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The functions that are not in headers alone, as libfabric has them. */
/* clang-format off */
#define FUNCTION_LIST(X) X(fi_getinfo) X(fi_freeinfo) X(fi_dupinfo) X(fi_fabric) X(fi_strerror)
/* clang-format on */

static struct {
    pthread_once_t once;
    bool is_loaded;
    char why[200];
#define X(name) __typeof__(&name) name;
    FUNCTION_LIST(X)
#undef X
} library = {.once = PTHREAD_ONCE_INIT};

static void load(void)
{
    void *handle;

    /* Providers for Omni-Path write files when the program crashes, unless told not to. */
    (void)setenv("HFI_NO_BACKTRACE", "1", 0);
    (void)setenv("IPATH_NO_BACKTRACE", "1", 0);
    handle = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    library.is_loaded = handle != NULL;
    if (handle == NULL) {
        (void)strncpy(library.why, dlerror(), sizeof(library.why) - 1);
        return;
    }
#define X(name)                                                                     \
    *(void **)(void *)&library.name = dlsym(handle, #name);                         \
    if (library.name == NULL) {                                                     \
        (void)strncpy(library.why, #name " is not in it", sizeof(library.why) - 1); \
        library.is_loaded = false;                                                  \
    }
    FUNCTION_LIST(X)
#undef X
}

chorus_status ch_ofi_load(void)
{
    (void)pthread_once(&library.once, load);
    if (library.is_loaded) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_UNSUPPORTED, "libfabric cannot be loaded: %s", library.why);
}

/* What the headers of libfabric call; only after it was loaded. */
int fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
               const struct fi_info *hints, struct fi_info **info)
{
    return library.fi_getinfo(version, node, service, flags, hints, info);
}

void fi_freeinfo(struct fi_info *info)
{
    library.fi_freeinfo(info);
}

struct fi_info *fi_dupinfo(const struct fi_info *info)
{
    return library.fi_dupinfo(info);
}

int fi_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
    return library.fi_fabric(attr, fabric, context);
}

const char *fi_strerror(int error)
{
    return library.fi_strerror(error);
}
