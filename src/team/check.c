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

/* Does the PE have memory that this one reaches by messages alone? */
static struct ch_route *route_to(const struct ch_team *team, uint32_t pe)
{
    return team->remotes != NULL ? team->remotes[pe].route : NULL;
}

/* The part of a PE's area that PE `from` writes. */
static struct ch_checked *far_place(struct ch_check *check, uint32_t from, uint64_t key)
{
    return &check->far[(size_t)from * CH_CHECK_FAR_CALLS + (key >> 1) % CH_CHECK_FAR_CALLS];
}

/* The words arrive one after another. */
static void send(struct ch_route *route, struct ch_checked *there, const struct ch_doing *d)
{
    ch_route_say(route, &there->key, 0, CH_DATA);
    ch_route_say(route, &there->what, ch_doing_pack(d), CH_DATA);
    ch_route_say(route, &there->count, d->count, CH_DATA);
    ch_route_say(route, &there->key, key_of(d), CH_DATA);
}

static void publish_far(const struct ch_team *team, const struct ch_doing *d)
{
    for (uint32_t pe = 0; team->remotes != NULL && pe < team->n; pe++)
        if (route_to(team, pe) != NULL)
            send(route_to(team, pe), far_place(team->members[pe].check, team->me, key_of(d)),
                 d);
}

/* What a PE published as this call; false: it has not begun it, or is 64 calls further. */
static bool read_call(const struct ch_checked *theirs, uint64_t key, struct ch_doing *out)
{
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
        const uint64_t key = key_of(mine);
        const struct ch_checked *theirs = route_to(team, pe) != NULL
                                              ? far_place(team->check, pe, key)
                                              : place_of(team->members[pe].check, key);

        if (!read_call(theirs, key, theirs_out) || ch_doing_agrees(mine, theirs_out)) continue;
        theirs_out->team = mine->team;
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

        if (route_to(team, pe) != NULL) {
            ch_route_say(route_to(team, pe), &check->refused, key, CH_DATA);
            continue;
        }
        __atomic_store_n(&check->refused, key, __ATOMIC_RELEASE);
        ch_door_wake(team->peers[pe].door);
    }
}

chorus_status ch_team_differ(const struct ch_team *team, const char *function,
                             const struct ch_doing *mine, uint32_t pe,
                             const struct ch_doing *theirs)
{
    char here[CH_DOING_TEXT_BYTES], there[CH_DOING_TEXT_BYTES];

    ch_doing_text(mine, here);
    ch_doing_text(theirs, there);
    return CH_FAIL(
        CHORUS_ERR_ARG,
        "%s: the calls of two PEs differ%s: PE %u makes %s; PE %u makes %s; all PEs of a team "
        "must make the same calls, in the same order and with the same values",
        function, strcmp(here, there) == 0 ? " in their algorithms" : "",
        team->members[team->me].world, here, team->members[pe].world, there);
}

/* This PE's call before, of the same kind. */
static bool read_before(const struct ch_team *team, const struct ch_doing *doing,
                        struct ch_doing *out)
{
    const uint64_t key = key_of(doing) - 2;

    if (doing->number < 2 || !read_call(place_of(team->check, key), key, out)) return false;
    out->team = team->number;
    return true;
}

chorus_status ch_team_check(struct ch_team *team, const char *function,
                            const struct ch_doing *doing)
{
    struct ch_doing mine = *doing, theirs;
    uint32_t pe;

    publish(team->check, doing);
    publish_far(team, doing);
    if (!find_other(team, &mine, &pe, &theirs) &&
        !(team->remotes != NULL && read_before(team, doing, &mine) &&
          find_other(team, &mine, &pe, &theirs)))
        return CHORUS_OK;
    __atomic_store_n(&team->status, (int)CHORUS_ERR_ARG, __ATOMIC_RELEASE);
    tell_all(team, key_of(&mine));
    return ch_team_differ(team, function, &mine, pe, &theirs);
}

void ch_team_check_again(const struct ch_team *team, const struct ch_doing *doing)
{
    struct ch_doing theirs;
    uint32_t pe;

    if (team->check != NULL && find_other(team, doing, &pe, &theirs))
        tell_all(team, key_of(doing));
}

chorus_status ch_team_refusal(const struct ch_team *team, const char *function)
{
    const uint64_t key = __atomic_load_n(&team->check->refused, __ATOMIC_ACQUIRE);
    struct ch_doing mine, theirs;
    uint32_t pe;

    if (read_call(place_of(team->check, key), key, &mine)) {
        mine.team = team->number;
        if (find_other(team, &mine, &pe, &theirs))
            return ch_team_differ(team, function, &mine, pe, &theirs);
    }
    return CH_FAIL(CHORUS_ERR_ARG,
                   "%s: other PEs of team %u found that their calls %llu differ; all PEs of a "
                   "team must make the same calls, in the same order and with the same values",
                   function, (unsigned)team->number, (unsigned long long)(key >> 1));
}
