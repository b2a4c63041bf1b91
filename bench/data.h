/* SPDX-License-Identifier: Apache-2.0 */
/*
 * data.h: the contents of the buffers of one call before it, and the expected contents after
 * it.
 *
 * All contents are determined by a seed, so every PE can compute the data of every other PE,
 * and checks its own result without access to others' memory and in time that does not grow
 * with the team. Moved data is random bytes. Reduced data is chosen so that the result is exact
 * in every order of combination: element i of PE p is f(base(i), share[(p + i) % pes]), where
 * the combination of all shares is known in advance. Each PE thus contributes a different value
 * to each element, a missing, doubled or misplaced contribution changes the result, and no
 * rounding occurs.
 */
#ifndef CH_DATA_H
#define CH_DATA_H

#include "sweep.h"

/* The byte with which memory is poisoned. */
#define CH_DATA_POISON 0xdb

/* One call on one PE. Borrowed: work. */
struct ch_data {
    const struct ch_work *work;
    uint32_t pes, me, root;
    uint64_t seed; /* the same on all PEs; different for each call */
};

/* Fill the source of this PE, unless the call does not read it. */
void ch_data_fill(const struct ch_data *data, void *source);

/* Fill the destination with values that no call produces. */
void ch_data_poison(const struct ch_data *data, void *dest);

/* Number of elements of dest that differ from the expected result. */
uint64_t ch_data_wrong(const struct ch_data *data, const void *dest);

#endif /* CH_DATA_H */
