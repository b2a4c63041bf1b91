/* SPDX-License-Identifier: Apache-2.0 */
/* growth.h: allocations by which the heap grows again and again, for PEs with a fault. */
#ifndef FAULTS_GROWTH_H
#define FAULTS_GROWTH_H

#include <stddef.h>
#include <stdint.h>

/* Allocate a block more, with `bytes`; before the first of n_blocks, free all of the last lap.
 * step: counts the calls, from 0. Collective. Returns 0, or CHORUS_ERR_NOMEM. */
int growth_step(void *blocks[], size_t n_blocks, uint64_t step, size_t bytes);

#endif /* FAULTS_GROWTH_H */
