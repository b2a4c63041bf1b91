/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch.h: calls that are timed together, and their data before and after.
 *
 * If objects are on a GPU, sources are filled and destinations checked in a staging buffer in
 * host memory, and copied. Other libraries run the same batches on GPUs, in buffers of their
 * own.
 */
#ifndef CH_BATCH_H
#define CH_BATCH_H

#include "bench/backend.h"
#include "bench/gpu.h"

/* The library that makes the calls: the one under test, or a peer of it. */
struct ch_entrant {
    int (*call)(const struct ch_work *work, void *dest, const void *source, uint32_t root);
    void *source, *dest;
    bool is_peer;
    struct ch_bench_gpu_graph *graph; /* of the batch, once it is captured; owned */
    double *us;                       /* time of each iteration */
    uint64_t wrong;                   /* on this PE */
};

/* State of one row. Calls are numbered over all of its iterations, and determine the data. */
struct ch_batch {
    const struct ch_backend *backend;
    const struct ch_sweep_options *options;
    const struct ch_work *work;
    void *stage; /* null: the host fills and checks in place */
    size_t slot_bytes;
    uint32_t slots; /* call k of a batch uses slot k % slots */
    uint64_t calls; /* calls of earlier batches */
    bool checks, replays;
};

/* Fill the sources of all entrants with the same data for the next `calls` calls. */
void ch_batch_fill(const struct ch_batch *batch, const struct ch_entrant *entrants, size_t n,
                   uint32_t calls);
/* Overwrite the destinations of the calls. */
void ch_batch_poison(const struct ch_batch *batch, const struct ch_entrant *entrant,
                     uint32_t calls);
/* Make the calls; *us is this PE's time for all of them in microseconds. Returns 0, or the code
 * of a call. */
int ch_batch_time(const struct ch_batch *batch, struct ch_entrant *entrant, uint32_t calls,
                  double *us_out);
/* Count wrong elements after them. */
void ch_batch_check(const struct ch_batch *batch, struct ch_entrant *entrant, uint32_t calls);

#endif /* CH_BATCH_H */
