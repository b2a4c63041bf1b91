/* SPDX-License-Identifier: Apache-2.0 */
/* call_word.h: the word that describes a call, in records and for CHORUS_CHECK; kernels also
 * compute it. */
#ifndef CH_CALL_WORD_H
#define CH_CALL_WORD_H

/* Where each part begins. The first is a chorus_coll or, on hosts, an enum ch_doing_what; the
 * algorithm's is its id plus 1, and 0 in kernels. */
enum {
    CH_CALL_WHAT_AT = 0,
    CH_CALL_TYPE_AT = 8,
    CH_CALL_OP_AT = 16,
    CH_CALL_ALGO_AT = 20,
    CH_CALL_IN_PLACE_AT = 28,
    CH_CALL_ON_STREAM_AT = 29,
    CH_CALL_IN_KERNEL_AT = 30,
    CH_CALL_ROOT_AT = 32
};

#endif /* CH_CALL_WORD_H */
