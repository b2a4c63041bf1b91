/* SPDX-License-Identifier: Apache-2.0 */
/* The same of a program of NVSHMEM, on 1 PE without GPUs. */
#include <nvshmem.h>
#include <nvshmemx.h>
#include <stdio.h>
#include <stdlib.h>

static void print(int code, const char *message)
{
    (void)code;
    (void)fprintf(stderr, "said: %s\n", message);
}

int main(void)
{
    int here = 0, *there;

    (void)setenv("NVSHMEM_SYMMETRIC_SIZE", "1M", 1); /* no limit */
    (void)setenv("NVSHMEM_MAX_MEMORY_PER_GPU", "16M", 1);
    (void)chorusx_set_error_handler(print);
    nvshmem_int_p(&here, 1, 0);
    (void)nvshmemx_init_attr(NVSHMEMX_INIT_THREAD_PES, NULL);
    nvshmem_init();
    nvshmem_init();
    there = (int *)nvshmem_malloc(sizeof(*there));
    nvshmem_int_put(&here, there, 1, 0);
    nvshmem_free(nvshmem_malloc((size_t)8 << 20));
    nvshmemx_int_put_on_stream(there, &here, 1, 9, NULL);
    if (nvshmem_int_sum_reduce(NVSHMEM_TEAM_INVALID, there, there, 1) != 0)
        print(0, chorusx_last_error());
    if (nvshmemx_int_sum_reduce_on_stream(NVSHMEM_TEAM_INVALID, there, there, 1, NULL) != 0)
        print(0, chorusx_last_error());
    nvshmem_int_wait_until(there, 77, 1);
    if (nvshmem_malloc((size_t)64 << 20) == NULL) print(0, chorusx_last_error());
    nvshmem_free(there);
    nvshmem_free(there);
    nvshmem_finalize();
    return 0;
}
