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

static chorus_status check_values(const struct ch_args *args, const struct ch_team *team)
{
    const chorusx_call *call = args->call;
    size_t bytes;

    if (call->coll == CHORUS_COLL_broadcast &&
        (call->root < 0 || (uint32_t)call->root >= team->n))
        return CH_FAIL(CHORUS_ERR_ARG, "%s: root is %d; expected a PE of the team, 0 to %u",
                       args->function, call->root, team->n - 1);
    if (is_reduction(call->coll) && !ch_op_takes(call->op, call->type))
        return CH_FAIL(CHORUS_ERR_ARG, "%s: operator %s does not take type %s", args->function,
                       ch_op_names[call->op], ch_type_names[call->type]);
    if (__builtin_mul_overflow(call->count, ch_type_bytes[call->type], &bytes) ||
        __builtin_mul_overflow(bytes, team->n, &bytes))
        return CH_FAIL(CHORUS_ERR_ARG,
                       "%s: count is %zu; %u blocks of that many %zu-byte elements overflow",
                       args->function, call->count, team->n, ch_type_bytes[call->type]);
    return CHORUS_OK;
}

static chorus_status check_buffer(const struct ch_context *context, const struct ch_args *args,
                                  const char *name, const void *buffer, size_t bytes)
{
    const size_t align = ch_type_align[args->call->type];

    if (!ch_heap_contains(context->heap, buffer, bytes))
        return CH_FAIL(CHORUS_ERR_NOT_SYMMETRIC,
                       "%s: %s %p (%zu bytes) is not in the symmetric heap; allocate it with "
                       "chorus_malloc",
                       args->function, name, buffer, bytes);
    if (((uintptr_t)buffer & (align - 1)) != 0)
        return CH_FAIL(CHORUS_ERR_ARG,
                       "%s: %s %p is not aligned to the %zu bytes its type needs",
                       args->function, name, buffer, align);
    return CHORUS_OK;
}

/* In place means: dest is source, or one of them is this PE's block of the other. */
static chorus_status check_overlap(const struct ch_args *args, const struct ch_team *team,
                                   size_t block, bool *is_apart_out)
{
    const chorusx_call *call = args->call;
    const char *dst = call->dest, *src = call->source;
    const size_t dst_bytes = has_blocks_in_dest(call->coll) ? block * team->n : block;
    const size_t src_bytes = has_blocks_in_source(call->coll) ? block * team->n : block;
    const bool same = dst == src;
    bool allowed = false;

    *is_apart_out = dst + dst_bytes <= src || src + src_bytes <= dst;
    if (*is_apart_out) return CHORUS_OK;
    if (call->coll == CHORUS_COLL_broadcast || call->coll == CHORUS_COLL_reduce)
        allowed = same;
    else if (call->coll == CHORUS_COLL_fcollect)
        allowed = src == dst + team->me * block;
    else if (call->coll == CHORUS_COLL_reducescatter)
        allowed = same || dst == src + team->me * block;
    if (allowed) return CHORUS_OK;
    return CH_FAIL(
        CHORUS_ERR_ARG,
        "%s: dest %p (%zu bytes) and source %p (%zu bytes) overlap in a way this call does not "
        "allow; keep them apart, or see \"in place\" in its documentation",
        args->function, call->dest, dst_bytes, call->source, src_bytes);
}

chorus_status ch_check_call(const struct ch_context *context, const struct ch_args *args,
                            const struct ch_team *team, bool *is_apart_out)
{
    const chorusx_call *call = args->call;
    const size_t block = call->count * ch_type_bytes[call->type];

    *is_apart_out = true;
    CH_TRY(check_values(args, team));
    if (call->coll == CHORUS_COLL_barrier || block == 0) return CHORUS_OK;
    CH_TRY(check_buffer(context, args, "dest", call->dest,
                        has_blocks_in_dest(call->coll) ? block * team->n : block));
    CH_TRY(check_buffer(context, args, "source", call->source,
                        has_blocks_in_source(call->coll) ? block * team->n : block));
    return check_overlap(args, team, block, is_apart_out);
}
