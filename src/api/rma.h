/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rma.h: the one-sided operations that all typed and sized functions call: the fast path of
 * the calls that programs make most often, and the slow path with checks.
 *
 * `function` is the public name, for messages. A failure is passed to ch_report, and the call
 * then has no effect. Counts are in elements of `element_bytes` bytes. At the end: waits for
 * the words that such operations change.
 */
#ifndef CH_RMA_H
#define CH_RMA_H

#include "api/check.h"
#include "api/context.h"
#include "chorus/chorus.h"

/* A checked address on a peer. */
struct ch_target {
    struct ch_context *context;
    size_t bytes; /* of all elements */
    uint32_t pe;  /* its number in the job */
    uint32_t ctx; /* the transport's number of the context */
};

/* Check the arguments of a call, and set *out. `pe` is a number in the context's team. `name`
 * is that of the symmetric argument; with count 0 any address is allowed. */
CH_MUST_CHECK static inline chorus_status ch_resolve_target(const char *function,
                                                            chorus_ctx_t ctx, const char *name,
                                                            const void *symmetric, size_t count,
                                                            size_t element_bytes, int pe,
                                                            struct ch_target *out)
{
    CH_TRY(ch_context_require(function, &out->context));
    CH_TRY(ch_ctx_resolve(out->context, function, ctx, pe, &out->ctx, &out->pe));
    CH_TRY(ch_check_count(function, count, element_bytes, &out->bytes));
    CH_TRY(ch_check_symmetric(out->context, function, name, symmetric, out->bytes));
    return ch_check_owner(out->context, function, name, symmetric, out->pe);
}

/* Put or get `count` elements. On return the source of a put may be reused and, if the peer is
 * mapped, the data has arrived; a get is complete. */
void ch_rma_put(const char *function, chorus_ctx_t ctx, void *dest, const void *source,
                size_t count, size_t element_bytes, int pe);
void ch_rma_get(const char *function, chorus_ctx_t ctx, void *dest, const void *source,
                size_t count, size_t element_bytes, int pe);

/* Nonblocking put and get: complete only after a quiet. */
void ch_rma_put_nbi(const char *function, chorus_ctx_t ctx, void *dest, const void *source,
                    size_t count, size_t element_bytes, int pe);
void ch_rma_get_nbi(const char *function, chorus_ctx_t ctx, void *dest, const void *source,
                    size_t count, size_t element_bytes, int pe);

/* Block i of source, which begins at element i * sst, is copied to element i * dst of dest:
 * `count` blocks of `block` elements. Strides are at least as long as a block. */
struct ch_strides {
    ptrdiff_t dst, sst;
    size_t block, count;
};
/* Put or get blocks with strides. */
void ch_rma_iput(const char *function, chorus_ctx_t ctx, void *dest, const void *source,
                 struct ch_strides strides, size_t element_bytes, int pe);
void ch_rma_iget(const char *function, chorus_ctx_t ctx, void *dest, const void *source,
                 struct ch_strides strides, size_t element_bytes, int pe);

/* The signal of a put_signal, which follows the data. */
struct ch_signal_update {
    uint64_t *address;
    uint64_t value;
    int op;      /* a CHORUS_SIGNAL_ constant */
    bool is_nbi; /* the source is free after quiet, and not on return */
};
/* Put elements, then change the signal on the same PE. */
void ch_rma_put_signal(const char *function, chorus_ctx_t ctx, void *dest, const void *source,
                       size_t count, size_t element_bytes, struct ch_signal_update update,
                       int pe);

/* Two forms of a function: on the default context, and with a context as the first argument. */
#define CH_CTX_ARG chorus_ctx_t ctx,

/* --- the fast path ------------------------------------------------------------------------ */

/* Forces inlining: compilers keep a function call where many functions make it, and the call
 * costs a third of the whole. */
#define CH_INLINE static inline __attribute__((always_inline))

/*
 * Returns PE `pe` as a mapped peer, if the call only consists of loads and stores to
 * [symmetric, symmetric + bytes) there: in a process with one PE, on the default context, with
 * valid arguments and without CHORUS_CHECK. Otherwise returns null; the caller then takes the
 * slow path, which reports errors.
 */
CH_INLINE const struct ch_near *ch_find_near(chorus_ctx_t ctx, const void *symmetric,
                                             size_t bytes, int pe)
{
    const struct ch_context *context = __atomic_load_n(&ch_context_only, __ATOMIC_ACQUIRE);
    const struct ch_near *near;

    if (ctx != CHORUS_CTX_DEFAULT || context == NULL || (uint32_t)pe >= context->n_near)
        return NULL;
    near = &context->near[pe];
    return near->door != NULL && ch_heap_contains(context->heap, symmetric, bytes) ? near
                                                                                   : NULL;
}

/* A blocking put, and get, by the fast path. Both return false, and have done nothing, if the
 * call must take the slow path. */
CH_INLINE bool ch_put_near(chorus_ctx_t ctx, void *dest, const void *source, size_t count,
                           size_t element_bytes, int pe)
{
    const struct ch_near *near;
    size_t bytes;

    if (__builtin_mul_overflow(count, element_bytes, &bytes)) return false;
    near = ch_find_near(ctx, dest, bytes, pe);
    if (near == NULL) return false;
    ch_near_put(near, dest, source, bytes);
    return true;
}

CH_INLINE bool ch_get_near(chorus_ctx_t ctx, void *dest, const void *source, size_t count,
                           size_t element_bytes, int pe)
{
    const struct ch_near *near;
    size_t bytes;

    if (__builtin_mul_overflow(count, element_bytes, &bytes)) return false;
    near = ch_find_near(ctx, source, bytes, pe);
    if (near == NULL) return false;
    ch_near_get(near, dest, source, bytes);
    return true;
}

/* The body of a function of the API: `long_way` is its slow path. */
#define CH_PUT(long_way, CTX, dest, source, count, element_bytes, pe)                    \
    do {                                                                                 \
        if (!ch_put_near((CTX), (dest), (source), (count), (element_bytes), (pe)))       \
            long_way(__func__, (CTX), (dest), (source), (count), (element_bytes), (pe)); \
    } while (0)
#define CH_GET(long_way, CTX, dest, source, count, element_bytes, pe)                    \
    do {                                                                                 \
        if (!ch_get_near((CTX), (dest), (source), (count), (element_bytes), (pe)))       \
            long_way(__func__, (CTX), (dest), (source), (count), (element_bytes), (pe)); \
    } while (0)

/* --- waits for words ---------------------------------------------------------------------- */

/*
 * Conditions on words of this PE that other PEs store to, which the calls of wait and test
 * check. A test scans the words once, a wait until the scan succeeds.
 */

struct ch_query {
    const char *function, *name; /* name of the call, and name of ivars in messages */
    chorus_type type;
    const char *ivars;
    size_t count;
    const int *status; /* elements with a value other than 0 are skipped; null: none is */
    int cmp;
    const char *values; /* value to compare with */
    size_t values_step; /* distance of successive values in bytes; 0: one value for all */
    size_t *indices;    /* [out] of scan_some */
    size_t found;       /* [out] of scan_any: index or SIZE_MAX; of scan_some: how many */
    uint64_t key;       /* [out] of the word that was read last */
    struct ch_context *context; /* set by ch_query_check */
    /* Of wait.c. */
    const char *words; /* the array to scan: ivars, or the copy */
    char *copy;        /* a copy of ivars, if only the transport can read them; else null */
    size_t start;      /* where scan_any begins */
    size_t n_done;     /* by scan_all: words before this one have been met */
};

/* Is it a type of signed integers? */
bool ch_type_is_signed(chorus_type type);

/* Check a query's arguments, and set its context. ERR_STATE, ERR_ARG, ERR_NOT_SYMMETRIC. */
CH_MUST_CHECK chorus_status ch_query_check(struct ch_query *q);

/* Wait for all words of a checked query. On any thread; the record does not contain it. */
CH_MUST_CHECK chorus_status ch_query_wait_checked(struct ch_query *q);

#endif /* CH_RMA_H */
