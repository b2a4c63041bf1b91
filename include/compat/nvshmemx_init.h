/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvshmemx_init.h: codes, and starting by a unique id, an MPI communicator or OpenSHMEM, for
 * nvshmemx.h.
 */
#ifndef NVSHMEMX_INIT_H
#define NVSHMEMX_INIT_H

#include "nvshmem_setup.h"

#include <dlfcn.h>

/* --- codes ------------------------------------------------------------------------------ */
#define NVSHMEMX_SUCCESS 0
#define NVSHMEMX_ERROR_INVALID_VALUE CHORUS_ERR_ARG
#define NVSHMEMX_ERROR_OUT_OF_MEMORY CHORUS_ERR_NOMEM
#define NVSHMEMX_ERROR_NOT_SUPPORTED CHORUS_ERR_UNSUPPORTED
#define NVSHMEMX_ERROR_SYMMETRY CHORUS_ERR_NOT_SYMMETRIC
#define NVSHMEMX_ERROR_GPU_NOT_SELECTED CHORUS_ERR_STATE
#define NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED CHORUS_ERR_SYSTEM
#define NVSHMEMX_ERROR_INTERNAL CHORUS_ERR_SYSTEM

/* Of any code of Chorus, too. */
static inline const char *nvshmemx_status_string(int status)
{
    switch (status) {
#define X(name, value, text) \
    case CHORUS_##name:      \
        return text;
        CHORUS_STATUS_LIST(X)
#undef X
    }
    return "a code that does not exist";
}

/* --- setup ------------------------------------------------------------------------------ */
#define NVSHMEMX_INIT_THREAD_PES 1u
#define NVSHMEMX_INIT_WITH_MPI_COMM 2u
#define NVSHMEMX_INIT_WITH_SHMEM 4u
#define NVSHMEMX_INIT_WITH_UNIQUEID 8u

typedef chorusx_uniqueid_t nvshmemx_uniqueid_t;
typedef nvshmemx_uniqueid_t nvshmemx_uniqueid_v1;
typedef struct nvshmemx_uniqueid_args {
    int version; /* not looked at */
    nvshmemx_uniqueid_t *id;
    int myrank;
    int nranks;
} nvshmemx_uniqueid_args_t;
typedef nvshmemx_uniqueid_args_t nvshmemx_uniqueid_args_v1;
typedef struct nvshmemx_init_args {
    int version; /* not looked at */
    nvshmemx_uniqueid_args_t uid_args;
    int cuda_device_id; /* the GPU of this PE, of attributes of version 2; -1: not given */
} nvshmemx_init_args_t;
typedef nvshmemx_init_args_t nvshmemx_init_args_v1, nvshmemx_init_args_v2;
typedef struct nvshmemx_init_attr {
    int version;
    void *mpi_comm; /* address of an MPI_Comm */
    nvshmemx_init_args_t args;
} nvshmemx_init_attr_t;
typedef nvshmemx_init_attr_t nvshmemx_init_attr_v1, nvshmemx_init_attr_v2;
/* Programs leave attributes without a version uninitialised, except for what they set. */
#define NVSHMEM_INIT_ATTR_V1_IDENTIFIER ((1 << 16) + (int)sizeof(nvshmemx_init_attr_t))
#define NVSHMEM_INIT_ATTR_V2_IDENTIFIER ((2 << 16) + (int)sizeof(nvshmemx_init_attr_t))
#define NVSHMEM_INIT_ARGS_V2_IDENTIFIER ((2 << 16) + (int)sizeof(nvshmemx_init_args_t))
/* clang-format off */
#define NVSHMEMX_UNIQUEID_INITIALIZER {{0}}
#define NVSHMEMX_UNIQUEID_ARGS_INITIALIZER {1, NULL, -1, -1}
#define NVSHMEMX_INIT_ARGS_INITIALIZER {1, NVSHMEMX_UNIQUEID_ARGS_INITIALIZER, -1}
#define NVSHMEMX_INIT_ARGS_V2_INITIALIZER                                                      \
    {NVSHMEM_INIT_ARGS_V2_IDENTIFIER, NVSHMEMX_UNIQUEID_ARGS_INITIALIZER, -1}
#define NVSHMEMX_INIT_ATTR_V1_INITIALIZER                                                      \
    {NVSHMEM_INIT_ATTR_V1_IDENTIFIER, NULL, NVSHMEMX_INIT_ARGS_INITIALIZER}
#define NVSHMEMX_INIT_ATTR_INITIALIZER                                                         \
    {NVSHMEM_INIT_ATTR_V2_IDENTIFIER, NULL, NVSHMEMX_INIT_ARGS_V2_INITIALIZER}
/* clang-format on */
#define nvshmemx_init_init_attr_ver_only(attr) \
    ((void)((attr).version = NVSHMEM_INIT_ATTR_V1_IDENTIFIER))

static inline int nvshmemx_get_uniqueid(nvshmemx_uniqueid_t *uniqueid)
{
    return chorusx_get_uniqueid(uniqueid);
}

/* The id stays the caller's, until the job has begun. */
static inline int nvshmemx_set_attr_uniqueid_args(const int myrank, const int nranks,
                                                  const nvshmemx_uniqueid_t *uniqueid,
                                                  nvshmemx_init_attr_t *attr)
{
    chorusx_init_attr_t job;
    const int status =
        chorusx_set_attr_uniqueid_args(myrank, nranks, uniqueid, attr != NULL ? &job : NULL);

    if (status != CHORUS_OK) return status;
    attr->args.uid_args.id = (nvshmemx_uniqueid_t *)(uintptr_t)uniqueid;
    attr->args.uid_args.myrank = myrank;
    attr->args.uid_args.nranks = nranks;
    return NVSHMEMX_SUCCESS;
}

static inline int nvshmemx_set_attr_mpi_comm_args(void *mpi_comm,
                                                  nvshmemx_init_attr_t *nvshmem_attr)
{
    if (mpi_comm == NULL || nvshmem_attr == NULL) return NVSHMEMX_ERROR_INVALID_VALUE;
    nvshmem_attr->mpi_comm = mpi_comm;
    return NVSHMEMX_SUCCESS;
}

/* By libchorus-mpi, which is found at run time: most programs have no MPI. */
static inline int nvshmemx_take_comm(void *mpi_comm, chorusx_init_attr_t *job)
{
    void *const library = dlopen("libchorus-mpi.so.0", RTLD_NOW | RTLD_GLOBAL);
    int (*take)(const void *, chorusx_init_attr_t *) = NULL;

    if (library != NULL) *(void **)(void *)&take = dlsym(library, "chorusx_set_attr_mpi_comm");
    if (take != NULL) return take(mpi_comm, job);
    (void)fprintf(stderr,
                  "nvshmemx_init_attr: an MPI communicator needs libchorus-mpi.so.0, which the "
                  "dynamic linker does not find: %s\n",
                  dlerror());
    return NVSHMEMX_ERROR_NOT_SUPPORTED;
}

/* Returns the code after printing why. */
static inline int nvshmemx_refuse_start(unsigned flags, const char *why)
{
    (void)fprintf(stderr, "nvshmemx_init_attr: flags are 0x%x, and %s\n", flags, why);
    return NVSHMEMX_ERROR_INVALID_VALUE;
}

/* The job of shmem_init, of Chorus, which shmem_finalize will end. */
static inline int nvshmemx_join_shmem(void)
{
    nvshmem_name_calls();
    if (chorusx_init_status() != 1)
        return nvshmemx_refuse_start(
            NVSHMEMX_INIT_WITH_SHMEM,
            "the program has not called shmem_init of Chorus (-lchorus-shmem)");
    nvshmem_is_guest = 1;
    nvshmem_begin();
    return NVSHMEMX_SUCCESS;
}

/* How the job of these flags begins. */
static inline int nvshmemx_take_args(unsigned flags, const nvshmemx_init_attr_t *attr,
                                     chorusx_init_attr_t *job)
{
    const nvshmemx_uniqueid_args_t *const args = &attr->args.uid_args;

    if (flags == NVSHMEMX_INIT_WITH_MPI_COMM) return nvshmemx_take_comm(attr->mpi_comm, job);
    return chorusx_set_attr_uniqueid_args(args->myrank, args->nranks, args->id, job);
}

static inline int nvshmemx_init_attr(unsigned int flags, nvshmemx_init_attr_t *attributes)
{
    chorusx_init_attr_t job;
    unsigned set = 0;
    int status;

    memset(&job, 0, sizeof(job));
    if (flags == NVSHMEMX_INIT_WITH_SHMEM) return nvshmemx_join_shmem();
    if (flags == NVSHMEMX_INIT_WITH_MPI_COMM || flags == NVSHMEMX_INIT_WITH_UNIQUEID) {
        if (attributes == NULL) return nvshmemx_refuse_start(flags, "the attributes are null");
        status = nvshmemx_take_args(flags, attributes, &job);
        if (status != NVSHMEMX_SUCCESS) return status;
        set = CHORUSX_INIT_UNIQUEID;
    } else if (flags != 0) {
        return nvshmemx_refuse_start(
            flags, "expected 0 or one of NVSHMEMX_INIT_WITH_MPI_COMM, "
                   "NVSHMEMX_INIT_WITH_SHMEM and NVSHMEMX_INIT_WITH_UNIQUEID");
    }
    if (attributes != NULL && attributes->version == NVSHMEM_INIT_ATTR_V2_IDENTIFIER &&
        attributes->args.cuda_device_id >= 0) {
        job.device = attributes->args.cuda_device_id;
        set |= CHORUSX_INIT_DEVICE;
    }
    return nvshmem_start(set, &job);
}
#define nvshmemx_hostlib_init_attr nvshmemx_init_attr
#define nvshmemx_hostlib_finalize nvshmem_finalize

/* The version of NVSHMEM whose calls are here. */
NVSHMEM_CALL void nvshmemx_vendor_get_version_info(int *major, int *minor, int *patch)
{
    *major = NVSHMEM_VENDOR_MAJOR_VERSION;
    *minor = NVSHMEM_VENDOR_MINOR_VERSION;
    *patch = NVSHMEM_VENDOR_PATCH_VERSION;
}

/* The last two, of several PEs on a GPU, are never given: such PEs have everything here. */
typedef enum {
    NVSHMEM_STATUS_NOT_INITIALIZED = 0,
    NVSHMEM_STATUS_IS_BOOTSTRAPPED = 1,
    NVSHMEM_STATUS_IS_INITIALIZED = 2,
    NVSHMEM_STATUS_LIMITED_MPG = 3,
    NVSHMEM_STATUS_FULL_MPG = 4
} nvshmemx_init_status_t;
static inline int nvshmemx_init_status(void)
{
    return chorusx_init_status() == 1 ? NVSHMEM_STATUS_IS_INITIALIZED
                                      : NVSHMEM_STATUS_NOT_INITIALIZED;
}

#endif /* NVSHMEMX_INIT_H */
