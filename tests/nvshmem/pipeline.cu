/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline.cu: PE 0 sends a message around the ring in chunks; each PE forwards what arrives.
 */
#include "program.cuh"

/* A signal for each chunk; the value is the round. */
__global__ void forward(float *data, size_t n_chunks, size_t chunk, uint64_t *sig,
                        uint64_t round)
{
    const int me = nvshmem_my_pe(), n_pes = nvshmem_n_pes();

    for (size_t i = 0; i < n_chunks; i++) {
        if (me != 0) {
            if (threadIdx.x == 0) nvshmem_signal_wait_until(sig + i, NVSHMEM_CMP_EQ, round);
            __syncthreads();
        }
        if (me + 1 < n_pes)
            nvshmemx_float_put_signal_nbi_block(data + i * chunk, data + i * chunk, chunk,
                                                sig + i, round, NVSHMEM_SIGNAL_SET, me + 1);
    }
    nvshmem_quiet();
}

int main(void)
{
    const size_t n_chunks = 32, chunk = 1000, count = n_chunks * chunk;

    nvshmem_init();
    const int me = nvshmem_my_pe();
    use_gpu_of_node();
    float *const data = (float *)nvshmem_malloc(count * sizeof(float));
    uint64_t *const sig = (uint64_t *)nvshmem_calloc(n_chunks, sizeof(uint64_t));
    for (uint64_t round = 1; round <= 5; round++) {
        poison(data, count);
        if (me == 0) fill<<<8, 128>>>(data, count, 0, (int)round);
        nvshmemx_barrier_all_on_stream(0);
        forward<<<1, 256>>>(data, n_chunks, chunk, sig, round);
        compare<<<8, 128>>>(data, count, 0, (int)round);
        nvshmemx_barrier_all_on_stream(0);
        CUDA(cudaDeviceSynchronize());
    }
    nvshmem_free(sig);
    nvshmem_free(data);
    return end_job("pipeline");
}
