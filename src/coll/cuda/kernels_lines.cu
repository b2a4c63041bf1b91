/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels_lines.cu: the trial of lines_cuda.c. A PE sends lines to each peer and reads the
 * lines of the peer; it also stores lines on a board in its own memory, which all peers read
 * over the link.
 *
 * An incomplete line can be seen only while it arrives. The writer therefore begins when the
 * reader is polling, and pauses between rounds, during which the reader already waits for the
 * next line. At the same time other blocks store to all peers as fast as they can, since a
 * busy link may split a line that an idle link keeps whole. The data is first loaded from
 * addresses of every alignment, so that the lanes of a warp diverge before they store.
 */
#include "coll/cuda/kernels.h"

#include "coll/primitives/batch.h"
#include "coll/primitives/primitives.h"

#define ROUND_NS 2000u
#define BUSY_BLOCKS 48u /* enough to fill the links of a GPU */

/* The value of half `half` of a lane's part in a round; never 0. */
CH_FN uint64_t ch_lines_value(uint32_t round, uint32_t lane, uint32_t half)
{
    return ((uint64_t)round * CH_LINES_LANES + lane) * 2 + half + 1;
}

/* PE `other`'s part of PE `owner`'s area; if they are the same PE, its board. */
CH_FN struct ch_lines_pair *ch_lines_pair_of(const struct ch_lines_args *a, uint32_t owner,
                                             uint32_t other)
{
    return &a->areas[owner]->pairs[other];
}

/* The lines of a round. */
CH_FN char *ch_lines_cells(struct ch_lines_pair *pair, uint32_t round)
{
    return (char *)&pair->lines[round * CH_LINES_OF_ROUND];
}

/* This lane's part of the lines of a round. */
CH_FN struct ch_batch ch_lines_batch(struct ch_lanes g)
{
    return ch_batch_first(CH_CELL_ll128, 0, CH_LINES_OF_ROUND * CH_LINE_DATA, g);
}

/* Store all rounds to those lines, each at its time. source: memory that the data is loaded
 * from. */
CH_FN void ch_lines_write(struct ch_lines_pair *to, char *source, struct ch_lanes g)
{
    const uint64_t begun = ch_clock_ns();

    for (uint32_t round = 0; round < CH_LINES_ROUNDS; round++) {
        const struct ch_batch b = ch_lines_batch(g);
        char *const from = source + round % CH_PIECE_BYTES;
        struct ch_value v;

        v.word[0][0] = ch_lines_value(round, g.lane, 0);
        v.word[0][1] = ch_lines_value(round, g.lane, 1);
        ch_value_store(from, &v, &b);
        while (ch_clock_ns() - begun < (uint64_t)round * ROUND_NS)
            continue;
        ch_value_load(&v, from, &b);
        ch_value_send(CH_CELL_ll128, ch_lines_cells(to, round), &v, &b, round + 1);
    }
}

/* Send all rounds to a peer, once it is ready. */
CH_FN void ch_lines_send(const struct ch_lines_args *a, const struct ch_wait_policy *p,
                         uint32_t peer, struct ch_lanes g)
{
    struct ch_lines_pair *mine = ch_lines_pair_of(a, a->me, peer);
    chorus_status st = CHORUS_OK;

    if (g.lane == 0) st = ch_word_wait(p, &mine->words.takes, 1);
    if (ch_lanes_agree(st, g) == CHORUS_OK)
        ch_lines_write(ch_lines_pair_of(a, peer, a->me), mine->source, g);
}

/* Store all rounds on this PE's board, once all peers are ready to read it. */
CH_FN void ch_lines_post(const struct ch_lines_args *a, const struct ch_wait_policy *p,
                         struct ch_lanes g)
{
    struct ch_lines_pair *board = ch_lines_pair_of(a, a->me, a->me);
    chorus_status st = CHORUS_OK;

    for (uint32_t k = 1 + g.lane; k < a->n && st == CHORUS_OK; k += g.width)
        st = ch_word_wait(p, &ch_lines_pair_of(a, a->me, (a->me + k) % a->n)->words.reads, 1);
    if (ch_lanes_agree(st, g) == CHORUS_OK) ch_lines_write(board, board->source, g);
}

/* Has this lane's part of a line another value than was sent? The last part of a line has 8
 * bytes of data, the others 16. */
CH_FN int ch_lines_is_torn(const struct ch_value *v, uint32_t round, uint32_t lane)
{
    return v->word[0][0] != ch_lines_value(round, lane, 0) ||
           (!ch_is_flagged(lane) && v->word[0][1] != ch_lines_value(round, lane, 1));
}

/* Read all rounds from those lines, once `there` shows that the writer may begin. */
CH_FN void ch_lines_read_all(const struct ch_lines_args *a, const struct ch_wait_policy *p,
                             struct ch_lines_pair *from, uint64_t *there, struct ch_lanes g)
{
    struct ch_lines_found *found = &a->areas[a->me]->found;
    chorus_status st = CHORUS_OK;
    uint32_t late;
    struct ch_coll c = {};

    c.policy = p;
    c.late_peer = &late;
    if (g.lane == 0) ch_word_store(there, 1, CH_CREDIT);
    for (uint32_t round = 0; round < CH_LINES_ROUNDS; round++) {
        const struct ch_batch b = ch_lines_batch(g);
        struct ch_value v;

        ch_value_poll(CH_CELL_ll128, ch_lines_cells(from, round), &v, &b);
        ch_value_wait(&c, CH_CELL_ll128, 0, ch_lines_cells(from, round), &v, &b, round + 1,
                      &st);
        if (ch_lanes_agree(st, g) != CHORUS_OK) {
            if (g.lane == 0) atomicAdd(&found->lost, 1u);
            return;
        }
        if (ch_lines_is_torn(&v, round, g.lane)) atomicAdd(&found->torn, 1u);
    }
}

/* Store to a peer for as long as the test of lines takes. */
CH_FN void ch_lines_keep_busy(const struct ch_lines_args *a, const struct ch_wait_policy *p,
                              uint32_t peer, struct ch_lanes g)
{
    const struct ch_lines_pair *mine = ch_lines_pair_of(a, a->me, peer);
    struct ch_lines_pair *theirs = ch_lines_pair_of(a, peer, a->me);
    chorus_status st = CHORUS_OK;
    uint64_t begun;

    if (g.lane == 0) st = ch_word_wait(p, &mine->words.takes, 1);
    if (ch_lanes_agree(st, g) != CHORUS_OK) return;
    begun = ch_clock_ns();
    while (ch_clock_ns() - begun < (uint64_t)CH_LINES_ROUNDS * ROUND_NS)
#pragma unroll
        for (uint32_t u = 0; u < sizeof(theirs->busy) / (CH_LINES_LANES * 16); u++)
            ch_quad_store(theirs->busy + (u * CH_LINES_LANES + g.lane) * 16, begun, u);
}

/* The blocks for n - 1 peers: those that send, that receive, that read, one that posts on the
 * board, and those that keep links busy. */
extern "C" __global__ void __launch_bounds__(CH_LINES_LANES)
    ch_k_lines(const __grid_constant__ struct ch_lines_args a)
{
    const struct ch_lanes block = {threadIdx.x, blockDim.x};
    const struct ch_wait_policy policy = {a.aborted, a.timeout_ns};
    const uint32_t others = a.n - 1, job = blockIdx.x / others;
    const uint32_t peer = (a.me + 1 + blockIdx.x % others) % a.n;
    struct ch_lines_pair *const mine = ch_lines_pair_of(&a, a.me, peer);
    struct ch_lines_pair *const theirs = ch_lines_pair_of(&a, peer, a.me);

    if (job == 0)
        ch_lines_send(&a, &policy, peer, block);
    else if (job == 1)
        ch_lines_read_all(&a, &policy, mine, &theirs->words.takes, block);
    else if (job == 2)
        ch_lines_read_all(&a, &policy, ch_lines_pair_of(&a, peer, peer), &theirs->words.reads,
                          block);
    else if (blockIdx.x == 3 * others)
        ch_lines_post(&a, &policy, block);
    else
        ch_lines_keep_busy(&a, &policy, peer, block);
}

int ch_lines_launch(void *stream, const struct ch_lines_args *args)
{
    const uint32_t blocks = 3 * (args->n - 1) + 1 + BUSY_BLOCKS;

    ch_k_lines<<<blocks, CH_LINES_LANES, 0, (cudaStream_t)stream>>>(*args);
    return (int)cudaGetLastError();
}
