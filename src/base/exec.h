/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec.h: the only header that depends on the backend that an algorithm runs on.
 *
 * An algorithm is a CH_FN function in the common subset of C11 and C++17, over primitives that
 * the headers included below define with one contract (stated in exec_host.h). A function runs
 * on `width` lanes that act for one PE: one CPU thread (width 1), fibers of the simulator, or
 * one thread block.
 */
#ifndef CH_EXEC_H
#define CH_EXEC_H

#if defined(CH_SIM)
#include "base/exec_sim.h"
#define CH_BATCH_OF_MACHINE "coll/host/batch_cpu.h"
#elif defined(__CUDACC__)
#include "base/exec_cuda.h"
#define CH_BATCH_OF_MACHINE "coll/cuda/batch_cuda.h"
#else
#include "base/exec_host.h"
#define CH_BATCH_OF_MACHINE "coll/host/batch_cpu.h"
#endif

/* ch_word_await, for callers that do not need the value. */
CH_FN chorus_status ch_word_wait(const struct ch_wait_policy *p, const uint64_t *word,
                                 uint64_t least)
{
    uint64_t found;

    return ch_word_await(p, word, least, &found);
}

/* GPUs whose switches can multicast are a separate backend for a few kernels
 * (kernels_nvls.cu). */
#if defined(CH_NVLS)
#define CH_MULTICAST_OF_MACHINE "coll/cuda/multimem_cuda.h"
#else
#define CH_MULTICAST_OF_MACHINE "coll/primitives/multicast_software.h"
#endif

#endif /* CH_EXEC_H */
