/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sweep of a made-up program on a made-up GPU, in place of bench/gpu_cuda.c. Addresses of its
 * memory are not the host's, so a read or write past the copies would end the test.
 */
#include "bench/backend.h"
#include "bench/gpu.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AWAY ((uintptr_t)1 << 56)
enum { OPS_MAX = 64 };

struct op {
    void *dest;
    const void *source;
    size_t bytes;
};

struct ch_bench_gpu_graph {
    struct op ops[OPS_MAX];
    size_t n;
};

/* The GPU: what it was asked for, and what it shall do. */
static struct {
    struct ch_bench_gpu_graph *capturing;
    size_t captures, replays, forgotten, to_gpu, from_gpu, fills, lined_up;
    size_t calls, peer_calls; /* that were put on the stream, or captured */
    const void *ran_last;     /* the destination: tells ours from a peer's */
    double us, peer_us;       /* of a batch */
    bool skips_replays, spoils, spoils_peer;
    int peer_code;
    void *peer_dest;
} gpu;

static void *here(const void *address)
{
    ck_assert_uint_ge((uintptr_t)address, AWAY);
    return (void *)((uintptr_t)address - AWAY);
}

static bool is_away(const void *address)
{
    return (uintptr_t)address >= AWAY;
}

static void do_op(const struct op *op)
{
    const bool is_peer = op->dest == gpu.peer_dest;

    memcpy(here(op->dest), here(op->source), op->bytes);
    gpu.ran_last = op->dest;
    if (is_peer ? gpu.spoils_peer : gpu.spoils) *(char *)here(op->dest) ^= 1;
}

static int put(const struct ch_work *work, void *dest, const void *source)
{
    const struct op op = {dest, source, ch_work_dest_bytes(work, 1)};

    if (gpu.capturing == NULL)
        do_op(&op);
    else
        gpu.capturing->ops[gpu.capturing->n++] = op;
    return 0;
}

/* --- bench/gpu.h -------------------------------------------------------------------------- */

const char *ch_bench_gpu_reason(void)
{
    return "it was told so";
}

int ch_bench_gpu_open(int device, void **stream_out)
{
    (void)device;
    *stream_out = &gpu;
    return 0;
}

void ch_bench_gpu_close(void)
{
}

void *ch_bench_gpu_allocate(size_t bytes)
{
    return (void *)((uintptr_t)calloc(1, bytes) + AWAY);
}

void ch_bench_gpu_release(void *area)
{
    free(here(area));
}

void *ch_bench_gpu_stage_allocate(size_t bytes)
{
    return malloc(bytes);
}

void ch_bench_gpu_stage_release(void *area)
{
    free(area);
}

int ch_bench_gpu_copy(void *to, const void *from, size_t bytes)
{
    gpu.to_gpu += is_away(to);
    gpu.from_gpu += is_away(from);
    memcpy(is_away(to) ? here(to) : to, is_away(from) ? here(from) : from, bytes);
    return 0;
}

int ch_bench_gpu_fill(void *to, int byte, size_t bytes)
{
    gpu.fills++;
    memset(here(to), byte, bytes);
    return 0;
}

int ch_bench_gpu_flush(void)
{
    return 0;
}

int ch_bench_gpu_start(void)
{
    gpu.ran_last = NULL;
    return 0;
}

int ch_bench_gpu_stop(double *us_out)
{
    const bool is_peer = gpu.ran_last != NULL && gpu.ran_last == gpu.peer_dest;

    *us_out = is_peer ? gpu.peer_us : gpu.us;
    return 0;
}

int ch_bench_gpu_capture(void)
{
    ck_assert_ptr_null(gpu.capturing);
    gpu.capturing = calloc(1, sizeof(*gpu.capturing));
    gpu.captures++;
    return 0;
}

int ch_bench_gpu_captured(struct ch_bench_gpu_graph **graph_out)
{
    *graph_out = gpu.capturing;
    gpu.capturing = NULL;
    return 0;
}

int ch_bench_gpu_replay(const struct ch_bench_gpu_graph *graph)
{
    gpu.replays++;
    for (size_t i = 0; i < graph->n && !gpu.skips_replays; i++)
        do_op(&graph->ops[i]);
    return 0;
}

void ch_bench_gpu_forget(struct ch_bench_gpu_graph *graph)
{
    gpu.forgotten += graph != NULL;
    free(graph);
}

bool ch_bench_gpu_describe(struct ch_bench_gpu_facts *facts_out)
{
    *facts_out = (struct ch_bench_gpu_facts){"made-up", "1.2", "3.4"};
    return true;
}

/* --- the program, and a peer -------------------------------------------------------------- */

static int call(const struct ch_work *work, void *dest, const void *source, uint32_t root)
{
    (void)root;
    gpu.calls++;
    return ch_work_moves(work) ? put(work, dest, source) : 0;
}

static int peer_call(const struct ch_work *work, void *dest, const void *source, uint32_t root)
{
    (void)root;
    gpu.peer_calls++;
    gpu.peer_dest = dest;
    return gpu.peer_code != 0 ? gpu.peer_code : put(work, dest, source);
}

static void nothing(void)
{
}

static void line_up(void)
{
    gpu.lined_up++;
}

static void lose(const char *why)
{
    ck_abort_msg("lost: %s", why);
}

static void gather(const void *mine, size_t bytes, void *all_out)
{
    memcpy(all_out, mine, bytes);
}

static uint64_t meet(const struct ch_work *work)
{
    (void)work;
    return 0;
}

static void served(const struct ch_work *work, struct ch_served *served_out)
{
    (void)work;
    *served_out = (struct ch_served){.algo = "copy", .proto = "none", .rule = "r", .ctas = 1};
}

static const struct ch_peer peer = {.version = "5.6.7",
                                    .allocate = ch_bench_gpu_allocate,
                                    .release = ch_bench_gpu_release,
                                    .call = peer_call};

static const struct ch_backend backend = {
    .program = "made-up",
    .version = "1",
    .pes = 1,
    .root_gets = true,
    .chooses_algos = true,
    .on_gpu = true,
    .peers = {[CH_PEER_nccl] = &peer},
    .allocate = ch_bench_gpu_allocate,
    .release = ch_bench_gpu_release,
    .part = nothing,
    .sync = nothing,
    .gather = gather,
    .call = call,
    .flush = nothing,
    .line_up = line_up,
    .lose = lose,
    .meet = meet,
    .served = served,
    .reason = ch_bench_gpu_reason,
};

static int run(int argc, char **argv)
{
    static struct ch_sweep_options options;
    struct ch_backend own = backend;

    (void)ch_sweep_options_read(argc, argv, &options);
    if (!options.vs[CH_PEER_nccl].is_wanted) own.peers[CH_PEER_nccl] = NULL;
    return ch_sweep_run(&own, &options, argc, argv);
}

#define RUN(...)                                                     \
    run((int)(sizeof((char *[]){__VA_ARGS__}) / sizeof(char *)) + 1, \
        (char *[]){"sweep", __VA_ARGS__, NULL})

static char csv[] = "/tmp/chorus-test-XXXXXX";

static void behave_well(void)
{
    memset(&gpu, 0, sizeof(gpu));
    gpu.us = 40.0;
    gpu.peer_us = 80.0;
}

static bool csv_has(const char *text)
{
    static char all[1 << 16];
    FILE *const file = fopen(csv, "r");
    size_t n;

    ck_assert_ptr_nonnull(file);
    n = fread(all, 1, sizeof(all) - 1, file);
    (void)fclose(file);
    all[n] = '\0';
    return strstr(all, text) != NULL;
}

/* --- tests -------------------------------------------------------------------------------- */

START_TEST(graph__small_call__is_20_calls_replayed)
{
    ck_assert_int_eq(RUN("--mode", "graph", "--coll", "fcollect", "-b", "64", "-e", "64", "-n",
                         "3", "-w", "2", "--csv", csv),
                     0);
    ck_assert_uint_eq(gpu.captures, 1);
    ck_assert_uint_eq(gpu.calls, 2 + 20);
    ck_assert_uint_eq(gpu.replays, 1 + 3);
    ck_assert_uint_eq(gpu.forgotten, 1);
    ck_assert_uint_eq(gpu.lined_up, 2 + 1 + 3);
    ck_assert_uint_eq(gpu.fills, 3);
    ck_assert_uint_eq(gpu.to_gpu, 2 + 1 + 3);
    ck_assert_uint_eq(gpu.from_gpu, 3);
    ck_assert(csv_has("fcollect,copy,none,1,f32,none,1,64,16,2.000,2.000,2.000,"));
    ck_assert(csv_has("# gpu: made-up\n# driver: 1.2\n# cuda: 3.4\n"));
    ck_assert(!csv_has("nccl"));
}
END_TEST

START_TEST(graph__large_call__is_5_calls_with_data_filled_once)
{
    ck_assert_int_eq(RUN("--mode", "graph", "--coll", "fcollect", "-b", "5M", "-e", "5M", "-n",
                         "4", "-w", "1", "--csv", csv),
                     0);
    ck_assert_uint_eq(gpu.calls, 1 + 5);
    ck_assert_uint_eq(gpu.replays, 1 + 4);
    ck_assert_uint_eq(gpu.to_gpu, 1 + 1 + 1);
    ck_assert_uint_eq(gpu.fills, 4);
    ck_assert_uint_eq(gpu.from_gpu, 1);
    ck_assert(csv_has(",8.000,8.000,8.000,"));
}
END_TEST

START_TEST(stream__calls__are_made_each_time)
{
    ck_assert_int_eq(RUN("--mode", "stream", "--coll", "fcollect", "-b", "64", "-e", "64", "-n",
                         "3", "-w", "2", "--csv", csv),
                     0);
    ck_assert_uint_eq(gpu.captures + gpu.replays, 0);
    ck_assert_uint_eq(gpu.calls, 2 + 20 * (1 + 3));
    ck_assert(csv_has(",2.000,2.000,2.000,"));
}
END_TEST

START_TEST(blocking__calls__go_through_the_stage)
{
    ck_assert_int_eq(RUN("--coll", "fcollect,sync", "-b", "64", "-e", "64", "-n", "3"), 0);
    ck_assert_uint_gt(gpu.fills, 0);
    ck_assert_uint_eq(gpu.fills, gpu.from_gpu);
}
END_TEST

START_TEST(check__wrong_or_missing_data__exits_1)
{
    gpu.spoils = true;
    ck_assert_int_eq(RUN("--mode", "graph", "--coll", "fcollect", "-e", "8", "-n", "2"), 1);
    ck_assert_int_eq(RUN("--mode", "stream", "--coll", "fcollect", "-e", "8", "-n", "2"), 1);
    ck_assert_int_eq(RUN("--coll", "fcollect", "-e", "8", "-n", "2"), 1);
    gpu.spoils = false;
    gpu.skips_replays = true;
    ck_assert_int_eq(RUN("--mode", "graph", "--coll", "fcollect", "-e", "8", "-n", "2"), 1);
}
END_TEST

START_TEST(peer__same_batches__give_its_time_and_the_ratio)
{
    ck_assert_int_eq(RUN("--mode", "graph", "--vs", "nccl", "--coll", "fcollect", "-b", "64",
                         "-e", "64", "-n", "3", "-w", "1", "--csv", csv),
                     0);
    ck_assert_uint_eq(gpu.peer_calls, gpu.calls);
    ck_assert_uint_eq(gpu.replays, 2 * (1 + 3));
    ck_assert(csv_has(",wrong,nccl_us,nccl_ratio,rule\n"));
    ck_assert(csv_has(",0,4.000,0.500,r\n"));
    ck_assert(csv_has("# nccl: 5.6.7\n"));
}
END_TEST

START_TEST(peer__without_the_call_or_wrong__has_no_time)
{
    gpu.peer_code = CHORUS_ERR_UNSUPPORTED;
    ck_assert_int_eq(RUN("--mode", "graph", "--vs", "nccl", "--coll", "fcollect", "-b", "64",
                         "-e", "64", "-n", "3", "--csv", csv),
                     0);
    ck_assert_uint_eq(gpu.peer_calls, 1);
    ck_assert(csv_has(",0,,,r\n"));
    gpu.peer_code = 0;
    gpu.spoils_peer = true;
    ck_assert_int_eq(RUN("--mode", "stream", "--vs", "nccl", "--coll", "fcollect", "-b", "64",
                         "-e", "64", "-n", "3", "--csv", csv),
                     0);
    ck_assert(csv_has(",0,,,r\n"));
}
END_TEST

START_TEST(vs__blocking__is_refused)
{
    ck_assert_int_eq(RUN("--vs", "nccl"), 2);
    ck_assert_uint_eq(gpu.calls, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bench");
    TCase *tcase = tcase_create("gpu");
    const int file = mkstemp(csv);
    SRunner *runner;
    int failed;

    if (file < 0) return EXIT_FAILURE;
    tcase_add_checked_fixture(tcase, behave_well, NULL);
    tcase_add_test(tcase, graph__small_call__is_20_calls_replayed);
    tcase_add_test(tcase, graph__large_call__is_5_calls_with_data_filled_once);
    tcase_add_test(tcase, stream__calls__are_made_each_time);
    tcase_add_test(tcase, blocking__calls__go_through_the_stage);
    tcase_add_test(tcase, check__wrong_or_missing_data__exits_1);
    tcase_add_test(tcase, peer__same_batches__give_its_time_and_the_ratio);
    tcase_add_test(tcase, peer__without_the_call_or_wrong__has_no_time);
    tcase_add_test(tcase, vs__blocking__is_refused);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    (void)close(file);
    (void)unlink(csv);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
