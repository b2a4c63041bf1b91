/* SPDX-License-Identifier: Apache-2.0 */
/* collectives.c: every public collective, blocking and on a stream, as rows of the lists. */
#include "api/trace.h"

static chorus_status make(const char *function, chorusx_call call)
{
    const struct ch_args args = {.function = function, .call = &call};

    return ch_make_collective(&args);
}

static int run(const char *function, chorusx_call call)
{
    const struct ch_args args = {.function = function, .call = &call};

    return ch_give_or_raise(function, ch_make_collective(&args));
}

static int run_on(const char *function, chorusx_call call, chorus_stream_t stream)
{
    const struct ch_args args = {
        .function = function, .call = &call, .is_on_stream = true, .stream = stream};

    return ch_give(function, ch_make_collective(&args));
}

/* Assigned field by field: compilers clear such a struct by a string instruction, which takes
 * as long as the rest of a small call. */
static inline chorusx_call move(chorus_coll coll, chorus_team_t team, void *dest,
                                const void *source, size_t count)
{
    chorusx_call call;

    call.coll = coll;
    call.team = team;
    call.dest = dest;
    call.source = source;
    call.count = count;
    call.type = CHORUS_TYPE_u8;
    call.op = (chorus_op)0;
    call.root = 0;
    call.algo = NULL;
    call.ctas = call.radix = 0;
    call.dst = call.sst = 0;
    call.dest_counts = call.dest_offsets = NULL;
    call.source_counts = call.source_offsets = NULL;
    call.combine = NULL;
    call.is_reached = 0;
    return call;
}

static inline chorusx_call barrier(chorus_team_t team)
{
    return move(CHORUS_COLL_barrier, team, NULL, NULL, 0);
}

static chorusx_call of_type(chorusx_call call, chorus_type type)
{
    call.type = type;
    return call;
}

static chorusx_call from_root(chorusx_call call, int root)
{
    call.root = root;
    return call;
}

static chorusx_call with_op(chorusx_call call, chorus_op op)
{
    call.op = op;
    return call;
}

static chorusx_call apart(chorusx_call call, ptrdiff_t dst, ptrdiff_t sst)
{
    call.dst = dst;
    call.sst = sst;
    return call;
}

static chorusx_call in_blocks(chorusx_call call, const size_t *dest_counts,
                              const size_t *dest_offsets, const size_t *source_counts,
                              const size_t *source_offsets)
{
    call.dest_counts = dest_counts;
    call.dest_offsets = dest_offsets;
    call.source_counts = source_counts;
    call.source_offsets = source_offsets;
    return call;
}

/* A barrier is a sync that also completes the calling PE's own earlier operations. */
static int quiet(const char *function)
{
    struct ch_context *context;

    CH_TRY(ch_context_require(function, &context));
    return context->link->quiet(context->transport, CH_CTX_DEFAULT);
}

int chorus_team_sync(chorus_team_t team)
{
    return run(__func__, barrier(team));
}

/* Algorithms do not know the name of the call. */
static void report(const char *function, chorus_status status)
{
    ch_report(ch_error_in(function, status));
}

void chorus_sync_all(void)
{
    report(__func__, make(__func__, barrier(CHORUS_TEAM_WORLD)));
}

int chorus_barrier(chorus_team_t team)
{
    const int status = quiet(__func__);

    return status == CHORUS_OK ? run(__func__, barrier(team)) : ch_give(__func__, status);
}

void chorus_barrier_all(void)
{
    const int status = quiet(__func__);

    report(__func__, status == CHORUS_OK ? make(__func__, barrier(CHORUS_TEAM_WORLD)) : status);
}

int chorusx_team_sync_on_stream(chorus_team_t team, chorus_stream_t stream)
{
    return run_on(__func__, barrier(team), stream);
}

int chorusx_sync_all_on_stream(chorus_stream_t stream)
{
    return run_on(__func__, barrier(CHORUS_TEAM_WORLD), stream);
}

int chorusx_barrier_on_stream(chorus_team_t team, chorus_stream_t stream)
{
    const int status = quiet(__func__);

    return status == CHORUS_OK ? run_on(__func__, barrier(team), stream)
                               : ch_give(__func__, status);
}

int chorusx_barrier_all_on_stream(chorus_stream_t stream)
{
    const int status = quiet(__func__);

    return status == CHORUS_OK ? run_on(__func__, barrier(CHORUS_TEAM_WORLD), stream)
                               : ch_give(__func__, status);
}

/* clang-format off */
#define MOVE(COLL, N) move(CHORUS_COLL_##COLL, team, dest, source, N)

/* NAME: prefix of the function; T: element type; TYPE: its enum; N: name of the count. */
#define DEFINE_MOVES(NAME, mem, T, TYPE)                                                            \
    int chorus_##NAME##broadcast##mem(chorus_team_t team, T *dest, const T *source, size_t n, int root) \
    {                                                                                               \
        return run(__func__, from_root(of_type(MOVE(broadcast, n), TYPE), root));             \
    }                                                                                               \
    int chorusx_##NAME##broadcast##mem##_on_stream(chorus_team_t team, T *dest, const T *source,    \
                                                   size_t n, int root, chorus_stream_t stream)      \
    {                                                                                               \
        return run_on(__func__, from_root(of_type(MOVE(broadcast, n), TYPE), root), stream);        \
    }                                                                                               \
    DEFINE_MOVE(NAME, mem, T, TYPE, fcollect)                                                       \
    DEFINE_MOVE(NAME, mem, T, TYPE, alltoall)                                                       \
    DEFINE_MOVE(NAME, mem, T, TYPE, collect)                                                        \
    DEFINE_ALLTOALLS(NAME, mem, T, TYPE)                                                            \
    DEFINE_ALLTOALLV(NAME, mem, T, TYPE)                                                            \
    DEFINE_ROOTED(NAME, mem, T, TYPE, gather)                                                       \
    DEFINE_ROOTED(NAME, mem, T, TYPE, scatter)

#define DEFINE_ALLTOALLS(NAME, mem, T, TYPE)                                                        \
    int chorus_##NAME##alltoalls##mem(chorus_team_t team, T *dest, const T *source, ptrdiff_t dst,  \
                                      ptrdiff_t sst, size_t n)                                      \
    {                                                                                               \
        return run(__func__, apart(of_type(MOVE(alltoalls, n), TYPE), dst, sst));                   \
    }                                                                                               \
    int chorusx_##NAME##alltoalls##mem##_on_stream(chorus_team_t team, T *dest, const T *source,    \
                                                   ptrdiff_t dst, ptrdiff_t sst, size_t n,          \
                                                   chorus_stream_t stream)                          \
    {                                                                                               \
        return run_on(__func__, apart(of_type(MOVE(alltoalls, n), TYPE), dst, sst), stream);        \
    }

#define DEFINE_ALLTOALLV(NAME, mem, T, TYPE)                                                        \
    int chorusx_##NAME##alltoallv##mem(chorus_team_t team, T *dest, const size_t in[],              \
                                       const size_t to[], const T *source, const size_t out[],      \
                                       const size_t from[])                                         \
    {                                                                                               \
        return run(__func__, in_blocks(of_type(MOVE(alltoallv, 0), TYPE), in, to, out, from));      \
    }                                                                                               \
    int chorusx_##NAME##alltoallv##mem##_on_stream(chorus_team_t team, T *dest, const size_t in[],  \
                                                   const size_t to[], const T *source,              \
                                                   const size_t out[], const size_t from[],         \
                                                   chorus_stream_t stream)                          \
    {                                                                                               \
        return run_on(__func__, in_blocks(of_type(MOVE(alltoallv, 0), TYPE), in, to, out, from),    \
                      stream);                                                                      \
    }

#define DEFINE_ROOTED(NAME, mem, T, TYPE, COLL)                                                     \
    int chorusx_##NAME##COLL##mem(chorus_team_t team, T *dest, const T *source, size_t n, int root) \
    {                                                                                               \
        return run(__func__, from_root(of_type(MOVE(COLL, n), TYPE), root));                        \
    }                                                                                               \
    int chorusx_##NAME##COLL##mem##_on_stream(chorus_team_t team, T *dest, const T *source,         \
                                              size_t n, int root, chorus_stream_t stream)           \
    {                                                                                               \
        return run_on(__func__, from_root(of_type(MOVE(COLL, n), TYPE), root), stream);             \
    }

#define DEFINE_MOVE(NAME, mem, T, TYPE, COLL)                                                       \
    int chorus_##NAME##COLL##mem(chorus_team_t team, T *dest, const T *source, size_t n)            \
    {                                                                                               \
        return run(__func__, of_type(MOVE(COLL, n), TYPE));                                   \
    }                                                                                               \
    int chorusx_##NAME##COLL##mem##_on_stream(chorus_team_t team, T *dest, const T *source,         \
                                              size_t n, chorus_stream_t stream)                     \
    {                                                                                               \
        return run_on(__func__, of_type(MOVE(COLL, n), TYPE), stream);                              \
    }

DEFINE_MOVES(, mem, void, CHORUS_TYPE_u8)
#define X(NAME, T, TYPE) DEFINE_MOVES(NAME##_, , T, TYPE)
CHORUS_RMA_TYPES(X)
#undef X

#define DEFINE_REDUCTION(NAME, T, TYPE, OP, COLL)                                                   \
    int chorus_##NAME##OP##_##COLL(chorus_team_t team, T *dest, const T *source, size_t nreduce)    \
    {                                                                                               \
        return run(__func__, with_op(of_type(MOVE(COLL, nreduce), TYPE), CHORUS_OP##OP));           \
    }                                                                                               \
    int chorusx_##NAME##OP##_##COLL##_on_stream(chorus_team_t team, T *dest, const T *source,       \
                                                   size_t nreduce, chorus_stream_t stream)          \
    {                                                                                               \
        return run_on(__func__, with_op(of_type(MOVE(COLL, nreduce), TYPE), CHORUS_OP##OP), stream); \
    }
#define DEFINE_REDUCE_TO(NAME, T, TYPE, OP)                                                         \
    int chorusx_##NAME##OP##_reduce_to(chorus_team_t team, T *dest, const T *source,                \
                                          size_t nreduce, int root)                                 \
    {                                                                                               \
        return run(__func__, from_root(with_op(of_type(MOVE(reduce_to, nreduce), TYPE),             \
                                               CHORUS_OP##OP), root));                              \
    }                                                                                               \
    int chorusx_##NAME##OP##_reduce_to_on_stream(chorus_team_t team, T *dest, const T *source,      \
                                                    size_t nreduce, int root,                       \
                                                    chorus_stream_t stream)                         \
    {                                                                                               \
        return run_on(__func__, from_root(with_op(of_type(MOVE(reduce_to, nreduce), TYPE),          \
                                                  CHORUS_OP##OP), root), stream);                   \
    }
#define DEFINE_REDUCTIONS(OP, NAME, T, TYPE)        \
    DEFINE_REDUCTION(NAME, T, TYPE, OP, reduce)     \
    DEFINE_REDUCTION(NAME, T, TYPE, OP, reducescatter) \
    DEFINE_REDUCE_TO(NAME, T, TYPE, OP)
#define REDUCE(OP, NAMES) NAMES(DEFINE_REDUCTIONS, OP)
CHORUS_REDUCE_LIST(REDUCE)
#define X(NAME, T, TYPE)                        \
    DEFINE_REDUCTION(NAME, T, TYPE, _sum, inscan) \
    DEFINE_REDUCTION(NAME, T, TYPE, _sum, exscan)
CHORUS_REDUCE_ARITHMETIC_TYPES(X)
#undef X
/* clang-format on */

static chorus_status check_given(const chorusx_call *call)
{
    if (call == NULL)
        return CH_FAIL(
            CHORUS_ERR_ARG,
            "chorusx_collective: call is null; expected the address of a chorusx_call");
    if ((unsigned)call->coll >= CHORUS_COLL_COUNT)
        return CH_FAIL(
            CHORUS_ERR_ARG,
            "chorusx_collective: coll is %d; expected a CHORUS_COLL_ constant, 0 to %d",
            (int)call->coll, CHORUS_COLL_COUNT - 1);
    if ((unsigned)call->type >= CHORUS_TYPE_COUNT)
        return CH_FAIL(
            CHORUS_ERR_ARG,
            "chorusx_collective: type is %d; expected a CHORUS_TYPE_ constant, 0 to %d",
            (int)call->type, CHORUS_TYPE_COUNT - 1);
    if ((unsigned)call->op >= CHORUS_OP_COUNT)
        return CH_FAIL(CHORUS_ERR_ARG,
                       "chorusx_collective: op is %d; expected a CHORUS_OP_ constant, 0 to %d",
                       (int)call->op, CHORUS_OP_COUNT - 1);
    return CHORUS_OK;
}

static chorus_status make_given(const char *function, const chorusx_call *call,
                                chorus_stream_t stream)
{
    struct ch_args args = {
        .function = function, .call = call, .is_on_stream = stream != NULL, .stream = stream};
    chorusx_call sync;

    CH_TRY(check_given(call));
    if (call->coll == CHORUS_COLL_barrier) { /* its count is ignored: PEs do not compare it */
        sync = *call;
        sync.count = 0;
        args.call = &sync;
    }
    return ch_make_collective(&args);
}

int chorusx_collective(const chorusx_call *call, chorus_stream_t stream)
{
    return ch_give_or_raise(__func__, make_given(__func__, call, stream));
}
