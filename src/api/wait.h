/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait.h: conditions on words of this PE that other PEs store to, which the calls of wait and
 * test check. A test scans the words once, a wait until the scan succeeds.
 */
#ifndef CH_API_WAIT_H
#define CH_API_WAIT_H

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
    size_t *indices;    /* [out] of scan_some */
    size_t found;       /* [out] of scan_any: index or SIZE_MAX; of scan_some: how many */
    uint64_t key;       /* [out] of the word that was read last */
    struct ch_context *context; /* set by ch_query_check */
    /* Of wait.c. */
    const char *words; /* the array to scan: ivars, or the copy */
    char *copy;        /* a copy of ivars, if only the transport can read them; else null */
    size_t start;      /* where scan_any begins */
    size_t n_done;     /* by scan_all: words before this one have been met */
};

bool ch_type_is_signed(chorus_type type);

/* The arguments: ERR_STATE, ERR_ARG, ERR_NOT_SYMMETRIC. */
CH_MUST_CHECK chorus_status ch_query_check(struct ch_query *q);

/* Wait for all words of a checked query. On any thread; the record does not contain it. */
CH_MUST_CHECK chorus_status ch_query_wait_checked(struct ch_query *q);

#endif /* CH_API_WAIT_H */
