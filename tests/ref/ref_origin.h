/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ref_origin.h: which PEs' elements a dest holds, for the reference (ref_coll.c), for what
 * kernels compare with (gpu/stream_oracle.h), for calls of more than 2^31 elements
 * (coll_huge.c) and for the data of chorus-sweep (bench/data.c). What the columns of
 * CHORUS_COLL_ROWS do not say of a collective is said here by its name.
 */
#ifndef REF_ORIGIN_H
#define REF_ORIGIN_H

#include "base/collective.h"

#include <stddef.h>
#include <stdint.h>

/* What stands before a function. */
#ifndef REF_FN
#define REF_FN static inline
#endif

/* Elements from `first` on of the sources of the PEs [lo, hi): of one PE, or combined; of no
 * PE: zeros. */
struct ref_origin {
    uint32_t lo, hi;
    size_t first;
};

/* Has a source a block for each PE? */
REF_FN int ref_is_to_each(chorus_coll coll)
{
#define TO_EACH(dest, source, root, work) (CH_BLOCKS_##source > CH_BLOCKS_one)
    return CH_COLLS(TO_EACH) >> coll & 1;
#undef TO_EACH
}

/* Has a dest a block of each PE? */
REF_FN int ref_is_of_each(chorus_coll coll)
{
#define OF_EACH(dest, source, root, work) (CH_BLOCKS_##dest > CH_BLOCKS_one)
    return CH_COLLS(OF_EACH) >> coll & 1;
#undef OF_EACH
}

/* Of block `block` of the dest of PE `me`; blocks of a source are `count` elements apart. */
REF_FN struct ref_origin ref_origin_of(chorus_coll coll, uint32_t n, uint32_t root, uint32_t me,
                                       size_t count, uint32_t block)
{
    struct ref_origin o = {0, n, 0};

    if (ref_is_to_each(coll)) o.first = me * count;
    if (ref_is_of_each(coll)) {
        o.lo = block;
        o.hi = block + 1;
    } else if (CH_COLLS(CH_ROW_FROM_ROOT) >> coll & 1) {
        o.lo = root;
        o.hi = root + 1;
    } else if (coll == CHORUS_COLL_inscan) {
        o.hi = me + 1;
    } else if (coll == CHORUS_COLL_exscan) {
        o.hi = me;
    }
    return o;
}

#endif /* REF_ORIGIN_H */
