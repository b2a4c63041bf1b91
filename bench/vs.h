/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vs.h: other libraries that make the same calls on the same GPUs, timed in turn with Chorus.
 *
 * A library is opened when the sweep starts. If it is not found, or cannot make a call, its
 * columns remain empty and one line on standard error says so.
 */
#ifndef CH_VS_H
#define CH_VS_H

#include "bench/options.h"

/* Read the list of --vs: "nccl", "nvshmem=FILE". */
bool ch_read_vs(struct ch_sweep_options *options, const char *text);

/* Does the command line ask for any? */
bool ch_vs_any(const struct ch_sweep_options *options);

/* What a library needs to join its PEs of the sweep. */
struct ch_vs_job {
    uint32_t me, pes;
    void *stream; /* a cudaStream_t */
    /* Give what PE 0 has to all. Collective. */
    void (*share)(void *bytes_of_first, size_t bytes);
    /* End the job: this PE cannot continue, and others may not know. Does not return. */
    void (*lose)(const char *why);
};

/* A library that is there. Its calls are put on the job's stream. */
struct ch_peer {
    char version[32];
    /* Memory that its calls may use, or null. Collective. */
    void *(*allocate)(size_t bytes);
    void (*release)(void *area);
    /* 0, or CHORUS_ERR_UNSUPPORTED on all PEs alike; any other failure ends the job. */
    int (*call)(const struct ch_work *work, void *dest, const void *source, uint32_t root);
};

/*
 * Each library: find it, by the path or by its usual name if that is empty; join the others;
 * leave. False, maybe on this PE alone: a message in error[bytes].
 */
#define CH_VS_DECLARE(PEER)                                                                   \
    bool ch_##PEER##_load(const char *path, char *error, size_t bytes);                       \
    bool ch_##PEER##_join(const struct ch_vs_job *job, struct ch_peer *peer_out, char *error, \
                          size_t bytes);                                                      \
    void ch_##PEER##_leave(void);
CH_PEER_LIST(CH_VS_DECLARE)
#undef CH_VS_DECLARE

#endif /* CH_VS_H */
