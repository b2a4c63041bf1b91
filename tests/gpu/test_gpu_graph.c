/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives captured into CUDA graphs, replayed with fresh data in every round. */
#include "gpu_pes.h"
#include "stream_calls.h"

#include "coll/algorithm.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

enum { COUNT = 1021, TEAMS = 4 };

static unsigned long long rounds(void)
{
    return gpu_is_small() ? 10 : 1000;
}

static cudaStream_t make_stream(void)
{
    cudaStream_t stream = NULL;

    EXPECT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    return stream;
}

static void end_stream(cudaStream_t stream)
{
    EXPECT(cudaStreamSynchronize(stream) == cudaSuccess);
    EXPECT(cudaStreamDestroy(stream) == cudaSuccess);
}

/* Another PE may be a thread of this process, which a capture is not to hinder. */
static void begin(cudaStream_t stream)
{
    EXPECT(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
}

static cudaGraphExec_t end(cudaStream_t stream)
{
    cudaGraphExec_t exec = NULL;
    cudaGraph_t graph = NULL;

    EXPECT(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
    gpu_meet(); /* no PE of this process is in a capture, none replays yet */
    if (EXPECT(graph != NULL)) {
        EXPECT(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
        EXPECT(cudaGraphUpload(exec, stream) == cudaSuccess);
        EXPECT(cudaStreamSynchronize(stream) == cudaSuccess);
        EXPECT(cudaGraphDestroy(graph) == cudaSuccess);
    }
    gpu_meet();
    return exec;
}

static void replay(cudaGraphExec_t exec, cudaStream_t stream, unsigned long long times)
{
    for (unsigned long long i = 0; exec != NULL && i < times; i++)
        if (!EXPECT(cudaGraphLaunch(exec, stream) == cudaSuccess)) return;
}

static void end_graph(cudaGraphExec_t exec)
{
    if (exec != NULL) EXPECT(cudaGraphExecDestroy(exec) == cudaSuccess);
}

/* The first 2, 3 and 4 PEs, and all of them backwards. */
static void make_teams(chorus_team_t teams[TEAMS])
{
    int pes[64];
    const int n = gpu_n() < 64 ? gpu_n() : 64;

    for (int i = 0; i < TEAMS; i++)
        teams[i] = CHORUS_TEAM_INVALID;
    for (int k = 2; k <= 4 && k <= n; k++)
        EXPECT(chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, 1, k, NULL, 0, &teams[k - 2]) ==
               CHORUS_OK);
    for (int pe = 0; pe < n; pe++)
        pes[pe] = n - 1 - pe;
    EXPECT(chorusx_team_create(CHORUS_TEAM_WORLD, pes, n, &teams[3]) == CHORUS_OK);
}

static void end_teams(const chorus_team_t teams[TEAMS])
{
    for (int i = 0; i < TEAMS; i++)
        if (teams[i] != CHORUS_TEAM_INVALID) chorus_team_destroy(teams[i]);
}

static void put_algorithm(struct stream_site *site, const struct ch_algo *algo, int ctas,
                          cudaStream_t stream)
{
    static const size_t counts[] = {1, 7, COUNT};
    char name[64];

    (void)snprintf(name, sizeof(name), "%s:%s", algo->name, ch_proto_names[algo->proto]);
    for (size_t i = gpu_is_small() ? 2 : 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        struct stream_call call = {.coll = algo->coll,
                                   .type = i % 2 ? CHORUS_TYPE_f32 : CHORUS_TYPE_i32,
                                   .op = CHORUS_OP_sum,
                                   .put = stream_put_any,
                                   .count = counts[i],
                                   .algo = name,
                                   .ctas = gpu_ctas(ctas)};

        stream_put(site, &call, stream);
        call.place = STREAM_IN_PLACE;
        if (!gpu_is_small()) stream_put(site, &call, stream);
    }
}

/* All teams in one graph, one after another. */
static void replay_algorithms(int ctas)
{
    const cudaStream_t stream = make_stream();
    chorus_team_t teams[TEAMS];
    struct stream_site sites[TEAMS];
    cudaGraphExec_t exec;

    make_teams(teams);
    for (int i = 0; i < TEAMS; i++)
        stream_site_open(&sites[i], teams[i], COUNT);
    begin(stream);
    for (int i = 0; i < TEAMS; i++) {
        for (int a = gpu_is_small() ? i : 0; a < CH_ALGO_COUNT; a += gpu_is_small() ? TEAMS : 1)
            put_algorithm(&sites[i], &ch_algos[a], ctas, stream);
        stream_end_round(&sites[i], stream);
    }
    exec = end(stream);
    replay(exec, stream, rounds());
    for (int i = 0; i < TEAMS; i++)
        stream_expect(&sites[i], stream, rounds());
    end_graph(exec);
    for (int i = 0; i < TEAMS; i++)
        stream_site_close(&sites[i]);
    end_teams(teams);
    end_stream(stream);
}

static void replays__each_algorithm_on_one_cta__are_right(void)
{
    replay_algorithms(1);
}

static void replays__each_algorithm_on_many_ctas__are_right(void)
{
    replay_algorithms(8);
}

/* Every function of the API, as the rules choose. */
static void replays__each_function__are_right(void)
{
    const cudaStream_t stream = make_stream();
    const size_t step = gpu_is_small() ? 7 : 1;
    struct stream_site site;
    cudaGraphExec_t exec;

    stream_site_open(&site, CHORUS_TEAM_WORLD, COUNT);
    begin(stream);
    for (size_t i = 0; i < stream_functions_count; i += step) {
        const struct stream_function *f = &stream_functions[i];
        const struct stream_call call = {.coll = f->coll,
                                         .type = f->type,
                                         .op = f->op,
                                         .put = f->put,
                                         .count = 131,
                                         .place = i % 2 ? STREAM_IN_PLACE : STREAM_APART};

        stream_put(&site, &call, stream);
    }
    EXPECT(chorusx_barrier_all_on_stream((void *)stream) == CHORUS_OK);
    EXPECT(chorusx_sync_all_on_stream((void *)stream) == CHORUS_OK);
    stream_end_round(&site, stream);
    exec = end(stream);
    replay(exec, stream, rounds());
    stream_expect(&site, stream, rounds());
    end_graph(exec);
    stream_site_close(&site);
    end_stream(stream);
}

static struct stream_call some_call(chorus_coll coll)
{
    return (struct stream_call){.coll = coll,
                                .type = CHORUS_TYPE_f32,
                                .op = CHORUS_OP_sum,
                                .put = stream_put_any,
                                .count = COUNT};
}

/* Two branches of a capture: the team's calls keep their order, also its first ones. */
static void capture__first_calls_of_a_team_on_two_streams__keep_their_order(void)
{
    const cudaStream_t a = make_stream(), b = make_stream();
    const struct stream_call call = some_call(CHORUS_COLL_reduce);
    chorus_team_t team = CHORUS_TEAM_INVALID;
    struct stream_site sites[2];
    cudaEvent_t fork = NULL, join = NULL;
    cudaGraphExec_t exec;

    EXPECT(chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, 1, gpu_n(), NULL, 0, &team) == 0);
    EXPECT(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming) == cudaSuccess);
    EXPECT(cudaEventCreateWithFlags(&join, cudaEventDisableTiming) == cudaSuccess);
    stream_site_open(&sites[0], team, COUNT);
    stream_site_open(&sites[1], team, COUNT);
    begin(a);
    EXPECT(cudaEventRecord(fork, a) == cudaSuccess);
    EXPECT(cudaStreamWaitEvent(b, fork, cudaEventWaitDefault) == cudaSuccess);
    for (int i = 0; i < 3; i++) {
        stream_put(&sites[0], &call, a);
        stream_put(&sites[1], &call, b);
    }
    stream_end_round(&sites[1], b);
    EXPECT(cudaEventRecord(join, b) == cudaSuccess);
    EXPECT(cudaStreamWaitEvent(a, join, cudaEventWaitDefault) == cudaSuccess);
    stream_end_round(&sites[0], a);
    exec = end(a);
    replay(exec, a, rounds());
    for (int i = 0; i < 2; i++) {
        stream_expect(&sites[i], a, rounds());
        stream_site_close(&sites[i]);
    }
    end_graph(exec);
    EXPECT(cudaEventDestroy(join) == cudaSuccess);
    EXPECT(cudaEventDestroy(fork) == cudaSuccess);
    chorus_team_destroy(team);
    end_stream(b);
    end_stream(a);
}

/* Launches of a graph, calls on its stream and on another, and blocking ones, in turns that
 * the program orders. */
static void replays__with_other_calls_between__are_right(void)
{
    const cudaStream_t stream = make_stream(), other = make_stream();
    const struct stream_call captured = some_call(CHORUS_COLL_reducescatter);
    const struct stream_call between = some_call(CHORUS_COLL_alltoall);
    const unsigned long long n = rounds() / 5;
    struct stream_site in, out;
    cudaGraphExec_t exec;

    stream_site_open(&in, CHORUS_TEAM_WORLD, COUNT);
    stream_site_open(&out, CHORUS_TEAM_WORLD, COUNT);
    begin(stream);
    stream_put(&in, &captured, stream);
    stream_end_round(&in, stream);
    exec = end(stream);
    for (unsigned long long i = 0; i < n; i++) {
        replay(exec, stream, 1);
        stream_put(&out, &between, stream);
        stream_end_round(&out, stream);
        replay(exec, stream, 1);
        EXPECT(cudaStreamSynchronize(stream) == cudaSuccess);
        stream_put(&out, &between, other);
        stream_end_round(&out, other);
        EXPECT(chorus_team_sync(CHORUS_TEAM_WORLD) == CHORUS_OK);
        EXPECT(cudaStreamSynchronize(other) == cudaSuccess);
    }
    stream_expect(&in, stream, 2 * n);
    stream_expect(&out, other, 2 * n);
    end_graph(exec);
    stream_site_close(&out);
    stream_site_close(&in);
    end_stream(other);
    end_stream(stream);
}

/* A call that is not captured, then a captured one, then one on another stream that must come
 * after the first. */
static void capture__between_calls_on_streams__does_not_hide_the_first(void)
{
    const cudaStream_t streams[3] = {make_stream(), make_stream(), make_stream()};
    const struct stream_call call = some_call(CHORUS_COLL_fcollect);
    struct stream_site sites[3];
    cudaGraphExec_t exec;

    for (int i = 0; i < 3; i++)
        stream_site_open(&sites[i], CHORUS_TEAM_WORLD, COUNT);
    for (int times = 0; times < 20; times++)
        stream_put(&sites[0], &call, streams[0]);
    begin(streams[1]);
    stream_put(&sites[1], &call, streams[1]);
    stream_end_round(&sites[1], streams[1]);
    for (int times = 0; times < 20; times++)
        stream_put(&sites[2], &call, streams[2]);
    exec = end(streams[1]);
    stream_end_round(&sites[0], streams[0]);
    stream_end_round(&sites[2], streams[2]);
    stream_expect(&sites[0], streams[0], 1);
    stream_expect(&sites[2], streams[2], 1);
    replay(exec, streams[1], 3);
    stream_expect(&sites[1], streams[1], 3);
    end_graph(exec);
    for (int i = 0; i < 3; i++) {
        stream_site_close(&sites[i]);
        end_stream(streams[i]);
    }
}

/* What allocates is done at once, and the capture goes on. */
static void allocate_in_capture(enum cudaStreamCaptureMode mode)
{
    const cudaStream_t stream = make_stream();
    const struct stream_call call = some_call(CHORUS_COLL_reduce);
    chorusx_heap_info_t before, after;
    chorus_team_t team = CHORUS_TEAM_INVALID;
    struct stream_site site;
    cudaGraphExec_t exec;
    char *object;

    stream_site_open(&site, CHORUS_TEAM_WORLD, COUNT);
    EXPECT(chorusx_heap_info(&before) == CHORUS_OK);
    gpu_meet();
    EXPECT(cudaStreamBeginCapture(stream, mode) == cudaSuccess);
    stream_put(&site, &call, stream);
    object = chorus_calloc(1, before.committed_bytes - before.used_bytes + 100);
    EXPECT(object != NULL);
    EXPECT(chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, 1, gpu_n(), NULL, 0, &team) == 0);
    EXPECT(chorus_team_sync(team) == CHORUS_OK);
    chorus_putmem(object, "x", 2, gpu_me());
    chorus_free(object);
    chorus_team_destroy(team);
    EXPECT(chorusx_stream_synchronize((void *)stream) == CHORUS_ERR_STATE);
    EXPECT(strstr(chorusx_last_error(), "in a capture") != NULL);
    stream_put(&site, &call, stream);
    stream_end_round(&site, stream);
    exec = end(stream);
    EXPECT(chorusx_heap_info(&after) == CHORUS_OK);
    EXPECT(after.used_bytes == before.used_bytes && after.blocks == before.blocks);
    EXPECT(after.local_used_bytes == before.local_used_bytes);
    EXPECT(after.committed_bytes > before.committed_bytes);
    replay(exec, stream, 10);
    stream_expect(&site, stream, 10);
    end_graph(exec);
    stream_site_close(&site);
    end_stream(stream);
}

static void capture__with_allocations_in_it__goes_on(void)
{
    allocate_in_capture(cudaStreamCaptureModeGlobal);
    allocate_in_capture(cudaStreamCaptureModeThreadLocal);
    allocate_in_capture(cudaStreamCaptureModeRelaxed);
}

/* A capture that something else broke: a code and a message, and the team stays usable. */
static void capture__that_is_broken__is_an_error(void)
{
    const cudaStream_t stream = make_stream();
    cudaGraph_t graph = NULL;

    begin(stream);
    EXPECT(cudaStreamSynchronize(stream) != cudaSuccess);
    (void)cudaGetLastError();
    EXPECT(chorusx_sync_all_on_stream((void *)stream) == CHORUS_ERR_STATE);
    EXPECT(strstr(chorusx_last_error(), "cudaStreamEndCapture") != NULL);
    (void)cudaStreamEndCapture(stream, &graph);
    (void)cudaGetLastError();
    EXPECT(graph == NULL);
    EXPECT(chorusx_sync_all_on_stream((void *)stream) == CHORUS_OK);
    EXPECT(chorusx_stream_synchronize((void *)stream) == CHORUS_OK);
    end_stream(stream);
}

/* Two graphs are filled in turns, each with calls of one team: in each, every call comes after
 * the one before it, also if that is on another stream. */
static void captures__of_one_team_in_turns__keep_their_order(void)
{
    const cudaStream_t a = make_stream(), b = make_stream(), other = make_stream();
    cudaEvent_t fork = NULL, join = NULL;
    cudaGraph_t graphs[2] = {NULL, NULL};
    size_t nodes = 0, edges = 0;

    EXPECT(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming) == cudaSuccess);
    EXPECT(cudaEventCreateWithFlags(&join, cudaEventDisableTiming) == cudaSuccess);
    begin(a);
    EXPECT(cudaEventRecord(fork, a) == cudaSuccess);
    EXPECT(cudaStreamWaitEvent(other, fork, cudaEventWaitDefault) == cudaSuccess);
    EXPECT(chorusx_sync_all_on_stream((void *)a) == CHORUS_OK);
    begin(b);
    EXPECT(chorusx_sync_all_on_stream((void *)b) == CHORUS_OK);
    EXPECT(chorusx_sync_all_on_stream((void *)other) == CHORUS_OK);
    EXPECT(cudaStreamEndCapture(b, &graphs[1]) == cudaSuccess);
    EXPECT(cudaEventRecord(join, other) == cudaSuccess);
    EXPECT(cudaStreamWaitEvent(a, join, cudaEventWaitDefault) == cudaSuccess);
    EXPECT(chorusx_sync_all_on_stream((void *)a) == CHORUS_OK);
    EXPECT(cudaStreamEndCapture(a, &graphs[0]) == cudaSuccess);
    EXPECT(cudaGraphGetNodes(graphs[0], NULL, &nodes) == cudaSuccess);
    EXPECT(cudaGraphGetEdges(graphs[0], NULL, NULL, NULL, &edges) == cudaSuccess);
    EXPECT(nodes >= 3 && edges >= nodes - 1);
    for (int i = 0; i < 2; i++)
        EXPECT(cudaGraphDestroy(graphs[i]) == cudaSuccess);
    EXPECT(cudaEventDestroy(join) == cudaSuccess);
    EXPECT(cudaEventDestroy(fork) == cudaSuccess);
    end_stream(other);
    end_stream(b);
    end_stream(a);
    gpu_meet(); /* no PE of this process is in a capture */
}

/* Work on the default stream would break the capture of a stream that waits for that one. */
static void capture__calls_on_the_default_stream_beside_it__leave_it_sound(void)
{
    uint64_t *word = chorus_calloc(1, sizeof(*word));
    cudaGraph_t graph = NULL;
    cudaStream_t stream = NULL;

    EXPECT(cudaStreamCreateWithFlags(&stream, cudaStreamDefault) == cudaSuccess);
    begin(stream);
    EXPECT(chorusx_sync_all_on_stream((void *)stream) == CHORUS_OK);
    EXPECT(chorusx_sync_all_on_stream(NULL) == CHORUS_ERR_STATE);
    EXPECT(strstr(chorusx_last_error(), "while a stream that waits for it") != NULL);
    EXPECT(chorusx_signal_op_on_stream(word, 1, CHORUS_SIGNAL_SET, gpu_next(), NULL) ==
           CHORUS_ERR_STATE);
    EXPECT(chorusx_stream_synchronize(NULL) == CHORUS_ERR_STATE);
    EXPECT(chorusx_sync_all_on_stream((void *)stream) == CHORUS_OK);
    EXPECT(cudaStreamEndCapture(stream, &graph) == cudaSuccess && graph != NULL);
    EXPECT(cudaGetLastError() == cudaSuccess);
    if (graph != NULL) EXPECT(cudaGraphDestroy(graph) == cudaSuccess);
    EXPECT(chorusx_sync_all_on_stream(NULL) == CHORUS_OK);
    EXPECT(chorusx_stream_synchronize(NULL) == CHORUS_OK);
    chorus_free(word);
    end_stream(stream);
}

#define CASES(X)                                                       \
    X(replays__each_algorithm_on_one_cta__are_right)                   \
    X(replays__each_algorithm_on_many_ctas__are_right)                 \
    X(replays__each_function__are_right)                               \
    X(capture__first_calls_of_a_team_on_two_streams__keep_their_order) \
    X(replays__with_other_calls_between__are_right)                    \
    X(capture__between_calls_on_streams__does_not_hide_the_first)      \
    X(capture__with_allocations_in_it__goes_on)                        \
    X(capture__that_is_broken__is_an_error)                            \
    X(captures__of_one_team_in_turns__keep_their_order)                \
    X(capture__calls_on_the_default_stream_beside_it__leave_it_sound)
GPU_MAIN(CASES)
