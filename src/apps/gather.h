/* SPDX-License-Identifier: Apache-2.0 */
/* gather.h: what PEs tell each other while they create an object, and when they free it. */
#ifndef CH_APPS_GATHER_H
#define CH_APPS_GATHER_H

#include "chorus/chorusx.h"

#include <stdbool.h>

/* Before an object is made, by `function`: the PE is in the team, and there is a place for the
 * object. The code of the failure, else. heap_out: where the memory of teams is. */
int ch_apps_check(const char *function, chorus_team_t team, const void *object_out,
                  chorus_heap *heap_out);

/* A call that is for host memory alone: ERR_UNSUPPORTED for a heap on GPUs. */
int ch_apps_check_host(const char *function, chorus_heap heap);

/* Blocks of all PEs, of which all PEs know how long they are. */
struct ch_apps_blocks {
    const void *mine;
    size_t own_bytes, all_bytes, most_bytes; /* of this PE, of all, of the PE with the most */
};

/* Gather the blocks of all PEs of a team, one after another, in memory of malloc. */
int ch_apps_gather(chorus_team_t team, const struct ch_apps_blocks *blocks, void **all_out);

/* The same of blocks that have as many bytes on every PE. */
int ch_apps_gather_equal(chorus_team_t team, const void *mine, size_t bytes, void **all_out);

/* The same result on all PEs: CHORUS_OK, or ERR_NOMEM if anything is not made on one of them.
 */
int ch_apps_agree(chorus_team_t team, bool is_made);

/* Free the symmetric memory of an object, after all that PEs put into it has come. If that
 * fails, the network may still read what was put. */
int ch_apps_free(chorus_team_t team, void *memory);

#endif /* CH_APPS_GATHER_H */
