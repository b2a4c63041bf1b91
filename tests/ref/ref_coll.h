/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ref_coll.h: the one oracle. What a collective must give, sequential and obvious; every
 * algorithm on every machine is compared with it.
 *
 * `count` is what the API calls nelems or nreduce: the vector of broadcast, reduce and scans,
 * one PE's block where there are several, the result of reducescatter; 0 for barrier. `type`
 * says how wide an element is where data only moves; `op` is ignored there.
 */
#ifndef REF_COLL_H
#define REF_COLL_H

#include "chorus/lists.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Elements of a PE's source and dest, and blocks of as many elements in dest. Where PEs may
 * have different counts, tests give these: PE `pe` contributes ref_part(count, pe) to a
 * collect, and ref_block(count, from, to) goes from a PE to another in alltoallv, from block
 * `to` of source to block n - 1 - from of dest, which are `count` apart.
 */
size_t ref_source_count(chorus_coll coll, uint32_t n, size_t count);
size_t ref_dest_blocks(chorus_coll coll, uint32_t n);
size_t ref_dest_count(chorus_coll coll, uint32_t n, size_t count);
size_t ref_part(size_t count, uint32_t pe);
size_t ref_block(size_t count, uint32_t from, uint32_t to);

/* The count that PE `pe` gives to the call. */
size_t ref_own_count(chorus_coll coll, size_t count, uint32_t pe);

/* Does PE `me` get anything in dest? */
bool ref_has_dest(chorus_coll coll, uint32_t root, uint32_t me);

/* The dest of PE `me` after the call: sources[p] is the source of PE p; elements packed, poison
 * where nothing is written. Combined in PE order 0..n-1; half and bfloat16 in float, rounded
 * once. An operator that is not in ref_op.h, or not for this type, ends the program. */
void ref_expect(chorus_coll coll, chorus_type type, chorus_op op, uint32_t n, uint32_t root,
                size_t count, const void *const *sources, uint32_t me, void *dest_out);

/*
 * Fill `count` elements with what PE `pe` contributes in the call that `seed` names: different
 * for each PE, call and place. Where data is combined the values are such that the result is
 * exact and the same in any order of up to 64 PEs: small integers for floating sums, powers of
 * two for floating products, anything for integers. min and max get an occasional NaN.
 */
void ref_fill(chorus_coll coll, chorus_type type, chorus_op op, uint64_t seed, uint32_t pe,
              size_t count, void *source_out);

/*
 * The first element that is wrong, or -1. Moved data and integers must be equal bit for bit;
 * combined floating values must be equal as numbers, or both NaN.
 */
ptrdiff_t ref_compare(chorus_coll coll, chorus_type type, const void *got, const void *want,
                      size_t count);

/* A pattern that no fill makes often, to find what was never written. */
void ref_poison(void *memory, size_t bytes);

/* A well-mixed number from three: the tests' source of everything random. */
uint64_t ref_hash(uint64_t a, uint64_t b, uint64_t c);

#endif /* REF_COLL_H */
