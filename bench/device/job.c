/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/device/job.h"

#include "chorus/chorus.h"
#include "chorus/chorusx.h"

#include <stdio.h>

enum { SHARED_BYTES = 256 };

static struct {
    uint64_t *value, *largest;
    char *shared;
} job;

bool job_open(int *me_out, int *n_out)
{
    if (chorus_init() != 0) {
        (void)fprintf(stderr, "%s\n", chorusx_last_error());
        return false;
    }
    job.value = chorus_malloc(sizeof(*job.value));
    job.largest = chorus_malloc(sizeof(*job.largest));
    job.shared = chorus_malloc(SHARED_BYTES);
    *me_out = chorus_my_pe();
    *n_out = chorus_n_pes();
    return job.value != NULL && job.largest != NULL && job.shared != NULL;
}

void job_close(void)
{
    chorus_finalize();
}

void job_share(void *data, size_t bytes)
{
    for (int pe = 0; pe < chorus_n_pes() && chorus_my_pe() == 0; pe++)
        chorus_putmem(job.shared, data, bytes, pe);
    chorus_barrier_all();
    chorus_getmem(data, job.shared, bytes, chorus_my_pe());
    chorus_barrier_all();
}

uint64_t job_max(uint64_t value)
{
    const int me = chorus_my_pe();

    chorus_uint64_p(job.value, value, me);
    if (chorus_uint64_max_reduce(CHORUS_TEAM_WORLD, job.largest, job.value, 1) != CHORUS_OK)
        chorus_global_exit(1);
    return chorus_uint64_g(job.largest, me);
}

const char *job_code(int code)
{
    if (code == 0) return "";
    switch (code) {
#define X(name, value, text) \
    case value:              \
        return #name;
        CHORUS_STATUS_LIST(X)
#undef X
    default:
        return "unknown";
    }
}
