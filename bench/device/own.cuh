/* SPDX-License-Identifier: Apache-2.0 */
/* own.cuh: the start and the end of this library, by whatever names kernels call it. */
#ifndef CH_BENCH_DEVICE_OWN_CUH
#define CH_BENCH_DEVICE_OWN_CUH

/* The library of the job is initialised already. */
static bool library_open(int me, int n)
{
    (void)me, (void)n;
    return true;
}

/* Can all blocks run at once? Under MPS a PE may have a part of the multiprocessors. */
static bool library_has_room(const void *kernel, unsigned ctas, unsigned threads)
{
    int device, n, of_one;

    return cudaGetDevice(&device) == cudaSuccess &&
           cudaDeviceGetAttribute(&n, cudaDevAttrMultiProcessorCount, device) == cudaSuccess &&
           cudaOccupancyMaxActiveBlocksPerMultiprocessor(&of_one, kernel, (int)threads, 0) ==
               cudaSuccess &&
           ctas <= (unsigned)(n * of_one);
}

static void library_close(void)
{
}

#endif /* CH_BENCH_DEVICE_OWN_CUH */
