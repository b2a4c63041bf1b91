/* SPDX-License-Identifier: Apache-2.0 */
/*
 * late_pes: a PE that comes late to a call makes that call late, and none after it. Each round
 * one PE, chosen at random, sleeps 10 ms before a call; the calls that follow it are timed, and
 * their median is held against the median of calls in rounds where nobody was late. Run it
 * under chorusrun. The bound is wide, since other work may have the cores; PEs that put each
 * other to sleep take a thousand times as long.
 *
 *     late_pes [ROUNDS [CALLS [-v]]]
 */
#include <chorus/chorusx.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 20, CALLS = 50, MOST_TIMES = 20, ELEMENTS = 16 };
#define SLACK_US 200.0

static double now_us(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof(*values), compare);
    return values[n / 2];
}

static int call(float *sum, float *mine, int i)
{
    for (int e = 0; e < ELEMENTS; e++)
        mine[e] = (float)(i % 1000 + chorus_my_pe());
    return i % 2 == 0 ? chorus_team_sync(CHORUS_TEAM_WORLD)
                      : chorus_float_sum_reduce(CHORUS_TEAM_WORLD, sum, mine, ELEMENTS);
}

/* A call that late_pe (-1: nobody) is late for, then the times of the calls that follow. */
static int run_round(float *sum, float *mine, int late_pe, double *us)
{
    const struct timespec late = {0, 10000000};

    if (chorus_my_pe() == late_pe) (void)nanosleep(&late, NULL);
    if (call(sum, mine, 1) != 0) return 1;
    for (int i = 0; i < CALLS; i++) {
        const double begin = now_us();

        if (call(sum, mine, i) != 0) return 1;
        us[i] = now_us() - begin;
    }
    return 0;
}

static int run(void)
{
    static double on_time[ROUNDS * CALLS], after_late[ROUNDS * CALLS];
    float *sum = chorus_calloc(ELEMENTS, sizeof(*sum));
    float *mine = chorus_calloc(ELEMENTS, sizeof(*mine));
    double usual, after;

    if (sum == NULL || mine == NULL) return 1;
    srand(1); /* the same PEs on all */
    for (int r = 0; r < ROUNDS; r++)
        if (run_round(sum, mine, -1, &on_time[r * CALLS]) != 0 ||
            run_round(sum, mine, rand() % chorus_n_pes(), &after_late[r * CALLS]) != 0)
            return 1;
    usual = median(on_time, ROUNDS * CALLS);
    after = median(after_late, ROUNDS * CALLS);
    printf("PE %d of %d: %.2f us a call, %.2f after a late PE\n", chorus_my_pe(),
           chorus_n_pes(), usual, after);
    return after > MOST_TIMES * usual + SLACK_US;
}

int main(void)
{
    int failed;

    if (chorus_init() != 0) {
        (void)fprintf(stderr, "%s\n", chorusx_last_error());
        return 1;
    }
    failed = run();
    chorus_finalize();
    return failed;
}
