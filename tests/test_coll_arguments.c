/* SPDX-License-Identifier: Apache-2.0 */
/* What a collective refuses, and that the team works on afterwards. */
#include "api_pes.h"

#include <string.h>

static void arguments__outside_their_range__are_named(void)
{
    int *dest = chorus_calloc(64, sizeof(int)), *source = chorus_calloc(64, sizeof(int));
    int mine[64] = {0};

    EXPECT_FAILS(chorus_int_broadcast(CHORUS_TEAM_WORLD, dest, source, 1, -1), CHORUS_ERR_ARG,
                 "chorus_int_broadcast: root is -1; expected a PE of the team, 0 to");
    EXPECT_FAILS(chorus_int_broadcast(CHORUS_TEAM_WORLD, dest, source, 1, api_n()),
                 CHORUS_ERR_ARG, "chorus_int_broadcast: root is");
    EXPECT_FAILS(chorus_int_fcollect(CHORUS_TEAM_WORLD, dest, source, SIZE_MAX / 2),
                 CHORUS_ERR_ARG, "exceed the address space");
    EXPECT_FAILS(chorus_int_sum_reduce(CHORUS_TEAM_WORLD, NULL, source, 4), CHORUS_ERR_ARG,
                 "chorus_int_sum_reduce: dest is null; expected 16 bytes");
    EXPECT(chorus_int_collect(CHORUS_TEAM_WORLD, mine, source, 1) == CHORUS_OK);
    EXPECT(chorus_int_sum_reduce(CHORUS_TEAM_WORLD, mine, source, 4) == CHORUS_OK);
    EXPECT_FAILS(
        chorus_int_sum_reduce(CHORUS_TEAM_WORLD, (int *)(void *)((char *)dest + 1), source, 4),
        CHORUS_ERR_ARG, "not aligned to the 4 bytes");
    EXPECT_FAILS(chorus_int_sum_reduce(CHORUS_TEAM_WORLD, dest + 1, dest, 4), CHORUS_ERR_ARG,
                 "overlap");
    EXPECT_FAILS(chorus_int_alltoall(CHORUS_TEAM_WORLD, dest, dest, 4), CHORUS_ERR_ARG,
                 "overlap");
    EXPECT_FAILS(chorus_int_sum_reduce(CHORUS_TEAM_INVALID, dest, source, 4), CHORUS_ERR_ARG,
                 "CHORUS_TEAM_INVALID");
    EXPECT_FAILS(chorus_barrier(77), CHORUS_ERR_ARG,
                 "team handle 77 was never returned by the library");
    EXPECT(chorus_int_sum_reduce(CHORUS_TEAM_WORLD, dest, source, 4) == CHORUS_OK);
    chorus_free(source);
    chorus_free(dest);
}

static void count__zero__touches_nothing(void)
{
    int *dest = chorus_calloc(1, sizeof(int));

    EXPECT(chorus_int_sum_reduce(CHORUS_TEAM_WORLD, NULL, NULL, 0) == CHORUS_OK);
    EXPECT(chorus_int_alltoall(CHORUS_TEAM_WORLD, dest, dest, 0) == CHORUS_OK);
    EXPECT(*dest == 0);
    chorus_free(dest);
}

enum { MEM_BYTES = 37 };

/* What PE pe gives in call `call`. */
static unsigned char mem_value(int call, int pe, int at)
{
    return (unsigned char)(call * 89 + pe * 31 + at * 7 + 1);
}

static void fill_mem(unsigned char *dest, unsigned char *source, int call)
{
    memset(dest, 0, (size_t)api_n() * MEM_BYTES);
    for (int i = 0; i < api_n() * MEM_BYTES; i++)
        source[i] = mem_value(call, api_me(), i);
}

/* Block b of dest is block `block` of what PE pe gave, where that is -1 block b of PE b. */
static bool is_mem(const unsigned char *dest, int call, int n_blocks, int pe, int block)
{
    for (int b = 0; b < n_blocks; b++)
        for (int i = 0; i < MEM_BYTES; i++)
            if (dest[b * MEM_BYTES + i] !=
                mem_value(call, pe < 0 ? b : pe, block * MEM_BYTES + i))
                return false;
    return true;
}

/* Blocking, then on a stream. */
static void functions__of_plain_memory__move_bytes(void)
{
    const size_t bytes = (size_t)api_n() * MEM_BYTES;
    unsigned char *dest = chorus_malloc(bytes), *source = chorus_malloc(bytes);
    const chorus_team_t team = CHORUS_TEAM_WORLD;
    const int root = api_n() - 1;
    chorus_stream_t stream;

    EXPECT(chorusx_stream_create(&stream) == CHORUS_OK);
    for (int call = 0; call < 6; call += 3) {
        fill_mem(dest, source, call);
        EXPECT((call == 0 ? chorus_broadcastmem(team, dest, source, MEM_BYTES, root)
                          : chorusx_broadcastmem_on_stream(team, dest, source, MEM_BYTES, root,
                                                           stream)) == CHORUS_OK);
        EXPECT(chorusx_stream_synchronize(stream) == CHORUS_OK);
        EXPECT(is_mem(dest, call, 1, root, 0));
        fill_mem(dest, source, call + 1);
        EXPECT((call == 0 ? chorus_fcollectmem(team, dest, source, MEM_BYTES)
                          : chorusx_fcollectmem_on_stream(team, dest, source, MEM_BYTES,
                                                          stream)) == CHORUS_OK);
        EXPECT(chorusx_stream_synchronize(stream) == CHORUS_OK);
        EXPECT(is_mem(dest, call + 1, api_n(), -1, 0));
        fill_mem(dest, source, call + 2);
        EXPECT((call == 0 ? chorus_alltoallmem(team, dest, source, MEM_BYTES)
                          : chorusx_alltoallmem_on_stream(team, dest, source, MEM_BYTES,
                                                          stream)) == CHORUS_OK);
        EXPECT(chorusx_stream_synchronize(stream) == CHORUS_OK);
        EXPECT(is_mem(dest, call + 2, api_n(), -1, api_me()));
    }
    EXPECT(chorusx_stream_destroy(stream) == CHORUS_OK);
    chorus_free(source);
    chorus_free(dest);
}

/* What a PE stored before a sync on a stream is there once that has run. */
static void sync_all__on_a_stream__waits_for_all(void)
{
    int *word = chorus_calloc(1, sizeof(int));
    chorus_stream_t stream;

    EXPECT(chorusx_stream_create(&stream) == CHORUS_OK);
    chorus_int_p(word, api_me() + 1, api_next());
    chorus_quiet();
    EXPECT(chorusx_sync_all_on_stream(stream) == CHORUS_OK);
    EXPECT(chorusx_stream_synchronize(stream) == CHORUS_OK);
    EXPECT(*word == api_previous() + 1);
    EXPECT(chorusx_stream_destroy(stream) == CHORUS_OK);
    chorus_free(word);
}

static void team__destroyed__is_recognised(void)
{
    chorus_team_t team, next;

    EXPECT(chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, 1, api_n(), NULL, 0, &team) ==
           CHORUS_OK);
    EXPECT(chorus_barrier(team) == CHORUS_OK);
    chorus_team_destroy(team);
    EXPECT_FAILS(chorus_barrier(team), CHORUS_ERR_ARG, "of a team that was destroyed");
    EXPECT(chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, 1, api_n(), NULL, 0, &next) ==
           CHORUS_OK);
    EXPECT(next != team);
    EXPECT_FAILS(chorus_barrier(team), CHORUS_ERR_ARG, "of a team that was destroyed");
    chorus_team_destroy(next);
}

static void values__unknown__are_named(void)
{
    int *dest = chorus_calloc(64, sizeof(int)), *source = chorus_calloc(64, sizeof(int));
    chorusx_call call = {.coll = CHORUS_COLL_reduce,
                         .team = CHORUS_TEAM_WORLD,
                         .dest = dest,
                         .source = source,
                         .count = 4,
                         .type = CHORUS_TYPE_f32,
                         .op = CHORUS_OP_xor};

    EXPECT_FAILS(chorusx_collective(NULL, NULL), CHORUS_ERR_ARG, "call is null; expected");
    EXPECT_FAILS(chorusx_collective(&call, NULL), CHORUS_ERR_ARG,
                 "operator xor does not take type f32");
    call.type = CHORUS_TYPE_i32;
    call.algo = "two_shots";
    EXPECT_FAILS(chorusx_collective(&call, NULL), CHORUS_ERR_ARG, "two_shot");
    call.algo = "two_shot";
    call.ctas = 4096;
    EXPECT_FAILS(chorusx_collective(&call, NULL), CHORUS_ERR_ARG, "CHORUS_CTAS");
    call.ctas = 1;
    call.radix = 1;
    EXPECT_FAILS(chorusx_collective(&call, NULL), CHORUS_ERR_ARG, "radix is 1");
    call.coll = (chorus_coll)99;
    EXPECT_FAILS(chorusx_collective(&call, NULL), CHORUS_ERR_ARG, "coll is 99");
    call.coll = CHORUS_COLL_reduce;
    call.type = (chorus_type)-1;
    EXPECT_FAILS(chorusx_collective(&call, NULL), CHORUS_ERR_ARG, "type");
    call.type = CHORUS_TYPE_f16;
    call.op = CHORUS_OP_COUNT;
    EXPECT_FAILS(chorusx_collective(&call, NULL), CHORUS_ERR_ARG, "op is");
    call.op = CHORUS_OP_sum;
    call.algo = "recursive_exchange:ll";
    call.radix = 2;
    EXPECT_FAILS(chorusx_collective(&call, NULL), CHORUS_ERR_UNSUPPORTED, "precision");
    EXPECT_FAILS(chorusx_int_sum_reduce_on_stream(CHORUS_TEAM_WORLD, dest, source, 4, NULL),
                 CHORUS_ERR_ARG, "stream is null");
    chorus_free(source);
    chorus_free(dest);
}

static void stream__destroyed__is_recognised(void)
{
    chorus_stream_t stream;

    EXPECT(chorusx_stream_create(&stream) == CHORUS_OK);
    EXPECT(chorusx_barrier_all_on_stream(stream) == CHORUS_OK);
    EXPECT(chorusx_stream_destroy(stream) == CHORUS_OK);
    EXPECT_FAILS(chorusx_barrier_all_on_stream(stream), CHORUS_ERR_ARG,
                 "not a stream of this PE");
    EXPECT_FAILS(chorusx_stream_synchronize(stream), CHORUS_ERR_ARG, "not a stream of this PE");
    EXPECT_FAILS(chorusx_stream_destroy(NULL), CHORUS_ERR_ARG, "stream is null");
    EXPECT_FAILS(chorusx_stream_create(NULL), CHORUS_ERR_ARG, "stream_out is null");
    EXPECT(chorusx_stream_create(&stream) == CHORUS_OK);
    EXPECT(chorusx_barrier_all_on_stream(stream) == CHORUS_OK); /* finalize runs and frees it */
}

#define TESTS(X)                                 \
    X(arguments__outside_their_range__are_named) \
    X(count__zero__touches_nothing)              \
    X(functions__of_plain_memory__move_bytes)    \
    X(sync_all__on_a_stream__waits_for_all)      \
    X(team__destroyed__is_recognised)            \
    X(values__unknown__are_named) X(stream__destroyed__is_recognised)
API_MAIN(TESTS)
