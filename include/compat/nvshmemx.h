/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvshmemx.h: extensions of NVSHMEM's host API over Chorus: starting by a unique id, an MPI
 * communicator or OpenSHMEM, calls on CUDA streams, signals.
 */
#ifndef NVSHMEMX_H
#define NVSHMEMX_H

#include "nvshmem.h"

#include "nvshmemx_init.h"
#include "nvshmemx_team.h"

/* --- memory --------------------------------------------------------------------------- */
#define nvshmemx_mc_ptr chorusx_mc_ptr

/* Memory of this PE that is no object serves as source of a put, and as dest of a get, as it
 * is. */
static inline int nvshmemx_buffer_register(void *addr, size_t length)
{
    return addr != NULL && length != 0 ? NVSHMEMX_SUCCESS : NVSHMEMX_ERROR_INVALID_VALUE;
}
static inline int nvshmemx_buffer_unregister(void *addr)
{
    return addr != NULL ? NVSHMEMX_SUCCESS : NVSHMEMX_ERROR_INVALID_VALUE;
}
static inline void nvshmemx_buffer_unregister_all(void)
{
}
/* On every PE at once: the object that the pages at addr become a part of; null: a message says
 * why not. */
static inline void *nvshmemx_buffer_register_symmetric(void *addr, size_t length, int flags)
{
    (void)flags;
    return chorusx_buffer_register_symmetric(addr, length);
}
static inline int nvshmemx_buffer_unregister_symmetric(void *object, size_t length)
{
    (void)length;
    return chorusx_buffer_unregister_symmetric(object);
}
/* An object's address is that which Chorus chooses, so no other address can be had: null, and a
 * message, unless none is preferred. */
static inline void *
nvshmemx_buffer_register_symmetric_at_preferred_address(void *buf_ptr, size_t size,
                                                        void *preferred_addr, int flags)
{
    if (preferred_addr == NULL) return nvshmemx_buffer_register_symmetric(buf_ptr, size, flags);
    chorusx_raise_in(
        "nvshmemx_buffer_register_symmetric_at_preferred_address",
        chorusx_device_failed("registering memory at an address that the program prefers",
                              "Chorus chooses the address; pass null"));
    return NULL;
}

/* Regions are hints that calls may be sent together. Calls are not sent together here, so a
 * region is never active. */
#define NVSHMEMX_REGION_ATTRS_RESERVED_BYTES 60
typedef uint64_t nvshmemx_region_handle_t;
typedef enum {
    NVSHMEMX_REGION_HINT_NONE = 0,
    NVSHMEMX_REGION_HINT_BATCH_RMA = 1
} nvshmemx_region_hint_t;
typedef struct nvshmemx_region_attrs {
    uint32_t hints;
    char reserved[NVSHMEMX_REGION_ATTRS_RESERVED_BYTES];
} nvshmemx_region_attrs_t;
#define NVSHMEMX_REGION_ATTRS_INITIALIZER \
    {                                     \
        NVSHMEMX_REGION_HINT_NONE,        \
        {                                 \
            0                             \
        }                                 \
    }
NVSHMEM_CALL int nvshmemx_region_start(nvshmemx_region_handle_t *handle,
                                       const nvshmemx_region_attrs_t *attrs)
{
    if (handle == NULL || attrs == NULL || attrs->hints > NVSHMEMX_REGION_HINT_BATCH_RMA)
        return NVSHMEMX_ERROR_INVALID_VALUE;
    *handle = 0;
    return NVSHMEMX_SUCCESS;
}
NVSHMEM_CALL int nvshmemx_region_stop(nvshmemx_region_handle_t handle)
{
    return handle == 0 ? NVSHMEMX_SUCCESS : NVSHMEMX_ERROR_INVALID_VALUE;
}
NVSHMEM_CALL int nvshmemx_region_is_active(uint32_t hints, int *active)
{
    (void)hints;
    if (active == NULL) return NVSHMEMX_ERROR_INVALID_VALUE;
    *active = 0;
    return NVSHMEMX_SUCCESS;
}

/* --- signals, and calls on streams ------------------------------------------------------- */
#define nvshmemx_signal_op chorusx_signal_op

/* A signal of this PE, to be counted again. */
NVSHMEM_CALL void nvshmemx_signal_counted_reset(uint64_t *signal_addr)
{
    chorus_uint64_atomic_set(signal_addr, 0, chorus_my_pe());
}

/* CUDA's, or where there is no GPU the one that stands for stream 0. */
typedef cudaStream_t nvshmemx_stream_t;
static inline chorus_stream_t nvshmemx_stream_of(cudaStream_t stream)
{
    chorusx_heap_info_t info;

    if (stream != NULL || chorusx_heap_info(&info) != CHORUS_OK ||
        info.heap == CHORUS_HEAP_cuda)
        return (chorus_stream_t)(void *)stream;
    if (nvshmem_host_stream == NULL) chorusx_raise(chorusx_stream_create(&nvshmem_host_stream));
    return nvshmem_host_stream;
}

/* Without a GPU a program cannot wait for stream 0: a call on it has ended when it returns. */
static inline int nvshmemx_queued(int status, cudaStream_t stream)
{
    if (status == CHORUS_OK && stream == NULL && nvshmem_host_stream != NULL)
        return chorusx_stream_synchronize(nvshmem_host_stream);
    return status;
}

/* clang-format off */
#define OWN(address) address
#define NVSHMEMX_C(A, name, arguments, ...)                                                    \
    static inline int nvshmemx_##name##_on_stream(nvshmem_team_t team, __VA_ARGS__,            \
                                                  cudaStream_t stream)                         \
    {                                                                                          \
        return nvshmemx_queued(                                                                \
            chorusx_##name##_on_stream(team, NVSHMEM_BARE arguments, nvshmemx_stream_of(stream)), \
            stream);                                                                           \
    }
#define NVSHMEMX_MOVE(NAME, T, kind) SHMEM_TEAM_MOVE_CALLS(NVSHMEMX_C, , NAME##_, , T)
CHORUS_DEVICE_TYPES(NVSHMEMX_MOVE)
SHMEM_TEAM_MOVE_CALLS(NVSHMEMX_C, , , mem, void)

#define NVSHMEMX_REDUCE(OP, NAME, T, kind)                                                     \
    SHMEM_REDUCE_CALLS(NVSHMEMX_C, , NAME, T, OP)                                              \
    NVSHMEMX_C(, NAME##OP##_reducescatter, (dest, source, nreduce), T *dest,                   \
               const T *source, size_t nreduce)
#define NVSHMEMX_OP(OP, NAMES) NAMES(NVSHMEMX_REDUCE, OP)
CHORUS_DEVICE_REDUCE_LIST(NVSHMEMX_OP)

/* CUDA copies arguments on a stack before it returns; on a host this call waits for the stream. */
static inline int nvshmemx_put_value(void *dest, const void *value, size_t bytes, int pe,
                                     chorus_stream_t stream)
{
    const int code = chorusx_putmem_on_stream(dest, value, bytes, pe, stream);
    chorusx_heap_info_t info;

    if (code != CHORUS_OK || chorusx_heap_info(&info) != CHORUS_OK ||
        info.heap == CHORUS_HEAP_cuda)
        return code;
    return chorusx_stream_synchronize(stream);
}

/* The value is returned, so this call waits for the stream. */
static inline int nvshmemx_get_value(void *value, const void *source, size_t bytes, int pe,
                                     chorus_stream_t stream)
{
    const int code = chorusx_getmem_on_stream(value, source, bytes, pe, stream);

    return code == CHORUS_OK ? chorusx_stream_synchronize(stream) : code;
}

/* Puts and gets, whose bytes are those of elements; a number that does not fit is refused. */
static inline size_t nvshmemx_bytes(size_t nelems, size_t bytes)
{
    return nelems > SIZE_MAX / bytes ? SIZE_MAX : nelems * bytes;
}
#define NVSHMEMX_P(name, BYTES, T)                                                             \
    static inline void nvshmemx_##name##_on_stream(T *dest, const T *source, size_t nelems,    \
                                                   int pe, cudaStream_t stream)
#define NVSHMEMX_RUN(call) chorusx_raise_in(__func__, nvshmemx_queued(call, stream));
#define NVSHMEMX_ONE_WAY(way, name, BYTES, T)                                                  \
    NVSHMEMX_P(name, BYTES, T)                                                                 \
    {                                                                                          \
        NVSHMEMX_RUN(chorusx_##way##mem_on_stream(dest, source, nvshmemx_bytes(nelems, BYTES), \
                                                  pe, nvshmemx_stream_of(stream)))             \
    }
#define NVSHMEMX_SIGNAL(name, BYTES, T)                                                        \
    static inline void nvshmemx_##name##_on_stream(                                            \
        T *dest, const T *source, size_t nelems, uint64_t *sig_addr, uint64_t signal,          \
        int sig_op, int pe, cudaStream_t stream)                                               \
    {                                                                                          \
        NVSHMEMX_RUN(chorusx_putmem_signal_on_stream(                                          \
            dest, source, nvshmemx_bytes(nelems, BYTES), sig_addr, signal, sig_op, pe,         \
            nvshmemx_stream_of(stream)))                                                       \
    }
#define NVSHMEMX_BLOCK(PUT, GET, BYTES, T)                                                     \
    NVSHMEMX_ONE_WAY(put, PUT, BYTES, T)                                                       \
    NVSHMEMX_ONE_WAY(put, PUT##_nbi, BYTES, T)                                                 \
    NVSHMEMX_ONE_WAY(get, GET, BYTES, T)                                                       \
    NVSHMEMX_ONE_WAY(get, GET##_nbi, BYTES, T)                                                 \
    NVSHMEMX_SIGNAL(PUT##_signal, BYTES, T)                                                    \
    NVSHMEMX_SIGNAL(PUT##_signal_nbi, BYTES, T)
#define NVSHMEMX_TYPED(NAME, T, kind) NVSHMEMX_BLOCK(NAME##_put, NAME##_get, sizeof(T), T)
CHORUS_DEVICE_TYPES(NVSHMEMX_TYPED)
#define NVSHMEMX_SIZED(N, bytes) NVSHMEMX_BLOCK(put##N, get##N, bytes, void)
CHORUS_SIZES(NVSHMEMX_SIZED)
NVSHMEMX_BLOCK(putmem, getmem, 1, void)

/* Element by element, each a call. */
#define NVSHMEMX_STRIDES(way, name, BYTES, T)                                                  \
    static inline void nvshmemx_##name##_on_stream(T *dest, const T *source, ptrdiff_t dst,    \
                                                   ptrdiff_t sst, size_t nelems, int pe,       \
                                                   cudaStream_t stream)                        \
    {                                                                                          \
        for (size_t i = 0; i < nelems; i++)                                                    \
            NVSHMEMX_RUN(chorusx_##way##mem_on_stream(                                         \
                (char *)dest + (ptrdiff_t)i * dst * (ptrdiff_t)(BYTES),                        \
                (const char *)source + (ptrdiff_t)i * sst * (ptrdiff_t)(BYTES), BYTES, pe,     \
                nvshmemx_stream_of(stream)))                                                   \
    }
#define NVSHMEMX_ELEMENTS(NAME, T, kind)                                                       \
    NVSHMEMX_STRIDES(put, NAME##_iput, sizeof(T), T)                                           \
    NVSHMEMX_STRIDES(get, NAME##_iget, sizeof(T), T)                                           \
    static inline T nvshmemx_##NAME##_g_on_stream(const T *source, int pe, cudaStream_t stream) \
    {                                                                                          \
        T value;                                                                               \
                                                                                               \
        memset(&value, 0, sizeof(value));                                                      \
        chorusx_raise_in(__func__, nvshmemx_get_value(&value, source, sizeof(T), pe,           \
                                                      nvshmemx_stream_of(stream)));            \
        return value;                                                                          \
    }                                                                                          \
    static inline void nvshmemx_##NAME##_p_on_stream(T *dest, T value, int pe,                 \
                                                     cudaStream_t stream)                      \
    {                                                                                          \
        NVSHMEMX_RUN(nvshmemx_put_value(dest, &value, sizeof(T), pe, nvshmemx_stream_of(stream))) \
    }
CHORUS_DEVICE_TYPES(NVSHMEMX_ELEMENTS)
#define NVSHMEMX_SIZED_STRIDES(N, bytes)                                                       \
    NVSHMEMX_STRIDES(put, iput##N, bytes, void)                                                \
    NVSHMEMX_STRIDES(get, iget##N, bytes, void)
CHORUS_SIZES(NVSHMEMX_SIZED_STRIDES)
#undef OWN

#define NVSHMEMX_WAITS(NAME, T, kind)                                                          \
    static inline void nvshmemx_##NAME##_wait_until_on_stream(T *ivar, int cmp, T cmp_value,   \
                                                              cudaStream_t stream)             \
    {                                                                                          \
        NVSHMEMX_RUN(chorusx_##NAME##_wait_until_on_stream(ivar, cmp, cmp_value,               \
                                                           nvshmemx_stream_of(stream)))        \
    }                                                                                          \
    static inline void nvshmemx_##NAME##_wait_until_all_on_stream(                             \
        T *ivars, size_t nelems, const int *status, int cmp, T cmp_value, cudaStream_t stream) \
    {                                                                                          \
        NVSHMEMX_RUN(chorusx_##NAME##_wait_until_all_on_stream(                                \
            ivars, nelems, status, cmp, cmp_value, nvshmemx_stream_of(stream)))                \
    }                                                                                          \
    static inline void nvshmemx_##NAME##_wait_until_all_vector_on_stream(                      \
        T *ivars, size_t nelems, const int *status, int cmp, const T *cmp_values,              \
        cudaStream_t stream)                                                                   \
    {                                                                                          \
        NVSHMEMX_RUN(chorusx_##NAME##_wait_until_all_vector_on_stream(                         \
            ivars, nelems, status, cmp, cmp_values, nvshmemx_stream_of(stream)))               \
    }
CHORUS_WAIT_TYPES(NVSHMEMX_WAITS)
/* clang-format on */

static inline void nvshmemx_signal_op_on_stream(uint64_t *sig_addr, uint64_t signal, int sig_op,
                                                int pe, cudaStream_t stream)
{
    NVSHMEMX_RUN(
        chorusx_signal_op_on_stream(sig_addr, signal, sig_op, pe, nvshmemx_stream_of(stream)))
}

static inline void nvshmemx_signal_wait_until_on_stream(uint64_t *sig_addr, int cmp,
                                                        uint64_t cmp_value, cudaStream_t stream)
{
    NVSHMEMX_RUN(chorusx_signal_wait_until_on_stream(sig_addr, cmp, cmp_value,
                                                     nvshmemx_stream_of(stream)))
}

static inline void nvshmemx_quiet_on_stream(cudaStream_t stream)
{
    NVSHMEMX_RUN(chorusx_quiet_on_stream(nvshmemx_stream_of(stream)))
}

/* Only ensures that sources may be written again; a quiet does more. */
#define nvshmemx_flush chorus_quiet
#define nvshmemx_flush_on_stream nvshmemx_quiet_on_stream

static inline int nvshmemx_barrier_on_stream(nvshmem_team_t team, cudaStream_t stream)
{
    return nvshmemx_queued(chorusx_barrier_on_stream(team, nvshmemx_stream_of(stream)), stream);
}

static inline void nvshmemx_barrier_all_on_stream(cudaStream_t stream)
{
    NVSHMEMX_RUN(chorusx_barrier_all_on_stream(nvshmemx_stream_of(stream)))
}

static inline int nvshmemx_team_sync_on_stream(nvshmem_team_t team, cudaStream_t stream)
{
    return nvshmemx_queued(chorusx_team_sync_on_stream(team, nvshmemx_stream_of(stream)),
                           stream);
}

static inline void nvshmemx_sync_all_on_stream(cudaStream_t stream)
{
    NVSHMEMX_RUN(chorusx_sync_all_on_stream(nvshmemx_stream_of(stream)))
}

#include "nvshmemx_kernels.h"
#ifdef __CUDACC__
#include "nvshmem_device.cuh"
#endif

#endif /* NVSHMEMX_H */
