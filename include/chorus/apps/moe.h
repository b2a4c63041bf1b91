/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moe.h: mixture of experts: tokens go to the PEs of their experts (dispatch), and what the
 * experts made of them comes back and is added up (combine). Part of libchorus-apps, over the
 * calls of chorus.h. If the heap is on hosts, arrays are in host memory, and calls have routes;
 * if it is on GPUs, arrays are in memory of the PE's GPU, and calls are those that end in
 * _on_stream. docs/moe.md has complete programs.
 */
#ifndef CHORUS_APPS_MOE_H
#define CHORUS_APPS_MOE_H

#include "chorus/chorusx.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where the rows of an expert are in the array that dispatch fills. */
typedef enum {
    CHORUSX_MOE_COMPACT,      /* behind those of the expert before, without gaps */
    CHORUSX_MOE_EXPERT_MAJOR, /* the PE's expert i has the rows from i * capacity on */
} chorusx_moe_layout_t;

/* What happens to rows beyond the capacity of an expert. */
typedef enum {
    CHORUSX_MOE_DROP, /* they are neither sent nor added up, and are counted */
    CHORUSX_MOE_FAIL, /* the route fails, on all PEs; not on GPUs */
} chorusx_moe_overflow_t;

/* The same on all PEs. Zero-initialise. */
typedef struct {
    int experts; /* of all PEs: a multiple of the PEs of the team. PE p of n has those from
                    p * experts / n on */
    int topk;    /* entries of a token: experts that it goes to, at most */
    size_t tokens_max;    /* of a PE in a route */
    size_t hidden_bytes;  /* of a token, as dispatch sends it */
    size_t scale_bytes;   /* beside them, of scales or anything else; 0: none */
    size_t combine_bytes; /* of a token, as combine sends it; 0: hidden_bytes */
    size_t capacity;      /* rows of an expert, from all PEs; 0, if compact: no limit */
    chorusx_moe_layout_t layout;
    chorusx_moe_overflow_t overflow;
    int renormalise;      /* not 0: combine scales the weights of a token by a common factor, so
                             that those that remain have the sum of all; see combine */
    size_t message_bytes; /* of a message from PE to PE, about; 0: 1 MiB, or 64 MiB divided by
                             the PEs. On GPUs there are none */
    size_t rows_max;      /* on GPUs, if compact: rows of the array that dispatch fills, those
                             beyond which are dropped; 0: tokens_max of all PEs times topk, or,
                             if that is less, capacity times the experts of a PE */
} chorusx_moe_config_t;

typedef struct chorusx_moe *chorusx_moe_t;
typedef struct chorusx_moe_route *chorusx_moe_route_t;
#define CHORUSX_MOE_INVALID ((chorusx_moe_t)0)
#define CHORUSX_MOE_ROUTE_INVALID ((chorusx_moe_route_t)0)

/* From where a row came that dispatch received. */
typedef struct {
    int pe;         /* number in the team */
    uint32_t token; /* of that PE's tokens in the route */
    uint32_t slot;  /* of the token's topk entries */
} chorusx_moe_origin_t;

/* What a PE knows of a route. The arrays are the route's. */
typedef struct {
    size_t n_tokens;      /* of this PE */
    size_t rows;          /* that this PE receives, for all its experts */
    size_t array_rows;    /* of the array that dispatch fills: rows, or experts * capacity */
    size_t dropped;       /* entries of this PE's tokens that were beyond a capacity */
    int first_expert;     /* of this PE: its experts follow each other */
    int n_experts;        /* of this PE; entries of counts and firsts */
    const size_t *counts; /* rows of each of this PE's experts */
    const size_t *firsts; /* the first row of each in the array */
    const chorusx_moe_origin_t *origins; /* of each row of the array; pe is -1 of one that is
                                            not filled */
} chorusx_moe_route_info_t;

/**
 * Prepare dispatch and combine between the PEs of a team.
 *
 * @param team    whose PEs have the experts and the tokens
 * @param config  [in] sizes and choices, the same on all PEs; not kept
 * @param moe     [out] the object; CHORUSX_MOE_INVALID if the call fails
 *
 * Collective: every PE of the team. Allocates symmetric memory: for each PE of the team twice
 *             the bytes of a message; on GPUs, 8 bytes for each entry of tokens_max tokens and
 *             4 for each PE and expert.
 * Threads:    one thread of each PE.
 * Ordering:   a barrier of the team.
 * Errors:     ERR_ARG, the same message on all PEs, for a number that is not in its range, or
 *             that differs between PEs; ERR_NOMEM. On GPUs, ERR_UNSUPPORTED for more than 2048
 *             experts or 32 entries, CHORUSX_MOE_FAIL, and teams whose PEs' GPUs do not access
 *             each other's memory.
 * Source:     Chorus; DeepEP, Buffer.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_moe_create(chorus_team_t team, const chorusx_moe_config_t *config,
                                   chorusx_moe_t *moe);

/**
 * Free the object and its memory, once its routes are freed. Null does nothing.
 *
 * @param moe  of chorusx_moe_create
 *
 * Collective: every PE of the team, also those that are not active, with no call under way
 *             or queued on a stream, before the team is destroyed.
 * Threads:    one thread of each PE.
 * Ordering:   a barrier of the team.
 * Errors:     ERR_STATE if a call is under way or a route is not freed, and the object stays;
 *             as of chorus_barrier and chorusx_team_free: the object cannot be used any more,
 *             and symmetric memory may be left to the team.
 * Source:     Chorus.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_moe_destroy(chorusx_moe_t moe);

/**
 * Choose the PEs and the experts that take part from the next route on. Others receive nothing:
 * an entry that names them counts as empty. A PE that is not active makes no calls on the
 * object but this one and destroy, and no PE waits for it. Routes of before cannot be used any
 * more.
 *
 * @param moe      of chorusx_moe_create
 * @param pes      [in] for each PE of the team: 0 if it does not take part; null: all do
 * @param experts  [in] for each expert: 0 if it is switched off; null: those of active PEs are
 *                 on. Experts of PEs that are not active are off
 *
 * Collective: every PE that is active before or afterwards, between the same calls of the
 *             object and with the same values; sends nothing, and waits for nobody. On GPUs,
 *             when the calls of before have run (chorusx_stream_synchronize); later ones obey
 *             it, also those of graphs that were captured before.
 * Threads:    one thread at a time on an object.
 * Ordering:   implies no barrier.
 * Errors:     ERR_STATE if a call is under way. If PEs pass different values, their next route
 *             fails.
 * Source:     Chorus; DeepEP, low_latency_update_mask_buffer.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_moe_set_active(chorusx_moe_t moe, const unsigned char *pes,
                                       const unsigned char *experts);

/**
 * Get the number of entries of this PE's tokens that its routes have dropped.
 *
 * @param moe          of chorusx_moe_create
 * @param dropped_out  [out] the sum over all routes, or dispatches on streams, since the object
 *                     was created
 *
 * Collective: no, any PE.
 * Threads:    one thread at a time on an object.
 * Ordering:   implies no barrier. On GPUs it knows of the calls that have run.
 * Errors:     ERR_ARG for null. On GPUs, ERR_ARG from a dispatch on that had entries which are
 *             no experts, with how many and the first one; dropped_out is set then, too.
 * Source:     Chorus.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_moe_dropped(chorusx_moe_t moe, uint64_t *dropped_out);

/**
 * Tell the PEs which tokens come to their experts. A route serves any number of dispatches and
 * combines, of a forward pass and of a backward pass.
 *
 * @param moe       of chorusx_moe_create
 * @param topk_idx  [in] topk entries for each token: the number of an expert, each once in a
 *                  token, or -1: empty. Not kept
 * @param n_tokens  of this PE, 0 to tokens_max; PEs may differ
 * @param route     [out] the route; CHORUSX_MOE_ROUTE_INVALID if the call fails
 *
 * Collective: every active PE of the team.
 * Threads:    one thread at a time on an object.
 * Ordering:   no PE returns before all have called. Rows of an expert are in the order of the
 *             PEs that send them, and then of their tokens; the first `capacity` are kept.
 * Errors:     ERR_UNSUPPORTED if the heap is on GPUs.
 *             ERR_ARG, the same message on all active PEs: for more tokens than tokens_max, an
 *             entry that is no expert, an expert twice in a token, rows beyond a capacity with
 *             CHORUSX_MOE_FAIL, masks that differ; the object can be used further. ERR_STATE
 *             on a PE that is not active, or while a call is under way. ERR_NOMEM, and
 *             ERR_TIMEOUT if a wait fails, also as the job ends: the error handler gets its
 *             code and message. The object can only be destroyed then.
 * Source:     Chorus; DeepEP, get_dispatch_layout.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_moe_route(chorusx_moe_t moe, const int32_t *topk_idx, size_t n_tokens,
                                  chorusx_moe_route_t *route);

/**
 * Get what this PE receives by a route: counts, prefix sums, and the origin of each row.
 *
 * @param route     of chorusx_moe_route
 * @param info_out  [out] numbers, and arrays that are valid until the route is freed
 *
 * Collective: no, any PE.
 * Threads:    any, while the route is not being freed.
 * Ordering:   implies no barrier.
 * Errors:     ERR_ARG for null.
 * Source:     Chorus.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_moe_route_info(chorusx_moe_route_t route,
                                       chorusx_moe_route_info_t *info_out);

/**
 * Free a route. Null does nothing.
 *
 * @param route  of chorusx_moe_route
 *
 * Collective: no, any PE, before the object is destroyed.
 * Threads:    one thread at a time on an object.
 * Ordering:   implies no barrier.
 * Errors:     ERR_STATE if a call with the route is under way.
 * Source:     Chorus.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_moe_route_free(chorusx_moe_route_t route);

/**
 * Send tokens to the PEs of their experts, once to each PE, which copies them to the rows of
 * each expert, and once to each other host. begin sends what there is room for, and returns;
 * end does the rest.
 *
 * @param route       of chorusx_moe_route
 * @param x           [in] hidden_bytes of each token of this PE, in any memory of the host, not
 *                    changed until the end
 * @param scales      [in] scale_bytes of each token; null if those are 0
 * @param out         [out] array_rows rows of hidden_bytes; those that are not filled are left
 *                    alone
 * @param out_scales  [out] array_rows rows of scale_bytes; null if those are 0
 *
 * Collective: every active PE of the team, in the same order of calls on the object.
 * Threads:    one thread at a time on an object.
 * Ordering:   when dispatch or end returns, all rows are there and x may be changed. No
 *             barrier: other PEs may still be in the call.
 * Errors:     ERR_ARG for null; ERR_STATE for begin after begin, end without begin, and a route
 *             of before chorusx_moe_set_active. Nothing is sent then, and PEs that did call
 *             wait. ERR_TIMEOUT as of chorusx_moe_route.
 * Source:     Chorus; DeepEP, dispatch.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_moe_dispatch(chorusx_moe_route_t route, const void *x,
                                     const void *scales, void *out, void *out_scales);
CHORUS_CODE int chorusx_moe_dispatch_begin(chorusx_moe_route_t route, const void *x,
                                           const void *scales, void *out, void *out_scales);
CHORUS_CODE int chorusx_moe_dispatch_end(chorusx_moe_route_t route);

/**
 * Send the rows of the experts back to the PEs of their tokens, which add them up.
 *
 *     out[t] = weights[t][0] * y of entry 0 of token t + weights[t][1] * y of entry 1 + ...
 *
 * Entries that are empty, dropped or switched off have no summand, and a token without any
 * becomes zeros. With `renormalise`, the weights of a token are multiplied by the sum of those
 * of all its entries that are not -1, divided by the sum of those that have a summand.
 *
 * @param route    of chorusx_moe_route
 * @param y        [in] array_rows rows of combine_bytes, as dispatch numbers them, in any
 * memory of the host, not changed until the end
 * @param type     CHORUS_TYPE_f32, _bf16 or _f16; its bytes divide combine_bytes
 * @param weights  [in] topk for each token of this PE, not changed until the end; null: 1
 * @param out      [out] combine_bytes of each token of this PE
 *
 * Collective: every active PE of the team, in the same order of calls on the object.
 * Threads:    one thread at a time on an object.
 * Ordering:   as of chorusx_moe_dispatch.
 * Result:     products and sums are rounded to f32, in the order of the entries, and the sum
 *             once to the type, to nearest, ties to even: the same bits in every run, on any
 *             number of PEs.
 * Errors:     as of chorusx_moe_dispatch; ERR_ARG for another type.
 * Source:     Chorus; DeepEP, combine.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_moe_combine(chorusx_moe_route_t route, const void *y, chorus_type type,
                                    const float *weights, void *out);
CHORUS_CODE int chorusx_moe_combine_begin(chorusx_moe_route_t route, const void *y,
                                          chorus_type type, const float *weights, void *out);
CHORUS_CODE int chorusx_moe_combine_end(chorusx_moe_route_t route);

/**
 * Send tokens to the PEs of their experts, on GPUs. begin sends, and end waits for what the
 * others send; in between no multiprocessor is occupied.
 *
 * @param moe         of chorusx_moe_create
 * @param topk_idx    [in] topk entries for each token: the number of an expert, or -1: empty
 * @param n_tokens    of this PE, 0 to tokens_max; PEs may differ
 * @param x           [in] hidden_bytes of each token
 * @param scales      [in] scale_bytes of each token; null if those are 0
 * @param out         [out] symmetric: rows of hidden_bytes, experts of a PE * capacity if the
 *                    layout has a capacity for each, else rows_max. Rows that are not filled
 * are left alone
 * @param out_scales  [out] symmetric: as many rows of scale_bytes; null if those are 0
 * @param counts      [out] rows of each expert of this PE
 * @param stream      of this PE
 *
 * Arrays are in memory of this PE's GPU, and are not to be accessed until the call, or end, has
 * run. If compact, rows of an expert begin at the sum of the counts of those before.
 *
 * Collective: every active PE of the team, in the same order of calls on the object.
 * Threads:    one thread at a time on an object; its calls run one after another, as streams
 *             and events order them. A call in a graph is part of each launch.
 * Ordering:   returns at once. When the call, or end, has run, all rows are there. Rows of an
 *             expert are in the order of the PEs that send them, of their tokens, and of the
 *             entries; those beyond the capacity, and then those beyond rows_max, are dropped.
 *             No barrier: other PEs may still be in the call.
 * Result:     the same rows in the same places as by chorusx_moe_dispatch, in every run.
 * Errors:     ERR_ARG for null, for an address that is not aligned to its type, and for more
 *             tokens than tokens_max; ERR_NOT_SYMMETRIC; ERR_STATE on a PE that is not active,
 *             for begin after begin, and end without begin; ERR_UNSUPPORTED if the heap is on
 *             hosts; those of chorusx_collective_launch. Nothing is queued then, and PEs that
 *             did call wait. A wait that fails is reported by chorusx_stream_synchronize, and
 *             later calls of the object do nothing. An entry that is no expert counts as empty,
 *             see chorusx_moe_dropped; an expert that a token has twice gets two rows.
 * Source:     Chorus; DeepEP, low_latency_dispatch.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_moe_dispatch_on_stream(chorusx_moe_t moe, const int32_t *topk_idx,
                                               size_t n_tokens, const void *x,
                                               const void *scales, void *out, void *out_scales,
                                               uint32_t *counts, chorus_stream_t stream);
CHORUS_CODE int chorusx_moe_dispatch_begin_on_stream(chorusx_moe_t moe, const int32_t *topk_idx,
                                                     size_t n_tokens, const void *x,
                                                     const void *scales, void *out,
                                                     void *out_scales, uint32_t *counts,
                                                     chorus_stream_t stream);
CHORUS_CODE int chorusx_moe_dispatch_end_on_stream(chorusx_moe_t moe, chorus_stream_t stream);

/**
 * Add up the rows of the experts, for the tokens of the last dispatch that has run. begin does
 * that, and end waits until the others have read y of this PE.
 *
 *     out[t] = weights[t][0] * y of entry 0 of token t + weights[t][1] * y of entry 1 + ...
 *
 * Other things are as of chorusx_moe_combine.
 *
 * @param moe      of chorusx_moe_create
 * @param y        [in] symmetric: rows of combine_bytes, as many as dispatch has, and in the
 *                 same places; aligned to the type
 * @param type     CHORUS_TYPE_f32, _bf16 or _f16; its bytes divide combine_bytes
 * @param weights  [in] topk for each token of this PE; null: 1
 * @param out      [out] combine_bytes of each token of this PE, aligned to the type
 * @param stream   of this PE
 *
 * Arrays are as of chorusx_moe_dispatch_on_stream. In a backward pass, dispatch the gradients
 * by topk_idx of the forward pass: that computes the same places again.
 *
 * Collective: every active PE of the team, in the same order of calls on the object.
 * Threads:    as of chorusx_moe_dispatch_on_stream.
 * Ordering:   returns at once. When the call, or end, has run, out is complete and y may be
 *             changed.
 * Result:     that of chorusx_moe_combine, bit for bit, but for the bits of NaNs.
 * Errors:     as of chorusx_moe_dispatch_on_stream; ERR_ARG for another type.
 * Source:     Chorus; DeepEP, low_latency_combine.
 * Since:      0.1
 */
CHORUS_CODE int chorusx_moe_combine_on_stream(chorusx_moe_t moe, const void *y,
                                              chorus_type type, const float *weights, void *out,
                                              chorus_stream_t stream);
CHORUS_CODE int chorusx_moe_combine_begin_on_stream(chorusx_moe_t moe, const void *y,
                                                    chorus_type type, const float *weights,
                                                    void *out, chorus_stream_t stream);
CHORUS_CODE int chorusx_moe_combine_end_on_stream(chorusx_moe_t moe, chorus_stream_t stream);

#ifdef __cplusplus
}
#endif

#endif /* CHORUS_APPS_MOE_H */
