/* SPDX-License-Identifier: Apache-2.0 */
/* call_word.h: the word that describes a call, in records and for CHORUS_CHECK; kernels also
 * compute it. */
#ifndef CH_CALL_WORD_H
#define CH_CALL_WORD_H

/* Where each part begins. The first is a chorus_coll or, with OTHER, the position in
 * CH_DOING_LIST. The last three are the plan: the algorithm's id, the radix less 1, and the
 * number of CTAs, at most 255; 0, as in kernels, without an algorithm. Selection caches plans
 * by the parts before OTHER, of which the two about symmetric buffers are this PE's alone: PEs
 * do not compare them, but name them if their plans differ. */
enum {
    CH_CALL_WHAT_AT = 0,
    CH_CALL_TYPE_AT = 4,
    CH_CALL_OP_AT = 8,
    CH_CALL_APART_AT = 11,          /* source and dest do not overlap */
    CH_CALL_SYMMETRIC_DEST_AT = 12, /* dest is in the symmetric heap */
    CH_CALL_SYMMETRIC_SOURCE_AT = 13,
    CH_CALL_OTHER_AT = 14,
    CH_CALL_ON_STREAM_AT = 15,
    CH_CALL_IN_KERNEL_AT = 16,
    CH_CALL_ROOT_AT = 20,
    CH_CALL_ROOT_BITS = 20,
    CH_CALL_ALGO_AT = 43,
    CH_CALL_RADIX_AT = 50,
    CH_CALL_CTAS_AT = 56
};

#endif /* CH_CALL_WORD_H */
