/* SPDX-License-Identifier: Apache-2.0 */
/*
 * active.c: the deprecated collectives, whose members are a triplet of PEs and who call alone.
 *
 * They are collectives of a team of the same PEs; pSync and pWrk are not needed.
 */
#include "compat/setup.h"

#include <stdlib.h>
#include <string.h>

struct active_set {
    int start, log_stride, n;
};

#define SET ((struct active_set){PE_start, logPE_stride, PE_size})

/* The set's team; CHORUS_TEAM_INVALID for a set that is none, which calls then refuse. */
static chorus_team_t team_of(struct active_set set)
{
    if (set.start == 0 && set.log_stride == 0 && set.n == chorus_n_pes())
        return CHORUS_TEAM_WORLD;
    return CHORUS_TEAM_INVALID;
}

static void collect(struct active_set set, chorusx_call call)
{
    call.team = team_of(set);
    (void)ch_raise(chorusx_collective(&call, NULL));
}

DEFINE(void, sync, SHMEM_ACTIVE_SET, long *pSync)
{
    (void)pSync;
    (void)ch_raise(chorus_team_sync(team_of(SET)));
}

DEFINE(void, barrier, SHMEM_ACTIVE_SET, long *pSync)
{
    (void)pSync;
    (void)ch_raise(chorus_barrier(team_of(SET)));
}

/* The root's dest is left alone here, unlike in a broadcast of a team. */
static void broadcast(struct active_set set, chorusx_call call, size_t bytes)
{
    const chorus_team_t team = team_of(set);
    const bool is_root = chorus_team_my_pe(team) == call.root && call.dest != call.source;
    void *const kept = is_root && bytes != 0 ? malloc(bytes) : NULL;

    if (kept != NULL) memcpy(kept, call.dest, bytes);
    collect(set, call);
    if (kept != NULL) memcpy(call.dest, kept, bytes);
    free(kept);
}

#define DEFINE_ACTIVE(N, TYPE)                                                             \
    DEFINE(void, broadcast##N, void *dest, const void *source, size_t nelems, int PE_root, \
           SHMEM_ACTIVE_SET, long *pSync)                                                  \
    {                                                                                      \
        (void)pSync;                                                                       \
        broadcast(SET, CALL(broadcast, nelems, TYPE, .root = PE_root), nelems *(N / 8));   \
    }                                                                                      \
    DEFINE_ACTIVE_MOVE(N, TYPE, fcollect)                                                  \
    DEFINE_ACTIVE_MOVE(N, TYPE, alltoall)
#define DEFINE_ACTIVE_MOVE(N, TYPE, COLL)                                                  \
    DEFINE(void, COLL##N, void *dest, const void *source, size_t nelems, SHMEM_ACTIVE_SET, \
           long *pSync)                                                                    \
    {                                                                                      \
        (void)pSync;                                                                       \
        collect(SET, CALL(COLL, nelems, TYPE, .root = 0));                                 \
    }
#define CALL(COLL, n, TYPE, member)             \
    ((chorusx_call){.coll = CHORUS_COLL_##COLL, \
                    .dest = OWN(dest),          \
                    .source = OWN(source),      \
                    .count = (n),               \
                    .type = (TYPE),             \
                    member})
DEFINE_ACTIVE(32, CHORUS_TYPE_u32)
DEFINE_ACTIVE(64, CHORUS_TYPE_u64)

#define DEFINE_TO_ALL(NAME, T, kind, OP)                                         \
    DEFINE(void, NAME##_##OP##_to_all, T *dest, const T *source, int nreduce,    \
           SHMEM_ACTIVE_SET, T *pWrk, long *pSync)                               \
    {                                                                            \
        (void)pWrk, (void)pSync;                                                 \
        collect(SET, CALL(reduce, (size_t)nreduce, kind, .op = CHORUS_OP_##OP)); \
    }
#define DEFINE_and(NAME, T, kind) DEFINE_TO_ALL(NAME, T, kind, and)
#define DEFINE_or(NAME, T, kind) DEFINE_TO_ALL(NAME, T, kind, or)
#define DEFINE_xor(NAME, T, kind) DEFINE_TO_ALL(NAME, T, kind, xor)
#define DEFINE_min(NAME, T, kind) DEFINE_TO_ALL(NAME, T, kind, min)
#define DEFINE_max(NAME, T, kind) DEFINE_TO_ALL(NAME, T, kind, max)
#define DEFINE_sum(NAME, T, kind) DEFINE_TO_ALL(NAME, T, kind, sum)
#define DEFINE_prod(NAME, T, kind) DEFINE_TO_ALL(NAME, T, kind, prod)
#define DEFINE_OP(OP, TYPES) TYPES(DEFINE_##OP)
SHMEM_TO_ALL_LIST(DEFINE_OP)
