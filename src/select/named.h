/* SPDX-License-Identifier: Apache-2.0 */
/* named.h: the algorithm that has a name, or a name and a protocol. */
#ifndef CH_NAMED_H
#define CH_NAMED_H

#include "coll/algorithm.h"
#include "select/name.h"

/* Is `name` an algorithm of `coll`? If not, *why_out lists the algorithms. */
CH_MUST_CHECK bool ch_algo_is_of(chorus_coll coll, const char *name, struct ch_why *why_out);

/*
 * The algorithm `name` of `coll` with protocol `proto`; null proto: its only one. `name` must
 * be an algorithm of `coll`, so false means that the protocol is wrong.
 */
CH_MUST_CHECK bool ch_algo_with(chorus_coll coll, const char *name, const char *proto,
                                const struct ch_algo **algo_out, struct ch_why *why_out);

#endif /* CH_NAMED_H */
