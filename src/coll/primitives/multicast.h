/* SPDX-License-Identifier: Apache-2.0 */
/*
 * multicast.h: one store that reaches all PEs of the team, one load that combines theirs.
 *
 *     ch_multicast_reduce(c, dst, src, bytes, g)      dst, only on this PE = src of all
 *                                                     PEs combined
 *     ch_multicast_reduce_all(c, dst, src, bytes, g)  dst, on every PE = src of all PEs
 *                                                     combined; dst may be src
 *     ch_multicast_store(c, dst, src, bytes, g)       dst, on every PE = src, this PE's;
 *                                                     dst may be src
 *     ch_multicast_signal(c, word, value, sense, g)     ch_signal_all, of a word that only
 * grows
 *
 * Addresses are those of this PE, in symmetric memory, and name the same object on every PE.
 * Callers ensure that all PEs have entered the call, and that until the next signal no other PE
 * writes memory that is read, or accesses memory that is written. If results must be bitwise
 * equal, each element is combined by one PE only, since the backend chooses the order in which
 * the sources are combined.
 *
 * In software, for the simulator, these are n loads or n stores, for every type and operator,
 * combined in PE order. A backend with multicast in hardware uses it for the types and
 * operators that the hardware supports.
 */
#ifndef CH_MULTICAST_H
#define CH_MULTICAST_H

#include "coll/primitives/primitives.h"

#include CH_MULTICAST_OF_MACHINE

#endif /* CH_MULTICAST_H */
