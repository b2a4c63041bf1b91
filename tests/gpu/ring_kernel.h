/* SPDX-License-Identifier: Apache-2.0 */
/* ring_kernel.h: a kernel whose lanes post requests, and what its host expects of them. */
#ifndef RING_KERNEL_H
#define RING_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RING_POSTERS_CTAS 8u
#define RING_POSTERS_LANES 64u
#define RING_POSTERS (RING_POSTERS_CTAS * RING_POSTERS_LANES)
#define RING_SOURCE_WORDS 8u

/* Memory of a launch: `shared` and `failures` on the GPU, the rest pinned. */
struct ring_run {
    void *slots, *shared;
    uint64_t *freed;
    uint32_t capacity_log2;
    uint32_t posts;          /* of each lane: a put, an inline put and a flush in turn */
    uint64_t *sources;       /* [RING_POSTERS][RING_SOURCE_WORDS] */
    uint64_t *words;         /* [RING_POSTERS]: completion words, 0 at first */
    const uint32_t *aborted; /* of the wait policy */
    uint64_t timeout_ns;     /* likewise */
    int *failures;           /* [RING_POSTERS]: what each lane's last post or flush returned */
};

/* Launch it on a stream of CUDA. Returns its error. */
int ring_launch(const struct ring_run *run, void *stream);

/* Word i of what a lane puts by its request `number`. */
#define RING_WORD(lane, number, i) \
    (((uint64_t)(lane) << 40) + ((uint64_t)(number) << 8) + (uint64_t)(i) + 1)

#ifdef __cplusplus
}
#endif

#endif /* RING_KERNEL_H */
