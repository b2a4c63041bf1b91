/* SPDX-License-Identifier: Apache-2.0 */
/* histogram.c: PEs count values in bins that are spread over all PEs, by atomics. */
#include <chorus/chorusx.h>
#include <stdio.h>
#include <stdlib.h>

enum { BINS = 64, VALUES = 20000 }; /* bins of a PE */

int main(void)
{
    if (chorus_init() != 0) {
        (void)fprintf(stderr, "%s\n", chorusx_last_error());
        return 1;
    }
    const int me = chorus_my_pe(), n = chorus_n_pes();
    long *bins = chorus_calloc(BINS, sizeof(*bins));
    long *sums = chorus_calloc(2, sizeof(*sums)), mine = 0; /* values, and their total */
    if (bins == NULL || sums == NULL) return 1;

    srandom((unsigned)me + 1);
    for (int i = 0; i < VALUES; i++) {
        const int value = (int)(random() % (n * BINS));

        chorus_long_atomic_inc(&bins[value % BINS], value / BINS);
        mine += value;
    }
    chorus_barrier_all();

    for (int bin = 0; bin < BINS; bin++) {
        sums[0] += bins[bin];
        sums[1] += bins[bin] * (me * BINS + bin);
    }
    sums[1] -= mine; /* what is left over on one PE is missing on another */
    if (chorus_long_sum_reduce(CHORUS_TEAM_WORLD, sums, sums, 2) != 0) return 1;
    const int is_right = sums[0] == (long)n * VALUES && sums[1] == 0;
    if (me == 0)
        printf("histogram of %ld values on %d PEs: %s\n", sums[0], n,
               is_right ? "right" : "wrong");
    chorus_finalize();
    return is_right ? 0 : 1;
}
