/* SPDX-License-Identifier: Apache-2.0 */
/* crew.h: the CTAs of a host, as threads that work on one call at a time. */
#ifndef CH_CREW_H
#define CH_CREW_H

#include "base/error.h"

#include <stdint.h>

struct ch_crew;

/* A crew for calls of up to `ctas` CTAs: the caller of ch_crew_run runs one of them, and
 * threads, which the first run starts when it needs them, the others. pe is that of their log
 * lines. */
CH_MUST_CHECK chorus_status ch_crew_create(uint32_t ctas, int pe, struct ch_crew **crew_out);
void ch_crew_destroy(struct ch_crew *crew); /* null is a no-op */

/*
 * Run work(arg, 0) .. work(arg, ctas - 1) in parallel; returns when all have. If the crew is
 * busy with another call, or threads cannot be created, they run one after another, in this
 * order, on this thread. This is only slower, since CTA i waits only for CTA i of the other
 * PEs.
 */
void ch_crew_run(struct ch_crew *crew, uint32_t ctas, void (*work)(void *arg, uint32_t cta),
                 void *arg);

#endif /* CH_CREW_H */
