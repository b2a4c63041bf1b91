/* SPDX-License-Identifier: Apache-2.0 */
/*
 * silence.h: for how long the network of another host may be silent before its PEs are lost.
 *
 * An interruption of up to CHORUS_LINK_TIMEOUT is survived. The kernel repeats a packet at
 * intervals, so the first one that passes after an interruption may be sent a while after its
 * end; limits therefore have a margin.
 */
#ifndef CH_SILENCE_H
#define CH_SILENCE_H

#include "base/clock.h"

#include <stdint.h>

/* The margin where repetitions are at most a second apart. */
#define CH_SILENCE_MARGIN_NS (3 * CH_NS_PER_S / 2)

/* Limits are not shorter than with this CHORUS_LINK_TIMEOUT, since keepalive probes have
 * intervals of whole seconds. */
#define CH_SILENCE_LEAST_NS CH_NS_PER_S

static inline uint64_t ch_silence_ns(uint64_t link_ns)
{
    return (link_ns > CH_SILENCE_LEAST_NS ? link_ns : CH_SILENCE_LEAST_NS) +
           CH_SILENCE_MARGIN_NS;
}

/*
 * Set a TCP socket so that interruptions of link_ns end no connection while nothing is sent,
 * and that longer ones do. Returns the time without an answer after which one is lost while
 * data is sent: more than ch_silence_ns where the kernel doubles the intervals of repetitions
 * without limit (before Linux 6.15).
 */
uint64_t ch_silence_set(int fd, uint64_t link_ns);

#endif /* CH_SILENCE_H */
