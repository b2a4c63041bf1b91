/* SPDX-License-Identifier: Apache-2.0 */
/*
 * data.h: what the buffers of one call hold, and what they must hold after it.
 *
 * All contents follow from a seed, so every PE can work out what any PE sent and check its own
 * result without a look at others' memory and in time that does not grow with the team.
 * Moved data is random bytes. Reduced data is chosen so that the result is exact in every
 * order of combination: element i of PE p is f(base(i), share[(p + i) % pes]), where the shares
 * together make a value known beforehand. Each PE thus contributes something else to each
 * element, a missing, doubled or misplaced contribution shows, and no rounding ever happens.
 */
#ifndef CH_DATA_H
#define CH_DATA_H

#include "sweep.h"

/* The byte that poisoned memory is full of. */
#define CH_DATA_POISON 0xdb

/* One call on one PE. Borrowed: work. */
struct ch_data {
    const struct ch_work *work;
    uint32_t pes, me, root;
    uint64_t seed; /* the same on all PEs; another for each call */
};

/* Fill the source of this PE. A PE whose source the call does not read is left alone. */
void ch_data_fill(const struct ch_data *data, void *source);

/* Fill the destination with what no call leaves there. */
void ch_data_poison(const struct ch_data *data, void *dest);

/* Elements of dest that are not what the call must have put there. */
uint64_t ch_data_wrong(const struct ch_data *data, const void *dest);

#endif /* CH_DATA_H */
