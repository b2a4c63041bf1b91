/* SPDX-License-Identifier: Apache-2.0 */
/* A PE whose launcher lets a process join once: to join again is refused, with a reason, and
 * does not hang. */
#include "chorus/chorusx.h"

#include <stdio.h>
#include <string.h>

int main(void)
{
    int code;

    if (chorus_init() != CHORUS_OK) {
        (void)fprintf(stderr, "again_pe: %s\n", chorusx_last_error());
        return 2;
    }
    chorus_barrier_all();
    chorus_finalize();
    code = chorus_init();
    if (code == CHORUS_ERR_UNSUPPORTED &&
        strstr(chorusx_last_error(), "can join its job only once") != NULL)
        return 0;
    (void)fprintf(stderr, "again_pe: the second chorus_init gave %d: %s\n", code,
                  chorusx_last_error());
    return 1;
}
