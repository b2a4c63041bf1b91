/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA's own types of 16 bits, and its streams, in the calls of nvshmem.h; on hosts. */
#include <nvshmem.h>
#include <nvshmemx.h>
#include <type_traits>
int main(void)
{
    nvshmem_init();
    cudaStream_t s = 0;
    int me = nvshmem_my_pe(), n = nvshmem_n_pes();
    __half *x = (__half *)nvshmem_malloc(64), *y = x + 8;
    __nv_bfloat16 *b = (__nv_bfloat16 *)nvshmem_malloc(64);
    *x = __float2half(1.5f);
    nvshmem_half_p(y, *x, (me + 1) % n);
    nvshmem_barrier_all();
    if (__half2float(nvshmem_half_g(y, me)) != 1.5f) nvshmem_global_exit(1);
    nvshmem_half_sum_reduce(NVSHMEM_TEAM_WORLD, y, x, 1);
    if (__half2float(*y) != 1.5f * n) nvshmem_global_exit(2);
    *b = __float2bfloat16(2.f);
    nvshmemx_bfloat16_max_reduce_on_stream(NVSHMEM_TEAM_WORLD, b, b, 1, s);
    nvshmemx_half_put_on_stream(y, x, 1, me, s);
    if (__half2float(*y) != 1.5f || __bfloat162float(*b) != 2.f) nvshmem_global_exit(3);
    nvshmem_barrier_all();
    x[0] = x[1] = __float2half(0.f);
    nvshmem_barrier_all();
    nvshmemx_half_atomic_add(&x[1], __float2half(0.5f), 0); /* the neighbours of a word, by all */
    nvshmemx_half_atomic_add(&x[0], __float2half(2.f), 0);
    nvshmem_barrier_all();
    if (__half2float(nvshmem_half_atomic_fetch(&x[1], 0)) != 0.5f * n ||
        __half2float(nvshmem_half_atomic_fetch(&x[0], 0)) != 2.f * n)
        nvshmem_global_exit(4);
    nvshmem_barrier_all();
    nvshmem_half_atomic_set(&y[1], __float2half(3.f), me);
    if (__half2float(nvshmem_half_atomic_swap(&y[1], __float2half(4.f), me)) != 3.f ||
        __half2float(nvshmemx_half_atomic_fetch_add(&y[1], __float2half(1.f), me)) != 4.f ||
        __half2float(y[1]) != 5.f)
        nvshmem_global_exit(5);
    nvshmem_finalize();
}
