/* SPDX-License-Identifier: Apache-2.0 */
/* chorus-sweep: time and check the collectives of this library. */
#include "bench/backend.h"
#include "bench/diff.h"
#include "bench/gpu.h"
#include "bench/peers/peers.h"

#include "chorus/chorusx.h"
#include "coll/algorithm.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PAGE_BYTES 4096u
/* Period with which a PE outside the team checks whether the sweep is over. */
#define LOOK_NS 10000000

struct blocks {
    size_t counts[CH_SWEEP_PES_MAX], offsets[CH_SWEEP_PES_MAX]; /* elements */
};

/* The only sweep of this program, which the backend's functions use. */
static struct {
    const struct ch_sweep_options *options;
    chorus_team_t team;
    chorus_stream_t stream; /* null: blocking */
    bool on_gpu;
    void *gpu_stream; /* on_gpu: the stream of calls in modes stream and graph */
    uint32_t me, pes;
    int world[CH_SWEEP_PES_MAX]; /* numbers of the team's PEs in the world */
    char *exchange;              /* symmetric: this PE's data in a gather */
    uint64_t meeting;            /* number of checked barriers that this PE has entered */
    uint64_t *meetings;          /* symmetric: the same number, which other PEs read */
    uint64_t *over;              /* symmetric: not 0 once the sweep is over */
} job;

static void require(int code, const char *what)
{
    if (code == CHORUS_OK) return;
    (void)fprintf(stderr, "chorus-sweep: %s: %s\n", what, chorusx_last_error());
    chorus_global_exit(1);
}

/* --- the backend -------------------------------------------------------------------------- */

static void *allocate(size_t bytes)
{
    return chorus_align(PAGE_BYTES, bytes);
}

/* The team informs the other PEs that it has finished. These sleep: in a barrier they would
 * compete for cores. */
static void part(void)
{
    const struct timespec look = {.tv_nsec = LOOK_NS};

    for (int pe = 0; job.me == 0 && pe < chorus_n_pes(); pe++)
        chorus_uint64_p(job.over, 1, pe);
    while (job.me >= job.pes && chorus_signal_fetch(job.over) == 0)
        (void)nanosleep(&look, NULL);
}

static void meet_all(void)
{
    require(chorus_team_sync(job.team), "sync");
}

static void gather(const void *mine, size_t bytes, void *all_out)
{
    chorus_putmem(job.exchange, mine, bytes, job.world[job.me]);
    chorus_quiet();
    meet_all();
    for (uint32_t pe = 0; pe < job.pes; pe++)
        chorus_getmem((char *)all_out + pe * bytes, job.exchange, bytes, job.world[pe]);
    meet_all();
}

static int call_barrier(const struct ch_work *work)
{
    const bool is_sync = work->coll == CH_SWEEP_sync;

    if (job.stream != NULL)
        return is_sync ? chorusx_team_sync_on_stream(job.team, job.stream)
                       : chorusx_barrier_on_stream(job.team, job.stream);
    return is_sync ? chorus_team_sync(job.team) : chorus_barrier(job.team);
}

/* Blocks of alltoallv, all of the same length; kept for the last count, since one count is
 * timed at a time. */
static const struct blocks *blocks_of(const struct ch_work *work)
{
    static struct blocks blocks;

    if (blocks.counts[0] == work->count) return &blocks;
    for (uint32_t pe = 0; pe < job.pes; pe++) {
        blocks.counts[pe] = work->count;
        blocks.offsets[pe] = pe * work->count;
    }
    return &blocks;
}

static int call(const struct ch_work *work, void *dest, const void *source, uint32_t root)
{
    const struct blocks *const blocks = blocks_of(work);
    const chorusx_call values = {
        .coll = (chorus_coll)work->coll, /* sync is never forced, so it does not occur here */
        .team = job.team,
        .dest = dest,
        .source = source,
        .count = work->count,
        .type = work->type,
        .op = work->op,
        .root = (int)root,
        .algo = work->algo,
        .ctas = work->ctas,
        .radix = job.options->radix,
        .dst = 1, /* of alltoalls, whose elements are contiguous here */
        .sst = 1,
        .dest_counts = blocks->counts,
        .dest_offsets = blocks->offsets,
        .source_counts = blocks->counts,
        .source_offsets = blocks->offsets,
    };
    int code;

    if (!ch_work_moves(work) && work->algo == NULL)
        code = call_barrier(work);
    else
        code = chorusx_collective(&values, job.stream);
    if (code != CHORUS_ERR_UNSUPPORTED && code != CHORUS_ERR_ARG)
        require(code, ch_sweep_names[work->coll]);
    return code;
}

static void flush(void)
{
    if (job.stream != NULL) require(chorusx_stream_synchronize(job.stream), "stream");
}

static void line_up(void)
{
    require(chorusx_team_sync_on_stream(job.team, job.stream), "sync");
}

static void lose(const char *why)
{
    (void)fprintf(stderr, "chorus-sweep: PE %d: %s\n", chorus_my_pe(), why);
    chorus_global_exit(1);
}

static uint64_t meet(const struct ch_work *work)
{
    const uint64_t meeting = ++job.meeting;
    uint64_t missed = 0;

    chorus_uint64_p(job.meetings, meeting, job.world[job.me]);
    chorus_quiet();
    require(call(work, NULL, NULL, 0), "barrier");
    flush();
    for (uint32_t pe = 0; pe < job.pes; pe++)
        if (chorus_uint64_g(job.meetings, job.world[pe]) < meeting) missed++;
    return missed;
}

static void served(const struct ch_work *work, struct ch_served *served_out)
{
    const bool moves = ch_work_moves(work);
    const size_t name_length = work->algo != NULL ? strcspn(work->algo, ":") : 0;
    chorusx_plan plan;

    if (work->algo != NULL) {
        (void)snprintf(served_out->algo, sizeof(served_out->algo), "%.*s", (int)name_length,
                       work->algo);
        (void)snprintf(served_out->proto, sizeof(served_out->proto), "%s",
                       work->algo + name_length + 1);
        (void)snprintf(served_out->rule, sizeof(served_out->rule), "forced");
        served_out->ctas = work->ctas > 0 ? work->ctas : 1;
        return;
    }
    require(chorusx_explain(job.team, moves ? (chorus_coll)work->coll : CHORUS_COLL_barrier,
                            moves ? work->type : CHORUS_TYPE_u8, work->op,
                            ch_work_bytes(work, job.pes), &plan),
            "explain");
    (void)snprintf(served_out->algo, sizeof(served_out->algo), "%s", plan.algo);
    (void)snprintf(served_out->proto, sizeof(served_out->proto), "%s", plan.proto);
    (void)snprintf(served_out->rule, sizeof(served_out->rule), "%s", plan.rule);
    served_out->ctas = plan.ctas;
}

/* --- algorithms to force ------------------------------------------------------------------ */

/* All algorithms, in a row for each collective. */
static const struct {
    chorus_coll coll;
    struct ch_choice choice;
} algos[] = {
#define X(coll, name, proto, fn, needs, radix, ...) \
    {CHORUS_COLL_##coll, {#name ":" #proto, radix}},
    CH_ALGO_LIST(X)
#undef X
};

enum { ALGO_COUNT = sizeof(algos) / sizeof(algos[0]) };

static void list_algos(struct ch_backend *backend)
{
    static struct ch_choice
        choices[ALGO_COUNT + CH_SWEEP_COUNT]; /* with the ends of the lists */
    size_t n = 0;

    for (unsigned coll = 0; coll < CH_SWEEP_COUNT; coll++) {
        backend->algos[coll] = &choices[n];
        for (size_t k = 0; k < ALGO_COUNT; k++)
            if (algos[k].coll == coll && coll != CH_SWEEP_sync) choices[n++] = algos[k].choice;
        n++;
    }
}

/* --- the job ------------------------------------------------------------------------------ */

/* Create the team of the sweep. A PE outside it gets a number beyond the team's. */
static void join_team(int stride)
{
    const int n = chorus_n_pes(), step = stride > 0 ? stride : 1;
    const int count = (n + step - 1) / step;

    job.team = CHORUS_TEAM_WORLD;
    if (stride > 0)
        require(
            chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, stride, count, NULL, 0, &job.team),
            "team");
    job.pes = (uint32_t)count;
    job.me = job.team != CHORUS_TEAM_INVALID ? (uint32_t)chorus_team_my_pe(job.team) : job.pes;
    for (int k = 0; k < count && k < (int)CH_SWEEP_PES_MAX; k++)
        job.world[k] = k * step;
}

static void find_gpu(void)
{
    chorusx_heap_info_t heap;

    require(chorusx_heap_info(&heap), "heap");
    job.on_gpu = heap.heap == CHORUS_HEAP_cuda;
    if (job.on_gpu && ch_bench_gpu_open(heap.device, &job.gpu_stream) != CHORUS_OK)
        lose(ch_bench_gpu_reason());
}

static void open_stream(void)
{
    if (job.options->mode == CH_SWEEP_BLOCKING) return;
    if (job.on_gpu)
        job.stream = job.gpu_stream;
    else
        require(chorusx_stream_create(&job.stream), "stream");
}

static void close_stream(void)
{
    if (job.on_gpu)
        ch_bench_gpu_close();
    else if (job.stream != NULL)
        require(chorusx_stream_destroy(job.stream), "stream");
}

/* Calls of the sweep have rules of a network, or of GPUs beside each other, if a PE does not
 * map the memory of another. */
static const char *find_reach(void)
{
    const bool is_one_host = chorus_team_n_pes(CHORUS_TEAM_NODE) == chorus_n_pes();

    for (uint32_t pe = 0; pe < job.pes && pe < CH_SWEEP_PES_MAX; pe++)
        if (chorus_ptr(job.over, job.world[pe]) == NULL)
            return job.on_gpu && is_one_host ? "beside" : "network";
    return job.pes > 1 ? "mapped" : "self";
}

static int sweep(const struct ch_sweep_options *options, int argc, char **argv)
{
    int status;
    struct ch_backend backend = {
        .program = "chorus-sweep",
        .version = CH_VERSION,
        .me = job.me,
        .pes = job.pes,
        .reach = find_reach(),
        .root_gets = true,
        .chooses_algos = true,
        .on_gpu = job.on_gpu,
        .allocate = allocate,
        .release = chorus_free,
        .part = part,
        .sync = meet_all,
        .gather = gather,
        .call = call,
        .flush = flush,
        .line_up = line_up,
        .lose = lose,
        .meet = meet,
        .served = served,
        .reason = chorusx_last_error,
    };

    list_algos(&backend);
    if (job.on_gpu && job.me < job.pes && options->error[0] == '\0')
        ch_peers_open(&backend, options, job.gpu_stream);
    status = ch_sweep_run(&backend, options, argc, argv);
    ch_peers_close(&backend);
    return status;
}

int main(int argc, char **argv)
{
    static struct ch_sweep_options options;
    int status;

    if (ch_sweep_options_read(argc, argv, &options) && options.diff[1] != NULL)
        return ch_diff_print("chorus-sweep", options.diff[0], options.diff[1]);
    (void)setenv("CHORUS_ERRORS", "return", 0); /* this program prints them */
    if (chorus_init() != CHORUS_OK) {
        (void)fprintf(stderr, "chorus-sweep: %s\n", chorusx_last_error());
        return 1;
    }
    job.options = &options;
    job.exchange = chorus_calloc(1, CH_GATHER_MAX);
    job.meetings = chorus_calloc(1, sizeof(*job.meetings));
    job.over = chorus_calloc(1, sizeof(*job.over));
    if (job.exchange == NULL || job.meetings == NULL || job.over == NULL)
        require(CHORUS_ERR_NOMEM, "start");
    find_gpu();
    open_stream();
    join_team(options.stride);
    status = sweep(&options, argc, argv);
    close_stream();
    chorus_finalize();
    return status;
}
