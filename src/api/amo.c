/* SPDX-License-Identifier: Apache-2.0 */
/*
 * amo.c: atomics on an object of a peer, puts with signals, and signals. Operands of atomics
 * are passed as bit patterns of 4 or 8 bytes. Floats are only fetched, set and swapped, for
 * which the bits are enough. The waits for signals are in wait.c.
 */
#include "api/rma.h"
#include "chorus/chorusx.h"

#include <string.h>

/* Declares the functions, without the generic names. */
#undef chorus_signal_set
#undef chorus_signal_add

/* --- atomics ------------------------------------------------------------------------------ */

struct amo {
    enum ch_amo op;
    void *object; /* symmetric */
    const char *object_name;
    uint64_t value, compare; /* 0 where the form has none */
    size_t bytes;
    int pe;
    bool fetches;
};

/* Returns the bits of a value of 4 or 8 bytes; 0 if value is null. */
static inline uint64_t load_bits(const void *value, size_t bytes)
{
    uint32_t narrow;
    uint64_t wide;

    if (value == NULL) return 0;
    if (bytes == sizeof(narrow)) {
        memcpy(&narrow, value, sizeof(narrow));
        return narrow;
    }
    memcpy(&wide, value, sizeof(wide));
    return wide;
}

/* Store the bits in a value of 4 or 8 bytes; do nothing if value is null. */
static inline void store_bits(void *value, size_t bytes, uint64_t bits)
{
    const uint32_t narrow = (uint32_t)bits;

    if (value == NULL) return;
    if (bytes == sizeof(narrow))
        memcpy(value, &narrow, sizeof(narrow));
    else
        memcpy(value, &bits, sizeof(bits));
}

static chorus_status perform_amo(const char *function, chorus_ctx_t ctx, const struct amo *a,
                                 uint64_t *fetched_out)
{
    struct ch_target t;

    CH_TRY(ch_resolve_target(function, ctx, a->object_name, a->object, 1, a->bytes, a->pe, &t));
    CH_TRY(ch_check_aligned(function, a->object_name, a->object, a->bytes));
    return ch_links_amo(t.context->links, t.ctx, a->op, a->object, a->bytes, a->value,
                        a->compare, t.pe, a->fetches ? fetched_out : NULL);
}

/* Perform an atomic on any PE, and report failures. Returns the old value if a->fetches, else
 * 0; 0 also after a failure. */
static __attribute__((noinline)) uint64_t amo_far(const char *function, chorus_ctx_t ctx,
                                                  const struct amo *a)
{
    uint64_t fetched = 0;

    ch_report(perform_amo(function, ctx, a, &fetched));
    return fetched;
}

/* Perform an atomic; returns the old value, if it fetches. The op and the bytes are constants,
 * so the compiler removes most of this. */
CH_INLINE uint64_t amo(const char *function, chorus_ctx_t ctx, struct amo a)
{
    const struct ch_near *near = ch_find_near(ctx, a.object, a.bytes, a.pe);

    if (near == NULL || ((uintptr_t)a.object & (a.bytes - 1)) != 0) {
        const struct amo kept = a; /* used only in memory, for this call */

        return amo_far(function, ctx, &kept);
    }
    return ch_near_amo(near, a.op, a.object, a.bytes, a.value, a.compare);
}

/* The names of OP and of the object are followed by pointers to value, compare and fetched, or
 * null. */
#define AMO(CTX, OP, dest, value, compare, fetched)                                        \
    store_bits(                                                                            \
        (fetched), sizeof(*(dest)),                                                        \
        amo(__func__, CTX,                                                                 \
            (struct amo){CH_AMO_##OP, (dest), "dest", load_bits((value), sizeof(*(dest))), \
                         load_bits((compare), sizeof(*(dest))), sizeof(*(dest)), pe,       \
                         (fetched) != NULL}))
/* The caller promises with const that a fetch does not change source; a fetch keeps that
 * promise. */
#define AMO_FETCH(CTX, source, fetched)                                                    \
    store_bits((fetched), sizeof(*(source)),                                               \
               amo(__func__, CTX,                                                          \
                   (struct amo){CH_AMO_FETCH, (void *)(uintptr_t)(source), "source", 0, 0, \
                                sizeof(*(source)), pe, true}))

#define DEFINE_EXTENDED(P, ARG, CTX, NAME, T)                              \
    T P##NAME##_atomic_fetch(ARG const T *source, int pe)                  \
    {                                                                      \
        T fetched;                                                         \
        AMO_FETCH(CTX, source, &fetched);                                  \
        return fetched;                                                    \
    }                                                                      \
    void P##NAME##_atomic_set(ARG T *dest, T value, int pe)                \
    {                                                                      \
        AMO(CTX, SET, dest, &value, NULL, NULL);                           \
    }                                                                      \
    T P##NAME##_atomic_swap(ARG T *dest, T value, int pe)                  \
    {                                                                      \
        T fetched;                                                         \
        AMO(CTX, SWAP, dest, &value, NULL, &fetched);                      \
        return fetched;                                                    \
    }                                                                      \
    void P##NAME##_atomic_fetch_nbi(ARG T *fetch, const T *source, int pe) \
    {                                                                      \
        AMO_FETCH(CTX, source, fetch);                                     \
    }                                                                      \
    void P##NAME##_atomic_swap_nbi(ARG T *fetch, T *dest, T value, int pe) \
    {                                                                      \
        AMO(CTX, SWAP, dest, &value, NULL, fetch);                         \
    }
#define X(NAME, T, kind)                                    \
    DEFINE_EXTENDED(chorus_, , CHORUS_CTX_DEFAULT, NAME, T) \
    DEFINE_EXTENDED(chorus_ctx_, CH_CTX_ARG, ctx, NAME, T)
CHORUS_AMO_EXTENDED_TYPES(X)
#undef X

#define DEFINE_STANDARD(P, ARG, CTX, NAME, T)                                              \
    T P##NAME##_atomic_compare_swap(ARG T *dest, T cond, T value, int pe)                  \
    {                                                                                      \
        T fetched;                                                                         \
        AMO(CTX, COMPARE_SWAP, dest, &value, &cond, &fetched);                             \
        return fetched;                                                                    \
    }                                                                                      \
    T P##NAME##_atomic_fetch_inc(ARG T *dest, int pe)                                      \
    {                                                                                      \
        const T one = 1;                                                                   \
        T fetched;                                                                         \
        AMO(CTX, ADD, dest, &one, NULL, &fetched);                                         \
        return fetched;                                                                    \
    }                                                                                      \
    void P##NAME##_atomic_inc(ARG T *dest, int pe)                                         \
    {                                                                                      \
        const T one = 1;                                                                   \
        AMO(CTX, ADD, dest, &one, NULL, NULL);                                             \
    }                                                                                      \
    T P##NAME##_atomic_fetch_add(ARG T *dest, T value, int pe)                             \
    {                                                                                      \
        T fetched;                                                                         \
        AMO(CTX, ADD, dest, &value, NULL, &fetched);                                       \
        return fetched;                                                                    \
    }                                                                                      \
    void P##NAME##_atomic_add(ARG T *dest, T value, int pe)                                \
    {                                                                                      \
        AMO(CTX, ADD, dest, &value, NULL, NULL);                                           \
    }                                                                                      \
    void P##NAME##_atomic_compare_swap_nbi(ARG T *fetch, T *dest, T cond, T value, int pe) \
    {                                                                                      \
        AMO(CTX, COMPARE_SWAP, dest, &value, &cond, fetch);                                \
    }                                                                                      \
    void P##NAME##_atomic_fetch_inc_nbi(ARG T *fetch, T *dest, int pe)                     \
    {                                                                                      \
        const T one = 1;                                                                   \
        AMO(CTX, ADD, dest, &one, NULL, fetch);                                            \
    }                                                                                      \
    void P##NAME##_atomic_fetch_add_nbi(ARG T *fetch, T *dest, T value, int pe)            \
    {                                                                                      \
        AMO(CTX, ADD, dest, &value, NULL, fetch);                                          \
    }
#define X(NAME, T, kind)                                    \
    DEFINE_STANDARD(chorus_, , CHORUS_CTX_DEFAULT, NAME, T) \
    DEFINE_STANDARD(chorus_ctx_, CH_CTX_ARG, ctx, NAME, T)
CHORUS_AMO_STANDARD_TYPES(X)
#undef X

#define DEFINE_BITWISE_OP(P, ARG, CTX, NAME, T, op, OP)                            \
    T P##NAME##_atomic_fetch_##op(ARG T *dest, T value, int pe)                    \
    {                                                                              \
        T fetched;                                                                 \
        AMO(CTX, OP, dest, &value, NULL, &fetched);                                \
        return fetched;                                                            \
    }                                                                              \
    void P##NAME##_atomic_##op(ARG T *dest, T value, int pe)                       \
    {                                                                              \
        AMO(CTX, OP, dest, &value, NULL, NULL);                                    \
    }                                                                              \
    void P##NAME##_atomic_fetch_##op##_nbi(ARG T *fetch, T *dest, T value, int pe) \
    {                                                                              \
        AMO(CTX, OP, dest, &value, NULL, fetch);                                   \
    }
#define BITWISE_OP(NAME, T, op, OP)                                   \
    DEFINE_BITWISE_OP(chorus_, , CHORUS_CTX_DEFAULT, NAME, T, op, OP) \
    DEFINE_BITWISE_OP(chorus_ctx_, CH_CTX_ARG, ctx, NAME, T, op, OP)
#define X(NAME, T, kind)          \
    BITWISE_OP(NAME, T, and, AND) \
    BITWISE_OP(NAME, T, or, OR)   \
    BITWISE_OP(NAME, T, xor, XOR)
CHORUS_AMO_BITWISE_TYPES(X)
#undef X

/* --- signals ------------------------------------------------------------------------------ */

/* Check the operator of an update, and that its signal is symmetric, on PE `pe` and aligned. */
static chorus_status check_signal(const struct ch_context *context, const char *function,
                                  const struct ch_signal_update *update, uint32_t pe)
{
    if (update->op != CHORUS_SIGNAL_SET && update->op != CHORUS_SIGNAL_ADD)
        return CH_FAIL(CHORUS_ERR_ARG,
                       "%s: sig_op is %d; expected CHORUS_SIGNAL_SET or CHORUS_SIGNAL_ADD",
                       function, update->op);
    CH_TRY(ch_check_symmetric(context, function, "sig_addr", update->address,
                              sizeof(*update->address)));
    CH_TRY(ch_check_owner(context, function, "sig_addr", update->address, pe));
    return ch_check_aligned(function, "sig_addr", update->address, sizeof(*update->address));
}

static chorus_status put_signal(const char *function, chorus_ctx_t ctx, void *dest,
                                const void *source, size_t count, size_t element_bytes,
                                const struct ch_signal_update *update, int pe)
{
    const enum ch_amo op = update->op == CHORUS_SIGNAL_ADD ? CH_AMO_ADD : CH_AMO_SET;
    struct ch_put_signal put = {dest, source, 0, update->address, op, update->value};
    struct ch_target t;

    CH_TRY(ch_resolve_target(function, ctx, "dest", dest, count, element_bytes, pe, &t));
    CH_TRY(check_signal(t.context, function, update, t.pe));
    put.bytes = t.bytes;
    return ch_links_put_signal(t.context->links, t.ctx, &put, t.pe, update->is_nbi);
}

void ch_rma_put_signal(const char *function, chorus_ctx_t ctx, void *dest, const void *source,
                       size_t count, size_t element_bytes, struct ch_signal_update update,
                       int pe)
{
    ch_report(put_signal(function, ctx, dest, source, count, element_bytes, &update, pe));
}

#define DEFINE_PUT_SIGNAL(P, ARG, CTX, NAME, T)                                                \
    void P##NAME##_put_signal(ARG T *dest, const T *source, size_t nelems, uint64_t *sig_addr, \
                              uint64_t signal, int sig_op, int pe)                             \
    {                                                                                          \
        const struct ch_signal_update update = {sig_addr, signal, sig_op, false};              \
        ch_rma_put_signal(__func__, CTX, dest, source, nelems, sizeof(T), update, pe);         \
    }                                                                                          \
    void P##NAME##_put_signal_nbi(ARG T *dest, const T *source, size_t nelems,                 \
                                  uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)     \
    {                                                                                          \
        const struct ch_signal_update update = {sig_addr, signal, sig_op, true};               \
        ch_rma_put_signal(__func__, CTX, dest, source, nelems, sizeof(T), update, pe);         \
    }
#define X(NAME, T, kind)                                      \
    DEFINE_PUT_SIGNAL(chorus_, , CHORUS_CTX_DEFAULT, NAME, T) \
    DEFINE_PUT_SIGNAL(chorus_ctx_, CH_CTX_ARG, ctx, NAME, T)
CHORUS_RMA_TYPES(X)
#undef X

/* Set the signal on PE `pe` or add to it, without data. */
static chorus_status update_signal(const char *function, chorus_ctx_t ctx,
                                   const struct ch_signal_update *update, int pe)
{
    const enum ch_amo op = update->op == CHORUS_SIGNAL_ADD ? CH_AMO_ADD : CH_AMO_SET;
    struct ch_target t;

    CH_TRY(ch_resolve_target(function, ctx, "sig_addr", update->address, 1,
                             sizeof(*update->address), pe, &t));
    CH_TRY(check_signal(t.context, function, update, t.pe));
    return ch_links_amo(t.context->links, t.ctx, op, update->address, sizeof(*update->address),
                        update->value, 0, t.pe, NULL);
}

#define DEFINE_PLAIN(P, ARG, CTX)                                                            \
    void P##putmem_signal(ARG void *dest, const void *source, size_t bytes,                  \
                          uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)           \
    {                                                                                        \
        const struct ch_signal_update update = {sig_addr, signal, sig_op, false};            \
        ch_rma_put_signal(__func__, CTX, dest, source, bytes, 1, update, pe);                \
    }                                                                                        \
    void P##putmem_signal_nbi(ARG void *dest, const void *source, size_t bytes,              \
                              uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)       \
    {                                                                                        \
        const struct ch_signal_update update = {sig_addr, signal, sig_op, true};             \
        ch_rma_put_signal(__func__, CTX, dest, source, bytes, 1, update, pe);                \
    }                                                                                        \
    void P##signal_set(ARG uint64_t *sig_addr, uint64_t signal, int pe)                      \
    {                                                                                        \
        const struct ch_signal_update update = {sig_addr, signal, CHORUS_SIGNAL_SET, false}; \
        ch_report(update_signal(__func__, CTX, &update, pe));                                \
    }                                                                                        \
    void P##signal_add(ARG uint64_t *sig_addr, uint64_t signal, int pe)                      \
    {                                                                                        \
        const struct ch_signal_update update = {sig_addr, signal, CHORUS_SIGNAL_ADD, false}; \
        ch_report(update_signal(__func__, CTX, &update, pe));                                \
    }
DEFINE_PLAIN(chorus_, , CHORUS_CTX_DEFAULT)
DEFINE_PLAIN(chorus_ctx_, CH_CTX_ARG, ctx)

void chorusx_signal_op(uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)
{
    const struct ch_signal_update update = {sig_addr, signal, sig_op, false};

    ch_report(update_signal(__func__, CHORUS_CTX_DEFAULT, &update, pe));
}

static chorus_status fetch_signal(const char *function, const uint64_t *sig_addr,
                                  uint64_t *value_out)
{
    struct ch_context *context;

    CH_TRY(ch_context_require(function, &context));
    CH_TRY(ch_check_symmetric(context, function, "sig_addr", sig_addr, sizeof(*sig_addr)));
    CH_TRY(ch_check_aligned(function, "sig_addr", sig_addr, sizeof(*sig_addr)));
    if (ch_links_must_load(context->links))
        return ch_links_load(context->links, value_out, sig_addr, sizeof(*sig_addr));
    *value_out = __atomic_load_n(sig_addr, __ATOMIC_ACQUIRE);
    return CHORUS_OK;
}

uint64_t chorus_signal_fetch(const uint64_t *sig_addr)
{
    uint64_t value = 0;
    const chorus_status status = fetch_signal(__func__, sig_addr, &value);

    ch_report(status);
    return value;
}
