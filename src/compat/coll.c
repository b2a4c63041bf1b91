/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coll.c: teams and collectives on them, and the deprecated collectives on active sets:
 * triplets of PEs, of which only the members make the call.
 *
 * The latter are collectives of a team of the same PEs, which its members create when they
 * first use the set, and then keep. Every member takes part in every call on a set, so all of
 * them create the team in the same call. pSync and pWrk are not needed.
 */
#include "compat/setup.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- teams -------------------------------------------------------------------------------- */

DEFINE_F(, int, team_my_pe, (ch_team_of(team)), shmem_team_t team)
DEFINE_F(, int, team_n_pes, (ch_team_of(team)), shmem_team_t team)
DEFINE_F(, int, team_translate_pe, (ch_team_of(src_team), src_pe, ch_team_of(dest_team)),
         shmem_team_t src_team, int src_pe, shmem_team_t dest_team)

DEFINE(int, team_get_config, shmem_team_t team, long config_mask, shmem_team_config_t *config)
{
    chorus_team_config_t found = {0};
    const int code =
        chorus_team_get_config(ch_team_of(team), config_mask, config != NULL ? &found : NULL);

    if (code == CHORUS_OK && config != NULL && config_mask != 0)
        config->num_contexts = found.num_contexts;
    return code;
}

/* Returns config as a struct of chorus.h, which is stored in *room; null for null. */
static const chorus_team_config_t *config_of(const shmem_team_config_t *config,
                                             chorus_team_config_t *room)
{
    if (config == NULL) return NULL;
    room->num_contexts = config->num_contexts;
    return room;
}

DEFINE(int, team_split_strided, shmem_team_t parent_team, int start, int stride, int n_pes,
       const shmem_team_config_t *config, long config_mask, shmem_team_t *new_team)
{
    chorus_team_config_t room;
    chorus_team_t made;
    const int code = chorus_team_split_strided(ch_team_of(parent_team), start, stride, n_pes,
                                               config_of(config, &room), config_mask, &made);

    *new_team = ch_team_for(made);
    return code;
}

DEFINE(int, team_split_2d, shmem_team_t parent_team, int xrange,
       const shmem_team_config_t *xaxis_config, long xaxis_mask, shmem_team_t *xaxis_team,
       const shmem_team_config_t *yaxis_config, long yaxis_mask, shmem_team_t *yaxis_team)
{
    chorus_team_config_t x_room, y_room;
    chorus_team_t x, y;
    const int code =
        chorus_team_split_2d(ch_team_of(parent_team), xrange, config_of(xaxis_config, &x_room),
                             xaxis_mask, &x, config_of(yaxis_config, &y_room), yaxis_mask, &y);

    *xaxis_team = ch_team_for(x);
    *yaxis_team = ch_team_for(y);
    return code;
}

DEFINE_P(, team_destroy, (ch_team_of(team)), shmem_team_t team)

DEFINE_P(, barrier_all, (), void)
DEFINE_P(, sync_all, (), void)

DEFINE(int, team_sync, shmem_team_t team)
{
    return ch_raise(CALLED, chorus_team_sync(ch_team_of(team)));
}

#define DEFINE_C(A, name, arguments, ...)                                         \
    DEFINE(int, name, shmem_team_t team, __VA_ARGS__)                             \
    {                                                                             \
        return ch_raise(CALLED, chorus_##name(ch_team_of(team), BARE arguments)); \
    }

#define DEFINE_MOVE(NAME, T, kind) SHMEM_MOVE_CALLS(DEFINE_C, , NAME##_, , T)
SHMEM_RMA_TYPES(DEFINE_MOVE)
SHMEM_MOVE_CALLS(DEFINE_C, , , mem, void)

#define DEFINE_SCAN(NAME, T, kind) SHMEM_SCAN_CALLS(DEFINE_C, , NAME##_, T)
SHMEM_ARITHMETIC_TYPES(DEFINE_SCAN)

#define DEFINE_REDUCE(OP, NAME, T, kind) SHMEM_REDUCE_CALLS(DEFINE_C, , NAME, T, OP)
#define DEFINE_REDUCES(OP, NAMES) NAMES(DEFINE_REDUCE, OP)
SHMEM_REDUCE_LIST(DEFINE_REDUCES)

/* --- active sets -------------------------------------------------------------------------- */

struct active_set {
    int start, log_stride, n;
};

/* A set whose team has been created. */
struct known {
    struct active_set set;
    chorus_team_t team;
    struct known *next;
};
static struct known *known_sets;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards known_sets */

#define SET ((struct active_set){PE_start, logPE_stride, PE_size})

/* Create the team of an active set; collective over its PEs. Returns CHORUS_TEAM_INVALID after
 * reporting a failure in `function`, with the arguments of the program, which the library does
 * not know. */
static chorus_team_t make_team(const char *function, struct active_set set)
{
    chorus_team_t team = CHORUS_TEAM_INVALID;
    int *const pes = set.n > 0 ? malloc((size_t)set.n * sizeof(*pes)) : NULL;
    char call[100];
    int code;

    for (int i = 0; i < set.n && pes != NULL; i++)
        pes[i] = set.log_stride < 31 && i << set.log_stride <= chorus_n_pes()
                     ? set.start + (i << set.log_stride)
                     : -1;
    code = chorusx_team_create_group(CHORUS_TEAM_WORLD, pes, pes != NULL ? set.n : 0, 0, &team);
    free(pes);
    (void)snprintf(call, sizeof(call), "%s (PE_start %d, logPE_stride %d, PE_size %d)",
                   function, set.start, set.log_stride, set.n);
    chorusx_raise_in(call, code);
    return team;
}

/* Returns the team of an active set, which is created at the first call with the set and then
 * kept; CHORUS_TEAM_INVALID if that fails. The caller holds `lock`. */
static chorus_team_t find_or_make_team(const char *function, struct active_set set)
{
    struct known *known = known_sets;

    while (known != NULL && (known->set.start != set.start || known->set.n != set.n ||
                             known->set.log_stride != set.log_stride))
        known = known->next;
    if (known != NULL) return known->team;
    known = malloc(sizeof(*known));
    if (known == NULL) return CHORUS_TEAM_INVALID;
    *known = (struct known){set, make_team(function, set), known_sets};
    if (known->team != CHORUS_TEAM_INVALID) {
        known_sets = known;
        return known->team;
    }
    free(known);
    return CHORUS_TEAM_INVALID;
}

/* Returns the team of an active set, or CHORUS_TEAM_INVALID. */
static chorus_team_t team_of_set(const char *function, struct active_set set)
{
    chorus_team_t team;

    if (set.start == 0 && set.log_stride == 0 && set.n == chorus_n_pes())
        return CHORUS_TEAM_WORLD;
    (void)pthread_mutex_lock(&lock);
    team = find_or_make_team(function, set);
    (void)pthread_mutex_unlock(&lock);
    return team;
}

void ch_active_forget(void)
{
    while (known_sets != NULL) {
        struct known *const first = known_sets;

        known_sets = first->next;
        free(first);
    }
}

/* Make a collective on an active set; a failure is passed to the error handler. */
static void run_on_set(const char *function, struct active_set set, chorusx_call call)
{
    call.team = team_of_set(function, set);
    (void)ch_raise(function, chorusx_collective(&call, NULL));
}

DEFINE(void, sync, SHMEM_ACTIVE_SET, long *pSync)
{
    (void)pSync;
    (void)ch_raise(CALLED, chorus_team_sync(team_of_set(CALLED, SET)));
}

DEFINE(void, barrier, SHMEM_ACTIVE_SET, long *pSync)
{
    (void)pSync;
    (void)ch_raise(CALLED, chorus_barrier(team_of_set(CALLED, SET)));
}

/* From this number of bytes on, saving the root's dest would take longer than the broadcast. */
#define PULL_BYTES (32u << 10)

/* Broadcast by gets: each PE but the root copies the root's source to its dest. */
static void broadcast_by_get(const char *function, chorus_team_t team, const chorusx_call *call,
                             size_t bytes)
{
    if (ch_raise(function, chorus_team_sync(team)) != CHORUS_OK) return;
    if (chorus_team_my_pe(team) != call->root)
        chorus_getmem(call->dest, call->source, bytes,
                      chorus_team_translate_pe(team, call->root, CHORUS_TEAM_WORLD));
    (void)ch_raise(function, chorus_team_sync(team));
}

/* Broadcast on an active set. Unlike in a broadcast of a team, the root's dest does not change:
 * it is saved and restored, or the PEs get the data. */
static void broadcast(const char *function, struct active_set set, chorusx_call call,
                      size_t bytes)
{
    const chorus_team_t team = team_of_set(function, set);
    const bool is_root = chorus_team_my_pe(team) == call.root && call.dest != call.source;
    char room[PULL_BYTES], *kept;

    if (bytes > sizeof(room) && call.root >= 0 && call.root < chorus_team_n_pes(team) &&
        chorus_team_n_pes(CHORUS_TEAM_SHARED) == chorus_n_pes()) {
        broadcast_by_get(function, team, &call, bytes);
        return;
    }
    kept = room;
    if (bytes > sizeof(room)) kept = is_root ? malloc(bytes) : NULL;
    if (is_root && kept != NULL) memcpy(kept, call.dest, bytes);
    run_on_set(function, set, call);
    if (is_root && kept != NULL) memcpy(call.dest, kept, bytes);
    if (kept != room) free(kept);
}

#define DEFINE_ACTIVE(N, TYPE)                                                               \
    DEFINE(void, broadcast##N, void *dest, const void *source, size_t nelems, int PE_root,   \
           SHMEM_ACTIVE_SET, long *pSync)                                                    \
    {                                                                                        \
        (void)pSync;                                                                         \
        broadcast(CALLED, SET, CALL(broadcast, nelems, TYPE, .root = PE_root),               \
                  nelems *(N / 8));                                                          \
    }                                                                                        \
    DEFINE(void, alltoalls##N, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, \
           size_t nelems, SHMEM_ACTIVE_SET, long *pSync)                                     \
    {                                                                                        \
        (void)pSync;                                                                         \
        run_on_set(CALLED, SET, CALL(alltoalls, nelems, TYPE, .dst = dst, .sst = sst));      \
    }                                                                                        \
    DEFINE_ACTIVE_MOVE(N, TYPE, collect)                                                     \
    DEFINE_ACTIVE_MOVE(N, TYPE, fcollect)                                                    \
    DEFINE_ACTIVE_MOVE(N, TYPE, alltoall)
#define DEFINE_ACTIVE_MOVE(N, TYPE, COLL)                                                  \
    DEFINE(void, COLL##N, void *dest, const void *source, size_t nelems, SHMEM_ACTIVE_SET, \
           long *pSync)                                                                    \
    {                                                                                      \
        (void)pSync;                                                                       \
        run_on_set(CALLED, SET, CALL(COLL, nelems, TYPE, .root = 0));                      \
    }
#define CALL(COLL, n, TYPE, ...)                \
    ((chorusx_call){.coll = CHORUS_COLL_##COLL, \
                    .dest = OWN(dest),          \
                    .source = OWN(source),      \
                    .count = (n),               \
                    .type = (TYPE),             \
                    __VA_ARGS__})
DEFINE_ACTIVE(32, CHORUS_TYPE_u32)
DEFINE_ACTIVE(64, CHORUS_TYPE_u64)

#define DEFINE_TO_ALL(OP, NAME, T, kind)                                                     \
    DEFINE(void, NAME##OP##_to_all, T *dest, const T *source, int nreduce, SHMEM_ACTIVE_SET, \
           T *pWrk, long *pSync)                                                             \
    {                                                                                        \
        (void)pWrk, (void)pSync;                                                             \
        run_on_set(CALLED, SET, CALL(reduce, (size_t)nreduce, kind, .op = CHORUS_OP##OP));   \
    }
#define DEFINE_TO_ALLS(OP, NAMES) NAMES(DEFINE_TO_ALL, OP)
SHMEM_TO_ALL_LIST(DEFINE_TO_ALLS)
