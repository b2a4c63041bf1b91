/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/plan.h"

#include "base/collective.h"
#include "coll/shape_nodes.h"
#include "ref/ref_coll.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POOL_BYTES ((size_t)64 << 20)

static struct plan made;
static struct {
    unsigned char *bytes;
    size_t used;
} pool;
static struct {
    uint64_t seed, drawn;
} dice;

static uint32_t draw(uint32_t below)
{
    return (uint32_t)(ref_hash(dice.seed, dice.drawn++, 1) % below);
}

static unsigned char *take(size_t bytes)
{
    unsigned char *at = pool.bytes + pool.used;

    pool.used += (bytes + 63) / 64 * 64;
    if (pool.used > POOL_BYTES) abort(); /* the caps below are wrong */
    return at;
}

/* --- what a call is -------------------------------------------------------------------------
 */

static bool takes(const struct ch_algo *algo, chorus_type type, chorus_op op)
{
    const bool is_half = type == CHORUS_TYPE_f16 || type == CHORUS_TYPE_bf16;

    if (!ch_coll_reduces(algo->coll)) return true;
    return ch_op_takes(op, type) && !((algo->needs & CH_NEED_whole) != 0 && is_half);
}

static void choose_type(struct plan_call *call)
{
    if (call->algo->coll == CHORUS_COLL_barrier) return;
    do {
        call->type = (chorus_type)draw(CHORUS_TYPE_COUNT);
        call->op = (chorus_op)draw(CHORUS_OP_COUNT);
    } while (!takes(call->algo, call->type, call->op));
}

/* The FIFOs of this algorithm, or the simple ones where it has none. */
static enum ch_cell cell_of(const struct ch_algo *algo)
{
    switch (algo->proto) {
    case CH_PROTO_ll:
        return CH_CELL_ll;
    case CH_PROTO_ll128:
        return CH_CELL_ll128;
    default:
        return CH_CELL_simple;
    }
}

/* Bytes that a chunk of this algorithm carries, or the unit where there is no FIFO. */
static size_t chunk_bytes(const struct plan *plan, const struct ch_algo *algo)
{
    return plan->layout.chunk_bytes[cell_of(algo)];
}

/* Most bytes of a block: enough for several rounds of a FIFO where there are few PEs. */
static size_t cap_bytes(uint32_t n)
{
    if (n <= 2) return 8192; /* a second piece of two shots too */
    return n <= 8 ? 1600 : 96;
}

static size_t choose_count(const struct plan *plan, const struct plan_call *call)
{
    static const size_t primes[] = {7, 13, 31, 61};
    const size_t element = ch_type_bytes[call->type], chunk = chunk_bytes(plan, call->algo);
    const size_t cap = cap_bytes(plan->n) / element;
    size_t count;

    switch (draw(16)) {
    case 0:
        return draw(2);
    case 1:
        count = plan->n + draw(3) - 1;
        break;
    case 2:
        count = primes[draw(4)];
        break;
    case 3:
        count = (chunk + element) / element - draw(3) % (chunk / element);
        break;
    case 4:
        count = (1 + draw(3 * CH_FIFO_CHUNKS)) * (chunk / element) + draw(8);
        break;
    case 5:
        count = plan->n <= 2 ? cap - draw(16) : 1 + draw(100);
        break;
    default:
        count = 1 + draw(24);
        break;
    }
    return count < cap ? count : cap;
}

/* Calls inside kernels, which choose no algorithm by its needs, pull in place, too. */
static bool may_be_in_place(const struct ch_algo *algo)
{
    return (algo->needs & CH_NEED_apart) == 0 || algo->id == CH_ALGO_ch_reducescatter_pull;
}

static enum plan_place choose_place(const struct ch_algo *algo)
{
    if (!may_be_in_place(algo) || draw(2) == 0) return PLAN_APART;
    switch (ch_coll_overlap(algo->coll)) {
    case CH_OVERLAP_same:
        return PLAN_SAME;
    case CH_OVERLAP_in_dest:
        return PLAN_OWN_BLOCK;
    case CH_OVERLAP_in_source:
        return draw(2) == 0 ? PLAN_SAME : PLAN_OWN_BLOCK;
    default:
        return PLAN_APART;
    }
}

static size_t span_bytes(const struct plan_call *call, const struct plan_buffer *buffer)
{
    const size_t block =
        buffer->count == 0 ? 0 : (buffer->count - 1) * buffer->step + ch_type_bytes[call->type];

    return (buffer->blocks - 1) * buffer->stride + block;
}

/* Of the team's own sync memory. */
static size_t team_bytes(const struct plan *plan)
{
    return plan->is_counted && plan->is_net ? 0 : plan->layout.dup_bytes;
}

/* Anywhere, as odd as the type allows, the two in either order. */
static void choose_offsets(const struct plan *plan, struct plan_call *call)
{
    const size_t element = ch_type_bytes[call->type];
    struct plan_buffer *first = draw(2) == 0 ? &call->source : &call->dest;
    struct plan_buffer *second = first == &call->source ? &call->dest : &call->source;

    first->offset = team_bytes(plan) + PLAN_GUARD_BYTES + draw(64) / element * element;
    second->offset = first->offset + span_bytes(call, first) + (size_t)2 * PLAN_GUARD_BYTES +
                     draw(64) / element * element;
    second->offset = second->offset / element * element;
    if (second->offset + span_bytes(call, second) + PLAN_GUARD_BYTES >
        team_bytes(plan) + PLAN_BUFFER_BYTES)
        abort(); /* the caps above are wrong */
    if (call->place == PLAN_APART) return;
    first->offset = second->offset; /* the PE's own block counts from here */
}

/* Blocks may lie apart, elements in an alltoalls. */
static void choose_strides(struct plan_call *call)
{
    const size_t element = ch_type_bytes[call->type];
    const size_t gap = draw(4) == 0 ? draw(5) * element : 0;
    struct plan_buffer *buffers[] = {&call->source, &call->dest};

    for (int b = 0; b < 2; b++) {
        const bool is_strided = ch_coll_is_strided(call->algo->coll);

        buffers[b]->step = is_strided ? (1 + draw(3)) * element : element;
        buffers[b]->stride = is_strided ? call->count * buffers[b]->step : call->bytes + gap;
    }
    if (ch_coll_is_listed(call->algo->coll))
        call->source.stride = call->dest.stride = call->bytes;
}

static void list_blocks(struct plan_call *call, uint32_t n)
{
    call->is_compared = call->count % 2 == 0;
    for (uint32_t pe = 0; pe < n; pe++) {
        call->source_offsets[pe] = pe * call->count;
        call->dest_offsets[pe] = (n - 1 - pe) * call->count;
        for (uint32_t peer = 0; peer < n; peer++) {
            /* On GPUs the smaller of two counts is moved. */
            const uint32_t kind = call->is_compared ? 0 : (pe + peer) % 3;

            call->source_counts[pe][peer] =
                kind == 1 ? call->count : ref_block(call->count, pe, peer);
            call->dest_counts[pe][peer] =
                kind == 2 ? call->count : ref_block(call->count, peer, pe);
        }
    }
}

/* Is dest the same on every PE? Each PE then takes the whole source of all PEs or of the root.
 */
static bool is_alike(chorus_coll coll)
{
#define ALIKE(dest, source, root, work)                                          \
    (CH_BLOCKS_##source == CH_BLOCKS_one &&                                      \
     (CH_BLOCKS_##dest != CH_BLOCKS_one || CH_WORK_##work == CH_WORK_combines || \
      CH_ROOT_##root == CH_ROOT_from))
    return CH_COLLS(ALIKE) >> coll & 1;
#undef ALIKE
}

/* Drawn apart from all else. Barriers and the algorithms of child teams have one CTA. */
static uint32_t choose_ctas(const struct plan *plan, const struct ch_algo *algo, uint64_t seed)
{
    const uint64_t drawn = ref_hash(seed, 0, 3);

    if (algo->coll == CHORUS_COLL_barrier || (algo->needs & CH_NEED_nodes) != 0) return 1;
    return plan->n <= 8 && drawn % 8 == 0 ? 2 + (uint32_t)(drawn / 8 % 3) : 1;
}

static void make_call(struct plan *plan, struct plan_call *call, const struct ch_algo *algo,
                      uint64_t seed)
{
    const uint32_t n = plan->n, radixes[] = {2, 3, 4, n < 2 ? 2 : n};
    const chorus_coll coll = algo->coll;

    memset(call, 0, sizeof(*call));
    call->algo = algo;
    call->root = draw(n);
    call->radix = radixes[draw(plan->is_counted ? 3 : 4)];
    call->ctas = choose_ctas(plan, algo, seed);
    choose_type(call);
    call->count = coll == CHORUS_COLL_barrier ? 0 : choose_count(plan, call);
    call->bytes = call->count * ch_type_bytes[call->type];
    choose_strides(call);
    call->place = choose_place(algo);
    call->source.blocks = ref_source_count(coll, n, 1);
    call->dest.blocks = ref_dest_blocks(coll, n);
    call->source.count = call->count;
    call->dest.count = ref_dest_count(coll, n, call->count) / call->dest.blocks;
    if (ch_coll_is_listed(coll)) list_blocks(call, n);
    choose_offsets(plan, call);
    for (uint32_t pe = 0; pe < n; pe++) {
        call->sources[pe] = take(call->source.blocks * call->bytes);
        ref_fill(coll, call->type, call->op, seed, pe, call->source.blocks * call->count,
                 call->sources[pe]);
    }
    if (!is_alike(coll)) return;
    call->expected = take(call->dest.blocks * call->dest.count * ch_type_bytes[call->type]);
    ref_expect(coll, call->type, call->op, n, call->root, call->count,
               (const void *const *)call->sources, 0, call->expected);
}

bool plan_is_for_net(const struct ch_algo *algo, uint32_t n)
{
    const bool has_levels = (algo->needs & CH_NEED_nodes) != 0;

    return (algo->needs & (CH_NEED_map | CH_NEED_packets)) == 0 && n <= PLAN_NET_PES_MAX &&
           (n > 1 || has_levels);
}

bool plan_is_for_many(const struct ch_algo *algo)
{
    switch (algo->id) {
    case CH_ALGO_ch_barrier_hierarchical:
    case CH_ALGO_ch_broadcast_hierarchical:
    case CH_ALGO_ch_reduce_leaders:
    case CH_ALGO_ch_reduce_hierarchical:
        return true;
    default:
        return false;
    }
}

bool plan_is_for_host(const struct ch_algo *algo, uint32_t n)
{
    const bool is_plain = (algo->needs & (CH_NEED_map | CH_NEED_packets)) == 0;

    return (algo->needs & CH_NEED_nodes) == 0 &&
           n <= (is_plain ? PLAN_PES_MAX : PLAN_LOOKED_PES_MAX);
}

/* Up to 24 hosts of two to PLAN_HOST_PES_MAX PEs, in blocks or in turn: of as many PEs each, if
 * there is such a number, or as even as can be. */
static void choose_many_hosts(struct plan *plan)
{
    const uint32_t least = (plan->n + PLAN_HOST_PES_MAX - 1) / PLAN_HOST_PES_MAX + 1;
    const uint32_t most = plan->n / 2 < 24 ? plan->n / 2 : 24;
    const bool is_in_blocks = draw(2) == 0, is_even = draw(2) == 0;
    uint32_t hosts = least + draw(most - least + 1);

    while (is_even && hosts > least && plan->n % hosts != 0)
        hosts--;
    for (uint32_t pe = 0; pe < plan->n; pe++)
        plan->host[pe] = is_in_blocks ? pe * hosts / plan->n : pe % hosts;
}

/* Up to four hosts or one for each PE, PEs anywhere; or in blocks, as jobs often are. */
static void choose_hosts(struct plan *plan, const struct ch_algo *algo)
{
    static uint32_t words[CH_NODES_WORDS(PLAN_COUNTED_PES_MAX)];
    const uint32_t own = (algo->needs & CH_NEED_nodes) != 0 ? 8 : 2;
    const uint32_t hosts = draw(own) == 0 ? plan->n : 2 + draw(3);
    const bool is_in_blocks = draw(4) == 0;

    plan->is_weak = draw(2) == 0;
    for (uint32_t pe = 0; pe < plan->n; pe++)
        plan->host[pe] = hosts == plan->n ? pe
                         : is_in_blocks   ? pe * hosts / plan->n
                                          : draw(hosts);
    if (plan->is_counted) choose_many_hosts(plan);
    ch_nodes_init(&plan->nodes, plan->host, plan->n, words);
}

static void choose_layouts(struct plan *plan)
{
    static const size_t chunks[] = {128, 256, 960};
    const size_t chunk = plan->is_counted ? chunks[0] : chunks[draw(3)];

    ch_sync_layout_init(&plan->layout, plan->n, chunk, plan->is_net && plan->nodes.count > 1);
    if (!plan->is_net) return;
    for (uint32_t v = 0; v < plan->nodes.count; v++)
        ch_sync_layout_init(&plan->node_layout[v], ch_node_pes(&plan->nodes, v), chunk, false);
    ch_sync_layout_init(&plan->rail_layout, plan->nodes.count, chunk, true);
}

/* Another algorithm that can run where this plan does. */
static const struct ch_algo *choose_guest(const struct plan *plan)
{
    const struct ch_algo *guest;

    do
        guest = &ch_algos[draw(CH_ALGO_COUNT)];
    while (plan->is_net ? !plan_is_for_net(guest, plan->n) : !plan_is_for_host(guest, plan->n));
    return guest;
}

const struct plan *plan_make(const struct ch_algo *algo, uint32_t n, bool is_net, uint64_t seed)
{
    if (pool.bytes == NULL) pool.bytes = malloc(POOL_BYTES);
    if (pool.bytes == NULL) abort();
    pool.used = 0;
    dice.seed = seed;
    dice.drawn = 0;
    made.n = n;
    made.width = n <= 8 && draw(8) == 0 ? 2 + draw(2) : 1;
    made.is_net = is_net;
    made.is_counted = n > (is_net ? PLAN_NET_PES_MAX : PLAN_LOOKED_PES_MAX);
    made.is_weak = false;
    if (is_net) choose_hosts(&made, algo);
    choose_layouts(&made);
    made.n_calls = made.is_counted ? 1 : 3 + draw(2);
    for (uint32_t i = 0; i < made.n_calls; i++) {
        const bool is_guest = i != 0 && !made.is_counted && draw(4) == 0;
        make_call(&made, &made.calls[i], is_guest ? choose_guest(&made) : algo,
                  ref_hash(seed, i, 2));
    }
    return &made;
}

/* --- where and what
 * ---------------------------------------------------------------------------- */

/* In place in the PE's own block: which of the two buffers is that block? */
static bool is_own_block(const struct plan *plan, const struct plan_call *call,
                         const struct plan_buffer *buffer)
{
    return call->place == PLAN_OWN_BLOCK && buffer->blocks == 1 && plan->n > 1;
}

size_t plan_source_offset(const struct plan *plan, const struct plan_call *call, uint32_t pe)
{
    const size_t shift = is_own_block(plan, call, &call->source) ? pe * call->dest.stride : 0;

    return call->source.offset + shift;
}

size_t plan_dest_offset(const struct plan *plan, const struct plan_call *call, uint32_t pe)
{
    const size_t shift = is_own_block(plan, call, &call->dest) ? pe * call->source.stride : 0;

    return call->dest.offset + shift;
}

const unsigned char *plan_expected(const struct plan *plan, const struct plan_call *call,
                                   uint32_t pe)
{
    static unsigned char own[PLAN_BUFFER_BYTES] __attribute__((aligned(16)));

    if (call->expected != NULL) return call->expected;
    ref_expect(call->algo->coll, call->type, call->op, plan->n, call->root, call->count,
               (const void *const *)call->sources, pe, own);
    return own;
}

size_t plan_source_count(const struct plan_call *call, uint32_t pe)
{
    return ref_own_count(call->algo->coll, call->count, pe);
}

void plan_spread(const struct plan_call *call, const struct plan_buffer *buffer, size_t count,
                 const unsigned char *packed, unsigned char *image)
{
    const size_t element = ch_type_bytes[call->type];

    for (size_t b = 0; b < buffer->blocks; b++)
        for (size_t i = 0; i < count; i++)
            memcpy(image + b * buffer->stride + i * buffer->step,
                   packed + (b * buffer->count + i) * element, element);
}

void plan_pack(const struct plan_call *call, const struct plan_buffer *buffer,
               const unsigned char *image, unsigned char *packed_out)
{
    const size_t element = ch_type_bytes[call->type];

    for (size_t b = 0; b < buffer->blocks; b++)
        for (size_t i = 0; i < buffer->count; i++)
            memcpy(packed_out + (b * buffer->count + i) * element,
                   image + b * buffer->stride + i * buffer->step, element);
}

/* The most bytes that a PE sends to others in an alltoallv. */
static size_t most_sent(const struct plan *plan, const struct plan_call *call)
{
    size_t most = 0;

    for (uint32_t pe = 0; pe < plan->n; pe++) {
        size_t sent = 0;

        for (uint32_t peer = 0; peer < plan->n; peer++)
            if (peer != pe) sent += ref_block(call->count, pe, peer);
        if (sent > most) most = sent;
    }
    return most * ch_type_bytes[call->type];
}

struct ch_shape plan_shape(const struct plan *plan, const struct plan_call *call)
{
    const size_t chunk = chunk_bytes(plan, call->algo);
    struct ch_shape shape = {.n = plan->n,
                             .k = call->radix,
                             .m = call->bytes,
                             .e = ch_type_bytes[call->type],
                             .c = ch_divide_up(call->bytes, chunk),
                             .p = plan->layout.slot_bytes[cell_of(call->algo)] / CH_SLOT_UNIT,
                             .o = plan->layout.own_bytes[cell_of(call->algo)] / CH_SLOT_UNIT,
                             .b = chunk,
                             .r = call->root,
                             .h = &plan->nodes};

    shape.s = ch_coll_splits_result(call->algo->coll)
                  ? call->bytes
                  : ch_slice_of(call->count, plan->n, 0).count * ch_type_bytes[call->type];
    if (ch_coll_is_listed(call->algo->coll)) shape.m = most_sent(plan, call);
    if (call->algo->proto == CH_PROTO_ll) { /* a packet always carries 8 bytes */
        shape.m = ch_divide_up(shape.m, 8) * 8;
        shape.s = ch_divide_up(shape.s, 8) * 8;
    }
    return shape;
}

struct plan_map plan_map(const struct plan *plan)
{
    struct plan_map map = {.buffers = team_bytes(plan)};
    size_t most = 0; /* of any host: all PEs have the same map */

    map.copies = map.buffers + (PLAN_BUFFER_BYTES + 127) / 128 * 128;
    map.node = map.rail = map.rail_copies = map.bytes = map.copies;
    if (!plan->is_net) return map;
    for (uint32_t v = 0; v < plan->nodes.count; v++)
        if (most < plan->node_layout[v].dup_bytes) most = plan->node_layout[v].dup_bytes;
    map.node = map.copies + plan->n * team_bytes(plan);
    map.rail = map.node + most;
    map.rail_copies = map.rail + plan->rail_layout.dup_bytes;
    map.bytes = map.rail_copies + plan->nodes.count * plan->rail_layout.dup_bytes;
    return map;
}

void plan_describe(const struct plan *plan, const struct plan_call *call, char *text_out,
                   size_t text_bytes)
{
    static const char *const places[] = {"apart", "in place", "in place in the own block"};
    const bool reduces = ch_coll_reduces(call->algo->coll);

    (void)snprintf(text_out, text_bytes,
                   "%s:%s:%s of %zu %s%s%s, root %u, radix %u, CTAs %u, chunks of %zu and %zu, "
                   "source +%zu, "
                   "dest +%zu, strides %zu and %zu, steps %zu and %zu, %s",
                   ch_coll_names[call->algo->coll], call->algo->name,
                   ch_proto_names[call->algo->proto], call->count, ch_type_names[call->type],
                   reduces ? ", " : "", reduces ? ch_op_names[call->op] : "", call->root,
                   call->radix, call->ctas, plan->layout.chunk_bytes[CH_CELL_simple],
                   plan->layout.chunk_bytes[CH_CELL_ll], call->source.offset - team_bytes(plan),
                   call->dest.offset - team_bytes(plan), call->source.stride, call->dest.stride,
                   call->source.step, call->dest.step, places[call->place]);
}
