/* SPDX-License-Identifier: Apache-2.0 */
/* stream_functions.c: a wrapper and a row for every function, from the lists of the API. */
#include "stream_calls.h"

static int put_team_sync(const struct stream_request *r)
{
    return chorusx_team_sync_on_stream(r->team, r->stream);
}

static int put_barrier(const struct stream_request *r)
{
    return chorusx_barrier_on_stream(r->team, r->stream);
}

/* clang-format off */
#define UNPACK(...) __VA_ARGS__
#define NOTHING(...)

/* A wrapper of the function NAME, with these arguments after the team, by the columns root and
 * source of its collective; none of functions with lists. */
#define WRAP(NAME, ...)                                                     \
    static int put_##NAME(const struct stream_request *r)                   \
    {                                                                       \
        return chorusx_##NAME##_on_stream(r->team, __VA_ARGS__, r->stream); \
    }
#define WRAP_PLAIN(NAME) WRAP(NAME, r->dest, r->source, r->count)
#define WRAP_ROOTED(NAME) WRAP(NAME, r->dest, r->source, r->count, r->root)
#define WRAP_STRIDED(NAME) WRAP(NAME, r->dest, r->source, 1, 1, r->count)
#define WRAP_none_one WRAP_PLAIN
#define WRAP_none_all WRAP_PLAIN
#define WRAP_none_strides WRAP_STRIDED
#define WRAP_from_one WRAP_ROOTED
#define WRAP_from_all WRAP_ROOTED
#define WRAP_to_one WRAP_ROOTED
#define HAS_one UNPACK
#define HAS_all UNPACK
#define HAS_strides UNPACK
#define HAS_lengths NOTHING

/* A row of CHORUS_COLL_ROWS for a type. EACH is a wrapper at first, then a row. */
#define HAS_none NOTHING
#define HAS_chorus UNPACK
#define HAS_chorusx UNPACK
#define MOVE(COLL, root, source, NAME, mem, TYPE) \
    HAS_##source(EACH(NAME##COLL##mem, COLL, TYPE, 0, WRAP_##root##_##source))
#define MOVES_copies(COLL, root, source, ...) MOVE(COLL, root, source, __VA_ARGS__)
#define MOVES_combines NOTHING
#define MOVES_scans NOTHING
#define OF_MOVES(A, COLL, dest, source, root, work, overlap, prefix) \
    HAS_##prefix(MOVES_##work(COLL, root, source, UNPACK A))

#define COMBINE(COLL, root, OP, NAME, TYPE) \
    EACH(NAME##OP##_##COLL, COLL, TYPE, CHORUS_OP##OP, WRAP_##root##_one)
#define COMBINES_copies NOTHING
#define COMBINES_scans NOTHING
#define COMBINES_combines(COLL, root, ...) COMBINE(COLL, root, __VA_ARGS__)
#define OF_COMBINES(A, COLL, dest, source, root, work, overlap, prefix) \
    HAS_##prefix(COMBINES_##work(COLL, root, UNPACK A))
#define SCANS_copies NOTHING
#define SCANS_combines NOTHING
#define SCANS_scans(COLL, root, ...) COMBINE(COLL, root, __VA_ARGS__)
#define OF_SCANS(A, COLL, dest, source, root, work, overlap, prefix) \
    HAS_##prefix(SCANS_##work(COLL, root, UNPACK A))

#define MOVES(NAME, T, TYPE) CHORUS_COLL_ROWS(OF_MOVES, (NAME##_, , TYPE))
#define SCANS(NAME, T, TYPE) CHORUS_COLL_ROWS(OF_SCANS, (_sum, NAME, TYPE))
#define REDUCTIONS(OP, NAME, T, TYPE) CHORUS_COLL_ROWS(OF_COMBINES, (OP, NAME, TYPE))
#define OF_OP(OP, NAMES) NAMES(REDUCTIONS, OP)
#define FUNCTIONS                                       \
    CHORUS_COLL_ROWS(OF_MOVES, (, mem, CHORUS_TYPE_u8)) \
    CHORUS_RMA_TYPES(MOVES)                             \
    CHORUS_REDUCE_ARITHMETIC_TYPES(SCANS)               \
    CHORUS_REDUCE_LIST(OF_OP)

#define EACH(NAME, COLL, TYPE, OP, WRAPPER) WRAPPER(NAME)
FUNCTIONS
#undef EACH
#define EACH(NAME, COLL, TYPE, OP, WRAPPER) {#NAME, CHORUS_COLL_##COLL, TYPE, OP, put_##NAME},
const struct stream_function stream_functions[] = {
    {"barrier", CHORUS_COLL_barrier, CHORUS_TYPE_u8, 0, put_barrier},
    {"team_sync", CHORUS_COLL_barrier, CHORUS_TYPE_u8, 0, put_team_sync},
    FUNCTIONS
};
/* clang-format on */

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
