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

/* The last word of the block, of those behind the object, contains its length. */
static void free__of_what_was_written_far_past_its_end__says_so(void)
{
    char *block = chorus_malloc(BYTES);
    size_t length = 0, at = BYTES / sizeof(length) * sizeof(length);

    while (length != BYTES) {
        at += sizeof(length);
        memcpy(&length, block + at, sizeof(length));
    }
    memset(block + at, 0xff, sizeof(length));
    chorus_free(block);
    EXPECT_REPORT(CHORUS_ERR_ARG, "so that its length is lost");
}

static void free__fills_what_was_there(void)
{
    char *block = chorus_malloc(BYTES);

    memset(block, 1, BYTES);
    chorus_free(block);
    EXPECT((unsigned char)block[0] == 0xdf && (unsigned char)block[BYTES - 1] == 0xdf);
}

/* A store to a freed object is found when any part of its block is allocated again; other parts
 * are examined later. */
static void store__to_what_was_freed__is_found(void)
{
    char *first = chorus_malloc(1000), *second = chorus_malloc(1000), *again, *kept = first;

    memset(first, 1, 1000);
    chorus_free(first);
    chorus_free(second);
    again = chorus_malloc(100); /* the begin of the first, which nobody wrote */
    EXPECT(again == kept);
    if (api_me() == 0) kept[500] = 1;
    again = chorus_realloc(again, 50); /* shorter, in place: reads no freed memory */
    first = chorus_malloc(900);
    if (api_me() == 0)
        EXPECT_REPORT(CHORUS_ERR_ARG, "chorus_malloc: the program wrote to the object at 0x");
    if (api_me() == 0)
        EXPECT(strstr(chorusx_last_error(), "which had 1000 bytes, after it was freed: the "
                                            "first such byte is number 500") != NULL);
    memset(first, 2, 900);
    chorus_free(first);
    chorus_free(again);
    first = chorus_calloc(1, 2000); /* across both, with nothing written */
    chorus_free(first);
}

/* The block that an object leaves, and the end that it loses. */
static void store__to_what_realloc_left__is_found(void)
{
    char *object = chorus_malloc(1000), *after = chorus_malloc(64), *old = object, *moved;

    moved = chorus_realloc(object, 3000);
    EXPECT(moved != old);
    if (api_me() == 0) old[200] = 1;
    object = chorus_malloc(1000);
    if (api_me() == 0)
        EXPECT_REPORT(CHORUS_ERR_ARG, "after it was freed: the first such byte is number 200");
    moved = chorus_realloc(moved, 1000);
    if (api_me() == 0) moved[2000] = 1;
    chorus_free(after);
    chorus_free(object);
    object = chorus_malloc(4000);
    chorus_free(object);
    object = chorus_malloc(1 << 16); /* all that is free before it */
    chorus_free(object);
    if (api_me() == 0)
        EXPECT_REPORT(CHORUS_ERR_ARG, "after it was freed: the first such byte is number 2000");
    chorus_free(moved);
}

static void realloc__moves_the_end(void)
{
    char *block = chorus_malloc(BYTES);

    memset(block, 1, BYTES);
    block = chorus_realloc(block, 3 * BYTES);
    EXPECT(block[0] == 1 && block[BYTES - 1] == 1);
    memset(block, 2, 3 * (size_t)BYTES);
    block[3 * BYTES] = 1; /* behind its end */
    block = chorus_realloc(block, 2 * BYTES);
    EXPECT_REPORT(CHORUS_ERR_ARG, "the program wrote beyond the end of the object");
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

/* An alltoall of one int to each PE, on a stream; PE 0 writes the last of its source while the
 * other PEs have not begun the call. */
static void source__written_during_a_call__is_reported(void)
{
    int *dest = chorus_calloc(API_PES_MAX, sizeof(int));
    int *source = chorus_calloc(API_PES_MAX, sizeof(int));
    int *turn = chorus_calloc(1, sizeof(int));
    chorus_stream_t stream;

    EXPECT(chorusx_stream_create(&stream) == CHORUS_OK);
    if (api_me() != 0) chorus_int_wait_until(turn, CHORUS_CMP_EQ, 1);
    EXPECT(chorusx_int_alltoall_on_stream(CHORUS_TEAM_WORLD, dest, source, 1, stream) ==
           CHORUS_OK);
    if (api_me() == 0) source[api_n() - 1]++;
    for (int pe = 1; pe < api_n() && api_me() == 0; pe++)
        chorus_int_p(turn, 1, pe);
    if (api_me() == 0)
        EXPECT_FAILS(chorusx_stream_synchronize(stream), CHORUS_ERR_ARG,
                     "was written while the call ran; dest may be wrong");
    else
        EXPECT(chorusx_stream_synchronize(stream) == CHORUS_OK);
    EXPECT(chorusx_stream_destroy(stream) == CHORUS_OK);
    EXPECT(chorus_int_alltoall(CHORUS_TEAM_WORLD, dest, source, 1) == CHORUS_OK);
    chorus_free(turn);
    chorus_free(source);
    chorus_free(dest);
}

/* Other PEs than the root may write their source of a broadcast; it is not read. And one call
 * may write the source of the next. */
static void source__written_in_order__is_no_fault(void)
{
    int *words = chorus_calloc(3, sizeof(int));
    chorus_stream_t stream;

    EXPECT(chorusx_stream_create(&stream) == CHORUS_OK);
    for (int i = 0; i < 20; i++) {
        words[0] = i;
        EXPECT(chorusx_int_max_reduce_on_stream(CHORUS_TEAM_WORLD, &words[1], &words[0], 1,
                                                stream) == CHORUS_OK);
        EXPECT(chorusx_int_max_reduce_on_stream(CHORUS_TEAM_WORLD, &words[2], &words[1], 1,
                                                stream) == CHORUS_OK);
        EXPECT(chorusx_stream_synchronize(stream) == CHORUS_OK);
        EXPECT(words[2] == i);
        EXPECT(chorusx_int_broadcast_on_stream(CHORUS_TEAM_WORLD, &words[1], &words[0], 1, 0,
                                               stream) == CHORUS_OK);
        if (api_me() != 0) words[0] = -1;
        EXPECT(chorusx_stream_synchronize(stream) == CHORUS_OK);
        EXPECT(words[1] == i);
    }
    EXPECT(chorusx_stream_destroy(stream) == CHORUS_OK);
    chorus_free(words);
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

static int *source; /* of this PE's call */

/* Adds, and writes to the source, which a call may only read. */
static void add_and_write(void *acc, const void *in, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ((int *)acc)[i] += ((const int *)in)[i];
    source[0] = -1;
}

static void call__whose_source_is_written_meanwhile__fails(void)
{
    int *const dest = chorus_calloc(2, sizeof(*dest));
    chorusx_call call = {.coll = CHORUS_COLL_reduce,
                         .type = CHORUS_TYPE_i32,
                         .team = CHORUS_TEAM_WORLD,
                         .dest = dest,
                         .count = 1,
                         .combine = add_and_write};

    source = dest + 1;
    call.source = source;
    if (api_n() > 1)
        EXPECT_FAILS(chorusx_collective(&call, NULL), CHORUS_ERR_ARG,
                     "was written while the call ran; dest may be wrong");
    chorus_barrier_all();
    chorus_free(dest);
}

#define TESTS(X)                                           \
    X(free__of_what_was_written_past_its_end__says_where)  \
    X(free__of_what_was_written_far_past_its_end__says_so) \
    X(free__fills_what_was_there)                          \
    X(store__to_what_was_freed__is_found)                  \
    X(store__to_what_realloc_left__is_found)               \
    X(realloc__moves_the_end)                              \
    X(put__to_what_was_freed__is_refused)                  \
    X(source__written_during_a_call__is_reported)          \
    X(source__written_in_order__is_no_fault)               \
    X(call__whose_source_is_written_meanwhile__fails)      \
    X(call__of_another_thread__is_refused)
API_MAIN(TESTS)
