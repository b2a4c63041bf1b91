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
/* The functions of a row of CHORUS_COLL_ROWS for a type, from its columns. NAME: prefix of the
 * function; T: element type; TYPE: its enum; A, in OF_x: these and what else names the function, in
 * brackets. */
#define UNPACK(...) __VA_ARGS__
#define HAS_none(...)
#define HAS_chorus(...) __VA_ARGS__
#define HAS_chorusx(...) __VA_ARGS__
#define NOTHING(...)

/* Blocking, and on a stream. */
#define DEFINE(PREFIX, NAME, PARAMETERS, CALL)                                                      \
    int PREFIX##_##NAME(chorus_team_t team, UNPACK PARAMETERS)                                      \
    {                                                                                               \
        return run(__func__, CALL);                                                                 \
    }                                                                                               \
    int chorusx_##NAME##_on_stream(chorus_team_t team, UNPACK PARAMETERS, chorus_stream_t stream)   \
    {                                                                                               \
        return run_on(__func__, CALL, stream);                                                      \
    }

#define MOVE(COLL, N, TYPE) of_type(move(CHORUS_COLL_##COLL, team, dest, source, N), TYPE)
#define MOVE_PLAIN(PREFIX, COLL, NAME, mem, T, TYPE)                                                \
    DEFINE(PREFIX, NAME##COLL##mem, (T *dest, const T *source, size_t n), MOVE(COLL, n, TYPE))
#define MOVE_ROOTED(PREFIX, COLL, NAME, mem, T, TYPE)                                               \
    DEFINE(PREFIX, NAME##COLL##mem, (T *dest, const T *source, size_t n, int root),                 \
           from_root(MOVE(COLL, n, TYPE), root))
#define MOVE_STRIDED(PREFIX, COLL, NAME, mem, T, TYPE)                                              \
    DEFINE(PREFIX, NAME##COLL##mem,                                                                 \
           (T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t n),                      \
           apart(MOVE(COLL, n, TYPE), dst, sst))
#define MOVE_LISTED(PREFIX, COLL, NAME, mem, T, TYPE)                                               \
    DEFINE(PREFIX, NAME##COLL##mem,                                                                 \
           (T *dest, const size_t in[], const size_t to[], const T *source, const size_t out[],     \
            const size_t from[]), in_blocks(MOVE(COLL, 0, TYPE), in, to, out, from))

#define MOVE_none_one MOVE_PLAIN
#define MOVE_none_all MOVE_PLAIN
#define MOVE_none_strides MOVE_STRIDED
#define MOVE_none_lengths MOVE_LISTED
#define MOVE_from_one MOVE_ROOTED
#define MOVE_from_all MOVE_ROOTED
#define MOVE_to_one MOVE_ROOTED
#define MOVES_copies(PREFIX, COLL, root, source, ...) MOVE_##root##_##source(PREFIX, COLL, __VA_ARGS__)
#define MOVES_combines NOTHING
#define MOVES_scans NOTHING
#define OF_MOVES(A, COLL, dest, source, root, work, overlap, PREFIX)                                \
    HAS_##PREFIX(MOVES_##work(PREFIX, COLL, root, source, UNPACK A))
CHORUS_COLL_ROWS(OF_MOVES, (, mem, void, CHORUS_TYPE_u8))
#define X(NAME, T, TYPE) CHORUS_COLL_ROWS(OF_MOVES, (NAME##_, , T, TYPE))
CHORUS_RMA_TYPES(X)
#undef X

#define COMBINE(COLL, TYPE, OP) with_op(MOVE(COLL, nreduce, TYPE), CHORUS_OP##OP)
#define COMBINE_none(PREFIX, COLL, OP, NAME, T, TYPE)                                               \
    DEFINE(PREFIX, NAME##OP##_##COLL, (T *dest, const T *source, size_t nreduce),                   \
           COMBINE(COLL, TYPE, OP))
#define COMBINE_to(PREFIX, COLL, OP, NAME, T, TYPE)                                                 \
    DEFINE(PREFIX, NAME##OP##_##COLL, (T *dest, const T *source, size_t nreduce, int root),         \
           from_root(COMBINE(COLL, TYPE, OP), root))
#define COMBINES_copies NOTHING
#define COMBINES_scans NOTHING
#define COMBINES_combines(PREFIX, COLL, root, ...) COMBINE_##root(PREFIX, COLL, __VA_ARGS__)
#define OF_COMBINES(A, COLL, dest, source, root, work, overlap, PREFIX)                             \
    HAS_##PREFIX(COMBINES_##work(PREFIX, COLL, root, UNPACK A))
#define X(OP, NAME, T, TYPE) CHORUS_COLL_ROWS(OF_COMBINES, (OP, NAME, T, TYPE))
#define REDUCE(OP, NAMES) NAMES(X, OP)
CHORUS_REDUCE_LIST(REDUCE)
#undef X

#define SCANS_copies NOTHING
#define SCANS_combines NOTHING
#define SCANS_scans(PREFIX, COLL, ...) COMBINE_none(PREFIX, COLL, __VA_ARGS__)
#define OF_SCANS(A, COLL, dest, source, root, work, overlap, PREFIX)                                \
    HAS_##PREFIX(SCANS_##work(PREFIX, COLL, UNPACK A))
#define X(NAME, T, TYPE) CHORUS_COLL_ROWS(OF_SCANS, (_sum, NAME, T, TYPE))
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
