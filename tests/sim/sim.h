/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim.h: the engine of the simulated machine, for the program that drives it.
 *
 * One run at a time: sim_open, sim_run, and sim_message if that failed. Within sim_run the body
 * runs once per lane, as a fiber; the functions of the second half are for it.
 */
#ifndef SIM_H
#define SIM_H

#include "base/door.h"
#include "base/link.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_FIBERS_MAX 128u
#define SIM_COUNTED_FIBERS_MAX 8192u /* of a run that only counts */
#define SIM_PES_MAX 1024u
#define SIM_CONTEXTS_MAX 2u

/* Who does the atomics that are posted on links. */
enum sim_atomics {
    SIM_NO_ATOMICS,     /* there are none */
    SIM_SERVED_ATOMICS, /* the thread of the target PE that makes progress */
    SIM_DEVICE_ATOMICS, /* the link's device, atomic towards itself alone */
};

struct sim_setup {
    uint32_t n, width; /* PEs, and lanes of each; at most SIM_FIBERS_MAX together */
    bool is_counted; /* nobody's knowledge is kept, so no race is seen: values, waits and costs
                        alone, for up to SIM_PES_MAX PEs of a lane each */
    size_t pe_bytes; /* shared memory of each PE */
    uint64_t seed;   /* everything the adversary does follows from it */
    const uint32_t
        *host;    /* [n]: PEs of different hosts are not mapped; null: all of one host */
    bool is_weak; /* a word may be there before the puts before it */
    bool is_slow; /* links read sources, and store what they read later, see sim_link_sent */
    uint32_t contexts; /* links between two PEs, which order nothing among them; 0: one */
    enum sim_atomics atomics;
    /* Write what lies at `offset` of a PE's memory, for messages. */
    void (*describe)(uint32_t pe, size_t offset, char *text_out, size_t text_bytes);
};

void sim_open(const struct sim_setup *setup);

/* Run body(pe, lane) on every lane to its end. False: the run failed, see sim_message. */
bool sim_run(void (*body)(uint32_t pe, uint32_t lane));
const char *sim_message(void);

/* A PE's shared memory as PEs address it. No address in it can be dereferenced. */
char *sim_memory(uint32_t pe);
struct ch_door *sim_door(uint32_t pe);

/* How PE `from` reaches `to`; null if that is mapped. */
struct ch_link *sim_link(uint32_t from, uint32_t to);
struct ch_link *sim_link_in(uint32_t context, uint32_t from, uint32_t to);

/* --- within the body ------------------------------------------------------------------- */

/* Give up the run with this message. */
void sim_fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* Plain accesses of this PE to its own memory, as an application makes them. */
void sim_read(const void *from, size_t bytes, void *out);
void sim_write(void *to, const void *data, size_t bytes);

/* Add to a word: by the CPU, to a mapped PE's; or by a link, where *before_out is valid, and
 * what its writers knew is known, after a flush of the link. */
uint64_t sim_word_add(uint64_t *word, uint64_t value);
void sim_link_add(struct ch_link *link, uint64_t *word, uint64_t value, uint64_t *before_out);
/* ch_link_post_word, also where words may overtake puts: without the flush that a network that
 * is weak in this way makes before it. */
void sim_link_word(struct ch_link *link, uint64_t *there, uint64_t value, enum ch_sense sense);

/* Copy from the peer's memory to that of the link's PE, at any time before a flush ends. */
void sim_link_get(struct ch_link *link, void *dst, const void *there, size_t bytes);
/* If links are slow: wait until the sources of all posts were read. A flush also waits until
 * what was posted has taken effect. */
void sim_link_sent(struct ch_link *link);

/* All lanes of this PE meet. */
void sim_meet(void);

/* What the lane did in its call: reset, and looked at afterwards. */
struct sim_cost {
    uint64_t depth;   /* signals that publish data, one behind another */
    uint64_t bytes;   /* data stored to or fetched from other PEs' memory */
    uint64_t signals; /* words that publish, stored in other PEs' memory */
};
void sim_call_begin(uint64_t call);
struct sim_cost sim_call_end(void); /* fails if a store was not followed by a notify */

/* Does this lane know, by what it heard, that PE `pe` has begun call `call`? */
bool sim_knows_begun(uint32_t pe, uint64_t call);
#define SIM_CALLS_MAX 8u

#endif /* SIM_H */
