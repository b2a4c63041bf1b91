/* SPDX-License-Identifier: Apache-2.0 */
/* inquiry.h: plans in the form that programs get. */
#ifndef CH_INQUIRY_H
#define CH_INQUIRY_H

#include "api/coll.h"

/* What the rules choose, or CHORUS_ALGO forces. */
CH_MUST_CHECK chorus_status ch_inquiry_plan(const struct ch_context *context,
                                            const struct ch_request *request,
                                            chorusx_plan *plan_out);

/* What the call itself forces. */
CH_MUST_CHECK chorus_status ch_inquiry_forced(const chorusx_call *call, chorusx_plan *plan_out);

#endif /* CH_INQUIRY_H */
