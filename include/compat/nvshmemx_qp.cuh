/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvshmemx_qp.cuh: calls inside kernels that name a queue pair, of nvshmem_device.cuh: each is
 * the call without one. A PE has one way to a peer, so quiet and fence are those of all peers.
 */
#ifndef NVSHMEMX_QP_CUH
#define NVSHMEMX_QP_CUH

#include "nvshmemx_kernels.h"

/* clang-format off */
/* A call of chorus_device.cuh, by (prefix) and scope; the handle is its last argument. */
#define NVSHMEMX_QP_PUT(by, NAME, T, way, scope)                                               \
    CHORUS_DEVICE void nvshmemx_qp_##NAME##_##way##scope(T *dest, const T *source,             \
                                                         size_t nelems, int pe,                \
                                                         nvshmemx_qp_handle_t qp_index)        \
    {                                                                                          \
        (void)qp_index;                                                                        \
        by##_##NAME##_##way##scope(dest, source, nelems, pe);                                  \
    }
#define NVSHMEMX_QP_SIGNAL(by, NAME, T, way, scope)                                            \
    CHORUS_DEVICE void nvshmemx_qp_##NAME##_##way##scope(                                      \
        T *dest, const T *source, size_t nelems, uint64_t *sig_addr, uint64_t signal,          \
        int sig_op, int pe, nvshmemx_qp_handle_t qp_index)                                     \
    {                                                                                          \
        (void)qp_index;                                                                        \
        by##_##NAME##_##way##scope(dest, source, nelems, sig_addr, signal, sig_op, pe);        \
    }
#define NVSHMEMX_QP_SCOPES(ROW, NAME, T, way)                                                  \
    ROW(chorus, NAME, T, way, )                                                                \
    ROW(chorusx, NAME, T, way, _warp)                                                          \
    ROW(chorusx, NAME, T, way, _block)
#define NVSHMEMX_QP_TYPE(NAME, T, kind)                                                        \
    CHORUS_DEVICE void nvshmemx_qp_##NAME##_p(T *dest, const T value, int pe,                  \
                                              nvshmemx_qp_handle_t qp_index)                   \
    {                                                                                          \
        (void)qp_index;                                                                        \
        chorus_##NAME##_p(dest, value, pe);                                                    \
    }                                                                                          \
    CHORUS_DEVICE T nvshmemx_qp_##NAME##_g(const T *source, int pe,                            \
                                           nvshmemx_qp_handle_t qp_index)                      \
    {                                                                                          \
        (void)qp_index;                                                                        \
        return chorus_##NAME##_g(source, pe);                                                  \
    }                                                                                          \
    NVSHMEMX_QP_SCOPES(NVSHMEMX_QP_PUT, NAME, T, put)                                          \
    NVSHMEMX_QP_SCOPES(NVSHMEMX_QP_PUT, NAME, T, get)                                          \
    NVSHMEMX_QP_SCOPES(NVSHMEMX_QP_PUT, NAME, T, put_nbi)                                      \
    NVSHMEMX_QP_SCOPES(NVSHMEMX_QP_PUT, NAME, T, get_nbi)                                      \
    NVSHMEMX_QP_SCOPES(NVSHMEMX_QP_SIGNAL, NAME, T, put_signal)                                \
    NVSHMEMX_QP_SCOPES(NVSHMEMX_QP_SIGNAL, NAME, T, put_signal_nbi)
CHORUS_DEVICE_TYPES(NVSHMEMX_QP_TYPE)
/* clang-format on */

CHORUS_DEVICE void nvshmemx_qp_signal_op(uint64_t *sig_addr, uint64_t signal, int sig_op,
                                         int pe, nvshmemx_qp_handle_t qp_index)
{
    (void)qp_index;
    chorusx_signal_op(sig_addr, signal, sig_op, pe);
}

/* Of all peers and handles. One thread of a warp or a block makes the call for all. */
#define NVSHMEMX_QP_ORDER(name)                                                            \
    CHORUS_DEVICE void nvshmemx_qp_##name(int pe, nvshmemx_qp_handle_t *qp_handle,         \
                                          int num_qps)                                     \
    {                                                                                      \
        (void)pe;                                                                          \
        (void)qp_handle;                                                                   \
        (void)num_qps;                                                                     \
        chorus_##name();                                                                   \
    }                                                                                      \
    CHORUS_DEVICE void nvshmemx_qp_##name##_warp(int pe, nvshmemx_qp_handle_t *qp_handle,  \
                                                 int num_qps)                              \
    {                                                                                      \
        __syncwarp();                                                                      \
        if (ch_thread_in_block() % CH_WARP_LANES == 0)                                     \
            nvshmemx_qp_##name(pe, qp_handle, num_qps);                                    \
        __syncwarp();                                                                      \
    }                                                                                      \
    CHORUS_DEVICE void nvshmemx_qp_##name##_block(int pe, nvshmemx_qp_handle_t *qp_handle, \
                                                  int num_qps)                             \
    {                                                                                      \
        __syncthreads();                                                                   \
        if (ch_thread_in_block() == 0) nvshmemx_qp_##name(pe, qp_handle, num_qps);         \
        __syncthreads();                                                                   \
    }
NVSHMEMX_QP_ORDER(quiet)
NVSHMEMX_QP_ORDER(fence)

#endif /* NVSHMEMX_QP_CUH */
