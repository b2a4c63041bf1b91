/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/batch.h"

#include "bench/data.h"
#include "bench/random.h"

#include <time.h>

static double now_us(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* A failure of GPU work may occur on one PE only. */
static void need(const struct ch_batch *batch, int code)
{
    if (code != CHORUS_OK) batch->backend->lose(ch_bench_gpu_reason());
}

/* Null if calls have no buffer. */
static void *slot(const struct ch_batch *batch, void *area, uint32_t k)
{
    if (area == NULL) return NULL;
    return (char *)area + k % batch->slots * batch->slot_bytes;
}

/* The calls of a graph are captured once, so their roots depend on the index in the batch. */
static uint32_t root_of(const struct ch_batch *batch, uint32_t k)
{
    const int root = batch->options->root;
    const uint64_t turn = batch->options->mode == CH_SWEEP_GRAPH ? k : batch->calls + k;

    return root >= 0 ? (uint32_t)root : (uint32_t)(turn % batch->backend->pes);
}

static struct ch_data data_of(const struct ch_batch *batch, uint32_t k)
{
    const struct ch_data data = {
        .work = batch->work,
        .pes = batch->backend->pes,
        .me = batch->backend->me,
        .root = root_of(batch, k),
        .seed = ch_random(batch->calls + k, batch->work->count),
    };

    return data;
}

/* Does the call write this PE's destination? */
static bool gets(const struct ch_batch *batch, const struct ch_entrant *entrant,
                 const struct ch_data *data)
{
    const enum ch_sweep_coll coll = batch->work->coll;
    const bool is_root = data->me == data->root;

    if (ch_work_is_to_root(coll)) return is_root;
    return !is_root || coll != CH_SWEEP_broadcast ||
           (batch->backend->root_gets && !entrant->is_peer);
}

/* If several calls use one slot, it contains the data of the last: the index of the first call
 * of a batch to check. */
static uint32_t first_kept(const struct ch_batch *batch, uint32_t calls)
{
    return calls > batch->slots ? calls - batch->slots : 0;
}

void ch_batch_fill(const struct ch_batch *batch, const struct ch_entrant *entrants, size_t n,
                   uint32_t calls)
{
    const size_t bytes = ch_work_source_bytes(batch->work, batch->backend->pes);

    if (!ch_work_moves(batch->work)) return;
    for (uint32_t k = first_kept(batch, calls); k < calls; k++) {
        const struct ch_data data = data_of(batch, k);

        if (batch->stage == NULL) {
            ch_data_fill(&data, slot(batch, entrants[0].source, k));
            continue;
        }
        ch_data_fill(&data, batch->stage);
        for (size_t i = 0; i < n; i++)
            need(batch,
                 ch_bench_gpu_copy(slot(batch, entrants[i].source, k), batch->stage, bytes));
    }
}

void ch_batch_poison(const struct ch_batch *batch, const struct ch_entrant *entrant,
                     uint32_t calls)
{
    const size_t bytes = ch_work_dest_bytes(batch->work, batch->backend->pes);

    if (!batch->checks || !ch_work_moves(batch->work)) return;
    for (uint32_t k = first_kept(batch, calls); k < calls; k++) {
        const struct ch_data data = data_of(batch, k);
        void *const dest = slot(batch, entrant->dest, k);

        if (batch->stage == NULL)
            ch_data_poison(&data, dest);
        else
            need(batch, ch_bench_gpu_fill(dest, CH_DATA_POISON, bytes));
    }
}

/* --- time --------------------------------------------------------------------------------- */

static int make_calls(const struct ch_batch *batch, const struct ch_entrant *entrant,
                      uint32_t calls)
{
    for (uint32_t k = 0; k < calls; k++) {
        const int code = entrant->call(batch->work, slot(batch, entrant->dest, k),
                                       slot(batch, entrant->source, k), root_of(batch, k));
        if (code != 0) return code;
    }
    return 0;
}

static int capture(const struct ch_batch *batch, struct ch_entrant *entrant, uint32_t calls)
{
    int code, ended;

    need(batch, ch_bench_gpu_capture());
    code = make_calls(batch, entrant, calls);
    ended = ch_bench_gpu_captured(&entrant->graph);
    if (code == 0) need(batch, ended);
    return code;
}

/* Between two events on the stream, which begin after a synchronisation of all PEs' streams. */
static int time_on_gpu(const struct ch_batch *batch, struct ch_entrant *entrant, uint32_t calls,
                       double *us_out)
{
    int code = 0;

    if (batch->replays && entrant->graph == NULL) code = capture(batch, entrant, calls);
    if (code != 0) return code;
    batch->backend->line_up();
    need(batch, ch_bench_gpu_start());
    if (batch->replays)
        need(batch, ch_bench_gpu_replay(entrant->graph));
    else
        code = make_calls(batch, entrant, calls);
    need(batch, ch_bench_gpu_stop(us_out));
    batch->backend->flush();
    return code;
}

int ch_batch_time(const struct ch_batch *batch, struct ch_entrant *entrant, uint32_t calls,
                  double *us_out)
{
    double start;
    int code;

    if (batch->backend->on_gpu && batch->options->mode != CH_SWEEP_BLOCKING)
        return time_on_gpu(batch, entrant, calls, us_out);
    batch->backend->sync();
    start = now_us();
    code = make_calls(batch, entrant, calls);
    if (code != 0) return code;
    batch->backend->flush();
    *us_out = now_us() - start;
    return 0;
}

/* --- check -------------------------------------------------------------------------------- */

void ch_batch_check(const struct ch_batch *batch, struct ch_entrant *entrant, uint32_t calls)
{
    const size_t bytes = ch_work_dest_bytes(batch->work, batch->backend->pes);

    if (!batch->checks) return;
    if (!ch_work_moves(batch->work)) {
        if (!entrant->is_peer) entrant->wrong += batch->backend->meet(batch->work);
        return;
    }
    for (uint32_t k = first_kept(batch, calls); k < calls; k++) {
        const struct ch_data data = data_of(batch, k);
        const void *got = slot(batch, entrant->dest, k);

        if (!gets(batch, entrant, &data)) continue;
        if (batch->stage != NULL) {
            need(batch, ch_bench_gpu_copy(batch->stage, got, bytes));
            got = batch->stage;
        }
        entrant->wrong += ch_data_wrong(&data, got);
    }
}
