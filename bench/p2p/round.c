/* SPDX-License-Identifier: Apache-2.0 */
/* round.c: one round of a case: new data, samples, and a check of the received data. */
#include "bench/p2p/p2p.h"

#include "base/clock.h"
#include "bench/data.h"
#include "bench/random.h"
#include "chorus/chorus.h"

#include <string.h>

/* ---- data ---- */

static void fill(char *memory, size_t bytes, uint64_t seed)
{
    for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
        const uint64_t word = ch_random(seed, i);

        memcpy(memory + i, &word, bytes - i < sizeof(word) ? bytes - i : sizeof(word));
    }
}

static uint64_t count_wrong(const char *memory, size_t bytes, uint64_t seed)
{
    uint64_t wrong = 0;

    for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
        const uint64_t word = ch_random(seed, i);
        const size_t n = bytes - i < sizeof(word) ? bytes - i : sizeof(word);

        if (memcmp(memory + i, &word, n) != 0) wrong += n;
    }
    return wrong;
}

static bool is_get(enum ch_p2p_op op)
{
    return op == CH_P2P_get || op == CH_P2P_gets;
}

bool ch_p2p_is_atomic(enum ch_p2p_op op)
{
    return op == CH_P2P_fetch_add || op == CH_P2P_adds || op == CH_P2P_fetch_adds ||
           op == CH_P2P_c11_adds;
}

bool ch_p2p_is_of_cpu(enum ch_p2p_op op)
{
    return op == CH_P2P_copy || op == CH_P2P_c11_adds;
}

/* Both PEs compute the seed from the number of the round. */
static void prepare(struct ch_p2p_job *job, const struct ch_p2p_case *c)
{
    const size_t bytes = c->bytes * c->window;
    const int reads_from = is_get(c->op) ? job->peer : 0;

    job->seed++;
    job->signals = *job->signal = *job->counter = 0;
    if (ch_p2p_is_atomic(c->op) || !job->options->checks) return;
    if (job->me == reads_from) fill(job->source, bytes, job->seed);
    memset(job->dest, CH_DATA_POISON, bytes);
}

/* On PE 0, the wrong bytes of both PEs. `calls` were made, warm-up included. */
static void check(struct ch_p2p_job *job, struct ch_p2p_case *c, uint64_t calls)
{
    const int lands_on = is_get(c->op) ? 0 : job->peer;

    if (!job->options->checks) return;
    *job->wrong = 0;
    if (ch_p2p_is_atomic(c->op))
        *job->wrong = job->me == job->peer && *job->counter != calls ? sizeof(uint64_t) : 0;
    else if (job->me == lands_on)
        *job->wrong = count_wrong(job->dest, c->bytes * c->window, job->seed);
    chorus_barrier_all();
    if (job->me == 0)
        c->wrong += *job->wrong + (job->peer != 0 ? chorus_uint64_g(job->wrong, job->peer) : 0);
}

/* ---- samples ---- */

/* Both PEs take part in this one; the time is that of PE 0. */
static void ping_pong(struct ch_p2p_job *job, const struct ch_p2p_case *c)
{
    const uint64_t number = ++job->signals;

    if (job->me != 0) chorus_signal_wait_until(job->signal, CHORUS_CMP_GE, number);
    chorus_putmem_signal(job->dest, job->source, c->bytes, job->signal, number,
                         CHORUS_SIGNAL_SET, job->me == 0 ? job->peer : 0);
    if (job->me == 0) chorus_signal_wait_until(job->signal, CHORUS_CMP_GE, number);
}

static void call_one(struct ch_p2p_job *job, const struct ch_p2p_case *c, uint64_t i)
{
    char *const dest = job->dest + i * c->bytes, *const source = job->source + i * c->bytes;

    switch (c->op) {
    case CH_P2P_put:
        chorus_putmem(dest, source, c->bytes, job->peer);
        return;
    case CH_P2P_get:
        chorus_getmem(dest, source, c->bytes, job->peer);
        return;
    case CH_P2P_fetch_add:
        (void)chorus_uint64_atomic_fetch_add(job->counter, 1, job->peer);
        return;
    case CH_P2P_puts:
        chorus_putmem_nbi(dest, source, c->bytes, job->peer);
        return;
    case CH_P2P_gets:
        chorus_getmem_nbi(dest, source, c->bytes, job->peer);
        return;
    case CH_P2P_put_signals:
        chorus_putmem_signal_nbi(dest, source, c->bytes, job->signal, ++job->signals,
                                 CHORUS_SIGNAL_SET, job->peer);
        return;
    case CH_P2P_copy:
        memcpy(chorus_ptr(dest, job->peer), source, c->bytes);
        return;
    default:
        chorus_uint64_atomic_add(job->counter, 1, job->peer);
    }
}

/* Loops that contain only the atomic operation; the old value is used. */
static void fetch_adds(const struct ch_p2p_job *job, uint64_t n)
{
    uint64_t *const word = job->counter;
    const int peer = job->peer;

    for (uint64_t i = 0; i < n; i++) {
        const uint64_t fetched = chorus_uint64_atomic_fetch_add(word, 1, peer);

        __asm__ volatile("" : : "r"(fetched));
    }
}

static void c11_adds(const struct ch_p2p_job *job, uint64_t n)
{
    uint64_t *const word = chorus_ptr(job->counter, job->peer);

    for (uint64_t i = 0; i < n; i++) {
        const uint64_t fetched = __atomic_fetch_add(word, 1, __ATOMIC_SEQ_CST);

        __asm__ volatile("" : : "r"(fetched));
    }
}

static double sample(struct ch_p2p_job *job, const struct ch_p2p_case *c)
{
    const uint64_t start_ns = ch_clock_ns();
    double calls = (double)c->window;

    if (c->op == CH_P2P_put_signal) {
        ping_pong(job, c);
        calls = 2;
    } else if (c->op == CH_P2P_fetch_adds) {
        fetch_adds(job, c->window);
    } else if (c->op == CH_P2P_c11_adds) {
        c11_adds(job, c->window);
    } else {
        for (uint64_t i = 0; i < c->window; i++)
            call_one(job, c, i);
        if (c->op != CH_P2P_get && c->op != CH_P2P_fetch_add) chorus_quiet();
    }
    return (double)(ch_clock_ns() - start_ns) / (double)CH_NS_PER_US / calls;
}

void ch_p2p_round(struct ch_p2p_job *job, struct ch_p2p_case *c, uint64_t samples, bool keeps)
{
    const bool takes_part =
        job->me == 0 || (job->me == job->peer && c->op == CH_P2P_put_signal);
    const uint64_t all = samples + job->options->warmup;

    chorus_barrier_all();
    prepare(job, c);
    if (c->op == CH_P2P_put_signal && job->me == job->peer && job->options->checks)
        fill(job->source, c->bytes, job->seed);
    chorus_barrier_all();
    for (uint64_t i = 0; i < all && takes_part; i++) {
        const double us = sample(job, c);

        if (i >= job->options->warmup && keeps) c->us[c->n++] = us;
    }
    chorus_barrier_all();
    check(job, c, all * c->window);
}
