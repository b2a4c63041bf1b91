/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host.h: calls of collectives on hosts: one call, from its arguments to its CTAs; the threads
 * that run the CTAs; streams; and the instances of the algorithms.
 */
#ifndef CH_HOST_H
#define CH_HOST_H

#include "base/error.h"
#include "chorus/chorusx.h"
#include "coll/algorithm.h"
#include "coll/coll.h"
#include "team/team.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- the CTAs of a host, as threads that work on one call at a time ----------------------- */
struct ch_workers;

/* Create workers for calls of up to `ctas` CTAs: the caller of ch_workers_run runs one of them,
 * and threads, which the first run starts when it needs them, the others. pe: the PE in their
 * log lines. */
CH_MUST_CHECK chorus_status ch_workers_create(uint32_t ctas, int pe,
                                              struct ch_workers **workers_out);
void ch_workers_destroy(struct ch_workers *workers); /* null is a no-op */

/*
 * Run work(arg, 0) .. work(arg, ctas - 1) in parallel; returns when all have. If the workers
 * are busy with another call, or threads cannot be created, they run one after another, in this
 * order, on this thread. This is only slower, since CTA i waits only for CTA i of the other
 * PEs.
 */
void ch_workers_run(struct ch_workers *workers, uint32_t ctas,
                    void (*work)(void *arg, uint32_t cta), void *arg);

/* --- one call ----------------------------------------------------------------------------- */
/* Why a CTA of a call failed. */
struct ch_cause {
    int status;                /* of a call of several CTAs: the first that failed */
    uint32_t late_peer;        /* the PE that it waited for */
    struct ch_unequal unequal; /* of alltoallv; without a difference if it is another cause */
};

/* A collective call on its way: what was asked, what was chosen, and how it ended. */
struct ch_call {
    const char *function;      /* that the program called, for messages */
    const chorusx_call *asked; /* borrowed */
    bool is_on_stream;
    chorus_stream_t stream; /* if so; null is a GPU's default stream */
    bool is_traced;         /* its begin event was made, see api/inquiry.c */
    struct ch_team *team;
    uint32_t facts; /* of the buffers: CH_NEED_apart, CH_NEED_SYMMETRIC */
    uint32_t ctas, radix;
    const struct ch_algo *algo;
    uint64_t plan;  /* the three as the team caches them, see api/coll.c; 0: there is none */
    uint64_t index; /* its index in the record of the PE's calls */
    /* On hosts, bytes of the source that must not change while the call runs, and their hash,
     * if it was computed already. */
    size_t source_bytes;
    uint64_t source_sum;
    bool is_summed;
    struct ch_cause cause;
};

/*
 * Run the call when its turn on the team (`ticket`) has come, and return at its end. A wait or
 * an algorithm that fails sets a message and makes the team unusable. ERR_ARG: the source was
 * written meanwhile; ERR_SYSTEM: no memory for the first call. Neither changes the team.
 */
CH_MUST_CHECK chorus_status ch_call_run(struct ch_call *call, uint64_t ticket,
                                        struct ch_workers *workers);

/* Compute the hash of the source now. Earlier work of the program that writes it must be
 * complete. */
void ch_call_hash_source(struct ch_call *call);

/* --- a stream, an in-order queue of calls with a thread that runs them -------------------- */
struct chorus_stream;

/* Create a stream and its thread. ctas: the largest number of CTAs of a call on it; pe: the PE
 * in its threads' log lines. */
CH_MUST_CHECK chorus_status ch_stream_create(uint32_t ctas, int pe,
                                             struct chorus_stream **stream_out);
/* Runs the queued calls, then frees; null is a no-op. */
void ch_stream_destroy(struct chorus_stream *stream);

/* Queue a call and return; waits only while CH_STREAM_DEPTH calls are queued. Draws the call's
 * ticket, so that calls of one team run in the order in which they were made, on whatever
 * streams. The hash of a watched source is computed now if no earlier call must still run. */
#define CH_STREAM_DEPTH 1024u
void ch_stream_push(struct chorus_stream *stream, const struct ch_call *call);

/* Queue a function, which gets a copy of the task: `bytes` bytes, at most CH_TASK_BYTES. */
#define CH_TASK_BYTES 144u
void ch_stream_push_task(struct chorus_stream *stream, chorus_status (*run)(const void *task),
                         const void *task, size_t bytes);

/* Wait for all calls queued so far. Returns the first failure since the last time, with its
 * message. */
CH_MUST_CHECK chorus_status ch_stream_synchronize(struct chorus_stream *stream);

/* --- instances of the algorithms ---------------------------------------------------------- */
/* A test for each message whether its peer is mapped takes up to a tenth of a small call's
 * time, so teams on one host have instances without this test. */
typedef chorus_status (*ch_host_entry)(const struct ch_coll *c);

extern const ch_host_entry ch_host_mapped[CH_ALGO_COUNT];
extern const ch_host_entry ch_host_routed[CH_ALGO_COUNT]; /* null if it needs `map` */

#endif /* CH_HOST_H */
