/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/stats.h"

#include "base/collective.h"

#include <stdlib.h>

static int order(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

void ch_stats_sort(double *values, size_t n)
{
    qsort(values, n, sizeof(values[0]), order);
}

double ch_stats_percentile(const double *sorted, size_t n, unsigned percent)
{
    const size_t rank = (n * percent + 99) / 100;

    return sorted[rank > 0 ? rank - 1 : 0];
}

static bool has_blocks(const struct ch_row *row)
{
    return ch_work_is_from_each(row->work.coll) || ch_work_is_to_each(row->work.coll);
}

/* Bytes that nccl-tests divides by the time, divided by those of the message. */
static double messages(const struct ch_row *row)
{
    const bool splits = ch_coll_splits_result((chorus_coll)row->work.coll);

    return has_blocks(row) && !splits ? row->pes : 1.0;
}

/* Bus bandwidth divided by algorithm bandwidth: the share of the bytes that must be sent over a
 * PE's link. */
static double bus_share(const struct ch_row *row)
{
    const double n = row->pes;

    if (!ch_work_moves(&row->work)) return 0.0;
    if (has_blocks(row)) return (n - 1.0) / n;
    return row->work.coll == CH_SWEEP_reduce ? 2.0 * (n - 1.0) / n : 1.0;
}

void ch_stats_fill(struct ch_row *row, double *us, size_t n)
{
    const double bytes_per_us_of_GBps = 1e3;

    ch_stats_sort(us, n);
    row->us_min = us[0];
    row->us_p50 = ch_stats_percentile(us, n, 50);
    row->us_p99 = ch_stats_percentile(us, n, 99);
    row->algbw = row->us_p50 > 0.0
                     ? (double)row->bytes * messages(row) / row->us_p50 / bytes_per_us_of_GBps
                     : 0.0;
    row->busbw = row->algbw * bus_share(row);
}
