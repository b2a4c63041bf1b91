/* SPDX-License-Identifier: Apache-2.0 */
/* teams.cu: teams that are split from others, used by kernels: ranks, translation, collectives.
 */
#include "program.cuh"

static const size_t count = 200;

__global__ void collect(nvshmem_team_t team, int *dest, const int *source, int first,
                        int stride)
{
    const int me = nvshmem_team_my_pe(team);

    if (threadIdx.x == 0 &&
        nvshmem_team_translate_pe(team, me, NVSHMEM_TEAM_WORLD) != nvshmem_my_pe())
        n_wrong++;
    if (threadIdx.x == 0 && nvshmem_my_pe() != first + me * stride) n_wrong++;
    nvshmemx_int_fcollect_block(team, dest, source, count);
    nvshmemx_team_sync_block(team);
}

/* The team of PEs first, first + stride, ...; this PE is one of them. */
static void use_team(nvshmem_team_t team, int *dest, const int *source, int first, int stride,
                     int round)
{
    const int n = nvshmem_team_n_pes(team);

    poison(dest, count * (size_t)n);
    nvshmem_team_sync(team);
    collect<<<1, 128>>>(team, dest, source, first, stride);
    for (int i = 0; i < n; i++)
        compare<<<1, 128>>>(dest + (size_t)i * count, count, first + i * stride, round);
    CUDA(cudaDeviceSynchronize());
    nvshmem_team_sync(team);
}

int main(void)
{
    nvshmem_team_t by_parity, row, column, shared;
    nvshmem_team_config_t config;
    int wrong_teams = 0;

    nvshmem_init();
    const int me = nvshmem_my_pe(), n_pes = nvshmem_n_pes(), parity = me % 2;
    use_gpu_of_node();
    int *const dest = (int *)nvshmem_malloc(count * (size_t)n_pes * sizeof(int));
    int *const source = (int *)nvshmem_malloc(count * sizeof(int));
    memset(&config, 0, sizeof(config));
    wrong_teams +=
        nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, parity, 2, (n_pes + 1 - parity) / 2,
                                   &config, 0, &by_parity) != 0;
    wrong_teams +=
        nvshmem_team_split_2d(NVSHMEM_TEAM_WORLD, 2, NULL, 0, &row, NULL, 0, &column) != 0;
    wrong_teams +=
        nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 1, n_pes, NULL, 0, &shared) != 0;
    if (wrong_teams != 0) return EXIT_FAILURE;
    for (int round = 0; round < 4; round++) {
        fill<<<1, 128>>>(source, count, me, round);
        CUDA(cudaDeviceSynchronize());
        use_team(by_parity, dest, source, parity, 2, round);
        use_team(row, dest, source, me / 2 * 2, 1, round);
        use_team(column, dest, source, me % 2, 2, round);
        use_team(shared, dest, source, 0, 1, round);
        nvshmem_barrier_all();
    }
    nvshmem_team_destroy(shared);
    nvshmem_team_destroy(column);
    nvshmem_team_destroy(row);
    nvshmem_team_destroy(by_parity);
    nvshmem_free(source);
    nvshmem_free(dest);
    return end_job("teams");
}
