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

/* Who votes: PEs that an exchange connects. */
struct ch_voters {
    uint32_t n;
    void *self; /* borrowed; what both functions get */
    /* Every voter gives `bytes` bytes and gets all of them, in the order of voters. */
    chorus_status (*exchange)(void *self, const void *blob, size_t bytes, void *blobs_out);
    uint32_t (*number)(const void *self, uint32_t voter); /* of that PE in the job */
};

/* What this PE says. The step and `bytes` are the same on all. */
struct ch_vote {
    const char *step;   /* begins the message of a failure: "STEP: PE 3: its message" */
    chorus_status mine; /* how it went here; the message of a failure is this thread's last */
    const void *values; /* borrowed; given in any case */
    size_t bytes;       /* of values; 0: all_out may be null */
};

/* CHORUS_OK on all PEs, with the values of all, or the first failure on all. Collective. The
 * exchange's own failures end it too. */
CH_MUST_CHECK chorus_status ch_vote(const struct ch_voters *voters, const struct ch_vote *vote,
                                    void *all_out);

/* All PEs of the job; boot is borrowed. */
struct ch_voters ch_boot_voters(struct ch_boot *boot);

/* A vote of them. */
CH_MUST_CHECK chorus_status ch_boot_vote(struct ch_boot *boot, const struct ch_vote *vote,
                                         void *all_out);

#endif /* CH_VOTE_H */
