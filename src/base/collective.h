/* SPDX-License-Identifier: Apache-2.0 */
/* collective.h: properties in which collectives differ, and the words that describe a call. */
#ifndef CH_COLLECTIVE_H
#define CH_COLLECTIVE_H

#include "chorus/lists.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

/* What the columns of CHORUS_COLL_ROWS say. */
enum { CH_BLOCKS_none, CH_BLOCKS_one, CH_BLOCKS_all, CH_BLOCKS_strides, CH_BLOCKS_lengths };
enum { CH_ROOT_none, CH_ROOT_from, CH_ROOT_to };
enum { CH_WORK_copies, CH_WORK_combines, CH_WORK_scans };
enum ch_overlap { CH_OVERLAP_apart, CH_OVERLAP_same, CH_OVERLAP_in_dest, CH_OVERLAP_in_source };

/* Those whose row meets a condition on its columns, which are constants, as bits of a set. */
#define CH_ROW_IN_DEST(dest, source, root, work) (CH_BLOCKS_##dest == CH_BLOCKS_all)
#define CH_ROW_IN_SOURCE(dest, source, root, work) (CH_BLOCKS_##source == CH_BLOCKS_all)
#define CH_ROW_STRIDED(dest, source, root, work) (CH_BLOCKS_##dest == CH_BLOCKS_strides)
#define CH_ROW_UNEVEN(dest, source, root, work) (CH_BLOCKS_##dest == CH_BLOCKS_lengths)
#define CH_ROW_LISTED(dest, source, root, work) (CH_BLOCKS_##source == CH_BLOCKS_lengths)
#define CH_ROW_ROOTED(dest, source, root, work) (CH_ROOT_##root != CH_ROOT_none)
#define CH_ROW_FROM_ROOT(dest, source, root, work) (CH_ROOT_##root == CH_ROOT_from)
#define CH_ROW_COMBINING(dest, source, root, work) (CH_WORK_##work != CH_WORK_copies)
#define CH_ROW_SPLIT(dest, source, root, work) \
    (CH_WORK_##work == CH_WORK_combines && CH_BLOCKS_##source == CH_BLOCKS_all)
#define CH_ROW_BIT(MEETS, coll, dest, source, root, work, ...) \
    | (uint32_t)MEETS(dest, source, root, work) << CHORUS_COLL_##coll
#define CH_COLLS(MEETS) (0 CHORUS_COLL_ROWS(CH_ROW_BIT, MEETS))

static_assert(CHORUS_COLL_COUNT <= 32, "a set has no room for all collectives");

/* Has dest a block for each PE? If not, it has one, or elements with strides, or blocks of
 * other lengths. */
static inline bool ch_coll_has_blocks_in_dest(chorus_coll coll)
{
    return CH_COLLS(CH_ROW_IN_DEST) >> coll & 1;
}

/* Has source a block for each PE? */
static inline bool ch_coll_has_blocks_in_source(chorus_coll coll)
{
    return CH_COLLS(CH_ROW_IN_SOURCE) >> coll & 1;
}

/* Do dest and source consist of elements with strides? */
static inline bool ch_coll_is_strided(chorus_coll coll)
{
    return CH_COLLS(CH_ROW_STRIDED) >> coll & 1;
}

/* May the PEs have different counts? Rules then get no number of bytes. */
static inline bool ch_coll_is_uneven(chorus_coll coll)
{
    return CH_COLLS(CH_ROW_UNEVEN) >> coll & 1;
}

/* Does a call give the length of each block of source, as alltoallv does? */
static inline bool ch_coll_is_listed(chorus_coll coll)
{
    return CH_COLLS(CH_ROW_LISTED) >> coll & 1;
}

static inline bool ch_coll_has_root(chorus_coll coll)
{
    return CH_COLLS(CH_ROW_ROOTED) >> coll & 1;
}

/* Is only the root's source read? */
static inline bool ch_coll_is_from_root(chorus_coll coll)
{
    return CH_COLLS(CH_ROW_FROM_ROOT) >> coll & 1;
}

/* Does the collective combine elements? */
static inline bool ch_coll_reduces(chorus_coll coll)
{
    return CH_COLLS(CH_ROW_COMBINING) >> coll & 1;
}

/* Does each PE get its block of what is combined? Rules and tools then count the bytes of all
 * blocks. */
static inline bool ch_coll_splits_result(chorus_coll coll)
{
    return CH_COLLS(CH_ROW_SPLIT) >> coll & 1;
}

/* Does each buffer have whole blocks of contiguous elements? */
static inline bool ch_coll_is_plain(chorus_coll coll)
{
    return !ch_coll_is_strided(coll) && !ch_coll_is_uneven(coll);
}

/* Returns how dest and source of a call may overlap; see CHORUS_COLL_ROWS. */
static inline enum ch_overlap ch_coll_overlap(chorus_coll coll)
{
    static const uint8_t overlaps[] = {
#define X(A, coll, dest, source, root, work, overlap, prefix) CH_OVERLAP_##overlap,
        CHORUS_COLL_ROWS(X, )
#undef X
    };

    return (enum ch_overlap)overlaps[coll];
}

/* --- the words that describe a call ------------------------------------------------------- */

/* In records and for CHORUS_CHECK; kernels also compute the first. */

/* Where each part of the first word begins. Collective, type and operator have 8 bits each, and
 * so have the flags, of which two are free. The first part is a chorus_coll or, with OTHER, the
 * position in CH_DOING_LIST; ALGO is the algorithm's id. PEs do not compare the two flags about
 * symmetric buffers, which are this PE's alone, but name them if their plans differ. */
enum {
    CH_CALL_WHAT_AT = 0,
    CH_CALL_TYPE_AT = 8,
    CH_CALL_OP_AT = 16,
    CH_CALL_APART_AT = 24,          /* source and dest do not overlap */
    CH_CALL_SYMMETRIC_DEST_AT = 25, /* dest is in the symmetric heap */
    CH_CALL_SYMMETRIC_SOURCE_AT = 26,
    CH_CALL_OTHER_AT = 27,
    CH_CALL_ON_STREAM_AT = 28,
    CH_CALL_IN_KERNEL_AT = 29,
    CH_CALL_ALGO_AT = 32,
    CH_CALL_ALGO_BITS = 12,
    CH_CALL_ROOT_AT = 44,
    CH_CALL_ROOT_BITS = 20
};

/* The second word is the rest of the plan: the radix less 1, and the number of CTAs, at most
 * 255; both words have 0 there, as in kernels, without an algorithm. */
enum { CH_CALL_RADIX_AT = 0, CH_CALL_CTAS_AT = 6 };

#endif /* CH_COLLECTIVE_H */
