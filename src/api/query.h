/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query.h: conditions on words of this PE that other PEs store to, which the calls of wait and
 * test check. A test scans the words once, a wait until the scan succeeds.
 */
#ifndef CH_QUERY_H
#define CH_QUERY_H

#include "api/context.h"

struct ch_query {
    const char *function, *name; /* name of the call, and name of ivars in messages */
    chorus_type type;
    const char *ivars;
    size_t count;
    const int *status; /* elements with a value other than 0 are skipped; null: none is */
    int cmp;
    const char *values; /* value to compare with */
    size_t values_step; /* distance of successive values in bytes; 0: one value for all */
    size_t *indices;    /* [out] of ch_scan_some */
    size_t found;       /* [out] of ch_scan_any: index or SIZE_MAX; of ch_scan_some: how many */
    uint64_t key;       /* [out] of the word that was read last */
    struct ch_context *context; /* set by ch_query_check */
    /* Of query.c. */
    const char *words; /* the array to scan: ivars, or the copy */
    char *copy;        /* a copy of ivars, if only the transport can read them; else null */
    size_t start;      /* where ch_scan_any begins */
    size_t n_done;     /* by ch_scan_all: words before this one have been met */
};

/* Is the condition met: by every word, by one, by some? */
typedef bool (*ch_scan_fn)(struct ch_query *q);
bool ch_scan_all(struct ch_query *q);
bool ch_scan_any(struct ch_query *q);
bool ch_scan_some(struct ch_query *q);

bool ch_type_is_signed(chorus_type type);

/* The arguments: ERR_STATE, ERR_ARG, ERR_NOT_SYMMETRIC. */
CH_MUST_CHECK chorus_status ch_query_check(struct ch_query *q);

/* Check, then wait until the scan succeeds; at once if the set is empty. */
CH_MUST_CHECK chorus_status ch_query_wait(struct ch_query *q, ch_scan_fn scan);

/* Wait for all words of a checked query. On any thread; the record does not contain it. */
CH_MUST_CHECK chorus_status ch_query_wait_checked(struct ch_query *q);

/* Check, then scan once. */
CH_MUST_CHECK chorus_status ch_query_test(struct ch_query *q, ch_scan_fn scan, bool *holds_out);

#endif /* CH_QUERY_H */
