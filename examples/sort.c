/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sort.c: integer sort: each PE has random keys, sends each to the PE whose range it is in, and
 * sorts what it got.
 */
#include <chorus/chorusx.h>
#include <stdio.h>
#include <stdlib.h>

enum { KEYS = 10000, KEY_MAX = 1 << 20 };

static int compare(const void *a, const void *b)
{
    return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

/* The order of all, and none lost: keys grow from PE to PE, and their sum is as before. */
static int is_sorted(const int *keys, long count, long sum_before, int me)
{
    long *const sums = chorus_malloc(2 * sizeof(*sums));
    int *const ends = chorus_malloc(2 * sizeof(*ends)); /* the least and the largest key */
    int is_right = 1;

    if (sums == NULL || ends == NULL) return 0;
    sums[0] = sum_before;
    sums[1] = 0;
    for (long i = 0; i < count; i++) {
        sums[1] += keys[i];
        is_right = is_right && (i == 0 || keys[i - 1] <= keys[i]);
    }
    ends[0] = count > 0 ? keys[0] : KEY_MAX;
    ends[1] = count > 0 ? keys[count - 1] : -1;
    if (chorus_long_sum_reduce(CHORUS_TEAM_WORLD, sums, sums, 2) != 0) return 0;
    for (int pe = 0; pe < me; pe++)
        is_right = is_right && (count == 0 || chorus_int_g(&ends[1], pe) <= keys[0]);
    chorus_barrier_all();
    return is_right && sums[0] == sums[1];
}

int main(void)
{
    if (chorus_init() != 0) {
        (void)fprintf(stderr, "%s\n", chorusx_last_error());
        return 1;
    }
    const int me = chorus_my_pe(), n = chorus_n_pes();
    static int keys[KEYS];
    int *bucket = chorus_malloc((size_t)n * KEYS * sizeof(*bucket)); /* room for all keys */
    uint64_t *used = chorus_calloc(1, sizeof(*used));
    long sum = 0;
    if (bucket == NULL || used == NULL) return 1;

    srandom((unsigned)me + 1);
    for (int i = 0; i < KEYS; i++) {
        keys[i] = (int)(random() % KEY_MAX);
        sum += keys[i];
    }
    qsort(keys, KEYS, sizeof(*keys), compare);

    /* Keys of one PE are side by side now: reserve room there, then put them. */
    for (int pe = 0, first = 0; pe < n; pe++) {
        const long long end = (long long)(pe + 1) * KEY_MAX / n;
        int last = first;
        while (last < KEYS && keys[last] < end)
            last++;
        const size_t count = (size_t)(last - first);
        const uint64_t at = chorus_uint64_atomic_fetch_add(used, count, pe);
        chorus_int_put_nbi(bucket + at, keys + first, count, pe);
        first = last;
    }
    chorus_barrier_all();
    qsort(bucket, (size_t)*used, sizeof(*bucket), compare);

    const int is_right = is_sorted(bucket, (long)*used, sum, me);
    if (me == 0)
        printf("sort of %d keys on %d PEs: %s\n", n * KEYS, n, is_right ? "right" : "wrong");
    chorus_finalize();
    return is_right ? 0 : 1;
}
