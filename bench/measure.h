/* SPDX-License-Identifier: Apache-2.0 */
/*
 * measure.h: how a row is timed.
 *
 * Each iteration is timed separately: new data, a sync so that all PEs start together, then a
 * batch of calls one after another between two readings of the clock. Its time is that of the
 * slowest PE, divided by the number of calls. A batch is one call, unless that is too short
 * for the clock: then it has so many calls that it takes CH_BATCH_US or more, the same number
 * on all PEs, each call with its own buffers. Filling, poisoning and checking are not timed.
 *
 * On a stream of a GPU, and in a graph, a batch has a fixed number of calls, all with the same
 * buffers, and events of the GPU measure its time; batches of other libraries alternate with
 * those of Chorus. Data is new for each iteration up to CH_FRESH_BYTES, and for each row
 * above; the host fills and checks it.
 */
#ifndef CH_MEASURE_H
#define CH_MEASURE_H

#include "bench/backend.h"

#define CH_BATCH_US 20.0
#define CH_BATCH_MAX 512u

/* On a GPU's stream: number of calls of a batch for messages up to this size, and above it. */
#define CH_GPU_SMALL_BYTES ((size_t)4 << 20)
#define CH_GPU_BATCH_SMALL 20u
#define CH_GPU_BATCH_LARGE 5u
#define CH_FRESH_BYTES ((size_t)1 << 20)

/* The buffers of calls: areas of the same size, for sources and for destinations. */
struct ch_areas {
    void *source, *dest;
    size_t bytes; /* bytes of each */
    void *stage;  /* buffer of the host, to fill and check; null: not needed */
    struct {
        void *source, *dest;
    } peers[CH_PEER_COUNT];
};

/* Bytes of each area that the work needs for one call. */
size_t ch_measure_bytes(const struct ch_work *work, uint32_t pes);

/*
 * Measure one row; `us` has room for options->iterations numbers, for Chorus and each loaded
 * peer. Collective; all PEs get the same row. Returns 0, or the code of the backend's call.
 */
int ch_measure(const struct ch_backend *backend, const struct ch_sweep_options *options,
               const struct ch_areas *areas, const struct ch_work *work, double *us,
               struct ch_row *row_out);

#endif /* CH_MEASURE_H */
