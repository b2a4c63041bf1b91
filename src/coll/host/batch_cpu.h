/* SPDX-License-Identifier: Apache-2.0 */
/* batch_cpu.h: batches side by side, of CH_UNIT_BYTES or CH_PLAIN_BYTES, for the host and the
 * simulator. */
#ifndef CH_BATCH_CPU_H
#define CH_BATCH_CPU_H

#include "coll/coll.h"
#include "coll/shape.h"

struct ch_batch {
    size_t at, bytes; /* this batch is [at, at + bytes) */
    size_t end, unit, step;
};

struct ch_value {
    unsigned char *data; /* scratch, or the memory from which the value is loaded or to which it
                            is stored */
    const unsigned char *plain; /* the memory from which it is loaded, which stays as it is
                                   until the batch is stored; null: it may be in scratch */
    unsigned char scratch[CH_UNIT_BYTES] __attribute__((aligned(16)));
};

/* Two sources are combined in one pass, at the end, if the first is in plain memory: then the
 * other is, too. */
struct ch_accumulator {
    const unsigned char *one, *other; /* these sources; null: the accumulator is in `data` */
    unsigned char data[CH_ACC_FACTOR * CH_UNIT_BYTES] __attribute__((aligned(16)));
};

/* Data in a cache line of packets. */
#define CH_PACKED_BYTES (CH_CACHE_LINE_BYTES / 2)

#define CH_AHEAD 1u
#define CH_EACH_AHEAD(u) for (uint32_t u = 0; u < CH_AHEAD; u++)

CH_FN uint32_t ch_loads_ahead(const struct ch_coll *c)
{
    (void)c;
    return CH_AHEAD;
}

/* The batch at `at` of a span that ends at `end`; it is empty behind that. */
CH_FN struct ch_batch ch_batch_at(size_t at, size_t end, size_t unit, size_t step)
{
    struct ch_batch b;

    b.at = at;
    b.end = end;
    b.unit = unit;
    b.step = step;
    b.bytes = at < end ? ch_min(unit, end - at) : 0;
    return b;
}

/* This lane's first batch of a span; see batch.h, also for the functions below. */
CH_FN struct ch_batch ch_batch_first(enum ch_cell kind, const void *at, size_t bytes,
                                     struct ch_lanes g)
{
    const size_t unit = kind == CH_PLAIN ? CH_PLAIN_BYTES : CH_UNIT_BYTES;

    (void)at;
    return ch_batch_at(g.lane * unit, bytes, unit, g.width * unit);
}

/* Has the lane a batch here? */
CH_FN int ch_batch_more(const struct ch_batch *b)
{
    return b->bytes != 0;
}

/* Proceed to this lane's next batch. */
CH_FN void ch_batch_next(struct ch_batch *b)
{
    *b = ch_batch_at(b->at + b->step, b->end, b->unit, b->step);
}

CH_FN uint64_t ch_opaque_after_loads(uint64_t x)
{
    return x;
}

#define CH_SLOTS_KIND CH_CELL_simple

CH_FN enum ch_cell ch_plain_kind(const struct ch_coll *c)
{
    (void)c;
    return CH_CELL_simple;
}

CH_FN struct ch_lanes ch_lanes_opaque(struct ch_lanes g)
{
    return g;
}

CH_FN void ch_wait_previous_call(const struct ch_coll *c, uint64_t known,
                                 const struct ch_batch *b)
{
    (void)c, (void)known, (void)b; /* on a CPU, calls begin when it is their turn */
}

CH_FN uint64_t ch_failure_mark(const struct ch_coll *c)
{
    (void)c; /* no call begins after a failed one */
    return 0;
}

/* The number of the last exchange of this kind. */
CH_FN uint64_t ch_last_exchange(const struct ch_coll *c, enum ch_cell kind, struct ch_lanes g)
{
    (void)g;
    return c->exchanges[kind];
}

CH_FN void ch_set_last_exchange(const struct ch_coll *c, enum ch_cell kind, uint64_t number,
                                struct ch_lanes g)
{
    if (g.lane == 0) c->exchanges[kind] = number;
}

CH_FN void ch_value_load(struct ch_value *v, const char *at, const struct ch_batch *b)
{
    v->data = (unsigned char *)(uintptr_t)ch_view(at + b->at, v->scratch, b->bytes);
    v->plain = v->data != v->scratch ? v->data : NULL;
}

/* Let v be filled at the place where it will be stored, if possible. */
CH_FN void ch_value_stage(struct ch_value *v, char *at, const struct ch_batch *b)
{
    v->data = (unsigned char *)ch_stage(at + b->at, v->scratch);
}

/* The same batch in a span that ends after `bytes`. */
CH_FN struct ch_batch ch_batch_clip(const struct ch_batch *b, size_t bytes)
{
    struct ch_batch clipped = *b;

    clipped.bytes = b->at < bytes ? ch_min(b->bytes, bytes - b->at) : 0;
    return clipped;
}

/* The value will be filled in scratch, by ch_value_wait for example, and is not stored. */
CH_FN void ch_value_use_scratch(struct ch_value *v)
{
    v->data = v->scratch;
    v->plain = NULL;
}

CH_FN void ch_value_load_more(struct ch_value *v, const char *at, const struct ch_batch *b)
{
    ch_value_load(v, at, b);
}

/* Load the first `bytes` of the span, and zeros behind them. */
CH_FN void ch_value_load_padded(struct ch_value *v, const char *at, size_t bytes,
                                const struct ch_batch *b)
{
    const struct ch_batch data = ch_batch_clip(b, bytes);

    v->data = v->scratch;
    if (data.bytes != 0) ch_value_load(v, at, &data);
    if (data.bytes == b->bytes) return;
    if (v->data != v->scratch) memcpy(v->scratch, v->data, data.bytes);
    memset(v->scratch + data.bytes, 0, b->bytes - data.bytes);
    ch_value_use_scratch(v);
}

CH_FN void ch_value_store(char *at, const struct ch_value *v, const struct ch_batch *b)
{
    ch_commit(at + b->at, v->data, b->bytes);
}

/* The data of a packet: 8 bytes, or the last `bytes`. */
CH_FN uint64_t ch_pack(const unsigned char *from, size_t bytes)
{
    uint64_t data = 0;

    if (bytes >= sizeof(data)) /* the usual case: one load */
        memcpy(&data, from, sizeof(data));
    else
        memcpy(&data, from, bytes);
    return data;
}

/* Store the data of a packet: 8 bytes, or the last `bytes`. */
CH_FN void ch_unpack(unsigned char *to, uint64_t data, size_t bytes)
{
    if (bytes >= sizeof(data))
        memcpy(to, &data, sizeof(data));
    else
        memcpy(to, &data, bytes);
}

/* Store `bytes`, a cache line of packets or less, with the flag. The first packet is stored
 * last: its reader polls it, and thus loads the line when it is complete, and not while it is
 * being filled. */
CH_FN void ch_packets_store(struct ch_packet *packets, const unsigned char *from, size_t bytes,
                            uint64_t flag)
{
    for (size_t i = (bytes - 1) / 8 * 8; i != 0; i -= 8)
        ch_packet_store(&packets[i / 8], ch_pack(from + i, bytes - i), flag);
    ch_packet_store(packets, ch_pack(from, bytes), flag);
}

/* Store this lane's batch as packets or lines, with the flag. */
CH_FN void ch_value_send(enum ch_cell kind, char *cells, const struct ch_value *v,
                         const struct ch_batch *b, uint64_t flag)
{
    struct ch_packet *packets = (struct ch_packet *)(void *)cells;
    struct ch_line *lines = (struct ch_line *)(void *)cells;

    if (kind == CH_CELL_ll)
        for (size_t i = 0; i < b->bytes; i += CH_PACKED_BYTES)
            ch_packets_store(&packets[(b->at + i) / 8], v->data + i,
                             ch_min(CH_PACKED_BYTES, b->bytes - i), flag);
    else
        for (size_t i = 0; i < b->bytes; i += CH_LINE_DATA)
            ch_line_store(&lines[(b->at + i) / CH_LINE_DATA], v->data + i,
                          ch_min(CH_LINE_DATA, b->bytes - i), flag);
}

CH_FN void ch_value_poll(enum ch_cell kind, const char *cells, struct ch_value *v,
                         const struct ch_batch *b)
{
    (void)kind, (void)cells, (void)v, (void)b; /* the processor prefetches by itself */
}

/* Wait for a packet of a peer, after a first poll that failed: the next one is after a pause.
 * Tags are compared only after the wait has become long (start_ns), so that the comparison does
 * not delay packets and lines that arrive earlier; ERR_ARG if they differ. */
CH_SELDOM chorus_status ch_await_packet(const struct ch_coll *c, uint32_t peer,
                                        const struct ch_packet *p, uint64_t flag,
                                        uint64_t *data)
{
    struct ch_wait w = {0};
    chorus_status st = CHORUS_OK;

    do
        st = w.start_ns != 0 && ch_differs_in_tag(ch_packet_flag(p), flag)
                 ? CHORUS_ERR_ARG
                 : ch_wait_slow(c->policy, &w);
    while (!ch_packet_load(p, flag, data) && st == CHORUS_OK);
    ch_wait_end(c->policy, &w);
    if (st != CHORUS_OK) ch_record_late_peer(c, peer);
    return st;
}

/* Wait for a line in the same way, and copy its data. */
CH_SELDOM chorus_status ch_await_line(const struct ch_coll *c, uint32_t peer,
                                      const struct ch_line *line, size_t bytes, uint64_t flag,
                                      unsigned char *to)
{
    struct ch_wait w = {0};
    chorus_status st = CHORUS_OK;

    do
        st = w.start_ns != 0 && ch_differs_in_tag(ch_line_flag(line), flag)
                 ? CHORUS_ERR_ARG
                 : ch_wait_slow(c->policy, &w);
    while (!ch_line_load(line, bytes, flag, to) && st == CHORUS_OK);
    ch_wait_end(c->policy, &w);
    if (st != CHORUS_OK) ch_record_late_peer(c, peer);
    return st;
}

/* Receive this lane's batch, after its packets or lines have arrived. *st keeps the first
 * failure; then it does not wait. */
CH_FN void ch_value_wait(const struct ch_coll *c, enum ch_cell kind, uint32_t peer,
                         const char *cells, struct ch_value *v, const struct ch_batch *b,
                         uint64_t flag, chorus_status *st)
{
    const struct ch_packet *packets = (const struct ch_packet *)(const void *)cells;
    const struct ch_line *lines = (const struct ch_line *)(const void *)cells;

    if (kind == CH_CELL_ll)
        for (size_t i = 0; i < b->bytes && *st == CHORUS_OK; i += 8) {
            const struct ch_packet *p = &packets[(b->at + i) / 8];
            uint64_t data = 0;

            if (!ch_packet_load(p, flag, &data)) *st = ch_await_packet(c, peer, p, flag, &data);
            ch_unpack(v->data + i, data, b->bytes - i);
        }
    else
        for (size_t i = 0; i < b->bytes && *st == CHORUS_OK; i += CH_LINE_DATA) {
            const struct ch_line *line = &lines[(b->at + i) / CH_LINE_DATA];
            const size_t bytes = ch_min(CH_LINE_DATA, b->bytes - i);

            if (!ch_line_load(line, bytes, flag, v->data + i))
                *st = ch_await_line(c, peer, line, bytes, flag, v->data + i);
        }
}

CH_FN void ch_values_wait(const struct ch_coll *c, enum ch_cell kind,
                          const struct ch_wanted wanted[CH_AHEAD], struct ch_value v[CH_AHEAD],
                          uint32_t ahead, const struct ch_batch *b, chorus_status *st)
{
    (void)ahead; /* there is only one */
    ch_value_wait(c, kind, wanted[0].peer, wanted[0].cells, &v[0], b, wanted[0].flag, st);
}

/* v = from, without a copy: `from` must outlive v. */
CH_FN void ch_value_share(struct ch_value *v, const struct ch_value *from)
{
    v->data = from->data;
    v->plain = NULL;
}

/* Number of elements of a batch. */
CH_FN size_t ch_batch_count(const struct ch_coll *c, const struct ch_batch *b)
{
    return b->bytes / c->elem_bytes;
}

/* acc = acc op v[0], without acc if is_first. left: number of values to come, this one
 * included. */
CH_FN void ch_acc_combine(const struct ch_coll *c, struct ch_accumulator *acc, int is_first,
                          const struct ch_value v[CH_AHEAD], uint32_t left,
                          const struct ch_batch *b)
{
    const size_t count = ch_batch_count(c, b);

    if (is_first) {
        acc->one = left == 2 && c->reduce->both != NULL ? v[0].plain : NULL;
        if (acc->one == NULL) c->reduce->first(acc->data, v[0].data, count);
    } else if (acc->one != NULL) {
        acc->other = v[0].plain;
    } else {
        c->reduce->next(acc->data, v[0].data, count);
    }
}

/* v = acc, rounded to the type. */
CH_FN void ch_acc_to_value(const struct ch_coll *c, struct ch_value *v,
                           const struct ch_accumulator *acc, const struct ch_batch *b)
{
    if (acc->one != NULL)
        c->reduce->both(v->data, acc->one, acc->other, ch_batch_count(c, b));
    else
        c->reduce->last(v->data, acc->data, ch_batch_count(c, b));
}

#endif /* CH_BATCH_CPU_H */
