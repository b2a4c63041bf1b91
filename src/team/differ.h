/* SPDX-License-Identifier: Apache-2.0 */
/*
 * differ.h: how PEs of a team find that they make calls that differ, and what follows.
 *
 * With CHORUS_CHECK, each call is compared when it begins (check.c). Without it, a PE on a host
 * that waits compares its call with those of its peers (look.c). Calls inside kernels are
 * compared by the kernels themselves (chorus/device_check.cuh).
 *
 * The PE that finds it writes a mark into the memory of all PEs of the team and wakes them.
 * The mark ends their waits in that call and in later ones, and names two calls that differ, so
 * that every PE returns the same message. From then on the team is unusable. A PE that is still
 * in an earlier call completes it, since its peers have sent what it waits for.
 */
#ifndef CH_TEAM_DIFFER_H
#define CH_TEAM_DIFFER_H

#include "base/record.h"
#include "team/team.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Calls of two PEs, by their numbers in the team. Or one alltoallv and a block with two
 * lengths: the first PE sends `count` elements of its call to the second, which expects `count`
 * of the other. These calls have no algorithm and no kinds of buffers, so that both PEs write
 * the same mark; nor a number, if it is not known. */
struct ch_two {
    uint32_t pes[2];
    struct ch_doing calls[2];
};

/* The mark, which any PE of the team writes. */
struct ch_refusal {
    uint64_t
        key; /* of the call in which PEs differ, see ch_doing_key; 0: none. Written last. */
    uint64_t pes;                        /* of two PEs; the second is in the high half */
    uint64_t what[2], plan[2], count[2]; /* their calls */
    uint64_t sum;   /* of the other members; if it is wrong, the calls are not known here */
    uint64_t claim; /* the key of the mark that a PE of this host writes or has written */
};

/* The key of a call in its team: its number, and one bit below for collectives, which are
 * counted apart from other calls. */
static inline uint64_t ch_doing_key(const struct ch_doing *d)
{
    return d->number << 1 | ch_doing_is_collective(d);
}

/* End the team's call with this key and later ones: write the mark into the memory of all its
 * PEs, and wake them. two: null if it is not known which calls differ. */
void ch_team_refuse(const struct ch_team *team, uint64_t key, const struct ch_two *two);
/* Write the mark on this PE alone, where all PEs find the difference by themselves. */
void ch_team_refuse_here(const struct ch_team *team, uint64_t key, const struct ch_two *two);

/* Was a call on the team refused? */
static inline bool ch_team_is_refused(const struct ch_team *team)
{
    return team->refusal != NULL && __atomic_load_n(&team->refusal->key, __ATOMIC_ACQUIRE) != 0;
}

/* Does the refusal of the call with key `refused` end the call with key `key`? Not if that is
 * an earlier one, or of the other kind, whose order is not known. refused 0: there is no
 * refusal. */
static inline bool ch_refusal_concerns(uint64_t refused, uint64_t key)
{
    return refused != 0 && (refused & 1) == (key & 1) && key >= refused;
}

/* Does a mark of the team end its call d? */
static inline bool ch_team_is_call_refused(const struct ch_team *team, const struct ch_doing *d)
{
    return team->refusal != NULL &&
           ch_refusal_concerns(__atomic_load_n(&team->refusal->key, __ATOMIC_ACQUIRE),
                               ch_doing_key(d));
}

/* Does the refusal of the call with key `refused` end this PE's running call? For
 * ch_wait_policy.is_concerned; `team` is a struct ch_team. The first is for waits in
 * collectives, the second for those in other calls. */
bool ch_team_is_concerned(void *team, uint64_t refused);
bool ch_team_meeting_is_concerned(void *team, uint64_t refused);

/* Was a call on the team refused because of a block of an alltoallv? */
bool ch_team_is_refused_for_block(const struct ch_team *team);

/* Fail with ERR_ARG and what the mark says, on a PE whose wait in a call was ended by a
 * refusal. function: the call's name, for the message. */
chorus_status ch_team_fail_refused(const struct ch_team *team, const char *function);

/* Fail with ERR_ARG, naming two calls that differ, or the block. */
chorus_status ch_team_fail_differing(const struct ch_team *team, const char *function,
                                     const struct ch_two *two);

/* --- comparison of calls that begin, see check.c ------------------------------------------ */
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

/* Bytes of the area of each PE of a team of n. has_hosts: the job is on several hosts. */
static inline size_t ch_check_bytes(uint32_t n, bool has_hosts)
{
    const size_t far = has_hosts ? (size_t)n * CH_CHECK_FAR_CALLS : 0;

    return sizeof(struct ch_check) + far * sizeof(struct ch_checked);
}

/* Publish this PE's call and compare it with those of peers; ERR_ARG names both calls, and the
 * team is unusable. */
CH_MUST_CHECK chorus_status ch_team_compare_call(struct ch_team *team, const char *function,
                                                 const struct ch_doing *doing);

/* For a call that waits: if this PE knows by now that a PE of another host makes another call,
 * end the waits of all PEs. */
void ch_team_compare_again(const struct ch_team *team, const struct ch_doing *doing);

/* Find two calls with this key that differ, among those that this PE knows; one of them is its
 * own or, if it has not made the call, that of the next PE that has. False: there are none, as
 * always without CHORUS_CHECK. */
bool ch_team_check_find(const struct ch_team *team, uint64_t key, struct ch_two *out);

/* --- comparison of calls that wait, see look.c -------------------------------------------- */
/* Compare this PE's call, which waits, with those of some peers; mark the team if they differ.
 * For ch_wait_policy.look; `team` is a struct ch_team. */
void ch_team_look(void *team, uint64_t waited_ns);

/* A message has shown that PE `other` makes another call than `mine`, or that it has a message
 * of a PE that does: which two calls differ? It takes up to a second to ask a PE of another
 * host. False: it is not known. */
bool ch_team_find_clash(struct ch_team *team, const struct ch_record_call *mine, uint32_t other,
                        struct ch_two *out);

/* Find two collectives with this number that differ, among those of PEs of this host. */
bool ch_team_find_clash_near(const struct ch_team *team, uint64_t number, struct ch_two *out);

#endif /* CH_TEAM_DIFFER_H */
