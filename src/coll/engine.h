/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine.h: what stands around copies that no lane makes.
 *
 * A copy engine knows no signals. So an algorithm for it is three parts, one after another in
 * the order of a stream: all PEs are in the call; copies; all have made their copies. A machine
 * with engines runs the first and the last part as bodies and queues the copies itself.
 */
#ifndef CH_ENGINE_H
#define CH_ENGINE_H

#include "coll/vocab.h"

/* All PEs are in the call: their dest may be written. */
CH_FN chorus_status ch_engine_enter(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_epoch(c, g);

    ch_tell_all(c, CH_WORD_READY, epoch, CH_CREDIT, g);
    return ch_hear_all(c, CH_WORD_READY, epoch, g);
}

/* After the copies of ch_engine_enter's call: all PEs have made theirs. */
CH_FN chorus_status ch_engine_leave(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = *c->epoch;

    ch_tell_all(c, CH_WORD_DONE, epoch, CH_DATA, g);
    return ch_hear_all(c, CH_WORD_DONE, epoch, g); /* dest is complete */
}

#endif /* CH_ENGINE_H */
