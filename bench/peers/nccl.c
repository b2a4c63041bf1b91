/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL, loaded at run time. Its constants of types, operators and results are part of its ABI
 * since version 2 and are repeated here, so that its headers are not needed. It serves as two
 * peers of --vs, on one communicator: with memory of the program, and with memory that NCCL
 * allocated and that is registered as a symmetric window, for which it has special kernels.
 */
#include "bench/gpu.h"
#include "bench/vs.h"
#include "chorus/status.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

struct nccl_id {
    char bytes[128];
};

/* Functions that are used; the name without its prefix, and the type. */
#define FUNCTIONS(X)                                                              \
    X(GetVersion, int (*)(int *))                                                 \
    X(GetErrorString, const char *(*)(int))                                       \
    X(GetUniqueId, int (*)(struct nccl_id *))                                     \
    X(CommInitRank, int (*)(void **, int, struct nccl_id, int))                   \
    X(CommDestroy, int (*)(void *))                                               \
    X(GroupStart, int (*)(void))                                                  \
    X(GroupEnd, int (*)(void))                                                    \
    X(Send, int (*)(const void *, size_t, int, int, void *, void *))              \
    X(Recv, int (*)(void *, size_t, int, int, void *, void *))                    \
    X(Broadcast, int (*)(const void *, void *, size_t, int, int, void *, void *)) \
    X(AllGather, int (*)(const void *, void *, size_t, int, void *, void *))      \
    X(AllReduce, int (*)(const void *, void *, size_t, int, int, void *, void *)) \
    X(ReduceScatter, int (*)(const void *, void *, size_t, int, int, void *, void *))

/* Functions of later versions, null if they are missing. */
#define LATER_FUNCTIONS(X)                                                  \
    X(AlltoAll, int (*)(const void *, void *, size_t, int, void *, void *)) \
    X(MemAlloc, int (*)(void **, size_t))                                   \
    X(MemFree, int (*)(void *))                                             \
    X(CommWindowRegister, int (*)(void *, void *, size_t, void **, int))    \
    X(CommWindowDeregister, int (*)(void *, void *))

enum { WINDOWS_MAX = 8, SYMMETRIC = 1 };

static struct {
#define X(name, ...) __typeof__(__VA_ARGS__) name;
    FUNCTIONS(X)
    LATER_FUNCTIONS(X)
#undef X
    void *comm, *stream;
    uint32_t me, pes;
    void (*lose)(const char *why);
    void *library;
    unsigned joined; /* peers of --vs that use comm */
    struct {
        void *area, *window;
    } windows[WINDOWS_MAX];
} nccl;

enum { NONE = -1, BYTE = 0 };

/* Its constant of each type, and of the operators that it has. */
#define TYPE_i8 0
#define TYPE_i16 NONE
#define TYPE_i32 2
#define TYPE_i64 4
#define TYPE_u8 1
#define TYPE_u16 NONE
#define TYPE_u32 3
#define TYPE_u64 5
#define TYPE_f16 6
#define TYPE_bf16 9
#define TYPE_f32 7
#define TYPE_f64 8
#define TYPE_f80 NONE
#define TYPE_c64 NONE
#define TYPE_c128 NONE

#define OP_min , 3
#define OP_max , 2
#define OP_sum , 0
#define OP_prod , 1

static const int types[CHORUS_TYPE_COUNT] = {
#define X(T, ctype, class, bytes) TYPE_##T,
    CHORUS_TYPE_LIST(X)
#undef X
};

static const int ops[CHORUS_OP_COUNT] = {
#define X(OP) CH_ROW_OR(OP_##OP, NONE),
    CHORUS_OP_LIST(X)
#undef X
};

bool ch_nccl_load(const char *path, char *error, size_t bytes)
{
    void *const library =
        dlopen(path[0] != '\0' ? path : "libnccl.so.2", RTLD_NOW | RTLD_LOCAL);

    if (library == NULL) {
        (void)snprintf(error, bytes, "%s", dlerror());
        return false;
    }
    if (nccl.joined > 0 && library != nccl.library) {
        (void)snprintf(error, bytes,
                       "another NCCL library is in use; name one library for both");
        return false;
    }
    nccl.library = library;
#define X(name, ...)                                                                         \
    nccl.name = (__typeof__(nccl.name))(uintptr_t)dlsym(library, "nccl" #name);              \
    if (nccl.name == NULL) {                                                                 \
        (void)snprintf(error, bytes, "the library has no nccl" #name "; it needs NCCL 2.7"); \
        return false;                                                                        \
    }
    FUNCTIONS(X)
#undef X
#define X(name, ...) nccl.name = (__typeof__(nccl.name))(uintptr_t)dlsym(library, "nccl" #name);
    LATER_FUNCTIONS(X)
#undef X
    return true;
}

bool ch_nccl_windows_load(const char *path, char *error, size_t bytes)
{
    if (!ch_nccl_load(path, error, bytes)) return false;
    if (nccl.MemAlloc != NULL && nccl.CommWindowRegister != NULL) return true;
    (void)snprintf(error, bytes,
                   "the library has no ncclCommWindowRegister; it needs NCCL 2.27");
    return false;
}

/* If one PE of the job cannot continue, none can. */
static void require(int result, const char *what)
{
    char why[256];

    if (result == 0) return;
    (void)snprintf(why, sizeof(why), "NCCL: %s: %s", what, nccl.GetErrorString(result));
    nccl.lose(why);
}

static int call_alltoall(const struct ch_work *work, char *dest, const char *source)
{
    const size_t block = work->count * ch_sweep_type_bytes[work->type];

    if (nccl.AlltoAll != NULL) {
        require(nccl.AlltoAll(source, dest, block, BYTE, nccl.comm, nccl.stream), "alltoall");
        return 0;
    }
    require(nccl.GroupStart(), "group");
    for (uint32_t pe = 0; pe < nccl.pes; pe++) {
        require(nccl.Send(source + pe * block, block, BYTE, (int)pe, nccl.comm, nccl.stream),
                "send");
        require(nccl.Recv(dest + pe * block, block, BYTE, (int)pe, nccl.comm, nccl.stream),
                "receive");
    }
    require(nccl.GroupEnd(), "group");
    return 0;
}

/* Data is moved as bytes, which NCCL treats the same way for all types. */
static int call(const struct ch_work *work, void *dest, const void *source, uint32_t root)
{
    const size_t bytes = work->count * ch_sweep_type_bytes[work->type];
    const int type = types[work->type], op = ops[work->op];

    if (ch_work_reduces(work) && (type == NONE || op == NONE)) return CHORUS_ERR_UNSUPPORTED;
    switch (work->coll) {
    case CH_SWEEP_broadcast:
        require(nccl.Broadcast(source, dest, bytes, BYTE, (int)root, nccl.comm, nccl.stream),
                "broadcast");
        return 0;
    case CH_SWEEP_fcollect:
        require(nccl.AllGather(source, dest, bytes, BYTE, nccl.comm, nccl.stream), "gather");
        return 0;
    case CH_SWEEP_alltoall:
        return call_alltoall(work, dest, source);
    case CH_SWEEP_reduce:
        require(nccl.AllReduce(source, dest, work->count, type, op, nccl.comm, nccl.stream),
                "reduce");
        return 0;
    case CH_SWEEP_reducescatter:
        require(nccl.ReduceScatter(source, dest, work->count, type, op, nccl.comm, nccl.stream),
                "reducescatter");
        return 0;
    default:
        return CHORUS_ERR_UNSUPPORTED; /* it has no barrier */
    }
}

/* NVLink multicast is disabled, and connections at the start are on this host, unless the
 * user's variables say otherwise. */
static void set_environment(void)
{
    (void)setenv("NCCL_NVLS_ENABLE", "0", 0);
    (void)setenv("NCCL_SOCKET_IFNAME", "lo", 0);
}

/* The entry for the window of `area`; a free one for null. */
static unsigned find_window(const void *area)
{
    unsigned place = 0;

    while (place < WINDOWS_MAX && nccl.windows[place].area != area)
        place++;
    return place;
}

static void *allocate_window(size_t bytes)
{
    const unsigned place = find_window(NULL);
    void *area = NULL;

    if (place == WINDOWS_MAX) return NULL;
    require(nccl.MemAlloc(&area, bytes), "allocate");
    require(
        nccl.CommWindowRegister(nccl.comm, area, bytes, &nccl.windows[place].window, SYMMETRIC),
        "register a window");
    nccl.windows[place].area = area;
    return area;
}

static void release_window(void *area)
{
    const unsigned place = find_window(area);

    if (area == NULL || place == WINDOWS_MAX) return;
    require(nccl.CommWindowDeregister(nccl.comm, nccl.windows[place].window), "deregister");
    require(nccl.MemFree(area), "free");
    nccl.windows[place].area = NULL;
}

static int make_comm(const struct ch_vs_job *job)
{
    struct nccl_id id = {{0}};
    int result = 0;

    set_environment();
    nccl.me = job->me;
    nccl.pes = job->pes;
    nccl.stream = job->stream;
    nccl.lose = job->lose;
    if (job->me == 0) result = nccl.GetUniqueId(&id);
    job->share(&result, sizeof(result));
    job->share(&id, sizeof(id));
    if (result == 0) result = nccl.CommInitRank(&nccl.comm, (int)job->pes, id, (int)job->me);
    return result;
}

bool ch_nccl_join(const struct ch_vs_job *job, struct ch_peer *peer_out, char *error,
                  size_t bytes)
{
    int version = 0, result = nccl.joined > 0 ? 0 : make_comm(job);

    if (result == 0) result = nccl.GetVersion(&version);
    if (result != 0) {
        (void)snprintf(error, bytes, "cannot join: %s", nccl.GetErrorString(result));
        return false;
    }
    nccl.joined++;
    (void)snprintf(peer_out->version, sizeof(peer_out->version), "%d.%d.%d", version / 10000,
                   version / 100 % 100, version % 100);
    peer_out->allocate = ch_bench_gpu_allocate;
    peer_out->release = ch_bench_gpu_release;
    peer_out->call = call;
    return true;
}

bool ch_nccl_windows_join(const struct ch_vs_job *job, struct ch_peer *peer_out, char *error,
                          size_t bytes)
{
    if (!ch_nccl_join(job, peer_out, error, bytes)) return false;
    peer_out->allocate = allocate_window;
    peer_out->release = release_window;
    return true;
}

void ch_nccl_leave(void)
{
    if (--nccl.joined == 0) (void)nccl.CommDestroy(nccl.comm);
}

void ch_nccl_windows_leave(void)
{
    ch_nccl_leave();
}
