/* SPDX-License-Identifier: Apache-2.0 */
/* CHORUS_CHECK=2: memory that is written past its end, used after it was freed, and threads. As
 * processes: what is in the heap is not asked where PEs are threads. */
#include "api_pes.h"

#include <pthread.h>
#include <string.h>

enum { BYTES = 100 };

static void free__of_what_was_written_past_its_end__says_where(void)
{
    char *block = chorus_malloc(BYTES);

    memset(block, 1, BYTES); /* all of it may be */
    if (api_me() == 0) block[BYTES + 3] = 1;
    chorus_free(block);
    if (api_me() == 0)
        EXPECT_REPORT(CHORUS_ERR_ARG, "which has 100 bytes: the first such byte is number 103");
}

static void free__fills_what_was_there(void)
{
    char *block = chorus_malloc(BYTES);

    memset(block, 1, BYTES);
    chorus_free(block);
    EXPECT((unsigned char)block[0] == 0xdf && (unsigned char)block[BYTES - 1] == 0xdf);
}

static void realloc__moves_the_end(void)
{
    char *block = chorus_malloc(BYTES);

    memset(block, 1, BYTES);
    block = chorus_realloc(block, 3 * BYTES);
    EXPECT(block[0] == 1 && block[BYTES - 1] == 1);
    memset(block, 2, 3 * (size_t)BYTES);
    chorus_free(block);
}

static void put__to_what_was_freed__is_refused(void)
{
    int *gone = chorus_malloc(sizeof(int)), *here = chorus_calloc(1, sizeof(int));

    chorus_free(gone);
    chorus_int_p(gone, 1, api_next());
    EXPECT_REPORT(CHORUS_ERR_ARG, "which is in no object of the symmetric heap; was it freed?");
    chorus_int_p(here + 1, 1, api_next());
    EXPECT_REPORT(CHORUS_ERR_ARG, "end past the object");
    EXPECT(chorus_int_sum_reduce(CHORUS_TEAM_WORLD, gone, here, 1) == CHORUS_ERR_ARG ||
           api_n() == 1);
    chorus_barrier_all();
    chorus_free(here);
}

static void *sync_there(void *status_out)
{
    *(int *)status_out = chorus_team_sync(CHORUS_TEAM_WORLD);
    return NULL;
}

static void call__of_another_thread__is_refused(void)
{
    pthread_t thread;
    int status = CHORUS_OK;

    EXPECT(pthread_create(&thread, NULL, sync_there, &status) == 0);
    EXPECT(pthread_join(thread, NULL) == 0);
    EXPECT(status == CHORUS_ERR_ARG || api_n() == 1);
}

#define TESTS(X)                                          \
    X(free__of_what_was_written_past_its_end__says_where) \
    X(free__fills_what_was_there)                         \
    X(realloc__moves_the_end)                             \
    X(put__to_what_was_freed__is_refused)                 \
    X(call__of_another_thread__is_refused)
API_MAIN(TESTS)
