/* SPDX-License-Identifier: Apache-2.0 */
/*
 * measure.h: how a row is timed.
 *
 * An iteration is timed on its own: new data, a sync so that PEs start together, then a batch
 * of calls one after another between two readings of the clock. Its time is the slowest PE's,
 * divided by the calls. A batch is one call, unless that is too short for the clock: then so
 * many that it takes CH_BATCH_US or more, the same number on all PEs, each call with buffers of
 * its own. Filling, poisoning and checking are outside of the two readings.
 */
#ifndef CH_MEASURE_H
#define CH_MEASURE_H

#include "bench/backend.h"

#define CH_BATCH_US 20.0
#define CH_BATCH_MAX 512u

/* Where calls work: two areas of the same size, for sources and for destinations. */
struct ch_areas {
    void *source, *dest;
    size_t bytes; /* of each */
};

/* Bytes of each area that the work needs for one call. */
size_t ch_measure_bytes(const struct ch_work *work, uint32_t pes);

/*
 * Measure one row; `us` is room for options->iterations numbers. Collective; all PEs get the
 * same row. 0, or the code of the backend's call.
 */
int ch_measure(const struct ch_backend *backend, const struct ch_sweep_options *options,
               const struct ch_areas *areas, const struct ch_work *work, double *us,
               struct ch_row *row_out);

#endif /* CH_MEASURE_H */
