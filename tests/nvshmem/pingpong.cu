/* SPDX-License-Identifier: Apache-2.0 */
/* pingpong.cu: messages go back and forth between two PEs, by put_signal, then by p. */
#include "program.cuh"

static const size_t count = 64;

/* Even PEs send first. Every value of an iteration differs from those of the last. */
__global__ void with_signal(int *dest, int *source, uint64_t *sig, int peer, int n_iterations)
{
    const int me = nvshmem_my_pe(), is_first = me < peer;

    for (int i = 1; i <= n_iterations; i++) {
        if (!is_first) {
            nvshmem_signal_wait_until(sig, NVSHMEM_CMP_EQ, (uint64_t)i);
            for (size_t k = 0; k < count; k++)
                if (dest[k] != element(peer, i, k)) n_wrong++;
        }
        for (size_t k = 0; k < count; k++)
            source[k] = element(me, i, k);
        nvshmem_int_put_signal(dest, source, count, sig, (uint64_t)i, NVSHMEM_SIGNAL_SET, peer);
        if (is_first) {
            nvshmem_signal_wait_until(sig, NVSHMEM_CMP_EQ, (uint64_t)i);
            for (size_t k = 0; k < count; k++)
                if (dest[k] != element(peer, i, k)) n_wrong++;
        }
    }
}

__global__ void with_flag(int *flag, int peer, int n_iterations)
{
    const int is_first = nvshmem_my_pe() < peer;

    for (int i = 1; i <= n_iterations; i++) {
        if (!is_first) nvshmem_int_wait_until(flag, NVSHMEM_CMP_EQ, i);
        nvshmem_int_p(flag, i, peer);
        nvshmem_quiet();
        if (is_first) nvshmem_int_wait_until(flag, NVSHMEM_CMP_EQ, i);
    }
    if (*flag != n_iterations) n_wrong++;
}

int main(void)
{
    const int n_iterations = 200;

    nvshmem_init();
    const int peer = nvshmem_my_pe() ^ 1;
    use_gpu_of_node();
    int *const dest = (int *)nvshmem_malloc(count * sizeof(int));
    int *const source = (int *)nvshmem_malloc(count * sizeof(int));
    int *const flag = (int *)nvshmem_calloc(1, sizeof(int));
    uint64_t *const sig = (uint64_t *)nvshmem_calloc(1, sizeof(uint64_t));
    poison(dest, count);
    nvshmem_barrier_all();
    if (peer < nvshmem_n_pes()) {
        with_signal<<<1, 1>>>(dest, source, sig, peer, n_iterations);
        with_flag<<<1, 1>>>(flag, peer, n_iterations);
        CUDA(cudaDeviceSynchronize());
    }
    nvshmem_barrier_all();
    nvshmem_free(sig);
    nvshmem_free(flag);
    nvshmem_free(source);
    nvshmem_free(dest);
    return end_job("pingpong");
}
