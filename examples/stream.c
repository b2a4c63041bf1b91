/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.c: collectives on a stream run one after another, while this thread computes. The same
 * program works on GPUs with CHORUS_HEAP=cuda and streams of CUDA, and such calls can be
 * captured into a CUDA graph; only the lines that fill and read memory then need copies.
 */
#include <chorus/chorusx.h>
#include <stdio.h>

enum { COUNT = 1000, ROUNDS = 10 };

static long compute(void)
{
    long sum = 0;

    for (long i = 0; i < 1000000; i++)
        sum += i % 7;
    return sum;
}

int main(void)
{
    chorus_stream_t stream;
    float *values, *sums;
    long other;

    if (chorus_init() != 0) {
        (void)fprintf(stderr, "%s\n", chorusx_last_error());
        return 1;
    }
    values = chorus_calloc(COUNT, sizeof(float));
    sums = chorus_calloc(COUNT, sizeof(float));
    if (values == NULL || sums == NULL || chorusx_stream_create(&stream) != 0) return 1;
    for (int i = 0; i < COUNT; i++)
        values[i] = (float)(i % 10);
    /* Each call takes what the one before made. */
    for (int round = 0; round < ROUNDS; round++) {
        if (chorusx_float_max_reduce_on_stream(CHORUS_TEAM_WORLD, sums, values, COUNT,
                                               stream) != 0)
            return 1;
        if (chorusx_float_broadcast_on_stream(CHORUS_TEAM_WORLD, values, sums, COUNT, 0,
                                              stream) != 0)
            return 1;
    }
    other = compute();
    /* A failure on the stream is returned here. */
    if (chorusx_stream_synchronize(stream) != 0) {
        (void)fprintf(stderr, "%s\n", chorusx_last_error());
        return 1;
    }
    printf("PE %d: %s, %ld besides\n", chorus_my_pe(), values[9] == 9 ? "right" : "WRONG",
           other);
    if (chorusx_stream_destroy(stream) != 0) return 1;
    chorus_free(sums);
    chorus_free(values);
    chorus_finalize();
    return 0;
}
