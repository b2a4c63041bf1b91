/* SPDX-License-Identifier: Apache-2.0 */
/* host.h: a row as hosts make it: its calls, and the data before and after them. */
#ifndef CH_BENCH_DEVICE_HOST_H
#define CH_BENCH_DEVICE_HOST_H

#include "bench/device/rows.h"

#include "chorus/chorusx.h"

struct host_bench {
    int me, n;
    bool failed;
    chorus_stream_t stream; /* null: no --stream */
    float *dest, *source;   /* symmetric, of CH_ROW_AREA_BYTES */
    uint64_t *words;        /* symmetric, HOST_WORDS */
    float *here;            /* memory of the host, as long as dest */
};

/* Words: data, signal, what a call returned, and the source of put_signal. */
enum { DATA, SIGNAL, RETURNED, SOURCE, HOST_WORDS };

/* A row with its messages in a call. */
struct plan {
    enum ch_row row;
    size_t bytes;
    int window;
};

extern struct host_bench bench;

/* Make the call of a round, or synchronise the stream; return the code of what failed. */
int host_call(const struct plan *plan, int round);
int host_synchronize(void);

/* Write new data for a round, and poison what its call writes. */
void host_prepare(const struct plan *plan, int round);

/* Just before the call: what a barrier orders, a word that this PE stores on the next one. */
void host_store_before(const struct plan *plan, int round);

/* Elements and words of this PE that are not as expected after the call. */
uint64_t host_count_wrong(const struct plan *plan, int round);

#endif /* CH_BENCH_DEVICE_HOST_H */
