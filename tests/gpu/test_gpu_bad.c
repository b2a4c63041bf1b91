/* SPDX-License-Identifier: Apache-2.0 */
/* Bad input: each gives a code and a message, and nothing is lost or hangs. */
#include "gpu_pes.h"

#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SECONDS = 8 }; /* CHORUS_TIMEOUT: longer than PEs start one after another */

static bool says(const char *part)
{
    return strstr(chorusx_last_error(), part) != NULL;
}

/* After a refusal all is as it was. */
static void expect_usable(chorus_team_t team)
{
    int *one = chorus_malloc(sizeof(int)), *sum = chorus_calloc(1, sizeof(int));
    const int mine = 1;
    int found = 0;

    gpu_copy(one, &mine, sizeof(mine));
    EXPECT(chorusx_team_status(team) == CHORUS_OK);
    EXPECT(chorus_int_sum_reduce(team, sum, one, 1) == CHORUS_OK);
    gpu_copy(&found, sum, sizeof(found));
    EXPECT(found == chorus_team_n_pes(team));
    chorus_free(sum);
    chorus_free(one);
}

static int own_device(void)
{
    chorusx_heap_info_t info;

    return EXPECT(chorusx_heap_info(&info) == CHORUS_OK) ? info.device : 0;
}

/* A GPU that this process sees and the PE does not use; -1: there is none. */
static int other_device(void)
{
    int n = 0;

    EXPECT(cudaGetDeviceCount(&n) == cudaSuccess);
    return n > 1 ? (own_device() + 1) % n : -1;
}

/* --- the job ----------------------------------------------------------------------------- */
static void do_nothing(void *arg)
{
    (void)arg;
}

static void job__more_pes_of_a_process_than_gpus__is_refused(void)
{
    int n = 0;

    EXPECT(cudaGetDeviceCount(&n) == cudaSuccess);
    if (gpu_me() == 0) {
        EXPECT(chorusx_run_threads(n + 1, do_nothing, NULL) == CHORUS_ERR_UNSUPPORTED);
        EXPECT(says("are threads of one process and use the same GPU") &&
               says("CHORUS_HEAP=host"));
    }
    expect_usable(CHORUS_TEAM_WORLD);
}

/* --- addresses --------------------------------------------------------------------------- */
/* Which collectives take, symmetric or not. */
static bool is_on_own_gpu(const int *ptr)
{
    struct cudaPointerAttributes is;

    EXPECT(cudaPointerGetAttributes(&is, ptr) == cudaSuccess);
    return is.type == cudaMemoryTypeDevice && is.device == own_device();
}

static void expect_no_object(int *ptr)
{
    int *object = chorus_calloc(1, sizeof(int));
    const int value = 7, due = is_on_own_gpu(ptr) ? CHORUS_OK : CHORUS_ERR_NOT_SYMMETRIC;

    EXPECT(chorus_int_sum_reduce(CHORUS_TEAM_WORLD, ptr, object, 1) == due);
    EXPECT(due == CHORUS_OK || (says("dest") && says("not in the symmetric heap")));
    EXPECT(chorusx_int_sum_reduce_on_stream(CHORUS_TEAM_WORLD, object, ptr, 1,
                                            (void *)cudaStreamPerThread) == due);
    EXPECT(due == CHORUS_OK || (says("source") && says("not in the symmetric heap")));
    EXPECT(chorusx_stream_synchronize((void *)cudaStreamPerThread) == CHORUS_OK);
    chorus_int_put(ptr, &value, 1, gpu_me());
    EXPECT_REPORT(CHORUS_ERR_NOT_SYMMETRIC, "not in the symmetric heap");
    chorus_int_atomic_add(ptr, 1, gpu_next());
    EXPECT_REPORT(CHORUS_ERR_NOT_SYMMETRIC, "not in the symmetric heap");
    EXPECT(chorus_ptr(ptr, gpu_next()) == NULL);
    chorus_free(object);
}

static void address__not_of_the_pe_s_heap__is_refused(void)
{
    int *object = chorus_calloc(1, sizeof(int)), *apart = gpu_alloc(sizeof(int));
    int here = 0;

    expect_no_object(&here);
    expect_no_object(apart);
    if (gpu_n() > 1) expect_no_object(chorus_ptr(object, gpu_next())); /* a peer's */
    expect_usable(CHORUS_TEAM_WORLD);
    gpu_free(apart);
    chorus_free(object);
}

static void address__on_a_gpu_of_nobody__is_refused(void)
{
    const int other = other_device();
    int *there = NULL;

    gpu_meet();
    if (other >= 0) {
        EXPECT(cudaSetDevice(other) == cudaSuccess);
        there = gpu_alloc(sizeof(int));
        EXPECT(cudaSetDevice(own_device()) == cudaSuccess);
    }
    gpu_meet();
    if (there != NULL) expect_no_object(there);
    gpu_meet();
    if (there != NULL) gpu_free(there);
    expect_usable(CHORUS_TEAM_WORLD);
}

/* --- streams ----------------------------------------------------------------------------- */
static void stream__of_another_gpu__is_refused(void)
{
    const int other = other_device();
    cudaStream_t stream = NULL;
    int current = -1;

    if (other < 0) return;
    EXPECT(cudaSetDevice(other) == cudaSuccess);
    EXPECT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    EXPECT(chorusx_sync_all_on_stream(NULL) == CHORUS_ERR_ARG);
    EXPECT(says("default stream of GPU") && says("make that one current"));
    EXPECT(chorusx_sync_all_on_stream((void *)cudaStreamPerThread) == CHORUS_ERR_ARG);
    EXPECT(cudaGetDevice(&current) == cudaSuccess && current == other);
    EXPECT(cudaSetDevice(own_device()) == cudaSuccess);
    EXPECT(chorusx_sync_all_on_stream((void *)stream) == CHORUS_ERR_ARG);
    EXPECT(says("the stream is of GPU") && says("create the stream while"));
    EXPECT(chorusx_stream_synchronize((void *)stream) == CHORUS_ERR_ARG);
    EXPECT(cudaStreamDestroy(stream) == cudaSuccess);
    expect_usable(CHORUS_TEAM_WORLD);
}

/* In a capture, a stream cannot be asked where it is, but a kernel does not go there. */
static void stream_in_capture__of_another_gpu__is_an_error(void)
{
    const int other = other_device();
    cudaStream_t stream = NULL;
    cudaGraph_t graph = NULL;

    if (other < 0) return;
    EXPECT(cudaSetDevice(other) == cudaSuccess);
    EXPECT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    EXPECT(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    EXPECT(chorusx_sync_all_on_stream((void *)stream) != CHORUS_OK);
    EXPECT(chorusx_last_error()[0] != '\0');
    (void)cudaStreamEndCapture(stream, &graph);
    (void)cudaGetLastError();
    EXPECT(cudaStreamDestroy(stream) == cudaSuccess);
    EXPECT(cudaSetDevice(own_device()) == cudaSuccess);
    expect_usable(CHORUS_TEAM_WORLD);
}

static void stream__not_made_here__is_not_destroyed(void)
{
    cudaStream_t stream = NULL;

    EXPECT(cudaStreamCreate(&stream) == cudaSuccess);
    EXPECT(chorusx_stream_destroy((void *)stream) == CHORUS_ERR_ARG);
    EXPECT(chorusx_stream_destroy(NULL) == CHORUS_ERR_ARG);
    EXPECT(chorusx_stream_synchronize((void *)stream) == CHORUS_OK);
    EXPECT(cudaStreamDestroy(stream) == cudaSuccess);
}

/* --- types ------------------------------------------------------------------------------- */
static void type__that_gpus_do_not_combine__is_refused(void)
{
    long double *object = chorus_calloc(2, sizeof(*object));

    EXPECT(chorus_longdouble_sum_reduce(CHORUS_TEAM_WORLD, object, object + 1, 1) ==
           CHORUS_ERR_UNSUPPORTED);
    EXPECT(says("GPUs do not combine this type") && says("CHORUS_HEAP=host"));
    EXPECT(chorus_longdouble_broadcast(CHORUS_TEAM_WORLD, object, object + 1, 1, 0) ==
           CHORUS_OK);
    chorus_free(object);
}

/* --- memory ------------------------------------------------------------------------------ */
/* CHORUS_HEAP_MAX is more than any GPU has: the GPU is full before the addresses are. */
static void malloc__more_than_the_gpu_has__is_null_on_all(void)
{
    chorusx_heap_info_t before, after;
    struct cudaDeviceProp is;

    EXPECT(chorusx_heap_info(&before) == CHORUS_OK);
    EXPECT(cudaGetDeviceProperties(&is, before.device) == cudaSuccess);
    EXPECT(before.reserved_bytes > is.totalGlobalMem);
    EXPECT(chorus_malloc(is.totalGlobalMem) == NULL);
    EXPECT(says("bytes were requested from the symmetric heap") && says("GPU"));
    EXPECT(chorus_malloc(before.reserved_bytes + 1) == NULL);
    EXPECT(says("request less"));
    EXPECT(chorusx_heap_info(&after) == CHORUS_OK);
    EXPECT(memcmp(&before, &after, sizeof(before)) == 0);
    expect_usable(CHORUS_TEAM_WORLD);
}

/* All PEs get as many, whoever's GPU is full first; and all of it comes back. */
static void malloc__until_the_gpu_is_full__ends_alike_on_all(void)
{
    enum { OBJECTS_MAX = 256 };
    uint64_t *count = chorus_calloc(1, sizeof(*count));
    chorusx_heap_info_t before, after;
    char *objects[OBJECTS_MAX];
    struct cudaDeviceProp is;
    size_t bytes;
    int n = 0;

    EXPECT(chorusx_heap_info(&before) == CHORUS_OK);
    EXPECT(cudaGetDeviceProperties(&is, before.device) == cudaSuccess);
    bytes = is.totalGlobalMem / 16;
    chorus_uint64_p(count, bytes, gpu_next());
    gpu_meet();
    if (gpu_n() > 1 && chorus_uint64_g(count, gpu_me()) < bytes)
        bytes = chorus_uint64_g(count, gpu_me());
    while (n < OBJECTS_MAX && (objects[n] = chorus_malloc(bytes)) != NULL)
        n++;
    EXPECT(n > 0 && n < OBJECTS_MAX);
    EXPECT(says("bytes were requested from the symmetric heap") && says("GPU"));
    chorus_uint64_p(count, (uint64_t)n, gpu_next());
    gpu_meet();
    EXPECT(chorus_uint64_g(count, gpu_me()) == (uint64_t)n);
    expect_usable(CHORUS_TEAM_WORLD);
    while (n > 0)
        chorus_free(objects[--n]);
    EXPECT(chorusx_heap_info(&after) == CHORUS_OK);
    EXPECT(after.used_bytes == before.used_bytes && after.blocks == before.blocks);
    chorus_free(count);
}

/* --- blocks of two lengths --------------------------------------------------------------- */
enum { SENT = 10, EXPECTED = 5, BLOCK = 16, PES_MAX = 64 };

/* PE 0 sends the last PE more than that one expects. */
static void send_too_much(const int *source, int *dest, const char *algo,
                          chorus_stream_t stream, int due)
{
    const int last = gpu_n() - 1;
    size_t receives[PES_MAX], sends[PES_MAX], offsets[PES_MAX];
    chorusx_call call = {.coll = CHORUS_COLL_alltoallv,
                         .team = CHORUS_TEAM_WORLD,
                         .dest = dest,
                         .source = source,
                         .type = CHORUS_TYPE_i32,
                         .algo = algo,
                         .dest_counts = receives,
                         .dest_offsets = offsets,
                         .source_counts = sends,
                         .source_offsets = offsets};

    for (int p = 0; p < gpu_n(); p++) {
        receives[p] = gpu_me() == last && p == 0 ? EXPECTED : SENT;
        sends[p] = SENT;
        offsets[p] = (size_t)p * BLOCK;
    }
    EXPECT(chorusx_collective(&call, stream) == (stream == NULL ? due : CHORUS_OK));
}

static void expect_told(int status, int due)
{
    char text[120];

    EXPECT(status == due);
    if (due == CHORUS_OK) return;
    (void)snprintf(text, sizeof(text), "PE 0 sends %d elements to PE %d, which expects %d",
                   SENT, gpu_n() - 1, EXPECTED);
    EXPECT(says(text));
}

/* Another call follows at once: the report is not lost, and keeps nobody from calling. */
static void block__of_two_lengths__is_told_and_calls_go_on(const char *algo,
                                                           bool receiver_knows)
{
    const int last = gpu_n() - 1;
    const bool is_told = gpu_me() == 0 || (receiver_knows && gpu_me() == last);
    const int due = is_told && gpu_n() > 1 ? CHORUS_ERR_ARG : CHORUS_OK;
    const size_t count = (size_t)gpu_n() * BLOCK;
    int *dest = chorus_calloc(count, sizeof(int)), *source = chorus_calloc(count, sizeof(int));
    int *seen = calloc(count, sizeof(int));

    for (size_t i = 0; i < count; i++)
        seen[i] = gpu_me() * 1000 + (int)i + 1;
    gpu_copy(source, seen, count * sizeof(int));
    gpu_meet();
    if (gpu_n() > 1) {
        send_too_much(source, dest, algo, (void *)cudaStreamPerThread, due);
        EXPECT(chorusx_sync_all_on_stream((void *)cudaStreamPerThread) == CHORUS_OK);
        expect_told(chorusx_stream_synchronize((void *)cudaStreamPerThread), due);
        EXPECT(chorusx_stream_synchronize((void *)cudaStreamPerThread) == CHORUS_OK);
        gpu_copy(seen, dest, count * sizeof(int));
        EXPECT(gpu_me() != last ||
               (seen[EXPECTED - 1] == last * BLOCK + EXPECTED && seen[EXPECTED] == 0));
        send_too_much(source, dest, algo, (void *)cudaStreamPerThread, due);
        EXPECT(cudaStreamSynchronize(cudaStreamPerThread) == cudaSuccess);
        chorus_barrier_all(); /* has no part in it */
        expect_told(chorusx_stream_synchronize((void *)cudaStreamPerThread), due);
        send_too_much(source, dest, algo, NULL, due);
        if (due != CHORUS_OK) expect_told(CHORUS_ERR_ARG, due);
    }
    expect_usable(CHORUS_TEAM_WORLD);
    free(seen);
    chorus_free(source);
    chorus_free(dest);
}

static void block__of_two_lengths__is_told_by_both_algorithms(void)
{
    block__of_two_lengths__is_told_and_calls_go_on("all_push", false);
    block__of_two_lengths__is_told_and_calls_go_on("exchange", true);
}

/* --- a peer that does not come ----------------------------------------------------------- */
enum { WIDE_CTAS = 4, WIDE_COUNT = 4096 };

/* The first call fails by one CTA; the second would wait as long again by the others. */
static void be_late(chorus_team_t team, int *object)
{
    const chorusx_call wide = {.coll = CHORUS_COLL_fcollect,
                               .team = team,
                               .dest = object,
                               .source = object,
                               .count = WIDE_COUNT,
                               .type = CHORUS_TYPE_i32,
                               .ctas = WIDE_CTAS};

    EXPECT(chorusx_int_sum_reduce_on_stream(team, object, object + 1, 1,
                                            (void *)cudaStreamPerThread) == CHORUS_OK);
    EXPECT(chorusx_collective(&wide, (void *)cudaStreamPerThread) == CHORUS_OK);
    EXPECT(cudaStreamSynchronize(cudaStreamPerThread) == cudaSuccess);
    EXPECT(chorusx_team_status(team) == CHORUS_ERR_TIMEOUT);
}

/* Each of two teams tells its own failure, once; others and the next in its place go on. */
static void call__a_peer_never_makes__ends_and_is_told(void)
{
    chorus_team_t teams[2] = {CHORUS_TEAM_INVALID, CHORUS_TEAM_INVALID};
    int *object = chorus_calloc((size_t)gpu_n() * WIDE_COUNT, sizeof(*object));

    for (int i = 0; i < 2; i++)
        EXPECT(chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, 1, gpu_n(), NULL, 0,
                                         &teams[i]) == CHORUS_OK);
    if (gpu_n() > 1 && gpu_me() == 0) {
        be_late(teams[0], object);
        be_late(teams[1], object);
        for (int i = 0; i < 2; i++) {
            EXPECT(chorusx_stream_synchronize((void *)cudaStreamPerThread) ==
                   CHORUS_ERR_TIMEOUT);
            EXPECT(says("which has not begun this call") && says("PE "));
        }
        EXPECT(chorusx_stream_synchronize((void *)cudaStreamPerThread) == CHORUS_OK);
        EXPECT(chorus_team_sync(teams[0]) == CHORUS_ERR_STATE && says("unusable"));
        EXPECT(chorus_team_sync(teams[1]) == CHORUS_ERR_STATE);
    }
    /* What PE 0 waits, nobody waits for PE 0; were it twice as long, chorus_free would tell. */
    if (gpu_me() != 0) (void)sleep(2 * SECONDS);
    chorus_free(object);
    for (int i = 0; i < 2; i++)
        chorus_team_destroy(teams[i]);
    EXPECT(chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, 1, gpu_n(), NULL, 0, &teams[0]) ==
           CHORUS_OK);
    expect_usable(teams[0]);
    chorus_team_destroy(teams[0]);
    expect_usable(CHORUS_TEAM_WORLD);
}

static cudaGraphExec_t capture_sync(chorus_team_t team, cudaStream_t stream)
{
    cudaGraphExec_t exec = NULL;
    cudaGraph_t graph = NULL;

    EXPECT(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    EXPECT(chorusx_team_sync_on_stream(team, (void *)stream) == CHORUS_OK);
    EXPECT(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
    EXPECT(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
    EXPECT(cudaGraphDestroy(graph) == cudaSuccess);
    return exec;
}

/* The first replay waits in vain; those after it do nothing, and each says so. */
static void replay_alone(cudaGraphExec_t exec, cudaStream_t stream)
{
    for (int i = 0; i < 4; i++) {
        EXPECT(cudaGraphLaunch(exec, stream) == cudaSuccess);
        EXPECT(chorusx_stream_synchronize((void *)stream) == CHORUS_ERR_TIMEOUT);
        EXPECT(says(i == 0 ? "which has not begun this call" : "was skipped"));
        EXPECT(chorusx_stream_synchronize((void *)stream) == CHORUS_OK);
    }
}

static void replay__after_a_failure__fails_every_time(void)
{
    chorus_team_t team = CHORUS_TEAM_INVALID;
    cudaStream_t stream = NULL;
    cudaGraphExec_t exec;

    EXPECT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    EXPECT(chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, 1, gpu_n(), NULL, 0, &team) ==
           CHORUS_OK);
    exec = capture_sync(team, stream);
    gpu_meet(); /* PEs that are threads: none is in a capture */
    if (gpu_me() != 0)
        (void)sleep(SECONDS); /* what PE 0 waits, nobody waits for PE 0 */
    else if (gpu_n() > 1)
        replay_alone(exec, stream);
    EXPECT(cudaGraphExecDestroy(exec) == cudaSuccess);
    chorus_team_destroy(team);
    EXPECT(cudaStreamDestroy(stream) == cudaSuccess);
    expect_usable(CHORUS_TEAM_WORLD);
}

#define CASES(X)                                         \
    X(job__more_pes_of_a_process_than_gpus__is_refused)  \
    X(address__not_of_the_pe_s_heap__is_refused)         \
    X(address__on_a_gpu_of_nobody__is_refused)           \
    X(stream__of_another_gpu__is_refused)                \
    X(stream_in_capture__of_another_gpu__is_an_error)    \
    X(stream__not_made_here__is_not_destroyed)           \
    X(type__that_gpus_do_not_combine__is_refused)        \
    X(malloc__more_than_the_gpu_has__is_null_on_all)     \
    X(malloc__until_the_gpu_is_full__ends_alike_on_all)  \
    X(block__of_two_lengths__is_told_by_both_algorithms) \
    X(call__a_peer_never_makes__ends_and_is_told)        \
    X(replay__after_a_failure__fails_every_time)

int main(int argc, char **argv)
{
    static const struct gpu_case cases[] = {CASES(GPU_CASE)};

    if (setenv("CHORUS_TIMEOUT", "8", 1) != 0) return EXIT_FAILURE;
    if (setenv("CHORUS_HEAP_MAX", "1024G", 1) != 0) return EXIT_FAILURE;
    return gpu_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
