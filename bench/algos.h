/* SPDX-License-Identifier: Apache-2.0 */
/* algos.h: the algorithms that --algo selects. */
#ifndef CH_ALGOS_H
#define CH_ALGOS_H

#include "bench/backend.h"

/* Does --algo select the algorithm "name:proto", or the program's own choice (null)? */
bool ch_algo_is_wanted(const struct ch_sweep_options *options, const char *algo);

/* Does the backend have the algorithms of --algo? False: a message in error[bytes]. */
bool ch_algos_fit(const struct ch_backend *backend, const struct ch_sweep_options *options,
                  char *error, size_t bytes);

#endif /* CH_ALGOS_H */
