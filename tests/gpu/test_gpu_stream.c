/* SPDX-License-Identifier: Apache-2.0 */
/* Every collective on every kind of stream; several streams of one team; streams that cannot
 * serve. */
#include "gpu_pes.h"
#include "stream_calls.h"

#include <cuda_runtime_api.h>
#include <string.h>
#include <unistd.h>

/* Odd, and no multiple of a packet, a line or a team. */
enum { COUNT = 1021 };

enum { LATE_US = 50000 };

static cudaStream_t make_stream(unsigned flags)
{
    cudaStream_t stream = NULL;

    EXPECT(cudaStreamCreateWithFlags(&stream, flags) == cudaSuccess);
    return stream;
}

static void end_stream(cudaStream_t stream)
{
    EXPECT(cudaStreamSynchronize(stream) == cudaSuccess);
    EXPECT(cudaStreamDestroy(stream) == cudaSuccess);
}

/* Each function of the API, apart and in place; every fifth where calls take long. */
static void put_all_functions(struct stream_site *site, void *stream)
{
    const size_t step = gpu_is_small() ? 5 : 1;

    for (size_t i = 0; i < stream_functions_count; i += step) {
        const struct stream_function *f = &stream_functions[i];
        const struct stream_call call = {.coll = f->coll,
                                         .type = f->type,
                                         .op = f->op,
                                         .put = f->put,
                                         .count = COUNT,
                                         .place = i % 2 ? STREAM_IN_PLACE : STREAM_APART};

        stream_put(site, &call, stream);
    }
    EXPECT(chorusx_barrier_all_on_stream(stream) == CHORUS_OK);
    EXPECT(chorusx_sync_all_on_stream(stream) == CHORUS_OK);
    stream_end_round(site, stream);
}

static void use_stream(void *stream)
{
    struct stream_site site;

    stream_site_open(&site, CHORUS_TEAM_WORLD, COUNT);
    put_all_functions(&site, stream);
    stream_expect(&site, stream, 1);
    stream_site_close(&site);
}

static void own_stream__every_collective__is_right(void)
{
    const cudaStream_t plain = make_stream(cudaStreamDefault);
    const cudaStream_t apart = make_stream(cudaStreamNonBlocking);

    use_stream(plain);
    use_stream(apart);
    end_stream(apart);
    end_stream(plain);
}

static void library_s_stream__every_collective__is_right(void)
{
    chorus_stream_t stream = NULL;

    EXPECT(chorusx_stream_create(&stream) == CHORUS_OK);
    use_stream(stream);
    EXPECT(chorusx_stream_destroy(stream) == CHORUS_OK);
    EXPECT(chorusx_stream_destroy(stream) == CHORUS_ERR_ARG);
}

static void default_stream_of_thread__every_collective__is_right(void)
{
    use_stream(cudaStreamPerThread);
}

/* Null, as users of NVSHMEM pass 0. */
static void default_stream__every_collective__is_right(void)
{
    use_stream(NULL);
    use_stream(cudaStreamLegacy);
}

/* The team's calls take turns; each stream has buffers of its own. */
static void two_streams__calls_on_one_team__take_turns(void)
{
    enum { STREAMS = 4, CALLS = 60 };
    const struct stream_call call = {.coll = CHORUS_COLL_reduce,
                                     .type = CHORUS_TYPE_i32,
                                     .op = CHORUS_OP_sum,
                                     .put = stream_put_any,
                                     .count = COUNT};
    cudaStream_t streams[STREAMS];
    struct stream_site sites[STREAMS];

    streams[0] = make_stream(cudaStreamNonBlocking);
    streams[1] = make_stream(cudaStreamNonBlocking);
    streams[2] = cudaStreamPerThread;
    streams[3] = cudaStreamLegacy;
    for (int i = 0; i < STREAMS; i++)
        stream_site_open(&sites[i], CHORUS_TEAM_WORLD, COUNT);
    for (int c = 0; c < CALLS; c++)
        stream_put(&sites[c * 7 % 5 % STREAMS], &call, streams[c * 7 % 5 % STREAMS]);
    for (int i = 0; i < STREAMS; i++) {
        stream_end_round(&sites[i], streams[i]);
        stream_expect(&sites[i], streams[i], 1);
        stream_site_close(&sites[i]);
    }
    end_stream(streams[1]);
    end_stream(streams[0]);
}

/* CUDA gives a handle again, and a call may still run on the stream that had it. */
static void stream__ended_with_a_call_on_it__next_one_comes_after(void)
{
    enum { STREAMS = 50 };
    const struct stream_call call = {.coll = CHORUS_COLL_fcollect,
                                     .type = CHORUS_TYPE_u8,
                                     .put = stream_put_any,
                                     .count = COUNT};
    const cudaStream_t last = make_stream(cudaStreamNonBlocking);
    struct stream_site sites[2];

    stream_site_open(&sites[0], CHORUS_TEAM_WORLD, COUNT);
    stream_site_open(&sites[1], CHORUS_TEAM_WORLD, COUNT);
    for (int i = 0; i < STREAMS; i++) {
        const cudaStream_t stream = make_stream(cudaStreamNonBlocking);
        cudaEvent_t done = NULL;

        stream_put(&sites[i % 2], &call, stream);
        EXPECT(cudaEventCreateWithFlags(&done, cudaEventDisableTiming) == cudaSuccess);
        EXPECT(cudaEventRecord(done, stream) == cudaSuccess);
        EXPECT(cudaStreamWaitEvent(last, done, cudaEventWaitDefault) == cudaSuccess);
        EXPECT(cudaEventDestroy(done) == cudaSuccess);
        EXPECT(cudaStreamDestroy(stream) == cudaSuccess);
        /* The site's buffers are free again two calls later. */
        if (i % 2 == 1) EXPECT(cudaStreamSynchronize(last) == cudaSuccess);
    }
    for (int i = 0; i < 2; i++) {
        stream_end_round(&sites[i], last);
        stream_expect(&sites[i], last, 1);
        stream_site_close(&sites[i]);
    }
    end_stream(last);
}

/* Two teams of the same PEs are independent, and each has its own stream. */
static void two_teams__a_stream_each__are_right(void)
{
    enum { CALLS = 100 };
    const struct stream_call call = {.coll = CHORUS_COLL_alltoall,
                                     .type = CHORUS_TYPE_i16,
                                     .put = stream_put_any,
                                     .count = 64};
    const cudaStream_t streams[2] = {make_stream(cudaStreamNonBlocking),
                                     make_stream(cudaStreamNonBlocking)};
    chorus_team_t other = CHORUS_TEAM_INVALID;
    struct stream_site sites[2];

    EXPECT(chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, 1, gpu_n(), NULL, 0, &other) == 0);
    stream_site_open(&sites[0], CHORUS_TEAM_WORLD, 64);
    stream_site_open(&sites[1], other, 64);
    for (int c = 0; c < CALLS; c++)
        for (int i = 0; i < 2; i++)
            stream_put(&sites[i], &call, streams[i]);
    for (int i = 0; i < 2; i++) {
        stream_end_round(&sites[i], streams[i]);
        stream_expect(&sites[i], streams[i], 1);
        stream_site_close(&sites[i]);
        end_stream(streams[i]);
    }
    chorus_team_destroy(other);
}

/* --- several teams at once ---------------------------------------------------------------- */
enum {
    CHAINS = 4,
    CHAIN_COUNT = 4096,
    FULL_CTA_COUNT = 2048,
    TEAM_CTAS = 64 /* CHORUS_CTAS */
};

/* A team, its stream, and what its PEs give each other. */
struct chain {
    chorus_team_t team;
    cudaStream_t stream;
    size_t count; /* elements of a PE */
    const char *algo;
    int *dest, *source;
};

/* Calls of so many CTAs in turn, each team another number at a time. */
struct turns {
    const int *ctas;
    int n_ctas;
    size_t count;
    const char *algo;
};

static void chain_open(struct chain *chain, int number, const struct turns *turns)
{
    const size_t count = (size_t)gpu_n() * turns->count;
    const int mine = gpu_me() * CHAINS + number;

    chain->stream = make_stream(cudaStreamNonBlocking);
    chain->count = turns->count;
    chain->algo = turns->algo;
    chain->dest = chorus_malloc(count * sizeof(int));
    chain->source = chorus_malloc(chain->count * sizeof(int));
    EXPECT(chain->dest != NULL && chain->source != NULL);
    EXPECT(chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, 1, gpu_n(), NULL, 0, &chain->team) ==
           0);
    gpu_fill(chain->dest, 0xff, count * sizeof(int));
    for (size_t i = 0; i < chain->count; i += chain->count - 1)
        gpu_copy(chain->source + i, &mine, sizeof(mine));
    /* The team counts as in use. */
    EXPECT(chorusx_team_sync_on_stream(chain->team, (void *)chain->stream) == CHORUS_OK);
    EXPECT(chorusx_stream_synchronize((void *)chain->stream) == CHORUS_OK);
}

static void chain_put(const struct chain *chain, int ctas)
{
    const chorusx_call call = {.coll = CHORUS_COLL_fcollect,
                               .team = chain->team,
                               .dest = chain->dest,
                               .source = chain->source,
                               .count = chain->count,
                               .type = CHORUS_TYPE_i32,
                               .algo = chain->algo,
                               .ctas = gpu_ctas(ctas)};

    EXPECT(chorusx_collective(&call, (void *)chain->stream) == CHORUS_OK);
}

static void chain_close(struct chain *chain, int number)
{
    EXPECT(chorusx_stream_synchronize((void *)chain->stream) == CHORUS_OK);
    for (int pe = 0; pe < gpu_n(); pe++)
        for (size_t i = 0; i < chain->count; i += chain->count - 1) {
            int found = -1;

            gpu_copy(&found, chain->dest + (size_t)pe * chain->count + i, sizeof(found));
            EXPECT(found == pe * CHAINS + number);
        }
    chorus_team_destroy(chain->team);
    chorus_free(chain->source);
    chorus_free(chain->dest);
    end_stream(chain->stream);
}

/* One PE is late, so that the others have filled their streams when it begins. */
static void run_chains_of(int n_teams, const struct turns *turns)
{
    const int calls = gpu_is_small() ? 40 : 2000;
    struct chain chains[CHAINS];

    for (int t = 0; t < n_teams; t++)
        chain_open(&chains[t], t, turns);
    gpu_meet();
    if (gpu_me() == gpu_n() - 1) (void)usleep(LATE_US);
    for (int k = 0; k < calls; k++)
        for (int t = 0; t < n_teams; t++)
            chain_put(&chains[t], turns->ctas[(k + t) % turns->n_ctas]);
    for (int t = 0; t < n_teams; t++)
        chain_close(&chains[t], t);
}

static void run_chains(const struct turns *turns)
{
    run_chains_of(CHAINS, turns);
}

/* Kernels that run and kernels that wait, of teams that differ from GPU to GPU, must not fill
 * them. Calls of all teams fit on a GPU together here, and do not in the second test. */
static void four_teams__calls_that_fit_together__go_on(void)
{
    static const int ctas[] = {32, 8, 16, 32, 24, 1};
    const struct turns turns = {ctas, sizeof(ctas) / sizeof(ctas[0]), CHAIN_COUNT,
                                "all_push:simple"};

    run_chains(&turns);
}

static void four_teams__large_and_small_calls__go_on(void)
{
    static const int ctas[] = {64, 32};
    const struct turns turns = {ctas, sizeof(ctas) / sizeof(ctas[0]), CHAIN_COUNT,
                                "all_push:simple"};

    run_chains(&turns);
}

/* CTAs of each of so many teams, if each of which occupies a multiprocessor and the PEs that
 * share a GPU have an equal number: those of all teams fill it, unless a team may have fewer.
 */
static int ctas_that_fill(int n_teams)
{
    int ordinal = 0, multiprocessors = 0, devices = 1, sharing, each;

    EXPECT(cudaGetDevice(&ordinal) == cudaSuccess);
    EXPECT(cudaGetDeviceCount(&devices) == cudaSuccess);
    EXPECT(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, ordinal) ==
           cudaSuccess);
    sharing = (gpu_n() + devices - 1) / devices;
    each = multiprocessors / sharing / n_teams;
    return each < TEAM_CTAS ? each : TEAM_CTAS;
}

/* Of 8 KiB a CTA, so that a CTA has as many lanes as can be, and a multiprocessor has room for
 * one. If kernels that wait took capacity that those of another PE need, no team would go on.
 */
static void four_teams__calls_that_fill_the_gpu_of_all_pes__go_on(void)
{
    const int most = ctas_that_fill(CHAINS);
    const int ctas[] = {most, most, most / 2 + 1, 1};
    const struct turns turns = {ctas, sizeof(ctas) / sizeof(ctas[0]),
                                (size_t)most * FULL_CTA_COUNT, "ring:simple"};

    if (EXPECT(most > 0)) run_chains(&turns);
}

/* The same of two teams, each of whose kernels is a quarter of the GPU if two PEs share it: a
 * kernel of each team that runs and one that waits would be all of it. */
static void two_teams__calls_that_fill_the_gpu_of_all_pes__go_on(void)
{
    const int most = ctas_that_fill(2);
    const struct turns turns = {&most, 1, (size_t)most * FULL_CTA_COUNT, "ring:simple"};

    if (EXPECT(most > 0)) run_chains_of(2, &turns);
}

/* Its memory is given back once the calls on it have run. */
static void team_destroy__calls_are_queued__runs_them_first(void)
{
    enum { TEAMS = 20, CALLS = 10 };
    const cudaStream_t stream = make_stream(cudaStreamNonBlocking);
    const struct stream_call call = {.coll = CHORUS_COLL_reduce,
                                     .type = CHORUS_TYPE_f32,
                                     .op = CHORUS_OP_max,
                                     .put = stream_put_any,
                                     .count = COUNT};
    struct stream_site site;

    stream_site_open(&site, CHORUS_TEAM_WORLD, COUNT);
    for (int t = 0; t < TEAMS; t++) {
        chorus_team_t team = CHORUS_TEAM_INVALID;

        EXPECT(chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, 1, gpu_n(), NULL, 0, &team) ==
               0);
        site.team = team;
        for (int c = 0; c < CALLS; c++)
            stream_put(&site, &call, stream);
        chorus_team_destroy(team);
    }
    stream_end_round(&site, stream);
    stream_expect(&site, stream, 1);
    stream_site_close(&site);
    end_stream(stream);
}

/* A blocking call and calls on streams, in any order, with no wait between them. */
static void blocking_call__calls_are_on_streams__takes_its_turn(void)
{
    enum { ROUNDS = 30 };
    const cudaStream_t stream = make_stream(cudaStreamNonBlocking);
    const struct stream_call call = {.coll = CHORUS_COLL_reducescatter,
                                     .type = CHORUS_TYPE_u32,
                                     .op = CHORUS_OP_xor,
                                     .put = stream_put_any,
                                     .count = COUNT};
    int *one = chorus_calloc(1, sizeof(int)), *sum = chorus_calloc(1, sizeof(int));
    const int mine = gpu_me() + 1;
    struct stream_site site;
    int found = 0;

    gpu_copy(one, &mine, sizeof(mine));
    stream_site_open(&site, CHORUS_TEAM_WORLD, COUNT);
    for (int i = 0; i < ROUNDS; i++) {
        stream_put(&site, &call, stream);
        EXPECT(chorus_int_sum_reduce(CHORUS_TEAM_WORLD, sum, one, 1) == CHORUS_OK);
    }
    stream_end_round(&site, stream);
    stream_expect(&site, stream, 1);
    gpu_copy(&found, sum, sizeof(found));
    EXPECT(found == gpu_n() * (gpu_n() + 1) / 2);
    stream_site_close(&site);
    chorus_free(sum);
    chorus_free(one);
    end_stream(stream);
}

#define CASES(X)                                             \
    X(own_stream__every_collective__is_right)                \
    X(library_s_stream__every_collective__is_right)          \
    X(default_stream_of_thread__every_collective__is_right)  \
    X(default_stream__every_collective__is_right)            \
    X(two_streams__calls_on_one_team__take_turns)            \
    X(stream__ended_with_a_call_on_it__next_one_comes_after) \
    X(two_teams__a_stream_each__are_right)                   \
    X(four_teams__calls_that_fit_together__go_on)            \
    X(four_teams__large_and_small_calls__go_on)              \
    X(four_teams__calls_that_fill_the_gpu_of_all_pes__go_on) \
    X(two_teams__calls_that_fill_the_gpu_of_all_pes__go_on)  \
    X(team_destroy__calls_are_queued__runs_them_first)       \
    X(blocking_call__calls_are_on_streams__takes_its_turn)
GPU_MAIN(CASES)
