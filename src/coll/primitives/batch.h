/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
/*
 * batch.h: data on its way through a lane, the inner loops of all algorithms.
 *
 * A span of bytes is worked on in batches: what one lane holds at a time. A machine says how
 * much that is and where it lies; everything else is written over these words:
 *
 *     struct ch_batch b;    where in the span
 *     struct ch_value v;    the bytes of a batch, private to the lane
 *     struct ch_acc acc;    an accumulator for them
 *
 *     for (b = ch_batch_first(kind, at, bytes, g); ch_batch_more(&b); ch_batch_next(&b))
 *
 * runs over [0, bytes). kind is the cells', or CH_PLAIN where no FIFO has a part and a lane
 * may hold more at a time; `at` is the plain memory that is read or written, by whose alignment
 * a machine may cut; all lanes of the machine's smallest group come to the same count.
 *
 *     ch_value_load(&v, at, &b)            v = plain memory, of a span that begins at `at`
 *     ch_batch_clip(&b, bytes)             b, of the first `bytes` of the span alone, for ...
 *     ch_value_store(at, &v, &clipped)     ... this
 *     ch_value_load_padded(&v, at, bytes, &b)     v = the first `bytes` of the span, and zeros
 *     ch_value_stage(&v, at, &b)           v is to be stored there: filled in place if it can be
 *     ch_value_store(at, &v, &b)           plain memory = v, in as many places as there are calls
 *     ch_later(x)                          x, for what is not to be waited for before loads above
 *     ch_begin(c, known, &b)               before a call's first load, once b and what `known` is
 *                                          made of are computed: waits for the call's turn
 *     ch_last(c, kind, g)                  the number of the last exchange of packets, lines or
 *                                          plain data; not to be waited for before loads above
 *     ch_last_is(c, kind, number, g)       sets it, once all lanes have asked
 *     ch_mark(c)                           not 0: an earlier call failed, so nothing is to be sent
 *     ch_value_share(&v, &from)            v = from, which outlives it
 *     ch_value_private(&v)                 v is to be filled by a take, and not to be stored
 *     ch_value_send(kind, cells, &v, &b, flag)    v into packets or lines
 *     ch_value_ask(kind, cells, &v, &b)    begin to look there for v; a ch_value_take follows
 *     ch_value_take(c, kind, peer, cells, &v, &b, flag, &st)    out of them, once they are there;
 *                                          *st keeps the first failure, then nothing waits
 *     ch_values_take(c, kind, wanted, v, ahead, &b, &st)        so many that were asked for
 *     ch_acc_add(c, &acc, is_first, v, left, &b)    acc = acc op v[0] op v[1] ..., of CH_AHEAD
 *                                          values or the `left` ones; the first: without acc
 *     ch_acc_last(c, &v, &acc, &b)         v = acc, rounded to the type
 *
 * Where several values do not wait for each other, a machine has CH_AHEAD under way at once:
 * CH_EACH_AHEAD(u) runs over them, first to load or ask for v[u], then to use it.
 */
/* clang-format on */
#ifndef CH_BATCH_H
#define CH_BATCH_H

#include "coll/coll.h"

#include CH_BATCH_OF_MACHINE

#endif /* CH_BATCH_H */
