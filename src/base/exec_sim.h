/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec_sim.h: the backend for the simulator, whose PEs and lanes are fibers of one thread.
 *
 * The contract is that of exec_host.h in its weakest form: only words order other accesses,
 * packets and lines order nothing, and a store that need not be visible yet may remain
 * invisible for a while. The ch_sim_ functions belong to the engine (tests/sim);
 * docs/simulator.md explains them.
 */
#ifndef CH_EXEC_SIM_H
#define CH_EXEC_SIM_H

#include "base/door.h"
#include "base/exec_types.h"
#include "base/link.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Inlining is not forced: it would take the compiler five times as long. */
#define CH_FN static inline __attribute__((unused))
#define CH_SELDOM static __attribute__((noinline, unused))

/* Granularity in lanes when lanes are divided into groups. */
#define CH_LANES_UNIT 1u

/* The smallest number that exec_host.h allows, so that short messages have several units. */
#define CH_UNIT_BYTES 240u
#define CH_PLAIN_BYTES CH_UNIT_BYTES
#define CH_LENT_BYTES 64u
#define CH_INLINE_BYTES 16u
#define CH_TAG_BITS 12u

enum ch_sim_order { CH_SIM_RELAXED, CH_SIM_ACQUIRE, CH_SIM_RELEASE };

int ch_sim_lanes_any(int flag);
uint64_t ch_sim_lanes_broadcast(uint64_t x);
void ch_sim_word_store(uint64_t *word, uint64_t value, enum ch_sense sense,
                       enum ch_sim_order order);
uint64_t ch_sim_word_load(const uint64_t *word, enum ch_sim_order order);
chorus_status ch_sim_word_wait(const uint64_t *word, uint64_t least, enum ch_sim_order order,
                               uint64_t *found_out);
void ch_sim_packet_store(struct ch_packet *packet, uint64_t data, uint64_t flag);
int ch_sim_packet_load(const struct ch_packet *packet, uint64_t flag, uint64_t *data_out);
uint64_t ch_sim_flag(const void *unit);
void ch_sim_line_store(struct ch_line *line, const void *data, size_t bytes, uint64_t flag);
int ch_sim_line_load(const struct ch_line *line, size_t bytes, uint64_t flag, void *data_out);
void ch_sim_quad_store(void *at, uint64_t lo, uint64_t hi);
void ch_sim_quad_load(const void *at, uint64_t *lo, uint64_t *hi);
void ch_sim_release_fence(void);
void ch_sim_acquire_fence(void);
uint64_t ch_sim_ticket_take(uint64_t *word);
void ch_sim_ticket_skip(uint64_t *word, uint64_t from);
void ch_sim_relaxed_store(uint64_t *word, uint64_t value);
uint64_t ch_sim_relaxed_load(const uint64_t *word);
void ch_sim_copy(void *dst, const void *src, size_t bytes);
void ch_sim_notify(const struct ch_door *theirs);

/* Memory has no caches in the simulator. */
CH_FN void ch_prefetch_write(const void *memory, size_t bytes)
{
    (void)memory, (void)bytes;
}

#define CH_UNROLL
#define CH_IS_FOR_HOST(memory) ((void)(memory), 0)

CH_FN void ch_lanes_sync(struct ch_lanes g)
{
    if (g.width > 1) (void)ch_sim_lanes_any(0);
}

CH_FN int ch_lanes_any(struct ch_lanes g, int flag)
{
    return g.width > 1 ? ch_sim_lanes_any(flag) : flag;
}

CH_FN uint64_t ch_lanes_broadcast(struct ch_lanes g, uint64_t x)
{
    return g.width > 1 ? ch_sim_lanes_broadcast(x) : x;
}

CH_FN void ch_word_store(uint64_t *word, uint64_t value, enum ch_sense sense)
{
    ch_sim_word_store(word, value, sense, CH_SIM_RELEASE);
}

CH_FN uint64_t ch_word_load(const uint64_t *word)
{
    return ch_sim_word_load(word, CH_SIM_ACQUIRE);
}

CH_FN chorus_status ch_word_await(const struct ch_wait_policy *p, const uint64_t *word,
                                  uint64_t least, uint64_t *found_out)
{
    (void)p;
    return ch_sim_word_wait(word, least, CH_SIM_ACQUIRE, found_out);
}

CH_FN void ch_packet_store(struct ch_packet *p, uint64_t data, uint64_t flag)
{
    ch_sim_packet_store(p, data, flag);
}

CH_FN int ch_packet_load(const struct ch_packet *p, uint64_t flag, uint64_t *data_out)
{
    return ch_sim_packet_load(p, flag, data_out);
}

CH_FN uint64_t ch_packet_flag(const struct ch_packet *p)
{
    return ch_sim_flag(p);
}

CH_FN uint64_t ch_line_flag(const struct ch_line *line)
{
    return ch_sim_flag(line);
}

CH_FN void ch_line_store(struct ch_line *line, const void *data, size_t bytes, uint64_t flag)
{
    ch_sim_line_store(line, data, bytes, flag);
}

CH_FN int ch_line_load(const struct ch_line *line, size_t bytes, uint64_t flag, void *data_out)
{
    return ch_sim_line_load(line, bytes, flag, data_out);
}

CH_FN void ch_quad_store(void *at, uint64_t lo, uint64_t hi)
{
    ch_sim_quad_store(at, lo, hi);
}

CH_FN void ch_quad_load(const void *at, uint64_t *lo, uint64_t *hi)
{
    ch_sim_quad_load(at, lo, hi);
}

CH_FN void ch_release_fence(void)
{
    ch_sim_release_fence();
}

CH_FN void ch_acquire_fence(void)
{
    ch_sim_acquire_fence();
}

CH_FN uint64_t ch_ticket_take(uint64_t *word)
{
    return ch_sim_ticket_take(word);
}

CH_FN void ch_ticket_skip(uint64_t *word, uint64_t from)
{
    ch_sim_ticket_skip(word, from);
}

CH_FN void ch_relaxed_store(uint64_t *word, uint64_t value)
{
    ch_sim_relaxed_store(word, value);
}

CH_FN uint64_t ch_relaxed_load(const uint64_t *word)
{
    return ch_sim_relaxed_load(word);
}

/* The lanes alternate every 16 bytes, so that a missing sync between them is found. */
CH_FN void ch_copy(void *dst, const void *src, size_t bytes, struct ch_lanes g)
{
    const size_t turn = g.width > 1 ? 16 : bytes;

    if (dst == src) return;
    for (size_t at = g.lane * turn; at < bytes; at += g.width * turn)
        ch_sim_copy((char *)dst + at, (const char *)src + at,
                    turn < bytes - at ? turn : bytes - at);
}

CH_FN void ch_copy_element(void *to, const void *from, size_t bytes)
{
    ch_sim_copy(to, from, bytes);
}

/* The addresses of shared memory cannot be read, so all data is copied to scratch. */
CH_FN const void *ch_view(const void *memory, void *scratch, size_t bytes)
{
    ch_sim_copy(scratch, memory, bytes);
    return scratch;
}

CH_FN void *ch_stage(void *memory, void *scratch)
{
    (void)memory;
    return scratch;
}

CH_FN void ch_commit(void *memory, const void *staged, size_t bytes)
{
    ch_sim_copy(memory, staged, bytes);
}

CH_FN void ch_notify(const struct ch_wait_policy *mine, struct ch_door *theirs)
{
    (void)mine;
    ch_sim_notify(theirs);
}

#endif /* CH_EXEC_SIM_H */
