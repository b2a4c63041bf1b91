/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl_sweep: the sweep of chorus-sweep, made with the collectives of NCCL alone.
 *
 * usage: nccl_sweep LIBRARY ID_FILE RANK RANKS [OPTIONS of chorus-sweep]
 *
 * LIBRARY is the path of NCCL, or "" for its usual name. Rank 0 writes the identifier of the
 * communicator to ID_FILE, which is not to exist before; the other ranks wait for it there. All
 * ranks use the first GPU that they see. No launcher starts them, so that nothing binds the
 * threads with which NCCL serves its network to a core.
 */
#include "bench/backend.h"
#include "bench/gpu.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* How long a rank waits for what rank 0 writes, and between two attempts. */
#define SHARE_WAIT_MS 60000
#define LOOK_NS 1000000

static struct {
    const char *id_file;
    uint32_t me, ranks;
    struct ch_peer nccl;
    char *mine, *all; /* on the GPU: what this rank, and what all ranks have in a gather */
} job;

static void lose(const char *why)
{
    (void)fprintf(stderr, "nccl_sweep: rank %u: %s\n", job.me, why);
    exit(1);
}

static void need(int code)
{
    if (code != CHORUS_OK) lose(ch_bench_gpu_reason());
}

/* --- the backend -------------------------------------------------------------------------- */

/* Queue a gather of `bytes` bytes of each rank. */
static void put_gather(size_t bytes)
{
    const struct ch_work work = {
        .coll = CH_SWEEP_fcollect, .type = CHORUS_TYPE_u8, .count = bytes};

    (void)job.nccl.call(&work, job.all, job.mine, 0); /* a failure ends the job */
}

static void gather(const void *mine, size_t bytes, void *all_out)
{
    need(ch_bench_gpu_copy(job.mine, mine, bytes));
    put_gather(bytes);
    need(ch_bench_gpu_copy(all_out, job.all, bytes * job.ranks));
}

static void meet_all(void)
{
    put_gather(1);
    need(ch_bench_gpu_flush());
}

static void line_up(void)
{
    put_gather(1);
}

static void flush(void)
{
    need(ch_bench_gpu_flush());
}

/* No rank is outside the team. */
static void part(void)
{
}

/* NCCL has no barrier, so no row asks for this. */
static uint64_t meet(const struct ch_work *work)
{
    (void)work;
    return 0;
}

static void served(const struct ch_work *work, struct ch_served *served_out)
{
    (void)work;
    *served_out =
        (struct ch_served){.algo = "nccl", .proto = "nccl", .rule = "none", .ctas = 1};
}

static const char *reason(void)
{
    return "NCCL has no such call, type or operator, or the GPU no memory for it";
}

/* --- the job ------------------------------------------------------------------------------ */

/* Has rank 0 appended these bytes to the file? */
static bool read_shared(long at, void *out, size_t bytes)
{
    FILE *const file = fopen(job.id_file, "rb");
    bool is_there;

    if (file == NULL) return false;
    is_there = fseek(file, at, SEEK_SET) == 0 && fread(out, 1, bytes, file) == bytes;
    (void)fclose(file);
    return is_there;
}

static void append_shared(const void *data, size_t bytes)
{
    FILE *const file = fopen(job.id_file, "ab");

    if (file == NULL || fwrite(data, 1, bytes, file) != bytes || fclose(file) != 0)
        lose("cannot write ID_FILE; expected a path in a folder that may be written");
}

static void share(void *bytes_of_first, size_t bytes)
{
    const struct timespec look = {.tv_nsec = LOOK_NS};
    static long at; /* bytes that earlier calls shared */
    int waited_ms = 0;

    if (job.me == 0) append_shared(bytes_of_first, bytes);
    while (job.me != 0 && !read_shared(at, bytes_of_first, bytes)) {
        if (waited_ms++ == SHARE_WAIT_MS)
            lose("rank 0 wrote nothing to ID_FILE for 60 s; start all ranks with one ID_FILE");
        (void)nanosleep(&look, NULL);
    }
    at += (long)bytes;
}

static void join(const char *library)
{
    struct ch_vs_job vs = {.me = job.me, .pes = job.ranks, .share = share, .lose = lose};
    char error[512] = "";

    need(ch_bench_gpu_open(0, &vs.stream));
    if (!ch_nccl_load(library, error, sizeof(error))) lose(error);
    if (!ch_nccl_join(&vs, &job.nccl, error, sizeof(error))) lose(error);
    job.mine = ch_bench_gpu_allocate(CH_GATHER_MAX);
    job.all = ch_bench_gpu_allocate((size_t)CH_GATHER_MAX * job.ranks);
    if (job.mine == NULL || job.all == NULL) lose(ch_bench_gpu_reason());
}

static void leave(void)
{
    ch_nccl_leave();
    ch_bench_gpu_release(job.all);
    ch_bench_gpu_release(job.mine);
    ch_bench_gpu_close();
}

/* A number of ranks from `lo` on. */
static uint32_t read_rank(const char *text, long lo, long most)
{
    char *end;
    const long n = strtol(text, &end, 10);

    if (end == text || *end != '\0' || n < lo || n > most) {
        (void)fprintf(stderr, "nccl_sweep: RANK or RANKS \"%s\": expected %ld to %ld\n", text,
                      lo, most);
        exit(2);
    }
    return (uint32_t)n;
}

static int sweep(int argc, char **argv)
{
    static struct ch_sweep_options options;
    const struct ch_backend backend = {
        .program = "nccl_sweep",
        .version = job.nccl.version,
        .me = job.me,
        .pes = job.ranks,
        .root_gets = true,
        .chooses_algos = true, /* of the modes alone: it has no list of algorithms */
        .on_gpu = true,
        .allocate = job.nccl.allocate,
        .release = job.nccl.release,
        .part = part,
        .sync = meet_all,
        .gather = gather,
        .call = job.nccl.call,
        .flush = flush,
        .line_up = line_up,
        .lose = lose,
        .meet = meet,
        .served = served,
        .reason = reason,
    };

    (void)ch_sweep_options_read(argc, argv, &options);
    return ch_sweep_run(&backend, &options, argc, argv);
}

int main(int argc, char **argv)
{
    enum { LIBRARY = 1, ID_FILE, RANK, RANKS, FIXED };
    int status;

    if (argc < FIXED) {
        (void)fputs("usage: nccl_sweep LIBRARY ID_FILE RANK RANKS [OPTIONS of chorus-sweep]\n",
                    stderr);
        return 2;
    }
    job.id_file = argv[ID_FILE];
    job.ranks = read_rank(argv[RANKS], 1, CH_SWEEP_PES_MAX);
    job.me = read_rank(argv[RANK], 0, (long)job.ranks - 1);
    join(argv[LIBRARY]);
    argv[RANKS] = argv[0]; /* the options follow the name of the program */
    status = sweep(argc - RANKS, argv + RANKS);
    leave();
    return status;
}
