/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvshmemx_team.h: teams whose PEs know a number, the unique id, and not each other, for
 * nvshmemx.h.
 *
 * An id names the PE that made it, its owner, and a slot of the owner's board. Each member
 * stores its number in the slot, and counts itself there. The last one finds all numbers, sends
 * them to all members, and leaves the slot as it was. Then the members know each other, and
 * create the team.
 *
 * A board consists of words: NVSHMEM_SLOTS slots, each with a count, a mark that the id is in
 * use, and a number + 1 for each member; behind them the message for this PE, which has a
 * number
 * + 1 for each member, and a signal.
 */
#ifndef NVSHMEMX_TEAM_H
#define NVSHMEMX_TEAM_H

#include "nvshmemx_init.h"

enum { NVSHMEM_SLOT_COUNT, NVSHMEM_SLOT_IN_USE, NVSHMEM_SLOT_MEMBERS };

static inline uint64_t *nvshmem_slot(uint64_t slot)
{
    return nvshmem_board + slot * (size_t)(NVSHMEM_SLOT_MEMBERS + chorus_n_pes());
}

static inline uint64_t *nvshmem_members_message(void)
{
    return nvshmem_slot(NVSHMEM_SLOTS);
}

static inline uint64_t *nvshmem_members_signal(void)
{
    return nvshmem_members_message() + chorus_n_pes();
}

/* The id is good for one team. A PE can have made NVSHMEM_SLOTS ids that no team has yet. */
static inline int nvshmemx_team_get_uniqueid(nvshmemx_team_uniqueid_t *uniqueid)
{
    const int me = chorus_my_pe();

    if (uniqueid == NULL || nvshmem_board == NULL) return NVSHMEMX_ERROR_INVALID_VALUE;
    for (uint64_t slot = 0; slot < NVSHMEM_SLOTS; slot++) {
        uint64_t *const in_use = nvshmem_slot(slot) + NVSHMEM_SLOT_IN_USE;

        if (chorus_uint64_atomic_compare_swap(in_use, 0, 1, me) != 0) continue;
        *uniqueid = ((uint64_t)me + 1) << 32 | slot; /* not 0 */
        return NVSHMEMX_SUCCESS;
    }
    return NVSHMEMX_ERROR_OUT_OF_MEMORY;
}

/* The last member: tell all members who they are, and free the slot. `words` has room for zeros
 * and numbers of npes members. */
static inline void nvshmem_tell_members(uint64_t *slot, int owner, uint64_t *words, int npes)
{
    const size_t bytes = (size_t)npes * sizeof(*words);
    uint64_t *const members = slot + NVSHMEM_SLOT_MEMBERS, *const numbers = words + npes;

    chorus_getmem(numbers, members, bytes, owner);
    memset(words, 0, bytes);
    chorus_putmem(members, words, bytes, owner);
    chorus_uint64_p(slot + NVSHMEM_SLOT_COUNT, 0, owner);
    chorus_quiet(); /* the slot is as it was, before it is no longer in use */
    chorus_uint64_atomic_set(slot + NVSHMEM_SLOT_IN_USE, 0, owner);
    for (int i = 0; i < npes; i++)
        if (numbers[i] != 0)
            chorus_putmem_signal(nvshmem_members_message(), numbers, bytes,
                                 nvshmem_members_signal(), 1, CHORUS_SIGNAL_SET,
                                 (int)numbers[i] - 1);
}

/* Wait until all members of the id have called, and get their numbers in the job. */
static inline void nvshmem_find_members(nvshmemx_team_uniqueid_t id, int npes, int index,
                                        uint64_t *words)
{
    const int me = chorus_my_pe(), owner = (int)(id >> 32) - 1;
    uint64_t *const slot = nvshmem_slot(id & 0xffffffffu);

    chorus_uint64_p(slot + NVSHMEM_SLOT_MEMBERS + index, (uint64_t)me + 1, owner);
    chorus_quiet(); /* the number is there before it counts */
    if (chorus_uint64_atomic_fetch_inc(slot + NVSHMEM_SLOT_COUNT, owner) + 1 == (uint64_t)npes)
        nvshmem_tell_members(slot, owner, words, npes);
    (void)chorus_signal_wait_until(nvshmem_members_signal(), CHORUS_CMP_EQ, 1);
    chorus_uint64_p(nvshmem_members_signal(), 0, me);
    chorus_getmem(words, nvshmem_members_message(), (size_t)npes * sizeof(*words), me);
}

/* By npes PEs that have the same id, which is in config, and different numbers from 0. The call
 * returns when all of them have called; where one does not, it fails after CHORUS_TIMEOUT. */
static inline int nvshmemx_team_init(nvshmem_team_t *team, nvshmem_team_config_t *config,
                                     long config_mask, int npes, int pe_idx_in_team)
{
    uint64_t *words;
    int *pes;
    int status;

    if (team == NULL || config == NULL || nvshmem_board == NULL ||
        (config_mask & NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID) == 0 || npes < 1 ||
        npes > chorus_n_pes() || pe_idx_in_team < 0 || pe_idx_in_team >= npes ||
        config->uniqueid >> 32 == 0 || config->uniqueid >> 32 > (uint64_t)chorus_n_pes() ||
        (config->uniqueid & 0xffffffffu) >= NVSHMEM_SLOTS)
        return NVSHMEMX_ERROR_INVALID_VALUE;
    words = (uint64_t *)calloc((size_t)npes, 2 * sizeof(*words));
    pes = (int *)calloc((size_t)npes, sizeof(*pes));
    status = NVSHMEMX_ERROR_INTERNAL;
    if (words != NULL && pes != NULL) {
        nvshmem_find_members(config->uniqueid, npes, pe_idx_in_team, words);
        for (int i = 0; i < npes; i++)
            pes[i] = (int)words[i] - 1; /* -1: two members have the same number in the team */
        status = chorusx_team_create_group(CHORUS_TEAM_WORLD, pes, npes, 0, team);
    }
    free(words);
    free(pes);
    return status;
}

#endif /* NVSHMEMX_TEAM_H */
