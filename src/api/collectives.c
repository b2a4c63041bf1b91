/* SPDX-License-Identifier: Apache-2.0 */
/* collectives.c: every public collective, blocking and on a stream, as rows of the lists. */
#include "api/coll.h"

/* Set the members that ch_collective expects of a blocking call; it sets the others. */
static inline void fill_call(struct ch_call *call, const char *function,
                             const chorusx_call *asked)
{
    call->function = function;
    call->asked = asked;
    call->is_on_stream = false;
    call->stream = NULL;
    call->is_traced = false;
}

/* Make a blocking call. The caller reports its failure. */
static chorus_status perform_call(const char *function, chorusx_call asked)
{
    struct ch_call call;

    fill_call(&call, function, &asked);
    return ch_collective(&call);
}

/* Make a blocking call; returns its code after reporting a failure. */
static int run_call(const char *function, chorusx_call asked)
{
    struct ch_call call;

    fill_call(&call, function, &asked);
    return ch_handle_or_raise(function, ch_collective(&call));
}

/* Make a call on a stream; returns its code after reporting a failure. */
static int run_call_on(const char *function, chorusx_call asked, chorus_stream_t stream)
{
    struct ch_call call;

    fill_call(&call, function, &asked);
    call.is_on_stream = true;
    call.stream = stream;
    return ch_handle_status(function, ch_collective(&call));
}

/* Collective, type and operator of a function, in one word, which is passed in a register. */
#define NAMED(COLL, TYPE, OP) \
    (CHORUS_COLL_##COLL | (unsigned)(TYPE) << 8 | (unsigned)(OP) << 16)

/* Returns a call without strides and counts per PE; `named` is NAMED(...). It is assigned field
 * by field: compilers clear such a struct by a string instruction, which takes as long as the
 * rest of a small call. */
static inline chorusx_call fill_asked(unsigned named, chorus_team_t team, void *dest,
                                      const void *source, size_t count, int root)
{
    chorusx_call call;

    call.coll = (chorus_coll)(named & 0xff);
    call.team = team;
    call.dest = dest;
    call.source = source;
    call.count = count;
    call.type = (chorus_type)(named >> 8 & 0xff);
    call.op = (chorus_op)(named >> 16);
    call.root = root;
    call.algo = NULL;
    call.ctas = call.radix = 0;
    call.dst = call.sst = 0;
    call.dest_counts = call.dest_offsets = NULL;
    call.source_counts = call.source_offsets = NULL;
    call.combine = NULL;
    call.is_reached = 0;
    return call;
}

static inline chorusx_call barrier_call(chorus_team_t team)
{
    return fill_asked(NAMED(barrier, CHORUS_TYPE_u8, 0), team, NULL, NULL, 0, 0);
}

_Static_assert(CHORUS_COLL_COUNT <= 256 && CHORUS_TYPE_COUNT <= 256, "they fit NAMED");

/* Functions of one type or operator only pass their parameters on to one of these, which are
 * not inlined: there are 1,400 of them. */
#define FOR_ALL static __attribute__((noinline))

/* Make a collective without strides and counts per PE, named by NAMED(...): blocking here, on a
 * stream in run_plain_on. root: 0 if it has none. */
FOR_ALL int run_plain(const char *function, chorus_team_t team, unsigned named, void *dest,
                      const void *source, size_t count, int root)
{
    return run_call(function, fill_asked(named, team, dest, source, count, root));
}

FOR_ALL int run_plain_on(const char *function, chorus_team_t team, unsigned named, void *dest,
                         const void *source, size_t count, int root, chorus_stream_t stream)
{
    return run_call_on(function, fill_asked(named, team, dest, source, count, root), stream);
}

static inline chorusx_call set_strides(chorusx_call call, ptrdiff_t dst, ptrdiff_t sst)
{
    call.dst = dst;
    call.sst = sst;
    return call;
}

FOR_ALL int run_strided(const char *function, chorus_team_t team, unsigned named, void *dest,
                        const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t count)
{
    return run_call(function,
                    set_strides(fill_asked(named, team, dest, source, count, 0), dst, sst));
}

FOR_ALL int run_strided_on(const char *function, chorus_team_t team, unsigned named, void *dest,
                           const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t count,
                           chorus_stream_t stream)
{
    return run_call_on(function,
                       set_strides(fill_asked(named, team, dest, source, count, 0), dst, sst),
                       stream);
}

static inline chorusx_call set_blocks(chorusx_call call, const size_t *dest_counts,
                                      const size_t *dest_offsets, const size_t *source_counts,
                                      const size_t *source_offsets)
{
    call.dest_counts = dest_counts;
    call.dest_offsets = dest_offsets;
    call.source_counts = source_counts;
    call.source_offsets = source_offsets;
    return call;
}

/* Make a collective with counts and offsets per PE: `in` and `to` are those of dest, `out` and
 * `from` those of source. */
FOR_ALL int run_blocks(const char *function, chorus_team_t team, unsigned named, void *dest,
                       const size_t *in, const size_t *to, const void *source,
                       const size_t *out, const size_t *from)
{
    return run_call(function,
                    set_blocks(fill_asked(named, team, dest, source, 0, 0), in, to, out, from));
}

FOR_ALL int run_blocks_on(const char *function, chorus_team_t team, unsigned named, void *dest,
                          const size_t *in, const size_t *to, const void *source,
                          const size_t *out, const size_t *from, chorus_stream_t stream)
{
    return run_call_on(
        function, set_blocks(fill_asked(named, team, dest, source, 0, 0), in, to, out, from),
        stream);
}

/* Complete the calling PE's own earlier operations, as a barrier does before it is a sync. */
static int quiet_default_ctx(const char *function)
{
    struct ch_context *context;

    CH_TRY(ch_context_require(function, &context));
    return ch_links_quiet(context->links, CH_CTX_DEFAULT, CH_LINK_ALL);
}

int chorus_team_sync(chorus_team_t team)
{
    return run_call(__func__, barrier_call(team));
}

/* Pass a failure to the error handler, and name the call in its message: algorithms do not know
 * the name. */
static void report_status(const char *function, chorus_status status)
{
    ch_report(ch_error_prefix_if_failed(function, status));
}

void chorus_sync_all(void)
{
    report_status(__func__, perform_call(__func__, barrier_call(CHORUS_TEAM_WORLD)));
}

int chorus_barrier(chorus_team_t team)
{
    const int status = quiet_default_ctx(__func__);

    return status == CHORUS_OK ? run_call(__func__, barrier_call(team))
                               : ch_handle_status(__func__, status);
}

void chorus_barrier_all(void)
{
    const int status = quiet_default_ctx(__func__);

    report_status(__func__, status == CHORUS_OK
                                ? perform_call(__func__, barrier_call(CHORUS_TEAM_WORLD))
                                : status);
}

int chorusx_team_sync_on_stream(chorus_team_t team, chorus_stream_t stream)
{
    return run_call_on(__func__, barrier_call(team), stream);
}

int chorusx_sync_all_on_stream(chorus_stream_t stream)
{
    return run_call_on(__func__, barrier_call(CHORUS_TEAM_WORLD), stream);
}

/* As quiet_default_ctx, before a barrier on a stream: also what was queued there before. */
static int quiet_before(const char *function, chorus_stream_t stream)
{
    CH_TRY(quiet_default_ctx(function));
    return ch_stream_quiet(function, stream);
}

int chorusx_barrier_on_stream(chorus_team_t team, chorus_stream_t stream)
{
    const int status = quiet_before(__func__, stream);

    return status == CHORUS_OK ? run_call_on(__func__, barrier_call(team), stream)
                               : ch_handle_status(__func__, status);
}

int chorusx_barrier_all_on_stream(chorus_stream_t stream)
{
    const int status = quiet_before(__func__, stream);

    return status == CHORUS_OK ? run_call_on(__func__, barrier_call(CHORUS_TEAM_WORLD), stream)
                               : ch_handle_status(__func__, status);
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

/* Blocking, and on a stream. RUN: the function above that makes the call of what is GIVEN. */
#define DEFINE(RUN, PREFIX, NAME, PARAMETERS, GIVEN)                                                \
    int PREFIX##_##NAME(chorus_team_t team, UNPACK PARAMETERS)                                      \
    {                                                                                               \
        return RUN(__func__, team, UNPACK GIVEN);                                                   \
    }                                                                                               \
    int chorusx_##NAME##_on_stream(chorus_team_t team, UNPACK PARAMETERS, chorus_stream_t stream)   \
    {                                                                                               \
        return RUN##_on(__func__, team, UNPACK GIVEN, stream);                                      \
    }

#define MOVE_PLAIN(PREFIX, COLL, NAME, mem, T, TYPE)                                                \
    DEFINE(run_plain, PREFIX, NAME##COLL##mem, (T *dest, const T *source, size_t n),                \
           (NAMED(COLL, TYPE, 0), dest, source, n, 0))
#define MOVE_ROOTED(PREFIX, COLL, NAME, mem, T, TYPE)                                               \
    DEFINE(run_plain, PREFIX, NAME##COLL##mem, (T *dest, const T *source, size_t n, int root),      \
           (NAMED(COLL, TYPE, 0), dest, source, n, root))
#define MOVE_STRIDED(PREFIX, COLL, NAME, mem, T, TYPE)                                              \
    DEFINE(run_strided, PREFIX, NAME##COLL##mem,                                                    \
           (T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t n),                      \
           (NAMED(COLL, TYPE, 0), dest, source, dst, sst, n))
#define MOVE_LISTED(PREFIX, COLL, NAME, mem, T, TYPE)                                               \
    DEFINE(run_blocks, PREFIX, NAME##COLL##mem,                                                     \
           (T *dest, const size_t in[], const size_t to[], const T *source, const size_t out[],     \
            const size_t from[]), (NAMED(COLL, TYPE, 0), dest, in, to, source, out, from))

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

#define COMBINE_none(PREFIX, COLL, OP, NAME, T, TYPE)                                               \
    DEFINE(run_plain, PREFIX, NAME##OP##_##COLL, (T *dest, const T *source, size_t nreduce),        \
           (NAMED(COLL, TYPE, CHORUS_OP##OP), dest, source, nreduce, 0))
#define COMBINE_to(PREFIX, COLL, OP, NAME, T, TYPE)                                                 \
    DEFINE(run_plain, PREFIX, NAME##OP##_##COLL, (T *dest, const T *source, size_t nreduce, int root), \
           (NAMED(COLL, TYPE, CHORUS_OP##OP), dest, source, nreduce, root))
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

/* Fails if the program's call for chorusx_collective is null or has invalid constants. */
static chorus_status check_described_call(const chorusx_call *call)
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

/* Make the call of chorusx_collective; stream: null for a blocking call. */
static chorus_status make_described_call(const char *function, const chorusx_call *asked,
                                         chorus_stream_t stream)
{
    struct ch_call call;
    chorusx_call sync;

    CH_TRY(check_described_call(asked));
    fill_call(&call, function, asked);
    call.is_on_stream = stream != NULL;
    call.stream = stream;
    if (asked->coll == CHORUS_COLL_barrier) { /* its count is ignored: PEs do not compare it */
        sync = *asked;
        sync.count = 0;
        call.asked = &sync;
    }
    return ch_collective(&call);
}

int chorusx_collective(const chorusx_call *call, chorus_stream_t stream)
{
    return ch_handle_or_raise(__func__, make_described_call(__func__, call, stream));
}
