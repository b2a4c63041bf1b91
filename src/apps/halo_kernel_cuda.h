/* SPDX-License-Identifier: Apache-2.0 */
/*
 * halo_kernel_cuda.h: the kernel of halo exchanges on streams.
 *
 * Each block has a share of the messages of each link: all of a short one, which other links'
 * are other blocks'; of a long one a part. Thread 0 looks for something that can be done, in
 * any order, as the host does (halo_order.h), and all threads do it. The last block that has
 * done its share of a link signals to the peer, and to the blocks that wait for its elements.
 * The steps of links are in GPU memory, and the last block to leave raises them; so a kernel in
 * a graph can be launched again.
 */
#ifndef CH_APPS_HALO_KERNEL_CUDA_H
#define CH_APPS_HALO_KERNEL_CUDA_H

#include "apps/kernel_cuda.h"

#include "apps/halo_task.h"
#include "chorus/apps/halo_device.cuh"

enum { CH_HALO_BOARD_LINKS = 32 };

/* In the block's shared memory: what is looked at while it waits. Of more links, in the GPU's
 * memory. */
struct ch_halo_board {
    struct ch_halo_way ways[CH_HALO_BOARD_LINKS];
    struct ch_halo_own own[CH_HALO_BOARD_LINKS];
    struct ch_halo_view view; /* here, where it takes no registers */
    struct ch_halo_act act;
    uint32_t at; /* the link to be looked at next */
    int is_last;
};

/* --- shares ------------------------------------------------------------------------------- */
CH_FN struct ch_halo_share ch_halo_share_of(uint32_t link, uint64_t bytes)
{
    const uint64_t n = ch_halo_blocks_of(bytes);
    const uint32_t grid = gridDim.x;
    struct ch_halo_share share;

    share.n = n < grid ? (uint32_t)n : grid;
    share.rank = (blockIdx.x + grid - link % grid) % grid;
    return share;
}

/* All threads, after they did their block's share; whether all blocks have done theirs. */
CH_FN int ch_halo_is_last(struct ch_halo_board *board, struct ch_halo_share share,
                          uint32_t *n_done)
{
    __syncthreads(); /* all lanes have done it */
    if (share.n == 1) return 1;
    if (ch_halo_lane() == 0) {
        __threadfence_system(); /* before the others see that it is done */
        board->is_last = atomicAdd(n_done, 1u) == share.n - 1;
        if (board->is_last) *n_done = 0; /* for the next step */
        __threadfence_system();          /* after it is seen that they are done */
    }
    __syncthreads(); /* the vote, and what the others did, is there for all lanes */
    return board->is_last;
}

/* --- what a block does -------------------------------------------------------------------- */
CH_FN void ch_halo_add(const struct ch_halo_way *w, char *array, uint64_t elem_bytes,
                       const struct ch_halo_act *act, uint32_t type, struct ch_halo_share share)
{
    const uint32_t bytes = type == CHORUS_TYPE_f32 || type == CHORUS_TYPE_i32 ? 4 : 8;
    const struct ch_halo_span s =
        ch_halo_span_of(&w->in, ch_halo_slot_of(w, elem_bytes), array, elem_bytes, act, bytes);

    if (type == CHORUS_TYPE_f32)
        ch_halo_move(&s, CH_HALO_ADD, 4, CHORUS_TYPE_f32, share);
    else if (type == CHORUS_TYPE_f64)
        ch_halo_move(&s, CH_HALO_ADD, 8, CHORUS_TYPE_f64, share);
    else if (type == CHORUS_TYPE_i32)
        ch_halo_move(&s, CH_HALO_ADD, 4, CHORUS_TYPE_i32, share);
    else
        ch_halo_move(&s, CH_HALO_ADD, 8, CHORUS_TYPE_i64, share);
}

CH_FN void ch_halo_take(const struct ch_halo_task *task, struct ch_halo_board *board,
                        char *array, struct ch_halo_act act)
{
    const struct ch_halo_way *w = &board->view.ways[act.link];
    const uint64_t elem_bytes = task->halo.elem_bytes;
    const struct ch_halo_share share = ch_halo_share_of(act.link, w->n_in * elem_bytes);

    act.from = 0;
    act.to = w->n_in;
    if (task->way == CH_HALO_REVERSE)
        ch_halo_add(w, array, elem_bytes, &act, task->type, share);
    else
        ch_halo_unpack_all(w, array, elem_bytes, &act, share);
    if (ch_halo_lane() == 0) board->view.own[act.link].is_taken = 1;
    if (ch_halo_is_last(board, share, w->n_taken) && ch_halo_lane() == 0) ch_halo_free_slot(w);
}

CH_FN void ch_halo_send(const struct ch_halo_task *task, struct ch_halo_board *board,
                        char *array, struct ch_halo_act act, int is_far)
{
    const struct ch_halo_way *w = &board->view.ways[act.link];
    const uint64_t elem_bytes = task->halo.elem_bytes;
    const struct ch_halo_share share = ch_halo_share_of(act.link, w->n_out * elem_bytes);

    ch_halo_pack_part(w, array, elem_bytes, &act, share);
    if (ch_halo_lane() == 0) (void)ch_halo_note_sent(&board->view, &act);
    if (act.to == w->n_out && ch_halo_is_last(board, share, w->n_packed))
        ch_halo_announce(w, elem_bytes, is_far);
}

/* One thread: something that this block can do, for which it waits if the exchange is to end;
 * NOTHING if it has done all. */
CH_FN struct ch_halo_act ch_halo_look(const struct ch_halo_task *task,
                                      struct ch_halo_board *board)
{
    const struct ch_halo_view *v = &board->view;
    struct ch_halo_act act = ch_halo_find(v, &board->at);
    chorusx_wait_t wait;

    memset(&wait, 0, sizeof(wait));
    while (act.what == CH_HALO_NOTHING && (task->parts & CH_HALO_ENDS) != 0 &&
           !ch_halo_is_done(v)) {
        if (!chorusx_wait_again(&wait)) {
            act.what = CH_HALO_FAILED;
            task->halo.common->has_failed = 1;
        } else {
            act = ch_halo_find(v, &board->at);
        }
    }
    return act;
}

/* --- begin and end ------------------------------------------------------------------------ */
CH_FN int ch_halo_has_part(uint32_t link, uint64_t bytes)
{
    const struct ch_halo_share share = ch_halo_share_of(link, bytes);

    return share.rank < share.n;
}

/* Where a block keeps what it has done between the kernels that begin and end an exchange. */
CH_FN struct ch_halo_own *ch_halo_kept(const struct ch_halo_task *task)
{
    return task->halo.own + ((uint64_t)blockIdx.x * CH_HALO_WAYS + task->way) * task->halo.n;
}

CH_FN void ch_halo_set_own(const struct ch_halo_task *task, const struct ch_halo_view *v)
{
    const struct ch_halo_own *kept = ch_halo_kept(task);
    const uint64_t elem_bytes = task->halo.elem_bytes;

    for (uint32_t i = ch_halo_lane(); i < v->n; i += blockDim.x) {
        const struct ch_halo_way *w = &v->ways[i];

        if ((task->parts & CH_HALO_BEGINS) == 0) {
            v->own[i] = kept[i];
            continue;
        }
        v->own[i].sent =
            ch_halo_has_part(i, w->n_out * elem_bytes) ? CH_HALO_NOT_SENT : CH_HALO_SENT;
        v->own[i].is_taken = !ch_halo_has_part(i, w->n_in * elem_bytes);
    }
}

CH_FN void ch_halo_keep_own(const struct ch_halo_task *task, const struct ch_halo_view *v)
{
    struct ch_halo_own *kept = ch_halo_kept(task);

    for (uint32_t i = ch_halo_lane(); i < v->n; i += blockDim.x)
        kept[i] = v->own[i];
}

CH_FN void ch_halo_enter(const struct ch_halo_task *task, struct ch_halo_board *board)
{
    const struct ch_halo_way *ways = task->halo.ways[task->way];
    const int fits = task->halo.n <= CH_HALO_BOARD_LINKS;
    const uint32_t n_words = task->halo.n * (uint32_t)(sizeof(*ways) / sizeof(uint64_t));

    for (uint32_t i = ch_halo_lane(); fits && i < n_words; i += blockDim.x)
        ((uint64_t *)board->ways)[i] = ((const uint64_t *)ways)[i];
    if (ch_halo_lane() == 0) {
        board->view.ways = fits ? board->ways : ways;
        board->view.own = fits ? board->own : ch_halo_kept(task);
        board->view.n = task->halo.n;
        board->view.is_reverse = task->way == CH_HALO_REVERSE;
        board->at = 0;
    }
    __syncthreads(); /* the links are on the board */
    ch_halo_set_own(task, &board->view);
    __syncthreads(); /* what was done is, too */
}

/* All blocks have done all: the last one to come here raises the steps. */
CH_FN void ch_halo_leave(const struct ch_halo_task *task, struct ch_halo_board *board)
{
    struct ch_halo_share all;

    all.rank = blockIdx.x;
    all.n = gridDim.x;
    if (!ch_halo_is_last(board, all, &task->halo.common->n_ended)) return;
    for (uint32_t i = ch_halo_lane(); i < task->halo.n; i += blockDim.x) {
        struct ch_halo_way *w = &task->halo.ways[task->way][i];

        w->sent += w->n_out > 0;
        w->taken += w->n_in > 0;
    }
}

/* The kernel; all threads of all blocks. is_far: a constant, not 0 if some peer is not mapped.
 */
CH_FN void ch_halo_run(const struct ch_halo_task *task, int is_far)
{
    struct ch_halo_common *common = task->halo.common;
    char *const array = task->array != 0 ? task->array : common->array;
    CH_SHARED(struct ch_halo_board, board);
    struct ch_halo_act act;

    if (__syncthreads_or(ch_halo_lane() == 0 && common->has_failed != 0)) return;
    ch_halo_enter(task, board);
    for (;;) {
        if (ch_halo_lane() == 0) board->act = ch_halo_look(task, board);
        __syncthreads(); /* it is there for all; and what came for it */
        act = board->act;
        if (act.what == CH_HALO_NOTHING || act.what == CH_HALO_FAILED) break;
        if (act.what == CH_HALO_TAKE)
            ch_halo_take(task, board, array, act);
        else
            ch_halo_send(task, board, array, act, is_far);
        __syncthreads(); /* all have done it before the next is found */
    }
    if (act.what == CH_HALO_FAILED) return;
    if ((task->parts & CH_HALO_ENDS) != 0) {
        ch_halo_leave(task, board);
    } else {
        ch_halo_keep_own(task, &board->view);
        if (ch_halo_lane() == 0) common->array = array;
    }
}

CH_KERNEL __launch_bounds__(CH_HALO_LANES)
    ch_halo_kernel(const __grid_constant__ struct ch_halo_task task)
{
    ch_halo_run(&task, 0);
}

CH_KERNEL __launch_bounds__(CH_HALO_LANES)
    ch_halo_kernel_far(const __grid_constant__ struct ch_halo_task task)
{
    ch_halo_run(&task, 1);
}

#endif /* CH_APPS_HALO_KERNEL_CUDA_H */
