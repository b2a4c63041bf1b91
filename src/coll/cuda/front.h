/* SPDX-License-Identifier: Apache-2.0 */
/*
 * front.h: the record of the waits for words that this PE queued for the front end of its GPU.
 * A wait of the host for a stream looks there for what the stream waits for. CUDA does not tell
 * whether a wait is over: the host reads its word, and forgets the wait once work behind it has
 * ended. A wait that was over, and whose word has another value by the time that the host
 * looks, counts as one that is not, unless the host has waited for its stream in the meantime.
 *
 * A wait holds up its own stream, and each stream on which a call then waits for a call on such
 * a stream. A wait that was captured may hold up any stream, each time that its graph is
 * launched, and stays in the record. What the program orders by its own events is not known.
 */
#ifndef CH_FRONT_H
#define CH_FRONT_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* Until the word is at least, or equal to, a value. */
struct ch_front_wait {
    const uint64_t *word;
    uint64_t value;
    bool is_exact;
    bool is_captured;
    uint64_t number; /* of the record: larger than those of earlier waits */
};

/* The last ones that were queued, on all streams. */
enum { CH_FRONT_WAITS = 256 };

struct ch_front;

/* Those that hold up a stream, in their order. */
struct ch_front_view {
    uint32_t n;
    struct ch_front_wait waits[CH_FRONT_WAITS];
};

/* The record has a mutex of its own. */
CH_MUST_CHECK chorus_status ch_front_open(struct ch_front **front_out);
void ch_front_close(struct ch_front *front); /* null is a no-op */

/* Streams are those of ch_turn.number. */
void ch_front_add(struct ch_front *front, uint64_t stream, const struct ch_front_wait *wait);

/* What is queued on `stream` from now on runs after what was queued on `earlier`. */
void ch_front_follow(struct ch_front *front, uint64_t stream, uint64_t earlier);

void ch_front_look(struct ch_front *front, uint64_t stream, struct ch_front_view *view_out);

/* The stream's work has ended that was queued before this view of it. */
void ch_front_forget(struct ch_front *front, const struct ch_front_view *view);

/* The same of the whole GPU: ch_front_now is the number of the next wait. */
uint64_t ch_front_now(struct ch_front *front);
void ch_front_forget_before(struct ch_front *front, uint64_t number);

#endif /* CH_FRONT_H */
