/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue_cuda.c: the kernels of a call on a stream: which they are, how many lanes they have,
 * their arguments, and which are launched early. All are loaded before the first call.
 */
#include "coll/cuda/queue.h"

#include "base/ring.h"
#include "coll/algorithm.h"
#include "coll/cuda/kernels.h"
#include "coll/cuda/kernels_routed.h"
#include "coll/operators.h"
#include "coll/primitives/engine.h"
#include "coll/shape.h"
#include "device/driver_cuda.h"
#include "team/routes.h"
#include "team/table.h"

#include <string.h>

/* --- the list of kernels ------------------------------------------------------------------ */
extern const ch_kernel_table ch_kernels_move;
#define X(T, ctype, CLASS, bytes) \
    CH_ON_GPU(CLASS, bytes, extern const ch_kernel_table ch_kernels_##T;)
CHORUS_TYPE_LIST(X)
#undef X

static const void *const *const combining[CHORUS_TYPE_COUNT] = {
#define X(T, ctype, CLASS, bytes) CH_ON_GPU(CLASS, bytes, [CHORUS_TYPE_##T] = ch_kernels_##T, )
    CHORUS_TYPE_LIST(X)
#undef X
};

extern const ch_routed_table ch_routed_move;
#define X(T, ctype, CLASS, bytes) \
    CH_ON_GPU(CLASS, bytes, extern const ch_routed_table ch_routed_##T;)
CHORUS_TYPE_LIST(X)
#undef X

static const void *const *const routed_combining[CHORUS_TYPE_COUNT] = {
#define X(T, ctype, CLASS, bytes) CH_ON_GPU(CLASS, bytes, [CHORUS_TYPE_##T] = ch_routed_##T, )
    CHORUS_TYPE_LIST(X)
#undef X
};

static const enum ch_routed_id routed_ids[CH_ALGO_COUNT] = {
#define X(coll, work, dest, proto, fn, kind, parts) [CH_ALGO_##fn] = CH_ROUTED_ID_##fn,
    CH_ROUTED_ROWS(X)
#undef X
};

static const enum ch_kernel_id ids[CH_ALGO_COUNT] = {
#define X(coll, work, dest, proto, fn, kind, parts) [CH_ALGO_##fn] = CH_KERNEL_ID_##fn,
    CH_KERNEL_ROWS(X)
#undef X
};

/* The kernel of a call of a team whose PEs are not all near; null: there is none. */
static const void *routed_kernel_of(const struct ch_call *call)
{
    const enum ch_routed_id id = routed_ids[call->algo->id];
    const void *const *table = routed_combining[call->asked->type];

    if (!ch_coll_reduces(call->algo->coll)) return ch_routed_move[id];
    return table == NULL ? NULL : table[id];
}

/* Between PEs beside each other, what is sent through sync memory needs no links. Other kernels
 * have no room for the peers of a large team. */
bool ch_kernel_is_routed(const struct ch_call *call)
{
    const struct ch_team *team = call->team;

    if (ch_team_is_large(team)) return true;
    if (team->remotes == NULL) return false;
    return !team->is_beside || call->algo->kernel == CH_KERNEL_none ||
           (call->algo->needs & CH_NEED_SYMMETRIC) != 0;
}

bool ch_kernel_is_there(const struct ch_call *call)
{
    return ch_kernel_is_routed(call) ? routed_ids[call->algo->id] != CH_ROUTED_ID_none
                                     : call->algo->kernel != CH_KERNEL_none;
}

const void *ch_kernel_of(const struct ch_call *call)
{
    const enum ch_kernel_id id = ids[call->algo->id];

    if (ch_kernel_is_routed(call)) return routed_kernel_of(call);
    if (call->algo->needs & CH_NEED_multicast)
        return ch_nvls_kernel(id, call->asked->type, call->asked->op);
    if (call->algo->needs & CH_NEED_copy_engine) return ch_kernel_engine_enter;
    if (!ch_coll_reduces(call->algo->coll)) return ch_kernels_move[id];
    return combining[call->asked->type] == NULL ? NULL : combining[call->asked->type][id];
}

/* Load a kernel, null for none. *least_ctas becomes the number of its CTAs that fit on a
 * multiprocessor, if that is smaller. */
static chorus_status load_kernel(const struct ch_device *device, const void *kernel,
                                 uint32_t *least_ctas)
{
    struct cudaFuncAttributes is;
    int ctas = 0;

    if (kernel == NULL) return CHORUS_OK;
    CH_TRY_CUDA(device, "loading the library's kernels", cudaFuncGetAttributes(&is, kernel));
    CH_TRY_CUDA(
        device, "reading the occupancy of a kernel",
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&ctas, kernel, is.maxThreadsPerBlock, 0));
    if ((uint32_t)ctas < *least_ctas) *least_ctas = (uint32_t)ctas;
    return CHORUS_OK;
}

/* Load all n kernels of a table. */
static chorus_status load_table(const struct ch_device *device, const void *const *table, int n,
                                uint32_t *least_ctas)
{
    for (int id = 0; id < n; id++)
        CH_TRY(load_kernel(device, table[id], least_ctas));
    return CHORUS_OK;
}

/* Load all kernels for multicast. */
static chorus_status load_nvls(const struct ch_device *device, uint32_t *least_ctas)
{
    for (int id = 0; id < CH_KERNEL_ID_COUNT; id++)
        for (int type = 0; type < CHORUS_TYPE_COUNT; type++)
            for (int op = 0; op < CHORUS_OP_COUNT; op++)
                CH_TRY(load_kernel(
                    device,
                    ch_nvls_kernel((enum ch_kernel_id)id, (chorus_type)type, (chorus_op)op),
                    least_ctas));
    return CHORUS_OK;
}

/* Load the kernels of large teams, and of those whose PEs are not all near, of which few CTAs
 * run. */
static chorus_status load_routed(const struct ch_device *device)
{
    uint32_t room = UINT32_MAX;

    CH_TRY(load_kernel(device, ch_kernel_lists, &room));
    CH_TRY(load_table(device, ch_routed_move, CH_ROUTED_ID_COUNT, &room));
    for (int type = 0; type < CHORUS_TYPE_COUNT; type++)
        if (routed_combining[type] != NULL)
            CH_TRY(load_table(device, routed_combining[type], CH_ROUTED_ID_COUNT, &room));
    return CHORUS_OK;
}

chorus_status ch_kernels_load(const struct ch_device *device, bool is_routed,
                              uint32_t *room_out)
{
    const void *const others[] = {ch_kernel_engine_enter, ch_kernel_engine_leave,
                                  ch_kernel_check_begin, ch_kernel_check_end};

    *room_out = UINT32_MAX;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        CH_TRY(load_kernel(device, others[i], room_out));
    CH_TRY(load_table(device, ch_kernels_move, CH_KERNEL_ID_COUNT, room_out));
    for (int type = 0; type < CHORUS_TYPE_COUNT; type++)
        if (combining[type] != NULL)
            CH_TRY(load_table(device, combining[type], CH_KERNEL_ID_COUNT, room_out));
    if (is_routed) CH_TRY(load_routed(device));
    return ch_device_id_of(device)->has_multicast ? load_nvls(device, room_out) : CHORUS_OK;
}

/* --- lanes and arguments ------------------------------------------------------------------ */
/* Lanes of a CTA are a power of two. */
enum { LANES_MIN = 64, WARP_LANES = 32, PIECE_BYTES = 16 };

/* Smallest number of teams among which the PE's share of the GPU is divided, see
 * ctas_early_of. */
enum { TEAMS_AT_ONCE = 2 };

_Static_assert(CH_KERNEL_PES_MAX == CH_DEVICE_PES_MAX,
               "a team is large if it has more PEs than kernels have arguments for");
_Static_assert(sizeof(struct ch_kernel_args) + sizeof(struct ch_kernel_pattern) <= 4096,
               "drivers before CUDA 12.1 take no longer arguments");

/* Set the arguments of a call's kernel, except those that depend on the launch. */
static void fill_args(const struct ch_queue_terms *terms, const struct ch_call *call,
                      struct ch_kernel_args *a)
{
    const struct ch_team *team = call->team;

    *a = (struct ch_kernel_args){
        .me = team->me,
        .n = team->n,
        .root = (uint32_t)call->asked->root,
        .radix = call->radix,
        .op = call->asked->op,
        .elem_bytes = (uint32_t)ch_type_bytes[call->asked->type],
        .count = call->asked->count,
        .share = ch_share_of(call->asked->count, ch_type_bytes[call->asked->type], call->ctas),
        .dst = call->asked->dest,
        .src = call->asked->source,
        .multicast = team->multicast,
        .is_sync_alike = team->is_sync_alike,
        .dups = team->states,
        .dup_bytes = (uint32_t)CH_DEVICE_DUP_BYTES(team->n),
        .aborted = terms->aborted,
        .timeout_ns = terms->timeout_ns,
        .team = team->id,
        .fault = &terms->faults[team->slot],
        .layout = team->layout,
    };
    if (ch_team_has_posts(team)) {
        a->remotes = team->routes->remotes;
        a->levels = team->routes->levels;
        a->is_beside = team->is_beside;
        a->ring_broken = &ch_links_ring(team->teams->links)->shared->broken;
    }
    a->peers_there = ch_device_peers(team);
    if (!ch_team_is_large(team)) memcpy(a->peers, team->peers, team->n * sizeof(a->peers[0]));
}

/* Set the second argument, of the kernels of alltoalls, collect and alltoallv. The lists of an
 * alltoallv are copied: the program may change them when the call has been queued. */
static void fill_pattern(const struct ch_call *call, struct ch_kernel_pattern *p)
{
    const chorusx_call *asked = call->asked;
    const size_t elem_bytes = ch_type_bytes[asked->type], list = call->team->n * sizeof(size_t);

    p->dst_step = (size_t)asked->dst * elem_bytes;
    p->src_step = (size_t)asked->sst * elem_bytes;
    p->lists_there = NULL;
    if (!ch_coll_is_listed(asked->coll)) return;
    if (ch_team_is_large(call->team)) {
        p->lists_there = ch_device_lists(call->team);
    } else {
        memcpy(p->dst_counts, asked->dest_counts, list);
        memcpy(p->dst_offsets, asked->dest_offsets, list);
        memcpy(p->src_counts, asked->source_counts, list);
        memcpy(p->src_offsets, asked->source_offsets, list);
    }
}

/* The smallest power of two that is not below `least`. */
static uint64_t power_of_two(uint64_t least)
{
    uint64_t power = 1;

    while (power < least)
        power *= 2;
    return power;
}

/* Largest number of bytes of a CTA's message: its part of a block, or of a PE's slice of
 * that. */
static uint64_t message_bytes(const struct ch_call *call)
{
    const uint64_t elem_bytes = ch_type_bytes[call->asked->type];
    const struct ch_share s = ch_share_of(call->asked->count, elem_bytes, call->ctas);
    const uint64_t part =
        ch_min(call->asked->count, (s.base + (s.extra != 0)) * s.grain) * elem_bytes;

    return call->algo->is_sliced ? ch_divide_up(part, call->team->n) : part;
}

/* Number of PEs to or from which a CTA's lanes have messages, as a power of two: its own block
 * is copied, or in registers. */
static uint64_t pes_at_once(const struct ch_call *call)
{
    const bool combines = ch_coll_reduces(call->algo->coll);

    return power_of_two(combines ? call->team->n - 1 : call->team->n);
}

/* Number of pieces of 16 bytes, or of elements that are not contiguous, of a CTA's message, as
 * a power of two. */
static uint64_t pieces_of(const struct ch_call *call)
{
    const bool is_strided = ch_coll_is_strided(call->algo->coll);
    const uint64_t bytes = is_strided ? ch_type_bytes[call->asked->type] : PIECE_BYTES;

    return power_of_two(ch_divide_up(message_bytes(call), bytes));
}

/* Number of lanes of a CTA: one for each piece, and a warp for each PE; if messages are
 * packets, and there are enough lanes, one lane for each piece for each PE, as lanes are then
 * divided among the PEs. Blocks of an uneven collective may be of any length. */
static unsigned lanes_of(const struct ch_call *call)
{
    const uint64_t pes = pes_at_once(call),
                   most = ch_kernel_is_routed(call) ? CH_LANES_routed : call->algo->lanes_max;
    const uint64_t pieces = ch_coll_is_uneven(call->algo->coll) ? most : pieces_of(call);
    const uint64_t apart = pes * ch_max(pieces, WARP_LANES);
    const uint64_t together = ch_max(pieces, pes * WARP_LANES);
    const bool is_apart = call->algo->proto == CH_PROTO_ll && apart <= most;

    return (unsigned)ch_min(ch_max(is_apart ? apart : together, LANES_MIN), most);
}

/*
 * CTAs of the largest kernel that is launched early and allows the next kernel to be (see
 * ch_kernel_wait_previous): before the previous kernel of the stream has ended, if that is
 * equally small. Of each team at most one kernel runs and one waits, and together they use no
 * more than the team's part of this PE's share of the GPU: the waiting kernels of some teams
 * never use capacity that a kernel of another team, or of another PE, needs.
 */
static uint32_t ctas_early_of(const struct ch_queue_terms *terms, const struct ch_team *team)
{
    const uint32_t n =
        __atomic_load_n(team->n_in_use, __ATOMIC_RELAXED) + (ch_team_is_in_use(team) ? 0 : 1);

    if (!terms->is_early) return 0;
    return terms->share_ctas / (2 * (n > TEAMS_AT_ONCE ? n : TEAMS_AT_ONCE));
}

/* The state of a call that is being queued on a stream. */
struct queued {
    const struct ch_queue_terms *terms;
    const struct ch_call *call;
    cudaStream_t stream;
    uint32_t ctas_early;
    uint64_t *ended;     /* where the call's last kernel counts its CTAs; null in a capture */
    uint32_t ctas_ended; /* the number of CTAs to count */
    struct ch_kernel_args args;
    struct ch_kernel_pattern pattern; /* read by kernels that have this argument */
};

/* Launch a kernel of the call; early, and so that the next may be, if it is small enough. */
static chorus_status put_kernel(struct queued *q, const void *kernel, uint32_t ctas,
                                unsigned lanes)
{
    void *list[] = {&q->args, &q->pattern};
    const bool is_early = ctas <= q->ctas_early;
    cudaLaunchAttribute early = {.id = cudaLaunchAttributeProgrammaticStreamSerialization,
                                 .val.programmaticStreamSerializationAllowed = is_early};
    const cudaLaunchConfig_t config = {.gridDim = {ctas, 1, 1},
                                       .blockDim = {lanes, 1, 1},
                                       .stream = q->stream,
                                       .attrs = &early,
                                       .numAttrs = is_early ? 1 : 0};

    q->args.lets_next = is_early;
    CH_TRY_CUDA(q->terms->device, "launching a collective",
                cudaLaunchKernelExC(&config, kernel, list));
    return CHORUS_OK;
}

/* Launch the kernel that stores the lists of an alltoallv of a large team, for the PEs from
 * `first` on. */
static chorus_status put_part_of_lists(const struct queued *q, uint32_t first)
{
    const chorusx_call *asked = q->call->asked;
    const size_t *const lists[CH_LISTS] = {asked->dest_counts, asked->dest_offsets,
                                           asked->source_counts, asked->source_offsets};
    const uint32_t n = q->call->team->n;
    struct ch_lists_args args = {.there = ch_device_lists(q->call->team),
                                 .n = n,
                                 .first = first,
                                 .count = (uint32_t)ch_min(n - first, CH_KERNEL_PES_MAX)};
    void *list[] = {&args};
    const cudaLaunchConfig_t config = {
        .gridDim = {1, 1, 1}, .blockDim = {CH_KERNEL_PES_MAX, 1, 1}, .stream = q->stream};

    for (int i = 0; i < CH_LISTS; i++)
        memcpy(args.part[i], lists[i] + first, args.count * sizeof(size_t));
    CH_TRY_CUDA(q->terms->device, "launching a copy of the lists of an alltoallv",
                cudaLaunchKernelExC(&config, ch_kernel_lists, list));
    return CHORUS_OK;
}

/* Let the lists of the call be in the memory of the GPU, if its kernel finds them there. */
static chorus_status put_lists(const struct queued *q)
{
    if (q->pattern.lists_there == NULL) return CHORUS_OK;
    for (uint32_t first = 0; first < q->call->team->n; first += CH_KERNEL_PES_MAX)
        CH_TRY(put_part_of_lists(q, first));
    return CHORUS_OK;
}

/* Launch the last kernel of the call, whose CTAs are counted. */
static chorus_status put_last_kernel(struct queued *q, const void *kernel, uint32_t ctas,
                                     unsigned lanes)
{
    q->args.ended = q->ended;
    q->ctas_ended = ctas;
    return put_kernel(q, kernel, ctas, lanes);
}

/* The whole call as that of one CTA, whose state is `dup`. */
static struct ch_coll coll_of(const struct ch_call *call, struct ch_dup *dup)
{
    const struct ch_team *team = call->team;
    const chorusx_call *asked = call->asked;
    const struct ch_slice all = {0, asked->count};
    struct ch_coll c;

    ch_coll_init(&c, team->me, team->n, team->peers, &team->layout);
    ch_coll_set_cta(&c, 0, dup);
    ch_coll_set_buffers(&c, asked->dest, asked->source, asked->count,
                        ch_type_bytes[asked->type], all);
    return c;
}

/* Copy this PE's blocks into the dest of all PEs, without a CTA, once all have entered the
 * call. */
static chorus_status put_copies(struct queued *q)
{
    const struct ch_call *call = q->call;
    struct ch_dup dup = {0}; /* copies have no state */
    const struct ch_coll c = coll_of(call, &dup);
    const size_t step = ch_coll_has_blocks_in_source(call->algo->coll) ? c.stride : 0;

    CH_TRY(put_kernel(q, ch_kernel_engine_enter, 1, LANES_MIN));
    for (uint32_t k = 0; k < c.n; k++) {
        const struct ch_engine_copy copy = ch_engine_copy_of(&c, step, k);

        if (copy.to != copy.from)
            CH_TRY_CUDA(q->terms->device, "copying",
                        cudaMemcpyAsync(copy.to, copy.from, ch_bytes(&c), cudaMemcpyDefault,
                                        q->stream));
    }
    return put_last_kernel(q, ch_kernel_engine_leave, 1, LANES_MIN);
}

/* Launch the kernels of the call, or its copies between two kernels. */
static chorus_status put_call(struct queued *q)
{
    const struct ch_call *call = q->call;

    if (call->algo->needs & CH_NEED_copy_engine) return put_copies(q);
    CH_TRY(put_lists(q));
    return put_last_kernel(q, ch_kernel_of(call), call->ctas, lanes_of(call));
}

/* As put_call, between two kernels that detect whether another call of the team runs meanwhile.
 * These two do not wait for the previous kernel, so no kernel is launched early with them. */
static chorus_status put_call_between_checks(struct queued *q)
{
    uint64_t *const ended = q->ended;

    CH_TRY(put_kernel(q, ch_kernel_check_begin, 1, 1));
    q->ended = NULL;
    CH_TRY(put_call(q));
    q->ended = ended;
    return put_last_kernel(q, ch_kernel_check_end, 1, 1);
}

chorus_status ch_queue_call(const struct ch_queue_terms *terms, const struct ch_call *call,
                            const struct ch_turn *turn, uint32_t *ctas_out)
{
    struct queued q;

    q.terms = terms;
    q.call = call;
    q.stream = turn->stream;
    q.ctas_early = ctas_early_of(terms, call->team);
    q.ended = turn->capture == 0 ? ch_team_ended(call->team) : NULL;
    fill_args(terms, call, &q.args);
    fill_pattern(call, &q.pattern);
    CH_TRY(terms->is_checked ? put_call_between_checks(&q) : put_call(&q));
    *ctas_out = q.ctas_ended;
    return CHORUS_OK;
}
