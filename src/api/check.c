/* SPDX-License-Identifier: Apache-2.0 */
/* check.c: what a collective call must satisfy before anything is selected or sent. */
#include "api/coll.h"

/* Which buffer holds a block for each PE; the other, or both, hold one. */
static bool has_blocks_in_dest(chorus_coll coll)
{
    return coll == CHORUS_COLL_fcollect || coll == CHORUS_COLL_alltoall;
}

static bool has_blocks_in_source(chorus_coll coll)
{
    return coll == CHORUS_COLL_reducescatter || coll == CHORUS_COLL_alltoall;
}

static bool is_reduction(chorus_coll coll)
{
    return coll == CHORUS_COLL_reduce || coll == CHORUS_COLL_reducescatter;
}

/* A call's buffers, once its values are known to be right. */
struct extent {
    size_t block, dst_bytes, src_bytes;
};

static chorus_status refuse_root(const struct ch_args *args, const struct ch_team *team)
{
    return CH_FAIL(CHORUS_ERR_ARG, "%s: root is %d; expected a PE of the team, 0 to %u",
                   args->function, args->call->root, team->n - 1);
}

static chorus_status refuse_op(const struct ch_args *args)
{
    return CH_FAIL(CHORUS_ERR_ARG, "%s: operator %s does not take type %s", args->function,
                   ch_op_names[args->call->op], ch_type_names[args->call->type]);
}

static chorus_status refuse_count(const struct ch_args *args, const struct ch_team *team)
{
    return CH_FAIL(CHORUS_ERR_ARG,
                   "%s: count is %zu; %u blocks of that many %zu-byte elements overflow",
                   args->function, args->call->count, team->n, ch_type_bytes[args->call->type]);
}

static inline chorus_status check_values(const struct ch_args *args, const struct ch_team *team,
                                         struct extent *extent_out)
{
    const chorusx_call *call = args->call;
    size_t block, blocks;

    if (call->coll == CHORUS_COLL_broadcast && (uint32_t)call->root >= team->n)
        return refuse_root(args, team); /* a negative one is more than any n */
    if (is_reduction(call->coll) && !ch_op_takes(call->op, call->type)) return refuse_op(args);
    if (__builtin_mul_overflow(call->count, ch_type_bytes[call->type], &block) ||
        __builtin_mul_overflow(block, team->n, &blocks))
        return refuse_count(args, team);
    extent_out->block = block;
    extent_out->dst_bytes = has_blocks_in_dest(call->coll) ? blocks : block;
    extent_out->src_bytes = has_blocks_in_source(call->coll) ? blocks : block;
    return CHORUS_OK;
}

static chorus_status refuse_buffer(const struct ch_args *args, const char *name,
                                   const void *buffer, size_t bytes, bool is_misplaced)
{
    if (is_misplaced)
        return CH_FAIL(CHORUS_ERR_NOT_SYMMETRIC,
                       "%s: %s %p (%zu bytes) is not in the symmetric heap; allocate it with "
                       "chorus_malloc",
                       args->function, name, buffer, bytes);
    return CH_FAIL(CHORUS_ERR_ARG, "%s: %s %p is not aligned to the %zu bytes its type needs",
                   args->function, name, buffer, ch_type_align[args->call->type]);
}

static inline chorus_status check_buffer(const struct ch_context *context,
                                         const struct ch_args *args, const char *name,
                                         const void *buffer, size_t bytes)
{
    const bool is_here = ch_heap_contains(context->heap, buffer, bytes);

    if (is_here && ((uintptr_t)buffer & (ch_type_align[args->call->type] - 1)) == 0)
        return CHORUS_OK;
    return refuse_buffer(args, name, buffer, bytes, !is_here);
}

/* In place means: dest is source, or one of them is this PE's block of the other. */
static chorus_status check_overlap(const struct ch_args *args, const struct ch_team *team,
                                   const struct extent *extent)
{
    const chorusx_call *call = args->call;
    const char *dst = call->dest, *src = call->source;
    const bool same = dst == src;
    bool allowed = false;

    if (call->coll == CHORUS_COLL_broadcast || call->coll == CHORUS_COLL_reduce)
        allowed = same;
    else if (call->coll == CHORUS_COLL_fcollect)
        allowed = src == dst + team->me * extent->block;
    else if (call->coll == CHORUS_COLL_reducescatter)
        allowed = same || dst == src + team->me * extent->block;
    if (allowed) return CHORUS_OK;
    return CH_FAIL(
        CHORUS_ERR_ARG,
        "%s: dest %p (%zu bytes) and source %p (%zu bytes) overlap in a way this call does not "
        "allow; keep them apart, or see \"in place\" in its documentation",
        args->function, call->dest, extent->dst_bytes, call->source, extent->src_bytes);
}

chorus_status ch_check_call(const struct ch_context *context, const struct ch_args *args,
                            const struct ch_team *team, bool *is_apart_out)
{
    const chorusx_call *call = args->call;
    const char *dst = call->dest, *src = call->source;
    struct extent extent;

    *is_apart_out = true;
    CH_TRY(check_values(args, team, &extent));
    if (call->coll == CHORUS_COLL_barrier || extent.block == 0) return CHORUS_OK;
    CH_TRY(check_buffer(context, args, "dest", dst, extent.dst_bytes));
    CH_TRY(check_buffer(context, args, "source", src, extent.src_bytes));
    if (dst + extent.dst_bytes <= src || src + extent.src_bytes <= dst) return CHORUS_OK;
    *is_apart_out = false;
    return check_overlap(args, team, &extent);
}
