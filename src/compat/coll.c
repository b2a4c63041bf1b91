/* SPDX-License-Identifier: Apache-2.0 */
/* coll.c: teams, and collectives on them. */
#include "compat/setup.h"

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
#define DEFINE_OP(OP, NAMES) NAMES(DEFINE_REDUCE, OP)
SHMEM_REDUCE_LIST(DEFINE_OP)
