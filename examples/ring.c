/* SPDX-License-Identifier: Apache-2.0 */
/* ring.c: a number goes round all PEs, and each adds its own. */
#include <chorus/chorusx.h>
#include <stdio.h>

int main(void)
{
    if (chorus_init() != 0) {
        (void)fprintf(stderr, "%s\n", chorusx_last_error());
        return 1;
    }
    const int me = chorus_my_pe(), n = chorus_n_pes(), next = (me + 1) % n;
    long *sum = chorus_calloc(1, sizeof(*sum));
    uint64_t *arrived = chorus_calloc(1, sizeof(*arrived));
    if (sum == NULL || arrived == NULL) return 1;

    /* PE 0 begins; the others pass on what they get, with their number added. */
    if (me != 0) (void)chorus_signal_wait_until(arrived, CHORUS_CMP_EQ, 1);
    const long passed = *sum + me;
    chorus_long_put_signal(sum, &passed, 1, arrived, 1, CHORUS_SIGNAL_SET, next);
    if (me == 0) (void)chorus_signal_wait_until(arrived, CHORUS_CMP_EQ, 1);

    const int is_right = me != 0 || *sum == (long)n * (n - 1) / 2;
    if (me == 0)
        printf("ring of %d PEs: the sum is %ld, %s\n", n, *sum, is_right ? "right" : "wrong");
    chorus_finalize();
    return is_right ? 0 : 1;
}
