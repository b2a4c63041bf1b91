/* SPDX-License-Identifier: Apache-2.0 */
/*
 * multicast.h: one store that reaches all PEs of the team, one load that combines theirs.
 *
 *     ch_multicast_reduce(c, dst, src, bytes, g)      dst, on this PE alone = src of all
 *                                                     PEs combined
 *     ch_multicast_reduce_all(c, dst, src, bytes, g)  dst, on every PE = src of all PEs
 *                                                     combined; dst may be src
 *     ch_multicast_store(c, dst, src, bytes, g)       dst, on every PE = src, this PE's;
 *                                                     dst may be src
 *     ch_multicast_tell(c, word, value, sense, g)     ch_tell_all, of a word that only grows
 *
 * Addresses are this PE's, of symmetric memory, and mean the same place on every PE. Callers
 * see to it that all PEs are in the call and that nobody else writes what is read or touches
 * what is written until it is told. Each place of a result is combined by one PE alone, if all
 * are to have the same bits: in which order the sources are combined is the machine's affair.
 *
 * In software, for the simulator, it is n loads or n stores, for every type and operator,
 * combined in PE order; a machine with multicast in hardware does each in its own way, for the
 * types and operators it knows.
 */
#ifndef CH_MULTICAST_H
#define CH_MULTICAST_H

#include "coll/primitives/primitives.h"

#include CH_MULTICAST_OF_MACHINE

#endif /* CH_MULTICAST_H */
