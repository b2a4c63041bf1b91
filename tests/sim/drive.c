/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drive.c: the application that every simulated PE runs.
 *
 * Before a call a PE poisons its buffers and fills its source; it reads dest the moment the
 * call returns and then scribbles over both. These are plain writes of its own, so a peer that
 * touches a buffer too early or too late meets one it cannot know of, and the run fails.
 * PEs meet nowhere but in the calls: they run as far ahead of each other as those let them.
 */
#include "sim/drive.h"

#include "base/collective.h"
#include "ref/ref_coll.h"
#include "sim/instance.h"
#include "sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A PE's part of a team of n, whose lists are owned. */
struct place {
    struct ch_peer *peers;     /* [n] */
    struct ch_remote *remotes; /* [n] */
    struct ch_dup dup;
    struct ch_positions *positions; /* [CH_CELL_COUNT * n] */
    struct ch_slot *slots;          /* [n] */
    uint32_t *pes;                  /* [n], of a child team */
};

/* A PE between calls. */
struct pe {
    struct place team, node, rail;
    struct ch_levels levels;
    struct ch_pattern pattern;
    struct ch_unequal unequal;
    uint32_t late_peer;
};

static struct {
    const struct plan *plan;
    struct ch_wait_policy policy;
    struct sim_cost costs[PLAN_CALLS_MAX]; /* the most of any PE */
    bool has_result[PLAN_CALLS_MAX];       /* of a reduce: the first PE's, to compare with */
    unsigned char results[PLAN_CALLS_MAX][PLAN_BUFFER_BYTES];
    struct pe pes[PLAN_COUNTED_PES_MAX];
    uint32_t n_open; /* of these, so many have places */
} drive;

static unsigned char image[PLAN_BUFFER_BYTES],
    got[PLAN_BUFFER_BYTES] __attribute__((aligned(16)));

/* --- messages --------------------------------------------------------------------------------
 */

static void describe_sync(const char *of, const struct ch_sync_layout *layout, uint32_t n,
                          size_t offset, char *text, size_t text_bytes)
{
    static const char *const words[] = {"BARRIER",       "READY", "DONE",      "FILLED",
                                        "GIVEN",         "MET",   "TAKEN",     "TAKEN (LL)",
                                        "TAKEN (LL128)", "READ",  "READ (LL)", "READ (LL128)"};
    static const char *const fifos[] = {"simple", "LL", "LL128"};
    const size_t word = offset / CH_CACHE_LINE_BYTES / n;
    int kind = CH_CELL_COUNT - 1;
    size_t slot;

    _Static_assert(sizeof(words) / sizeof(words[0]) == CH_WORD_COUNT, "a name for each word");

    if (word < CH_WORD_COUNT) {
        (void)snprintf(text, text_bytes, "%sword %s of %zu", of, words[word],
                       offset / CH_CACHE_LINE_BYTES % n);
        return;
    }
    while (offset < layout->slot_offset[kind])
        kind--;
    if (offset >= layout->fifo_offset[kind]) {
        offset -= layout->fifo_offset[kind];
        (void)snprintf(text, text_bytes, "%s%s FIFO from %zu + %zu", of, fifos[kind],
                       offset / layout->fifo_bytes[kind], offset % layout->fifo_bytes[kind]);
        return;
    }
    if (offset >= layout->own_offset[kind]) {
        offset -= layout->own_offset[kind];
        (void)snprintf(text, text_bytes, "%s%s own slot %zu + %zu", of, fifos[kind],
                       offset / layout->own_bytes[kind], offset % layout->own_bytes[kind]);
        return;
    }
    offset -= layout->slot_offset[kind];
    slot = offset / layout->slot_bytes[kind];
    (void)snprintf(text, text_bytes, "%s%s slot %zu from %zu + %zu", of, fifos[kind], slot / n,
                   slot % n, offset % layout->slot_bytes[kind]);
}

static void describe(uint32_t pe, size_t offset, char *text, size_t text_bytes)
{
    const struct plan *plan = drive.plan;
    const struct plan_map map = plan_map(plan);
    const uint32_t host = plan->is_net ? plan->nodes.node[pe] : 0;

    if (offset < map.buffers)
        describe_sync("", &plan->layout, plan->n, offset, text, text_bytes);
    else if (offset < map.copies)
        (void)snprintf(text, text_bytes, "buffers + %zu", offset - map.buffers);
    else if (offset < map.node)
        (void)snprintf(text, text_bytes, "for sync memory of PE %zu + %zu",
                       (offset - map.copies) / plan->layout.dup_bytes,
                       (offset - map.copies) % plan->layout.dup_bytes);
    else if (offset < map.rail)
        describe_sync("the node's ", &plan->node_layout[host], ch_node_pes(&plan->nodes, host),
                      offset - map.node, text, text_bytes);
    else if (offset < map.rail_copies)
        describe_sync("the rail's ", &plan->rail_layout, plan->nodes.count, offset - map.rail,
                      text, text_bytes);
    else
        (void)snprintf(text, text_bytes, "for the rail's sync memory + %zu",
                       offset - map.rail_copies);
}

/* --- buffers
 * ---------------------------------------------------------------------------------- */

/* What the call may touch and what must stay around it: [lo, hi) of the PE's shared memory. */
struct span {
    size_t lo, hi;
};

static size_t end_of(const struct plan_call *call, const struct plan_buffer *buffer)
{
    const size_t block =
        buffer->count == 0 ? 0 : (buffer->count - 1) * buffer->step + ch_type_bytes[call->type];

    return buffer->offset + (buffer->blocks - 1) * buffer->stride + block;
}

static struct span span_of(const struct plan_call *call)
{
    const size_t source_end = end_of(call, &call->source), dest_end = end_of(call, &call->dest);
    const bool source_first = call->source.offset < call->dest.offset;
    struct span span;

    span.lo = (source_first ? call->source.offset : call->dest.offset) - PLAN_GUARD_BYTES;
    span.hi = (source_end > dest_end ? source_end : dest_end) + PLAN_GUARD_BYTES;
    return span;
}

/* The span as it is when the call begins: poison, and the PE's contribution. */
static struct span draw_image(const struct plan_call *call, uint32_t pe)
{
    const struct span span = span_of(call);
    const size_t source = plan_source_offset(drive.plan, call, pe) - span.lo;

    ref_poison(image, span.hi - span.lo);
    plan_spread(call, &call->source, plan_source_count(call, pe), call->sources[pe],
                image + source);
    return span;
}

static void prepare(const struct plan_call *call, uint32_t pe)
{
    const struct span span = draw_image(call, pe);

    sim_write(sim_memory(pe) + span.lo, image, span.hi - span.lo);
}

static void fail_call(const struct plan_call *call, uint32_t pe, const char *what)
{
    sim_fail("PE %u, call %d: %s", pe, (int)(call - drive.plan->calls) + 1, what);
}

/* All PEs have the same bits, the padding of long double left out. */
static void check_agreement(const struct plan_call *call, uint32_t pe,
                            const unsigned char *block)
{
    const size_t i = (size_t)(call - drive.plan->calls), element = ch_type_bytes[call->type];
    const size_t significant = call->type == CHORUS_TYPE_f80 ? 10 : element;

    if (call->expected == NULL || !ch_coll_reduces(call->algo->coll)) return;
    if (!drive.has_result[i] && call->bytes != 0) memcpy(drive.results[i], block, call->bytes);
    drive.has_result[i] = true;
    for (size_t at = 0; at < call->bytes; at += element)
        if (memcmp(drive.results[i] + at, block + at, significant) != 0)
            fail_call(call, pe, "has another result than another PE, bit for bit");
}

/* dest is as expected, all else as it was. Ends with the PE's memory reused. */
static void check(const struct plan_call *call, uint32_t pe)
{
    static unsigned char packed[PLAN_BUFFER_BYTES] __attribute__((aligned(16)));
    const struct plan_buffer *to = &call->dest;
    const size_t count = to->blocks * to->count;
    const struct span span = draw_image(call, pe);
    const size_t dest = plan_dest_offset(drive.plan, call, pe) - span.lo;
    char *memory = sim_memory(pe) + span.lo;

    sim_read(memory, span.hi - span.lo, got);
    if (ref_has_dest(call->algo->coll, call->root, pe)) {
        ptrdiff_t wrong;

        plan_pack(call, to, got + dest, packed);
        wrong = ref_compare(call->algo->coll, call->type, packed,
                            plan_expected(drive.plan, call, pe), count);
        if (wrong >= 0)
            sim_fail("PE %u, call %d: element %td of block %td of dest is wrong", pe,
                     (int)(call - drive.plan->calls) + 1, wrong % (ptrdiff_t)to->count,
                     wrong / (ptrdiff_t)to->count);
        check_agreement(call, pe, packed);
        plan_spread(call, to, to->count, packed, image + dest);
    }
    if (memcmp(image, got, span.hi - span.lo) != 0)
        fail_call(call, pe, "bytes outside dest changed");
    memset(got, 0x5b, span.hi - span.lo);
    sim_write(memory, got, span.hi - span.lo);
}

/* Every PE has entered before any leaves; what this PE sends from now on comes after that. */
static void check_barrier(const struct plan_call *call, uint32_t pe)
{
    for (uint32_t p = 0; p < drive.plan->n; p++)
        if (!sim_knows_begun(p, (uint64_t)(call - drive.plan->calls) + 1))
            fail_call(call, pe, "left the barrier before all had entered");
}

/* --- the application
 * --------------------------------------------------------------------------- */

/* Kept until the PE's next call, or its next CTA. */
static const struct ch_pattern *pattern_of(const struct plan_call *call, uint32_t pe,
                                           uint32_t cta)
{
    struct pe *mine = &drive.pes[pe];

    mine->pattern = (struct ch_pattern){
        .cta = cta,
        .ctas = call->ctas,
        .block_count = call->count,
        .dst_step = call->dest.step,
        .src_step = call->source.step,
        .dst_counts = call->dest_counts[pe],
        .dst_offsets = call->dest_offsets,
        .src_counts = call->source_counts[pe],
        .src_offsets = call->source_offsets,
        .unequal = &mine->unequal,
        .copies_less = !call->is_compared,
    };
    return &mine->pattern;
}

/* What the CTA works on: whole blocks, if they are of different lengths. */
static struct ch_slice part_of(const struct plan_call *call, uint32_t pe, uint32_t cta)
{
    const size_t count = plan_source_count(call, pe);
    const struct ch_slice whole = {0, count};
    const struct ch_share share = ch_share_of(count, ch_type_bytes[call->type], call->ctas);

    return ch_coll_is_uneven(call->algo->coll) ? whole : ch_part_of(&share, count, cta);
}

static struct ch_coll coll_of(const struct plan_call *call, uint32_t pe, uint32_t cta)
{
    const struct plan *plan = drive.plan;
    struct pe *mine = &drive.pes[pe];
    const struct ch_slice part = part_of(call, pe, cta);
    struct ch_coll c;

    ch_coll_init(&c, pe, plan->n, mine->team.peers, &plan->layout);
    ch_coll_set_cta(&c, 0, &mine->team.dup); /* all CTAs have one duplicate */
    ch_coll_set_buffers(&c, sim_memory(pe) + plan_dest_offset(plan, call, pe),
                        sim_memory(pe) + plan_source_offset(plan, call, pe),
                        plan_source_count(call, pe), ch_type_bytes[call->type], part);
    c.tag = ch_coll_is_uneven(call->algo->coll) ? 0 : ch_tag_of(call->bytes);
    c.stride = call->dest.stride; /* blocks may lie apart; those of source as far */
    ch_coll_set_pattern(&c, pattern_of(call, pe, cta), part.first);
    c.root = call->root;
    c.radix = call->radix;
    c.reduce = &ch_reduce_base.of[call->type][call->op];
    c.policy = &drive.policy;
    c.remotes = plan->is_net ? mine->team.remotes : NULL;
    c.levels = plan->is_net ? &mine->levels : NULL;
    c.positions = mine->team.positions;
    c.slots = mine->team.slots;
    c.late_peer = &mine->late_peer;
    return c;
}

static void keep_most(struct sim_cost *most, struct sim_cost cost)
{
    if (most->depth < cost.depth) most->depth = cost.depth;
    if (most->bytes < cost.bytes) most->bytes = cost.bytes;
    if (most->signals < cost.signals) most->signals = cost.signals;
}

/* Does the PE send a block of another length than its receiver expects? */
static bool sends_unequal(const struct plan_call *call, uint32_t pe)
{
    for (uint32_t peer = 0; peer < drive.plan->n; peer++)
        if (call->source_counts[pe][peer] != call->dest_counts[peer][pe]) return true;
    return false;
}

/* A sender must find such a block, and what a PE finds must be one. */
static void check_unequal(const struct plan_call *call, uint32_t pe)
{
    const struct ch_unequal *found = &drive.pes[pe].unequal;
    const bool has_found = found->sent != found->expected;

    if (sends_unequal(call, pe) && !has_found) fail_call(call, pe, "missed unequal lengths");
    if (has_found && (found->sent != call->source_counts[found->from][found->to] ||
                      found->expected != call->dest_counts[found->to][found->from]))
        fail_call(call, pe, "found lengths that are not given");
}

/* The CTAs of a PE, one after another. */
static void run_ctas(const struct plan_call *call, uint32_t pe, struct ch_lanes lanes)
{
    const bool checks = lanes.lane == 0 && ch_coll_is_listed(call->algo->coll);

    for (uint32_t cta = 0; cta < call->ctas; cta++) {
        const struct ch_coll c = coll_of(call, pe, cta);

        if (checks) drive.pes[pe].unequal = (struct ch_unequal){0, 0, 0, 0};
        if (sim_entries[call->algo->id](&c, lanes) != CHORUS_OK)
            fail_call(call, pe, "returned an error");
        sim_meet();
        if (checks) check_unequal(call, pe);
    }
}

static void application(uint32_t pe, uint32_t lane)
{
    const struct ch_lanes lanes = {lane, drive.plan->width};

    for (uint32_t i = 0; i < drive.plan->n_calls; i++) {
        const struct plan_call *call = &drive.plan->calls[i];

        if (lane == 0) prepare(call, pe);
        sim_meet();
        sim_call_begin(i + 1);
        run_ctas(call, pe, lanes);
        if (lane != 0) continue;
        keep_most(&drive.costs[i], sim_call_end());
        if (call->algo->coll == CHORUS_COLL_barrier) check_barrier(call, pe);
        check(call, pe);
    }
}

/* --- a run
 * ------------------------------------------------------------------------------------- */

/* Memory of a place for a team of n. */
static void place_open(struct place *place, uint32_t n)
{
    place->peers = calloc(n, sizeof(*place->peers));
    place->remotes = calloc(n, sizeof(*place->remotes));
    place->positions = calloc((size_t)CH_CELL_COUNT * n, sizeof(*place->positions));
    place->slots = calloc(n, sizeof(*place->slots));
    place->pes = calloc(n, sizeof(*place->pes));
    if (place->peers == NULL || place->remotes == NULL || place->positions == NULL ||
        place->slots == NULL || place->pes == NULL)
        abort();
}

static void place_close(struct place *place)
{
    free(place->peers);
    free(place->remotes);
    free(place->positions);
    free(place->slots);
    free(place->pes);
}

/* Free what the run before had. */
static void close_all(void)
{
    for (uint32_t pe = 0; pe < drive.n_open; pe++) {
        place_close(&drive.pes[pe].team);
        place_close(&drive.pes[pe].node);
        place_close(&drive.pes[pe].rail);
    }
    drive.n_open = 0;
}

/* PE `me` meets PE `other`, number `p` of a team whose sync memory is at `sync` in all PEs'
 * memory, and at `copy` what `me` writes there, if `other` is on another host. */
static void meet(struct place *place, uint32_t me, uint32_t p, uint32_t other, size_t sync,
                 size_t copy)
{
    struct ch_peer *peer = &place->peers[p];
    struct ch_link *link = sim_link(me, other);
    char *there = sim_memory(other) + sync;

    place->pes[p] = other;
    place->remotes[p].link = link;
    peer->shift = sim_memory(other) - sim_memory(me);
    peer->sync = link == NULL ? there : sim_memory(me) + copy;
    peer->door = link == NULL ? sim_door(other) : NULL;
    place->remotes[p].sync = there - peer->sync;
}

static struct ch_child child_of(struct place *place, uint32_t me, uint32_t n,
                                const struct ch_sync_layout *layout)
{
    place->dup.positions = place->positions;
    place->dup.slots = place->slots;
    return (struct ch_child){.me = me,
                             .n = n,
                             .peers = place->peers,
                             .remotes = place->remotes,
                             .layout = layout,
                             .dups = &place->dup,
                             .pes = place->pes};
}

/* The child teams of a PE on one of several hosts. */
static void open_levels(uint32_t me, struct pe *pe)
{
    const struct plan *plan = drive.plan;
    const struct plan_map map = plan_map(plan);
    const struct ch_nodes *nodes = &plan->nodes;
    const uint32_t node = nodes->node[me], local = nodes->local[me],
                   n = ch_node_pes(nodes, node);
    const bool is_on_rail = local < nodes->least;

    place_open(&pe->node, n);
    place_open(&pe->rail, nodes->count);
    pe->levels.nodes = *nodes;
    for (uint32_t i = 0; i < n; i++)
        meet(&pe->node, me, i, ch_node_pe(nodes, node, i), map.node, 0);
    pe->levels.node = child_of(&pe->node, local, n, &plan->node_layout[node]);
    pe->levels.node.remotes = NULL;
    for (uint32_t v = 0; v < nodes->count && is_on_rail; v++)
        meet(&pe->rail, me, v, ch_node_pe(nodes, v, local), map.rail,
             map.rail_copies + v * plan->rail_layout.dup_bytes);
    if (!is_on_rail) meet(&pe->rail, me, 0, me, map.rail, 0);
    pe->levels.rail = child_of(&pe->rail, is_on_rail ? node : 0, is_on_rail ? nodes->count : 1,
                               &plan->rail_layout);
}

static void pe_open(uint32_t me)
{
    struct pe *pe = &drive.pes[me];
    const struct plan_map map = plan_map(drive.plan);

    memset(pe, 0, sizeof(*pe));
    drive.n_open = me + 1;
    if (map.buffers != 0) place_open(&pe->team, drive.plan->n);
    for (uint32_t p = 0; p < drive.plan->n && map.buffers != 0; p++)
        meet(&pe->team, me, p, p, 0, map.copies + p * drive.plan->layout.dup_bytes);
    if (drive.plan->is_net) open_levels(me, pe);
}

/* Are the steps what the formula says? Where hosts have unequal PEs, or PEs send blocks of
 * unequal lengths in chunks, it says the most. */
static bool is_as_said(const struct plan_call *call, uint64_t depth, uint64_t steps)
{
    const struct ch_nodes *nodes = &drive.plan->nodes;
    const bool is_bound =
        ((call->algo->needs & CH_NEED_nodes) != 0 && nodes->least != nodes->most) ||
        (ch_coll_is_uneven(call->algo->coll) && strcmp(call->algo->name, "exchange") == 0);

    return is_bound ? depth <= steps : depth == steps;
}

/* The formulas of the algorithm list, which are those of one CTA, against what was counted.
 * Null: they agree. */
static const char *check_costs(uint32_t i, char *text, size_t text_bytes)
{
    const struct plan_call *call = &drive.plan->calls[i];
    const struct ch_shape shape = plan_shape(drive.plan, call);
    const bool is_barrier = call->algo->coll == CHORUS_COLL_barrier;
    const uint64_t wire = is_barrier ? drive.costs[i].signals : drive.costs[i].bytes;
    const uint64_t steps = drive.plan->n == 1 ? 0 : call->algo->steps(&shape);

    if (call->ctas > 1) return NULL;
    if (wire != call->algo->wire(&shape)) {
        (void)snprintf(text, text_bytes, "call %u: wire is %llu, by the formula %s it is %llu",
                       i + 1, (unsigned long long)wire, call->algo->wire_text,
                       (unsigned long long)call->algo->wire(&shape));
        return text;
    }
    if (!is_barrier && call->count == 0) return NULL; /* the formulas speak of messages */
    if (!is_as_said(call, drive.costs[i].depth, steps)) {
        (void)snprintf(text, text_bytes,
                       "call %u: steps are %llu, by the formula %s they are %llu", i + 1,
                       (unsigned long long)drive.costs[i].depth, call->algo->steps_text,
                       (unsigned long long)steps);
        return text;
    }
    return NULL;
}

static const char *text_of_hosts(const struct plan *plan)
{
    static char text[64 + 6 * PLAN_COUNTED_PES_MAX];
    size_t used;

    if (!plan->is_net) return "";
    used = (size_t)snprintf(text, sizeof(text), " on hosts");
    for (uint32_t pe = 0; pe < plan->n; pe++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, " %u", plan->host[pe]);
    (void)snprintf(text + used, sizeof(text) - used, plan->is_weak ? ", weak links" : "");
    return text;
}

const char *drive_run(const struct plan *plan, uint64_t seed)
{
    static char text[16384];
    const struct sim_setup setup = {
        .n = plan->n,
        .width = plan->width,
        .pe_bytes = plan_map(plan).bytes,
        .seed = seed,
        .host = plan->is_net ? plan->host : NULL,
        .is_weak = plan->is_weak,
        .is_counted = plan->is_counted,
        .describe = describe,
    };
    char wrong[256];
    const char *message = NULL;
    size_t used;

    close_all();
    drive.plan = plan;
    memset(drive.costs, 0, sizeof(drive.costs));
    memset(drive.has_result, 0, sizeof(drive.has_result));
    sim_open(&setup);
    for (uint32_t pe = 0; pe < plan->n; pe++)
        pe_open(pe);
    if (!sim_run(application)) message = sim_message();
    for (uint32_t i = 0; i < plan->n_calls && message == NULL; i++)
        message = check_costs(i, wrong, sizeof(wrong));
    if (message == NULL) return NULL;

    used =
        (size_t)snprintf(text, sizeof(text), "%s\n%u PEs of %u lanes%s, one after another:\n",
                         message, plan->n, plan->width, text_of_hosts(plan));
    for (uint32_t i = 0; i < plan->n_calls; i++) {
        char call[400];
        plan_describe(plan, &plan->calls[i], call, sizeof(call));
        used +=
            (size_t)snprintf(text + used, sizeof(text) - used, "  call %u: %s\n", i + 1, call);
    }
    return text;
}
