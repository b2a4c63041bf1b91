/* SPDX-License-Identifier: Apache-2.0 */
/* call_word.h: the words that describe a call, in records and for CHORUS_CHECK; kernels also
 * compute the first. */
#ifndef CH_CALL_WORD_H
#define CH_CALL_WORD_H

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

#endif /* CH_CALL_WORD_H */
