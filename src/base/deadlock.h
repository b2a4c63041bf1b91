/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deadlock.h: which PE waits for which, from the records of their calls.
 *
 * A wait for a word does not name the PE that should write it. The PE that wrote it last, by
 * the records of accesses that CHORUS_RECORD=full makes, is assumed to be the next that writes
 * it. Without such a write, all that may be known is that every PE waits.
 */
#ifndef CH_DEADLOCK_H
#define CH_DEADLOCK_H

#include "base/record.h"

enum { CH_CHAIN_MAX = 6, CH_CHAIN_BYTES = 1024 };

/* The records of a job; `of` returns null for a PE whose record is not known. */
struct ch_records {
    const struct ch_record *(*of)(const void *arg, uint32_t pe);
    const void *arg;
    uint32_t n; /* PEs of the job */
};

/* PEs each of which waits for the next. */
struct ch_chain {
    uint32_t pes[CH_CHAIN_MAX];
    uint32_t n;
    char text[CH_CHAIN_BYTES];
};

/* What is known about the wait for words in which PE `pe` is, or in which it failed. False: it
 * is in no such wait. */
bool ch_chain_find(const struct ch_records *records, uint32_t pe, struct ch_chain *out);

#endif /* CH_DEADLOCK_H */
