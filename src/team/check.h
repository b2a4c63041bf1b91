/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.h: CHORUS_CHECK: do all PEs of a team make the same calls?
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
 *
 * Calls inside kernels are compared by the kernels themselves (chorus/device_check.cuh).
 */
#ifndef CH_TEAM_CHECK_H
#define CH_TEAM_CHECK_H

#include "base/record.h"
#include "team/differ.h"

/* Number of calls that are kept: of a PE's own, and of each PE of another host. */
enum { CH_CHECK_CALLS = 64, CH_CHECK_FAR_CALLS = 4 };

/* A published call: one cache line. */
struct ch_checked {
    uint64_t key; /* the number and the kind of the call; 0: none, or being written */
    uint64_t what, plan, count; /* ch_doing_pack and ch_doing_plan */
    uint64_t rest[4];
};

/* The digest of a call, below the low bits of its key: one cache line. */
struct ch_digest {
    uint64_t word;
    uint64_t rest[7];
};

struct ch_check {
    struct ch_checked calls[CH_CHECK_CALLS];  /* by key; the owner writes them */
    struct ch_digest digests[CH_CHECK_CALLS]; /* by key; shared with the next PE of the team */
    struct ch_checked
        far[]; /* CH_CHECK_FAR_CALLS of each PE, by key, if there are other hosts */
};

/* Bytes of the area of a team of n PEs. */
static inline size_t ch_check_bytes(uint32_t n, bool has_hosts)
{
    const size_t far = has_hosts ? (size_t)n * CH_CHECK_FAR_CALLS : 0;

    return sizeof(struct ch_check) + far * sizeof(struct ch_checked);
}

/* Publish this PE's call and compare it; ERR_ARG names both calls, and the team is unusable. */
CH_MUST_CHECK chorus_status ch_team_check(struct ch_team *team, const char *function,
                                          const struct ch_doing *doing);

/* For a call that waits: is it known by now that a PE of another host makes another one? If so,
 * ends the waits of all PEs. */
void ch_team_check_again(const struct ch_team *team, const struct ch_doing *doing);

/* Two calls with this key that differ, among those that this PE knows; one of them is its own
 * or, if it has not made the call, that of the next PE that has. Always false without
 * CHORUS_CHECK. */
bool ch_team_check_find(const struct ch_team *team, uint64_t key, struct ch_two *out);

#endif /* CH_TEAM_CHECK_H */
