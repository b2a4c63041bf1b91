/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVSHMEM 3, loaded at run time: only the host library, which contains kernels for calls on
 * streams. The arguments of its initialisation are part of its ABI, marked by version and
 * bytes, and are repeated here, so that its headers are not needed.
 */
#include "bench/vs.h"

#include "chorus/chorus.h"

#include <dlfcn.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VERSION_OF(type) ((1 << 16) + (int)sizeof(type))
#define WITH_UNIQUE_ID 8u
#define TEAM_WORLD 0

struct unique_id {
    int version;
    char opaque[124];
};

struct unique_id_args {
    int version;
    struct unique_id *id;
    int me, pes;
};

struct init_args {
    int version;
    struct unique_id_args unique_id;
    char opaque[96];
};

struct init_attributes {
    int version;
    void *mpi;
    struct init_args args;
};
_Static_assert(sizeof(struct unique_id) == 128, "as NVSHMEM 3 has it");
_Static_assert(sizeof(struct init_args) == 128, "as NVSHMEM 3 has it");
_Static_assert(sizeof(struct init_attributes) == 144, "as NVSHMEM 3 has it");

/* Functions that are used: name, field, type. */
#define FUNCTIONS(X)                                                                 \
    X(nvshmemx_get_uniqueid, get_id, int (*)(struct unique_id *))                    \
    X(nvshmemx_set_attr_uniqueid_args, set_id,                                       \
      int (*)(int, int, const struct unique_id *, struct init_attributes *))         \
    X(nvshmemx_hostlib_init_attr, init, int (*)(unsigned, struct init_attributes *)) \
    X(nvshmemx_hostlib_finalize, finalize, void (*)(void))                           \
    X(nvshmemx_vendor_get_version_info, get_version, void (*)(int *, int *, int *))  \
    X(nvshmem_malloc, allocate, void *(*)(size_t))                                   \
    X(nvshmem_free, release, void (*)(void *))                                       \
    X(nvshmemx_barrier_on_stream, barrier, int (*)(int32_t, void *))                 \
    X(nvshmemx_team_sync_on_stream, sync, int (*)(int32_t, void *))

/* For a collective that moves or reduces data; broadcast has a root before the stream. */
typedef int (*typed_call)(int32_t team, void *dest, const void *source, size_t count,
                          void *stream);
typedef int (*rooted_call)(int32_t team, void *dest, const void *source, size_t count, int root,
                           void *stream);

static struct {
#define X(name, field, ...) __typeof__(__VA_ARGS__) field;
    FUNCTIONS(X)
#undef X
    void *library, *stream;
    struct ch_work found_for; /* the work for which `found` was looked up */
    void *found;
} nvshmem;

/* Types in the names of its functions; null for types that they do not support. */
#define TYPE_i8 "int8"
#define TYPE_i16 "int16"
#define TYPE_i32 "int32"
#define TYPE_i64 "int64"
#define TYPE_u8 "uint8"
#define TYPE_u16 "uint16"
#define TYPE_u32 "uint32"
#define TYPE_u64 "uint64"
#define TYPE_f16 "half"
#define TYPE_bf16 "bfloat16"
#define TYPE_f32 "float"
#define TYPE_f64 "double"
#define TYPE_f80 NULL
#define TYPE_c64 NULL
#define TYPE_c128 NULL

static const char *const types[CHORUS_TYPE_COUNT] = {
#define X(T, ctype, class, bytes) TYPE_##T,
    CHORUS_TYPE_LIST(X)
#undef X
};

/* Its bootstrap library is in the same folder, in which the loader does not search. */
static void find_bootstrap(const char *path)
{
    char copy[512], file[640];

    (void)snprintf(copy, sizeof(copy), "%s", path);
    (void)snprintf(file, sizeof(file), "%s/nvshmem_bootstrap_uid.so.3", dirname(copy));
    if (access(file, R_OK) == 0) (void)setenv("NVSHMEM_BOOTSTRAP_UID_PLUGIN", file, 0);
}

/* NVLink multicast is disabled, NVSHMEM's own collectives are measured and not those of NCCL,
 * and all connections are on this host, unless the user's variables say otherwise. */
static void set_environment(void)
{
    (void)setenv("NVSHMEM_DISABLE_NVLS", "1", 0);
    (void)setenv("NCCL_NVLS_ENABLE", "0", 0);
    (void)setenv("NVSHMEM_DISABLE_NCCL", "1", 0);
    (void)setenv("NVSHMEM_REMOTE_TRANSPORT", "none", 0);
    (void)setenv("NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME", "lo", 0);
    (void)setenv("NVSHMEM_SYMMETRIC_SIZE", "4G", 0);
}

bool ch_nvshmem_load(const char *path, char *error, size_t bytes)
{
    set_environment();
    if (strchr(path, '/') != NULL) find_bootstrap(path);
    nvshmem.library =
        dlopen(path[0] != '\0' ? path : "libnvshmem_host.so.3", RTLD_NOW | RTLD_LOCAL);
    if (nvshmem.library == NULL) {
        (void)snprintf(error, bytes, "%s", dlerror());
        return false;
    }
#define X(name, field, ...)                                                               \
    nvshmem.field = (__typeof__(nvshmem.field))(uintptr_t)dlsym(nvshmem.library, #name);  \
    if (nvshmem.field == NULL) {                                                          \
        (void)snprintf(error, bytes, "the library has no " #name "; it needs NVSHMEM 3"); \
        return false;                                                                     \
    }
    FUNCTIONS(X)
#undef X
    return true;
}

/* --- calls -------------------------------------------------------------------------------- */

/* The function of a call by its name; null if there is none. Cached for the following calls of
 * the row. */
static void *find(const struct ch_work *work)
{
    struct ch_work *const last = &nvshmem.found_for;
    char name[96];

    if (nvshmem.found != NULL && last->coll == work->coll && last->type == work->type &&
        last->op == work->op)
        return nvshmem.found;
    nvshmem.found = NULL;
    if (types[work->type] == NULL) return NULL;
    (void)snprintf(name, sizeof(name), "nvshmemx_%s_%s%s%s_on_stream", types[work->type],
                   ch_work_reduces(work) ? ch_sweep_ops[work->op] : "",
                   ch_work_reduces(work) ? "_" : "", ch_sweep_names[work->coll]);
    *last = *work;
    nvshmem.found = dlsym(nvshmem.library, name);
    return nvshmem.found;
}

static int call_typed(const struct ch_work *work, void *dest, const void *source, uint32_t root)
{
    const uintptr_t function = (uintptr_t)find(work);

    if (work->coll == CH_SWEEP_broadcast)
        return ((rooted_call)function)(TEAM_WORLD, dest, source, work->count, (int)root,
                                       nvshmem.stream);
    return ((typed_call)function)(TEAM_WORLD, dest, source, work->count, nvshmem.stream);
}

static int call(const struct ch_work *work, void *dest, const void *source, uint32_t root)
{
    int result;

    if (ch_work_moves(work) && find(work) == NULL) return CHORUS_ERR_UNSUPPORTED;
    if (work->coll == CH_SWEEP_barrier)
        result = nvshmem.barrier(TEAM_WORLD, nvshmem.stream);
    else if (work->coll == CH_SWEEP_sync)
        result = nvshmem.sync(TEAM_WORLD, nvshmem.stream);
    else
        result = call_typed(work, dest, source, root);
    if (result == 0) return 0;
    (void)fprintf(stderr, "NVSHMEM: %s: it returned %d\n", ch_sweep_names[work->coll], result);
    chorus_global_exit(1);
    return CHORUS_ERR_SYSTEM;
}

/* --- the job ------------------------------------------------------------------------------ */

bool ch_nvshmem_join(const struct ch_vs_job *job, struct ch_peer *peer_out, char *error,
                     size_t bytes)
{
    struct unique_id id = {.version = VERSION_OF(struct unique_id)};
    struct init_attributes attributes = {
        .version = VERSION_OF(struct init_attributes),
        .args = {.version = VERSION_OF(struct init_args),
                 .unique_id = {.version = VERSION_OF(struct unique_id_args)}},
    };
    int major = 0, minor = 0, patch = 0, result = 0;

    nvshmem.stream = job->stream;
    if (job->me == 0) result = nvshmem.get_id(&id);
    job->share(&result, sizeof(result));
    job->share(&id, sizeof(id));
    if (result == 0) result = nvshmem.set_id((int)job->me, (int)job->pes, &id, &attributes);
    if (result == 0) result = nvshmem.init(WITH_UNIQUE_ID, &attributes);
    if (result != 0) {
        (void)snprintf(error, bytes, "cannot join: NVSHMEM returned %d", result);
        return false;
    }
    nvshmem.get_version(&major, &minor, &patch);
    (void)snprintf(peer_out->version, sizeof(peer_out->version), "%d.%d.%d", major, minor,
                   patch);
    peer_out->allocate = nvshmem.allocate;
    peer_out->release = nvshmem.release;
    peer_out->call = call;
    return true;
}

void ch_nvshmem_leave(void)
{
    nvshmem.finalize();
}
