/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_gpu_far_rma.c: puts, gets, signals, quiet and barriers on streams, to PEs of other
 * hosts, and in graphs. Unless CHORUS_NODES says how many hosts there are, two are pretended;
 * with one PE, or with PEs as threads, the program is skipped.
 *
 * Each PE has new data in each round, destinations are poisoned before, and every PE compares
 * what it has got. Sources are overwritten by the stream right behind a put, and what a get has
 * stored is copied by the stream right behind the get.
 */
#include "gpu_pes.h"

#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SKIPPED = 77, LONGEST = (1 << 20) + 3, ROUNDS = 20, POISON = 0xee, STREAMS = 8 };

static const size_t lengths[] = {1, 4, 7, 8, 100, 4096, 65537, LONGEST};
enum { LENGTHS = sizeof(lengths) / sizeof(lengths[0]) };

/* Bytes that differ by PE, place and round. */
static unsigned char pattern(int pe, size_t i, int round)
{
    return (unsigned char)(31 * (unsigned)pe + 7 * (unsigned)i + 101 * (unsigned)round +
                           i / 251);
}

/* The objects of a case; those on the GPU are symmetric. */
struct scene {
    unsigned char *here;           /* memory of the host */
    unsigned char *source, *dest;  /* LONGEST bytes and some more */
    unsigned char *fresh, *landed; /* of the GPU, not symmetric */
    uint64_t *words;               /* symmetric */
    cudaStream_t stream;
};

static struct scene open_scene(void)
{
    struct scene s = {malloc(LONGEST),
                      chorus_calloc(LONGEST + 64, 1),
                      chorus_calloc(LONGEST + 64, 1),
                      gpu_alloc(LONGEST),
                      gpu_alloc(LONGEST),
                      chorus_calloc(8, sizeof(uint64_t)),
                      NULL};

    EXPECT(s.here != NULL && s.source != NULL && s.dest != NULL && s.words != NULL);
    EXPECT(cudaStreamCreateWithFlags(&s.stream, cudaStreamNonBlocking) == cudaSuccess);
    return s;
}

static void close_scene(struct scene *s)
{
    gpu_meet();
    EXPECT(cudaStreamDestroy(s->stream) == cudaSuccess);
    chorus_free(s->words);
    chorus_free(s->dest);
    chorus_free(s->source);
    gpu_free(s->landed);
    gpu_free(s->fresh);
    free(s->here);
}

static void *stream_of(const struct scene *s)
{
    return (void *)s->stream;
}

/* This PE's data of the round, at `memory` on the GPU. */
static void fill(const struct scene *s, unsigned char *memory, size_t bytes, int round)
{
    for (size_t i = 0; i < bytes; i++)
        s->here[i] = pattern(gpu_me(), i, round);
    gpu_copy(memory, s->here, bytes);
}

/* The memory on the GPU has the data of PE pe. */
static void expect_from(const struct scene *s, const unsigned char *memory, size_t bytes,
                        int pe, int round)
{
    size_t wrong = 0;

    gpu_copy(s->here, memory, bytes);
    for (size_t i = 0; i < bytes; i++)
        wrong += s->here[i] != pattern(pe, i, round);
    EXPECT(wrong == 0);
}

static void put_copy(const struct scene *s, void *dest, const void *source, size_t bytes)
{
    EXPECT(cudaMemcpyAsync(dest, source, bytes, cudaMemcpyDefault, s->stream) == cudaSuccess);
}

static void spoil(const struct scene *s, void *memory, size_t bytes)
{
    EXPECT(cudaMemsetAsync(memory, POISON, bytes, s->stream) == cudaSuccess);
}

static void synchronize(const struct scene *s)
{
    EXPECT(chorusx_stream_synchronize(stream_of(s)) == CHORUS_OK);
}

static uint64_t word_of(const uint64_t *word)
{
    uint64_t value = 0;

    gpu_copy(&value, word, sizeof(value));
    return value;
}

/* --- each operation ----------------------------------------------------------------------- */
static void put__and_quiet__is_there_and_its_source_is_free(void)
{
    struct scene s = open_scene();

    for (int i = 0; i < LENGTHS; i++) {
        const size_t bytes = lengths[i];

        fill(&s, s.source, bytes, i);
        gpu_fill(s.dest, POISON, LONGEST);
        gpu_meet();
        EXPECT(chorusx_putmem_on_stream(s.dest + i % 2, s.source, bytes, gpu_next(),
                                        stream_of(&s)) == CHORUS_OK);
        spoil(&s, s.source, bytes);
        EXPECT(chorusx_quiet_on_stream(stream_of(&s)) == CHORUS_OK);
        synchronize(&s);
        gpu_meet();
        expect_from(&s, s.dest + i % 2, bytes, gpu_previous(), i);
    }
    close_scene(&s);
}

static void get__later_work_of_the_stream__has_the_data(void)
{
    struct scene s = open_scene();

    for (int i = 0; i < LENGTHS; i++) {
        const size_t bytes = lengths[i];

        fill(&s, s.source, bytes, 100 + i);
        gpu_fill(s.landed, POISON, LONGEST);
        gpu_meet();
        spoil(&s, s.dest, bytes);
        EXPECT(chorusx_getmem_on_stream(s.dest, s.source, bytes, gpu_next(), stream_of(&s)) ==
               CHORUS_OK);
        put_copy(&s, s.landed, s.dest, bytes);
        spoil(&s, s.dest, bytes);
        synchronize(&s);
        expect_from(&s, s.landed, bytes, gpu_next(), 100 + i);
        gpu_meet();
    }
    close_scene(&s);
}

/* Around the ring of PEs: a stream waits for the signal, and copies what came before it. */
static void put_signal__set_and_add__comes_behind_the_data(void)
{
    struct scene s = open_scene();

    for (int round = 1; round <= ROUNDS; round++) {
        const int how = round % 2 == 0 ? CHORUS_SIGNAL_ADD : CHORUS_SIGNAL_SET;
        const uint64_t value = how == CHORUS_SIGNAL_ADD ? 1 : (uint64_t)round;

        fill(&s, s.source, LONGEST, round);
        gpu_fill(s.dest, POISON, LONGEST);
        gpu_meet();
        EXPECT(chorusx_putmem_signal_on_stream(s.dest, s.source, LONGEST, s.words, value, how,
                                               gpu_next(), stream_of(&s)) == CHORUS_OK);
        spoil(&s, s.source, LONGEST);
        EXPECT(chorusx_signal_wait_until_on_stream(s.words, CHORUS_CMP_EQ, (uint64_t)round,
                                                   stream_of(&s)) == CHORUS_OK);
        put_copy(&s, s.landed, s.dest, LONGEST);
        synchronize(&s);
        expect_from(&s, s.landed, LONGEST, gpu_previous(), round);
        EXPECT(word_of(s.words) == (uint64_t)round);
        gpu_meet();
    }
    close_scene(&s);
}

/* A quiet of the host, once the stream has ended, completes what was queued there. */
static void signal_op__all_pes_add__none_is_lost(void)
{
    enum { TIMES = 50 };
    struct scene s = open_scene();

    for (int i = 0; i < TIMES; i++)
        EXPECT(chorusx_signal_op_on_stream(&s.words[1], 3, CHORUS_SIGNAL_ADD, 0,
                                           stream_of(&s)) == CHORUS_OK);
    EXPECT(chorusx_signal_op_on_stream(&s.words[2], 9, CHORUS_SIGNAL_SET, gpu_next(),
                                       stream_of(&s)) == CHORUS_OK);
    synchronize(&s);
    chorus_quiet();
    gpu_meet();
    if (gpu_me() == 0) EXPECT(word_of(&s.words[1]) == (uint64_t)(3 * TIMES * gpu_n()));
    EXPECT(word_of(&s.words[2]) == 9 && word_of(&s.words[0]) == 0);
    close_scene(&s);
}

/* No call of the host completes the puts here. */
static void barrier__behind_puts_of_the_stream__completes_them(void)
{
    struct scene s = open_scene();

    for (int round = 0; round < ROUNDS; round++) {
        fill(&s, s.source, LONGEST, 200 + round);
        gpu_fill(s.dest, POISON, LONGEST);
        gpu_meet();
        EXPECT(chorusx_putmem_on_stream(s.dest, s.source, LONGEST, gpu_next(), stream_of(&s)) ==
               CHORUS_OK);
        EXPECT(chorusx_barrier_all_on_stream(stream_of(&s)) == CHORUS_OK);
        put_copy(&s, s.landed, s.dest, LONGEST);
        synchronize(&s);
        expect_from(&s, s.landed, LONGEST, gpu_previous(), 200 + round);
        gpu_meet();
    }
    close_scene(&s);
}

/* --- graphs ------------------------------------------------------------------------------- */
static void begin_capture(const struct scene *s)
{
    EXPECT(cudaStreamBeginCapture(s->stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
}

static cudaGraphExec_t end_capture(const struct scene *s)
{
    cudaGraphExec_t exec = NULL;
    cudaGraph_t graph = NULL;

    EXPECT(cudaStreamEndCapture(s->stream, &graph) == cudaSuccess);
    EXPECT(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
    EXPECT(cudaGraphDestroy(graph) == cudaSuccess);
    return exec;
}

/* Fresh data is put to the next PE, and read back from there. */
static cudaGraphExec_t capture_all(const struct scene *s)
{
    void *const stream = stream_of(s);

    begin_capture(s);
    put_copy(s, s->source, s->fresh, LONGEST);
    EXPECT(chorusx_putmem_on_stream(s->dest, s->source, LONGEST, gpu_next(), stream) ==
           CHORUS_OK);
    spoil(s, s->source, LONGEST);
    EXPECT(chorusx_quiet_on_stream(stream) == CHORUS_OK);
    EXPECT(chorusx_getmem_on_stream(s->landed, s->dest, LONGEST, gpu_next(), stream) ==
           CHORUS_OK);
    EXPECT(chorusx_signal_op_on_stream(s->words, 1, CHORUS_SIGNAL_ADD, gpu_next(), stream) ==
           CHORUS_OK);
    EXPECT(chorusx_putmem_signal_on_stream(s->dest, s->source, 0, &s->words[1], 2,
                                           CHORUS_SIGNAL_ADD, gpu_next(), stream) == CHORUS_OK);
    EXPECT(chorusx_quiet_on_stream(stream) == CHORUS_OK);
    return end_capture(s);
}

static void graph__replayed_with_fresh_data__is_right_each_time(void)
{
    struct scene s = open_scene();
    const cudaGraphExec_t exec = capture_all(&s);

    for (int round = 1; round <= ROUNDS; round++) {
        fill(&s, s.fresh, LONGEST, 300 + round);
        gpu_fill(s.dest, POISON, LONGEST);
        gpu_fill(s.landed, POISON, LONGEST);
        gpu_meet();
        EXPECT(cudaGraphLaunch(exec, s.stream) == cudaSuccess);
        synchronize(&s);
        gpu_meet();
        expect_from(&s, s.dest, LONGEST, gpu_previous(), 300 + round);
        expect_from(&s, s.landed, LONGEST, gpu_me(), 300 + round);
        EXPECT(word_of(s.words) == (uint64_t)round);
        EXPECT(word_of(&s.words[1]) == 2 * (uint64_t)round);
        gpu_meet();
    }
    EXPECT(cudaGraphExecDestroy(exec) == cudaSuccess);
    close_scene(&s);
}

/* Equal graphs on several streams at the same time, each with a get and a quiet. */
static void graphs__at_the_same_time__each_gets_its_data(void)
{
    enum { BYTES = 5000 };
    struct scene s = open_scene();
    cudaStream_t streams[STREAMS];
    cudaGraphExec_t execs[STREAMS];

    for (int i = 0; i < STREAMS; i++) {
        EXPECT(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking) == cudaSuccess);
        begin_capture(&s);
        EXPECT(chorusx_getmem_on_stream(s.landed + BYTES * i, s.source, BYTES, gpu_next(),
                                        stream_of(&s)) == CHORUS_OK);
        EXPECT(chorusx_signal_op_on_stream(s.words, 1, CHORUS_SIGNAL_ADD, gpu_next(),
                                           stream_of(&s)) == CHORUS_OK);
        EXPECT(chorusx_quiet_on_stream(stream_of(&s)) == CHORUS_OK);
        execs[i] = end_capture(&s);
    }
    for (int round = 1; round <= ROUNDS; round++) {
        fill(&s, s.source, BYTES, 400 + round);
        gpu_fill(s.landed, POISON, LONGEST);
        gpu_meet();
        for (int i = 0; i < STREAMS; i++)
            EXPECT(cudaGraphLaunch(execs[i], streams[i]) == cudaSuccess);
        for (int i = 0; i < STREAMS; i++)
            EXPECT(chorusx_stream_synchronize((void *)streams[i]) == CHORUS_OK);
        for (int i = 0; i < STREAMS; i++)
            expect_from(&s, s.landed + BYTES * i, BYTES, gpu_next(), 400 + round);
        gpu_meet();
        EXPECT(word_of(s.words) == (uint64_t)(STREAMS * round));
        gpu_meet();
    }
    for (int i = 0; i < STREAMS; i++) {
        EXPECT(cudaGraphExecDestroy(execs[i]) == cudaSuccess);
        EXPECT(cudaStreamDestroy(streams[i]) == cudaSuccess);
    }
    close_scene(&s);
}

/* --- arguments ---------------------------------------------------------------------------- */
static void bad_arguments__are_refused_and_nothing_is_queued(void)
{
    struct scene s = open_scene();

    EXPECT(chorusx_putmem_on_stream(s.landed, s.source, 8, gpu_next(), stream_of(&s)) ==
           CHORUS_ERR_NOT_SYMMETRIC);
    EXPECT(strstr(chorusx_last_error(), "not in the symmetric heap") != NULL);
    EXPECT(chorusx_signal_op_on_stream((uint64_t *)(void *)(s.dest + 1), 1, CHORUS_SIGNAL_ADD,
                                       gpu_next(), stream_of(&s)) == CHORUS_ERR_ARG);
    EXPECT(strstr(chorusx_last_error(), "expected a multiple of 8") != NULL);
    EXPECT(chorusx_signal_op_on_stream(s.words, 1, 77, gpu_next(), stream_of(&s)) ==
           CHORUS_ERR_ARG);
    EXPECT(strstr(chorusx_last_error(), "sig_op is 77") != NULL);
    EXPECT(chorusx_putmem_on_stream(s.dest, s.source, 0, gpu_next(), stream_of(&s)) ==
           CHORUS_OK);
    synchronize(&s);
    gpu_meet();
    EXPECT(word_of(s.words) == 0);
    close_scene(&s);
}

/* clang-format off */
#define CASES(X)                                              \
    X(put__and_quiet__is_there_and_its_source_is_free)        \
    X(get__later_work_of_the_stream__has_the_data)            \
    X(put_signal__set_and_add__comes_behind_the_data)         \
    X(signal_op__all_pes_add__none_is_lost)                   \
    X(barrier__behind_puts_of_the_stream__completes_them)     \
    X(graph__replayed_with_fresh_data__is_right_each_time)    \
    X(graphs__at_the_same_time__each_gets_its_data)           \
    X(bad_arguments__are_refused_and_nothing_is_queued)
/* clang-format on */

int main(int argc, char **argv)
{
    static const struct gpu_case cases[] = {CASES(GPU_CASE)};
    const char *const n = getenv("CHORUS_N_PES");

    if (argc > 1 || n == NULL || strtol(n, NULL, 10) < 2) {
        (void)printf("skipped: no PEs of other hosts\n");
        return SKIPPED;
    }
    if (setenv("CHORUS_NODES", "2", 0) != 0) return EXIT_FAILURE;
    return gpu_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
