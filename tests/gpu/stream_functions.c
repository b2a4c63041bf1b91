/* SPDX-License-Identifier: Apache-2.0 */
/* stream_functions.c: a wrapper and a row for every function, from the lists of the API. */
#include "stream_calls.h"

#define PUT_MOVE(NAME, COLL)                                                              \
    static int put_##NAME##_##COLL(const struct stream_request *r)                        \
    {                                                                                     \
        return chorusx_##NAME##_##COLL##_on_stream(r->team, r->dest, r->source, r->count, \
                                                   r->stream);                            \
    }
#define PUT_ROOTED(NAME, COLL)                                                            \
    static int put_##NAME##_##COLL(const struct stream_request *r)                        \
    {                                                                                     \
        return chorusx_##NAME##_##COLL##_on_stream(r->team, r->dest, r->source, r->count, \
                                                   r->root, r->stream);                   \
    }
#define PUT_MOVES(NAME, T, TYPE)                                                       \
    PUT_ROOTED(NAME, broadcast)                                                        \
    PUT_ROOTED(NAME, gather)                                                           \
    PUT_ROOTED(NAME, scatter)                                                          \
    PUT_MOVE(NAME, fcollect)                                                           \
    PUT_MOVE(NAME, alltoall)                                                           \
    PUT_MOVE(NAME, collect)                                                            \
    static int put_##NAME##_alltoalls(const struct stream_request *r)                  \
    {                                                                                  \
        return chorusx_##NAME##_alltoalls_on_stream(r->team, r->dest, r->source, 1, 1, \
                                                    r->count, r->stream);              \
    }
CHORUS_RMA_TYPES(PUT_MOVES)

static int put_broadcastmem(const struct stream_request *r)
{
    return chorusx_broadcastmem_on_stream(r->team, r->dest, r->source, r->count, r->root,
                                          r->stream);
}

static int put_fcollectmem(const struct stream_request *r)
{
    return chorusx_fcollectmem_on_stream(r->team, r->dest, r->source, r->count, r->stream);
}

static int put_alltoallmem(const struct stream_request *r)
{
    return chorusx_alltoallmem_on_stream(r->team, r->dest, r->source, r->count, r->stream);
}

static int put_team_sync(const struct stream_request *r)
{
    return chorusx_team_sync_on_stream(r->team, r->stream);
}

static int put_barrier(const struct stream_request *r)
{
    return chorusx_barrier_on_stream(r->team, r->stream);
}

#define PUT_REDUCTION(NAME, OP, COLL)                                                         \
    static int put_##NAME##OP##_##COLL(const struct stream_request *r)                        \
    {                                                                                         \
        return chorusx_##NAME##OP##_##COLL##_on_stream(r->team, r->dest, r->source, r->count, \
                                                       r->stream);                            \
    }
#define ROW(NAME, OP, COLL, TYPE) \
    {#NAME #OP "_" #COLL, CHORUS_COLL_##COLL, TYPE, CHORUS_OP##OP, put_##NAME##OP##_##COLL},

/* EACH is a wrapper at first, then a row. */
#define OF_OP(OP, NAMES) NAMES(EACH, OP)

#define PUT_REDUCE_TO(NAME, OP)                                                                \
    static int put_##NAME##OP##_reduce_to(const struct stream_request *r)                      \
    {                                                                                          \
        return chorusx_##NAME##OP##_reduce_to_on_stream(r->team, r->dest, r->source, r->count, \
                                                        r->root, r->stream);                   \
    }
#define PUT_SCANS(NAME, T, TYPE) \
    PUT_REDUCTION(NAME, _sum, inscan) PUT_REDUCTION(NAME, _sum, exscan)
CHORUS_REDUCE_ARITHMETIC_TYPES(PUT_SCANS)

#define EACH(OP, NAME, T, TYPE)     \
    PUT_REDUCTION(NAME, OP, reduce) \
    PUT_REDUCTION(NAME, OP, reducescatter) PUT_REDUCE_TO(NAME, OP)
CHORUS_REDUCE_LIST(OF_OP)
#undef EACH

#define ROW_MOVE(NAME, COLL, TYPE) \
    {#NAME "_" #COLL, CHORUS_COLL_##COLL, TYPE, 0, put_##NAME##_##COLL},
#define ROW_MOVES(NAME, T, TYPE)    \
    ROW_MOVE(NAME, broadcast, TYPE) \
    ROW_MOVE(NAME, fcollect, TYPE)  \
    ROW_MOVE(NAME, alltoall, TYPE)  \
    ROW_MOVE(NAME, collect, TYPE)   \
    ROW_MOVE(NAME, alltoalls, TYPE) \
    ROW_MOVE(NAME, gather, TYPE)    \
    ROW_MOVE(NAME, scatter, TYPE)
#define ROW_MEM(COLL) {#COLL "mem", CHORUS_COLL_##COLL, CHORUS_TYPE_u8, 0, put_##COLL##mem},
#define ROW_SCANS(NAME, T, TYPE) ROW(NAME, _sum, inscan, TYPE) ROW(NAME, _sum, exscan, TYPE)
#define EACH(OP, NAME, T, TYPE) \
    ROW(NAME, OP, reduce, TYPE) \
    ROW(NAME, OP, reducescatter, TYPE) ROW(NAME, OP, reduce_to, TYPE)

const struct stream_function stream_functions[] = {
    {"barrier", CHORUS_COLL_barrier, CHORUS_TYPE_u8, 0, put_barrier},
    {"team_sync", CHORUS_COLL_barrier, CHORUS_TYPE_u8, 0, put_team_sync},
    ROW_MEM(broadcast) ROW_MEM(fcollect) ROW_MEM(alltoall) CHORUS_RMA_TYPES(ROW_MOVES)
        CHORUS_REDUCE_ARITHMETIC_TYPES(ROW_SCANS) CHORUS_REDUCE_LIST(OF_OP)};

const size_t stream_functions_count = sizeof(stream_functions) / sizeof(stream_functions[0]);

/* The lists of an alltoallv are those of an alltoall, and are gone when this returns. */
int stream_put_any(const struct stream_request *r)
{
    enum { PES_MAX = 64 };
    size_t counts[PES_MAX], offsets[PES_MAX];
    const chorusx_call call = {.coll = r->coll,
                               .team = r->team,
                               .dest = r->dest,
                               .source = r->source,
                               .count = r->count,
                               .type = r->type,
                               .op = r->op,
                               .root = r->root,
                               .algo = r->algo,
                               .ctas = r->ctas,
                               .dst = 1,
                               .sst = 1,
                               .dest_counts = counts,
                               .dest_offsets = offsets,
                               .source_counts = counts,
                               .source_offsets = offsets};

    for (size_t pe = 0; pe < PES_MAX; pe++) {
        counts[pe] = r->count;
        offsets[pe] = pe * r->count;
    }
    return chorusx_collective(&call, r->stream);
}
