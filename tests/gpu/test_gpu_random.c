/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random collectives, on the world and on another team, with a stream each, in graphs and
 * outside of them; about one of eight is made inside a kernel. Kernels before each call poison
 * dest and fill source with new data, and a kernel after it counts wrong elements in dest and
 * beside it.
 *
 * CHORUS_TEST_CALLS is the number of calls, CHORUS_TEST_SEED what chooses them, on all PEs
 * alike; CHORUS_TEST_TYPES lists the types, as i32,f32, for libraries without some of them.
 */
#include "gpu_pes.h"
#include "random_inside.h"
#include "stream_calls.h"

#include "coll/algorithm.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CALLS = 400,
    BATCH_MIN = 20,
    BATCH_MAX = 100,
    REPLAYS = 3,
    COUNT_MAX = 4096,
    MARGIN = 8,        /* elements */
    MARGIN_BYTES = 64, /* at least; a multiple of the bytes of every type */
    OFFSETS = 8,       /* of dest and source, in elements */
    ROOM = 16,         /* elements that margins and offsets take of a buffer */
    INSIDE_EACH = 8,   /* calls, of which one is inside a kernel */
    OTHERS = 3         /* teams beside the world */
};

/* The data of a site is that of rounds from a multiple of this on, so sites have other data. */
#define ROUNDS_APART 1000000ull

struct dice {
    uint64_t seed, thrown;
};

/* A team's buffers and the rounds of data that it has had. */
struct place {
    struct stream_site site;
    unsigned long long rounds;
};

struct run {
    struct dice dice;
    unsigned long long calls;
    struct place world, others[OTHERS];
    cudaStream_t streams[2]; /* of the world, and of the other team */
    uint64_t *mine, *sum;    /* symmetric: wrong elements */
};

/* 0 to n - 1. */
static uint64_t throw_dice(struct dice *dice, uint64_t n)
{
    return oracle_mix(dice->seed, 0, ++dice->thrown) % n;
}

static unsigned long long number_of(const char *variable, unsigned long long otherwise)
{
    const char *const text = getenv(variable);

    return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

/* --- calls -------------------------------------------------------------------------------- */

/* Are there calls with this type? */
static bool has_type(chorus_type type)
{
    const char *at = getenv("CHORUS_TEST_TYPES");
    const size_t length = strlen(ch_type_names[type]);

    if (at == NULL) return true;
    for (; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, ch_type_names[type], length) == 0 &&
            (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return false;
}

static chorus_type pick_type(struct dice *dice)
{
    chorus_type type;

    do
        type = (chorus_type)throw_dice(dice, CHORUS_TYPE_COUNT);
    while (!has_type(type));
    return type;
}

static bool is_of(const struct stream_function *f, chorus_coll coll)
{
    return f->coll == coll && has_type(f->type);
}

/* A function of the API for the collective; null: it has none. */
static const struct stream_function *pick_function(struct dice *dice, chorus_coll coll)
{
    size_t n = 0, k;

    for (size_t i = 0; i < stream_functions_count; i++)
        n += is_of(&stream_functions[i], coll);
    if (n == 0) return NULL;
    k = throw_dice(dice, n);
    for (size_t i = 0;; i++)
        if (is_of(&stream_functions[i], coll) && k-- == 0) return &stream_functions[i];
}

/* An algorithm of the collective, as chorusx_collective is asked for it. */
static void pick_algorithm(struct dice *dice, chorus_coll coll, char name[64])
{
    size_t n = 0, k;

    for (size_t i = 0; i < CH_ALGO_COUNT; i++)
        n += ch_algos[i].coll == coll;
    k = throw_dice(dice, n);
    for (size_t i = 0; i < CH_ALGO_COUNT; i++)
        if (ch_algos[i].coll == coll && k-- == 0)
            (void)snprintf(name, 64, "%s:%s", ch_algos[i].name,
                           ch_proto_names[ch_algos[i].proto]);
}

/* Short messages as often as long ones. */
static size_t pick_count(struct dice *dice)
{
    uint64_t most = 1;

    while (most < COUNT_MAX && throw_dice(dice, 8) != 0)
        most *= 2;
    return throw_dice(dice, most + 1);
}

/* Count, place and offsets of a call whose type is known. */
static void pick_place(struct dice *dice, struct stream_call *call)
{
    call->count = pick_count(dice);
    call->place = throw_dice(dice, 4) == 0 ? STREAM_IN_PLACE : STREAM_APART;
    call->dest_offset = MARGIN_BYTES + throw_dice(dice, OFFSETS) * oracle_bytes_of(call->type);
    call->source_offset = throw_dice(dice, OFFSETS) * oracle_bytes_of(call->type);
}

static struct stream_call pick_on_stream(struct dice *dice, char algo[64])
{
    const chorus_coll coll = (chorus_coll)throw_dice(dice, CHORUS_COLL_COUNT);
    const struct stream_function *const f = pick_function(dice, coll);
    struct stream_call call = {
        .coll = coll, .type = pick_type(dice), .put = stream_put_any, .margin = MARGIN};

    if (f != NULL) {
        call.type = f->type;
        call.op = f->op;
        if (throw_dice(dice, 2) == 0) call.put = f->put;
    }
    pick_place(dice, &call);
    if (throw_dice(dice, 4) == 0) {
        pick_algorithm(dice, coll, algo);
        call.put = stream_put_any;
        call.algo = algo;
        call.ctas = gpu_ctas(1 + (int)throw_dice(dice, 8));
    }
    return call;
}

/* --- calls inside kernels ----------------------------------------------------------------- */
static int put_inside(const struct stream_request *r, enum random_form form)
{
    const struct random_inside call = {.team = r->team,
                                       .coll = r->coll,
                                       .type = r->type,
                                       .form = form,
                                       .dest = r->dest,
                                       .source = r->source,
                                       .count = r->count,
                                       .root = r->root};

    return random_inside_launch(&call, r->stream);
}

static int put_block(const struct stream_request *r)
{
    return put_inside(r, RANDOM_BLOCK);
}

static int put_warp(const struct stream_request *r)
{
    return put_inside(r, RANDOM_WARP);
}

static int put_thread(const struct stream_request *r)
{
    return put_inside(r, RANDOM_THREAD);
}

/* A block as often as a warp or a thread. Of some calls PEs have different forms. */
static struct stream_call pick_inside(struct dice *dice)
{
#define X(coll) CHORUS_COLL_##coll,
    static const chorus_coll colls[] = {RANDOM_INSIDE_LIST(X)};
#undef X
    static int (*const puts[])(const struct stream_request *) = {put_block, put_warp, put_block,
                                                                 put_thread};
    const size_t n_colls = sizeof(colls) / sizeof(colls[0]), n_puts = 4;
    struct stream_call call = {.coll = colls[throw_dice(dice, n_colls)],
                               .type = CHORUS_TYPE_i32,
                               .op = CHORUS_OP_sum,
                               .put = put_block,
                               .margin = MARGIN};
    uint64_t form = throw_dice(dice, n_puts);

    if (throw_dice(dice, 4) == 0)
        call.type = CHORUS_TYPE_f16;
    else if (throw_dice(dice, 4) == 0)
        form += (uint64_t)gpu_me();
    if (call.type == CHORUS_TYPE_i32) call.put = puts[form % n_puts];
    pick_place(dice, &call);
    return call;
}

static struct stream_call pick_call(struct dice *dice, char algo[64])
{
    const bool is_inside = throw_dice(dice, INSIDE_EACH) == 0 && !gpu_are_threads();

    return is_inside ? pick_inside(dice) : pick_on_stream(dice, algo);
}

/* --- both streams ------------------------------------------------------------------------- */
/* Calls on both streams in a random order; a round of data for each site. */
static void put_calls(struct run *run, struct place *places[2], uint64_t n)
{
    char algo[64];

    for (uint64_t i = 0; i < n; i++) {
        const uint64_t k = throw_dice(&run->dice, 2);
        const struct stream_call call = pick_call(&run->dice, algo);

        stream_put(&places[k]->site, &call, run->streams[k]);
    }
    for (int k = 0; k < 2; k++)
        stream_end_round(&places[k]->site, run->streams[k]);
}

/* --- graphs ------------------------------------------------------------------------------- */

/* Another PE may be a thread of this process, so a capture is one of this thread. */
static void begin_captures(struct run *run)
{
    for (int k = 0; k < 2; k++)
        EXPECT(cudaStreamBeginCapture(run->streams[k], cudaStreamCaptureModeThreadLocal) ==
               cudaSuccess);
}

static void end_captures(struct run *run, cudaGraphExec_t execs_out[2])
{
    cudaGraph_t graphs[2] = {NULL, NULL};

    for (int k = 0; k < 2; k++)
        EXPECT(cudaStreamEndCapture(run->streams[k], &graphs[k]) == cudaSuccess);
    gpu_meet(); /* no PE of this process is in a capture, none replays yet */
    for (int k = 0; k < 2; k++) {
        execs_out[k] = NULL;
        if (!EXPECT(graphs[k] != NULL)) continue;
        EXPECT(cudaGraphInstantiate(&execs_out[k], graphs[k], 0) == cudaSuccess);
        EXPECT(cudaGraphUpload(execs_out[k], run->streams[k]) == cudaSuccess);
        EXPECT(cudaStreamSynchronize(run->streams[k]) == cudaSuccess);
        EXPECT(cudaGraphDestroy(graphs[k]) == cudaSuccess);
    }
    gpu_meet();
}

static void replay_calls(struct run *run, struct place *places[2], uint64_t n)
{
    cudaGraphExec_t execs[2];

    begin_captures(run);
    put_calls(run, places, n);
    end_captures(run, execs);
    for (int i = 0; i < REPLAYS; i++)
        for (int k = 0; k < 2; k++)
            EXPECT(cudaGraphLaunch(execs[k], run->streams[k]) == cudaSuccess);
    for (int k = 0; k < 2; k++) {
        EXPECT(cudaStreamSynchronize(run->streams[k]) == cudaSuccess);
        if (execs[k] != NULL) EXPECT(cudaGraphExecDestroy(execs[k]) == cudaSuccess);
    }
}

/* --- the run ------------------------------------------------------------------------------ */

static void place_open(struct place *place, chorus_team_t team, int number)
{
    stream_site_open(&place->site, team, COUNT_MAX + ROOM);
    place->rounds = (unsigned long long)number * ROUNDS_APART;
    gpu_copy(place->site.round, &place->rounds, sizeof(place->rounds));
}

/* All PEs backwards; every second one, from the last on; the first three in another order. */
static void make_teams(chorus_team_t teams_out[OTHERS])
{
    enum { PES_MAX = 64 };
    const int n = gpu_n() < PES_MAX ? gpu_n() : PES_MAX, few = n < 3 ? n : 3;
    int pes[OTHERS][PES_MAX], counts[OTHERS] = {n, (n + 1) / 2, few};

    for (int i = 0; i < n; i++) {
        pes[0][i] = n - 1 - i;
        pes[1][i] = n - 1 - 2 * i; /* of the first half alone */
        pes[2][i] = (i + 1) % few;
    }
    for (int t = 0; t < OTHERS; t++) {
        teams_out[t] = CHORUS_TEAM_INVALID;
        EXPECT(chorusx_team_create(CHORUS_TEAM_WORLD, pes[t], counts[t], &teams_out[t]) ==
               CHORUS_OK);
    }
}

static void run_open(struct run *run)
{
    chorus_team_t teams[OTHERS];

    *run = (struct run){.dice.seed = number_of("CHORUS_TEST_SEED", 1)};
    if (!gpu_are_threads()) EXPECT(random_inside_open() == CHORUS_OK);
    make_teams(teams);
    place_open(&run->world, CHORUS_TEAM_WORLD, 0);
    for (int t = 0; t < OTHERS; t++)
        place_open(&run->others[t], teams[t], t + 1);
    for (int k = 0; k < 2; k++)
        EXPECT(cudaStreamCreateWithFlags(&run->streams[k], cudaStreamNonBlocking) ==
               cudaSuccess);
    run->mine = chorus_calloc(1, sizeof(*run->mine));
    run->sum = chorus_calloc(1, sizeof(*run->sum));
    EXPECT(run->mine != NULL && run->sum != NULL);
}

static void run_close(struct run *run)
{
    chorus_free(run->sum);
    chorus_free(run->mine);
    for (int k = 0; k < 2; k++)
        EXPECT(cudaStreamDestroy(run->streams[k]) == cudaSuccess);
    stream_site_close(&run->world.site);
    for (int t = 0; t < OTHERS; t++) {
        stream_site_close(&run->others[t].site);
        if (run->others[t].site.team != CHORUS_TEAM_INVALID)
            chorus_team_destroy(run->others[t].site.team);
    }
}

static unsigned long long wrong_of(const struct stream_site *site)
{
    struct stream_found found = {0};

    gpu_copy(&found, site->found, sizeof(found));
    return found.wrong;
}

/* Elements, and calls inside kernels that have failed. Of all PEs, so that these go on or end
 * alike; false, and those of this PE, if they could not
 * be added, as after a call that failed. */
static bool sum_wrong(const struct run *run, uint64_t *wrong_out)
{
    int code;

    *wrong_out = wrong_of(&run->world.site);
    for (int t = 0; t < OTHERS; t++)
        *wrong_out += wrong_of(&run->others[t].site);
    if (!gpu_are_threads()) *wrong_out += random_inside_failed();
    gpu_copy(run->mine, wrong_out, sizeof(*wrong_out));
    code = chorus_uint64_sum_reduce(CHORUS_TEAM_WORLD, run->sum, run->mine, 1);
    if (!EXPECT(code == CHORUS_OK)) return false;
    gpu_copy(wrong_out, run->sum, sizeof(*wrong_out));
    gpu_meet(); /* no PE of this process begins a capture before */
    return true;
}

static void run_batch(struct run *run)
{
    struct place *const other = &run->others[throw_dice(&run->dice, OTHERS)];
    struct place *places[2] = {&run->world, other};
    const uint64_t n = BATCH_MIN + throw_dice(&run->dice, BATCH_MAX - BATCH_MIN + 1);
    const bool is_graph = throw_dice(&run->dice, 3) == 0;
    const unsigned rounds = is_graph ? REPLAYS : 1;

    if (is_graph)
        replay_calls(run, places, n);
    else
        put_calls(run, places, n);
    run->calls += n * rounds;
    for (int k = 0; k < 2; k++) {
        places[k]->rounds += rounds;
        stream_expect(&places[k]->site, run->streams[k], places[k]->rounds);
    }
}

static void random_calls__between_kernels__are_right(void)
{
    const unsigned long long wanted = number_of("CHORUS_TEST_CALLS", CALLS);
    bool is_known = true;
    uint64_t wrong = 0;
    struct run run;

    run_open(&run);
    while (run.calls < wanted && is_known && wrong == 0) {
        run_batch(&run);
        is_known = sum_wrong(&run, &wrong);
    }
    if (gpu_me() == 0)
        (void)printf("%llu calls, %llu wrong elements, seed %llu\n", run.calls,
                     (unsigned long long)wrong, (unsigned long long)run.dice.seed);
    EXPECT(wrong == 0);
    run_close(&run);
}

/* --- can the check fail? ------------------------------------------------------------------ */

enum { SPOILED_COUNT = 1021 };

static int put_nothing(const struct stream_request *r)
{
    (void)r;
    return CHORUS_OK;
}

/* After the call other work of the stream writes an element of dest, or the one before it. */
static int put_and_write(const struct stream_request *r, ptrdiff_t element)
{
    int32_t *const at = (int32_t *)r->dest + element;
    const int code = stream_put_any(r);

    EXPECT(cudaMemsetAsync(at, 0x5a, sizeof(*at), (cudaStream_t)r->stream) == cudaSuccess);
    return code;
}

static int put_and_spoil(const struct stream_request *r)
{
    return put_and_write(r, SPOILED_COUNT / 2);
}

static int put_and_write_before(const struct stream_request *r)
{
    return put_and_write(r, -1);
}

static int put_and_write_past(const struct stream_request *r)
{
    return put_and_write(r, SPOILED_COUNT);
}

/* So many elements are found wrong, on every PE. */
static void expect_found(int (*put)(const struct stream_request *request),
                         unsigned long long wrong)
{
    const struct stream_call call = {.coll = CHORUS_COLL_reduce,
                                     .type = CHORUS_TYPE_i32,
                                     .op = CHORUS_OP_sum,
                                     .put = put,
                                     .count = SPOILED_COUNT,
                                     .dest_offset = MARGIN_BYTES,
                                     .margin = MARGIN};
    struct stream_site site;
    cudaStream_t stream = NULL;

    EXPECT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    stream_site_open(&site, CHORUS_TEAM_WORLD, SPOILED_COUNT + ROOM);
    stream_put(&site, &call, stream);
    EXPECT(chorusx_stream_synchronize((void *)stream) == CHORUS_OK);
    EXPECT(wrong_of(&site) == wrong);
    stream_site_close(&site);
    EXPECT(cudaStreamDestroy(stream) == cudaSuccess);
}

static void check__wrong_elements__are_found(void)
{
    expect_found(stream_put_any, 0);
    expect_found(put_nothing, SPOILED_COUNT);
    expect_found(put_and_spoil, 1);
    expect_found(put_and_write_before, 1);
    expect_found(put_and_write_past, 1);
}

#define CASES(X)                        \
    X(check__wrong_elements__are_found) \
    X(random_calls__between_kernels__are_right)
GPU_MAIN(CASES)
