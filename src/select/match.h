/* SPDX-License-Identifier: Apache-2.0 */
/*
 * match.h: does a rule apply to a request, and if not, why? One function for choosing and for
 * explaining.
 */
#ifndef CH_MATCH_H
#define CH_MATCH_H

#include "select/name.h"
#include "select/select.h"

/* The first condition that prevents a rule of the request's collective from applying. */
enum ch_miss {
    CH_MISS_NONE,
    CH_MISS_BYTES,
    CH_MISS_PES,
    CH_MISS_NODES,
    CH_MISS_REACH,
    CH_MISS_CORES,
    CH_MISS_TYPE,
    CH_MISS_OP,
    CH_MISS_MACHINE,
    CH_MISS_GPU,
    CH_MISS_NEEDS,
};
enum ch_miss ch_rule_miss(const struct ch_rule *rule, const struct ch_request *request);

/* In words: "bytes 65536 is not in 0..16K". */
void ch_miss_text(enum ch_miss miss, const struct ch_rule *rule,
                  const struct ch_request *request, struct ch_why *why_out);

/* The first of `needs` that `offers` does not meet, in words. */
void ch_needs_text(uint32_t needs, uint32_t offers, struct ch_why *why_out);

#endif /* CH_MATCH_H */
