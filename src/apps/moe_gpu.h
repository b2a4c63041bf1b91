/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moe_gpu.h: dispatch and combine where the heap is on GPUs: what kernels know of an object,
 * and how hosts launch them.
 *
 * Kernels write rows to the memory of the PE of the expert, and read rows of combine from
 * there. A call has two words from each peer, which get its number, counted for each pair of
 * PEs: with `first` a peer says that it is in the call, so that its array may be written
 * (dispatch; its counts are there) or read (combine); with `last`, that it has written or read
 * all. A call ends when it has all these words; so nothing of it is under way in the next one,
 * and there is one row of counts for each PE. Nothing that changes from call to call is on the
 * host.
 */
#ifndef CH_APPS_MOE_GPU_H
#define CH_APPS_MOE_GPU_H

#include <stddef.h>
#include <stdint.h>

enum {
    CH_MOE_GPU_EXPERTS_MAX = 2048, /* whose numbers fit into the memory of a block */
    CH_MOE_GPU_TOPK_MAX = 32,      /* a lane of a warp for each entry */
    CH_MOE_GPU_BLOCKS = 32, /* as the library's collectives: they fill a link, and leave room */
    CH_MOE_GPU_THREADS = 512,
};

/* The row of an entry: in the array of a PE of the team, or why there is none. */
struct ch_moe_place {
    int32_t pe;
    uint32_t row;
};

/* What calls leave for later ones, and for the host. */
struct ch_moe_gpu_state {
    unsigned long long dropped; /* entries, since the object was created */
    uint64_t n_tokens;          /* of the last dispatch, whose places there are */
    uint32_t n_done;            /* blocks of this call */
    uint32_t has_failed;        /* a wait has: later calls do nothing */
    uint32_t n_bad;             /* entries that are no experts, and the first one of them */
    int32_t bad_value;
    uint64_t bad_at; /* its number among all entries */
};

/* An object, as kernels get it. Arrays are in one symmetric object; only words and counts are
 * accessed by peers. */
struct ch_moe_gpu {
    uint64_t *first, *last;      /* a word from each PE of the team */
    uint32_t *counts;            /* of each PE, for all experts */
    uint64_t *numbers;           /* calls that have ended, with each PE */
    struct ch_moe_place *places; /* of each entry */
    struct ch_moe_gpu_state *state;
    int32_t *pes;                     /* of the team, their numbers in the job */
    unsigned char *is_active, *is_on; /* each PE, each expert */
    size_t hidden_bytes, scale_bytes, combine_bytes;
    uint32_t me, n_pes, n_experts, experts_each, topk;
    uint32_t capacity, rows_max; /* of an expert, 0: no limit; of the array */
    int32_t is_compact, renormalises;
};

/* A dispatch or a combine; `waits`: it also ends the call. */
struct ch_moe_gpu_dispatch {
    const int32_t *topk_idx;
    size_t n_tokens;
    const char *x, *scales;
    char *out, *out_scales;
    uint32_t *counts;
    int32_t waits;
};

struct ch_moe_gpu_combine {
    const char *y;
    const float *weights;
    char *out;
    uint32_t type; /* chorus_type */
    int32_t waits;
};

/* Queue a kernel. Return codes and set messages as chorusx_collective_launch. */
#ifdef __cplusplus
extern "C" {
#endif
int ch_moe_gpu_dispatch(const struct ch_moe_gpu *moe, const struct ch_moe_gpu_dispatch *call,
                        void *stream);
int ch_moe_gpu_combine(const struct ch_moe_gpu *moe, const struct ch_moe_gpu_combine *call,
                       void *stream);
int ch_moe_gpu_end(const struct ch_moe_gpu *moe, void *stream);
#ifdef __cplusplus
}
#endif

#endif /* CH_APPS_MOE_GPU_H */
