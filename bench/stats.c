/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/stats.h"

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

/* Bytes that nccl-tests divides by the time, divided by those of the message. */
static double messages(const struct ch_row *row)
{
    const bool is_per_pe =
        ch_work_is_from_each(row->work.coll) || ch_work_is_to_each(row->work.coll);

    return is_per_pe ? row->pes : 1.0;
}

/* Bus bandwidth divided by algorithm bandwidth: the share of the bytes that must be sent over a
 * PE's link. */
static double bus_share(const struct ch_row *row)
{
    const double n = row->pes;

    switch (row->work.coll) {
    case CH_SWEEP_barrier:
    case CH_SWEEP_sync:
        return 0.0;
    case CH_SWEEP_broadcast:
    case CH_SWEEP_reduce_to:
    case CH_SWEEP_inscan:
    case CH_SWEEP_exscan:
        return 1.0;
    case CH_SWEEP_reduce:
        return 2.0 * (n - 1.0) / n;
    default:
        return (n - 1.0) / n;
    }
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
