/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_far_coll.c: routed kernels of collectives, compiled for the host as they are for GPUs.
 */
#include "cuda_far_coll.h"

#include "cuda_far_route.h"

#include "coll/coll.h"
#include "coll/cuda/kernels_routed.h"
#include "coll/operators.h"
#include "coll/reduce.h"
#include "coll/routed_bodies.h"

/* --- the kernels -------------------------------------------------------------------------- */
enum pattern {
    PATTERN_none,
    PATTERN_one = 0,
    PATTERN_all = 0,
    PATTERN_strides,
    PATTERN_lengths
};

#define X(coll, work, dest, proto, fn, kind, parts)        \
    static chorus_status run_##fn(const struct ch_coll *c) \
    {                                                      \
        const struct ch_lanes alone = {0, 1};              \
        return fn(c, alone);                               \
    }
CH_ROUTED_ROWS(X)
#undef X

static const struct {
    chorus_status (*run)(const struct ch_coll *c);
    enum pattern pattern;
} bodies[CH_ROUTED_ID_COUNT] = {
#define X(coll, work, dest, proto, fn, kind, parts) \
    [CH_ROUTED_ID_##fn] = {run_##fn, PATTERN_##dest},
    CH_ROUTED_ROWS(X)
#undef X
};

extern const ch_routed_table ch_routed_move;
#define X(T, ctype, CLASS, bytes) \
    CH_ON_GPU(CLASS, bytes, extern const ch_routed_table ch_routed_##T;)
CHORUS_TYPE_LIST(X)
#undef X

static const void *const *const combining[CHORUS_TYPE_COUNT] = {
#define X(T, ctype, CLASS, bytes) CH_ON_GPU(CLASS, bytes, [CHORUS_TYPE_##T] = ch_routed_##T, )
    CHORUS_TYPE_LIST(X)
#undef X
};

/* The number of a kernel in a table; 0: it is not there. */
static int find_in(const void *const *table, const void *kernel)
{
    for (int id = 1; table != NULL && id < CH_ROUTED_ID_COUNT; id++)
        if (table[id] == kernel) return id;
    return 0;
}

/* The same in any table, with the type. */
static int find(const void *kernel, uint32_t *type_out)
{
    int id = find_in(ch_routed_move, kernel);

    *type_out = CHORUS_TYPE_u8;
    for (uint32_t type = 0; id == 0 && type < CHORUS_TYPE_COUNT; type++) {
        id = find_in(combining[type], kernel);
        if (id != 0) *type_out = type;
    }
    return id;
}

/* --- one call, as kernel_shell.cuh prepares it ---------------------------------------------
 */
static struct ch_dup *dup_of(const struct ch_kernel_args *a, unsigned cta)
{
    return (struct ch_dup *)(void *)(a->dups + (size_t)cta * a->dup_bytes);
}

static struct ch_coll coll_of(const struct ch_kernel_args *a, uint32_t type)
{
    struct ch_dup *const dup = dup_of(a, blockIdx.x);
    struct ch_coll c;

    ch_coll_init(&c, a->me, a->n, a->peers_there, &a->layout);
    ch_coll_set_cta(&c, blockIdx.x, dup);
    ch_coll_set_buffers(&c, a->dst, a->src, a->count, a->elem_bytes,
                        ch_part_of(&a->share, a->count, blockIdx.x));
    c.type = type;
    c.op = a->op;
    c.reduce = &ch_reduce_here()->of[type][a->op];
    c.root = a->root;
    c.radix = a->radix;
    c.remotes = a->remotes;
    c.levels = a->levels;
    c.positions = (struct ch_positions *)(void *)((char *)dup + CH_DEVICE_POSITIONS_AT);
    c.slots = (struct ch_slot *)(void *)((char *)dup + CH_DEVICE_SLOTS_AT(a->n));
    return c;
}

static void set_lists(struct ch_pattern *pattern, const struct ch_kernel_pattern *p, uint32_t n)
{
    const size_t *const there = p->lists_there;

    pattern->dst_counts = there != NULL ? there : p->dst_counts;
    pattern->dst_offsets = there != NULL ? there + n : p->dst_offsets;
    pattern->src_counts = there != NULL ? there + (size_t)2 * n : p->src_counts;
    pattern->src_offsets = there != NULL ? there + (size_t)3 * n : p->src_offsets;
}

static void set_pattern(struct ch_coll *c, struct ch_pattern *pattern,
                        const struct ch_kernel_args *a, const struct ch_kernel_pattern *p,
                        enum pattern kind)
{
    const size_t first = ch_part_of(&a->share, a->count, blockIdx.x).first;

    pattern->cta = blockIdx.x;
    pattern->block_count = a->count;
    pattern->dst_step = p->dst_step;
    pattern->src_step = p->src_step;
    set_lists(pattern, p, a->n);
    pattern->copies_less = 1;
    ch_coll_set_pattern(c, pattern, kind == PATTERN_lengths ? 0 : first);
    if (kind != PATTERN_lengths) return;
    c->count = a->count;
    c->dst = a->dst;
    c->src = a->src;
}

static chorus_status end_of(const struct ch_kernel_args *a, const struct ch_coll *c)
{
    if (!a->is_beside) return CHORUS_OK;
    for (uint32_t pe = 0; pe < c->n; pe++)
        if (c->remotes[pe].link != NULL) return ch_route_quiet(c->remotes[pe].link);
    return CHORUS_OK;
}

static void report(const struct ch_kernel_args *a, chorus_status st, uint32_t late_pe)
{
    dup_of(a, 0)->failed = 1;
    if (a->fault->claimed) return;
    *a->fault = (struct ch_kernel_fault){
        .status = st, .claimed = 1, .kind = CH_FAULT_LATE, .late_pe = late_pe, .team = a->team};
}

static void run_cta(const struct ch_kernel_args *a, const struct ch_kernel_pattern *p, int id,
                    uint32_t type, unsigned ctas)
{
    const struct ch_wait_policy policy = {a->aborted, a->timeout_ns};
    struct ch_coll c = coll_of(a, type);
    struct ch_unequal unequal = {0};
    struct ch_pattern pattern = {.ctas = ctas, .unequal = &unequal};
    uint32_t late_peer = a->me;
    chorus_status st;

    c.policy = &policy;
    c.late_peer = &late_peer;
    if (bodies[id].pattern != PATTERN_none) set_pattern(&c, &pattern, a, p, bodies[id].pattern);
    st = bodies[id].run(&c);
    if (st == CHORUS_OK) st = end_of(a, &c);
    if (st != CHORUS_OK) report(a, st, late_peer);
    if (unequal.sent != unequal.expected) report(a, CHORUS_ERR_ARG, late_peer);
}

static void store_lists(const struct ch_lists_args *a)
{
    for (uint32_t list = 0; list < CH_LISTS; list++)
        memcpy(a->there + (size_t)list * a->n + a->first, a->part[list],
               a->count * sizeof(size_t));
}

/* --- launches ----------------------------------------------------------------------------- */
struct far_coll far_coll;

enum { CAPTURED_MAX = 32 };

/* A launch with its arguments. */
static struct captured {
    const void *kernel;
    unsigned ctas;
    union {
        struct {
            struct ch_kernel_args args;
            struct ch_kernel_pattern pattern;
        } call;
        struct ch_lists_args lists;
    };
} captured[CAPTURED_MAX];
static unsigned n_captured;

static void run(const struct captured *launch)
{
    uint32_t type;
    const int id = find(launch->kernel, &type);

    if (launch->kernel == ch_kernel_lists) store_lists(&launch->lists);
    if (id == 0 || dup_of(&launch->call.args, 0)->failed != 0) return;
    far_coll.n++;
    for (blockIdx.x = 0; blockIdx.x < launch->ctas; blockIdx.x++)
        run_cta(&launch->call.args, &launch->call.pattern, id, type, launch->ctas);
}

void far_coll_run(const void *kernel, unsigned ctas, void **args)
{
    struct captured launch = {.kernel = kernel, .ctas = ctas};

    if (kernel == ch_kernel_lists) {
        launch.lists = *(const struct ch_lists_args *)args[0];
    } else {
        launch.call.args = *(const struct ch_kernel_args *)args[0];
        launch.call.pattern = *(const struct ch_kernel_pattern *)args[1];
    }
    if (!far_coll.is_captured)
        run(&launch);
    else if (n_captured < CAPTURED_MAX)
        captured[n_captured++] = launch;
    else
        abort();
}

void far_coll_replay(void)
{
    for (unsigned i = 0; i < n_captured; i++)
        run(&captured[i]);
}

void far_coll_forget(void)
{
    n_captured = 0;
}
