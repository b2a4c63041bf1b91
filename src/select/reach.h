/* SPDX-License-Identifier: Apache-2.0 */
/* reach.h: which rules of a table can a request reach? */
#ifndef CH_REACH_H
#define CH_REACH_H

#include "select/box.h"

/*
 * The first of a table's rules [0, n) to which those before it leave no request; n if there is
 * none. Each of the n covers some request. *looks_out: how often a rule was compared with a
 * part of the requests, which is what the search takes its time for.
 */
CH_MUST_CHECK chorus_status ch_reach_find(const struct ch_boxes *boxes, size_t n,
                                          size_t *first_out, uint64_t *looks_out);

#endif /* CH_REACH_H */
