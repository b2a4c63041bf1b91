/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Algorithms as kernels run them, on a CPU: with the batches of GPUs (batch_cuda.h), lanes that
 * are fibers and are divided by warps, and several CTAs, against the reference. A PE is a
 * block, which runs the CTAs of a call one after another, on their own duplicates.
 *
 * The simulator tests the order of events. This tests what differs on a GPU: how data is cut
 * into pieces, and that elements and words are accessed whole. Algorithms of multicast and of
 * engines are left out.
 */
#include "gpu_lanes.h"

#include "base/collective.h"
#include "coll/kernel_bodies.h"
#include "coll/kernel_list.h"
#include "coll/kind.h"
#include "ref/ref_coll.h"
#include "team/sync.h"

#include <stdbool.h>
#include <stdio.h>

enum { PES = 3, LANES = 64, CTAS = 2, CHUNK = 512, COUNT_MAX = 300, STEP = 2, GUARD = 64 };
enum { BUFFER_BYTES = PES * COUNT_MAX * 16 * STEP + 2 * GUARD + 16 };

/* Is it tried here? Expands to yes or nothing. */
#define IF_plain(yes) yes
#define IF_wide(yes) yes
#define IF_folding(yes) yes
#define IF_due(yes) yes
#define IF_sliced(yes) yes
#define IF_multicast(yes)
#define IF_integers(yes)
#define IF_engine(yes)

#define RUN(fn)                                                               \
    static chorus_status run_##fn(const struct ch_coll *c, struct ch_lanes g) \
    {                                                                         \
        return fn(c, g);                                                      \
    }
#define X(coll, work, dest, proto, fn, kind, parts) IF_##kind(RUN(fn))
CH_KERNEL_ROWS(X)
#undef X

static const struct {
    chorus_coll coll;
    enum ch_proto proto;
    int is_due;
    const char *name;
    chorus_status (*run)(const struct ch_coll *c, struct ch_lanes g);
} algos[] = {
#define ROW(coll, proto, fn, due) {CHORUS_COLL_##coll, CH_PROTO_##proto, due, #fn, run_##fn},
#define X(coll, work, dest, proto, fn, kind, parts) \
    IF_##kind(ROW(coll, proto, fn, CH_IS_DUE_##kind))
    CH_KERNEL_ROWS(X)
#undef X
};
enum { N_ALGOS = sizeof(algos) / sizeof(algos[0]) };

static const chorus_type types[] = {CHORUS_TYPE_u8, CHORUS_TYPE_i16, CHORUS_TYPE_f32,
                                    CHORUS_TYPE_f64};
static const size_t type_bytes[] = {1, 2, 4, 8};
static const size_t counts[] = {1, 131, COUNT_MAX};
enum { N_TYPES = 4, N_COUNTS = 3, N_CALLS = N_ALGOS * N_COUNTS * CTAS };

static struct ch_sync_layout layout;
static struct gpu_barrier everyone; /* the lanes of all PEs */

static struct pe {
    char *memory; /* source, dest and sync memory, one behind another */
    struct ch_peer peers[PES];
    struct ch_dup dups[CTAS];
    struct ch_positions positions[CTAS][CH_CELL_COUNT * PES];
    struct ch_slot slots[PES];
    struct gpu_block block;
    struct gpu_warp warps[LANES / WARP_LANES];
    unsigned char source[BUFFER_BYTES], want[BUFFER_BYTES]; /* elements one behind another */
    size_t counts[4][PES];                                  /* as in struct ch_pattern */
} pes[PES];

/* The call of a number: the same for all. */
struct call {
    size_t algo, type, count, bytes, step, offset; /* bytes: of an element */
    uint32_t ctas, root;
};

static struct call call_of(size_t number)
{
    const size_t type = (number / CTAS % N_COUNTS + number / CTAS / N_COUNTS) % N_TYPES;
    const bool reduces = ch_coll_reduces(algos[number / CTAS / N_COUNTS].coll);
    const struct call call = {
        .algo = number / CTAS / N_COUNTS,
        .type = type,
        .count = counts[number / CTAS % N_COUNTS],
        .bytes = type_bytes[type],
        .step = ch_coll_is_strided(algos[number / CTAS / N_COUNTS].coll) ? STEP : 1,
        .offset = number % 4 * (reduces || type_bytes[type] < 8 ? type_bytes[type] : 4),
        .ctas = 1 + (uint32_t)(number % CTAS),
        .root = (uint32_t)(number % PES),
    };

    return call;
}

static char *source_of(const struct call *call, uint32_t pe)
{
    return pes[pe].memory + GUARD + call->offset;
}

static char *dest_of(const struct call *call, uint32_t pe)
{
    return pes[pe].memory + BUFFER_BYTES / 64 * 64 + 64 + GUARD + call->offset;
}

static char *sync_of(uint32_t pe)
{
    return pes[pe].memory + 2 * (BUFFER_BYTES / 128 * 128 + 128);
}

/* The block of a PE in the source, and in the dest of all. */
static size_t own_count(const struct call *call, uint32_t pe)
{
    return ref_own_count(algos[call->algo].coll, call->count, pe);
}

static void prepare(const struct call *call, size_t number, uint32_t me)
{
    const chorus_coll coll = algos[call->algo].coll;
    const size_t n = ref_source_count(coll, PES, call->count);
    struct pe *pe = &pes[me];

    ref_fill(coll, types[call->type], CHORUS_OP_sum, number, me, n, pe->source);
    for (size_t i = 0; i < n; i++)
        memcpy(source_of(call, me) + i * call->step * call->bytes, pe->source + i * call->bytes,
               call->bytes);
    ref_poison(dest_of(call, me) - GUARD, BUFFER_BYTES - call->offset);
    for (uint32_t p = 0; p < PES; p++) {
        pe->counts[0][p] = ref_block(call->count, p, me);
        pe->counts[1][p] = (PES - 1 - p) * call->count;
        pe->counts[2][p] = ref_block(call->count, me, p);
        pe->counts[3][p] = p * call->count;
    }
}

/* dest as it should be, in the memory around it. */
static bool is_right(const struct call *call, uint32_t me)
{
    static char image[BUFFER_BYTES];
    const chorus_coll coll = algos[call->algo].coll;
    const size_t n = ref_dest_count(coll, PES, call->count);
    const size_t looked_at = n * call->step * call->bytes + 2 * (size_t)GUARD;
    const void *const sources[PES] = {pes[0].source, pes[1].source, pes[2].source};

    if (coll == CHORUS_COLL_barrier) return true;
    ref_poison(image, sizeof(image));
    ref_expect(coll, types[call->type], CHORUS_OP_sum, PES, call->root, call->count, sources,
               me, pes[me].want);
    for (size_t i = 0; i < n && ref_has_dest(coll, call->root, me); i++)
        memcpy(image + GUARD + i * call->step * call->bytes, pes[me].want + i * call->bytes,
               call->bytes);
    return memcmp(image, dest_of(call, me) - GUARD, looked_at) == 0;
}

/* One CTA's part, as the shell of a kernel has it. */
static chorus_status run_cta(const struct call *call, uint32_t me, uint32_t cta,
                             struct ch_lanes g)
{
    struct pe *pe = &pes[me];
    const chorus_coll coll = algos[call->algo].coll;
    const size_t count = own_count(call, me);
    const struct ch_share share = ch_share_of(count, call->bytes, call->ctas);
    const struct ch_slice whole = {0, count};
    const struct ch_slice part =
        ch_coll_is_uneven(coll) ? whole : ch_part_of(&share, count, cta);
    const struct ch_pattern pattern = {.cta = cta,
                                       .ctas = call->ctas,
                                       .block_count = count,
                                       .dst_step = call->step * call->bytes,
                                       .src_step = call->step * call->bytes,
                                       .dst_counts = pe->counts[0],
                                       .dst_offsets = pe->counts[1],
                                       .src_counts = pe->counts[2],
                                       .src_offsets = pe->counts[3]};
    uint32_t late;
    struct ch_coll c;

    ch_coll_init(&c, me, PES, pe->peers, &layout);
    ch_coll_set_cta(&c, cta, &pe->dups[cta]);
    ch_coll_set_buffers(&c, dest_of(call, me), source_of(call, me), count, call->bytes, part);
    c.type = types[call->type];
    c.op = CHORUS_OP_sum;
    ch_coll_set_pattern(&c, &pattern, part.first);
    c.root = call->root;
    c.radix = 2;
    c.positions = pe->positions[cta];
    c.slots = pe->slots;
    c.late_peer = &late;
    c.is_due = algos[call->algo].is_due;
    c.failed = &pe->dups[0].failed;
    return algos[call->algo].run(&c, g);
}

static void fail(const struct call *call, uint32_t me)
{
    (void)fprintf(stderr,
                  "%s of %zu elements of %zu bytes, %u CTAs, root %u: PE %u has a wrong dest\n",
                  algos[call->algo].name, call->count, call->bytes, call->ctas, call->root, me);
    exit(EXIT_FAILURE);
}

static void make_call(size_t number, uint32_t me, struct ch_lanes g)
{
    const struct call call = call_of(number);

    if (g.lane == 0) prepare(&call, number, me);
    ch_lanes_sync(g);
    for (uint32_t cta = 0; cta < call.ctas; cta++) {
        if (run_cta(&call, me, cta, g) != CHORUS_OK) fail(&call, me);
        ch_lanes_sync(g); /* as at the end of a kernel */
    }
    gpu_meet(&everyone, PES * LANES); /* `source` and `image` are of all */
    gpu_stores_lines =
        algos[call_of(number + 1 < N_CALLS ? number + 1 : 0).algo].proto == CH_PROTO_ll128;
    for (uint32_t pe = 0; pe < PES && me == 0 && g.lane == 0; pe++)
        if (!is_right(&call, pe)) fail(&call, pe);
    gpu_meet(&everyone, PES * LANES);
}

static void run_lane(unsigned i)
{
    const unsigned pe = i / LANES, lane = i % LANES;
    const struct ch_lanes g = {lane, LANES};

    gpu_me->block = &pes[pe].block;
    gpu_me->warp = &pes[pe].warps[lane / WARP_LANES];
    gpu_me->lane = lane % WARP_LANES;
    for (int round = getenv("CHORUS_TEST_FULL") != NULL ? 10 : 1; round > 0; round--)
        for (size_t number = 0; number < N_CALLS; number++)
            make_call(number, pe, g);
}

static bool open_pe(uint32_t me)
{
    struct pe *pe = &pes[me];
    const size_t bytes = 2 * (BUFFER_BYTES / 128 * 128 + 128) + CTAS * layout.dup_bytes;

    pe->memory = aligned_alloc(128, (bytes + 127) / 128 * 128);
    if (pe->memory == NULL) return false;
    memset(pe->memory, 0, bytes);
    pe->block.lanes = LANES;
    return true;
}

int main(void)
{
    ch_sync_layout_init(&layout, PES, CHUNK, false);
    for (uint32_t pe = 0; pe < PES; pe++)
        if (!open_pe(pe)) return EXIT_FAILURE;
    for (uint32_t pe = 0; pe < PES; pe++)
        for (uint32_t peer = 0; peer < PES; peer++)
            pes[pe].peers[peer] =
                (struct ch_peer){pes[peer].memory - pes[pe].memory, sync_of(peer), NULL};
    gpu_run(PES * LANES, run_lane);
    for (uint32_t pe = 0; pe < PES; pe++)
        free(pes[pe].memory);
    return EXIT_SUCCESS;
}
