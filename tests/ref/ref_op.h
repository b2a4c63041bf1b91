/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ref_op.h: what each operator makes of two numbers, for the reference (ref_coll.c) and for
 * what kernels compare with (gpu/stream_oracle.h). An operator that is not here is unknown to
 * both: the functions return 0, and change nothing.
 */
#ifndef REF_OP_H
#define REF_OP_H

#include "chorus/lists.h"

#include <stdint.h>

/* What stands before a function, and the types of whole numbers and of floating ones. */
#ifndef REF_FN
#define REF_FN static inline
#endif
#ifndef REF_WHOLE
#define REF_WHOLE uint64_t
#endif
#ifndef REF_REAL
#define REF_REAL double
#endif

/* *a = *a OP b, of whole numbers, sign-extended where they are signed. */
REF_FN int ref_op_whole(chorus_op op, int is_signed, REF_WHOLE *a, REF_WHOLE b)
{
    const REF_WHOLE least = is_signed ? ~(~(REF_WHOLE)0 >> 1) : 0;
    const int is_less = (*a ^ least) < (b ^ least);

    switch (op) {
    case CHORUS_OP_and:
        *a &= b;
        return 1;
    case CHORUS_OP_or:
        *a |= b;
        return 1;
    case CHORUS_OP_xor:
        *a ^= b;
        return 1;
    case CHORUS_OP_min:
        *a = is_less ? *a : b;
        return 1;
    case CHORUS_OP_max:
        *a = is_less ? b : *a;
        return 1;
    case CHORUS_OP_sum:
        *a += b;
        return 1;
    case CHORUS_OP_prod:
        *a *= b;
        return 1;
    default:
        return 0;
    }
}

/* The same of floating numbers; NaN wins in min and max. */
REF_FN int ref_op_real(chorus_op op, REF_REAL *a, REF_REAL b)
{
    const int is_nan = *a != *a || b != b;
    const REF_REAL nan = *a != *a ? *a : b;

    switch (op) {
    case CHORUS_OP_min:
        *a = is_nan ? nan : *a < b ? *a : b;
        return 1;
    case CHORUS_OP_max:
        *a = is_nan ? nan : *a > b ? *a : b;
        return 1;
    case CHORUS_OP_sum:
        *a += b;
        return 1;
    case CHORUS_OP_prod:
        *a *= b;
        return 1;
    default:
        return 0;
    }
}

#endif /* REF_OP_H */
