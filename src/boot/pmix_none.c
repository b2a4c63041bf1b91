/* SPDX-License-Identifier: Apache-2.0 */
/* pmix_none.c: replaces pmix.c in builds without PMIx. */
#include "boot/ways.h"

#include <stdio.h>

static bool pmix_applies(char why_out[CH_WAY_WHY_BYTES])
{
    const bool is_set = ch_way_read_variable("PMIX_RANK", why_out) != NULL;

    if (is_set)
        (void)snprintf(why_out, CH_WAY_WHY_BYTES,
                       "PMIX_RANK is set, but the library was built without PMIx");
    return is_set;
}

static chorus_status pmix_open(uint64_t timeout_ns, struct ch_boot **boot_out)
{
    (void)timeout_ns;
    (void)boot_out;
    return CH_FAIL(
        CHORUS_ERR_UNSUPPORTED,
        "PMIX_RANK is set, as mpirun and srun do, but the library was built without PMIx; "
        "build it with libpmix-dev installed, or unset PMIX_RANK to run a job of one PE");
}

const struct ch_way ch_way_pmix = {"PMIx (mpirun, srun)", pmix_applies, pmix_open, false};
