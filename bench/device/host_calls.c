/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/device/host.h"

#include "bench/random.h"
#include "chorus/chorus.h"

#include <string.h>

enum { POISON = 0xdb };

static size_t count_of(const struct plan *plan)
{
    return plan->bytes / sizeof(float);
}

/* --- calls -------------------------------------------------------------------------------- */
static uint64_t value_of(int round)
{
    return (uint64_t)round + 100;
}

static int root_of(int round)
{
    return round % bench.n;
}

static void send_word(enum ch_row row, int round, int pe)
{
    if (row == CH_ROW_p)
        chorus_uint64_p(&bench.words[DATA], value_of(round), pe);
    else
        chorus_uint64_put_signal(&bench.words[DATA], &bench.words[SOURCE], 1,
                                 &bench.words[SIGNAL], value_of(round), CHORUS_SIGNAL_SET, pe);
}

/* PEs 0 and 1 send each other a word in turn. */
static int play(enum ch_row row, int round)
{
    uint64_t *const word = &bench.words[row == CH_ROW_p ? DATA : SIGNAL];

    if (bench.me > 1) return 0;
    if (bench.me == 0) send_word(row, round, 1);
    chorus_uint64_wait_until(word, CHORUS_CMP_EQ, value_of(round));
    if (bench.me == 1) send_word(row, round, 0);
    return 0;
}

/* Message k of a window of PE 0. */
static int send(const struct plan *plan, int round, int k)
{
    const size_t at = (size_t)k * count_of(plan);

    switch (plan->row) {
    case CH_ROW_g:
        bench.words[RETURNED] = chorus_uint64_g(&bench.words[DATA], 1);
        return 0;
    case CH_ROW_fetch_add:
        bench.words[RETURNED] = chorus_uint64_atomic_fetch_add(&bench.words[DATA], 1, 1);
        return 0;
    case CH_ROW_p_rate:
        chorus_uint64_p(&bench.words[DATA], value_of(round) + (uint64_t)k, 1);
        return 0;
    case CH_ROW_add:
        chorus_uint64_atomic_add(&bench.words[DATA], 1, 1);
        return 0;
    case CH_ROW_put_nbi:
        chorus_putmem_nbi(bench.dest + at, bench.source + at, plan->bytes, 1);
        return 0;
    case CH_ROW_get:
        chorus_getmem(bench.dest + at, bench.source + at, plan->bytes, 1);
        return 0;
    default:
        if (bench.stream != NULL)
            return chorusx_putmem_on_stream(bench.dest + at, bench.source + at, plan->bytes, 1,
                                            bench.stream);
        chorus_putmem(bench.dest + at, bench.source + at, plan->bytes, 1);
        return 0;
    }
}

static bool needs_quiet(enum ch_row row)
{
    return row != CH_ROW_g && row != CH_ROW_fetch_add && row != CH_ROW_get;
}

static int send_window(const struct plan *plan, int round)
{
    int code = 0;

    for (int k = 0; k < plan->window && bench.me == 0 && code == 0; k++)
        code = send(plan, round, k);
    if (bench.me != 0 || code != 0 || !needs_quiet(plan->row)) return code;
    if (bench.stream != NULL) return chorusx_quiet_on_stream(bench.stream);
    chorus_quiet();
    return 0;
}

int host_call(const struct plan *plan, int round)
{
    const size_t count = count_of(plan);

    switch (plan->row) {
    case CH_ROW_p:
    case CH_ROW_put_signal:
        return play(plan->row, round);
    case CH_ROW_barrier:
        chorus_barrier_all();
        return 0;
    case CH_ROW_sync:
        chorus_sync_all();
        return 0;
    case CH_ROW_broadcast:
        return chorus_float_broadcast(CHORUS_TEAM_WORLD, bench.dest, bench.source, count,
                                      root_of(round));
    case CH_ROW_fcollect:
        return chorus_float_fcollect(CHORUS_TEAM_WORLD, bench.dest, bench.source, count);
    case CH_ROW_alltoall:
        return chorus_float_alltoall(CHORUS_TEAM_WORLD, bench.dest, bench.source, count);
    case CH_ROW_reduce:
        return chorus_float_sum_reduce(CHORUS_TEAM_WORLD, bench.dest, bench.source, count);
    case CH_ROW_reducescatter:
        return chorus_float_sum_reducescatter(CHORUS_TEAM_WORLD, bench.dest, bench.source,
                                              count);
    default:
        return send_window(plan, round);
    }
}

int host_synchronize(void)
{
    return bench.stream != NULL ? chorusx_stream_synchronize(bench.stream) : 0;
}

/* --- data --------------------------------------------------------------------------------- */
/* Element i of PE pe in a round: 1 to 31, so that sums are exact. */
static float element(int pe, size_t i, int round)
{
    return (float)(1 + ch_random((uint64_t)pe << 32 | (uint64_t)round, i) % 31);
}

static float sum(size_t i, int round)
{
    float all = 0;

    for (int pe = 0; pe < bench.n; pe++)
        all += element(pe, i, round);
    return all;
}

/* Elements of dest that the call has changed on this PE. */
static size_t dest_count(const struct plan *plan)
{
    const size_t count = count_of(plan);

    switch (plan->row) {
    case CH_ROW_put:
    case CH_ROW_put_nbi:
        return bench.me == 1 ? (size_t)plan->window * count : 0;
    case CH_ROW_get:
        return bench.me == 0 ? (size_t)plan->window * count : 0;
    case CH_ROW_broadcast:
    case CH_ROW_reduce:
    case CH_ROW_reducescatter:
        return count;
    case CH_ROW_fcollect:
    case CH_ROW_alltoall:
        return (size_t)bench.n * count;
    default:
        return 0;
    }
}

/* What element i of dest is then. */
static float expected(const struct plan *plan, size_t i, int round)
{
    const size_t count = count_of(plan), mine = (size_t)bench.me * count;

    switch (plan->row) {
    case CH_ROW_get:
        return element(1, i, round);
    case CH_ROW_broadcast:
        return element(root_of(round), i, round);
    case CH_ROW_fcollect:
        return element((int)(i / count), i % count, round);
    case CH_ROW_alltoall:
        return element((int)(i / count), mine + i % count, round);
    case CH_ROW_reduce:
        return sum(i, round);
    case CH_ROW_reducescatter:
        return sum(mine + i, round);
    default:
        return element(0, i, round);
    }
}

/* What the word DATA of this PE is then; it was value_of(round) - 1 on all. */
static uint64_t expected_word(const struct plan *plan, int round)
{
    const uint64_t before = value_of(round) - 1;

    switch (plan->row) {
    case CH_ROW_p:
    case CH_ROW_put_signal:
        return bench.me <= 1 ? value_of(round) : before;
    case CH_ROW_fetch_add:
        return bench.me == 1 ? before + 1 : before;
    case CH_ROW_add:
    case CH_ROW_p_rate:
        return bench.me == 1 ? before + (uint64_t)plan->window : before;
    case CH_ROW_barrier:
        return value_of(round);
    default:
        return before;
    }
}

static bool has_floats(enum ch_row row)
{
    return row >= CH_ROW_put;
}

void host_prepare(const struct plan *plan, int round)
{
    const size_t most = CH_ROW_AREA_BYTES / sizeof(float);
    const size_t all = (size_t)plan->window * (size_t)bench.n * count_of(plan);
    const size_t count = all < most ? all : most;
    const uint64_t words[HOST_WORDS] = {value_of(round) - 1, 0, value_of(round) - 1,
                                        value_of(round)};

    chorus_putmem(bench.words, words, sizeof(words), bench.me);
    if (!has_floats(plan->row)) return;
    for (size_t i = 0; i < count; i++)
        bench.here[i] = element(bench.me, i, round);
    chorus_putmem(bench.source, bench.here, count * sizeof(float), bench.me);
    memset(bench.here, POISON, count * sizeof(float));
    chorus_putmem(bench.dest, bench.here, count * sizeof(float), bench.me);
    chorus_quiet();
}

void host_store_before(const struct plan *plan, int round)
{
    if (plan->row == CH_ROW_barrier)
        chorus_uint64_p(&bench.words[DATA], value_of(round), (bench.me + 1) % bench.n);
}

uint64_t host_count_wrong(const struct plan *plan, int round)
{
    const size_t count = dest_count(plan);
    uint64_t words[HOST_WORDS], wrong = 0;

    chorus_getmem(words, bench.words, sizeof(words), bench.me);
    wrong += words[DATA] != expected_word(plan, round);
    wrong += words[RETURNED] != value_of(round) - 1;
    if (count != 0) chorus_getmem(bench.here, bench.dest, count * sizeof(float), bench.me);
    for (size_t i = 0; i < count; i++)
        wrong += bench.here[i] != expected(plan, i, round);
    return wrong;
}
