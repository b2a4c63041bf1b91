/* SPDX-License-Identifier: Apache-2.0 */
/*
 * litmus.h: small races between two GPUs, over the primitives that all kernels are made of.
 *
 * A PE writes to the one after it and reads from the one before. It does so on many channels at
 * once, a block each, in rounds: the writer waits until the reader is done with the round
 * before. What a reader must never find is counted.
 */
#ifndef LITMUS_H
#define LITMUS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* name, what must not be found */
/* clang-format off */
#define LITMUS_LIST(X)                                                                   \
    X(message, "message passing: a word is seen, data before it is not")                 \
    X(board, "board: the same, all in the writer's memory, cached as it was")            \
    X(source, "source: the same, the data in the writer's memory, cached as it was")     \
    X(kernels, "across kernels: a word is seen, data of the kernel before it is not")    \
    X(early, "kernels launched early: the same, of data put to a peer or fetched from it")   \
    X(packet, "packet: the flag of one round, data of another")                          \
    X(packet_pulled, "packet in the writer's memory: the same")                          \
    X(line, "line: the flag of one round, data of another")                              \
    X(line_pulled, "line in the writer's memory: the same")                              \
    X(reuse, "reuse: data of a round after the one that is read")                        \
    X(reuse_pulled, "reuse of the writer's memory: the same")
/* clang-format on */

enum litmus {
#define X(name, text) LITMUS_##name,
    LITMUS_LIST(X)
#undef X
        LITMUS_COUNT
};

enum {
    LITMUS_CHANNELS = 64,
    LITMUS_LANES = 64,        /* of a channel */
    LITMUS_WORD_BYTES = 64,   /* apart */
    LITMUS_CELL_BYTES = 1024, /* a channel's: 64 packets, 8 lines, or 64 pieces of 16 bytes */
    LITMUS_TEAR_NS = 3000,    /* longer than a load from a peer */
    LITMUS_AREA_BYTES = LITMUS_CHANNELS * (2 * LITMUS_WORD_BYTES + LITMUS_CELL_BYTES)
};

struct litmus_found {
    unsigned long long trials, forbidden;
    unsigned lost;  /* waits that ended without what they waited for */
    uint32_t never; /* stays 0: nobody aborts */
};

/* Areas are symmetric memory, LITMUS_AREA_BYTES and zero at first: cells, words, credits. */
struct litmus_run {
    char *before, *mine, *after; /* the area of the PE before, this one, the PE after */
    uint64_t first, rounds;      /* rounds [first, first + rounds), each only once, from 1 */
    int is_weak;                 /* without the release, or the discipline of the flag */
    struct litmus_found *found;  /* in device memory; added to */
};

/* Put it on a cudaStream_t; gives a cudaError_t. All PEs do this at once. */
int litmus_launch(enum litmus test, const struct litmus_run *run, void *stream);

#ifdef __cplusplus
}
#endif

#endif /* LITMUS_H */
