/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine.h: the parts of a call before and after copies that a copy engine makes.
 *
 * A copy engine cannot wait for signals. An algorithm for it therefore consists of three
 * parts, one after another in the order of a stream: all PEs enter the call; copies; all PEs
 * have made their copies. A backend with engines runs the first and the last part as functions
 * and queues the copies on the engines.
 */
#ifndef CH_ENGINE_H
#define CH_ENGINE_H

#include "coll/primitives/primitives.h"

/* Wait until all PEs have entered the call: their dest may then be written. */
CH_FN chorus_status ch_engine_enter(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = ch_next_epoch(c, g);

    ch_signal_all(c, CH_WORD_READY, epoch, CH_CREDIT, g);
    return ch_await_all(c, CH_WORD_READY, epoch, g);
}

/* After the copies of the call that ch_engine_enter began: wait until all PEs have made
 * theirs. */
CH_FN chorus_status ch_engine_leave(const struct ch_coll *c, struct ch_lanes g)
{
    const uint64_t epoch = *c->epoch;

    ch_signal_all(c, CH_WORD_DONE, epoch, CH_DATA, g);
    return ch_await_all(c, CH_WORD_DONE, epoch, g); /* dest is complete */
}

/* A PE's copy of a block to the k-th PE after it. */
struct ch_engine_copy {
    char *to;
    const char *from;
};

/* Copy k (0 to n - 1) of a call: this PE's block for the k-th PE after it. src_step: bytes from
 * the block for one PE to that for the next. */
CH_FN struct ch_engine_copy ch_engine_copy_of(const struct ch_coll *c, size_t src_step,
                                              uint32_t k)
{
    const uint32_t peer = ch_pe_after(c, k);
    struct ch_engine_copy copy;

    copy.to = ch_peer_address(c, peer, c->dst + c->me * c->stride);
    copy.from = c->src + peer * src_step;
    return copy;
}

/* The whole call, on a backend without engines. */
CH_FN chorus_status ch_engine_all(const struct ch_coll *c, size_t src_step, struct ch_lanes g)
{
    const chorus_status st = ch_engine_enter(c, g);

    if (st != CHORUS_OK) return st;
    for (uint32_t k = 0; k < c->n; k++) {
        const struct ch_engine_copy copy = ch_engine_copy_of(c, src_step, k);

        ch_copy(copy.to, copy.from, ch_bytes(c), g);
    }
    return ch_engine_leave(c, g);
}

#endif /* CH_ENGINE_H */
