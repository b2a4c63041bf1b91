/* SPDX-License-Identifier: Apache-2.0 */
/* multimem.h: which types and operators switches with multicast (NVLink SHARP) combine. */
#ifndef CH_MULTIMEM_H
#define CH_MULTIMEM_H

#include "chorus/lists.h"

#include <stdbool.h>

/* clang-format off */
/*
 * What the switch combines: type, operator, words per access, instruction. Sums of 16-bit types
 * are accumulated in float, as everywhere. Of min and max only those of integers are used: the
 * switch ignores a NaN, which must win.
 */
#define CH_MULTIMEM_INTEGER(X, T, accesses, bits, order, add)                           \
    X(T, and, accesses, "and." bits) X(T, or, accesses, "or." bits)                     \
    X(T, xor, accesses, "xor." bits) X(T, sum, accesses, "add." add)                    \
    X(T, min, accesses, "min." order) X(T, max, accesses, "max." order)
#define CH_MULTIMEM_INTEGERS(X)                                                         \
    CH_MULTIMEM_INTEGER(X, i32, 1x4, "b32", "s32", "s32")                               \
    CH_MULTIMEM_INTEGER(X, u32, 1x4, "b32", "u32", "u32")                               \
    CH_MULTIMEM_INTEGER(X, i64, 1x8, "b64", "s64", "u64")                               \
    CH_MULTIMEM_INTEGER(X, u64, 1x8, "b64", "u64", "u64")
#define CH_MULTIMEM_FLOATS(X)                                                           \
    X(f16, sum, 4x4, "add.acc::f32.v4.f16x2") X(bf16, sum, 4x4, "add.acc::f32.v4.bf16x2") \
    X(f32, sum, 4x4, "add.v4.f32") X(f64, sum, 1x8, "add.f64")
#define CH_MULTIMEM_LIST(X) CH_MULTIMEM_INTEGERS(X) CH_MULTIMEM_FLOATS(X)
/* clang-format on */

/* Does a switch combine this as the library promises? */
static inline bool ch_multimem_combines(chorus_type type, chorus_op op)
{
#define X(T, OP, accesses, ins) \
    if (type == CHORUS_TYPE_##T && op == CHORUS_OP_##OP) return true;
    CH_MULTIMEM_LIST(X)
#undef X
    return false;
}

#endif /* CH_MULTIMEM_H */
