/* SPDX-License-Identifier: Apache-2.0 */
/*
 * teams.c: PEs as a grid of two columns. Each PE has a number; a reduce on the team of its row
 * and one on the team of its column add them up.
 */
#include <chorus/chorusx.h>
#include <stdio.h>

enum { COLUMNS = 2 };

int main(void)
{
    chorus_team_t row, column;
    int *mine, *sums;

    if (chorus_init() != 0) {
        (void)fprintf(stderr, "%s\n", chorusx_last_error());
        return 1;
    }
    mine = chorus_calloc(1, sizeof(int));
    sums = chorus_calloc(2, sizeof(int));
    if (mine == NULL || sums == NULL) return 1;
    /* All PEs of the parent call; each gets the row and the column that it is in. */
    if (chorus_team_split_2d(CHORUS_TEAM_WORLD, COLUMNS, NULL, 0, &row, NULL, 0, &column) != 0)
        return 1;
    *mine = chorus_my_pe() + 1;
    if (chorus_int_sum_reduce(row, &sums[0], mine, 1) != 0) return 1;
    if (chorus_int_sum_reduce(column, &sums[1], mine, 1) != 0) return 1;
    printf("PE %d is %d of its row, where the sum is %d; of its column it is %d\n",
           chorus_my_pe(), chorus_team_my_pe(row), sums[0], sums[1]);
    chorus_team_destroy(column);
    chorus_team_destroy(row);
    chorus_free(sums);
    chorus_free(mine);
    chorus_finalize();
    return 0;
}
