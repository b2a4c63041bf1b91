/* SPDX-License-Identifier: Apache-2.0 */
/*
 * algorithm.h: the list of algorithms. Users write the names in tables and see them in logs;
 * indices are used within a process only.
 */
#ifndef CH_ALGORITHM_H
#define CH_ALGORITHM_H

#include "base/collective.h"
#include "coll/kind.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* clang-format off */
/* What an algorithm requires of a request: name, bit, text. */
#define CH_NEED_LIST(X)                                                             \
    X(map, 1u, "loads and stores reach every peer")                                 \
    X(put, 2u, "puts reach every peer, by stores or by messages")                 \
    X(whole, 4u, "partial results keep the type's precision: not half, bfloat16")   \
    X(apart, 256u, "source and dest do not overlap")                                  \
    X(copy_engine, 8u, "the GPUs have engines that copy between PEs")               \
    X(lines, 16u, "the link delivers lines of 128 bytes whole")                     \
    X(multicast, 32u, "NVLink switches multicast to all PEs, and combine this type (CHORUS_NVLS=1)") \
    X(exact, 64u, "any order of combining gives the same bits: integers")           \
    X(nodes, 128u, "PEs of the team are on several hosts")                          \
    X(symmetric_dest, 512u, "dest is in the symmetric heap")                        \
    X(symmetric_source, 1024u, "source is in the symmetric heap")                     \
    X(packets, 2048u, "stores reach the sync memory of every peer, each as a whole")

/*
 * The algorithms: collective, name, protocol, function, needs, takes a radix, steps, wire,
 * kernel (of CH_KERNEL_LIST in kind.h). Those of protocols ll and ll128 need `packets` besides,
 * since their packets are stores that a peer sees one by one, those of ll128 `lines`. The algorithms
 * inside kernels are listed in chorus/device_coll.cuh.
 *
 * Steps are signals that publish data (in a barrier: arrival) one behind another; permission
 * to write or to reuse a buffer is not a step. Wire is the most data bytes that any PE sends
 * or fetches, flags left out; in a barrier, the signals it sends. Formulas, in C: n PEs, k
 * radix, m bytes of a PE's message, e bytes of an element, s bytes of the message's largest
 * slice (m / n in whole elements), c chunks that a message goes through a FIFO in (1 where
 * there is no FIFO), p units of 16 bytes that a slot holds, o units that a PE's own slot
 * holds, b bytes of a chunk, r the root, h the hosts of the PEs (struct ch_nodes). Multicast is
 * counted as it is in software, by the PEs it reaches.
 */
#define CH_ALGO_LIST(X) \
    X(barrier, dissemination, signal, ch_barrier_dissemination, CH_NEED_put, 1, ch_rounds(n, k), ch_fan(n, k), plain) \
    X(barrier, all_push, signal, ch_barrier_push, CH_NEED_put, 0, 1, n - 1, plain) \
    X(barrier, hierarchical, signal, ch_barrier_hierarchical, CH_NEED_put | CH_NEED_nodes, 0, ch_nodes_barrier_steps(h), ch_nodes_barrier_wire(h), none) \
    X(broadcast, put_to_all, simple, ch_broadcast_put_to_all, CH_NEED_put | CH_NEED_symmetric_dest, 0, 1, (n - 1) * m, plain) \
    X(broadcast, pull, simple, ch_broadcast_pull, CH_NEED_map | CH_NEED_symmetric_source, 0, 1, m, plain) \
    X(broadcast, tree, simple, ch_broadcast_tree_simple, CH_NEED_put, 1, ch_depth(n, k), ch_min(k, n - 1) * m, plain) \
    X(broadcast, tree, ll, ch_broadcast_tree_ll, CH_NEED_put, 1, ch_depth(n, k), ch_min(k, n - 1) * m, plain) \
    X(broadcast, tree, ll128, ch_broadcast_tree_ll128, CH_NEED_put, 1, ch_depth(n, k), ch_min(k, n - 1) * m, plain) \
    X(broadcast, chain, simple, ch_broadcast_chain, CH_NEED_put, 0, n - 1, m, plain) \
    X(broadcast, board, simple, ch_broadcast_board_simple, CH_NEED_map, 0, 1, m, plain) \
    X(broadcast, board, ll, ch_broadcast_board_ll, CH_NEED_map, 0, 1, m, plain) \
    X(broadcast, board, ll128, ch_broadcast_board_ll128, CH_NEED_map, 0, 1, m, plain) \
    X(broadcast, push, ll, ch_broadcast_push_ll, CH_NEED_put, 0, 1, (n - 1) * m, plain) \
    X(broadcast, scatter_allgather, simple, ch_broadcast_scatter, CH_NEED_map | CH_NEED_symmetric_dest | CH_NEED_symmetric_source, 0, ch_min(2, n - 1), (n - 1) * ch_most_grains(m, n - 1), plain) \
    X(broadcast, multicast, simple, ch_broadcast_multicast, CH_NEED_map | CH_NEED_multicast | CH_NEED_symmetric_dest, 0, 1, (n - 1) * m, multicast) \
    X(broadcast, hierarchical, simple, ch_broadcast_hierarchical, CH_NEED_put | CH_NEED_nodes, 0, ch_nodes_broadcast_steps(h, r), ch_nodes_broadcast_wire(h, r, m), none) \
    X(broadcast, rails, simple, ch_broadcast_rails, CH_NEED_put | CH_NEED_nodes | CH_NEED_symmetric_dest | CH_NEED_symmetric_source, 0, 2 * ch_shared(h) + ch_rails_broadcast_steps(h, m, b), ch_rails_broadcast_wire(h, r, m, b), none) \
    X(fcollect, all_push, simple, ch_fcollect_direct, CH_NEED_put | CH_NEED_symmetric_dest, 0, 1, (n - 1) * m, wide) \
    X(fcollect, all_push, ll, ch_fcollect_push_ll, CH_NEED_put, 0, c, (n - 1) * m, due) \
    X(fcollect, all_push, ll128, ch_fcollect_push_ll128, CH_NEED_put, 0, c, (n - 1) * m, due) \
    X(fcollect, exchange, simple, ch_fcollect_push_simple, CH_NEED_put, 0, c, (n - 1) * m, none) \
    X(fcollect, ring, simple, ch_fcollect_ring, CH_NEED_put, 0, (n - 1) * ch_divide_up(c, 2), (n - 1) * m, plain) \
    X(fcollect, all_pull, simple, ch_fcollect_pull, CH_NEED_map | CH_NEED_symmetric_dest, 1, ch_rounds(n, k), (n - 1) * m, plain) \
    X(fcollect, bruck, simple, ch_fcollect_bruck, CH_NEED_put | CH_NEED_symmetric_dest, 1, ch_rounds(n, k), (n - 1) * m, plain) \
    X(fcollect, bruck, ll, ch_fcollect_bruck_ll, CH_NEED_put, 1, ch_gather_steps(n, k, m, p), (n - 1) * m, plain) \
    X(fcollect, multicast, simple, ch_fcollect_multicast, CH_NEED_map | CH_NEED_multicast | CH_NEED_symmetric_dest, 0, 1, (n - 1) * m, multicast) \
    X(fcollect, copy_engine, simple, ch_fcollect_engine, CH_NEED_map | CH_NEED_copy_engine | CH_NEED_symmetric_dest, 0, 1, (n - 1) * m, engine) \
    X(fcollect, hierarchical, simple, ch_fcollect_hierarchical, CH_NEED_put | CH_NEED_nodes | CH_NEED_symmetric_dest, 0, ch_nodes_fcollect_steps(h, m, b), ch_nodes_fcollect_wire(h, m), none) \
    X(fcollect, rails, simple, ch_fcollect_rails, CH_NEED_put | CH_NEED_nodes | CH_NEED_symmetric_dest, 0, 2 * ch_shared(h) + (h->count > 1 ? c * ch_divide_up(h->most, h->least) : 0), ch_rails_fcollect_wire(h, m), none) \
    X(alltoall, all_push, simple, ch_alltoall_direct, CH_NEED_put | CH_NEED_symmetric_dest, 0, 1, (n - 1) * m, wide) \
    X(alltoall, all_push, ll, ch_alltoall_push_ll, CH_NEED_put, 0, c, (n - 1) * m, due) \
    X(alltoall, all_push, ll128, ch_alltoall_push_ll128, CH_NEED_put, 0, c, (n - 1) * m, due) \
    X(alltoall, exchange, simple, ch_alltoall_push_simple, CH_NEED_put, 0, c, (n - 1) * m, none) \
    X(alltoall, all_pull, simple, ch_alltoall_pull, CH_NEED_map | CH_NEED_symmetric_source, 1, ch_rounds(n, k), (n - 1) * m, plain) \
    X(alltoall, bruck, ll, ch_alltoall_bruck, CH_NEED_put, 1, ch_forward_steps(n, k, m, p), ch_digits(n, k) * m, plain) \
    X(alltoall, copy_engine, simple, ch_alltoall_engine, CH_NEED_map | CH_NEED_copy_engine | CH_NEED_symmetric_dest, 0, 1, (n - 1) * m, engine) \
    X(alltoall, hierarchical, simple, ch_alltoall_hierarchical, CH_NEED_put | CH_NEED_nodes | CH_NEED_symmetric_dest | CH_NEED_symmetric_source, 0, ch_bundle_steps(h, m, b), ch_bundle_wire(h, m), none) \
    X(alltoall, rails, simple, ch_alltoall_rails, CH_NEED_put | CH_NEED_nodes | CH_NEED_symmetric_dest | CH_NEED_symmetric_source, 0, 2 * ch_shared(h) + ch_rails_mail_steps(h, m, b), ch_rails_mail_wire(h, m), none) \
    X(reduce, one_shot, simple, ch_reduce_one_shot_simple, CH_NEED_put, 0, c, (n - 1) * m, wide) \
    X(reduce, one_shot, ll, ch_reduce_one_shot_ll, CH_NEED_put, 0, c, (n - 1) * m, due) \
    X(reduce, one_shot, ll128, ch_reduce_one_shot_ll128, CH_NEED_put, 0, c, (n - 1) * m, due) \
    X(reduce, one_shot_pull, simple, ch_reduce_one_shot_pull, CH_NEED_map | CH_NEED_apart | CH_NEED_symmetric_source, 0, 1, (n - 1) * m, plain) \
    X(reduce, two_shot, simple, ch_reduce_two_shot, CH_NEED_map | CH_NEED_symmetric_dest | CH_NEED_symmetric_source, 0, 2, 2 * (n - 1) * s, plain) \
    X(reduce, two_shot_push, simple, ch_reduce_two_shot_push_simple, CH_NEED_map | CH_NEED_symmetric_dest, 0, ch_divide_up(c, n * ch_slot_chunks(n)) + 1, m + (n - 2) * ch_most_grains(m, n), wide) \
    X(reduce, two_shot_push, ll, ch_reduce_two_shot_push_ll, CH_NEED_put, 0, 2 * ch_divide_up(c, n), 2 * (n - 1) * 16 * ch_divide_up(m, 16 * n), sliced) \
    X(reduce, two_phase, simple, ch_reduce_two_phase, CH_NEED_map | CH_NEED_symmetric_dest | CH_NEED_symmetric_source, 0, 2, 2 * (n - 1) * s, plain) \
    X(reduce, recursive_exchange, simple, ch_reduce_recursive_simple, CH_NEED_put | CH_NEED_whole, 1, c * ch_exchanges(n, k), ch_exchange_fan(n, k) * m, folding) \
    X(reduce, recursive_exchange, ll, ch_reduce_recursive_ll, CH_NEED_put | CH_NEED_whole, 1, c * ch_exchanges(n, k), ch_exchange_fan(n, k) * m, folding) \
    X(reduce, recursive_halving, simple, ch_reduce_halving, CH_NEED_map | CH_NEED_whole | CH_NEED_symmetric_dest | CH_NEED_symmetric_source, 1, ch_halving_steps(n, k), ch_halving_wire(n, k, m, e), plain) \
    X(reduce, ring, simple, ch_reduce_ring, CH_NEED_put | CH_NEED_whole, 0, 2 * (n - 1) * ch_divide_up(c, 2 * n), 2 * m - ch_least_two(m, e, n), folding) \
    X(reduce, multicast_one_shot, simple, ch_reduce_multicast_one, CH_NEED_map | CH_NEED_apart | CH_NEED_multicast | CH_NEED_exact | CH_NEED_symmetric_source, 0, 1, (n - 1) * m, integers) \
    X(reduce, multicast_two_shot, simple, ch_reduce_multicast_two, CH_NEED_map | CH_NEED_multicast | CH_NEED_symmetric_dest | CH_NEED_symmetric_source, 0, 2, 2 * (n - 1) * s, multicast) \
    X(reduce, leaders, simple, ch_reduce_leaders, CH_NEED_put | CH_NEED_whole | CH_NEED_nodes, 1, ch_shared(h) * (c + 1) + c * ch_exchanges(h->count, k), ch_leaders_wire(h, k, m), none) \
    X(reduce, hierarchical, simple, ch_reduce_hierarchical, CH_NEED_put | CH_NEED_whole | CH_NEED_nodes | CH_NEED_symmetric_dest | CH_NEED_symmetric_source, 1, ch_rails_steps(h, k, m, e, b), ch_rails_wire(h, k, m, e), none) \
    X(reduce, rails, simple, ch_reduce_rails, CH_NEED_put | CH_NEED_whole | CH_NEED_nodes | CH_NEED_symmetric_dest | CH_NEED_symmetric_source, 0, ch_rails_blocks_steps(h, m, e, b), ch_rails_blocks_wire(h, m, e), none) \
    X(reducescatter, all_push, simple, ch_reducescatter_push_simple, CH_NEED_put, 0, c, (n - 1) * s, due) \
    X(reducescatter, all_push, ll, ch_reducescatter_push_ll, CH_NEED_put, 0, c, (n - 1) * s, due) \
    X(reducescatter, all_push, ll128, ch_reducescatter_push_ll128, CH_NEED_put, 0, c, (n - 1) * s, due) \
    X(reducescatter, bruck, ll, ch_reducescatter_bruck, CH_NEED_put, 1, ch_combine_steps(n, k, s, p, o), ch_digits(n, k) * s, plain) \
    X(reducescatter, two_level, simple, ch_reducescatter_two_level, CH_NEED_map | CH_NEED_whole | CH_NEED_apart | CH_NEED_symmetric_source, 1, ch_level_steps(n, k, s, o), ch_level_wire(n, k, s), plain) \
    X(reducescatter, all_pull, simple, ch_reducescatter_pull, CH_NEED_map | CH_NEED_apart | CH_NEED_symmetric_source, 0, 1, (n - 1) * s, plain) \
    X(reducescatter, hierarchical, simple, ch_reducescatter_hierarchical, CH_NEED_put | CH_NEED_whole | CH_NEED_apart | CH_NEED_nodes | CH_NEED_symmetric_source, 0, ch_shared(h) + (h->count > 1 ? c : 0), ch_partials_wire(h, s), none) \
    X(reducescatter, rails, simple, ch_reducescatter_rails, CH_NEED_put | CH_NEED_whole | CH_NEED_apart | CH_NEED_nodes | CH_NEED_symmetric_source, 0, ch_shared(h) + ch_rail_halving_steps(h, s, b, o), ch_rail_halving_wire(h, s), none) \
    X(reducescatter, ring, simple, ch_reducescatter_ring, CH_NEED_put | CH_NEED_whole, 0, (n - 1) * ch_divide_up(c, 2), (n - 1) * s, plain) \
    X(reducescatter, multicast_one_shot, simple, ch_reducescatter_multicast, CH_NEED_map | CH_NEED_apart | CH_NEED_multicast | CH_NEED_symmetric_source, 0, 1, (n - 1) * s, multicast) \
    X(collect, all_push, simple, ch_collect_direct, CH_NEED_put | CH_NEED_symmetric_dest, 0, 2, (n - 1) * (m + 8), plain) \
    X(collect, exchange, simple, ch_collect_exchange, CH_NEED_put, 0, c + 1, (n - 1) * (m + 8), plain) \
    X(alltoalls, all_pull, simple, ch_alltoalls_pull, CH_NEED_map | CH_NEED_symmetric_source, 1, ch_rounds(n, k), (n - 1) * m, plain) \
    X(alltoalls, all_push, simple, ch_alltoalls_push, CH_NEED_put, 0, c, (n - 1) * m, plain) \
    X(inscan, one_shot, simple, ch_inscan_one_shot_simple, CH_NEED_put, 0, ch_min(c, n - 1), (n - 1) * m, none) \
    X(inscan, one_shot, ll, ch_inscan_one_shot_ll, CH_NEED_put, 0, ch_min(c, n - 1), (n - 1) * m, plain) \
    X(exscan, one_shot, simple, ch_exscan_one_shot_simple, CH_NEED_put, 0, ch_min(c, n - 1), (n - 1) * m, none) \
    X(exscan, one_shot, ll, ch_exscan_one_shot_ll, CH_NEED_put, 0, ch_min(c, n - 1), (n - 1) * m, plain) \
    X(gather, all_push, simple, ch_gather_direct, CH_NEED_put | CH_NEED_symmetric_dest, 0, 1, m, plain) \
    X(gather, all_push, ll, ch_gather_push_ll, CH_NEED_put, 0, 1, m, plain) \
    X(gather, exchange, simple, ch_gather_push_simple, CH_NEED_put, 0, 1, m, none) \
    X(scatter, put_to_all, simple, ch_scatter_direct, CH_NEED_put | CH_NEED_symmetric_dest, 0, 1, (n - 1) * m, plain) \
    X(scatter, put_to_all, ll, ch_scatter_push_ll, CH_NEED_put, 0, 1, (n - 1) * m, plain) \
    X(scatter, exchange, simple, ch_scatter_push_simple, CH_NEED_put, 0, 1, (n - 1) * m, none) \
    X(reduce_to, one_shot_pull, simple, ch_reduce_to_pull, CH_NEED_map | CH_NEED_symmetric_source, 0, 1, (n - 1) * m, plain) \
    X(reduce_to, one_shot, simple, ch_reduce_to_one_shot_simple, CH_NEED_put, 0, 1, m, none) \
    X(reduce_to, one_shot, ll, ch_reduce_to_one_shot_ll, CH_NEED_put, 0, 1, m, plain) \
    X(alltoallv, all_push, simple, ch_alltoallv_direct, CH_NEED_put | CH_NEED_symmetric_dest, 0, 2, (n - 1) * 16 + m, plain) \
    X(alltoallv, exchange, simple, ch_alltoallv_exchange, CH_NEED_put, 0, c + 1, (n - 1) * 16 + m, plain)
/* clang-format on */

enum {
#define X(need, bit, text) CH_NEED_##need = (bit),
    CH_NEED_LIST(X)
#undef X
};

/* The facts of a call whose buffers are both in the symmetric heap. */
#define CH_NEED_SYMMETRIC ((uint32_t)(CH_NEED_symmetric_dest | CH_NEED_symmetric_source))

enum ch_algo_id {
#define X(coll, name, proto, fn, ...) CH_ALGO_##fn,
    CH_ALGO_LIST(X)
#undef X
        CH_ALGO_COUNT
};

/* The values for which the formulas are evaluated; see CH_ALGO_LIST. */
struct ch_nodes;
struct ch_shape {
    uint64_t n, k, m, e, s, c, p, o, b, r;
    const struct ch_nodes *h;
};

struct ch_algo {
    enum ch_algo_id id;
    chorus_coll coll;
    const char *name; /* with proto, unique within its collective */
    enum ch_proto proto;
    uint32_t needs; /* CH_NEED_ bits, those of its protocol included */
    bool takes_radix;
    enum ch_kernel_kind kernel;
    uint32_t lanes_max; /* of a CTA on a GPU */
    bool is_sliced, is_wide;
    const char *steps_text, *wire_text; /* the formulas as written in the list */
    uint64_t (*steps)(const struct ch_shape *shape);
    uint64_t (*wire)(const struct ch_shape *shape);
};

/* In the order of CH_ALGO_LIST. */
extern const struct ch_algo ch_algos[CH_ALGO_COUNT];

/* The name and protocol of an algorithm, such as "two_shot:simple"; never null. */
const char *ch_algo_text(uint32_t id);

extern const char *const ch_proto_names[CH_PROTO_COUNT];
extern const char *const ch_coll_names[CHORUS_COLL_COUNT];
extern const char *const ch_type_names[CHORUS_TYPE_COUNT];
extern const char *const ch_op_names[CHORUS_OP_COUNT];
extern const size_t ch_type_bytes[CHORUS_TYPE_COUNT], ch_type_align[CHORUS_TYPE_COUNT];

/* The types that each operator may be applied to: bit i is of type i. */
extern const uint32_t ch_op_types[CHORUS_OP_COUNT];

/* May the operator be applied to the type? */
static inline bool ch_op_takes(chorus_op op, chorus_type type)
{
    return ch_op_types[op] >> type & 1;
}

#define CH_RADIX_MIN 2u
#define CH_RADIX_DEFAULT 2u
#define CH_RADIX_MAX 64u

#endif /* CH_ALGORITHM_H */
