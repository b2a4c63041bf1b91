/* SPDX-License-Identifier: Apache-2.0 */
/* ring.h: the machine that runs the ring of requests (base/ring.h), from a seed. */
#ifndef SIM_RING_H
#define SIM_RING_H

#include <stdint.h>

/* What happened in all runs so far. */
struct ring_counts {
    uint64_t posted, waited, flushed, quieted, skipped;
};
extern struct ring_counts ring_counts;

/* Returns what is wrong, or null. */
const char *ring_run(uint64_t seed);

#endif /* SIM_RING_H */
