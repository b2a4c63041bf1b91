/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chorusx.h: extensions, what NVSHMEM calls nvshmemx_: streams, any list of PEs as a team,
 * type and operator as values, inquiry, PEs as threads.
 */
#ifndef CHORUSX_H
#define CHORUSX_H

#include "chorus/chorus.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- errors and inquiry ---------------------------------------------------------------- */
CHORUS_API const char *chorusx_strerror(int code);
CHORUS_API const char *chorusx_last_error(void);
/* Called for a failure in a function that returns nothing. Default: print, end the job. */
typedef void (*chorusx_error_handler_t)(int code, const char *message);
CHORUS_API chorusx_error_handler_t chorusx_set_error_handler(chorusx_error_handler_t handler);
CHORUS_API int chorusx_init_status(void); /* 0 before init, 1 running, 2 finalized */
CHORUS_API int chorusx_team_status(chorus_team_t team);

typedef struct chorusx_plan {
    char algo[32], proto[16];
    int ctas, radix;
    char rule[256]; /* "file:line", or "forced" */
} chorusx_plan;
CHORUS_API int chorusx_explain(chorus_team_t team, chorus_coll coll, chorus_type type, chorus_op op,
                               size_t bytes, chorusx_plan *plan_out);

typedef struct chorusx_heap_info_t {
    size_t reserved_bytes, committed_bytes, used_bytes, free_bytes, largest_free_bytes,
        high_water_bytes, blocks, local_used_bytes;
} chorusx_heap_info_t;
CHORUS_API int chorusx_heap_info(chorusx_heap_info_t *info_out);

/* --- teams ------------------------------------------------------------------------------ */
CHORUS_API int chorusx_team_create(chorus_team_t parent, const int pes[], int n,
                                   chorus_team_t *new_team);

/* --- PEs as threads ----------------------------------------------------------------------- */
/* Run `pe_main(arg)` on n_pes threads of this process, each a PE of one job, with the library
 * initialised before and finalised after. */
CHORUS_API int chorusx_run_threads(int n_pes, void (*pe_main)(void *arg), void *arg);

/* --- streams ------------------------------------------------------------------------------ */
typedef struct chorus_stream *chorus_stream_t;
CHORUS_API int chorusx_stream_create(chorus_stream_t *stream_out);
CHORUS_API int chorusx_stream_destroy(chorus_stream_t stream);
CHORUS_API int chorusx_stream_synchronize(chorus_stream_t stream);

CHORUS_API int chorusx_barrier_on_stream(chorus_team_t team, chorus_stream_t stream);
CHORUS_API int chorusx_barrier_all_on_stream(chorus_stream_t stream);
CHORUS_API int chorusx_team_sync_on_stream(chorus_team_t team, chorus_stream_t stream);
CHORUS_API int chorusx_sync_all_on_stream(chorus_stream_t stream);
CHORUS_API int chorusx_broadcastmem_on_stream(chorus_team_t team, void *dest, const void *source,
                                              size_t bytes, int root, chorus_stream_t stream);
CHORUS_API int chorusx_fcollectmem_on_stream(chorus_team_t team, void *dest, const void *source,
                                             size_t bytes, chorus_stream_t stream);
CHORUS_API int chorusx_alltoallmem_on_stream(chorus_team_t team, void *dest, const void *source,
                                             size_t bytes, chorus_stream_t stream);

#define CHORUS_DECLARE_MOVE_ON_STREAM(NAME, T, kind)                                              \
    CHORUS_API int chorusx_##NAME##_broadcast_on_stream(chorus_team_t team, T *dest,              \
                                                        const T *source, size_t nelems, int root, \
                                                        chorus_stream_t stream);                  \
    CHORUS_API int chorusx_##NAME##_fcollect_on_stream(                                           \
        chorus_team_t team, T *dest, const T *source, size_t nelems, chorus_stream_t stream);     \
    CHORUS_API int chorusx_##NAME##_alltoall_on_stream(                                           \
        chorus_team_t team, T *dest, const T *source, size_t nelems, chorus_stream_t stream);
CHORUS_RMA_TYPES(CHORUS_DECLARE_MOVE_ON_STREAM)
#undef CHORUS_DECLARE_MOVE_ON_STREAM

#define CHORUS_DECLARE_REDUCE_ON_STREAM(NAME, T, OP)                                              \
    CHORUS_API int chorusx_##NAME##_##OP##_reduce_on_stream(                                      \
        chorus_team_t team, T *dest, const T *source, size_t nreduce, chorus_stream_t stream);    \
    CHORUS_API int chorusx_##NAME##_##OP##_reducescatter_on_stream(                               \
        chorus_team_t team, T *dest, const T *source, size_t nreduce, chorus_stream_t stream);
#define CHORUS_DECLARE_STREAM_and(NAME, T, kind) CHORUS_DECLARE_REDUCE_ON_STREAM(NAME, T, and)
#define CHORUS_DECLARE_STREAM_or(NAME, T, kind) CHORUS_DECLARE_REDUCE_ON_STREAM(NAME, T, or)
#define CHORUS_DECLARE_STREAM_xor(NAME, T, kind) CHORUS_DECLARE_REDUCE_ON_STREAM(NAME, T, xor)
#define CHORUS_DECLARE_STREAM_min(NAME, T, kind) CHORUS_DECLARE_REDUCE_ON_STREAM(NAME, T, min)
#define CHORUS_DECLARE_STREAM_max(NAME, T, kind) CHORUS_DECLARE_REDUCE_ON_STREAM(NAME, T, max)
#define CHORUS_DECLARE_STREAM_sum(NAME, T, kind) CHORUS_DECLARE_REDUCE_ON_STREAM(NAME, T, sum)
#define CHORUS_DECLARE_STREAM_prod(NAME, T, kind) CHORUS_DECLARE_REDUCE_ON_STREAM(NAME, T, prod)
#define CHORUS_DECLARE_STREAM_OP(OP, TYPES) TYPES(CHORUS_DECLARE_STREAM_##OP)
CHORUS_REDUCE_LIST(CHORUS_DECLARE_STREAM_OP)

/* --- collectives with type, operator and plan as values ------------------------------------ */
/* What chorusx_collective does. Zero-initialise; fields that a collective does not use are
 * ignored. */
typedef struct chorusx_call {
    chorus_coll coll;
    chorus_team_t team;
    void *dest;
    const void *source;
    size_t count;     /* elements: of one PE's block for fcollect, alltoall and reducescatter (the
                         result's), of the whole vector for broadcast and reduce */
    chorus_type type;
    chorus_op op;
    int root;
    const char *algo; /* "name" or "name:proto" to force; null: the rule table decides */
    int ctas;         /* with algo: CTAs to use; 0 for one */
    int radix;        /* with algo: 0 for the default */
} chorusx_call;
/* Null stream: blocking. */
CHORUS_API int chorusx_collective(const chorusx_call *call, chorus_stream_t stream);

#ifdef __cplusplus
}
#endif

#endif /* CHORUSX_H */
