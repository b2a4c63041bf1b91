/* SPDX-License-Identifier: Apache-2.0 */
/*
 * p2p.h: one-sided calls between two PEs, timed: the measured operations and the options.
 *
 * PE 0 calls, and the last PE is the target; all others wait in a barrier. Every case is
 * measured in each round, so that a disturbance does not affect only one of them; a row has the
 * minimum, the median and the 99th percentile of all samples of all rounds.
 */
#ifndef CH_P2P_H
#define CH_P2P_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* clang-format off */
/* Name, what a sample is (1: one call and its completion; 0: a window of calls), text. */
#define CH_P2P_LIST(X)                                                                          \
    X(put, 1, "a put and a quiet, which is a round trip")                                       \
    X(put_signal, 1, "half the time of a put with signal and of one in return")                 \
    X(get, 1, "a get")                                                                          \
    X(fetch_add, 1, "an atomic that fetches, of 8 bytes")                                       \
    X(puts, 0, "puts without waiting, and a quiet")                                             \
    X(gets, 0, "gets without waiting, and a quiet")                                             \
    X(put_signals, 0, "puts with signals without waiting, and a quiet")                         \
    X(adds, 0, "atomics that fetch nothing, of 8 bytes, and a quiet")                           \
    X(copy, 1, "memcpy in place of the put, where all memory is mapped")                        \
    X(fetch_adds, 0, "atomics that fetch, of 8 bytes, one after another")                       \
    X(c11_adds, 0, "atomics of the CPU itself, where all memory is mapped")
/* clang-format on */

enum ch_p2p_op {
#define X(op, is_single, text) CH_P2P_##op,
    CH_P2P_LIST(X)
#undef X
        CH_P2P_COUNT
};

extern const char *const ch_p2p_names[CH_P2P_COUNT];
extern const bool ch_p2p_is_single[CH_P2P_COUNT];
bool ch_p2p_is_atomic(enum ch_p2p_op op); /* of one width */
bool ch_p2p_is_of_cpu(enum ch_p2p_op op); /* allowed only if the peer's memory is mapped */

enum { CH_P2P_WINDOW_MAX = 1024 };

struct ch_p2p_options {
    uint64_t bytes_min, bytes_max, factor;
    uint64_t iterations; /* samples of a case in all rounds */
    uint64_t rounds, warmup, window;
    uint32_t ops; /* a bit per enum ch_p2p_op */
    bool checks;
    const char *csv; /* null: none */
    enum { CH_P2P_RUN, CH_P2P_HELP, CH_P2P_VERSION } ask;
    char error[300]; /* why the command line is wrong */
};

/* As for chorus-sweep: false with a message in `error`; prints nothing. */
bool ch_p2p_options_read(int argc, char **argv, struct ch_p2p_options *out);
void ch_p2p_options_help(FILE *out, const char *program);

/* One operation with one size, and its results. */
struct ch_p2p_case {
    enum ch_p2p_op op;
    size_t bytes;
    uint64_t window; /* calls in a sample */
    double *us;      /* microseconds per call of the samples so far */
    size_t n;
    uint64_t wrong; /* wrong bytes in all checks */
};

/* Symmetric memory of the job; the same on all PEs. */
struct ch_p2p_job {
    const struct ch_p2p_options *options;
    int me, peer; /* the target PE */
    char *source, *dest;
    size_t area; /* bytes of each */
    uint64_t *signal, *counter, *wrong;
    uint64_t signals; /* wrong bytes of this round so far */
    uint64_t seed;
};

/* One round of a case with `samples` samples. Called on every PE. */
void ch_p2p_round(struct ch_p2p_job *job, struct ch_p2p_case *c, uint64_t samples, bool keeps);

#endif /* CH_P2P_H */
