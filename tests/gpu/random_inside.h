/* SPDX-License-Identifier: Apache-2.0 */
/*
 * random_inside.h: collectives that kernels of a program make inside, on streams, for
 * test_gpu_random.c: a kernel of one block makes one call, by the block, a warp or a thread.
 * Two teams may have such a kernel each at the same time.
 */
#ifndef RANDOM_INSIDE_H
#define RANDOM_INSIDE_H

#include "chorus/chorusx.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The rows of CHORUS_COLL_ROWS that calls inside kernels have; those that combine do by sums.
 */
/* clang-format off */
#define RANDOM_INSIDE_LIST(X) \
    X(barrier)                \
    X(broadcast)              \
    X(fcollect)               \
    X(alltoall)               \
    X(reduce)                 \
    X(reducescatter)
/* clang-format on */

enum random_form { RANDOM_BLOCK, RANDOM_WARP, RANDOM_THREAD };

struct random_inside {
    chorus_team_t team;
    chorus_coll coll;
    chorus_type type; /* i32, or by a block f16 */
    enum random_form form;
    void *dest;
    const void *source;
    size_t count;
    int root;
};

/* Give the kernel the state of this PE, and run it once, so that CUDA has all that it needs
 * before other kernels wait. Collective over the job; PEs are processes. Returns a code. */
int random_inside_open(void);

/* Launch the kernel for a call on a cudaStream_t: by chorusx_collective_launch on that of
 * CHORUS_TEAM_WORLD; else, and in captures, as any kernel, since CUDA does not say whether two
 * cooperative kernels run at the same time. Returns a code. */
int random_inside_launch(const struct random_inside *call, void *stream);

/* How many calls of this PE have failed, once they have ended. */
unsigned long long random_inside_failed(void);

#ifdef __cplusplus
}
#endif

#endif /* RANDOM_INSIDE_H */
