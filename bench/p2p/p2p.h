/* SPDX-License-Identifier: Apache-2.0 */
/*
 * p2p.h: one-sided calls between two PEs, timed: what is measured, and how the user says so.
 *
 * PE 0 calls, and the last PE is called; all others wait in a barrier. Every case has its turn
 * in each round, so that a disturbance does not hit one of them alone; a row gives the least,
 * the median and the 99th percentile of all samples of all rounds.
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
    X(put_signal, 1, "half of a put with signal there and one back")                            \
    X(get, 1, "a get")                                                                          \
    X(fetch_add, 1, "an atomic that fetches, of 8 bytes")                                       \
    X(puts, 0, "puts without waiting, and a quiet")                                             \
    X(gets, 0, "gets without waiting, and a quiet")                                             \
    X(put_signals, 0, "puts with signals without waiting, and a quiet")                         \
    X(adds, 0, "atomics that fetch nothing, of 8 bytes, and a quiet")                           \
    X(copy, 1, "memcpy in place of the put, where all memory is mapped")                        \
    X(fetch_adds, 0, "atomics that fetch, of 8 bytes, one after another")                       \
    X(c11_adds, 0, "the CPU's own in place of these, where all memory is mapped")
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
bool ch_p2p_is_of_cpu(enum ch_p2p_op op); /* what the peer's memory being mapped allows */

enum { CH_P2P_WINDOW_MAX = 1024 };

struct ch_p2p_options {
    uint64_t bytes_min, bytes_max, factor;
    uint64_t iterations; /* samples of a case, of all rounds */
    uint64_t rounds, warmup, window;
    uint32_t ops; /* a bit per enum ch_p2p_op */
    bool checks;
    const char *csv; /* null: none */
    enum { CH_P2P_RUN, CH_P2P_HELP, CH_P2P_VERSION } ask;
    char error[300]; /* why the command line is refused */
};

/* As chorus-sweep's: false with a message in `error`; prints nothing. */
bool ch_p2p_options_read(int argc, char **argv, struct ch_p2p_options *out);
void ch_p2p_options_help(FILE *out, const char *program);

/* One operation with one size, and what was seen of it. */
struct ch_p2p_case {
    enum ch_p2p_op op;
    size_t bytes;
    uint64_t window; /* calls in a sample */
    double *us;      /* of the samples so far, per call */
    size_t n;
    uint64_t wrong; /* bytes, of all checks */
};

/* Symmetric memory of the job; the same on all PEs. */
struct ch_p2p_job {
    const struct ch_p2p_options *options;
    int me, peer; /* the one that is called */
    char *source, *dest;
    size_t area; /* bytes of each */
    uint64_t *signal, *counter, *wrong;
    uint64_t signals; /* of this turn, so far */
    uint64_t seed;
};

/* A round of a case: `samples` of them. On every PE. */
void ch_p2p_round(struct ch_p2p_job *job, struct ch_p2p_case *c, uint64_t samples, bool keeps);

#endif /* CH_P2P_H */
