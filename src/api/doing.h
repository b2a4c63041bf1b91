/* SPDX-License-Identifier: Apache-2.0 */
/* doing.h: records and checks calls other than collectives. */
#ifndef CH_API_DOING_H
#define CH_API_DOING_H

#include "api/context.h"
#include "base/record.h"

/* CHORUS_CHECK: compare a call that has begun with those of the peers. If the call is refused,
 * its entry in the record is ended. */
CH_MUST_CHECK chorus_status ch_check_entry(const char *function, struct ch_team *team,
                                           const struct ch_doing *doing, uint64_t index);

/* Begin a call on memory or teams that is collective over `team`. ch_doing_end ends it, with
 * this index. */
CH_MUST_CHECK chorus_status ch_doing_begin(const struct ch_context *context,
                                           const char *function, enum ch_doing_what what,
                                           struct ch_team *team, uint64_t count,
                                           uint64_t *index_out);
/* The same over the whole job. */
CH_MUST_CHECK chorus_status ch_doing_begin_all(const struct ch_context *context,
                                               const char *function, enum ch_doing_what what,
                                               uint64_t count, uint64_t *index_out);

/* Begin a call of this PE alone. */
uint64_t ch_doing_begin_alone(const struct ch_context *context, const struct ch_doing *doing);

/* Returns the given status. */
chorus_status ch_doing_end(const struct ch_context *context, uint64_t index,
                           chorus_status status);

#endif /* CH_API_DOING_H */
