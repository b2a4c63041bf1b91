/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine.h: how much memory may be allocated before the kernel kills processes.
 *
 * Linux promises more memory than there is, and kills processes when it runs out. Before an
 * allocation, the library therefore determines what is left of the machine, and of each
 * control group whose limit applies to this process. A part is left to other programs.
 */
#ifndef CH_MACHINE_H
#define CH_MACHINE_H

#include <stddef.h>

enum { CH_MEMORY_OF_BYTES = 256 };

struct ch_memory {
    size_t bytes;                /* bytes that may be allocated now */
    char of[CH_MEMORY_OF_BYTES]; /* what limits it: "the machine", "the control group /a" */
};

/* The whole memory of the machine, used or not. */
size_t ch_memory_of_machine(void);

/* The memory that is left. `root` is prepended to the names of all files that are read: "",
 * except in tests. */
void ch_memory_left(const char *root, struct ch_memory *out);

#endif /* CH_MACHINE_H */
