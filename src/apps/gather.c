/* SPDX-License-Identifier: Apache-2.0 */
/* gather.c: what PEs tell each other while they create an object, and when they free it. */
#include "apps/gather.h"

#include <stdlib.h>

int ch_apps_check(const char *function, chorus_team_t team, const void *object_out,
                  chorus_heap *heap_out)
{
    chorusx_heap_info_t info;
    const int code = chorusx_heap_info(&info);

    if (code != CHORUS_OK) return chorusx_fail(code, function, NULL);
    if (chorus_team_my_pe(team) < 0)
        return chorusx_fail(CHORUS_ERR_ARG, function, "the PE is not in the team");
    if (object_out == NULL)
        return chorusx_fail(CHORUS_ERR_ARG, function, "the address for the object is null");
    *heap_out = info.heap;
    return CHORUS_OK;
}

int ch_apps_check_host(const char *function, chorus_heap heap)
{
    if (heap == CHORUS_HEAP_host) return CHORUS_OK;
    return chorusx_fail(CHORUS_ERR_UNSUPPORTED, function,
                        "the heap is on GPUs, and this is for arrays in host memory; start the "
                        "job with CHORUS_HEAP=host");
}

/* The memory of teams may be a GPU's, to and from which puts and gets of a PE to itself copy.
 */
int ch_apps_gather(chorus_team_t team, const struct ch_apps_blocks *blocks, void **all_out)
{
    const int me = chorus_my_pe();
    const size_t total = blocks->all_bytes;
    char *shared = chorusx_team_malloc(team, total + blocks->most_bytes), *all = malloc(total);
    int code = shared == NULL || all == NULL ? CHORUS_ERR_NOMEM : CHORUS_OK;

    *all_out = NULL;
    if (shared == NULL) { /* on all PEs */
        free(all);
        return code;
    }
    if (blocks->own_bytes > 0)
        chorus_putmem(shared + total, blocks->mine, blocks->own_bytes, me);
    /* If only `all` is missing, the others do not wait in vain. */
    if (chorus_collectmem(team, shared, shared + total, blocks->own_bytes) != CHORUS_OK)
        code = CHORUS_ERR_STATE;
    if (code == CHORUS_OK) chorus_getmem(all, shared, total, me);
    if (chorusx_team_free(team, shared) != CHORUS_OK) code = CHORUS_ERR_STATE;
    if (code != CHORUS_OK) {
        free(all);
        all = NULL;
    }
    *all_out = all;
    return code;
}

int ch_apps_gather_equal(chorus_team_t team, const void *mine, size_t bytes, void **all_out)
{
    const struct ch_apps_blocks blocks = {
        .mine = mine,
        .own_bytes = bytes,
        .all_bytes = bytes * (size_t)chorus_team_n_pes(team),
        .most_bytes = bytes,
    };

    return ch_apps_gather(team, &blocks, all_out);
}

int ch_apps_agree(chorus_team_t team, bool is_made)
{
    const uint64_t mine = is_made ? 1 : 0;
    void *all;
    int code = ch_apps_gather_equal(team, &mine, sizeof(mine), &all);
    const uint64_t *made = all;

    for (int p = 0; code == CHORUS_OK && p < chorus_team_n_pes(team); p++)
        if (made[p] == 0) code = CHORUS_ERR_NOMEM;
    free(all);
    return code;
}

/* No PE waits for the last words `freed` that it gets. Without the barrier, which completes
 * puts, they may come when the memory is another object's. */
int ch_apps_free(chorus_team_t team, void *memory)
{
    const int code = chorus_barrier(team);

    return code == CHORUS_OK ? chorusx_team_free(team, memory) : code;
}
