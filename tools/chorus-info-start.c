/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chorus-info-start.c: prints how this process was started, and why the other ways do not
 * apply.
 */
#include "chorus-info.h"

#include "boot/ways.h"

#include <stdio.h>

enum { NAME_CHARS = 20 };

chorus_status info_start(const struct info_args *args)
{
    bool is_found = false;

    (void)args;
    for (size_t i = 0; i < ch_ways_count; i++) {
        char why[CH_WAY_WHY_BYTES];
        const bool applies = ch_ways[i]->applies(why);

        (void)printf("%-4s %-*s %s\n", applies && !is_found ? "yes:" : "no:", NAME_CHARS,
                     ch_ways[i]->name, applies && is_found ? "an earlier one is used" : why);
        is_found |= applies;
    }
    (void)printf("%-4s %-*s %s\n", "no:", NAME_CHARS, "a unique id, MPI",
                 "used before all others if the program requests it by chorusx_init_attr");
    return CHORUS_OK;
}
