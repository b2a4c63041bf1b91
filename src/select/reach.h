/* SPDX-License-Identifier: Apache-2.0 */
/* reach.h: which rules of a table can a request reach? */
#ifndef CH_REACH_H
#define CH_REACH_H

#include "select/box.h"

/*
 * The first of a table's rules [0, n) that no request can reach because of earlier rules; n if
 * there is none. Each of the n rules covers some request. *looks_out: number of comparisons of
 * a rule with a part of the requests, which determines the time of the search.
 */
CH_MUST_CHECK chorus_status ch_reach_find(const struct ch_boxes *boxes, size_t n,
                                          size_t *first_out, uint64_t *looks_out);

#endif /* CH_REACH_H */
