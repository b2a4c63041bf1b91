/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_gpu_coordinator.cu: a ring of messages by coordinators of all launch modes: one program,
 * whose work is bound for each of them.
 */
#include "chorus/apps/coordinator_device.cuh"

extern "C" {
#include "gpu_pes.h"
}

#include <stdlib.h>
#include <string.h>

enum { WORDS = 3000, STEPS = 7, THREADS = 192 };

struct step {
    chorusx_coordinator_t coordinator;
    chorusx_coordinator_device_t handle;
    int me, n;
    uint64_t number;
    uint32_t *source, *places; /* places: two, used in turns */
    uint64_t *signals;         /* of each */
    unsigned long long *wrong; /* words, of all steps */
};

__device__ static uint32_t value(int pe, uint64_t step, uint32_t i)
{
    return (uint32_t)pe * 1000003u + (uint32_t)step * 7919u + i;
}

__device__ static void fill(const struct step *s)
{
    for (uint32_t i = threadIdx.x; i < WORDS; i += blockDim.x)
        s->source[i] = value(s->me, s->number, i);
    __syncthreads();
}

__device__ static void post(const struct step *s)
{
    const uint64_t at = s->number & 1;

    chorusx_coordinator_post_block(s->handle, s->places + at * WORDS, s->source,
                                   WORDS * sizeof(uint32_t), &s->signals[at], s->number,
                                   (s->me + 1) % s->n);
}

__device__ static void count_wrong(const struct step *s)
{
    const uint32_t *place = s->places + (s->number & 1) * WORDS;
    const int from = (s->me + s->n - 1) % s->n;

    for (uint32_t i = threadIdx.x; i < WORDS; i += blockDim.x)
        if (place[i] != value(from, s->number, i)) atomicAdd(s->wrong, 1ull);
}

__global__ void fill_kernel(struct step s)
{
    fill(&s);
}

__global__ void post_kernel(struct step s)
{
    fill(&s);
    post(&s);
}

__global__ void exchange_kernel(struct step s)
{
    fill(&s);
    post(&s);
    chorusx_coordinator_acknowledge_block(&s.signals[s.number & 1], s.number);
    count_wrong(&s);
}

__global__ void check_kernel(struct step s)
{
    count_wrong(&s);
}

static void run(const void *kernel, struct step *s, chorus_stream_t stream)
{
    void *args[] = {s};

    EXPECT(chorusx_collective_launch(kernel, dim3(1), dim3(THREADS), args, 0,
                                     (cudaStream_t)stream) == CHORUS_OK);
}

/* --- the work of each mode ---------------------------------------------------------------- */
static void of_host(void *arg, chorus_stream_t stream)
{
    run((const void *)fill_kernel, (struct step *)arg, stream);
}

static void of_partial(void *arg, chorus_stream_t stream)
{
    run((const void *)post_kernel, (struct step *)arg, stream);
}

static void of_device(void *arg, chorus_stream_t stream)
{
    run((const void *)exchange_kernel, (struct step *)arg, stream);
}

/* What the host does of a step. */
static void exchange(struct step *s, chorusx_launch_mode_t mode, chorus_stream_t stream)
{
    const uint64_t at = s->number & 1;
    const size_t bytes = WORDS * sizeof(uint32_t);

    EXPECT(chorusx_coordinator_launch(s->coordinator) == CHORUS_OK);
    if (mode == CHORUSX_LAUNCH_DEVICE) return;
    EXPECT(chorusx_coordinator_begin(s->coordinator) == CHORUS_OK);
    if (mode == CHORUSX_LAUNCH_HOST)
        EXPECT(chorusx_coordinator_post(s->coordinator, s->places + at * WORDS, s->source,
                                        bytes, &s->signals[at], s->number,
                                        (s->me + 1) % s->n) == CHORUS_OK);
    EXPECT(chorusx_coordinator_acknowledge(s->coordinator, s->places + at * WORDS, bytes,
                                           &s->signals[at], s->number,
                                           (s->me + s->n - 1) % s->n) == CHORUS_OK);
    EXPECT(chorusx_coordinator_end(s->coordinator) == CHORUS_OK);
    run((const void *)check_kernel, s, stream);
}

static void bind_all(struct step *s)
{
    EXPECT(chorusx_coordinator_bind(s->coordinator, CHORUSX_LAUNCH_HOST, of_host, s) ==
           CHORUS_OK);
    EXPECT(chorusx_coordinator_bind(s->coordinator, CHORUSX_LAUNCH_PARTIAL, of_partial, s) ==
           CHORUS_OK);
    EXPECT(chorusx_coordinator_bind(s->coordinator, CHORUSX_LAUNCH_DEVICE, of_device, s) ==
           CHORUS_OK);
}

static void allocate(struct step *s, chorusx_communicator_t world)
{
    *s = (struct step){};
    s->me = chorusx_communicator_my_pe(world);
    s->n = chorusx_communicator_n_pes(world);
    s->source = (uint32_t *)chorusx_communicator_malloc(world, WORDS * sizeof(uint32_t));
    s->places = (uint32_t *)chorusx_communicator_malloc(world, 2 * WORDS * sizeof(uint32_t));
    s->signals = (uint64_t *)chorusx_communicator_malloc(world, 2 * sizeof(uint64_t));
    s->wrong = (unsigned long long *)gpu_alloc(sizeof(*s->wrong));
    EXPECT(s->source != NULL && s->places != NULL && s->signals != NULL);
    gpu_fill(s->wrong, 0, sizeof(*s->wrong));
}

static void release(struct step *s, chorusx_communicator_t world)
{
    gpu_free(s->wrong);
    EXPECT(chorusx_communicator_free(world, s->signals) == CHORUS_OK);
    EXPECT(chorusx_communicator_free(world, s->places) == CHORUS_OK);
    EXPECT(chorusx_communicator_free(world, s->source) == CHORUS_OK);
}

static void run_steps(chorusx_communicator_t world, chorusx_launch_mode_t mode)
{
    unsigned long long wrong = 1;
    chorus_stream_t stream;
    struct step s;

    allocate(&s, world);
    EXPECT(chorusx_stream_create(&stream) == CHORUS_OK);
    EXPECT(chorusx_coordinator_create(world, mode, stream, &s.coordinator) == CHORUS_OK);
    if (mode != CHORUSX_LAUNCH_HOST)
        EXPECT(chorusx_coordinator_device(s.coordinator, &s.handle) == CHORUS_OK);
    bind_all(&s);
    for (s.number = 1; s.number <= STEPS; s.number++) {
        exchange(&s, mode, stream);
        EXPECT(chorusx_coordinator_barrier(s.coordinator) == CHORUS_OK); /* places are read */
    }
    EXPECT(chorusx_coordinator_synchronize(s.coordinator) == CHORUS_OK);
    gpu_copy(&wrong, s.wrong, sizeof(wrong));
    EXPECT(wrong == 0);
    EXPECT(chorusx_coordinator_destroy(s.coordinator) == CHORUS_OK);
    EXPECT(chorusx_stream_destroy(stream) == CHORUS_OK);
    release(&s, world);
}

static void messages__in_all_launch_modes__arrive(void)
{
    chorusx_environment_t environment;

    if (gpu_are_threads()) return; /* their kernels make no calls */
    EXPECT(chorusx_environment_create(NULL, &environment) == CHORUS_OK);
    run_steps(chorusx_environment_world(environment), CHORUSX_LAUNCH_HOST);
    run_steps(chorusx_environment_world(environment), CHORUSX_LAUNCH_PARTIAL);
    run_steps(chorusx_environment_world(environment), CHORUSX_LAUNCH_DEVICE);
    EXPECT(chorusx_environment_destroy(environment) == CHORUS_OK);
}

#define CASES(X) X(messages__in_all_launch_modes__arrive)

GPU_MAIN(CASES)
