/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_check.cuh: CHORUS_CHECK for collectives inside kernels; of chorus_device.cuh.
 *
 * With it each call begins with an exchange: every PE of the team sends every other two packets
 * that say what it calls, waits for theirs, and compares. All PEs of the team are thus in the
 * call before any of them moves data, and all of them find a difference. There are two sets of
 * packets, used in turn: a PE sends those of call i + 1 after it has received all of call i,
 * whose senders had read those of call i - 1.
 *
 * Before that the call acquires a word of the team, which calls on streams acquire, too, and
 * releases it when it ends, so that calls of one team at the same time are found.
 *
 * Without it a barrier costs two tests of a word of the team's record, which for
 * CHORUS_TEAM_WORLD is in constant memory. Other collectives test whether messages go in
 * packets, which those that are compared do not (device_away.cuh).
 */
#ifndef CHORUS_DEVICE_CHECK_CUH
#define CHORUS_DEVICE_CHECK_CUH

/* A failed call keeps the team. Every lane that noticed reports, and the first is heard. */
CH_FN void ch_fail_call(const struct ch_device_team *team, chorus_status st, uint32_t late_pe,
                        struct ch_lanes g)
{
    if (g.lane == 0) team->dup->failed = 1; /* for what hosts queue */
    if (late_pe != team->me) ch_report_late(team->id, st, late_pe);
}

/* In place: dest is source, or one of them is this PE's block of the other. */
CH_FN struct ch_made ch_made_of(chorus_coll coll, const struct ch_coll *c, uint32_t type,
                                uint32_t op, uint64_t count)
{
    const size_t mine = c->me * ch_bytes(c);
    const int is_in_place =
        coll != CHORUS_COLL_barrier &&
        (c->dst == c->src || (coll == CHORUS_COLL_fcollect && c->dst + mine == c->src) ||
         (coll == CHORUS_COLL_reducescatter && c->src + mine == c->dst));
    struct ch_made made;

    made.word = (uint64_t)coll << CH_CALL_WHAT_AT | (uint64_t)type << CH_CALL_TYPE_AT |
                (uint64_t)op << CH_CALL_OP_AT | (uint64_t)!is_in_place << CH_CALL_APART_AT |
                (uint64_t)1 << CH_CALL_IN_KERNEL_AT | (uint64_t)c->root << CH_CALL_ROOT_AT;
    made.count = count;
    return made;
}

/* One lane: acquire the word that calls on streams acquire, too. The number of the call, one
 * after that of the last; CH_TAKEN: the team is in use. */
CH_FN uint64_t ch_check_acquire(const struct ch_device_team *team)
{
    struct ch_dup *dup = team->dup;
    const uint64_t found =
        atomicCAS((unsigned long long *)&dup->running, (unsigned long long)CH_RUNS_NOT,
                  (unsigned long long)CH_RUNS_IN_KERNEL);

    __threadfence(); /* the state that the last call left, its numbers too */
    if (found == CH_RUNS_NOT)
        return ch_bits_load((const unsigned long long *)&dup->checked) + 1;
    if (found == CH_RUNS_ON_STREAM) {
        dup->failed = 1; /* both calls may have changed what they share: no other one begins */
        ch_report(team->id, CHORUS_ERR_STATE, team->me, CH_FAULT_OVERLAP);
    }
    return CH_TAKEN;
}

/* For all lanes, the number of the call. 0: the call will say why it is refused, as an earlier
 * one failed. CH_TAKEN: another call runs. */
CH_FN uint64_t ch_check_begin(const struct ch_device_team *team, struct ch_lanes g)
{
    uint64_t number = 0;

    /* ch_lanes_broadcast has one word for a block, and a barrier of the block ends in it: lane
     * 0 must not store the number before all lanes have read the status of the barrier. */
    ch_lanes_sync(g);
    if (g.lane == 0 && ch_bits_load((const unsigned long long *)&team->dup->failed) == 0)
        number = ch_check_acquire(team);
    return ch_lanes_broadcast(g, number);
}

/* Lane 0, at the end of a call that did not fail, before the lanes synchronise. */
CH_FN void ch_check_release(const struct ch_device_team *team, struct ch_lanes g)
{
    if (__builtin_expect(team->is_checked == 0, 1) || g.lane != 0) return;
    __threadfence(); /* the state that the call leaves is there for the next one */
    ch_bits_store((unsigned long long *)&team->dup->running, (unsigned long long)CH_RUNS_NOT);
}

/* The two packets that `writer` has for `owner`, in the owner's memory. */
CH_FN struct ch_packet *ch_check_packets(const struct ch_device_team *team, const char *sync,
                                         uint32_t writer, uint64_t number)
{
    const uint64_t set = (number & 1) * team->n + writer;

    return (struct ch_packet *)(sync + ch_device_check_offset(&team->layout, team->n)) +
           2 * set;
}

/* One lane: what a peer calls, once it has come. */
CH_FN chorus_status ch_check_take(const struct ch_packet packets[2], uint64_t number,
                                  struct ch_made *theirs)
{
    struct ch_wait w = {0, 0, 0, 0};
    chorus_status st = CHORUS_OK;

    while ((!ch_packet_load(&packets[0], number, &theirs->word) ||
            !ch_packet_load(&packets[1], number, &theirs->count)) &&
           st == CHORUS_OK)
        st = ch_wait_slow(ch_wait_policy_here(), &w);
    return st;
}

/* One lane: the host is to name both calls. */
CH_FN void ch_report_difference(const struct ch_device_team *team, uint32_t pe, uint64_t number,
                                struct ch_made mine, struct ch_made theirs)
{
    struct ch_kernel_fault *fault = &ch_state.terms.fault[ch_fault_inside_at(team->id)];

    if (atomicCAS_system(&fault->claimed, 0u, 1u) != 0u) return;
    fault->kind = CH_FAULT_DIFFERS;
    fault->late_pe = pe;
    fault->team = team->id;
    fault->number = number;
    fault->mine = mine;
    fault->theirs = theirs;
    __threadfence_system(); /* the status last */
    *(volatile int *)&fault->status = CHORUS_ERR_ARG;
}

/* One lane: compare with a peer. */
CH_FN chorus_status ch_check_peer(const struct ch_device_team *team, const char *sync,
                                  uint32_t pe, uint64_t number, struct ch_made mine)
{
    struct ch_made theirs;
    const chorus_status st =
        ch_check_take(ch_check_packets(team, sync, pe, number), number, &theirs);

    if (st != CHORUS_OK) {
        ch_report_late(team->id, st, pe);
        return st;
    }
    if (theirs.word == mine.word && theirs.count == mine.count) return CHORUS_OK;
    ch_report_difference(team, pe, number, mine, theirs);
    return CHORUS_ERR_ARG;
}

/* All lanes. After a failure the team is unusable. */
CH_PART chorus_status ch_check_all(const struct ch_device_team *team,
                                   const struct ch_peer *peers, struct ch_made mine,
                                   struct ch_lanes g)
{
    const uint64_t number = ch_check_begin(team, g);
    chorus_status st = CHORUS_OK;

    if ((number & CH_TAKEN) != 0) return CHORUS_ERR_STATE;
    if (number == 0) return CHORUS_OK;
    for (uint32_t pe = g.lane; pe < team->n; pe += g.width) {
        struct ch_packet *there = ch_check_packets(team, peers[pe].sync, team->me, number);

        ch_packet_store(&there[0], mine.word, number);
        ch_packet_store(&there[1], mine.count, number);
    }
    for (uint32_t pe = g.lane; pe < team->n && st == CHORUS_OK; pe += g.width)
        st = ch_check_peer(team, peers[team->me].sync, pe, number, mine);
    if (!ch_lanes_any(g, st != CHORUS_OK)) {
        if (g.lane == 0) team->dup->checked = number;
        return CHORUS_OK;
    }
    ch_fail_call(team, st, team->me, g);
    return ch_lanes_any(g, st == CHORUS_ERR_ARG) ? CHORUS_ERR_ARG : ch_lanes_agree(st, g);
}

/* Before a call of `count` elements: c is its team's, with its buffers and root. */
CH_FN chorus_status ch_check_call(chorus_coll coll, const struct ch_device_team *team,
                                  const struct ch_coll *c, uint32_t type, uint32_t op,
                                  uint64_t count, struct ch_lanes g)
{
    const struct ch_lanes p = ch_lanes_of_part(g);
    chorus_status st = CHORUS_OK;

    if (__builtin_expect(team->is_checked == 0, 1)) return CHORUS_OK;
    if (p.lane < p.width)
        st = ch_check_all(team, c->peers, ch_made_of(coll, c, type, op, count), p);
    return ch_status_of_part(st, g);
}

#endif /* CHORUS_DEVICE_CHECK_CUH */
