/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring.h: messages through the rings of sync.h, in one of three protocols.
 *
 * ch_send fills cells of the ring to a peer; ch_recv and ch_fold take them. Landing in sync
 * memory is what makes these safe before the peer has entered the call. A message is at most
 * ch_chunk bytes. A sender waits for room, so a PE must not send a peer more than two chunks
 * that the peer cannot take before it has sent its own.
 * `ring` is a constant at every call, so only its branch is left after inlining.
 *
 * Each of the three begins with a sync: what other lanes left in src, dst and the positions of
 * the ring is there. None ends with one.
 */
#ifndef CH_RING_H
#define CH_RING_H

#include "coll/vocab.h"

CH_FN size_t ch_chunk(const struct ch_coll *c, enum ch_ring ring)
{
    return c->layout->chunk_bytes[ring];
}

CH_FN struct ch_link *ch_link_of(const struct ch_coll *c, enum ch_ring ring, uint32_t peer)
{
    return &c->dup->links[(size_t)ring * c->n + peer];
}

/* The message of `bytes` that this PE sends `peer` next. */
CH_FN struct ch_message ch_outgoing(const struct ch_coll *c, enum ch_ring ring, uint32_t peer,
                                    size_t bytes)
{
    return ch_message_after(c->peers[peer].sync + c->sync_offset, c->layout, ring, c->me,
                            ch_link_of(c, ring, peer)->sent, bytes);
}

/* The message of `bytes` that is next from `peer`. */
CH_FN struct ch_message ch_incoming(const struct ch_coll *c, enum ch_ring ring, uint32_t peer,
                                    size_t bytes)
{
    return ch_message_after(c->peers[c->me].sync + c->sync_offset, c->layout, ring, peer,
                            ch_link_of(c, ring, peer)->taken, bytes);
}

/* Until the cells up to `end` may be filled. */
CH_FN chorus_status ch_wait_for_room(const struct ch_coll *c, enum ch_ring ring, uint32_t peer,
                                     uint64_t end, struct ch_lanes g)
{
    struct ch_link *link = ch_link_of(c, ring, peer);
    const uint64_t cells = (uint64_t)1 << c->layout->cells_log2[ring];
    chorus_status st;

    if (end - link->freed <= cells) return CHORUS_OK;
    st = ch_hear(c, peer, CH_WORD_TAKEN + ring, end - cells, g);
    if (g.lane == 0)
        link->freed = ch_word_load(ch_word_at(c, c->me, CH_WORD_TAKEN + ring, peer));
    return st;
}

CH_FN uint64_t ch_pack(const unsigned char *from, size_t bytes)
{
    uint64_t data = 0;

    if (bytes >= sizeof(data)) /* the usual case, as one load */
        memcpy(&data, from, sizeof(data));
    else
        memcpy(&data, from, bytes);
    return data;
}

CH_FN void ch_unpack(unsigned char *to, uint64_t data, size_t bytes)
{
    if (bytes >= sizeof(data))
        memcpy(to, &data, sizeof(data));
    else
        memcpy(to, &data, bytes);
}

CH_FN void ch_send_packets(struct ch_packet *cells, const char *src, size_t bytes,
                           uint64_t flag, struct ch_lanes g)
{
    for (size_t at = g.lane * CH_UNIT_BYTES; at < bytes; at += g.width * CH_UNIT_BYTES) {
        unsigned char scratch[CH_UNIT_BYTES] __attribute__((aligned(16)));
        const size_t unit = ch_min(CH_UNIT_BYTES, bytes - at);
        const unsigned char *from = (const unsigned char *)ch_view(src + at, scratch, unit);

        for (size_t i = 0; i < unit; i += 8)
            ch_packet_store(&cells[(at + i) / 8], ch_pack(from + i, unit - i), flag);
    }
}

CH_FN void ch_send_lines(struct ch_line *cells, const char *src, size_t bytes, uint64_t flag,
                         struct ch_lanes g)
{
    for (size_t at = g.lane * CH_UNIT_BYTES; at < bytes; at += g.width * CH_UNIT_BYTES) {
        unsigned char scratch[CH_UNIT_BYTES] __attribute__((aligned(16)));
        const size_t unit = ch_min(CH_UNIT_BYTES, bytes - at);
        const unsigned char *from = (const unsigned char *)ch_view(src + at, scratch, unit);

        for (size_t i = 0; i < unit; i += CH_LINE_DATA)
            ch_line_store(&cells[(at + i) / CH_LINE_DATA], from + i,
                          ch_min(CH_LINE_DATA, unit - i), flag);
    }
}

/* Send `bytes` (1 to ch_chunk) to `peer`. src may be reused on return. */
CH_FN chorus_status ch_send(const struct ch_coll *c, enum ch_ring ring, uint32_t peer,
                            const char *src, size_t bytes, struct ch_lanes g)
{
    struct ch_message m;
    chorus_status st;

    ch_lanes_sync(g); /* lane 0 has stored `sent`, other lanes their share of src */
    m = ch_outgoing(c, ring, peer, bytes);
    st = ch_wait_for_room(c, ring, peer, m.end, g);
    if (st != CHORUS_OK) return st;
    if (ring == CH_RING_simple) {
        ch_copy(m.memory, src, bytes, g);
        ch_tell(c, peer, CH_WORD_FILLED, m.end, CH_DATA, g); /* pairs with ch_arrived */
    } else if (ring == CH_RING_ll) {
        ch_send_packets((struct ch_packet *)(void *)m.memory, src, bytes, m.flag, g);
    } else {
        ch_send_lines((struct ch_line *)(void *)m.memory, src, bytes, m.flag, g);
    }
    ch_lanes_sync(g); /* all lanes have read `sent` and stored their share */
    if (g.lane == 0) {
        ch_link_of(c, ring, peer)->sent = m.end;
        if (ring != CH_RING_simple) ch_notify(c->patience, c->peers[peer].door);
    }
    return CHORUS_OK;
}

/* Before ch_arriving: the simple protocol waits for the message as a whole. */
CH_FN chorus_status ch_arrived(const struct ch_coll *c, enum ch_ring ring, uint32_t peer,
                               size_t bytes, struct ch_lanes g)
{
    if (ring != CH_RING_simple) return CHORUS_OK;
    return ch_hear(c, peer, CH_WORD_FILLED, ch_incoming(c, ring, peer, bytes).end, g);
}

CH_FN chorus_status ch_take_packet(const struct ch_coll *c, uint32_t peer,
                                   const struct ch_packet *p, uint64_t flag, uint64_t *data)
{
    struct ch_wait w = {0, 0, 0, 0};
    chorus_status st = CHORUS_OK;

    while (!ch_packet_load(p, flag, data) && st == CHORUS_OK)
        st = ch_wait_slow(c->patience, &w);
    ch_wait_end(c->patience, &w);
    if (st != CHORUS_OK) *c->late_peer = peer;
    return st;
}

CH_FN chorus_status ch_take_line(const struct ch_coll *c, uint32_t peer,
                                 const struct ch_line *line, size_t bytes, uint64_t flag,
                                 unsigned char *to)
{
    struct ch_wait w = {0, 0, 0, 0};
    chorus_status st = CHORUS_OK;

    while (!ch_line_load(line, bytes, flag, to) && st == CHORUS_OK)
        st = ch_wait_slow(c->patience, &w);
    ch_wait_end(c->patience, &w);
    if (st != CHORUS_OK) *c->late_peer = peer;
    return st;
}

/*
 * One lane: [at, at + unit) of message m from `peer`; waits for it. The result is scratch or,
 * in the simple protocol on the host, the cells themselves. *st keeps the first failure; once
 * it is set nothing waits any more.
 */
CH_FN const void *ch_arriving(const struct ch_coll *c, enum ch_ring ring, uint32_t peer,
                              struct ch_message m, size_t at, size_t unit, void *scratch,
                              chorus_status *st)
{
    unsigned char *to = (unsigned char *)scratch;

    if (ring == CH_RING_simple) return ch_view(m.memory + at, scratch, unit);
    if (ring == CH_RING_ll) {
        const struct ch_packet *packets = (const struct ch_packet *)(const void *)m.memory;

        for (size_t i = 0; i < unit && *st == CHORUS_OK; i += 8) {
            uint64_t data = 0;

            *st = ch_take_packet(c, peer, &packets[(at + i) / 8], m.flag, &data);
            ch_unpack(to + i, data, unit - i);
        }
    } else {
        const struct ch_line *lines = (const struct ch_line *)(const void *)m.memory;

        for (size_t i = 0; i < unit && *st == CHORUS_OK; i += CH_LINE_DATA)
            *st = ch_take_line(c, peer, &lines[(at + i) / CH_LINE_DATA],
                               ch_min(CH_LINE_DATA, unit - i), m.flag, to + i);
    }
    return scratch;
}

/* The message that was next from `peer` is done with; its cells may be filled again. The sender
 * is told after a quarter of a ring: seldom enough to cost nothing, often enough for two chunks
 * to be under way. */
CH_FN void ch_taken(const struct ch_coll *c, enum ch_ring ring, uint32_t peer, size_t bytes,
                    struct ch_lanes g)
{
    struct ch_link *link = ch_link_of(c, ring, peer);
    const struct ch_message m = ch_incoming(c, ring, peer, bytes);

    ch_lanes_sync(g); /* all lanes have read the cells and `taken` */
    if (g.lane != 0) return;
    link->taken = m.end;
    if (m.end - link->told < ((uint64_t)1 << c->layout->cells_log2[ring]) / 4) return;
    link->told = m.end;
    ch_say(c, peer, CH_WORD_TAKEN + ring, m.end, CH_CREDIT); /* pairs with ch_wait_for_room */
}

/* Receive the message of `bytes` that is next from `peer` into dst, this PE's. */
CH_FN chorus_status ch_recv(const struct ch_coll *c, enum ch_ring ring, uint32_t peer,
                            char *dst, size_t bytes, struct ch_lanes g)
{
    struct ch_message m;
    chorus_status st;

    ch_lanes_sync(g); /* lane 0 has stored `taken` */
    m = ch_incoming(c, ring, peer, bytes);
    st = ch_arrived(c, ring, peer, bytes, g);
    if (st != CHORUS_OK) return st;
    if (ring == CH_RING_simple) {
        ch_copy(dst, m.memory, bytes, g);
    } else {
        for (size_t at = g.lane * CH_UNIT_BYTES; at < bytes; at += g.width * CH_UNIT_BYTES) {
            unsigned char scratch[CH_UNIT_BYTES] __attribute__((aligned(16)));
            const size_t unit = ch_min(CH_UNIT_BYTES, bytes - at);
            void *out = ch_stage(dst + at, scratch);

            (void)ch_arriving(c, ring, peer, m, at, unit, out, &st);
            ch_commit(dst + at, out, unit);
        }
        st = ch_agree(st, g);
        if (st != CHORUS_OK) return st;
    }
    ch_taken(c, ring, peer, bytes, g);
    return CHORUS_OK;
}

/* The PEs whose data a fold combines: first, first + step, ... (count of them), in this order.
 */
struct ch_sources {
    uint32_t first, step, count;
};

CH_FN uint32_t ch_source(struct ch_sources from, uint32_t i)
{
    return from.first + i * from.step;
}

/*
 * dst = the sources' data combined in their order: `own` for this PE, which is one of them, and
 * the message that is next from each of the others. dst may be own.
 */
CH_FN chorus_status ch_fold(const struct ch_coll *c, enum ch_ring ring, struct ch_sources from,
                            char *dst, const char *own, size_t bytes, struct ch_lanes g)
{
    chorus_status st = CHORUS_OK;

    ch_lanes_sync(g); /* lane 0 has stored `taken` */
    for (uint32_t i = 0; i < from.count && st == CHORUS_OK; i++)
        if (ch_source(from, i) != c->me) st = ch_arrived(c, ring, ch_source(from, i), bytes, g);
    if (st != CHORUS_OK) return st;
    for (size_t at = g.lane * CH_UNIT_BYTES; at < bytes; at += g.width * CH_UNIT_BYTES) {
        unsigned char acc[CH_ACC_FACTOR * CH_UNIT_BYTES] __attribute__((aligned(16)));
        unsigned char scratch[CH_UNIT_BYTES] __attribute__((aligned(16)));
        const size_t unit = ch_min(CH_UNIT_BYTES, bytes - at), count = unit / c->elem_bytes;
        void *out;

        for (uint32_t i = 0; i < from.count && st == CHORUS_OK; i++) {
            const uint32_t pe = ch_source(from, i);
            const void *in = pe == c->me
                                 ? ch_view(own + at, scratch, unit)
                                 : ch_arriving(c, ring, pe, ch_incoming(c, ring, pe, bytes), at,
                                               unit, scratch, &st);

            if (i == 0)
                c->reduce->first(acc, in, count);
            else
                c->reduce->next(acc, in, count);
        }
        if (st != CHORUS_OK) break;
        out = ch_stage(dst + at, scratch);
        c->reduce->last(out, acc, count);
        ch_commit(dst + at, out, unit);
    }
    st = ch_agree(st, g);
    for (uint32_t i = 0; i < from.count && st == CHORUS_OK; i++)
        if (ch_source(from, i) != c->me) ch_taken(c, ring, ch_source(from, i), bytes, g);
    return st;
}

#endif /* CH_RING_H */
