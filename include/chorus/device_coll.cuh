/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_coll.cuh: collectives inside kernels; of chorus_device.cuh.
 *
 * The bodies are the library's, on duplicate 0 of the team, whose numbers are in the GPU's
 * memory: so calls here and by hosts may follow each other. What a few chunks of packets take
 * is an exchange of them, which orders itself: such a call costs no fence. Longer ones access
 * buffers directly, and barriers show what was written before: those have one release where the
 * call begins, in the lanes that signal, and their waits acquire.
 *
 * A call takes its team by one atomic access, which gives it the number of the last exchange,
 * and gives it back by the store of the new one.
 */
#ifndef CHORUS_DEVICE_COLL_CUH
#define CHORUS_DEVICE_COLL_CUH

#include "coll/algo/inside_kernels.h"

#include "chorus/device_check.cuh"

/* --- what the calls are made of --------------------------------------------------------- */
CH_FN struct ch_coll ch_coll_on_device_team(const struct ch_device_team *team, void *dest,
                                            const void *source, size_t count, size_t elem_bytes)
{
    const struct ch_slice all = {0, count};
    struct ch_coll c;

    ch_coll_init(&c, team->me, team->n, team == &ch_state.world ? ch_state.peers : team->peers,
                 &team->layout);
    __builtin_assume(c.n > 0 && c.me < c.n);
    __builtin_assume(team->remotes != 0 || c.n <= CH_DEVICE_PES_MAX);
    ch_coll_set_cta(&c, 0, team->dup);
    ch_coll_set_buffers(&c, (char *)dest, (const char *)source, count, elem_bytes, all);
    c.type = CHORUS_TYPE_u8;
    c.op = CHORUS_OP_sum;
    return c;
}

/* The first call of the file's kernels that is refused says why. */
CH_PART void ch_say_refused(chorus_team_t handle, int root)
{
    static __device__ unsigned is_said;
    const struct ch_device_team *team = ch_team_of(handle);

    if (!ch_is_first(&is_said)) return;
    if (team == 0)
        printf("chorus: PE %u: a kernel called a collective of team %d, and this PE is in no "
               "such team: it was destroyed, or never made; the call returned CHORUS_ERR_ARG "
               "(said once)\n",
               ch_state.world.me, handle);
    else
        printf("chorus: PE %u: a kernel called a collective with root %d, and its team has %u "
               "PEs; the call returned CHORUS_ERR_ARG (said once)\n",
               ch_state.world.me, root, team->n);
}

/* The PE is in no team of that handle, or the team has no such root, or the file has no state.
 * By its address, so that callers have no stack for what is printed. */
CH_PART int ch_refuse_call(chorus_team_t handle, int root)
{
    ch_expect_state();
    ch_by_address(ch_say_refused)(handle, root);
    return CHORUS_ERR_ARG;
}

/* Do messages of so many bytes go in packets? */
CH_FN int ch_is_short(const struct ch_device_team *team, size_t bytes)
{
    return bytes - 1 < team->short_bytes; /* not 0 bytes */
}

/* clang-format off */
/* The algorithms of calls inside kernels: for a few chunks of packets, and for longer messages.
 * This file does not include CH_ALGO_LIST, so that its changes compile no program again. */
#define CH_SMALL_LIST(X)                     \
    X(broadcast, ch_broadcast_push_ll)       \
    X(fcollect, ch_fcollect_push_ll)         \
    X(alltoall, ch_alltoall_push_ll)         \
    X(reduce, ch_reduce_one_shot_ll)         \
    X(reducescatter, ch_reducescatter_push_ll)
#define CH_LARGE_LIST(X)                     \
    X(broadcast, ch_broadcast_pull)          \
    X(fcollect, ch_fcollect_direct)          \
    X(alltoall, ch_alltoall_direct)          \
    X(reduce, ch_reduce_two_shot)            \
    X(reducescatter, ch_reducescatter_pull)
/* clang-format on */

/* The body for a collective, which is a constant of each call. */
#define CH_RUN(COLL, fn) \
    if (coll == CHORUS_COLL_##COLL) return fn(c, g);

CH_FN chorus_status ch_run_packets(chorus_coll coll, const struct ch_coll *c, struct ch_lanes g)
{
    CH_SMALL_LIST(CH_RUN)
    return CHORUS_ERR_ARG;
}

CH_FN chorus_status ch_run_plain(chorus_coll coll, const struct ch_coll *c, struct ch_lanes g)
{
    CH_LARGE_LIST(CH_RUN)
    return CHORUS_ERR_ARG;
}

/* What lane 0 asked for, which others have as 0: the team's number, with CH_TAKEN if another
 * call has the team; and not 0 if a call on it failed, on streams too. */
struct ch_ticket {
    uint64_t number, failed;
};

/* Lane 0: ask for the team. The lanes' sync, which follows, and the load of the source need not
 * wait for either, so nothing is made of them before. */
CH_FN struct ch_ticket ch_take(struct ch_dup *dup, struct ch_lanes g)
{
    struct ch_ticket ticket = {0, 0};

    if (g.lane == 0) {
        ticket.failed = ch_bits_load((const unsigned long long *)&dup->failed);
        asm volatile("atom.relaxed.gpu.global.or.b64 %0, [%1], %2;"
                     : "=l"(ticket.number)
                     : "l"(&dup->exchanges[CH_CELL_ll]), "l"(CH_TAKEN)
                     : "memory");
    }
    return ticket;
}

/* What all lanes are to know of it: the number, with CH_TAKEN if the call is refused. */
CH_FN uint64_t ch_ticket_number(struct ch_ticket ticket)
{
    return ticket.number | (ch_opaque_after_loads(ticket.failed) != 0 ? CH_TAKEN : 0);
}

/* Lane 0: give it back with its number. */
CH_FN void ch_put_back(const struct ch_device_team *team, uint64_t number, struct ch_lanes g)
{
    if (g.lane == 0)
        ch_bits_store((unsigned long long *)&team->dup->exchanges[CH_CELL_ll],
                      (unsigned long long)number);
}

/* Lane 0: give it back with the number that it has in memory, so that no register keeps it. */
CH_FN void ch_put_back_unchanged(const struct ch_device_team *team, struct ch_lanes g)
{
    if (g.lane == 0)
        asm volatile(
            "red.relaxed.gpu.global.and.b64 [%0], %1;" ::"l"(&team->dup->exchanges[CH_CELL_ll]),
            "l"(~CH_TAKEN)
            : "memory");
}

/* Between two barriers of its lanes: what they wrote before is there for the body, and what it
 * wrote, for them all. */
CH_FN int ch_call_in_packets(chorus_coll coll, const struct ch_device_team *team,
                             struct ch_coll c, struct ch_lanes g)
{
    const struct ch_ticket ticket = ch_take(team->dup, g);
    uint64_t numbers[CH_CELL_COUNT] = {0};
    uint32_t late_pe = team->me;
    int is_known = 0;
    chorus_status st;

    c.policy = ch_wait_policy_here();
    c.late_peer = &late_pe;
    numbers[CH_CELL_ll] = ticket.number;
    c.broken = ticket.failed;
    /* Its address in one form: beside the generic address, that in global memory has registers
     * of its own. */
    c.src = (const char *)(uintptr_t)ch_opaque_after_loads((uintptr_t)c.src);
    c.dst = (char *)(uintptr_t)ch_opaque_after_loads((uintptr_t)c.dst);
    c.exchanges = numbers;
    c.is_known = &is_known;
    ch_lanes_sync(g);
    st = ch_run_packets(coll, &c, g);
    if ((numbers[CH_CELL_ll] & CH_TAKEN) != 0) return CHORUS_ERR_STATE;
    if (st == CHORUS_OK)
        ch_put_back(team, numbers[CH_CELL_ll], g);
    else
        ch_fail_call(team, st, late_pe, g);
    ch_lanes_sync(g); /* the next call may be any lane's */
    return st;
}

CH_FN int ch_call_plain(chorus_coll coll, const struct ch_device_team *team, struct ch_coll c,
                        struct ch_lanes g)
{
    const struct ch_ticket ticket = ch_take(team->dup, g);
    uint32_t late_pe = team->me;
    chorus_status st;

    c.late_peer = &late_pe;
    ch_lanes_sync(g);
    if (g.lane < c.n) ch_publish();
    c.policy = ch_wait_policy_here();
    if ((ch_lanes_broadcast(g, ch_ticket_number(ticket)) & CH_TAKEN) != 0)
        return CHORUS_ERR_STATE;
    st = ch_run_plain(coll, &c, g);
    g = ch_lanes_opaque(g);
    ch_lanes_sync(g); /* all lanes have done what was left to do */
    if (st != CHORUS_OK) {
        ch_fail_call(team, st, late_pe, g);
        return st;
    }
    /* The epoch is there for the block that takes the team next. */
    if (g.lane == 0) asm volatile("fence.acq_rel.gpu;" ::: "memory");
    ch_put_back_unchanged(team, g);
    ch_lanes_sync(g); /* the next call may be any lane's */
    return CHORUS_OK;
}

#include "chorus/device_apart.cuh"

/* The barrier of at most a warp's lanes, which know the number, after their fence. */
CH_FN chorus_status ch_run_barrier(const struct ch_device_team *team, uint64_t number,
                                   struct ch_lanes g)
{
    struct ch_coll c = ch_coll_on_device_team(team, 0, 0, 0, 1);
    uint64_t numbers[CH_CELL_COUNT] = {0};
    uint32_t late_pe = team->me;
    int is_known = 1;
    chorus_status st = CHORUS_OK;

    if ((number & CH_TAKEN) != 0) return CHORUS_ERR_STATE;
    if (team->remotes != 0) {
        if (g.lane == 0) st = ch_part_barrier(team, number);
        return (chorus_status)ch_lanes_broadcast(g, (uint64_t)st); /* of a block, too */
    }
    numbers[CH_CELL_ll] = number;
    c.policy = ch_wait_policy_here();
    c.late_peer = &late_pe;
    c.exchanges = numbers;
    c.is_known = &is_known;
    st = ch_barrier_push(&c, g);
    if (st == CHORUS_OK) {
        ch_put_back(team, numbers[CH_CELL_ll], g);
        ch_check_release(team, g);
    } else {
        ch_fail_call(team, st, late_pe, g);
    }
    return st;
}

/* A block leaves it to its first warp, whose fence and signals are then alone on their way. The
 * second one asks for the team meanwhile, as a thread's atomic operation and its fence take
 * their times one after the other. */
CH_FN int ch_sync_block(const struct ch_device_team *team, struct ch_lanes g)
{
    __shared__ uint64_t number;
    const struct ch_lanes first = {g.lane, CH_WARP_LANES, CH_LANES_FEW},
                          second = {g.lane - CH_WARP_LANES, g.width, CH_LANES_FEW};
    chorus_status st = CHORUS_OK;

    ch_lanes_sync(g); /* what any lane wrote is before the fence */
    if (g.lane < CH_WARP_LANES) ch_publish();
    if (second.lane == 0) number = ch_ticket_number(ch_take(team->dup, second));
    ch_lanes_sync(g); /* the number is there */
    if (g.lane < CH_WARP_LANES) st = ch_run_barrier(team, number, first);
    return (int)ch_lanes_broadcast(g, (uint64_t)st);
}

CH_FN int ch_sync_team(chorus_team_t handle, struct ch_lanes g)
{
    const struct ch_device_team *team = ch_team_of(handle);
    struct ch_ticket ticket;
    chorus_status st;
    struct ch_coll c;

    if (team == 0) return ch_refuse_call(handle, 0);
    c = ch_coll_on_device_team(team, 0, 0, 0, 1);
    st = ch_check_call(CHORUS_COLL_barrier, team, &c, 0, 0, 0, g);
    if (st != CHORUS_OK) return st;
    if (CH_IS_BLOCK(g) && g.width > CH_WARP_LANES) return ch_sync_block(team, g);
    ticket = ch_take(team->dup, g);
    ch_lanes_sync(g); /* what any lane wrote is before the fence */
    ch_publish();
    ticket.failed =
        ch_lanes_broadcast(g, ticket.failed); /* looked at after the fence, not before */
    ticket.number = ch_lanes_broadcast(g, ticket.number);
    return ch_run_barrier(team, ch_ticket_number(ticket), g);
}

/* All PEs, for the forms that return nothing: what they would is reported. */
CH_FN void ch_report_code(int code, struct ch_lanes g)
{
    if (code != CHORUS_OK && g.lane == 0)
        ch_report_late(0, (chorus_status)code, ch_state.world.me);
}

/* Nothing is computed for both ways before it is known which is needed. */
CH_FN int ch_run_call(chorus_coll coll, const struct ch_device_team *team, struct ch_coll *c,
                      struct ch_lanes g)
{
    if (ch_is_short(team, ch_bytes(c))) return ch_call_in_packets(coll, team, *c, g);
    if (ch_bytes(c) == 0) return CHORUS_OK;
    c->src = (const char *)(uintptr_t)ch_opaque_after_loads((uintptr_t)c->src);
    c->dst = (char *)(uintptr_t)ch_opaque_after_loads((uintptr_t)c->dst);
    return ch_call_plain(coll, team, *c, ch_lanes_opaque(g));
}

template <chorus_coll COLL>
CH_FN int ch_move_call(chorus_team_t handle, void *dest, const void *source, size_t count,
                       size_t elem_bytes, uint32_t type, int root, struct ch_lanes g)
{
    const struct ch_device_team *team = ch_team_of(handle);
    const size_t bytes = count * elem_bytes;
    struct ch_coll c;

    if (team == 0 || root < 0 || (uint32_t)root >= team->n) return ch_refuse_call(handle, root);
    if (!ch_is_short(team, bytes) && team->is_away)
        return ch_call_away<COLL, CHORUS_TYPE_u8, CHORUS_OP_sum, 1>(
            team, dest, source, bytes, (uint32_t)root, type, elem_bytes, g);
    c = ch_coll_on_device_team(team, dest, source, bytes, 1);
    c.root = (uint32_t)root;
    return ch_run_call(COLL, team, &c, g);
}

template <chorus_coll COLL, uint32_t TYPE, uint32_t OP, size_t BYTES>
CH_FN int ch_combine_call(chorus_team_t handle, void *dest, const void *source, size_t count,
                          struct ch_lanes g)
{
    const struct ch_device_team *team = ch_team_of(handle);
    struct ch_coll c;

    if (team == 0) return ch_refuse_call(handle, 0);
    if (!ch_is_short(team, count * BYTES) && team->is_away)
        return ch_call_away<COLL, TYPE, OP, BYTES>(team, dest, source, count, 0, TYPE, BYTES,
                                                   g);
    c = ch_coll_on_device_team(team, dest, source, count, BYTES);
    c.type = TYPE;
    c.op = OP;
    return ch_run_call(COLL, team, &c, g);
}

/* --- barriers --------------------------------------------------------------------------- */
/**
 * Meet all PEs of a team, as the functions of these names in chorus.h, without _warp and
 * _block.
 *
 * @param team  a team that this PE is in
 *
 * Collective: every PE of the team, in the same order of calls on it; forms may differ.
 * Threads:    one thread, one warp or one block of each PE; calls on a team one at a time, so
 *             blocks that call side by side have a team each. Between a call by some threads of
 *             a block and a later one by more of them the program has a barrier of the block.
 * Ordering:   what the calling threads stored, put and changed by atomics before is complete,
 *             and seen by the threads that call on other PEs, after it. What other threads of
 *             the PE did, once these have seen it: after a barrier of the grid. Also of sync.
 * Errors:     ERR_ARG for a bad team; ERR_STATE while another call in a kernel is on it, or
 *             after a call on it failed, on streams too; ERR_TIMEOUT, ERR_ABORTED, and with
 *             CHORUS_CHECK ERR_ARG where PEs make different calls, after which the team is
 *             unusable; on all threads alike. The forms for all PEs report instead.
 * Source:     NVSHMEM, nvshmemx_barrier_block and related calls.
 * Since:      0.1
 */
#define CHORUS_DEFINE_BARRIERS(SCOPE)                               \
    CHORUS_DEVICE int chorusx_barrier_##SCOPE(chorus_team_t team)   \
    {                                                               \
        return ch_sync_team(team, ch_lanes_of_##SCOPE());           \
    }                                                               \
    CHORUS_DEVICE void chorusx_barrier_all_##SCOPE(void)            \
    {                                                               \
        const struct ch_lanes g = ch_lanes_of_##SCOPE();            \
                                                                    \
        ch_report_code(ch_sync_team(CHORUS_TEAM_WORLD, g), g);      \
    }                                                               \
    CHORUS_DEVICE int chorusx_team_sync_##SCOPE(chorus_team_t team) \
    {                                                               \
        return ch_sync_team(team, ch_lanes_of_##SCOPE());           \
    }                                                               \
    CHORUS_DEVICE void chorusx_sync_all_##SCOPE(void)               \
    {                                                               \
        const struct ch_lanes g = ch_lanes_of_##SCOPE();            \
                                                                    \
        ch_report_code(ch_sync_team(CHORUS_TEAM_WORLD, g), g);      \
    }
CHORUS_DEFINE_BARRIERS(warp)
CHORUS_DEFINE_BARRIERS(block)
#undef CHORUS_DEFINE_BARRIERS

#ifdef __CUDA_ARCH__
CHORUS_BOTH int chorus_barrier(chorus_team_t team)
{
    return ch_sync_team(team, ch_lanes_of_thread());
}

CHORUS_BOTH void chorus_barrier_all(void)
{
    const struct ch_lanes g = ch_lanes_of_thread();

    ch_report_code(ch_sync_team(CHORUS_TEAM_WORLD, g), g);
}

CHORUS_BOTH int chorus_team_sync(chorus_team_t team)
{
    return ch_sync_team(team, ch_lanes_of_thread());
}

CHORUS_BOTH void chorus_sync_all(void)
{
    const struct ch_lanes g = ch_lanes_of_thread();

    ch_report_code(ch_sync_team(CHORUS_TEAM_WORLD, g), g);
}
#endif /* __CUDA_ARCH__ */

/* --- collectives that move -------------------------------------------------------------- */
/**
 * As the functions of these names in chorus.h, without _warp and _block.
 *
 *     broadcast:  dest[i] = source of root [i]
 *     fcollect:   dest[p * nelems + i] = source of PE p [i]
 *     alltoall:   dest[p * nelems + i] = source of PE p [me * nelems + i],   0 <= i < nelems
 *
 * @param team    a team that this PE is in; me is this PE's number in it
 * @param dest    [out] symmetric: nelems elements, of fcollect and alltoall for each PE
 * @param source  [in] symmetric: nelems elements, of alltoall for each PE. May be dest in a
 *                broadcast, this PE's block of dest in an fcollect; else disjoint
 * @param nelems  elements; 0 does nothing
 * @param bytes   of the mem forms, in place of nelems
 * @param root    number in team
 *
 * Collective: every PE of the team, in the same order of calls on it; forms may differ.
 * Threads:    one thread, all lanes of one warp or all threads of one block of each PE; calls
 *             on a team as of chorusx_barrier_block.
 * Ordering:   dest is complete and source may be reused on return, for all threads that
 *             called; what any of them wrote to source before is sent. Implies no barrier.
 * Result:     a copy, bit for bit.
 * Errors:     as of chorusx_barrier_block; ERR_ARG for a bad root, too. Nothing is done then,
 *             nor after ERR_STATE; after others dest is undefined.
 * Source:     NVSHMEM, nvshmemx_T_broadcast_block and related calls.
 * Since:      0.1
 */
#define CHORUS_DEFINE_MOVES_MEM(KIND, PREFIX, TAIL, LANES)                                   \
    KIND int PREFIX##_broadcastmem##TAIL(chorus_team_t team, void *dest, const void *source, \
                                         size_t bytes, int root)                             \
    {                                                                                        \
        return ch_move_call<CHORUS_COLL_broadcast>(team, dest, source, bytes, 1,             \
                                                   CHORUS_TYPE_u8, root, LANES());           \
    }                                                                                        \
    KIND int PREFIX##_fcollectmem##TAIL(chorus_team_t team, void *dest, const void *source,  \
                                        size_t bytes)                                        \
    {                                                                                        \
        return ch_move_call<CHORUS_COLL_fcollect>(team, dest, source, bytes, 1,              \
                                                  CHORUS_TYPE_u8, 0, LANES());               \
    }                                                                                        \
    KIND int PREFIX##_alltoallmem##TAIL(chorus_team_t team, void *dest, const void *source,  \
                                        size_t bytes)                                        \
    {                                                                                        \
        return ch_move_call<CHORUS_COLL_alltoall>(team, dest, source, bytes, 1,              \
                                                  CHORUS_TYPE_u8, 0, LANES());               \
    }
#define CHORUS_DEFINE_MOVES(KIND, PREFIX, NAME, T, TYPE, TAIL, LANES)                          \
    KIND int PREFIX##_##NAME##_broadcast##TAIL(chorus_team_t team, T *dest, const T *source,   \
                                               size_t nelems, int root)                        \
    {                                                                                          \
        return ch_move_call<CHORUS_COLL_broadcast>(team, dest, source, nelems, sizeof(T),      \
                                                   TYPE, root, LANES());                       \
    }                                                                                          \
    KIND int PREFIX##_##NAME##_fcollect##TAIL(chorus_team_t team, T *dest, const T *source,    \
                                              size_t nelems)                                   \
    {                                                                                          \
        return ch_move_call<CHORUS_COLL_fcollect>(team, dest, source, nelems, sizeof(T), TYPE, \
                                                  0, LANES());                                 \
    }                                                                                          \
    KIND int PREFIX##_##NAME##_alltoall##TAIL(chorus_team_t team, T *dest, const T *source,    \
                                              size_t nelems)                                   \
    {                                                                                          \
        return ch_move_call<CHORUS_COLL_alltoall>(team, dest, source, nelems, sizeof(T), TYPE, \
                                                  0, LANES());                                 \
    }

CHORUS_DEFINE_MOVES_MEM(CHORUS_DEVICE, chorusx, _warp, ch_lanes_of_warp)
CHORUS_DEFINE_MOVES_MEM(CHORUS_DEVICE, chorusx, _block, ch_lanes_of_block)
#define CHORUS_DEFINE_TYPED(NAME, T, kind)                                              \
    CHORUS_DEFINE_MOVES(CHORUS_DEVICE, chorusx, NAME, T, kind, _warp, ch_lanes_of_warp) \
    CHORUS_DEFINE_MOVES(CHORUS_DEVICE, chorusx, NAME, T, kind, _block, ch_lanes_of_block)
CHORUS_DEVICE_TYPES(CHORUS_DEFINE_TYPED)
#undef CHORUS_DEFINE_TYPED

#ifdef __CUDA_ARCH__
CHORUS_DEFINE_MOVES_MEM(CHORUS_BOTH, chorus, , ch_lanes_of_thread)
#define CHORUS_DEFINE_TYPED(NAME, T, kind) \
    CHORUS_DEFINE_MOVES(CHORUS_BOTH, chorus, NAME, T, kind, , ch_lanes_of_thread)
CHORUS_DEVICE_TYPES(CHORUS_DEFINE_TYPED)
#undef CHORUS_DEFINE_TYPED
#endif /* __CUDA_ARCH__ */
#undef CHORUS_DEFINE_MOVES
#undef CHORUS_DEFINE_MOVES_MEM

/* --- collectives that combine ----------------------------------------------------------- */
/**
 * As the functions of these names in chorus.h, without _warp and _block.
 *
 *     reduce:         dest[i] = source of PE 0 [i] OP ... OP source of PE n - 1 [i]
 *     reducescatter:  the same of source [me * nreduce + i],   0 <= i < nreduce
 *
 * @param team     a team that this PE is in; me is this PE's number in it, n the number of its
 *                 PEs
 * @param dest     [out] symmetric, nreduce elements
 * @param source   [in] symmetric: nreduce elements, of reducescatter for each PE. May be dest;
 *                 in a reducescatter dest may also be this PE's block of it. Else disjoint
 * @param nreduce  elements; 0 does nothing
 *
 * Collective: every PE of the team, in the same order of calls on it; forms may differ.
 * Threads:    as of chorusx_T_broadcast_block.
 * Ordering:   as of chorusx_T_broadcast_block.
 * Result:     the same bits on every PE, combined in PE order; 16-bit floats are combined in
 *             float and rounded once. As of the blocking call, if that does so too; but a
 *             file compiled with -ftz=true (--use_fast_math) combines denormal floats as 0.
 *             On a team of several groups of near PEs, the elements of a group are combined and
 *             rounded before those of others.
 * Errors:     as of chorusx_barrier_block. After ERR_ARG and ERR_STATE nothing is done, after
 *             others dest is undefined.
 * Source:     NVSHMEM, nvshmemx_T_OP_reduce_block and related calls; reducescatter likewise.
 * Since:      0.1
 */
#define CHORUS_DEFINE_COMBINES(KIND, PREFIX, NAME, T, TYPE, OP, TAIL, LANES)                  \
    KIND int PREFIX##_##NAME##OP##_reduce##TAIL(chorus_team_t team, T *dest, const T *source, \
                                                size_t nreduce)                               \
    {                                                                                         \
        return ch_combine_call<CHORUS_COLL_reduce, TYPE, CHORUS_OP##OP, sizeof(T)>(           \
            team, dest, source, nreduce, LANES());                                            \
    }                                                                                         \
    KIND int PREFIX##_##NAME##OP##_reducescatter##TAIL(chorus_team_t team, T *dest,           \
                                                       const T *source, size_t nreduce)       \
    {                                                                                         \
        return ch_combine_call<CHORUS_COLL_reducescatter, TYPE, CHORUS_OP##OP, sizeof(T)>(    \
            team, dest, source, nreduce, LANES());                                            \
    }
/* Those of an operator and a type; CHORUS_DEFINE_COMBINE is one scope's or more. */
#define CHORUS_DEFINE_OP(OP, NAMES) NAMES(CHORUS_DEFINE_COMBINE, OP)

#define CHORUS_DEFINE_COMBINE(OP, NAME, T, TYPE)                                               \
    CHORUS_DEFINE_COMBINES(CHORUS_DEVICE, chorusx, NAME, T, TYPE, OP, _warp, ch_lanes_of_warp) \
    CHORUS_DEFINE_COMBINES(CHORUS_DEVICE, chorusx, NAME, T, TYPE, OP, _block, ch_lanes_of_block)
CHORUS_DEVICE_REDUCE_LIST(CHORUS_DEFINE_OP)
#undef CHORUS_DEFINE_COMBINE

#ifdef __CUDA_ARCH__
#define CHORUS_DEFINE_COMBINE(OP, NAME, T, TYPE) \
    CHORUS_DEFINE_COMBINES(CHORUS_BOTH, chorus, NAME, T, TYPE, OP, , ch_lanes_of_thread)
CHORUS_DEVICE_REDUCE_LIST(CHORUS_DEFINE_OP)
#undef CHORUS_DEFINE_COMBINE
#endif /* __CUDA_ARCH__ */
#undef CHORUS_DEFINE_COMBINES

#endif /* CHORUS_DEVICE_COLL_CUH */
