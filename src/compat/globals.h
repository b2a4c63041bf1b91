/* SPDX-License-Identifier: Apache-2.0 */
/*
 * globals.h: variables of the program as symmetric objects.
 *
 * A symmetric object holds a copy of the program's data and bss, and is also mapped in their
 * place. A variable is thus one memory with two addresses: its own, which the program
 * continues to use, and one in the symmetric heap, which is used in calls of chorus.h. The
 * programs of the PEs may be loaded at different addresses.
 */
#ifndef CH_COMPAT_GLOBALS_H
#define CH_COMPAT_GLOBALS_H

#include "chorus/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ranges of the program, and of this many shared libraries. */
enum { CH_GLOBALS_MAX = 16 };

/* Whole pages. */
struct ch_global_range {
    uintptr_t lo;
    size_t bytes;
    uintptr_t image; /* their address in the heap, once they are shared */
};

struct ch_globals {
    size_t n;
    struct ch_global_range ranges[CH_GLOBALS_MAX];
    bool is_shared;
};
extern struct ch_globals ch_globals;

/* Find the variables, before chorus_init; returns the number of bytes that they will need in
 * the heap. */
size_t ch_globals_look(void);

/* Collective, after chorus_init, with that number of bytes. If variables cannot be shared,
 * ch_own reports the reason once. */
void ch_globals_share(size_t bytes);

/* The variables keep their values, and are no longer symmetric objects. */
void ch_globals_unshare(void);

/* The symmetric address for an address in a range; reports the reason, once, if variables are
 * not shared. */
uintptr_t ch_globals_find(const struct ch_global_range *range, uintptr_t address);

/* The address in the symmetric heap of the variable at `address`; `address` itself if it is not
 * in a variable. */
static inline void *ch_own(const void *address)
{
    for (size_t i = 0; i < ch_globals.n; i++)
        if ((uintptr_t)address - ch_globals.ranges[i].lo < ch_globals.ranges[i].bytes)
            return (void *)ch_globals_find(&ch_globals.ranges[i], (uintptr_t)address);
    return (void *)(uintptr_t)address;
}

#endif /* CH_COMPAT_GLOBALS_H */
