/* SPDX-License-Identifier: Apache-2.0 */
/* crew.h: the CTAs of a host, as threads that work on one call at a time. */
#ifndef CH_CREW_H
#define CH_CREW_H

#include "base/error.h"

#include <stdint.h>

struct ch_crew;

/* A crew for calls of up to `ctas` CTAs: the caller of ch_crew_run is one of them, the others
 * are threads, started by the first run that needs them. pe names their log lines. */
CH_MUST_CHECK chorus_status ch_crew_create(uint32_t ctas, int pe, struct ch_crew **crew_out);
void ch_crew_destroy(struct ch_crew *crew); /* null is a no-op */

/*
 * Run work(arg, 0) .. work(arg, ctas - 1) side by side; returns when all have. One after the
 * other, in this order, on this thread, if the crew is busy with another call or the system
 * gives no threads: a CTA waits for its like on other PEs alone, so that is only slower.
 */
void ch_crew_run(struct ch_crew *crew, uint32_t ctas, void (*work)(void *arg, uint32_t cta),
                 void *arg);

#endif /* CH_CREW_H */
