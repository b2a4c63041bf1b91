/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vote.h: a step that must succeed on all PEs before any PE begins the next step.
 *
 * Every PE sends to all others whether the step succeeded there, and possibly some values. All
 * return the failure of the first PE, in the order of PEs, that had one, with its message.
 * Messages are sent in a separate exchange, and only after a failure, so most votes are short.
 */
#ifndef CH_VOTE_H
#define CH_VOTE_H

#include "boot/boot.h"

/* The voters: PEs that an exchange connects. */
struct ch_voters {
    uint32_t n;
    void *self; /* borrowed; passed to both functions */
    /* Every voter sends `bytes` bytes and receives those of all voters, in their order. */
    chorus_status (*exchange)(void *self, const void *blob, size_t bytes, void *blobs_out);
    uint32_t (*number)(const void *self,
                       uint32_t voter); /* the number of that voter in the job */
};

/* The ballot of this PE. The step and `bytes` are the same on all PEs. */
struct ch_vote {
    const char *step;   /* begins the message of a failure: "STEP: PE 3: its message" */
    chorus_status mine; /* the status of this PE; the message of a failure is the last one of
                           this thread */
    const void *values; /* borrowed; sent in any case */
    size_t bytes;       /* of the values; 0: all_out may be null */
};

/* CHORUS_OK on all PEs, with the values of all, or the first failure on all. Collective. A
 * failure of the exchange itself also ends the vote. */
CH_MUST_CHECK chorus_status ch_vote(const struct ch_voters *voters, const struct ch_vote *vote,
                                    void *all_out);

/* A vote of all PEs of the job; boot is borrowed. */
struct ch_voters ch_boot_voters(struct ch_boot *boot);

/* Run such a vote. */
CH_MUST_CHECK chorus_status ch_boot_vote(struct ch_boot *boot, const struct ch_vote *vote,
                                         void *all_out);

#endif /* CH_VOTE_H */
