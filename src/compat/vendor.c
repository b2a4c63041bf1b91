/* SPDX-License-Identifier: Apache-2.0 */
/* vendor.c: functions of shmemx.h that are in no standard. */
#include "compat/shmemx.h"

#include <time.h>

double shmemx_wtime(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}
