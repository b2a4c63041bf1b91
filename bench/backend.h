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

/* An algorithm that --algo can force. */
struct ch_choice {
    const char *name; /* "name:proto"; null: the end of the list */
    bool takes_radix;
};

struct ch_backend {
    const char *program, *version;
    uint32_t me, pes; /* in the team of the sweep; me >= pes: not in the team, only allocates */
    const char *reach;  /* how the farthest PE is reached, as rules name it; null: not known */
    bool root_gets;     /* broadcast also writes the root's destination */
    bool chooses_algos; /* supports --algo, --ctas, --radix, --team and --mode */
    const struct ch_choice *algos[CH_SWEEP_COUNT]; /* a list for each; or null */

    bool on_gpu; /* buffers are on a GPU: gpu.h copies, measures time and captures */
    const struct ch_peer *peers[CH_PEER_COUNT]; /* on_gpu: the loaded ones; else null */

    /* Buffers of this PE for calls; page-aligned. Null: the same on all PEs, and reason()
     * returns why. release accepts null. */
    void *(*allocate)(size_t bytes);
    void (*release)(void *area);

    /* The team has finished: informs the PEs outside the team, which wait in this call. */
    void (*part)(void);

    /* Wait for all PEs. */
    void (*sync)(void);

    /* Send `bytes`, at most CH_GATHER_MAX; receive those of all PEs in their order. */
    void (*gather)(const void *mine, size_t bytes, void *all_out);

    /*
     * One collective. 0; CHORUS_ERR_UNSUPPORTED, the same on all PEs, if the call is not
     * possible in this way: the row is then omitted; CHORUS_ERR_ARG, the same on all PEs, for a
     * value that no row can have.
     */
    int (*call)(const struct ch_work *work, void *dest, const void *source, uint32_t root);
    /* Wait for the queued calls of a stream. */
    void (*flush)(void);

    /* on_gpu: queue on the stream a synchronisation of all PEs' streams. */
    void (*line_up)(void);
    /* End the job: this PE cannot continue, and others may not know. Does not return. */
    void (*lose)(const char *why);

    /* One barrier or sync, with stores before and loads after it; returns the number of PEs
     * that it did not wait for. */
    uint64_t (*meet)(const struct ch_work *work);

    /* The algorithm, and so on, of calls of this work. */
    void (*served)(const struct ch_work *work, struct ch_served *served_out);

    /* The reason of the last call's return value. */
    const char *(*reason)(void);
};

#define CH_GATHER_MAX 64u

/* The whole sweep: measure, print, write files. Returns the exit status: 0, 1 for wrong data or
 * a file that could not be written, 2 for a request without rows. Collective. */
int ch_sweep_run(const struct ch_backend *backend, const struct ch_sweep_options *options,
                 int argc, char **argv);

#endif /* CH_BACKEND_H */
