/* SPDX-License-Identifier: Apache-2.0 */
/* cases.h: the rows that a command line selects, in their order. */
#ifndef CH_CASES_H
#define CH_CASES_H

#include "bench/backend.h"

/* Called for each row; false stops. */
typedef bool (*ch_case_visit)(const struct ch_work *work, void *arg);

/*
 * Visit the work of every row. Omitted, since there is nothing to measure: an operator that the
 * type does not have, a message without a whole element, a message with the same count as the
 * previous one, a type whose range is smaller than the number of PEs.
 */
void ch_cases_each(const struct ch_backend *backend, const struct ch_sweep_options *options,
                   ch_case_visit visit, void *arg);

/* Does the command line fit the backend and its PEs? False: a message in error[bytes]. */
bool ch_cases_fit(const struct ch_backend *backend, const struct ch_sweep_options *options,
                  char *error, size_t bytes);

#endif /* CH_CASES_H */
