/* SPDX-License-Identifier: Apache-2.0 */
/* What stands around the calls on data: levels of threads, memory, teams, caches of old, and
 * the waits whose names have no type. */
#include "expect.h"

#include <stdint.h>

static void threads_are_granted(void)
{
    int provided = -1;

    EXPECT(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) == 0);
    EXPECT(provided == SHMEM_THREAD_MULTIPLE);
    provided = -1;
    shmem_query_thread(&provided);
    EXPECT(provided == SHMEM_THREAD_MULTIPLE);
}

static void memory_is_symmetric(void)
{
    int *const words = (int *)shmem_malloc(4 * sizeof(int));
    int *const aligned = (int *)shmem_align(256, sizeof(int));
    int *const hinted = (int *)shmem_malloc_with_hints(
        sizeof(int), SHMEM_MALLOC_ATOMICS_REMOTE | SHMEM_MALLOC_SIGNAL_REMOTE);
    int *longer;

    EXPECT(words != NULL && aligned != NULL && hinted != NULL && (uintptr_t)aligned % 256 == 0);
    EXPECT(shmem_malloc(0) == NULL && shmem_malloc_with_hints(0, 64L) == NULL);
    shmem_free(shmem_malloc_with_hints(8, 64L)); /* which has no meaning */
    for (int i = 0; i < 4; i++)
        words[i] = 10 * me + i;
    longer = (int *)shmem_realloc(words, 4000 * sizeof(int));
    EXPECT(longer != NULL && longer[3] == 10 * me + 3);
    shmem_barrier_all();
    shmem_int_p(&longer[3999], me, next);
    shmem_int_p(aligned, me, next);
    shmem_int_p(hinted, me, next);
    shmem_barrier_all();
    EXPECT(longer[3999] == previous && *aligned == previous && *hinted == previous);
    EXPECT(shmem_pe_accessible(next) == 1 && shmem_pe_accessible(n) == 0);
    EXPECT(shmem_pe_accessible(-1) == 0 && shmem_addr_accessible(longer, next) == 1);
    shmem_free(longer);
    shmem_free(aligned);
    shmem_free(hinted);
}

/* Rows of two PEs, and columns. */
static void teams_have_places(void)
{
    shmem_team_config_t config = {3}, found = {0};
    shmem_team_t row = SHMEM_TEAM_INVALID, column = SHMEM_TEAM_INVALID;
    const int last_row = n % 2 == 1 && me == n - 1;

    EXPECT(shmem_team_n_pes(SHMEM_TEAM_WORLD) == n &&
           shmem_team_n_pes(SHMEM_TEAM_INVALID) == -1);
    EXPECT(shmem_team_split_2d(SHMEM_TEAM_WORLD, 2, &config, SHMEM_TEAM_NUM_CONTEXTS, &row,
                               NULL, 0, &column) == 0);
    EXPECT(shmem_team_n_pes(row) == (last_row ? 1 : 2 > n ? 1 : 2));
    EXPECT(shmem_team_my_pe(row) == me % 2 && shmem_team_my_pe(column) == me / 2);
    EXPECT(shmem_team_n_pes(column) == (n + 1 - me % 2) / 2);
    EXPECT(shmem_team_translate_pe(column, 0, SHMEM_TEAM_WORLD) == me % 2);
    EXPECT(shmem_team_translate_pe(SHMEM_TEAM_WORLD, me, row) == me % 2);
    EXPECT(shmem_team_translate_pe(row, 7, SHMEM_TEAM_WORLD) == -1);
    EXPECT(shmem_team_get_config(row, SHMEM_TEAM_NUM_CONTEXTS, &found) == 0);
    EXPECT(found.num_contexts == 3);
    EXPECT(shmem_team_get_config(SHMEM_TEAM_INVALID, SHMEM_TEAM_NUM_CONTEXTS, &found) != 0);
    shmem_team_destroy(row);
    shmem_team_destroy(column);
    shmem_team_destroy(SHMEM_TEAM_INVALID); /* the standard: nothing happens */
}

/* Data, a fence, then a word that waits of old see. */
static void waits_of_old_see_what_came(void)
{
    static long data, word;
    const long mine = 5 + me;

    data = word = 0;
    shmem_sync_all();
    shmem_long_put(&data, &mine, 1, next);
    shmem_fence();
    shmem_long_p(&word, 1, next);
    shmem_wait(&word, 0);
    EXPECT(data == 5 + previous);
    shmem_sync_all();
    shmem_long_p(&word, 2, next);
    (shmem_wait_until)(&word, SHMEM_CMP_GE, 2);
    EXPECT(word == 2);
}

/* Caches are coherent: these change nothing. */
static void caches_are_coherent(void)
{
    static int word;

    word = me;
    shmem_set_cache_inv();
    shmem_clear_cache_inv();
    shmem_set_cache_line_inv(&word);
    shmem_clear_cache_line_inv(&word);
    shmem_udcflush();
    shmem_udcflush_line(&word);
    EXPECT(word == me);
}

int main(void)
{
    threads_are_granted();
    find_neighbours();
    memory_is_symmetric();
    teams_have_places();
    waits_of_old_see_what_came();
    caches_are_coherent();
    shmem_finalize();
    return 0;
}
