/* SPDX-License-Identifier: Apache-2.0 */
/* cases.h: the rows that a command line selects, in their order. */
#ifndef CH_CASES_H
#define CH_CASES_H

#include "bench/backend.h"

/* Called for each row; false ends the visit. */
typedef bool (*ch_case_visit)(const struct ch_work *work, void *arg);

/*
 * Visit the work of every row. Left out, as there is nothing to measure: an operator that does
 * not take the type, a message with no whole element, one with the same count as the last, a
 * type that cannot count as far as there are PEs.
 */
void ch_cases_each(const struct ch_backend *backend, const struct ch_sweep_options *options,
                   ch_case_visit visit, void *arg);

/* Does the command line fit the backend and its PEs? False: a message in error[bytes]. */
bool ch_cases_fit(const struct ch_backend *backend, const struct ch_sweep_options *options,
                  char *error, size_t bytes);

#endif /* CH_CASES_H */
