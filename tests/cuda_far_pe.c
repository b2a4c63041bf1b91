/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_far_pe.c: a PE with a heap on a GPU that is a fake: puts, gets, signals and quiet on
 * streams, with a peer that is far (CHORUS_NODES) or beside (CHORUS_P2P=0).
 *
 *   cuda_far_pe [DISTANCE]    PEs whose numbers differ in this bit are peers; 1 if absent
 *
 * The kernel of posts runs on the host, on the thread that launches it, with the true ring,
 * proxy and networks. Kernels of collectives do not run: allocation is the barrier.
 */
#include "api/context.h"
#include "chorus/chorusx.h"
#include "cuda_fake.h"
#include "cuda_far.h"
#include "link_gpu.h"
#include "team/table.h"
#include "transport/network.h"

#include <dirent.h>
#include <hwloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 300000, THREADS = 4, RUNS = 300, POISON = 0xee };

static int n_failed, distance = 1;

static void expect(bool holds, const char *what)
{
    if (holds) return;
    n_failed++;
    (void)fprintf(stderr, "PE %d: %s; %s\n", chorus_my_pe(), what, chorusx_last_error());
}

#define EXPECT(condition) expect(condition, #condition)

static void expect_ops(const char *ops)
{
    if (strcmp(far_ops(), ops) == 0) return;
    n_failed++;
    (void)fprintf(stderr, "the kernel posts \"%s\"; expected \"%s\"\n", far_ops(), ops);
}

static void meet(void)
{
    chorus_free(chorus_malloc(64));
}

static int peer(void)
{
    return chorus_my_pe() ^ distance;
}

static cudaStream_t make_stream(void)
{
    cudaStream_t stream = NULL;

    EXPECT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    return stream;
}

/* Symmetric memory, which is that of the fake. */
static void *make_object(size_t bytes)
{
    return chorus_calloc(bytes, 1);
}

static void end_object(void *object)
{
    meet();
    chorus_free(object);
}

static unsigned char pattern(int pe, size_t i, int round)
{
    return (unsigned char)(31 * pe + 7 * (int)i + 101 * round + (int)(i / 251));
}

static void fill(unsigned char *memory, int round)
{
    for (size_t i = 0; i < BYTES; i++)
        memory[i] = pattern(chorus_my_pe(), i, round);
}

static bool is_from(const unsigned char *memory, int pe, int round)
{
    for (size_t i = 0; i < BYTES; i++)
        if (memory[i] != pattern(pe, i, round)) return false;
    return true;
}

/* --- each operation ----------------------------------------------------------------------- */
/* After the kernel the source may change; after a quiet the data is there. */
static void put_and_quiet(cudaStream_t stream)
{
    unsigned char *const dest = make_object(BYTES), *const source = malloc(BYTES);

    memset(dest, POISON, BYTES);
    meet();
    fill(source, 1);
    EXPECT(chorusx_putmem_on_stream(dest, source, BYTES, peer(), (void *)stream) == CHORUS_OK);
    expect_ops("put, flush");
    memset(source, POISON, BYTES);
    EXPECT(chorusx_quiet_on_stream((void *)stream) == CHORUS_OK);
    expect_ops("none, quiet all");
    meet();
    EXPECT(is_from(dest, peer(), 1));
    free(source);
    end_object(dest);
}

static void get(cudaStream_t stream)
{
    unsigned char *const source = make_object(BYTES), *const dest = malloc(BYTES);

    fill(source, 2);
    memset(dest, POISON, BYTES);
    meet();
    EXPECT(chorusx_getmem_on_stream(dest, source, BYTES, peer(), (void *)stream) == CHORUS_OK);
    expect_ops("get, quiet");
    EXPECT(is_from(dest, peer(), 2));
    free(dest);
    end_object(source);
}

/* Wait as a program does that polls. */
static void await_word(uint64_t *word, uint64_t value)
{
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value)
        continue;
}

static void put_signals(cudaStream_t stream)
{
    unsigned char *const dest = make_object(BYTES), *const source = malloc(BYTES);
    uint64_t *const words = make_object(64);

    fill(source, 3);
    EXPECT(chorusx_putmem_signal_on_stream(dest, source, BYTES, &words[0], 7, CHORUS_SIGNAL_SET,
                                           peer(), (void *)stream) == CHORUS_OK);
    expect_ops("put signal, flush");
    await_word(&words[0], 7);
    EXPECT(is_from(dest, peer(), 3));
    for (int i = 0; i < 3; i++)
        EXPECT(chorusx_putmem_signal_on_stream(dest, source, 0, &words[1], 5, CHORUS_SIGNAL_ADD,
                                               peer(), (void *)stream) == CHORUS_OK);
    expect_ops("put signal add, flush");
    await_word(&words[1], 15);
    end_object(words);
    end_object(dest);
    free(source);
}

/* A quiet of the host after the kernel completes a signal, too. */
static void signals(cudaStream_t stream)
{
    uint64_t *const words = make_object(64);

    EXPECT(chorusx_signal_op_on_stream(&words[0], 9, CHORUS_SIGNAL_SET, peer(),
                                       (void *)stream) == CHORUS_OK);
    expect_ops("word, flush");
    for (int i = 0; i < 100; i++)
        EXPECT(chorusx_signal_op_on_stream(&words[1], 3, CHORUS_SIGNAL_ADD, peer(),
                                           (void *)stream) == CHORUS_OK);
    expect_ops("word add, flush");
    chorus_quiet();
    meet();
    EXPECT(words[0] == 9 && words[1] == 300);
    end_object(words);
}

static void barriers_complete_puts(cudaStream_t stream)
{
    const uint32_t n = far_kernels.n;

    EXPECT(chorusx_barrier_all_on_stream((void *)stream) == CHORUS_OK);
    EXPECT(far_kernels.n == n + 1);
    expect_ops("none, quiet all");
    EXPECT(chorusx_sync_all_on_stream((void *)stream) == CHORUS_OK);
    EXPECT(far_kernels.n == n + 1);
    meet();
}

static void near_peers_need_no_kernel(cudaStream_t stream)
{
    const uint32_t n = far_kernels.n;
    uint64_t *const words = make_object(64);
    uint64_t seven = 7;

    EXPECT(chorusx_putmem_on_stream(words, &seven, 8, chorus_my_pe(), (void *)stream) ==
           CHORUS_OK);
    EXPECT(chorusx_putmem_on_stream(words, &seven, 0, peer(), (void *)stream) == CHORUS_OK);
    EXPECT(far_kernels.n == n && words[0] == 7);
    end_object(words);
}

/* --- graphs ------------------------------------------------------------------------------- */
/* The same arguments again, with fresh data. */
static void replays(cudaStream_t stream)
{
    unsigned char *const source = make_object(BYTES), *const dest = malloc(BYTES);

    far_kernels.is_captured = true;
    EXPECT(chorusx_getmem_on_stream(dest, source, BYTES, peer(), (void *)stream) == CHORUS_OK);
    far_kernels.is_captured = false;
    for (int round = 10; round < 15; round++) {
        fill(source, round);
        memset(dest, POISON, BYTES);
        meet();
        EXPECT(far_replay() == CHORUS_OK);
        EXPECT(is_from(dest, peer(), round));
        meet();
    }
    free(dest);
    end_object(source);
}

static void *replay_often(void *failed)
{
    for (int i = 0; i < RUNS; i++)
        if (far_replay() != CHORUS_OK) *(bool *)failed = true;
    return NULL;
}

/* One kernel, on several streams at the same time: each run takes a completion word of its
 * own. There are more runs than words. */
static void replays_at_once(cudaStream_t stream)
{
    uint64_t *const words = make_object(64);
    bool has_failed[THREADS] = {false};
    pthread_t threads[THREADS];
    uint64_t calls;

    far_kernels.is_captured = true;
    EXPECT(chorusx_signal_op_on_stream(words, 1, CHORUS_SIGNAL_ADD, peer(), (void *)stream) ==
           CHORUS_OK);
    far_kernels.is_captured = false;
    calls = far_calls();
    for (int i = 0; i < THREADS; i++)
        EXPECT(pthread_create(&threads[i], NULL, replay_often, &has_failed[i]) == 0);
    for (int i = 0; i < THREADS; i++) {
        EXPECT(pthread_join(threads[i], NULL) == 0);
        EXPECT(!has_failed[i]);
    }
    EXPECT(far_calls() == calls + (uint64_t)THREADS * RUNS);
    chorus_quiet();
    meet();
    EXPECT(words[0] == (uint64_t)THREADS * RUNS);
    end_object(words);
}

/* --- failures ----------------------------------------------------------------------------- */
static void expect_failure(cudaStream_t stream, const char *part)
{
    far_kernels.fails = CHORUS_OK;
    EXPECT(chorusx_stream_synchronize((void *)stream) == CHORUS_ERR_TIMEOUT);
    expect(strstr(chorusx_last_error(), part) != NULL, part);
    EXPECT(chorusx_stream_synchronize((void *)stream) == CHORUS_OK);
}

static void failures_are_reported(cudaStream_t stream)
{
    uint64_t *const words = make_object(64);
    uint64_t got;
    char part[64];

    far_kernels.fails = CHORUS_ERR_TIMEOUT;
    EXPECT(chorusx_getmem_on_stream(&got, words, 8, peer(), (void *)stream) == CHORUS_OK);
    (void)snprintf(part, sizeof(part), "on a stream, for PE %d, was not completed", peer());
    expect_failure(stream, part);
    far_kernels.fails = CHORUS_ERR_TIMEOUT;
    EXPECT(chorusx_quiet_on_stream((void *)stream) == CHORUS_OK);
    expect_failure(stream, "on a stream, for PEs of other hosts, was not completed");
    end_object(words);
}

/* --- where threads run -------------------------------------------------------------------- */
/* The hardware threads that a thread of this process may use; 0: this one. */
static void read_affinity(pid_t thread, hwloc_bitmap_t set_out)
{
    cpu_set_t set;

    hwloc_bitmap_zero(set_out);
    CPU_ZERO(&set);
    if (sched_getaffinity(thread, sizeof(set), &set) != 0) return; /* it has ended */
    for (unsigned i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &set)) hwloc_bitmap_set(set_out, i);
}

/* Each thread runs on hardware threads that this PE was given, or on those to which no PE is
 * bound. `given` is changed. */
static void threads_run_where_they_may(hwloc_bitmap_t given)
{
    const char *spare = getenv("CHORUS_SPARE");
    DIR *folder = opendir("/proc/self/task");
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    const struct dirent *entry;

    if (spare != NULL && hwloc_bitmap_list_sscanf(set, spare) == 0)
        (void)hwloc_bitmap_or(given, given, set);
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        read_affinity((pid_t)strtol(entry->d_name, NULL, 10), set);
        EXPECT(hwloc_bitmap_isincluded(set, given));
    }
    EXPECT(folder != NULL && closedir(folder) == 0);
    hwloc_bitmap_free(set);
}

/* Kernels find the pools of PEs of this host where their own PE has mapped them. */
static void kernels_reach_pools_beside(void)
{
    const struct ch_context *context = ch_context_get();
    const struct ch_team *world = context->teams->slots[CHORUS_TEAM_WORLD].team;

    for (uint32_t pe = 0; pe < world->n; pe++) {
        if (world->remotes[pe].link == NULL || !ch_heap_is_mapped(context->heap, pe)) continue;
        EXPECT(ch_heap_mapped_at(context->heap, pe,
                                 world->peers[pe].sync + world->remotes[pe].sync,
                                 world->layout.dup_bytes) == world->peers[pe].sync);
    }
}

/* --- networks that access GPU memory -------------------------------------------------------
 */
/* How they do, by FAR_WAY, and why memory is staged if they do not. */
static const struct way {
    const char *name;
    CUresult dma_buf_error; /* at PE 1 */
    uint32_t sound;         /* parts that the network attaches, the trial included */
    bool is_unordered;      /* the GPU of PE 1 does not order writes of adapters, */
    bool has_no_flush;      /* and its driver does not flush them */
    const char *why;        /* at PE 1; at the other PE behind "PE 1: " */
} ways[] = {
    {"staged", CUDA_SUCCESS, UINT32_MAX, false, false, "tcp registers no GPU memory"},
    {"beside", CUDA_SUCCESS, UINT32_MAX, false, false, "beside registers no GPU memory"},
    {"direct", CUDA_SUCCESS, UINT32_MAX, false, false, ""},
    {"growth", CUDA_SUCCESS, 1, false, false, ""},
    {"flushed", CUDA_SUCCESS, UINT32_MAX, true, false, ""},
    {"no dma-buf", CUDA_ERROR_NOT_SUPPORTED, UINT32_MAX, false, false,
     "no dma-buf of 2097152 bytes"},
    {"refused", CUDA_SUCCESS, 0, false, false, "adapter: the test refuses"},
    {"unordered", CUDA_SUCCESS, UINT32_MAX, true, true, "GPU 0000:1"},
};

/* Prepare this PE for what the environment names. */
static const struct way *choose_way(void)
{
    const char *name = getenv("FAR_WAY"), *pe = getenv("CHORUS_PE");
    const struct way *way = &ways[0];

    while (name != NULL && strcmp(way->name, name) != 0)
        way++;
    if (pe == NULL || strcmp(pe, "1") != 0) return way;
    cuda_fake.dma_buf_error = way->dma_buf_error;
    link_gpu.sound = way->sound;
    if (way->is_unordered) cuda_fake.rdma_order = CU_GPU_DIRECT_RDMA_WRITES_ORDERING_NONE;
    if (way->has_no_flush) cuda_fake.rdma_flush = 0;
    return way;
}

static void the_network_is_used_so(const struct way *way)
{
    const struct ch_network *network = ch_context_get()->links->network;
    const char *why = network->why_staged;

    EXPECT(network->is_direct == (way->why[0] == '\0'));
    if (network->is_direct && (chorus_my_pe() == 1 || way->sound == UINT32_MAX))
        EXPECT(link_gpu.transfers > 0);
    else
        EXPECT(link_gpu.transfers == 0);
    if (way > &ways[1] && chorus_my_pe() == 0 && !network->is_direct) {
        EXPECT(strncmp(why, "PE 1: ", 6) == 0);
        why += 6;
    }
    EXPECT(strncmp(why, way->why, strlen(way->why)) == 0 && strchr(why, ';') == NULL);
    EXPECT((cuda_fake.rdma_flushes != 0) ==
           (network->is_direct && way->is_unordered && chorus_my_pe() == 1));
    EXPECT((link_gpu.refused != 0) == (way->sound != UINT32_MAX && chorus_my_pe() == 1));
}

int main(int argc, char **argv)
{
    hwloc_bitmap_t given = hwloc_bitmap_alloc();
    const struct way *way;
    cudaStream_t stream;

    if (argc > 1) distance = (int)strtol(argv[1], NULL, 10);

    read_affinity(0, given);
    cuda_fake_reset();
    cuda_fake.run_post = far_run;
    way = choose_way();
    if (chorus_init() != CHORUS_OK) {
        (void)fprintf(stderr, "init: %s\n", chorusx_last_error());
        return EXIT_FAILURE;
    }
    stream = make_stream();
    put_and_quiet(stream);
    get(stream);
    put_signals(stream);
    signals(stream);
    barriers_complete_puts(stream);
    near_peers_need_no_kernel(stream);
    replays(stream);
    replays_at_once(stream);
    failures_are_reported(stream);
    kernels_reach_pools_beside();
    threads_run_where_they_may(given);
    the_network_is_used_so(way);
    hwloc_bitmap_free(given);
    EXPECT(cuda_fake.not_loaded == 0);
    EXPECT(cudaStreamDestroy(stream) == cudaSuccess);
    chorus_finalize();
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
