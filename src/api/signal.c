/* SPDX-License-Identifier: Apache-2.0 */
/* signal.c: puts with signals, and signals. The waits for them are in wait.c. */
#include "api/argument.h"
#include "api/rma.h"
#include "chorus/chorusx.h"

/* Declares the functions, without the generic names. */
#undef chorus_signal_set
#undef chorus_signal_add

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
    const struct ch_transport_ops *ops;
    struct ch_transport *transport;
    struct ch_target t;

    CH_TRY(ch_target_check(function, ctx, "dest", dest, count, element_bytes, pe, &t));
    CH_TRY(check_signal(t.context, function, update, t.pe));
    ops = t.context->ops;
    transport = t.context->transport;
    if (ops->put_signal != NULL) {
        const struct ch_put_signal put = {dest, source,       t.bytes, update->address,
                                          op,   update->value};

        return ops->put_signal(transport, t.ctx, &put, t.pe, update->is_nbi);
    }
    if (t.bytes != 0) CH_TRY(ops->put(transport, t.ctx, dest, source, t.bytes, t.pe));
    CH_TRY(ops->fence(transport, t.ctx));
    return ops->amo(transport, t.ctx, op, update->address, sizeof(*update->address),
                    update->value, 0, t.pe, NULL);
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

static chorus_status signal_op(const char *function, chorus_ctx_t ctx,
                               const struct ch_signal_update *update, int pe)
{
    const enum ch_amo op = update->op == CHORUS_SIGNAL_ADD ? CH_AMO_ADD : CH_AMO_SET;
    struct ch_target t;

    CH_TRY(ch_target_check(function, ctx, "sig_addr", update->address, 1,
                           sizeof(*update->address), pe, &t));
    CH_TRY(check_signal(t.context, function, update, t.pe));
    return t.context->ops->amo(t.context->transport, t.ctx, op, update->address,
                               sizeof(*update->address), update->value, 0, t.pe, NULL);
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
        ch_report(signal_op(__func__, CTX, &update, pe));                                    \
    }                                                                                        \
    void P##signal_add(ARG uint64_t *sig_addr, uint64_t signal, int pe)                      \
    {                                                                                        \
        const struct ch_signal_update update = {sig_addr, signal, CHORUS_SIGNAL_ADD, false}; \
        ch_report(signal_op(__func__, CTX, &update, pe));                                    \
    }
DEFINE_PLAIN(chorus_, , CHORUS_CTX_DEFAULT)
DEFINE_PLAIN(chorus_ctx_, CH_CTX_ARG, ctx)

void chorusx_signal_op(uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)
{
    const struct ch_signal_update update = {sig_addr, signal, sig_op, false};

    ch_report(signal_op(__func__, CHORUS_CTX_DEFAULT, &update, pe));
}

static chorus_status fetch(const char *function, const uint64_t *sig_addr, uint64_t *value_out)
{
    struct ch_context *context;

    CH_TRY(ch_context_require(function, &context));
    CH_TRY(ch_check_symmetric(context, function, "sig_addr", sig_addr, sizeof(*sig_addr)));
    CH_TRY(ch_check_aligned(function, "sig_addr", sig_addr, sizeof(*sig_addr)));
    if (context->ops->load != NULL)
        return context->ops->load(context->transport, value_out, sig_addr, sizeof(*sig_addr));
    *value_out = __atomic_load_n(sig_addr, __ATOMIC_ACQUIRE);
    return CHORUS_OK;
}

uint64_t chorus_signal_fetch(const uint64_t *sig_addr)
{
    uint64_t value = 0;
    const chorus_status status = fetch(__func__, sig_addr, &value);

    ch_report(status);
    return value;
}
