/* SPDX-License-Identifier: Apache-2.0 */
/* stats.h: statistics of the times of a row. */
#ifndef CH_STATS_H
#define CH_STATS_H

#include "bench/sweep.h"

/* Sort ascending, in place. */
void ch_stats_sort(double *values, size_t n);

/* The smallest of n >= 1 sorted values that is at least as large as `percent` of them. */
double ch_stats_percentile(const double *sorted, size_t n, unsigned percent);

/* Fill in the times and bandwidths of a row, whose work, pes and bytes are set, from the
 * slowest PE's microseconds per call in each of n >= 1 iterations; sorts them. */
void ch_stats_fill(struct ch_row *row, double *us, size_t n);

#endif /* CH_STATS_H */
