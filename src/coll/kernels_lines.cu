/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels_lines.cu: the trial of lines.h. Two blocks a peer: one sends it lines, one takes its.
 *
 * A line can be seen torn only while it arrives. So the writer begins when the reader is there
 * and leaves time between rounds, in which the reader already waits for the next.
 */
#include "coll/kernels_lines.h"

#include "coll/batch.h"
#include "coll/vocab.h"

#define ROUND_NS 2000u

/* What lies in half `half` of a lane's part in a round; never 0. */
CH_FN uint64_t ch_lines_value(uint32_t round, uint32_t lane, uint32_t half)
{
    return ((uint64_t)round * CH_LINES_LANES + lane) * 2 + half + 1;
}

CH_FN uint64_t *ch_lines_word(const struct ch_lines_args *a, uint32_t owner, uint32_t writer)
{
    return (uint64_t *)(a->areas[owner] + CH_LINES_HEAD_BYTES + CH_LINES_WORDS_BYTES(writer));
}

CH_FN char *ch_lines_cells(const struct ch_lines_args *a, uint32_t owner, uint32_t writer,
                           uint32_t round)
{
    const size_t lines = (size_t)writer * CH_LINES_OF_PAIR + (size_t)round * CH_LINES_OF_ROUND;

    return a->areas[owner] + CH_LINES_HEAD_BYTES + CH_LINES_WORDS_BYTES(a->n) +
           lines * sizeof(struct ch_line);
}

CH_FN struct ch_batch ch_lines_batch(struct ch_lanes g)
{
    return ch_batch_first(CH_RING_ll128, 0, CH_LINES_OF_ROUND * CH_LINE_DATA, g);
}

CH_FN void ch_lines_send(const struct ch_lines_args *a, const struct ch_patience *p,
                         uint32_t peer, struct ch_lanes g)
{
    const uint64_t *there = ch_lines_word(a, a->me, peer);
    chorus_status st = CHORUS_OK;
    uint64_t begun;

    if (g.lane == 0) st = ch_word_wait(p, there, 1);
    if (ch_agree(st, g) != CHORUS_OK) return;
    begun = ch_clock_ns();
    for (uint32_t round = 0; round < CH_LINES_ROUNDS; round++) {
        const struct ch_batch b = ch_lines_batch(g);
        struct ch_value v;

        v.word[0][0] = ch_lines_value(round, g.lane, 0);
        v.word[0][1] = ch_lines_value(round, g.lane, 1);
        while (ch_clock_ns() - begun < (uint64_t)round * ROUND_NS)
            continue;
        ch_value_send(CH_RING_ll128, ch_lines_cells(a, peer, a->me, round), &v, &b, round + 1);
    }
}

/* The last part of a line has 8 bytes of data, the others 16. */
CH_FN int ch_lines_is_torn(const struct ch_value *v, uint32_t round, uint32_t lane)
{
    return v->word[0][0] != ch_lines_value(round, lane, 0) ||
           (!ch_is_flagged(lane) && v->word[0][1] != ch_lines_value(round, lane, 1));
}

CH_FN void ch_lines_take(const struct ch_lines_args *a, const struct ch_patience *p,
                         uint32_t peer, struct ch_lanes g)
{
    struct ch_lines_found *found = (struct ch_lines_found *)a->areas[a->me];
    chorus_status st = CHORUS_OK;
    uint32_t late;
    struct ch_coll c = {};

    c.patience = p;
    c.late_peer = &late;
    if (g.lane == 0) ch_word_store(ch_lines_word(a, peer, a->me), 1, CH_CREDIT);
    for (uint32_t round = 0; round < CH_LINES_ROUNDS; round++) {
        const struct ch_batch b = ch_lines_batch(g);
        struct ch_value v;

        ch_value_ask(CH_RING_ll128, ch_lines_cells(a, a->me, peer, round), &v, &b);
        ch_value_take(&c, CH_RING_ll128, peer, ch_lines_cells(a, a->me, peer, round), &v, &b,
                      round + 1, &st);
        if (ch_agree(st, g) != CHORUS_OK) {
            if (g.lane == 0) atomicAdd(&found->lost, 1u);
            return;
        }
        if (ch_lines_is_torn(&v, round, g.lane)) atomicAdd(&found->torn, 1u);
    }
}

extern "C" __global__ void __launch_bounds__(CH_LINES_LANES)
    ch_k_lines(const __grid_constant__ struct ch_lines_args a)
{
    const struct ch_lanes block = {threadIdx.x, blockDim.x};
    const struct ch_patience patience = {a.aborted, a.timeout_ns};
    const uint32_t peer = (a.me + 1 + blockIdx.x / 2) % a.n;

    if (blockIdx.x % 2 == 0)
        ch_lines_send(&a, &patience, peer, block);
    else
        ch_lines_take(&a, &patience, peer, block);
}

int ch_lines_launch(void *stream, const struct ch_lines_args *args)
{
    ch_k_lines<<<2 * (args->n - 1), CH_LINES_LANES, 0, (cudaStream_t)stream>>>(*args);
    return (int)cudaGetLastError();
}
