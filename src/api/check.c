/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.c: the conditions that arguments must meet: those of any call, and those of a
 * collective call before an algorithm is selected or anything is sent.
 */
#include "api/check.h"

#include "api/coll.h"
#include "device/device.h"
#include "team/table.h"

#include <stdint.h>

/* --- any call ----------------------------------------------------------------------------- */

chorus_status ch_refuse_pe(const struct ch_context *context, const char *function, int pe)
{
    return CH_FAIL(CHORUS_ERR_ARG, "%s: pe is %d; expected 0 to %u, since the job has %u PEs",
                   function, pe, context->boot->n - 1, context->boot->n);
}

chorus_status ch_refuse_count(const char *function, size_t count, size_t element_bytes)
{
    return CH_FAIL(CHORUS_ERR_ARG, "%s: %zu elements of %zu bytes exceed the address space",
                   function, count, element_bytes);
}

chorus_status ch_check_symmetric_slow(const struct ch_context *context, const char *function,
                                      const char *name, const void *address, size_t bytes)
{
    if (bytes == 0 || ch_heap_contains(context->heap, address, bytes))
        return ch_guard_is_on(context)
                   ? ch_guard_check_inside(context, function, name, address, bytes)
                   : CHORUS_OK;
    if (ch_teams_owner(context->teams, address, bytes) != NULL) return CHORUS_OK;
    if (ch_teams_owner(context->teams, address, 1) != NULL)
        return CH_FAIL(CHORUS_ERR_NOT_SYMMETRIC,
                       "%s: %s is %p, in an object of a team, but the %zu bytes there end past "
                       "the object's end; request them with chorusx_team_malloc",
                       function, name, address, bytes);
    if (ch_heap_contains(context->heap, address, 1))
        return CH_FAIL(CHORUS_ERR_NOT_SYMMETRIC,
                       "%s: %s is %p, in the symmetric heap, but the %zu bytes there end past "
                       "the heap's end; allocate them with chorus_malloc",
                       function, name, address, bytes);
    return CH_FAIL(CHORUS_ERR_NOT_SYMMETRIC,
                   "%s: %s is %p, which is not in the symmetric heap; allocate it with "
                   "chorus_malloc",
                   function, name, address);
}

chorus_status ch_check_owner_slow(const struct ch_context *context, const char *function,
                                  const char *name, const void *address, uint32_t pe)
{
    const struct ch_team *owner = ch_teams_owner(context->teams, address, 1);

    if (owner == NULL || ch_team_find(owner, pe) >= 0) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_NOT_SYMMETRIC,
                   "%s: %s is %p, in an object of a team that PE %u of the job is not in; "
                   "expected one of the team's PEs, or an object of chorus_malloc",
                   function, name, address, pe);
}

chorus_status ch_check_aligned(const char *function, const char *name, const void *address,
                               size_t bytes)
{
    if (((uintptr_t)address & (bytes - 1)) == 0) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_ARG,
                   "%s: %s is %p; expected a multiple of %zu, the size of its type", function,
                   name, address, bytes);
}

/* --- collective calls --------------------------------------------------------------------- */

/* Failures and rare cases. */
#define RARE static CH_COLD chorus_status

RARE refuse_root(const struct ch_call *call)
{
    return CH_FAIL(CHORUS_ERR_ARG, "%s: root is %d; expected a PE of the team, 0 to %u",
                   call->function, call->asked->root, call->team->n - 1);
}

RARE refuse_op(const struct ch_call *call)
{
    return CH_FAIL(CHORUS_ERR_ARG, "%s: operator %s does not take type %s", call->function,
                   ch_op_names[call->asked->op], ch_type_names[call->asked->type]);
}

RARE refuse_count(const struct ch_call *call)
{
    return CH_FAIL(
        CHORUS_ERR_ARG,
        "%s: count is %zu; %u blocks of that many %zu-byte elements exceed the address space",
        call->function, call->asked->count, call->team->n, ch_type_bytes[call->asked->type]);
}

/* Set *bytes_out to the bytes from the first to the last of count * PEs elements, each `step`
 * elements behind the one before. Fails if step < 1. `name` is what the call names `step`. */
static chorus_status find_strided_bytes(const struct ch_call *call, const char *name,
                                        ptrdiff_t step, size_t *bytes_out)
{
    const size_t element = ch_type_bytes[call->asked->type];
    const size_t last =
        call->asked->count * call->team->n - 1; /* this is known not to overflow */
    size_t bytes;

    if (step < 1)
        return CH_FAIL(CHORUS_ERR_ARG, "%s: %s is %td; expected 1 or more", call->function,
                       name, step);
    if (__builtin_mul_overflow(last, (size_t)step, &bytes) ||
        __builtin_mul_overflow(bytes, element, &bytes) ||
        __builtin_add_overflow(bytes, element, &bytes))
        return CH_FAIL(CHORUS_ERR_ARG,
                       "%s: %s is %td; %zu elements with that stride exceed the address space",
                       call->function, name, step, last + 1);
    *bytes_out = bytes;
    return CHORUS_OK;
}

/* Set *bytes_out to the bytes from the start of the buffer `name` to the end of its last block.
 * Fails if counts or offsets are null. */
static chorus_status find_listed_bytes(const struct ch_call *call, const char *name,
                                       const size_t *counts, const size_t *offsets,
                                       size_t *bytes_out)
{
    const size_t element = ch_type_bytes[call->asked->type];
    size_t most = 0;

    if (counts == NULL || offsets == NULL)
        return CH_FAIL(
            CHORUS_ERR_ARG,
            "%s: the counts or offsets of %s are null; pass arrays with an entry for each PE",
            call->function, name);
    for (uint32_t pe = 0; pe < call->team->n; pe++) {
        size_t end;

        if (__builtin_add_overflow(counts[pe], offsets[pe], &end) ||
            __builtin_mul_overflow(end, element, &end))
            return CH_FAIL(CHORUS_ERR_ARG,
                           "%s: block %u of %s has %zu elements from element %zu on, which "
                           "exceeds the address space",
                           call->function, pe, name, counts[pe], offsets[pe]);
        if (counts[pe] != 0 && end > most) most = end;
    }
    *bytes_out = most;
    return CHORUS_OK;
}

/* In calls with strides, or with counts and offsets: check those, and set the extents of dest
 * and source, which depend on them. */
static chorus_status check_pattern(const struct ch_call *call, struct ch_extent *extent)
{
    const chorusx_call *asked = call->asked;

    if (ch_coll_is_strided(asked->coll) && asked->count != 0) {
        CH_TRY(find_strided_bytes(call, "dst", asked->dst, &extent->dest));
        return find_strided_bytes(call, "sst", asked->sst, &extent->source);
    }
    if (!ch_coll_is_listed(asked->coll)) return CHORUS_OK;
    CH_TRY(find_listed_bytes(call, "dest", asked->dest_counts, asked->dest_offsets,
                             &extent->dest));
    return find_listed_bytes(call, "source", asked->source_counts, asked->source_offsets,
                             &extent->source);
}

/* Check a call that combines by a function of the program. */
RARE check_combine(const struct ch_context *context, const struct ch_call *call)
{
    const chorusx_call *asked = call->asked;

    if (context->gpu != NULL)
        return CH_FAIL(
            CHORUS_ERR_UNSUPPORTED,
            "%s: an operator of the program needs a heap in host memory; set CHORUS_HEAP=host",
            call->function);
    if (asked->type == CHORUS_TYPE_f16 || asked->type == CHORUS_TYPE_bf16)
        return CH_FAIL(CHORUS_ERR_ARG,
                       "%s: an operator of the program cannot combine %s, since its elements "
                       "are combined as float; pass their bits as CHORUS_TYPE_u16",
                       call->function, ch_type_names[asked->type]);
    return CHORUS_OK;
}

static chorus_status refuse_alignment(const struct ch_call *call, const char *name,
                                      const void *buffer)
{
    return CH_FAIL(CHORUS_ERR_ARG, "%s: %s %p is not aligned to the %zu bytes its type needs",
                   call->function, name, buffer, ch_type_align[call->asked->type]);
}

/* Is the buffer in this PE's heap, and aligned for its type? */
static inline bool is_usable(const struct ch_context *context, const chorusx_call *asked,
                             const void *buffer, size_t bytes)
{
    return ch_heap_contains(context->heap, buffer, bytes) &&
           ((uintptr_t)buffer & (ch_type_align[asked->type] - 1)) == 0;
}

/* Is the buffer in an object of a team that all PEs of `team` are in? It is then symmetric for
 * calls of `team`. */
static CH_COLD bool is_in_team_object(const struct ch_context *context,
                                      const struct ch_team *team, const void *buffer,
                                      size_t bytes)
{
    const struct ch_team *owner = ch_teams_owner(context->teams, buffer, bytes);

    if (owner == NULL || owner == team) return owner == team;
    for (uint32_t pe = 0; pe < team->n; pe++)
        if (ch_team_find(owner, team->members[pe].world) < 0) return false;
    return true;
}

/* Is the buffer symmetric for calls of `team`? All PEs must get the same answer, so a buffer
 * without bytes is judged by its address; null counts as symmetric. */
static inline bool is_symmetric(const struct ch_context *context, const struct ch_team *team,
                                const void *buffer, size_t bytes)
{
    const size_t some = bytes != 0 ? bytes : 1;

    return ch_heap_contains(context->heap, buffer, some) || (bytes == 0 && buffer == NULL) ||
           is_in_team_object(context, team, buffer, some);
}

/* Check a buffer that is not symmetric: memory of this PE outside the heap. On hosts only the
 * program knows whether it is valid; a GPU's kernel that accesses memory that it cannot reach
 * would end all CUDA work of the process. */
static chorus_status check_private_memory(const struct ch_context *context,
                                          const struct ch_call *call, const char *name,
                                          const void *buffer, size_t bytes)
{
    const struct ch_device *device = ch_heap_device(context->heap);

    if (buffer == NULL)
        return CH_FAIL(CHORUS_ERR_ARG, "%s: %s is null; expected %zu bytes of memory",
                       call->function, name, bytes);
    /* Do the bytes reach beyond the end? */
    if (ch_heap_contains(context->heap, buffer, 1) ||
        ch_teams_owner(context->teams, buffer, 1) != NULL)
        return ch_check_symmetric(context, call->function, name, buffer, bytes);
    if (device != NULL && !call->asked->is_reached && !ch_device_reaches(device, buffer))
        return CH_FAIL(CHORUS_ERR_NOT_SYMMETRIC,
                       "%s: %s %p is not in the symmetric heap, nor in memory that GPU %d can "
                       "access; allocate it with chorus_malloc or cudaMalloc",
                       call->function, name, buffer, ch_device_id_of(device)->ordinal);
    return CHORUS_OK;
}

/* Check one buffer, for which is_symmetric returned `symmetric`: its memory and alignment. */
static inline chorus_status check_buffer(const struct ch_context *context,
                                         const struct ch_call *call, const char *name,
                                         const void *buffer, size_t bytes, bool symmetric)
{
    if (!symmetric && bytes != 0)
        CH_TRY(check_private_memory(context, call, name, buffer, bytes));
    if (bytes != 0 && ((uintptr_t)buffer & (ch_type_align[call->asked->type] - 1)) != 0)
        return refuse_alignment(call, name, buffer);
    return CHORUS_OK;
}

/* Do dest and source not overlap? */
static inline bool are_apart(const chorusx_call *asked, const struct ch_extent *extent)
{
    const char *dst = asked->dest, *src = asked->source;

    return dst + extent->dest <= src || src + extent->source <= dst;
}

/* Fails unless dest and source, which overlap, are in place as the collective allows: dest is
 * source, or one of them is this PE's block of the other. */
static chorus_status check_overlap(const struct ch_call *call, const struct ch_extent *extent)
{
    const chorusx_call *asked = call->asked;
    const char *dst = asked->dest, *src = asked->source;
    const size_t mine = call->team->me * extent->block;
    const bool allowed[] = {
        [CH_OVERLAP_apart] = false,
        [CH_OVERLAP_same] = dst == src,
        [CH_OVERLAP_in_dest] = src == dst + mine,
        [CH_OVERLAP_in_source] = dst == src || dst == src + mine,
    };

    if (allowed[ch_coll_overlap(asked->coll)]) return CHORUS_OK;
    return CH_FAIL(
        CHORUS_ERR_ARG,
        "%s: dest %p (%zu bytes) and source %p (%zu bytes) overlap in a way this call does not "
        "allow; keep them apart, or see \"in place\" in its documentation",
        call->function, asked->dest, extent->dest, asked->source, extent->source);
}

/* Check the buffers of any call, and set the call's facts. */
RARE check_buffers(const struct ch_context *context, struct ch_call *call,
                   const struct ch_extent *extent)
{
    const chorusx_call *asked = call->asked;
    const bool dst_symmetric = is_symmetric(context, call->team, asked->dest, extent->dest);
    const bool src_symmetric = is_symmetric(context, call->team, asked->source, extent->source);

    CH_TRY(check_buffer(context, call, "dest", asked->dest, extent->dest, dst_symmetric));
    CH_TRY(check_buffer(context, call, "source", asked->source, extent->source, src_symmetric));
    call->facts = CH_NEED_apart | (dst_symmetric ? (uint32_t)CH_NEED_symmetric_dest : 0) |
                  (src_symmetric ? (uint32_t)CH_NEED_symmetric_source : 0);
    if (extent->dest == 0 || extent->source == 0 || are_apart(asked, extent)) return CHORUS_OK;
    call->facts &= ~(uint32_t)CH_NEED_apart;
    return check_overlap(call, extent);
}

/* Set *out for a call without strides and without counts per PE. False: the bytes exceed the
 * address space. */
static inline bool compute_extent(const chorusx_call *asked, const struct ch_team *team,
                                  struct ch_extent *out)
{
    size_t blocks;

    if (__builtin_mul_overflow(asked->count, ch_type_bytes[asked->type], &out->block) ||
        __builtin_mul_overflow(out->block, team->n, &blocks))
        return false;
    out->dest = ch_coll_has_blocks_in_dest(asked->coll) ? blocks : out->block;
    out->source = ch_coll_has_blocks_in_source(asked->coll) ? blocks : out->block;
    return true;
}

/* Is the root a PE of the team, or does the collective have none? A negative root becomes
 * larger than any n. */
static inline bool is_root_valid(const chorusx_call *asked, const struct ch_team *team)
{
    return !ch_coll_has_root(asked->coll) || (uint32_t)asked->root < team->n;
}

static inline bool is_op_valid(const chorusx_call *asked)
{
    return !ch_coll_reduces(asked->coll) || ch_op_takes(asked->op, asked->type);
}

/* The fast path for most calls: no special case, and valid. */
static inline bool is_plain_and_valid(const struct ch_context *context,
                                      const chorusx_call *asked, const struct ch_team *team)
{
    struct ch_extent extent;

    return ch_coll_is_plain(asked->coll) && asked->combine == NULL &&
           is_root_valid(asked, team) && is_op_valid(asked) &&
           compute_extent(asked, team, &extent) &&
           is_usable(context, asked, asked->dest, extent.dest) &&
           is_usable(context, asked, asked->source, extent.source) && are_apart(asked, &extent);
}

/* Check a call that is_plain_and_valid does not accept, and set its facts. */
RARE check_call_slow(const struct ch_context *context, struct ch_call *call)
{
    const chorusx_call *asked = call->asked;
    struct ch_extent extent;

    if (!is_root_valid(asked, call->team)) return refuse_root(call);
    if (asked->combine != NULL && ch_coll_reduces(asked->coll))
        CH_TRY(check_combine(context, call));
    else if (!is_op_valid(asked))
        return refuse_op(call);
    if (!compute_extent(asked, call->team, &extent)) return refuse_count(call);
    CH_TRY(check_pattern(call, &extent));
    return check_buffers(context, call, &extent);
}

chorus_status ch_check_call(const struct ch_context *context, struct ch_call *call)
{
    const chorusx_call *asked = call->asked;

    call->facts = CH_NEED_apart | CH_NEED_SYMMETRIC;
    if (asked->coll == CHORUS_COLL_barrier || is_plain_and_valid(context, asked, call->team))
        return CHORUS_OK;
    return check_call_slow(context, call);
}

struct ch_extent ch_call_extent(const struct ch_call *call)
{
    struct ch_extent extent = {0, 0, 0};

    if (call->asked->coll == CHORUS_COLL_barrier ||
        !compute_extent(call->asked, call->team, &extent) ||
        check_pattern(call, &extent) != CHORUS_OK)
        return (struct ch_extent){0, 0, 0};
    return extent;
}

void ch_replace_registered(const struct ch_context *context, const struct ch_team *team,
                           chorusx_call *asked)
{
    struct ch_extent extent;

    if (asked->coll == CHORUS_COLL_barrier || !ch_coll_is_plain(asked->coll) ||
        !compute_extent(asked, team, &extent))
        return;
    asked->dest = ch_buffer_to_symmetric(context, asked->dest, extent.dest);
    asked->source =
        ch_buffer_to_symmetric(context, (void *)(uintptr_t)asked->source, extent.source);
}
