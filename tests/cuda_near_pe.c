/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_near_pe.c: a PE of a job on several hosts, as CHORUS_NODE names them, with a heap on
 * GPUs that are fakes: those of other hosts are near by fabric handles, but for the PE that the
 * first argument names, whose GPU imports none. PEs on one host: the second argument.
 *
 * Kernels of collectives do not run: allocation is the barrier.
 */
#include "api/context.h"
#include "chorus/chorusx.h"
#include "cuda_fake.h"
#include "cuda_far.h"
#include "team/table.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 100000, POISON = 0xee, GROWTH = 40 << 20 };

static int n_failed, outsider;

static void expect(bool holds, const char *what)
{
    if (holds) return;
    n_failed++;
    (void)fprintf(stderr, "PE %d: %s; %s\n", chorus_my_pe(), what, chorusx_last_error());
}

#define EXPECT(condition) expect(condition, #condition)

static void meet(void)
{
    chorus_free(chorus_malloc(64));
}

static bool is_near(int pe)
{
    return pe == chorus_my_pe() || (pe != outsider && chorus_my_pe() != outsider);
}

static unsigned char pattern(int from, int to, size_t i, int round)
{
    return (unsigned char)(31 * from + 57 * to + 7 * (int)i + 101 * round + (int)(i / 251));
}

static void fill(unsigned char *memory, int to, int round)
{
    for (size_t i = 0; i < BYTES; i++)
        memory[i] = pattern(chorus_my_pe(), to, i, round);
}

static bool is_from(const unsigned char *memory, int from, int to, int round)
{
    for (size_t i = 0; i < BYTES; i++)
        if (memory[i] != pattern(from, to, i, round)) return false;
    return true;
}

/* The memory of near PEs, and only theirs, is mapped. */
static void addresses(unsigned char *object)
{
    for (int pe = 0; pe < chorus_n_pes(); pe++)
        EXPECT((chorus_ptr(object, pe) != NULL) == is_near(pe));
}

/* Each PE writes a part of the object of each other PE, by the host. */
static void puts_of_hosts(unsigned char *object, int round)
{
    const int me = chorus_my_pe(), n = chorus_n_pes();
    unsigned char *source = malloc(BYTES);

    memset(object, POISON, (size_t)n * BYTES);
    meet();
    for (int pe = 0; pe < n; pe++) {
        fill(source, pe, round);
        chorus_putmem(object + (size_t)me * BYTES, source, BYTES, pe);
    }
    chorus_quiet();
    meet();
    for (int pe = 0; pe < n; pe++)
        EXPECT(is_from(object + (size_t)pe * BYTES, pe, me, round));
    for (int pe = 0; pe < n; pe++) {
        memset(source, POISON, BYTES);
        chorus_getmem(source, object + (size_t)me * BYTES, BYTES, pe);
        EXPECT(is_from(source, me, pe, round));
    }
    meet();
    free(source);
}

/* The same on a stream; only far PEs need the kernel of posts. */
static void puts_of_streams(unsigned char *object, int round, void *stream)
{
    const int me = chorus_my_pe(), n = chorus_n_pes();
    unsigned char *source = malloc(BYTES);

    memset(object, POISON, (size_t)n * BYTES);
    meet();
    for (int pe = 0; pe < n; pe++) {
        const uint32_t posted = far_kernels.n;

        fill(source, pe, round);
        EXPECT(chorusx_putmem_on_stream(object + (size_t)me * BYTES, source, BYTES, pe,
                                        stream) == CHORUS_OK);
        EXPECT((far_kernels.n != posted) == !is_near(pe));
    }
    EXPECT(chorusx_quiet_on_stream(stream) == CHORUS_OK);
    meet();
    for (int pe = 0; pe < n; pe++)
        EXPECT(is_from(object + (size_t)pe * BYTES, pe, me, round));
    meet();
    free(source);
}

/* The waits of a host end although near PEs of other hosts cannot wake it. */
static void words(void)
{
    const int me = chorus_my_pe(), n = chorus_n_pes();
    uint64_t *object = chorus_calloc((size_t)n + 1, sizeof(*object)), data = 0;

    for (int pe = 0; pe < n; pe++) {
        (void)chorus_uint64_atomic_fetch_add(&object[n], 1, pe);
        chorus_putmem_signal(&data, &data, 0, &object[me], 5, CHORUS_SIGNAL_SET, pe);
    }
    for (int pe = 0; pe < n; pe++)
        EXPECT(chorus_signal_wait_until(&object[pe], CHORUS_CMP_EQ, 5) == 5);
    chorus_quiet();
    meet();
    EXPECT(object[n] == (uint64_t)n);
    meet();
    chorus_free(object);
}

/* The sync memory of a team of near PEs is on GPUs, has room for packets, and is reached
 * without links. */
static void expect_reach(chorus_team_t handle, bool are_near)
{
    struct ch_context *context = NULL;
    struct ch_sync_layout layout;
    struct ch_team *team = NULL;

    EXPECT(ch_context_require(__func__, &context) == CHORUS_OK);
    EXPECT(ch_team_get(context->teams, handle, &team) == CHORUS_OK);
    if (team == NULL) return;
    EXPECT(team->is_in_pool == !are_near && ch_team_is_mapped(team) == are_near);
    EXPECT((team->n_nodes == 1) == are_near && team->is_across);
    EXPECT(team->rail == NULL || !are_near);
    ch_sync_layout_init(&layout, team->n, team->layout.chunk_bytes[CH_CELL_simple], !are_near);
    EXPECT(team->layout.chunk_bytes[CH_CELL_ll] == layout.chunk_bytes[CH_CELL_ll]);
}

/* Each PE of the team writes a byte of the object of each other; allocation is the barrier. */
static void share_memory(chorus_team_t team, int n)
{
    const int me = chorus_team_my_pe(team);
    unsigned char *memory = chorusx_team_malloc(team, BYTES), *barrier;

    EXPECT(memory != NULL);
    if (memory == NULL) return;
    for (int pe = 0; pe < n; pe++) {
        const unsigned char byte = pattern(me, pe, 0, 4);

        chorus_putmem(memory + me, &byte, 1, pe);
    }
    chorus_quiet();
    barrier = chorusx_team_malloc(team, 64);
    for (int pe = 0; pe < n; pe++)
        EXPECT(memory[pe] == pattern(pe, me, 0, 4));
    EXPECT(chorusx_team_free(team, barrier) == CHORUS_OK);
    EXPECT(chorusx_team_free(team, memory) == CHORUS_OK);
}

/* The team of all PEs, and one of the first two hosts. */
static void teams(int on_host, void *stream)
{
    const int n = 2 * on_host;
    const bool are_near = outsider < 0 || outsider >= n;
    chorus_team_t team = CHORUS_TEAM_INVALID;
    struct ch_device_state state;
    int *object = chorus_malloc(64 * sizeof(*object));

    expect_reach(CHORUS_TEAM_WORLD, outsider < 0);
    EXPECT(chorusx_device_state(&state, sizeof(state)) == CHORUS_OK);
    EXPECT((state.far == 0) == (outsider < 0) && (state.has_far == 0) == (outsider < 0));
    for (int pe = 0; pe < chorus_n_pes(); pe++)
        if (is_near(pe))
            EXPECT((char *)object + state.peers[pe].shift == chorus_ptr(object, pe));
    EXPECT(chorusx_int_sum_reduce_on_stream(CHORUS_TEAM_WORLD, object, object, 64, stream) ==
           CHORUS_OK);
    EXPECT(chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, 1, n, NULL, 0, &team) == CHORUS_OK);
    if (chorus_my_pe() < n) {
        expect_reach(team, are_near);
        share_memory(team, n);
        EXPECT(chorusx_int_sum_reduce_on_stream(team, object, object, 64, stream) == CHORUS_OK);
    }
    meet();
    chorus_team_destroy(team);
    chorus_free(object);
}

static void go_on(int code, const char *message)
{
    (void)code, (void)message;
}

/* CHORUS_CHECK compares calls by messages between hosts. */
static void calls_that_differ(void)
{
    chorusx_set_error_handler(go_on);
    EXPECT(chorus_malloc(chorus_my_pe() == 1 ? 128 : 64) == NULL);
    EXPECT(strstr(chorusx_last_error(), "PE 1 ") != NULL);
}

int main(int argc, char **argv)
{
    const char *number = getenv("CHORUS_PE");
    const int pe = number != NULL ? atoi(number) : 0, on_host = argc > 2 ? atoi(argv[2]) : 1;
    const char node[] = {(char)('a' + pe / on_host), '\0'};
    unsigned char *object, *grown;
    cudaStream_t stream = NULL;

    outsider = argc > 1 ? atoi(argv[1]) : -1;
    cuda_fake_reset();
    cuda_fake.n_devices = FAKE_DEVICES_MAX;
    cuda_fake.run_post = far_run;
    if (getenv("FAKE_BAD_TRIAL") != NULL) {
        cuda_fake.bad_trial = 1;
        (void)signal(SIGTERM, SIG_IGN); /* the launcher ends the job with the first PE: all are
                                           to say what they know */
    }
    if (pe == outsider) cuda_fake.import_error = CUDA_ERROR_NOT_PERMITTED;
    (void)cudaSetDevice(pe);
    (void)setenv("CHORUS_NODE", node, 1);
    if (chorus_init() != CHORUS_OK) {
        (void)fprintf(stderr, "init: %s\n", chorusx_last_error());
        return EXIT_FAILURE;
    }
    EXPECT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    object = chorus_malloc((size_t)chorus_n_pes() * BYTES);
    addresses(object);
    puts_of_hosts(object, 1);
    puts_of_streams(object, 2, (void *)stream);
    words();
    grown = chorus_malloc(GROWTH);
    addresses(grown);
    puts_of_hosts(grown + GROWTH / 2, 3);
    teams(on_host, (void *)stream);
    calls_that_differ();
    chorus_free(grown);
    chorus_free(object);
    EXPECT(cudaStreamDestroy(stream) == cudaSuccess);
    chorus_finalize();
    EXPECT(cuda_fake.handles == 0 && cuda_fake.mappings == 0 && cuda_fake.ranges == 0);
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
