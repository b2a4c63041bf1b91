/* SPDX-License-Identifier: Apache-2.0 */
#include "growth.h"

#include <chorus/chorus.h>

int growth_step(void *blocks[], size_t n_blocks, uint64_t step, size_t bytes)
{
    const size_t i = step % n_blocks;

    if (i == 0) {
        for (size_t k = 0; k < n_blocks; k++) {
            chorus_free(blocks[k]);
            blocks[k] = NULL;
        }
    }
    blocks[i] = chorus_malloc(bytes);
    return blocks[i] != NULL ? 0 : CHORUS_ERR_NOMEM;
}
