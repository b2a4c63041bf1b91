/* SPDX-License-Identifier: Apache-2.0 */
/*
 * turn.h: on which streams a team's calls may be put, and that they run one at a time.
 *
 * A call comes after the team's last one: by the order of the stream where both are on the same
 * one. Where they are not, the new call's stream waits for a count, in the GPU's memory, of the
 * CTAs of the team's calls that have ended. An event after each call would do as well, but take
 * the host's time at each, and stand between a kernel and the one that is launched early after
 * it; and one that is recorded when the other stream comes needs the old stream, which the
 * program may have destroyed. Within a capture events cost nothing and are used. Calls that are
 * captured are ordered among those of the same capture, the others among themselves: when a
 * graph runs, only the program knows.
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

/* Before and after a call is put there, of whose kernels so many CTAs count themselves unless
 * it is captured; guarded by the caller. */
CH_MUST_CHECK chorus_status ch_turn_begin(const struct ch_heap *heap,
                                          const struct ch_team *team,
                                          const struct ch_turn *turn);
CH_MUST_CHECK chorus_status ch_turn_end(const struct ch_heap *heap, struct ch_team *team,
                                        const struct ch_turn *turn, uint32_t ctas);

#endif /* CH_TURN_H */
