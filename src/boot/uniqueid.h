/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uniqueid.h: a job that a program creates by itself. One process creates an id, the program
 * distributes it to the others by any means, and all join with it. The process that created
 * the id is the root of the tree, whichever PE it becomes.
 */
#ifndef CH_UNIQUEID_H
#define CH_UNIQUEID_H

#include "boot/boot.h"

/* Create an id and listen for processes that join with it. A process listens only for its last
 * id. */
CH_MUST_CHECK chorus_status ch_uniqueid_make(char *id_out, size_t bytes);

/* Was this made by ch_uniqueid_make? Checks what can be checked. */
bool ch_uniqueid_check(const char *id, size_t bytes);

/* Join the job as PE `me` of n. */
CH_MUST_CHECK chorus_status ch_uniqueid_open(const char *id, uint32_t me, uint32_t n,
                                             uint64_t timeout_ns, struct ch_boot **boot_out);

#endif /* CH_UNIQUEID_H */
