/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands in for NCCL and NVSHMEM of one PE, in host memory: does what they do, and stops the
 * program where it is asked in another way than they understand.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))
#define EXPECT(is_so) \
    if (!(is_so)) abort()

enum { STREAM = 4711, FLOAT = 7, BYTE = 0, SUM = 0, MAX = 2 };

struct id {
    char bytes[128];
};

/* --- NCCL --------------------------------------------------------------------------------- */

static int comm;
static const void *sent;
static int depth; /* of groups */

/* clang-format off */
API int ncclGetVersion(int *version);
API const char *ncclGetErrorString(int result);
API int ncclGetUniqueId(struct id *id);
API int ncclCommInitRank(void **comm_out, int n, struct id id, int rank);
API int ncclCommDestroy(void *which);
API int ncclGroupStart(void);
API int ncclGroupEnd(void);
API int ncclSend(const void *from, size_t count, int type, int peer, void *which, void *stream);
API int ncclRecv(void *to, size_t count, int type, int peer, void *which, void *stream);
API int ncclBroadcast(const void *from, void *to, size_t count, int type, int root, void *which, void *stream);
API int ncclAllGather(const void *from, void *to, size_t count, int type, void *which, void *stream);
API int ncclAllReduce(const void *from, void *to, size_t count, int type, int op, void *which, void *stream);
API int ncclReduceScatter(const void *from, void *to, size_t count, int type, int op, void *which, void *stream);
/* clang-format on */

static void expect(const void *which, const void *stream)
{
    EXPECT(which == &comm && stream == (void *)STREAM);
}

int ncclGetVersion(int *version)
{
    *version = 22809;
    return 0;
}

const char *ncclGetErrorString(int result)
{
    return result == 0 ? "no error" : "made-up error";
}

int ncclGetUniqueId(struct id *id)
{
    memset(id, 'n', sizeof(*id));
    return getenv("FAKE_PEERS_FAIL") != NULL ? 5 : 0;
}

int ncclCommInitRank(void **comm_out, int n, struct id id, int rank)
{
    EXPECT(n == 1 && rank == 0 && id.bytes[0] == 'n' && id.bytes[127] == 'n');
    *comm_out = &comm;
    return 0;
}

int ncclCommDestroy(void *which)
{
    EXPECT(which == &comm);
    return 0;
}

int ncclGroupStart(void)
{
    depth++;
    return 0;
}

int ncclGroupEnd(void)
{
    depth--;
    return 0;
}

int ncclSend(const void *from, size_t count, int type, int peer, void *which, void *stream)
{
    expect(which, stream);
    EXPECT(depth == 1 && type == BYTE && peer == 0 && count > 0);
    sent = from;
    return 0;
}

int ncclRecv(void *to, size_t count, int type, int peer, void *which, void *stream)
{
    expect(which, stream);
    EXPECT(depth == 1 && type == BYTE && peer == 0);
    memcpy(to, sent, count);
    return 0;
}

int ncclBroadcast(const void *from, void *to, size_t count, int type, int root, void *which,
                  void *stream)
{
    expect(which, stream);
    EXPECT(type == BYTE && root == 0);
    memcpy(to, from, count);
    return 0;
}

int ncclAllGather(const void *from, void *to, size_t count, int type, void *which, void *stream)
{
    expect(which, stream);
    EXPECT(type == BYTE);
    memcpy(to, from, count);
    return 0;
}

int ncclAllReduce(const void *from, void *to, size_t count, int type, int op, void *which,
                  void *stream)
{
    expect(which, stream);
    EXPECT(type == FLOAT && op == SUM);
    memcpy(to, from, count * sizeof(float));
    return 0;
}

int ncclReduceScatter(const void *from, void *to, size_t count, int type, int op, void *which,
                      void *stream)
{
    expect(which, stream);
    EXPECT(type == FLOAT && op == MAX);
    memcpy(to, from, count * sizeof(float));
    return 0;
}

#ifndef FAKE_OLD /* what came after NCCL 2.7 */
static const void *window_of;

/* clang-format off */
API int ncclAlltoAll(const void *from, void *to, size_t count, int type, void *which, void *stream);
API int ncclMemAlloc(void **area_out, size_t bytes);
API int ncclMemFree(void *area);
API int ncclCommWindowRegister(void *which, void *area, size_t bytes, void **window_out, int flags);
API int ncclCommWindowDeregister(void *which, void *window);
/* clang-format on */

int ncclAlltoAll(const void *from, void *to, size_t count, int type, void *which, void *stream)
{
    return ncclAllGather(from, to, count, type, which, stream);
}

int ncclMemAlloc(void **area_out, size_t bytes)
{
    *area_out = malloc(bytes);
    return 0;
}

int ncclMemFree(void *area)
{
    EXPECT(window_of == NULL); /* deregistered first */
    free(area);
    return 0;
}

int ncclCommWindowRegister(void *which, void *area, size_t bytes, void **window_out, int flags)
{
    EXPECT(which == &comm && bytes > 0 && flags == 1);
    window_of = area;
    *window_out = &window_of;
    return 0;
}

int ncclCommWindowDeregister(void *which, void *window)
{
    EXPECT(which == &comm && window == &window_of && window_of != NULL);
    window_of = NULL;
    return 0;
}

#endif /* FAKE_OLD */

/* --- NVSHMEM ------------------------------------------------------------------------------ */

/* As bytes, so that the layout on the other side is what is tried. */
static int32_t int_at(const void *bytes, size_t offset)
{
    int32_t value;

    memcpy(&value, (const char *)bytes + offset, sizeof(value));
    return value;
}

/* clang-format off */
API int nvshmemx_get_uniqueid(void *id);
API int nvshmemx_set_attr_uniqueid_args(int me, int n, const void *id, void *attributes);
API int nvshmemx_hostlib_init_attr(unsigned flags, void *attributes);
API void nvshmemx_hostlib_finalize(void);
API void nvshmemx_vendor_get_version_info(int *major, int *minor, int *patch);
API void *nvshmem_malloc(size_t bytes);
API void nvshmem_free(void *area);
API int nvshmemx_barrier_on_stream(int32_t team, void *stream);
API int nvshmemx_team_sync_on_stream(int32_t team, void *stream);
API int nvshmemx_float_sum_reduce_on_stream(int32_t team, void *to, const void *from, size_t count, void *stream);
API int nvshmemx_float_max_reducescatter_on_stream(int32_t team, void *to, const void *from, size_t count, void *stream);
API int nvshmemx_half_fcollect_on_stream(int32_t team, void *to, const void *from, size_t count, void *stream);
API int nvshmemx_int64_alltoall_on_stream(int32_t team, void *to, const void *from, size_t count, void *stream);
API int nvshmemx_uint8_broadcast_on_stream(int32_t team, void *to, const void *from, size_t count, int root, void *stream);
/* clang-format on */

int nvshmemx_get_uniqueid(void *id)
{
    EXPECT(int_at(id, 0) == (1 << 16) + 128);
    memset((char *)id + 4, 'v', 124);
    return 0;
}

/* Bytes of the attributes: a version, a pointer, the arguments' version at 16, and their
 * identity's at 24, with its pointer and two numbers after it. */
int nvshmemx_set_attr_uniqueid_args(int me, int n, const void *id, void *attributes)
{
    EXPECT(me == 0 && n == 1 && ((const char *)id)[127] == 'v');
    EXPECT(int_at(attributes, 0) == (1 << 16) + 144);
    EXPECT(int_at(attributes, 16) == (1 << 16) + 128);
    EXPECT(int_at(attributes, 24) == (1 << 16) + 24);
    memcpy((char *)attributes + 32, &id, sizeof(id));
    return 0;
}

int nvshmemx_hostlib_init_attr(unsigned flags, void *attributes)
{
    EXPECT(flags == 8 && int_at(attributes, 32) != 0);
    EXPECT(strcmp(getenv("NVSHMEM_DISABLE_NVLS"), "1") == 0);
    EXPECT(strcmp(getenv("NVSHMEM_DISABLE_NCCL"), "1") == 0);
    return getenv("FAKE_PEERS_FAIL") != NULL ? 7 : 0;
}

void nvshmemx_hostlib_finalize(void)
{
}

void nvshmemx_vendor_get_version_info(int *major, int *minor, int *patch)
{
    *major = 3;
    *minor = 4;
    *patch = 5;
}

void *nvshmem_malloc(size_t bytes)
{
    return malloc(bytes);
}

void nvshmem_free(void *area)
{
    free(area);
}

static int copy(int32_t team, void *to, const void *from, size_t bytes, const void *stream)
{
    EXPECT(team == 0 && stream == (void *)STREAM);
    memcpy(to, from, bytes);
    return 0;
}

int nvshmemx_barrier_on_stream(int32_t team, void *stream)
{
    EXPECT(team == 0 && stream == (void *)STREAM);
    return 0;
}

int nvshmemx_team_sync_on_stream(int32_t team, void *stream)
{
    EXPECT(team == 0 && stream == (void *)STREAM);
    return 0;
}

int nvshmemx_float_sum_reduce_on_stream(int32_t team, void *to, const void *from, size_t count,
                                        void *stream)
{
    return copy(team, to, from, count * 4, stream);
}

int nvshmemx_float_max_reducescatter_on_stream(int32_t team, void *to, const void *from,
                                               size_t count, void *stream)
{
    return copy(team, to, from, count * 4, stream);
}

int nvshmemx_half_fcollect_on_stream(int32_t team, void *to, const void *from, size_t count,
                                     void *stream)
{
    return copy(team, to, from, count * 2, stream);
}

int nvshmemx_int64_alltoall_on_stream(int32_t team, void *to, const void *from, size_t count,
                                      void *stream)
{
    return copy(team, to, from, count * 8, stream);
}

int nvshmemx_uint8_broadcast_on_stream(int32_t team, void *to, const void *from, size_t count,
                                       int root, void *stream)
{
    EXPECT(root == 0);
    return copy(team, to, from, count, stream);
}
