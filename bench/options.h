/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.h: the command line of a sweep. Options with one letter have the same meaning as in
 * nccl-tests.
 */
#ifndef CH_SWEEP_OPTIONS_H
#define CH_SWEEP_OPTIONS_H

#include "bench/sweep.h"

#include <stdio.h>

/* How calls are made and timed: one after another by the clock; on a stream; captured into a
 * CUDA graph that is launched. */
enum ch_sweep_mode { CH_SWEEP_BLOCKING, CH_SWEEP_STREAM, CH_SWEEP_GRAPH };

/* Largest number of values of --ctas. */
#define CH_SWEEP_CTAS_MAX 16u

struct ch_sweep_options {
    uint64_t bytes_min, bytes_max;
    uint64_t factor,
        step; /* one of them is 0: factor between successive sizes, or difference of them */
    uint32_t iterations, warmup;
    bool checks;
    uint32_t types, ops, colls;  /* a bit per value of the enum */
    int root;                    /* -1: each PE in turn */
    const char *algos;           /* list of "auto", "all", "name" or "name:proto" */
    int ctas[CH_SWEEP_CTAS_MAX]; /* of forced algorithms, in turn; 0: the default */
    uint32_t n_ctas;             /* 1 or more */
    int radix;                   /* 0: the default */
    int stride;                  /* stride of the team in the world; 0: the world */
    enum ch_sweep_mode mode;
    struct {
        bool is_wanted;
        char path[256]; /* path of the library; "": the system finds it by its name */
    } vs[CH_PEER_COUNT];
    const char *csv, *json, *plot; /* file names; null: none */
    const char *diff[2];           /* files to compare instead of a sweep; null: none */
    enum { CH_SWEEP_RUN, CH_SWEEP_HELP, CH_SWEEP_VERSION } ask;
    char error[900]; /* why the command line is wrong */
};

/* Read the command line; false with a message in `error`. Prints nothing, since all PEs read
 * the same arguments and only one must report an error. Keeps pointers into argv. */
bool ch_sweep_options_read(int argc, char **argv, struct ch_sweep_options *options_out);

/* The text of --help. */
void ch_sweep_options_help(FILE *out, const char *program);

#endif /* CH_SWEEP_OPTIONS_H */
