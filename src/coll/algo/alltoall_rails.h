/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alltoall over rails: each PE sends the PE that has its number on each other host the blocks
 * that all PEs of its own host have for it, in one message. Within a host, each PE writes its
 * blocks into the dest of the others.
 *
 *   needs    put, nodes, symmetric_dest, symmetric_source
 *   steps    2 * ch_shared(h) + ch_rails_mail_steps(h, m, b)
 *   wire     ch_rails_mail_wire(h, m)
 *   scratch  two words per PE of the host, a FIFO from one PE of each other host
 *   inplace  not possible: the call refuses buffers that overlap
 *   result   a copy
 *   source   of this library: the first half of an alltoall by leaders, in which every PE leads
 *
 * If a host has only s PEs, its PE i sends to the PEs i, i + s, i + 2 s ... of each other host.
 */
#ifndef CH_ALLTOALL_RAILS_H
#define CH_ALLTOALL_RAILS_H

#include "coll/primitives/fifo.h"
#include "coll/primitives/levels.h"

/* What a message carries: of the blocks of PEs `first` to first + per of a host, where it has
 * them, the `bytes` from `at` on. */
struct ch_mail {
    size_t at, bytes;
    uint64_t first, per;
};

/* How many blocks of a host of `pes` PEs the message carries. */
CH_FN uint64_t ch_mail_blocks(const struct ch_mail *mail, uint64_t pes)
{
    return mail->first < pes ? ch_min(mail->per, pes - mail->first) : 0;
}

/* The message for one PE of another host. */
CH_FN chorus_status ch_mail_to(const struct ch_coll *c, const struct ch_mail *mail, uint32_t to,
                               struct ch_lanes g)
{
    const struct ch_child *node = &c->levels->node;
    const uint64_t blocks = ch_mail_blocks(mail, node->n);
    const char *block = c->src + to * c->stride + mail->at;
    struct ch_message m;
    chorus_status st;

    if (blocks == 0) return CHORUS_OK;
    st = ch_pack_begin(c, to, blocks * mail->bytes, &m, g);
    if (st != CHORUS_OK) return st;
    for (uint64_t i = 0; i < blocks; i++)
        ch_copy(m.memory + i * mail->bytes, ch_on_peer(c, node->pes[mail->first + i], block),
                mail->bytes, g);
    ch_pack_end(c, to, blocks * mail->bytes, &m, g);
    return CHORUS_OK;
}

CH_FN chorus_status ch_mail_to_all(const struct ch_coll *c, const struct ch_mail *mail,
                                   struct ch_lanes g)
{
    const struct ch_nodes *nodes = &c->levels->nodes;
    const struct ch_child *node = &c->levels->node;
    chorus_status st = CHORUS_OK;

    for (uint32_t k = 1; k < nodes->count; k++) {
        const uint32_t v = ch_ahead(nodes->node[c->me], nodes->count, 2, k);

        for (uint32_t i = node->me; i < ch_node_pes(nodes, v) && st == CHORUS_OK; i += node->n)
            st = ch_mail_to(c, mail, ch_node_pe(nodes, v, i), g);
    }
    return st;
}

/* The message from another host, and its blocks to dest. */
CH_FN chorus_status ch_mail_from(const struct ch_coll *c, const struct ch_mail *mail,
                                 uint32_t node, struct ch_lanes g)
{
    const struct ch_nodes *nodes = &c->levels->nodes;
    const struct ch_pes from = ch_only(ch_counterpart(c, node));
    const uint64_t blocks = ch_mail_blocks(mail, ch_node_pes(nodes, node));
    chorus_status st;

    if (blocks == 0) return CHORUS_OK;
    st = ch_expect(c, CH_CELL_simple, from, blocks * mail->bytes, g);
    if (st != CHORUS_OK) return st;
    for (uint64_t i = 0; i < blocks; i++)
        ch_copy(c->dst + ch_node_pe(nodes, node, (uint32_t)(mail->first + i)) * c->stride +
                    mail->at,
                c->slots[0].memory + i * mail->bytes, mail->bytes, g);
    return ch_release(c, CH_CELL_simple, from, st, g);
}

CH_FN chorus_status ch_mail_from_all(const struct ch_coll *c, const struct ch_mail *mail,
                                     struct ch_lanes g)
{
    const struct ch_nodes *nodes = &c->levels->nodes;
    chorus_status st = CHORUS_OK;

    for (uint32_t k = 1; k < nodes->count && st == CHORUS_OK; k++)
        st = ch_mail_from(c, mail, ch_behind(nodes->node[c->me], nodes->count, 2, k), g);
    return st;
}

CH_FN chorus_status ch_alltoall_rails(const struct ch_coll *c, struct ch_lanes g)
{
    const struct ch_coll node = ch_on_node(c);
    const uint64_t epoch = ch_epoch(&node, g);
    const size_t bytes = ch_bytes(c);
    chorus_status st;
    struct ch_mail mail;

    mail.per = ch_bundle_per(bytes, c->layout->chunk_bytes[CH_CELL_simple]);
    /* source may be read, dest written */
    st = ch_tell_and_hear(&node, CH_WORD_READY, epoch, CH_ENTRY, g);
    for (mail.at = 0; mail.at < bytes && st == CHORUS_OK; mail.at += mail.bytes) {
        mail.bytes = ch_part(c, CH_CELL_simple, mail.at);
        for (mail.first = 0; mail.first < c->levels->nodes.most && st == CHORUS_OK;
             mail.first += mail.per) {
            st = ch_mail_to_all(c, &mail, g);
            if (mail.at + mail.first == 0 && st == CHORUS_OK) ch_blocks_within(c, &node, g);
            if (st == CHORUS_OK) st = ch_mail_from_all(c, &mail, g);
        }
    }
    if (st != CHORUS_OK) return st;
    /* dest is complete, source may be reused */
    return ch_tell_and_hear(&node, CH_WORD_DONE, epoch, CH_DATA, g);
}

#endif /* CH_ALLTOALL_RAILS_H */
