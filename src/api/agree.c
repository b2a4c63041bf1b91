/* SPDX-License-Identifier: Apache-2.0 */
/* agree.c: compares what must be equal on all PEs, before anything depends on it. */
#include "api/context.h"

#include "boot/vote.h"

#include <stdlib.h>

/* clang-format off */
/* Options that decide the layout of shared memory: name, field. */
#define AGREED_OPTIONS(X) X(HEAP_MAX, heap_max) X(HEAP_STEP, heap_step) \
    X(SYNC_MAX, sync_max) X(CTAS, ctas) X(CHUNK, chunk)
/* clang-format on */

struct claim {
#define X(NAME, field) uint64_t field;
    AGREED_OPTIONS(X)
#undef X
    uint32_t heap; /* a chorus_heap */
    uint32_t check;
    uint64_t select_digest;
    uint64_t n_cores; /* number of cores that it counts on its host; whether PEs share cores
                         decides on algorithms, too */
};

static void fill(struct claim *claim, const struct ch_options *options, uint64_t select_digest)
{
#define X(NAME, field) claim->field = options->field;
    AGREED_OPTIONS(X)
#undef X
    claim->heap = options->heap;
    claim->check = (uint32_t)options->check;
    claim->select_digest = select_digest;
}

static chorus_status compare(const struct ch_boot *boot, const struct claim *claims)
{
    for (uint32_t pe = 1; pe < boot->n; pe++) {
#define X(NAME, field)                                                                         \
    if (claims[pe].field != claims[0].field)                                                   \
        return CH_FAIL(CHORUS_ERR_ARG,                                                         \
                       "CHORUS_" #NAME " is %llu on PE %u and %llu on PE 0; set it alike for " \
                       "all PEs",                                                              \
                       (unsigned long long)claims[pe].field, pe,                               \
                       (unsigned long long)claims[0].field);
        AGREED_OPTIONS(X)
#undef X
        if (claims[pe].heap != claims[0].heap)
            return CH_FAIL(
                CHORUS_ERR_ARG,
                "the heap asked for is %s on PE %u and %s on PE 0; set CHORUS_HEAP, or the "
                "attributes of chorusx_init_attr, to the same value on all PEs",
                ch_heap_names[claims[pe].heap], pe, ch_heap_names[claims[0].heap]);
        if (claims[pe].check != claims[0].check)
            return CH_FAIL(CHORUS_ERR_ARG,
                           "CHORUS_CHECK is %u on PE %u and %u on PE 0; set it to the same "
                           "value on all PEs",
                           claims[pe].check, pe, claims[0].check);
        if (claims[pe].select_digest != claims[0].select_digest)
            return CH_FAIL(CHORUS_ERR_ARG,
                           "PE %u would choose other algorithms than PE 0: its rule tables or "
                           "CHORUS_ALGO differ; give all PEs the same CHORUS_ALGO and "
                           "CHORUS_TUNING, and the same files in the user's and the system's "
                           "folder",
                           pe);
        if (claims[pe].n_cores != claims[0].n_cores && boot->nodes == NULL)
            return CH_FAIL(CHORUS_ERR_ARG,
                           "PE %u found %llu cores for the PEs of its host, and PE 0 found "
                           "%llu; start all PEs with the same set of cores",
                           pe, (unsigned long long)claims[pe].n_cores,
                           (unsigned long long)claims[0].n_cores);
    }
    return CHORUS_OK;
}

chorus_status ch_context_agree(struct ch_boot *boot, const struct ch_options *options,
                               uint64_t select_digest, chorus_status mine)
{
    struct claim claim, *claims = calloc(boot->n, sizeof(*claims));
    const struct ch_vote vote = {"start", mine, &claim, sizeof(claim)};
    chorus_status status;

    if (claims == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the options of %u PEs", boot->n);
    fill(&claim, options, select_digest);
    claim.n_cores = boot->n_cores;
    status = ch_boot_vote(boot, &vote, claims);
    if (status == CHORUS_OK) status = compare(boot, claims);
    free(claims);
    return status;
}
