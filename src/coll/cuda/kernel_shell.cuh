/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_shell.cuh: the code of a kernel before and after the algorithm. */
#ifndef CH_KERNEL_SHELL_CUH
#define CH_KERNEL_SHELL_CUH

#include "coll/cuda/kernel.h"
#include "coll/cuda/kernels.h"
#if CH_ROUTED
#include "base/route.h"
#include "coll/cuda/kernels_routed.h"
#include "coll/routed_bodies.h"
#else
#include "coll/kernel_bodies.h"
#endif
#include "coll/kind.h"

/* The state of this CTA. */
CH_FN struct ch_dup *ch_kernel_dup(const struct ch_kernel_args *a)
{
    return (struct ch_dup *)(a->dups + (size_t)(blockIdx.x * a->dup_bytes));
}

/* Its slots in the memory of the GPU, behind its positions. */
CH_FN struct ch_slot *ch_kernel_slots(const struct ch_kernel_args *a)
{
    return (struct ch_slot *)((char *)ch_kernel_dup(a) + CH_DEVICE_SLOTS_AT(a->n));
}

/* The address of the mark of failure, one for all CTAs, so that a call with more CTAs that is
 * queued after one with fewer also detects the failure. */
CH_FN uint64_t *ch_kernel_failed_mark(const struct ch_kernel_args *a)
{
    return &((struct ch_dup *)a->dups)->failed;
}

/* One lane: report to the host, unless it has not yet read the previous report. */
CH_FN void ch_report_fault(const struct ch_kernel_args *a, enum ch_fault_kind kind,
                           chorus_status st, uint32_t late_pe)
{
    if (atomicCAS_system(&a->fault->claimed, 0u, 1u) != 0u) return;
    a->fault->kind = kind;
    a->fault->late_pe = late_pe;
    a->fault->team = a->team;
    __threadfence_system(); /* pairs with front.c's load of the status */
    *(volatile int *)&a->fault->status = st;
}

/* Each lane: report the block that it found, if it found one whose lengths differ. */
CH_FN void ch_report_unequal(const struct ch_kernel_args *a, const struct ch_unequal *found)
{
    if (found->sent == found->expected) return;
    if (atomicCAS_system(&a->fault->block.claimed, 0u, 1u) != 0u) return;
    a->fault->block.team = a->team;
    a->fault->block.lengths = *found;
    __threadfence_system(); /* pairs with front.c's load of is_there */
    *(volatile int *)&a->fault->block.is_there = 1;
}

/* Each lane of a call that failed: report it, and set the mark. A lane whose wait failed
 * reports this, and then sets the mark for the calls that are queued after it. A lane that
 * finds the mark set without having waited is thus in a call that was queued later, or finds
 * the report made. One lane of every skipped call reports it: a graph that is launched again
 * after a failure fails every time. A call that found a kernel of the program using the team
 * fails too, since the calls of its peers may have begun. */
CH_FN void ch_call_report_failure(const struct ch_kernel_args *a, chorus_status st,
                                  uint32_t late_pe)
{
    volatile uint64_t *failed = ch_kernel_failed_mark(a);

    if (CH_ROUTED && late_pe == a->me && *failed == 0 && st != CHORUS_ERR_STATE) {
        ch_report_fault(a, CH_FAULT_UNSENT, st, late_pe);
        *failed = 1;
    } else if (late_pe != a->me) {
        ch_report_fault(a, CH_FAULT_LATE, st, late_pe);
        *failed = 1;
    } else if (blockIdx.x == 0 && threadIdx.x == 0 && *failed != 0) {
        ch_report_fault(a, CH_FAULT_SKIPPED, CHORUS_ERR_STATE, late_pe);
    } else if (blockIdx.x == 0 && threadIdx.x == 0 && st == CHORUS_ERR_STATE) {
        ch_report_fault(a, CH_FAULT_OVERLAP, st, late_pe);
        *failed = 1;
    }
}

/* The status of a call that ends with st: posts return none, but mark the ring. */
CH_FN chorus_status ch_call_status(const struct ch_kernel_args *a, chorus_status st)
{
    if (!CH_ROUTED || st != CHORUS_OK || a->ring_broken == 0) return st;
    return (chorus_status)(int64_t) * (const volatile uint64_t *)a->ring_broken;
}

/* The end of a call that has returned st. The next kernel of a team whose PEs are beside each
 * other may store words directly that this one has posted to the ring, and must not overtake
 * it. */
CH_FN chorus_status ch_call_end(const struct ch_kernel_args *a, const struct ch_coll *c,
                                chorus_status st, struct ch_lanes g)
{
#if CH_ROUTED
    if (st != CHORUS_OK || !a->is_beside) return st;
    ch_lanes_sync(g); /* other lanes have posted theirs */
    for (uint32_t pe = 0; pe < c->n && g.lane == 0; pe++) {
        if (c->remotes[pe].link == 0) continue;
        st = ch_route_quiet(c->remotes[pe].link);
        break;
    }
    return ch_lanes_agree(st, g);
#else
    (void)a, (void)c, (void)g;
    return st;
#endif
}

/* All lanes, at the end of a call outside graphs: count this CTA as ended. A stream that waits
 * for the count lets the team's next call begin, on another stream, which reads the state of
 * this CTA. Both are on this GPU, so the scope of the GPU is sufficient; a release with system
 * scope would add 0.45 us to each call (two H200). The host also reads the count before a team
 * is destroyed. Stores of the call to peers may then be in flight for half a microsecond more,
 * but the wait by a stream and the synchronisation of all PEs that follow, before memory is
 * reused, take tens of microseconds. */
CH_FN void ch_call_count_end(const struct ch_kernel_args *a)
{
    __syncthreads(); /* all lanes have stored the state of the CTA */
    if (threadIdx.x == 0)
        asm volatile("red.release.gpu.global.add.u64 [%0], 1;" ::"l"(a->ended) : "memory");
}

/* Returns x, computed at this place. For a host call, whose addresses are all of global
 * memory. */
CH_FN void *ch_compute_here(const void *x)
{
    size_t address = __cvta_generic_to_global(x);

    asm volatile("" : "+l"(address));
    return __cvta_global_to_generic(address);
}

#if CH_ROUTED
/* Bring the routes closer, which do not change while the team exists: the first post of a call
 * would wait for two loads that depend on each other. */
CH_FN void ch_prefetch_routes(const struct ch_coll *c, struct ch_lanes g)
{
    const char *route = 0;

    if (c->remotes != 0 && g.lane < c->n) route = (const char *)c->remotes[g.lane].link;
    if (route == 0) return;
    asm volatile("prefetch.global.L1 [%0];" ::"l"(route));
    asm volatile("prefetch.global.L1 [%0];" ::"l"(route + sizeof(struct ch_route) - 1));
}
#endif

/*
 * Prepare the CTA, and wait for the previous kernel, unless the body does
 * (ch_wait_previous_call). Returns 0 if the call is skipped, as an earlier call failed.
 *
 * A small call takes as long as its chain of dependent loads and instructions, at about 280 and
 * 5 cycles each. Values that depend only on the arguments are therefore computed before the
 * wait: by a branch that is never taken, since no object is at address 1, or by settled. The
 * call does not wait separately for the mark of failure: it is loaded together with the epoch,
 * and messages are not sent before it has arrived. `zero` and `none` are 0 for every team size,
 * which the compiler does not know: it would otherwise load the address of the mark again from
 * the arguments, after the wait.
 */
CH_FN int ch_kernel_begin(struct ch_coll *c, enum ch_proto proto, struct ch_lanes g)
{
    const struct ch_pes others = ch_pes_others(c);
    const struct ch_turns t = ch_turns_of(others.count, g);
    const char *sync = c->peers[ch_pes_at(c, others, t.first)].sync;
    const uint64_t known = (uint64_t)sync | c->layout->dup_bytes | c->layout->chunk_bytes[0] |
                           t.first | t.step | t.lanes.width | t.lanes.lane;
    const uint32_t zero = c->n >> 31;
    const uint64_t none = 0 - (uint64_t)zero;

    c->src = (const char *)ch_compute_here(c->src);
    c->dst = (char *)ch_compute_here(c->dst);
    c->failed = (const uint64_t *)ch_compute_here((const char *)c->failed + zero);
    c->epoch = (uint64_t *)ch_compute_here(c->epoch);
    c->exchanges = (uint64_t *)ch_compute_here(c->exchanges);
    c->positions = (struct ch_positions *)ch_compute_here(c->positions);
    asm volatile("" : "+l"(c->count));
#if CH_ROUTED
    ch_prefetch_routes(c, g);
#endif
    if (known == 1) return 0;
    if (c->is_due) return 1;
    ch_kernel_wait_previous(c->lets_next);
    c->broken = *c->failed;
    if (proto == CH_PROTO_ll || proto == CH_PROTO_ll128) return 1;
    return (c->broken | (*c->epoch & none)) == 0;
}

/* The lanes of this CTA: a power of two, at most `most`. The compiler would otherwise load the
 * number of the lane from its special register again wherever it is used, also between a call's
 * first loads and its stores. */
CH_FN struct ch_lanes ch_kernel_lanes(uint32_t most)
{
    struct ch_lanes g = {threadIdx.x, blockDim.x};

    asm volatile("" : "+r"(g.lane));
    __builtin_assume(g.lane < most);
    __builtin_assume(g.width > CH_WARP_LANES && g.width <= most && ch_is_power(g.width));
    return g;
}

/* This CTA's part of the call, with elements of `type`. Only wide algorithms have CTAs on slim
 * duplicates; the others skip this test. */
CH_FN struct ch_coll ch_coll_of(const struct ch_kernel_args *a, uint32_t type, int is_wide)
{
    struct ch_dup *dup = ch_kernel_dup(a);
    struct ch_coll c;

    ch_coll_init(&c, a->me, a->n, CH_ROUTED ? a->peers_there : a->peers, &a->layout);
    ch_coll_set_cta(&c, blockIdx.x, dup);
    ch_coll_set_buffers(&c, a->dst, a->src, a->count, a->elem_bytes,
                        ch_part_of(&a->share, a->count, blockIdx.x));
    c.type = type;
    c.op = a->op;
    if (is_wide) c.sync_offset = ch_dup_offset(&a->layout, blockIdx.x);
    c.root = a->root;
    c.radix = a->radix;
    c.multicast = a->multicast;
    c.is_sync_alike = a->is_sync_alike;
    c.failed = ch_kernel_failed_mark(a);
    c.lets_next = a->lets_next;
    c.positions = (struct ch_positions *)((char *)dup + CH_DEVICE_POSITIONS_AT);
#if CH_ROUTED
    c.remotes = a->remotes;
    c.levels = a->levels;
#endif
    return c;
}

/* Let the pattern have the lists at `there`, of a large team of n. */
CH_FN void ch_set_lists(struct ch_pattern *pattern, const size_t *there, uint32_t n)
{
    pattern->dst_counts = there;
    pattern->dst_offsets = there + n;
    pattern->src_counts = there + (size_t)2 * n;
    pattern->src_offsets = there + (size_t)3 * n;
}

/* Give the CTA the pattern of the call's blocks and, if it is uneven, all of these. If their
 * lengths differ, the call goes on: were it to stop, its peers would wait. */
CH_FN void ch_set_pattern(struct ch_coll *c, struct ch_pattern *pattern,
                          struct ch_unequal *unequal, const struct ch_kernel_args *a,
                          const struct ch_kernel_pattern *p, int is_uneven)
{
    const size_t first = ch_part_of(&a->share, a->count, blockIdx.x).first;

    pattern->cta = blockIdx.x;
    pattern->ctas = gridDim.x;
    pattern->block_count = a->count;
    pattern->dst_step = p->dst_step;
    pattern->src_step = p->src_step;
    pattern->dst_counts = p->dst_counts;
    pattern->dst_offsets = p->dst_offsets;
    pattern->src_counts = p->src_counts;
    pattern->src_offsets = p->src_offsets;
    if (CH_ROUTED && p->lists_there != 0) ch_set_lists(pattern, p->lists_there, a->n);
    pattern->unequal = unequal;
    pattern->copies_less = 1;
    unequal->sent = 0;
    unequal->expected = 0;
    ch_coll_set_pattern(c, pattern, is_uneven ? 0 : first);
    if (!is_uneven) return;
    c->count = a->count;
    c->dst = a->dst;
    c->src = a->src;
}

/* An algorithm's function, with its type as a constant, in a kernel with these arguments, which
 * does `before` and `after` besides. The slots of routed kernels are in the memory of the GPU,
 * as teams of any number of PEs have one for each. */
#define CH_KERNEL_WITH(args, before, after, name, fn, T, kind, proto)           \
    extern "C" __global__ void __launch_bounds__(CH_LANES_##kind, 1) name args  \
    {                                                                           \
        __shared__ struct ch_slot slots[CH_KERNEL_PES_MAX];                     \
        const struct ch_lanes block = ch_kernel_lanes(CH_LANES_##kind);         \
        const struct ch_wait_policy policy = {a.aborted, a.timeout_ns};         \
        struct ch_coll c = ch_coll_of(&a, CHORUS_TYPE_##T, CH_IS_WIDE_##kind);  \
        struct ch_pattern pattern;                                              \
        struct ch_unequal unequal;                                              \
        uint32_t late_peer = a.me;                                              \
        chorus_status st;                                                       \
                                                                                \
        c.policy = &policy;                                                     \
        c.slots = CH_ROUTED ? ch_kernel_slots(&a) : slots;                      \
        c.late_peer = &late_peer;                                               \
        c.is_due = CH_IS_DUE_##kind;                                            \
        before;                                                                 \
        st = CHORUS_ERR_ABORTED;                                                \
        if (ch_kernel_begin(&c, CH_PROTO_##proto, block))                       \
            st = ch_call_status(&a, ch_call_end(&a, &c, fn(&c, block), block)); \
        if (st != CHORUS_OK) ch_call_report_failure(&a, st, late_peer);         \
        after;                                                                  \
        if (a.ended != 0) ch_call_count_end(&a);                                \
    }
#define CH_KERNEL_NAMED(name, fn, T, kind, proto)                                    \
    CH_KERNEL_WITH((const __grid_constant__ struct ch_kernel_args a), (void)pattern, \
                   (void)unequal, name, fn, T, kind, proto)
#if CH_ROUTED
#define CH_KERNEL_NAME(fn, T) ch_r_##fn##_##T
#else
#define CH_KERNEL_NAME(fn, T) ch_k_##fn##_##T
#endif
#define CH_KERNEL(fn, T, kind, proto) CH_KERNEL_NAMED(CH_KERNEL_NAME(fn, T), fn, T, kind, proto)
#define CH_KERNEL_OF_PATTERN(fn, T, kind, proto, is_uneven)                                   \
    CH_KERNEL_WITH((const __grid_constant__ struct ch_kernel_args a,                          \
                    const __grid_constant__ struct ch_kernel_pattern p),                      \
                   ch_set_pattern(&c, &pattern, &unequal, &a, &p, is_uneven),                 \
                   if (is_uneven) ch_report_unequal(&a, &unequal), CH_KERNEL_NAME(fn, T), fn, \
                   T, kind, proto)

/* Does every build have a kernel of this kind, one for each type? Expands to yes or no. */
#define CH_KERNEL_IF_plain(yes, no) yes
#define CH_KERNEL_IF_routed(yes, no) yes
#define CH_KERNEL_IF_wide(yes, no) yes
#define CH_KERNEL_IF_folding(yes, no) yes
#define CH_KERNEL_IF_due(yes, no) yes
#define CH_KERNEL_IF_sliced(yes, no) yes
#define CH_KERNEL_IF_multicast(yes, no) no
#define CH_KERNEL_IF_integers(yes, no) no
#define CH_KERNEL_IF_engine(yes, no) no

#endif /* CH_KERNEL_SHELL_CUH */
