/* SPDX-License-Identifier: Apache-2.0 */
/* peers.h: the libraries of --vs, from the start to the end of a sweep. */
#ifndef CH_PEERS_H
#define CH_PEERS_H

#include "bench/backend.h"

/* Load and join the libraries that the command line selects, and pass them to the backend.
 * Missing ones are reported on standard error. Collective. */
void ch_peers_open(struct ch_backend *backend, const struct ch_sweep_options *options,
                   void *stream);
void ch_peers_close(const struct ch_backend *backend);

#endif /* CH_PEERS_H */
