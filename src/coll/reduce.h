/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce.h: element-wise combination, one table entry for each type and operator.
 *
 * A combination of n sources is first(src 0), next(src 1) ... next(src n - 1), last. The
 * accumulator has the type itself, or float for the 16-bit floating types, which are thus
 * rounded once for any number of PEs.
 */
#ifndef CH_REDUCE_H
#define CH_REDUCE_H

#include "base/exec.h"
#include "chorus/lists.h"

#include <stddef.h>

/* An accumulator is at most this many times wider than its element. */
#define CH_ACC_FACTOR 2u

struct ch_reduce {
    void (*first)(void *acc, const void *in, size_t count); /* acc = in */
    void (*next)(void *acc, const void *in, size_t count);  /* acc = acc op in */
    void (*last)(void *out, const void *acc, size_t count); /* out = acc */
    /* out = a op b, as first(a), next(b), last; out may be a or b. Null if there is no such
     * function. */
    void (*both)(void *out, const void *a, const void *b, size_t count);
};

struct ch_reduce_table {
    const char *name; /* of the instruction set */
    /* Null functions if the operator does not support the type (ch_op_takes). */
    struct ch_reduce of[CHORUS_TYPE_COUNT][CHORUS_OP_COUNT];
};

extern const struct ch_reduce_table ch_reduce_base, /* for every processor */
    ch_reduce_avx2;                                 /* in builds for x86-64 alone */

/* The table of the best instruction set that this processor has. */
const struct ch_reduce_table *ch_reduce_here(void);

#endif /* CH_REDUCE_H */
