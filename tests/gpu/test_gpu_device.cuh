/* SPDX-License-Identifier: Apache-2.0 */
/* test_gpu_device.cuh: how tests of calls inside kernels launch, allocate and count. */
#ifndef TEST_GPU_DEVICE_CUH
#define TEST_GPU_DEVICE_CUH

#include "chorus/chorus_device.cuh"

extern "C" {
#include "gpu_pes.h"
}
#include <stdlib.h>

enum { THREADS = 96, THREADS_MAX = 256, SLOTS = 16, WORDS = 64, ROUNDS = 8 };

/* What does not hold inside a kernel, counted at *bad. */
#define HOLDS(condition)                           \
    do {                                           \
        if (!(condition)) (void)atomicAdd(bad, 1); \
    } while (0)

/* To its end, without a look at what it reported. */
template <typename... A>
static void run_grid(void (*kernel)(A...), unsigned blocks, unsigned threads, A... arguments)
{
    void *args[] = {&arguments...};

    EXPECT(chorusx_collective_launch((const void *)kernel, dim3(blocks), dim3(threads), args, 0,
                                     0) == CHORUS_OK);
    EXPECT(cudaDeviceSynchronize() == cudaSuccess);
}

/* One block, which reports nothing. */
template <typename... A> static void run(void (*kernel)(A...), unsigned threads, A... arguments)
{
    run_grid(kernel, 1, threads, arguments...);
    EXPECT(chorusx_stream_synchronize(0) == CHORUS_OK);
}

/* Symmetric, zero. */
template <typename T> static T *make(size_t count)
{
    return (T *)chorus_calloc(count, sizeof(T));
}

static inline void expect_none(int *bad)
{
    int n_bad = -1;

    gpu_copy(&n_bad, bad, sizeof(n_bad));
    EXPECT(n_bad == 0);
    chorus_free(bad);
}

/* Bodies in test_gpu_device_coll.cu, a module of its own with a state of its own. */
void barriers_publish(void);
void collectives_move_and_combine(void);
void forms_differ_among_pes(void);
void scopes_follow_at_once(void);
void kernels_know_new_teams(void);
void hosts_and_kernels_take_turns(void);
void blocks_call_on_teams_of_their_own(void);
void a_second_call_at_once_is_refused(void);

#endif /* TEST_GPU_DEVICE_CUH */
