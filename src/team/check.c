/* SPDX-License-Identifier: Apache-2.0 */
#include "team/check.h"

#include <string.h>

/* Collectives and other calls are counted apart. */
static uint64_t key_of(const struct ch_doing *d)
{
    return d->number << 1 | ch_doing_is_collective(d);
}

static struct ch_checked *place_of(struct ch_check *check, uint64_t key)
{
    return &check->calls[key % CH_CHECK_CALLS];
}

static void publish(struct ch_check *check, const struct ch_doing *d)
{
    struct ch_checked *mine = place_of(check, key_of(d));

    __atomic_store_n(&mine->key, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&mine->what, ch_doing_pack(d), __ATOMIC_RELEASE);
    __atomic_store_n(&mine->count, d->count, __ATOMIC_RELEASE);
    __atomic_store_n(&mine->key, key_of(d), __ATOMIC_RELEASE);
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* see the head of check.h */
}

/* What a PE published as this call; false: it has not begun it, or is 64 calls further. */
static bool read_call(struct ch_check *check, uint64_t key, struct ch_doing *out)
{
    const struct ch_checked *theirs = place_of(check, key);

    if (__atomic_load_n(&theirs->key, __ATOMIC_ACQUIRE) != key) return false;
    *out = ch_doing_unpack(__atomic_load_n(&theirs->what, __ATOMIC_ACQUIRE));
    out->count = __atomic_load_n(&theirs->count, __ATOMIC_ACQUIRE);
    out->number = key >> 1;
    return __atomic_load_n(&theirs->key, __ATOMIC_RELAXED) == key;
}

/* The next PE after this one whose call differs; false: none that is known. */
static bool find_other(const struct ch_team *team, const struct ch_doing *mine,
                       uint32_t *pe_out, struct ch_doing *theirs_out)
{
    for (uint32_t k = 1; k < team->n; k++) {
        const uint32_t pe = (team->me + k) % team->n;
        struct ch_check *check = team->members[pe].check;

        if (check == NULL || !read_call(check, key_of(mine), theirs_out) ||
            ch_doing_agrees(mine, theirs_out))
            continue;
        *pe_out = pe;
        return true;
    }
    return false;
}

/* End the waits of all PEs of the team. */
static void tell_all(const struct ch_team *team, uint64_t key)
{
    for (uint32_t pe = 0; pe < team->n; pe++) {
        struct ch_check *check = team->members[pe].check;

        if (check == NULL) continue;
        __atomic_store_n(&check->refused, key, __ATOMIC_RELEASE);
        ch_door_wake(team->peers[pe].door);
    }
}

static chorus_status name_both(const struct ch_team *team, const char *function,
                               const struct ch_doing *mine, uint32_t pe,
                               struct ch_doing *theirs)
{
    char here[CH_DOING_TEXT_BYTES], there[CH_DOING_TEXT_BYTES];

    theirs->team = mine->team;
    ch_doing_text(mine, here);
    ch_doing_text(theirs, there);
    return CH_FAIL(
        CHORUS_ERR_ARG,
        "%s: the calls of two PEs differ%s: PE %u makes %s; PE %u makes %s; all PEs of a team "
        "must make the same calls, in the same order and with the same values",
        function, strcmp(here, there) == 0 ? " in their algorithms" : "",
        team->members[team->me].world, here, team->members[pe].world, there);
}

chorus_status ch_team_check(struct ch_team *team, const char *function,
                            const struct ch_doing *doing)
{
    struct ch_doing theirs;
    uint32_t pe;

    publish(team->check, doing);
    if (!find_other(team, doing, &pe, &theirs)) return CHORUS_OK;
    __atomic_store_n(&team->status, (int)CHORUS_ERR_ARG, __ATOMIC_RELEASE);
    tell_all(team, key_of(doing));
    return name_both(team, function, doing, pe, &theirs);
}

chorus_status ch_team_refusal(const struct ch_team *team, const char *function)
{
    const uint64_t key = __atomic_load_n(&team->check->refused, __ATOMIC_ACQUIRE);
    struct ch_doing mine, theirs;
    uint32_t pe;

    if (read_call(team->check, key, &mine)) {
        mine.team = team->number;
        if (find_other(team, &mine, &pe, &theirs))
            return name_both(team, function, &mine, pe, &theirs);
    }
    return CH_FAIL(CHORUS_ERR_ARG,
                   "%s: other PEs of team %u found that their calls %llu differ; all PEs of a "
                   "team must make the same calls, in the same order and with the same values",
                   function, (unsigned)team->number, (unsigned long long)(key >> 1));
}
