/* SPDX-License-Identifier: Apache-2.0 */
/* kernel.cu: one kernel on every PE that puts to the next PE and sums over all. */
#include <chorus/chorus_device.cuh>

#include <stdio.h>

__global__ void kernel(int *from, int *sum)
{
    const int me = chorus_my_pe(), next = (me + 1) % chorus_n_pes();

    if (threadIdx.x == 0) {
        chorus_int_p(from, me, next);
        *sum = me + 1;
    }
    chorusx_barrier_all_block();
    (void)chorusx_int_sum_reduce_block(CHORUS_TEAM_WORLD, sum, sum, 1);
}

int main(void)
{
    int *from, *sum, found[2] = {-1, -1};

    if (chorus_init() != 0) return 1;
    from = (int *)chorus_malloc(sizeof(int));
    sum = (int *)chorus_malloc(sizeof(int));
    if (from == NULL || sum == NULL) return 1;

    void *args[] = {&from, &sum};
    if (chorusx_collective_launch((const void *)kernel, 1, 64, args, 0, 0) != 0 ||
        chorusx_stream_synchronize(0) != 0) {
        (void)fprintf(stderr, "%s\n", chorusx_last_error());
        return 1;
    }
    (void)cudaMemcpy(&found[0], from, sizeof(int), cudaMemcpyDefault);
    (void)cudaMemcpy(&found[1], sum, sizeof(int), cudaMemcpyDefault);
    (void)printf("PE %d of %d: from PE %d, the sum is %d\n", chorus_my_pe(), chorus_n_pes(),
                 found[0], found[1]);
    chorus_free(sum);
    chorus_free(from);
    chorus_finalize();
    return 0;
}
