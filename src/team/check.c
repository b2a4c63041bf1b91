/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.c: CHORUS_CHECK: do all PEs of a team make the same calls?
 *
 * Each PE of a team has an area in host memory into which it writes its last calls. A PE that
 * begins a call writes it there. Then it exchanges a digest of the call in a word that it
 * shares with the PE after it in the team, and in one that it shares with the PE before it: the
 * later of the two receives the digest of the earlier. If not all calls are alike, those of two
 * such neighbours differ. No PE waits. A PE that finds a difference marks the areas of all PEs
 * of the team and wakes them: this ends the waits of those that are already in the call, and
 * each PE compares again to find the difference.
 *
 * In a team on several hosts each PE reads the calls of all others, after a fence. To a PE of
 * another host the call is sent, into a part of that PE's area that only the sender writes. The
 * fence does not order the two, so both PEs may miss the difference when they begin
 * the call. But a call is sent before its data, so a PE that received data compares when it
 * begins its next call, and a PE that waits for long compares when the wait is reported. Calls
 * on memory and teams, which are exchanges of words between all PEs, begin with an exchange
 * that compares them.
 */
#include "team/differ.h"

#include <stdlib.h>
#include <string.h>

enum { DIGEST_BITS = 48 };

/* The place in a PE's area for its own call with this key. */
static struct ch_checked *slot_of(struct ch_check *check, uint64_t key)
{
    return &check->calls[key % CH_CHECK_CALLS];
}

/* Write this PE's call into its area. The key is 0 meanwhile. */
static void publish_call(struct ch_check *check, const struct ch_doing *d)
{
    struct ch_checked *mine = slot_of(check, ch_doing_key(d));

    __atomic_store_n(&mine->key, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&mine->what, ch_doing_pack(d), __ATOMIC_RELEASE);
    __atomic_store_n(&mine->plan, ch_doing_plan(d), __ATOMIC_RELEASE);
    __atomic_store_n(&mine->count, d->count, __ATOMIC_RELEASE);
    __atomic_store_n(&mine->key, ch_doing_key(d), __ATOMIC_RELEASE);
}

/* The place in an area for the call with this key of PE `from`, which is on another host. */
static struct ch_checked *far_slot_of(struct ch_check *check, uint32_t from, uint64_t key)
{
    return &check->far[(size_t)from * CH_CHECK_FAR_CALLS + (key >> 1) % CH_CHECK_FAR_CALLS];
}

/* Write this PE's call to the place `there` on another host. The words arrive one after
 * another. */
static void post_call(struct ch_link *link, struct ch_checked *there, const struct ch_doing *d)
{
    ch_link_post_word(link, &there->key, 0, CH_DATA);
    ch_link_post_word(link, &there->what, ch_doing_pack(d), CH_DATA);
    ch_link_post_word(link, &there->plan, ch_doing_plan(d), CH_DATA);
    ch_link_post_word(link, &there->count, d->count, CH_DATA);
    ch_link_post_word(link, &there->key, ch_doing_key(d), CH_DATA);
}

/* Write this PE's call into the areas of all PEs of other hosts. */
static void publish_far(const struct ch_team *team, const struct ch_doing *d)
{
    for (uint32_t pe = 0; pe < team->n; pe++)
        if (team->members[pe].link != NULL)
            post_call(team->members[pe].link,
                      far_slot_of(team->members[pe].check, team->me, ch_doing_key(d)), d);
}

/* Read the call with this key from the place of a PE's call; false: the PE has not begun it, or
 * the place has a later call. */
static bool read_call(const struct ch_checked *theirs, uint64_t key, struct ch_doing *out)
{
    if (__atomic_load_n(&theirs->key, __ATOMIC_ACQUIRE) != key) return false;
    *out = ch_doing_unpack(__atomic_load_n(&theirs->what, __ATOMIC_ACQUIRE),
                           __atomic_load_n(&theirs->plan, __ATOMIC_ACQUIRE));
    out->count = __atomic_load_n(&theirs->count, __ATOMIC_ACQUIRE);
    out->number = key >> 1;
    return __atomic_load_n(&theirs->key, __ATOMIC_RELAXED) == key;
}

/* The place in this PE's memory where it finds the call with this key of any PE. */
static const struct ch_checked *published_call_of(const struct ch_team *team, uint32_t pe,
                                                  uint64_t key)
{
    return team->members[pe].link != NULL ? far_slot_of(team->check, pe, key)
                                          : slot_of(team->members[pe].check, key);
}

bool ch_team_check_find(const struct ch_team *team, uint64_t key, struct ch_two *out)
{
    struct ch_doing call;
    uint32_t n = 0;

    for (uint32_t k = 0; team->check != NULL && k < team->n && n < 2; k++) {
        const uint32_t pe = (team->me + k) % team->n;

        if (!read_call(published_call_of(team, pe, key), key, &call) ||
            (n == 1 && ch_doing_agrees(&out->calls[0], &call)))
            continue;
        call.team = team->word;
        out->pes[n] = pe;
        out->calls[n++] = call;
    }
    return n == 2;
}

/* A hash of what ch_doing_agrees compares; the highest bits are low bits of the call's key. */
static uint64_t digest_of(const struct ch_doing *d)
{
    const uint64_t count =
        ch_doing_is_collective(d) && ch_coll_is_uneven((chorus_coll)d->what) ? 0 : d->count;
    const uint64_t mixed = ch_doing_common_bits(d) * UINT64_C(0x9e3779b97f4a7c15) ^
                           ch_doing_plan(d) * UINT64_C(0xd1342543de82ef95) ^
                           count * UINT64_C(0xd6e8feb86659fd93);

    return ch_doing_key(d) << DIGEST_BITS | mixed >> (64 - DIGEST_BITS);
}

/* Has the other PE that uses this word come before, with another call of the same key? */
static bool exchange_and_compare(struct ch_check *check, uint64_t key, uint64_t digest)
{
    const uint64_t before = __atomic_exchange_n(&check->digests[key % CH_CHECK_CALLS].word,
                                                digest, __ATOMIC_ACQ_REL);

    return before >> DIGEST_BITS == digest >> DIGEST_BITS && before != digest;
}

/* Does this PE's call differ from that of a PE next to it, which then is *other_out? */
static bool differs_from_neighbour(const struct ch_team *team, const struct ch_doing *mine,
                                   uint32_t *other_out)
{
    const uint32_t next = team->me + 1 < team->n ? team->me + 1 : 0;
    const uint32_t previous = (team->me > 0 ? team->me : team->n) - 1;
    const uint64_t key = ch_doing_key(mine), digest = digest_of(mine);

    *other_out = next; /* of two PEs, PE 0 has the words */
    if ((team->n > 2 || team->me == 0) && exchange_and_compare(team->check, key, digest))
        return true;
    *other_out = previous;
    return (team->n > 2 || team->me == 1) &&
           exchange_and_compare(team->members[previous].check, key, digest);
}

/* Does a known call with this key differ from this PE's own, which then is the first of
 * `out`? */
static bool find_other(const struct ch_team *team, uint64_t key, struct ch_two *out)
{
    return ch_team_check_find(team, key, out) && out->pes[0] == team->me;
}

/* Fail with ERR_ARG; from here on the team is unusable on this PE. two: null if the other call
 * is not known. */
static chorus_status fail_call(struct ch_team *team, const char *function,
                               const struct ch_two *two)
{
    __atomic_store_n(&team->status, (int)CHORUS_ERR_ARG, __ATOMIC_RELEASE);
    return two != NULL ? ch_team_fail_differing(team, function, two)
                       : ch_team_fail_refused(team, function);
}

/* The ballot of a PE about its call, in an exchange. */
struct said {
    uint64_t what, plan, count;
};

/* Compare this PE's call with those of all PEs, in an exchange. All PEs get the same result. */
static chorus_status check_by_mail(struct ch_team *team, const char *function,
                                   const struct ch_doing *doing)
{
    const struct ch_voters voters = ch_team_voters(team);
    const struct said mine = {ch_doing_pack(doing), ch_doing_plan(doing), doing->count};
    struct ch_two two = {.pes = {team->me}, .calls = {*doing}};
    struct said *all = calloc(team->n, sizeof(*all));
    chorus_status status;
    uint32_t k = 1;

    if (all == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the answers of %u PEs", team->n);
    status = voters.exchange(voters.self, &mine, sizeof(mine), all);
    while (k < team->n && memcmp(&all[(team->me + k) % team->n], &mine, sizeof(mine)) == 0)
        k++;
    if (status == CHORUS_OK && k < team->n) {
        two.pes[1] = (team->me + k) % team->n;
        two.calls[1] = ch_doing_unpack(all[two.pes[1]].what, all[two.pes[1]].plan);
        two.calls[1].team = team->word;
        two.calls[1].number = doing->number;
        two.calls[1].count = all[two.pes[1]].count;
        ch_team_refuse_here(team, ch_doing_key(doing), &two);
        status = fail_call(team, function, &two);
    }
    free(all);
    return status;
}

/* Does the call exchange words between all PEs of a team on several hosts? */
static bool is_by_mail(const struct ch_team *team, const struct ch_doing *doing)
{
    return team->is_across && !ch_doing_is_collective(doing) &&
           doing->what != CH_DOING_finalize && doing->what != CH_DOING_team_destroy;
}

/* Compare this PE's call with those of its neighbours, in a team whose PEs are all mapped. */
static chorus_status check_on_host(struct ch_team *team, const char *function,
                                   const struct ch_doing *doing)
{
    struct ch_two two = {.pes = {team->me}, .calls = {*doing}};
    const uint64_t key = ch_doing_key(doing);
    bool is_kept; /* the other PE has not made so many calls since */

    if (!differs_from_neighbour(team, doing, &two.pes[1])) return CHORUS_OK;
    is_kept = read_call(slot_of(team->members[two.pes[1]].check, key), key, &two.calls[1]);
    two.calls[1].team = team->word;
    ch_team_refuse(team, key, is_kept ? &two : NULL);
    return fail_call(team, function, is_kept ? &two : NULL);
}

chorus_status ch_team_compare_call(struct ch_team *team, const char *function,
                                   const struct ch_doing *doing)
{
    const uint64_t key = ch_doing_key(doing);
    struct ch_two two;

    publish_call(team->check, doing);
    if (ch_doing_is_collective(doing) && ch_team_is_call_refused(team, doing))
        return fail_call(team, function, NULL);
    if (!team->is_across) return check_on_host(team, function, doing);
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* see the head of this file */
    publish_far(team, doing);
    if (is_by_mail(team, doing)) return check_by_mail(team, function, doing);
    /* key - 2: the call before of the same sort, whose difference the fence may have missed. */
    if (!find_other(team, key, &two) && (doing->number < 2 || !find_other(team, key - 2, &two)))
        return CHORUS_OK;
    ch_team_refuse(team, ch_doing_key(&two.calls[0]), &two);
    return fail_call(team, function, &two);
}

void ch_team_compare_again(const struct ch_team *team, const struct ch_doing *doing)
{
    struct ch_two two;

    if (team->check != NULL && find_other(team, ch_doing_key(doing), &two))
        ch_team_refuse(team, ch_doing_key(doing), &two);
}
