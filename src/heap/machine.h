/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine.h: how much memory may be taken before the kernel kills processes for it.
 *
 * Linux commits more than there is, and then kills. So who takes memory asks before: the
 * machine, and each control group whose limit holds for this process. A part is left to others.
 */
#ifndef CH_MACHINE_H
#define CH_MACHINE_H

#include <stddef.h>

enum { CH_MEMORY_OF_BYTES = 256 };

struct ch_memory {
    size_t bytes;                /* that may be taken now */
    char of[CH_MEMORY_OF_BYTES]; /* what has no more: "the machine", "the control group /a" */
};

/* All that the machine has, in use or not. */
size_t ch_memory_of_machine(void);

/* What is left. `root` comes before the names of all files that are read: "", but in tests. */
void ch_memory_left(const char *root, struct ch_memory *out);

#endif /* CH_MACHINE_H */
