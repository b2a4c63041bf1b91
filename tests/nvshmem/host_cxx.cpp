/* SPDX-License-Identifier: Apache-2.0 */
/* host_cxx.cpp: a program of C++ without kernels: objects with owners, teams, collectives. */
#include "program.h"

#include <nvshmem.h>
#include <nvshmemx.h>

#include <memory>
#include <vector>

struct Free {
    void operator()(double *at) const
    {
        nvshmem_free(at);
    }
};
using Symmetric = std::unique_ptr<double[], Free>;

static Symmetric make(size_t count)
{
    return Symmetric(static_cast<double *>(nvshmem_malloc(count * sizeof(double))));
}

static double value(int pe, int round, size_t i)
{
    return 100.0 * pe + 10.0 * round + static_cast<double>(i % 7);
}

/* Reduces over a team, and counts what is wrong. */
static int reduce(nvshmem_team_t team, int round)
{
    const size_t count = 333;
    const int n = nvshmem_team_n_pes(team);
    Symmetric dest = make(count), source = make(count);
    std::vector<double> got(count, -1.0), mine(count);
    int wrong = 0;

    for (size_t i = 0; i < count; i++)
        mine[i] = value(nvshmem_team_my_pe(team), round, i);
    nvshmem_double_put(source.get(), mine.data(), count, nvshmem_my_pe());
    nvshmem_double_put(dest.get(), got.data(), count, nvshmem_my_pe());
    nvshmem_quiet();
    wrong += nvshmem_double_sum_reduce(team, dest.get(), source.get(), count) != 0;
    nvshmem_double_get(got.data(), dest.get(), count, nvshmem_my_pe());
    for (size_t i = 0; i < count; i++) {
        double sum = 0;
        for (int pe = 0; pe < n; pe++)
            sum += value(pe, round, i);
        wrong += got[i] != sum;
    }
    return wrong;
}

int main()
{
    nvshmem_team_t same;
    int wrong = 0;

    nvshmem_init();
    const int me = nvshmem_my_pe(), n = nvshmem_n_pes();
    if (nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 1, n, nullptr, 0, &same) != 0)
        wrong++;
    for (int round = 0; round < 3; round++) {
        wrong += reduce(NVSHMEM_TEAM_WORLD, round);
        wrong += reduce(same, round + 3);
    }
    nvshmem_team_destroy(same);
    nvshmem_finalize();
    return program_end("host_cxx", me, n, wrong);
}
