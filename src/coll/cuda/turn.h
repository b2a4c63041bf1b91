/* SPDX-License-Identifier: Apache-2.0 */
/*
 * turn.h: orders the calls of a team on streams, so that they run one at a time.
 *
 * A call runs after the team's previous call. If both are on the same stream, the stream
 * orders them. Otherwise the new call's stream waits for a count, in the GPU's memory, of the
 * CTAs of the team's calls that have ended. An event after each call would also work, but it
 * costs host time at each call, and stands between a kernel and the next one, which then
 * cannot be launched early; an event that is recorded only when the other stream is used needs
 * the old stream, which the program may have destroyed. Within a capture events cost nothing
 * and are used. Captured calls are ordered among those of the same capture, other calls among
 * themselves: only the program knows when a graph runs. Of a team, up to CH_TEAM_CAPTURES
 * captures may be filled in turns.
 */
#ifndef CH_TURN_H
#define CH_TURN_H

#include "heap/heap.h"
#include "team/team.h"

/* A stream for calls. */
struct ch_turn {
    void *stream;     /* a cudaStream_t */
    uint64_t number;  /* an identifier that no other stream has; never 0 */
    uint64_t capture; /* the identifier of its capture; 0: it is not being captured */
    bool is_current;  /* the PE's GPU is current on the thread that makes the call */
};

/*
 * For a stream that the program passed. ERR_ARG: it is of another device, or a default stream
 * of one; ERR_STATE: its capture has failed, or it is the legacy stream during the capture of a
 * stream that waits for it.
 */
CH_MUST_CHECK chorus_status ch_turn_of(const struct ch_heap *heap, void *stream,
                                       struct ch_turn *turn_out);

/* Before and after a call is queued there, whose kernels count this number of CTAs unless it is
 * captured; the caller holds the lock. */
CH_MUST_CHECK chorus_status ch_turn_begin(const struct ch_heap *heap, struct ch_team *team,
                                          const struct ch_turn *turn);
CH_MUST_CHECK chorus_status ch_turn_end(const struct ch_heap *heap, struct ch_team *team,
                                        const struct ch_turn *turn, uint32_t ctas);

#endif /* CH_TURN_H */
