/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/recorded.h"

#include <stdlib.h>
#include <string.h>

struct ch_transport {
    struct ch_transport_ops ops; /* of this transport; null where those of `to` are */
    const struct ch_transport_ops *to;
    struct ch_transport *self; /* of `to` */
    const struct ch_heap *heap;
    struct ch_record *record;
};

static uint64_t begin(const struct ch_transport *t, enum ch_access_what what,
                      const void *symmetric, size_t bytes, uint64_t value, uint32_t pe)
{
    const struct ch_access access = {.what = what,
                                     .pe = pe,
                                     .offset = ch_heap_offset(t->heap, symmetric),
                                     .bytes = bytes,
                                     .value = value};

    return ch_record_access(t->record, &access);
}

static chorus_status end(const struct ch_transport *t, uint64_t index, chorus_status status)
{
    ch_record_access_end(t->record, index);
    return status;
}

/* The data of a small put. A source on a GPU is not read: the host may not be able to. */
static uint64_t value_of(const struct ch_transport *t, const void *source, size_t bytes)
{
    uint64_t value = 0;

    if (bytes <= sizeof(value) && ch_heap_device(t->heap) == NULL)
        memcpy(&value, source, bytes);
    return value;
}

static void recorded_close(struct ch_transport *t)
{
    if (t == NULL) return;
    t->to->close(t->self);
    free(t);
}

static void *recorded_map(struct ch_transport *t, const void *symmetric, uint32_t pe)
{
    return t->to->map(t->self, symmetric, pe);
}

static chorus_status recorded_put(struct ch_transport *t, uint32_t ctx, void *dest,
                                  const void *source, size_t bytes, uint32_t pe)
{
    const uint64_t at = begin(t, CH_ACCESS_put, dest, bytes, value_of(t, source, bytes), pe);

    return end(t, at, t->to->put(t->self, ctx, dest, source, bytes, pe));
}

static chorus_status recorded_put_nbi(struct ch_transport *t, uint32_t ctx, void *dest,
                                      const void *source, size_t bytes, uint32_t pe)
{
    const uint64_t at = begin(t, CH_ACCESS_put, dest, bytes, value_of(t, source, bytes), pe);

    return end(t, at, t->to->put_nbi(t->self, ctx, dest, source, bytes, pe));
}

static chorus_status recorded_get(struct ch_transport *t, uint32_t ctx, void *dest,
                                  const void *source, size_t bytes, uint32_t pe)
{
    const uint64_t at = begin(t, CH_ACCESS_get, source, bytes, 0, pe);

    return end(t, at, t->to->get(t->self, ctx, dest, source, bytes, pe));
}

static chorus_status recorded_get_nbi(struct ch_transport *t, uint32_t ctx, void *dest,
                                      const void *source, size_t bytes, uint32_t pe)
{
    const uint64_t at = begin(t, CH_ACCESS_get, source, bytes, 0, pe);

    return end(t, at, t->to->get_nbi(t->self, ctx, dest, source, bytes, pe));
}

static chorus_status recorded_load(struct ch_transport *t, void *out, const void *symmetric,
                                   size_t bytes)
{
    return t->to->load(t->self, out, symmetric, bytes);
}

static enum ch_access_what access_of(enum ch_amo op)
{
    switch (op) {
    case CH_AMO_SET:
        return CH_ACCESS_set;
    case CH_AMO_ADD:
        return CH_ACCESS_add;
    case CH_AMO_FETCH:
        return CH_ACCESS_fetch;
    default:
        return CH_ACCESS_change;
    }
}

static chorus_status recorded_amo(struct ch_transport *t, uint32_t ctx, enum ch_amo op,
                                  void *symmetric, size_t bytes, uint64_t value,
                                  uint64_t compare, uint32_t pe, uint64_t *fetched_out)
{
    const uint64_t at = begin(t, access_of(op), symmetric, bytes, value, pe);

    return end(t, at,
               t->to->amo(t->self, ctx, op, symmetric, bytes, value, compare, pe, fetched_out));
}

/* Two accesses: of the data, if there are any, and of the word. */
static chorus_status recorded_put_signal(struct ch_transport *t, uint32_t ctx,
                                         const struct ch_put_signal *put, uint32_t pe,
                                         bool is_nbi)
{
    const uint64_t value = value_of(t, put->source, put->bytes);
    const uint64_t data =
        put->bytes != 0 ? begin(t, CH_ACCESS_put, put->dest, put->bytes, value, pe) : 0;
    const uint64_t word =
        begin(t, access_of(put->op), put->word, sizeof(*put->word), put->value, pe);
    const chorus_status status = t->to->put_signal(t->self, ctx, put, pe, is_nbi);

    if (data != 0) ch_record_access_end(t->record, data);
    return end(t, word, status);
}

static chorus_status recorded_fence(struct ch_transport *t, uint32_t ctx)
{
    return t->to->fence(t->self, ctx);
}

static chorus_status recorded_quiet(struct ch_transport *t, uint32_t ctx)
{
    return t->to->quiet(t->self, ctx);
}

static chorus_status recorded_quiet_pe(struct ch_transport *t, uint32_t ctx, uint32_t pe)
{
    return t->to->quiet_pe(t->self, ctx, pe);
}

/* `near` is null, so that all accesses pass this transport. */
chorus_status ch_recorded_open(const struct ch_heap *heap, struct ch_record *record,
                               const struct ch_transport_ops **ops, struct ch_transport **self)
{
    const struct ch_transport_ops *to = *ops;
    struct ch_transport *t = calloc(1, sizeof(*t));

    if (t == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for CHORUS_RECORD=full, %zu bytes",
                       sizeof(*t));
#define IF_THERE(name) .name = to->name != NULL ? recorded_##name : NULL
    t->ops = (struct ch_transport_ops){.name = to->name,
                                       .caps = to->caps,
                                       .close = recorded_close,
                                       IF_THERE(map),
                                       IF_THERE(put),
                                       IF_THERE(put_nbi),
                                       IF_THERE(get),
                                       IF_THERE(get_nbi),
                                       IF_THERE(load),
                                       IF_THERE(put_signal),
                                       IF_THERE(fence),
                                       IF_THERE(quiet),
                                       IF_THERE(quiet_pe),
                                       IF_THERE(amo)};
#undef IF_THERE
    t->to = to;
    t->self = *self;
    t->heap = heap;
    t->record = record;
    *ops = &t->ops;
    *self = t;
    return CHORUS_OK;
}
