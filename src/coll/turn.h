/* SPDX-License-Identifier: Apache-2.0 */
/*
 * turn.h: on which streams a team's calls may be put, and that they run one at a time.
 *
 * A call comes after the team's last one: by the order of the stream where both are on the same
 * one, by an event where they are not. Calls that are captured are ordered among those of the
 * same capture, the others among themselves: when a graph runs, only the program knows.
 */
#ifndef CH_TURN_H
#define CH_TURN_H

#include "heap/heap.h"
#include "team/team.h"

/* A stream that a call can be put on. */
struct ch_turn {
    void *stream;     /* a cudaStream_t */
    uint64_t number;  /* which no other stream has; never 0 */
    uint64_t capture; /* the number of the capture that it is in; 0: in none */
};

/*
 * Of a stream that the program passed. ERR_ARG: it is of another device, or a default stream
 * of one; ERR_STATE: its capture is broken.
 */
CH_MUST_CHECK chorus_status ch_turn_of(const struct ch_heap *heap, void *stream,
                                       struct ch_turn *turn_out);

/* Before and after a call is put there; guarded by the caller. */
CH_MUST_CHECK chorus_status ch_turn_begin(const struct ch_heap *heap,
                                          const struct ch_team *team,
                                          const struct ch_turn *turn);
CH_MUST_CHECK chorus_status ch_turn_end(const struct ch_heap *heap, struct ch_team *team,
                                        const struct ch_turn *turn);

#endif /* CH_TURN_H */
