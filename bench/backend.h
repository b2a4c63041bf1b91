/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backend.h: the functions that a sweep needs of a library: Chorus in chorus-sweep, and the
 * others that it is compared with.
 *
 * Only call, flush and served are timed. A failure that does not concern one row only (a lost
 * PE, no memory) is reported by the backend, and ends the job.
 */
#ifndef CH_BACKEND_H
#define CH_BACKEND_H

#include "bench/options.h"
#include "bench/sweep.h"
#include "bench/vs.h"
#include "chorus/status.h"

/* An algorithm that --algo may force. */
struct ch_choice {
    const char *name; /* "name:proto"; null: the list ends here */
    bool takes_radix;
};

struct ch_backend {
    const char *program, *version;
    uint32_t me, pes;   /* in the team that is swept; me >= pes: outside, to allocate only */
    bool root_gets;     /* broadcast writes the root's destination too */
    bool chooses_algos; /* --algo, --ctas, --radix, --team and --mode mean something */
    const struct ch_choice *algos[CH_SWEEP_COUNT]; /* a list for each; or null */

    bool on_gpu; /* buffers are a GPU's: the host copies, times and captures by gpu.h */
    const struct ch_peer *peers[CH_PEER_COUNT]; /* on_gpu: those that are there; else null */

    /* Buffers of this PE that calls may use; page-aligned. Null: on all PEs alike, and reason()
     * says why. release takes null too. */
    void *(*allocate)(size_t bytes);
    void (*release)(void *area);

    /* The team is done: it tells the PEs outside, who wait here until then. */
    void (*part)(void);

    /* Wait for all PEs. */
    void (*sync)(void);

    /* Give `bytes`, at most CH_GATHER_MAX; get those of all PEs in their order. */
    void (*gather)(const void *mine, size_t bytes, void *all_out);

    /*
     * One collective. 0; CHORUS_ERR_UNSUPPORTED, on all PEs alike, when the work cannot be done
     * in that way: then the row is left out; CHORUS_ERR_ARG, on all PEs alike, for a value that
     * no row can have.
     */
    int (*call)(const struct ch_work *work, void *dest, const void *source, uint32_t root);
    /* Wait for the calls that are under way on a stream. */
    void (*flush)(void);

    /* on_gpu: put on the stream what makes all PEs' streams go on together. */
    void (*line_up)(void);
    /* End the job: this PE cannot go on, others may not know. Does not return. */
    void (*lose)(const char *why);

    /* One barrier or sync, with stores before and loads after it; PEs that it did not wait for.
     */
    uint64_t (*meet)(const struct ch_work *work);

    /* How calls of this work are served. */
    void (*served)(const struct ch_work *work, struct ch_served *served_out);

    /* Why the last call returned what it did. */
    const char *(*reason)(void);
};

#define CH_GATHER_MAX 64u

/* The whole sweep: measure, print, write files. The exit status: 0, 1 for wrong data or a file
 * that could not be written, 2 for a request that has no rows. Collective. */
int ch_sweep_run(const struct ch_backend *backend, const struct ch_sweep_options *options,
                 int argc, char **argv);

#endif /* CH_BACKEND_H */
