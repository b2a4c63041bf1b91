/* SPDX-License-Identifier: Apache-2.0 */
/* engine.h: what the engine's files share. See docs/simulator.md for the model. */
#ifndef SIM_ENGINE_H
#define SIM_ENGINE_H

#include "sim/sim.h"

#include "base/exec_types.h"

#include <setjmp.h>
#include <ucontext.h>

/* A point in a fiber's history: its event number, and the fiber in the low byte. Everything a
 * fiber does between two releases is one event. 0 is the state before the run. */
typedef uint32_t sim_stamp;
#define SIM_STAMP_BITS 8u
#define SIM_EVENTS_MAX (1u << 24)

struct sim_fiber {
    ucontext_t start;
    jmp_buf context;
    bool is_started, is_done;
    uint32_t id, pe, lane;
    uint32_t clock[SIM_FIBERS_MAX]; /* by fiber: the last event known to have happened before */
    uint32_t took[SIM_FIBERS_MAX];  /* likewise, what packets and lines it took; never behind */
    const uint32_t *told; /* a copy of `took`; null: there is none that is up to date */
    const void *watch;    /* sleeps until this changes; null: can run */
    uint64_t wants;       /* of the word, packet or line it watches */
    const void *missed;   /* packet or line that a load found missing */
    uint64_t missed_flag;
    const void *polled; /* word or quad that it loaded last; null: it has waited since */
    const struct sim_version *polled_found; /* what it found there */
    const uint32_t *fenced; /* its clock at its last release fence; null: there was none */
    const uint32_t *found;  /* what the store released that its last relaxed load found; null:
                               nothing */
    uint32_t priority;
    uint64_t call;
    sim_stamp begun[SIM_CALLS_MAX]; /* where its calls began */
    struct sim_cost cost;
    bool owes[SIM_PES_MAX]; /* by PE: stored to, not yet notified */
};

/* Where the lanes of a PE meet. Two sets, because a fast lane may reach the next meeting before
 * a slow one has left this. */
struct sim_meeting {
    uint32_t arrived, turn;
    struct sim_brought {
        uint32_t clock[SIM_FIBERS_MAX], took[SIM_FIBERS_MAX];
        uint64_t depth;
        int flag;
        uint64_t value;
    } set[2];
};

struct sim {
    struct sim_setup setup;
    uint32_t
        fibers;     /* of the PEs' lanes, then of the links and of threads that make progress */
    uint32_t lanes; /* of all PEs */
    struct ch_link *links[SIM_CONTEXTS_MAX][SIM_FIBERS_MAX][SIM_FIBERS_MAX];
    struct sim_fiber *now;
    uint32_t ready[SIM_COUNTED_FIBERS_MAX]; /* fibers that can run */
    uint32_t n_ready, n_done, n_links;
    uint64_t run; /* number of this run: state of earlier ones is void */
    uint64_t random;
    uint64_t turns;
    uint32_t lag;      /* chance in 16 that a load overlooks what it need not see */
    uint32_t restless; /* chance in 16 of a switch where one is possible */
    bool by_priority;  /* else any fiber that can run is as likely */
    jmp_buf outside;
    char message[2048];
    struct sim_meeting meetings[SIM_FIBERS_MAX];
    struct sim_fiber fiber[SIM_COUNTED_FIBERS_MAX];
};
extern struct sim sim;

/* --- fiber.c -------------------------------------------------------------------------------
 */
uint32_t sim_random(uint32_t below);
bool sim_chance(uint32_t in_16);
/* Let another fiber run, perhaps. */
void sim_yield(void);
/* Sleep until sim_wake(watch). The deadlock message says `wants`. */
void sim_sleep(const void *watch, uint64_t wants);
void sim_wake(const void *watch);

/* A fiber of PE `pe` with one of the lanes below. */
struct sim_fiber *sim_fiber_beside(uint32_t pe, uint32_t lane);

/* --- net.c -------------------------------------------------------------------------------
 */
/* The lanes of a fiber that does what is posted on a link, and of one that makes progress. */
#define SIM_LINK_LANE UINT32_MAX
#define SIM_SERVER_LANE (UINT32_MAX - 1)
/* The links of a run that only counts are opened when they are first asked for, and their
 * fibers when something is posted. */
struct ch_link *sim_link_open(uint32_t index, uint32_t from, uint32_t to);
void sim_link_start(struct ch_link *link, struct sim_fiber *fiber);
void sim_link_run(const struct sim_fiber *self); /* never returns */
bool sim_is_idle_link(const struct sim_fiber *f);
void sim_server_start(struct sim_fiber *fiber);
void sim_server_run(const struct sim_fiber *self); /* likewise */

/* --- atomic.c ------------------------------------------------------------------------------
 */
/* The word gets `value`, with what this fiber knows or, unless null, with another clock. */
void sim_word_store(uint64_t *word, uint64_t value, enum ch_sense sense, const uint32_t *clock);
/* The latest value, whose writer's knowledge this fiber gets. */
uint64_t sim_word_latest(const uint64_t *word);

/* --- clock.c -------------------------------------------------------------------------------
 */
static inline sim_stamp sim_stamp_now(const struct sim_fiber *f)
{
    return sim.setup.is_counted ? 1 : f->clock[f->id] << SIM_STAMP_BITS | f->id;
}

static inline bool sim_covers(const uint32_t *clock, sim_stamp stamp)
{
    return sim.setup.is_counted ||
           clock[stamp & ((1u << SIM_STAMP_BITS) - 1)] >= stamp >> SIM_STAMP_BITS;
}

static inline bool sim_knows(const struct sim_fiber *f, sim_stamp stamp)
{
    return sim_covers(f->clock, stamp);
}

void sim_join(struct sim_fiber *f, const uint32_t *clock);
void sim_join_took(struct sim_fiber *f, const uint32_t *took);
const uint32_t *sim_release(struct sim_fiber *f); /* a copy of its clock; a new event begins */
const uint32_t *sim_tell_took(struct sim_fiber *f);    /* a copy of what it knows to be taken */
void sim_take(struct sim_fiber *f, sim_stamp *takers); /* it is one of them, as of now */

/* --- memory.c ------------------------------------------------------------------------------
 */
#define SIM_BLOCK_BYTES 128u
#define SIM_UNITS (SIM_BLOCK_BYTES / 8)

enum sim_kind { SIM_PLAIN, SIM_WORD, SIM_PACKET, SIM_LINE, SIM_QUAD };

/* A value of a word, packet or line. Older ones stay reachable: a load may return them. */
struct sim_version {
    struct sim_version *before;
    const uint32_t *clock; /* what whoever acquires this learns; null: nothing */
    const uint32_t *took;  /* likewise, of what was taken */
    uint64_t value;        /* a word's, or the flag */
    sim_stamp stamp;
    sim_stamp taken; /* readers who took the packet or line, or the first of a quad; 0: nobody
                        yet */
    bool is_data;    /* CH_DATA, a packet or a line */
    uint64_t call, depth;
    unsigned char data[]; /* 8 bytes of a packet or quad, 120 of a line */
};

struct sim_block {
    uint64_t run; /* in which the rest is valid */
    struct sim_version *latest[SIM_UNITS];
    uint8_t kind[SIM_UNITS];
    sim_stamp wrote[SIM_BLOCK_BYTES];
    sim_stamp read[SIM_BLOCK_BYTES]; /* or, with low byte SIM_SHARED, a set of stamps */
};
#define SIM_SHARED 0xffu

void sim_memory_open(void);
void *sim_alloc(size_t bytes); /* until the next run; 8-byte aligned */
/* Readers: none (0), a stamp, or a set of stamps. */
sim_stamp sim_readers_add(sim_stamp readers); /* with this fiber, as of now */
sim_stamp sim_readers_unknown(const uint32_t *clock, sim_stamp readers); /* one that the clock
                                                                            has not, or 0 */
bool sim_is_shared(const void *address);
uint32_t sim_owner(const void *address);
struct sim_block *sim_block_at(const void *address);
const char *
sim_place(const void *address); /* "source + 8 of PE 2"; overwritten by the fourth call */

#endif /* SIM_ENGINE_H */
