/* SPDX-License-Identifier: Apache-2.0 */
/* inquiry.h: plans in the form in which programs get them. */
#ifndef CH_INQUIRY_H
#define CH_INQUIRY_H

#include "api/coll.h"

/* The plan that the rules choose, or CHORUS_ALGO forces. */
CH_MUST_CHECK chorus_status ch_inquiry_plan(const struct ch_context *context,
                                            const struct ch_request *request,
                                            chorusx_plan *plan_out);

/* The plan that the call itself forces. */
CH_MUST_CHECK chorus_status ch_inquiry_forced(const struct ch_context *context,
                                              const chorusx_call *call, chorusx_plan *plan_out);

#endif /* CH_INQUIRY_H */
