/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvshmemx.h: extensions of NVSHMEM's host API over Chorus: starting by a unique id,
 * collectives on CUDA streams, signals.
 */
#ifndef NVSHMEMX_H
#define NVSHMEMX_H

#include "nvshmem.h"

#include <string.h>

/* As CUDA declares it. */
typedef struct CUstream_st *nvshmemx_stream_t;

#define NVSHMEMX_SUCCESS 0
#define NVSHMEMX_ERROR_INVALID_VALUE CHORUS_ERR_ARG
#define NVSHMEMX_ERROR_OUT_OF_MEMORY CHORUS_ERR_NOMEM
#define NVSHMEMX_ERROR_NOT_SUPPORTED CHORUS_ERR_UNSUPPORTED
#define NVSHMEMX_ERROR_SYMMETRY CHORUS_ERR_NOT_SYMMETRIC
#define NVSHMEMX_ERROR_INTERNAL CHORUS_ERR_SYSTEM

/* --- setup ------------------------------------------------------------------------------ */
#define NVSHMEMX_INIT_WITH_UNIQUEID 8u

typedef chorusx_uniqueid_t nvshmemx_uniqueid_t;
typedef chorusx_init_attr_t nvshmemx_init_attr_t;
#define NVSHMEMX_UNIQUEID_INITIALIZER \
    {                                 \
        {                             \
            0                         \
        }                             \
    }
#define NVSHMEMX_INIT_ATTR_INITIALIZER                           \
    {                                                            \
        CHORUS_HEAP_auto, 0, 0, 0, NVSHMEMX_UNIQUEID_INITIALIZER \
    }
#define nvshmemx_get_uniqueid chorusx_get_uniqueid
#define nvshmemx_set_attr_uniqueid_args chorusx_set_attr_uniqueid_args
#define nvshmemx_init_status chorusx_init_status

static inline int nvshmemx_init_attr(unsigned flags, const nvshmemx_init_attr_t *attr)
{
    nvshmemx_init_attr_t wanted;

    memset(&wanted, 0, sizeof(wanted));
    if (attr != NULL) wanted = *attr;
    wanted.heap = CHORUS_HEAP_auto;
    return chorusx_init_attr(
        (flags & NVSHMEMX_INIT_WITH_UNIQUEID ? CHORUSX_INIT_UNIQUEID : 0u) |
            (flags & ~NVSHMEMX_INIT_WITH_UNIQUEID ? ~7u : 0u) /* which is refused */ |
            (getenv("CHORUS_HEAP") != NULL ? 0u : CHORUSX_INIT_HEAP),
        &wanted);
}

/* --- signals, and calls on streams ------------------------------------------------------- */
#define nvshmemx_signal_op chorusx_signal_op

/* clang-format off */
#define OWN(address) address
#define NVSHMEMX_STREAM ((chorus_stream_t)(void *)stream)
#define NVSHMEMX_C(A, name, arguments, ...)                                                    \
    static inline int nvshmemx_##name##_on_stream(nvshmem_team_t team, __VA_ARGS__,            \
                                                  nvshmemx_stream_t stream)                    \
    {                                                                                          \
        return chorusx_##name##_on_stream(team, NVSHMEM_BARE arguments, NVSHMEMX_STREAM);      \
    }
#define NVSHMEMX_MOVE(NAME, T, kind) SHMEM_TEAM_MOVE_CALLS(NVSHMEMX_C, , NAME##_, , T)
CHORUS_DEVICE_TYPES(NVSHMEMX_MOVE)
SHMEM_TEAM_MOVE_CALLS(NVSHMEMX_C, , , mem, void)

#define NVSHMEMX_REDUCE(NAME, T, OP)                                                           \
    SHMEM_REDUCE_CALLS(NVSHMEMX_C, , NAME##_, T, OP)                                           \
    NVSHMEMX_C(, NAME##_##OP##_reducescatter, (dest, source, nreduce), T *dest,                \
               const T *source, size_t nreduce)
#define NVSHMEMX_and(NAME, T, kind) NVSHMEMX_REDUCE(NAME, T, and)
#define NVSHMEMX_or(NAME, T, kind) NVSHMEMX_REDUCE(NAME, T, or)
#define NVSHMEMX_xor(NAME, T, kind) NVSHMEMX_REDUCE(NAME, T, xor)
#define NVSHMEMX_min(NAME, T, kind) NVSHMEMX_REDUCE(NAME, T, min)
#define NVSHMEMX_max(NAME, T, kind) NVSHMEMX_REDUCE(NAME, T, max)
#define NVSHMEMX_sum(NAME, T, kind) NVSHMEMX_REDUCE(NAME, T, sum)
#define NVSHMEMX_prod(NAME, T, kind) NVSHMEMX_REDUCE(NAME, T, prod)
#define NVSHMEMX_OP(OP, TYPES) TYPES(NVSHMEMX_##OP)
CHORUS_DEVICE_REDUCE_LIST(NVSHMEMX_OP)
#undef OWN
/* clang-format on */

static inline int nvshmemx_barrier_on_stream(nvshmem_team_t team, nvshmemx_stream_t stream)
{
    return chorusx_barrier_on_stream(team, NVSHMEMX_STREAM);
}

static inline void nvshmemx_barrier_all_on_stream(nvshmemx_stream_t stream)
{
    chorusx_raise(chorusx_barrier_all_on_stream(NVSHMEMX_STREAM));
}

static inline int nvshmemx_team_sync_on_stream(nvshmem_team_t team, nvshmemx_stream_t stream)
{
    return chorusx_team_sync_on_stream(team, NVSHMEMX_STREAM);
}

static inline void nvshmemx_sync_all_on_stream(nvshmemx_stream_t stream)
{
    chorusx_raise(chorusx_sync_all_on_stream(NVSHMEMX_STREAM));
}

#endif /* NVSHMEMX_H */
