/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask.h: reads the records of PEs of other hosts over the network, without waiting for it.
 *
 * The network may copy an entry of a record while its PE writes it. A record is therefore
 * copied twice, one copy after the other, and an entry counts if both have it: the PE wrote it
 * before the second copy began, and had not begun to replace it when that copy was made.
 */
#ifndef CH_TEAM_ASK_H
#define CH_TEAM_ASK_H

#include "base/record.h"
#include "boot/boot.h"
#include "heap/heap.h"
#include "transport/network.h"

struct ch_ask;

/* Let PEs of other hosts read this PE's record, and prepare to read theirs. Collective over the
 * voters, which are all PEs of the job. */
CH_MUST_CHECK chorus_status ch_ask_open(const struct ch_voters *voters,
                                        struct ch_network *network, const struct ch_heap *heap,
                                        struct ch_ask **ask_out);
/* Not collective; null is a no-op. After ch_network_disconnect. */
void ch_ask_close(struct ch_ask *ask);

/* One thread reads at a time. */
bool ch_ask_try_lock(struct ch_ask *ask);
void ch_ask_unlock(struct ch_ask *ask);

/* Begin or continue to copy the record of a PE; true: both copies are complete, and
 * ch_ask_find may read them until the next ch_ask_step. */
bool ch_ask_step(struct ch_ask *ask, uint32_t pe);

/* As ch_record_find_upto. */
bool ch_ask_find(const struct ch_ask *ask, uint64_t team, uint64_t most, struct ch_called *out);

#endif /* CH_TEAM_ASK_H */
