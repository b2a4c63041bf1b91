/* SPDX-License-Identifier: Apache-2.0 */
#include <chorus/chorusx.h>
#include <stdio.h>

int main(void)
{
    if (chorus_init() != 0) {
        (void)fprintf(stderr, "%s\n", chorusx_last_error());
        return 1;
    }
    int *mine = chorus_malloc(sizeof(int)), *sum = chorus_malloc(sizeof(int));
    if (mine == NULL || sum == NULL) return 1;
    *mine = chorus_my_pe() + 1;
    if (chorus_int_sum_reduce(CHORUS_TEAM_WORLD, sum, mine, 1) != 0) return 1;
    printf("PE %d of %d: the sum is %d\n", chorus_my_pe(), chorus_n_pes(), *sum);
    chorus_free(sum);
    chorus_free(mine);
    chorus_finalize();
    return 0;
}
