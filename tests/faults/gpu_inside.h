/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_inside.h: calls that kernels make inside, to PEs that are not near, by threads of the
 * host in place of the lanes of a kernel. */
#ifndef GPU_INSIDE_H
#define GPU_INSIDE_H

#include "gpu_moment.h"

/* What all threads do: blocking gets; atomics with a result; puts of more than a box, which
 * wait for the host; puts that do not wait, and a quiet after each; short puts without any
 * quiet, of which the ring is full if the host does not take them; waits for words that other
 * PEs set. */
/* clang-format off */
#define GPU_INSIDE_LIST(X) \
    X(get)                 \
    X(amo)                 \
    X(put)                 \
    X(quiet)               \
    X(full)                \
    X(wait)
/* clang-format on */

enum gpu_inside {
#define X(name) GPU_INSIDE_##name,
    GPU_INSIDE_LIST(X)
#undef X
};

/* Some calls of each thread; then the host asks whether one has failed. Returns 0, or a code,
 * as gpu_moment_step. The first call of each thread that fails is named on standard error. */
int gpu_inside_step(struct gpu_site *site, enum gpu_inside what);

#endif /* GPU_INSIDE_H */
