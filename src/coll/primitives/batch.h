/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
/*
 * batch.h: the inner loops of all algorithms: how a lane loads, combines, sends and stores data.
 *
 * A span of bytes is processed in batches: the data that one lane holds at a time. The backend
 * determines its size and place; all other code uses these types and functions:
 *
 *     struct ch_batch b;    a position in the span
 *     struct ch_value v;    the bytes of a batch, private to the lane
 *     struct ch_accumulator acc;    an accumulator for them
 *
 *     for (b = ch_batch_first(kind, at, bytes, g); ch_batch_more(&b); ch_batch_next(&b))
 *
 * runs over [0, bytes). kind is that of the cells, or CH_PLAIN if no FIFO is used and a lane may
 * hold more at a time; `at` is the plain memory that is read or written, at whose alignment a
 * backend may divide; all lanes of the backend's smallest group run the same number of times.
 *
 *     ch_value_load(&v, at, &b)            v = plain memory, of a span that begins at `at`
 *     ch_value_load_more(&v, at, &b)       the same in a loop, for batches after a span's first, or
 *                                          where it need not be fast
 *     ch_plain_kind(c)                     the kind of batches of plain data that are combined
 *     CH_SLOTS_KIND                        the same of plain data that the call's slots point to
 *     ch_batch_clip(&b, bytes)             b, of only the first `bytes` of the span, for ...
 *     ch_value_store(at, &v, &clipped)     ... this
 *     ch_value_load_padded(&v, at, bytes, &b)     v = the first `bytes` of the span, and zeros
 *     ch_value_stage(&v, at, &b)           v will be stored there: filled in place if possible
 *     ch_value_store(at, &v, &b)           plain memory = v, once for each destination
 *     ch_opaque_after_loads(x)             x, without a wait for it before the loads above
 *     ch_lanes_opaque(g)                   g; what was computed from it before is not kept
 *     ch_wait_previous_call(c, known, &b)  before a call's first load, after b and the operands of
 *                                          `known` are computed: waits for the call's turn
 *     ch_last_exchange(c, kind, g)         the number of the last exchange of packets, lines or
 *                                          plain data, without a wait before the loads above
 *     ch_set_last_exchange(c, kind, number, g)  sets it, after all lanes have read it
 *     ch_failure_mark(c)                   not 0: an earlier call failed; nothing may be sent
 *     ch_value_share(&v, &from)            v = from, which must outlive v
 *     ch_value_use_scratch(&v)             v will be filled, as by ch_value_wait, and not stored
 *     ch_value_send(kind, cells, &v, &b, flag)    v into packets or lines
 *     ch_value_poll(kind, cells, &v, &b)   begin to poll for v; a ch_value_wait must follow
 *     ch_value_wait(c, kind, peer, cells, &v, &b, flag, &st)    v from them, after they arrive;
 *                                          *st keeps the first failure; then no wait
 *     ch_values_wait(c, kind, wanted, v, ahead, &b, &st)        for several ch_value_poll
 *     ch_loads_ahead(c)                    how many sources of a call are combined at a time: a
 *                                          constant, at most CH_AHEAD
 *     ch_acc_combine(c, &acc, is_first, v, left, &b)    acc = acc op v[0] op v[1] ..., of so many
 *                                          values or the `left` ones; the first: without acc
 *     ch_acc_to_value(c, &v, &acc, &b)     v = acc, rounded to the type
 *
 * If several values do not depend on each other, a backend has CH_AHEAD in flight at a time:
 * CH_EACH_AHEAD(u) runs over them, first to load or ask for v[u], then to use it.
 */
/* clang-format on */
#ifndef CH_BATCH_H
#define CH_BATCH_H

#include "coll/coll.h"

#include CH_BATCH_OF_MACHINE

#endif /* CH_BATCH_H */
