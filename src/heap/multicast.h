/* SPDX-License-Identifier: Apache-2.0 */
/*
 * multicast.h: addresses that reach all PEs of the job at once; only for the files of this
 * folder.
 *
 * Each chunk of the device segments gets a multicast object over the devices of all PEs. It is
 * mapped in a separate range that has the layout of a segment, so that equal offsets name the
 * same location.
 */
#ifndef CH_HEAP_MULTICAST_H
#define CH_HEAP_MULTICAST_H

#include "heap/data.h"

/* Does every PE request multicast, on a device that supports it and that no other PE uses? */
bool ch_multicast_serves(const struct ch_data_peer *peers, uint32_t n);

/* Create the object of this chunk, whose memory on this PE is `memory`. Collective: all PEs
 * have it on return or none, with a message that names the PE that failed. */
CH_MUST_CHECK chorus_status ch_multicast_make(const struct ch_data *data,
                                              struct ch_chunk *chunk, uint64_t memory);
void ch_multicast_undo(const struct ch_data *data, const struct ch_chunk *chunk);

#endif /* CH_HEAP_MULTICAST_H */
