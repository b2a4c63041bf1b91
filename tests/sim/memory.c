/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.c: shared memory, byte by byte, and what makes an access of plain data legal.
 *
 * Each byte remembers who wrote it last and who has read it since. An access must know (by its
 * clock) of the write, and a write also of the reads: else the run fails, whatever the value
 * would have been and however lucky the schedule was. So plain data has one possible value
 * whenever a run goes on.
 */
#include "sim/engine.h"

#include "base/exec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Address space, touched as far as it is used. A stamp can name every 8 bytes of it. */
#define POOL_BYTES ((size_t)8 << (32 - SIM_STAMP_BITS))
#define SPACE_BYTES ((size_t)128 << 20) /* as long as no run needs more */

static struct {
    char *space; /* addresses of shared memory: reserved, never accessible */
    size_t space_bytes;
    char *pool;
    size_t pool_used, stride;
    struct sim_block *blocks;
    unsigned char *values; /* of each address; valid as its block is */
} memory;

static void *reserve(size_t bytes, int protection)
{
    void *at =
        mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (at != MAP_FAILED) return at;
    perror("the simulator's memory");
    exit(EXIT_FAILURE);
}

static void reserve_space(size_t bytes)
{
    const size_t blocks = sizeof(struct sim_block), old = memory.space_bytes;

    if (old != 0) {
        (void)munmap(memory.space, old);
        (void)munmap(memory.blocks, old / SIM_BLOCK_BYTES * blocks);
        (void)munmap(memory.values, old);
    }
    memory.space = reserve(bytes, PROT_NONE);
    memory.blocks = reserve(bytes / SIM_BLOCK_BYTES * blocks, PROT_READ | PROT_WRITE);
    memory.values = reserve(bytes, PROT_READ | PROT_WRITE);
    memory.space_bytes = bytes;
}

void sim_memory_open(void)
{
    size_t bytes = memory.space_bytes != 0 ? memory.space_bytes : SPACE_BYTES;

    memory.stride =
        (sim.setup.pe_bytes + SIM_BLOCK_BYTES - 1) / SIM_BLOCK_BYTES * SIM_BLOCK_BYTES;
    while (bytes < memory.stride * sim.setup.n)
        bytes *= 2;
    if (bytes != memory.space_bytes) reserve_space(bytes);
    if (memory.pool == NULL) memory.pool = reserve(POOL_BYTES, PROT_READ | PROT_WRITE);
    memory.pool_used = 0;
}

void *sim_alloc(size_t bytes)
{
    void *at = memory.pool + memory.pool_used;

    memory.pool_used += (bytes + 7) / 8 * 8;
    if (memory.pool_used > POOL_BYTES) sim_fail("the run is too long for the simulator's pool");
    return at;
}

char *sim_memory(uint32_t pe)
{
    return memory.space + pe * memory.stride;
}

bool sim_is_shared(const void *address)
{
    return (uintptr_t)address - (uintptr_t)memory.space < memory.stride * sim.setup.n;
}

uint32_t sim_owner(const void *address)
{
    return (uint32_t)(((uintptr_t)address - (uintptr_t)memory.space) / memory.stride);
}

static size_t offset_of(const void *address)
{
    return (uintptr_t)address - (uintptr_t)memory.space;
}

struct sim_block *sim_block_at(const void *address)
{
    const size_t i = offset_of(address) / SIM_BLOCK_BYTES;
    struct sim_block *b = &memory.blocks[i];

    if (b->run != sim.run) {
        memset(b, 0, sizeof(*b));
        memset(memory.values + i * SIM_BLOCK_BYTES, 0, SIM_BLOCK_BYTES);
        b->run = sim.run;
    }
    return b;
}

const char *sim_place(const void *address)
{
    static char texts[4][96];
    static unsigned turn;
    char *text = texts[turn++ % 4], what[64];

    if (!sim_is_shared(address)) return "private memory";
    const uint32_t pe = sim_owner(address);
    sim.setup.describe(pe, (size_t)((const char *)address - sim_memory(pe)), what,
                       sizeof(what));
    (void)snprintf(text, sizeof(texts[0]), "%s of PE %u", what, pe);
    return text;
}

/* --- races
 * ------------------------------------------------------------------------------------ */

static const sim_stamp *shared_set(sim_stamp r)
{
    return (const sim_stamp *)(const void *)(memory.pool + (size_t)(r >> SIM_STAMP_BITS) * 8);
}

static __attribute__((noinline, noreturn)) void fail_race(const char *does, const void *address,
                                                          const char *other, sim_stamp stamp)
{
    const struct sim_fiber *self = sim.now;
    const uint32_t f = stamp & ((1u << SIM_STAMP_BITS) - 1);

    sim_fail("PE %u lane %u, call %llu, %s %s, not knowing whether PE %u lane %u (now in call "
             "%llu) has %s it: that was its event %u, the last known is %u",
             self->pe, self->lane, (unsigned long long)self->call, does, sim_place(address),
             sim.fiber[f].pe, sim.fiber[f].lane, (unsigned long long)sim.fiber[f].call, other,
             stamp >> SIM_STAMP_BITS, self->clock[f]);
}

sim_stamp sim_readers_unknown(const uint32_t *clock, sim_stamp readers)
{
    if (sim.setup.is_counted) return 0;
    if ((readers & SIM_SHARED) != SIM_SHARED) return sim_covers(clock, readers) ? 0 : readers;
    for (uint32_t f = 0; f < sim.fibers; f++)
        if (!sim_covers(clock, shared_set(readers)[f])) return shared_set(readers)[f];
    return 0;
}

static void check_reads(sim_stamp r, const void *address)
{
    const sim_stamp unknown = sim_readers_unknown(sim.now->clock, r);

    if (unknown != 0) fail_race("writes", address, "read", unknown);
}

/* The set `r` and this fiber's stamp. Sets never change: other bytes may have them too. */
sim_stamp sim_readers_add(sim_stamp r)
{
    const sim_stamp mine = sim_stamp_now(sim.now);
    sim_stamp *set;

    if (sim.setup.is_counted) return mine;
    if (r == 0 || (r & SIM_SHARED) == sim.now->id) return mine;
    if ((r & SIM_SHARED) != SIM_SHARED && sim_knows(sim.now, r)) return mine;
    if ((r & SIM_SHARED) == SIM_SHARED && shared_set(r)[sim.now->id] == mine) return r;
    set = sim_alloc(sim.fibers * sizeof(*set));
    if ((r & SIM_SHARED) == SIM_SHARED) {
        memcpy(set, shared_set(r), sim.fibers * sizeof(*set));
    } else {
        memset(set, 0, sim.fibers * sizeof(*set));
        set[r & SIM_SHARED] = r;
    }
    set[sim.now->id] = mine;
    return (sim_stamp)((size_t)((char *)set - memory.pool) / 8) << SIM_STAMP_BITS | SIM_SHARED;
}

static void check_plain(const struct sim_block *b, size_t lo, size_t hi, const char *at)
{
    for (size_t u = lo / 8; u <= (hi - 1) / 8; u++)
        if (b->kind[u] != SIM_PLAIN)
            sim_fail("PE %u accesses %s as plain data", sim.now->pe, sim_place(at));
}

/* The end of the bytes of a block that have the history of the first; mostly that is hi. */
static size_t alike_until(const struct sim_block *b, size_t lo, size_t hi)
{
    const sim_stamp wrote = b->wrote[lo], read = b->read[lo];
    sim_stamp differs = 0;

    for (size_t i = lo; i < hi; i++)
        differs |= (b->wrote[i] ^ wrote) | (b->read[i] ^ read);
    if (differs == 0) return hi;
    for (size_t i = lo + 1;; i++)
        if (b->wrote[i] != wrote || b->read[i] != read) return i;
}

static void set_stamps(sim_stamp *stamps, size_t lo, size_t hi, sim_stamp stamp)
{
    for (size_t i = lo; i < hi; i++)
        stamps[i] = stamp;
}

/* Bytes [lo, hi) of the block at `at - lo`. */
static void write_block(struct sim_block *b, size_t lo, size_t hi, const char *at)
{
    const sim_stamp mine = sim_stamp_now(sim.now);

    check_plain(b, lo, hi, at);
    for (size_t i = lo; i < hi; i = alike_until(b, i, hi)) {
        if (!sim_knows(sim.now, b->wrote[i]))
            fail_race("writes", at + i - lo, "written", b->wrote[i]);
        check_reads(b->read[i], at + i - lo);
    }
    set_stamps(b->wrote, lo, hi, mine);
    set_stamps(b->read, lo, hi, 0);
}

static void read_block(struct sim_block *b, size_t lo, size_t hi, const char *at)
{
    check_plain(b, lo, hi, at);
    for (size_t i = lo, end; i < hi; i = end) {
        end = alike_until(b, i, hi);
        if (!sim_knows(sim.now, b->wrote[i]))
            fail_race("reads", at + i - lo, "written", b->wrote[i]);
        set_stamps(b->read, i, end, sim_readers_add(b->read[i]));
    }
}

/* The end of what lies in one block with `at`. */
static const char *block_end(const char *at, const char *end)
{
    const char *next = at + SIM_BLOCK_BYTES - (uintptr_t)at % SIM_BLOCK_BYTES;

    return next < end ? next : end;
}

void sim_write(void *to, const void *data, size_t bytes)
{
    const char *const end = (const char *)to + bytes;

    for (const char *at = to, *next; at < end; at = next) {
        const size_t lo = (uintptr_t)at % SIM_BLOCK_BYTES;

        next = block_end(at, end);
        write_block(sim_block_at(at), lo, lo + (size_t)(next - at), at);
    }
    memcpy(memory.values + offset_of(to), data, bytes);
}

void sim_read(const void *from, size_t bytes, void *out)
{
    const char *const end = (const char *)from + bytes;

    for (const char *at = from, *next; at < end; at = next) {
        const size_t lo = (uintptr_t)at % SIM_BLOCK_BYTES;

        next = block_end(at, end);
        read_block(sim_block_at(at), lo, lo + (size_t)(next - at), at);
    }
    memcpy(out, memory.values + offset_of(from), bytes);
}

/* --- the primitive
 * ----------------------------------------------------------------------------- */

static bool is_remote(const void *address)
{
    return sim_is_shared(address) && sim_owner(address) != sim.now->pe;
}

void ch_sim_copy(void *dst, const void *src, size_t bytes)
{
    unsigned char through[512];

    if (bytes == 0) return;
    sim_yield();
    if (is_remote(dst) || is_remote(src)) sim.now->cost.bytes += bytes;
    for (size_t at = 0; at < bytes; at += sizeof(through)) {
        const size_t part = bytes - at < sizeof(through) ? bytes - at : sizeof(through);
        const void *from = (const char *)src + at;

        if (sim_is_shared(src)) {
            sim_read(from, part, through);
            from = through;
        }
        if (sim_is_shared(dst))
            sim_write((char *)dst + at, from, part);
        else
            memmove((char *)dst + at, from, part);
    }
}
