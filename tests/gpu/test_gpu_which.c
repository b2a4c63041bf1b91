/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which GPU a PE gets: the one that the program made current, here the last that it sees, where
 * CHORUS_TEST_CURRENT is set; else one each while there are enough, and shared by neighbours
 * where there are not.
 */
#include "gpu_pes.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUS_BYTES = 16, PES_MAX = 64 };

static int n_devices;

static bool is_chosen(void)
{
    return getenv("CHORUS_TEST_CURRENT") != NULL;
}

static void device__of_each_pe__is_the_one_it_ought_to_be(void)
{
    chorusx_heap_info_t info;
    int current = -1;

    EXPECT(chorusx_heap_info(&info) == CHORUS_OK && info.heap == CHORUS_HEAP_cuda);
    EXPECT(cudaGetDevice(&current) == cudaSuccess && current == info.device);
    if (is_chosen()) EXPECT(info.device == n_devices - 1);
}

/* By their PCI addresses, since each process may number them its own way. */
static void devices__of_all_pes__are_dealt_out(void)
{
    char *buses = chorus_calloc(PES_MAX, BUS_BYTES);
    char mine[BUS_BYTES] = {0}, all[PES_MAX][BUS_BYTES];
    chorusx_heap_info_t info;
    int n_same = 0;

    EXPECT(chorusx_heap_info(&info) == CHORUS_OK && gpu_n() <= PES_MAX);
    EXPECT(cudaDeviceGetPCIBusId(mine, BUS_BYTES, info.device) == cudaSuccess);
    for (int pe = 0; pe < gpu_n(); pe++)
        chorus_putmem(buses + gpu_me() * BUS_BYTES, mine, BUS_BYTES, pe);
    gpu_meet();
    gpu_copy(all, buses, sizeof(all));
    for (int pe = 0; pe < gpu_n(); pe++)
        n_same += memcmp(all[pe], mine, BUS_BYTES) == 0;
    if (is_chosen())
        EXPECT(n_same == gpu_n());
    else
        EXPECT(n_same <= (gpu_n() + n_devices - 1) / n_devices);
    chorus_free(buses);
}

#define CASES(X)                                     \
    X(device__of_each_pe__is_the_one_it_ought_to_be) \
    X(devices__of_all_pes__are_dealt_out)

int main(int argc, char **argv)
{
    static const struct gpu_case cases[] = {CASES(GPU_CASE)};

    if (cudaGetDeviceCount(&n_devices) == cudaSuccess && n_devices > 0 && is_chosen() &&
        cudaSetDevice(n_devices - 1) != cudaSuccess)
        return EXIT_FAILURE;
    return gpu_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
