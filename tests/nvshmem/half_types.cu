/* SPDX-License-Identifier: Apache-2.0 */
/* half_types.cu: activations of 16 bits: puts of half and of bfloat16, and their sums. */
#include "program.cuh"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

__global__ void move_half(half *dest, const half *source, size_t count)
{
    const int next = (nvshmem_my_pe() + 1) % nvshmem_n_pes();

    for (size_t i = thread_of_grid(); i < count; i += threads_of_grid())
        nvshmem_half_p(dest + i, __hmul(source[i], __float2half(2.0f)), next);
}

__global__ void move_bfloat16(__nv_bfloat16 *dest, const __nv_bfloat16 *source, size_t count)
{
    const int next = (nvshmem_my_pe() + 1) % nvshmem_n_pes();

    nvshmemx_bfloat16_put_block(dest, source, count, next);
}

__global__ void sum_half(half *dest, const half *source, size_t count)
{
    nvshmemx_half_sum_reduce_block(NVSHMEM_TEAM_WORLD, dest, source, count);
}

__global__ void check_sums(const half *dest, size_t count, int n_pes, int round)
{
    for (size_t i = thread_of_grid(); i < count; i += threads_of_grid()) {
        int sum = 0;
        for (int pe = 0; pe < n_pes; pe++)
            sum += element(pe, round, i);
        if (__half2float(dest[i]) != (float)sum) atomicAdd(&n_wrong, 1);
    }
}

int main(void)
{
    const size_t count = 1030;

    nvshmem_init();
    const int me = nvshmem_my_pe(), n_pes = nvshmem_n_pes(), before = (me + n_pes - 1) % n_pes;
    use_gpu_of_node();
    half *const h = (half *)nvshmem_malloc(2 * count * sizeof(half));
    __nv_bfloat16 *const b = (__nv_bfloat16 *)nvshmem_malloc(2 * count * sizeof(*b));
    for (int round = 0; round < 5; round++) {
        fill<<<2, 128>>>(h, count, me, round);
        fill<<<2, 128>>>(b, count, me, round);
        poison(h + count, count);
        poison(b + count, count);
        nvshmem_barrier_all();
        move_half<<<2, 128>>>(h + count, h, count);
        move_bfloat16<<<1, 128>>>(b + count, b, count);
        nvshmemx_barrier_all_on_stream(0);
        compare<<<2, 128>>>(h + count, count, before, round, 2);
        compare<<<2, 128>>>(b + count, count, before, round);
        poison(h + count, count);
        nvshmem_barrier_all();
        sum_half<<<1, 256>>>(h + count, h, count);
        check_sums<<<2, 128>>>(h + count, count, n_pes, round);
        CUDA(cudaDeviceSynchronize());
        nvshmem_barrier_all();
    }
    nvshmem_free(b);
    nvshmem_free(h);
    return end_job("half_types");
}
