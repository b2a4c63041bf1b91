/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec_host.h: the backend for hosts, and the contract of every primitive.
 *
 * Memory that other PEs reach is accessed only by these primitives. Words, packets and lines
 * may be accessed by two PEs at once; plain data is ordered by them. The order is that of C11:
 * a release store makes all earlier accesses of this PE visible to a PE whose acquire load
 * returns its value.
 */
#ifndef CH_EXEC_HOST_H
#define CH_EXEC_HOST_H

#include "base/door.h"
#include "base/exec_types.h"
#include "base/link.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Forced inlining lets the compiler remove branches that depend on constants of the call.
 * Without optimisation it removes none, and would compile what each algorithm calls again for
 * each call, which took a minute with the checks that a sanitizer adds. */
#ifdef __OPTIMIZE__
#define CH_FN static inline __attribute__((always_inline, unused))
#else
#define CH_FN static inline __attribute__((unused))
#endif

/* Granularity in lanes when lanes are divided into groups. */
#define CH_LANES_UNIT 1u

/* The number of bytes that a lane combines at a time: a batch of accumulators that fits in the
 * L1 cache. A multiple of 16 (the widest element) and of 120 (the data of an LL128 line). */
#define CH_UNIT_BYTES 960u

/* The number of bytes that a lane copies at a time to several destinations: they fit in a
 * cache. */
#define CH_PLAIN_BYTES 32768u

/* Messages of at least this length are put on a network directly from their source, shorter
 * ones from a copy: to copy a short message takes less time than to wait until the network has
 * read it. */
#define CH_LENT_BYTES 1024u

/* ch_link_post_signal reads up to this number of bytes before it returns. */
#define CH_INLINE_BYTES 0u

/* Not inlined, for functions that are called seldom or run for long: the functions around them
 * keep their registers. */
#define CH_SELDOM static __attribute__((noinline, unused))

/* The low bits of a word or flag, for the tag of a call's length (ch_add_tag in coll/coll.h);
 * 0: none. The other bits count epochs, exchanges and cells of 64 bytes: for three years if a
 * PE receives 100 GB a second. */
#define CH_TAG_BITS 12u

/* Before a loop: that of a GPU is unrolled, since an array would be in local memory. */
#define CH_UNROLL

/* May the progress thread access this memory of a lane? Of a GPU, not variables of threads,
 * shared and constant memory. Tests have other memory, too. */
#ifndef CH_IS_FOR_HOST
#define CH_IS_FOR_HOST(memory) ((void)(memory), 1)
#endif

/* Synchronise: all lanes reach this point before any continues. */
CH_FN void ch_lanes_sync(struct ch_lanes g)
{
    (void)g; /* width is 1: there is only one lane */
}

/* Synchronise, and return the same result on every lane: was `flag` set on any of them? */
CH_FN int ch_lanes_any(struct ch_lanes g, int flag)
{
    (void)g;
    return flag;
}

/* Synchronise, and return lane 0's x on every lane. */
CH_FN uint64_t ch_lanes_broadcast(struct ch_lanes g, uint64_t x)
{
    (void)g;
    return x;
}

/* Store `value`, release: pairs with a ch_word_load that returns this or a later value. */
CH_FN void ch_word_store(uint64_t *word, uint64_t value, enum ch_sense sense)
{
    (void)sense;
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/* Load, acquire. */
CH_FN uint64_t ch_word_load(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* Store a packet: a ch_packet_load that finds the flag also gets the data. */
CH_FN void ch_packet_store(struct ch_packet *p, uint64_t data, uint64_t flag)
{
    __atomic_store_n(&p->data, data, __ATOMIC_RELAXED);
    __atomic_store_n(&p->flag, flag, __ATOMIC_RELEASE);
}

/* Has the packet with this flag arrived? Then its data is in *data_out. */
CH_FN int ch_packet_load(const struct ch_packet *p, uint64_t flag, uint64_t *data_out)
{
    if (__atomic_load_n(&p->flag, __ATOMIC_ACQUIRE) != flag) return 0;
    *data_out = __atomic_load_n(&p->data, __ATOMIC_RELAXED);
    return 1;
}

/* Returns the flag that is there, for a reader that waits for another one. */
CH_FN uint64_t ch_packet_flag(const struct ch_packet *p)
{
    return __atomic_load_n(&p->flag, __ATOMIC_RELAXED);
}

/* ch_packet_flag for a line. */
CH_FN uint64_t ch_line_flag(const struct ch_line *line)
{
    return __atomic_load_n(&line->flag, __ATOMIC_RELAXED);
}

/* Store a line: its first `bytes` data bytes, at most CH_LINE_DATA, and the flag. `data` is
 * this PE's private memory. */
CH_FN void ch_line_store(struct ch_line *line, const void *data, size_t bytes, uint64_t flag)
{
    memcpy(line->data, data, bytes);
    __atomic_store_n(&line->flag, flag, __ATOMIC_RELEASE);
}

/* Has the line with this flag arrived? Then its first `bytes` data bytes are copied to
 * data_out. */
CH_FN int ch_line_load(const struct ch_line *line, size_t bytes, uint64_t flag, void *data_out)
{
    if (__atomic_load_n(&line->flag, __ATOMIC_ACQUIRE) != flag) return 0;
    memcpy(data_out, line->data, bytes);
    return 1;
}

/*
 * Quads and the functions after them serve the ring of requests (base/ring.h), by which the
 * kernels of a PE post to a thread of the host.
 *
 * Store 16 bytes, 16-byte aligned, which may be loaded at the same time. They are one access: a
 * load that gets `hi` gets the `lo` that was stored with it, unless another quad was stored
 * there meanwhile. Orders nothing, apart from ch_release_fence.
 */
CH_FN void ch_quad_store(void *at, uint64_t lo, uint64_t hi)
{
    uint64_t *const half = (uint64_t *)at;

    __atomic_store_n(&half[0], lo, __ATOMIC_RELAXED);
    __atomic_store_n(&half[1], hi, __ATOMIC_RELEASE);
}

/* Load a quad; on hosts, an acquire. A GPU stores 16 bytes at once, so the two loads, in this
 * order, get what one load would. */
CH_FN void ch_quad_load(const void *at, uint64_t *lo, uint64_t *hi)
{
    const uint64_t *const half = (const uint64_t *)at;

    *hi = __atomic_load_n(&half[1], __ATOMIC_ACQUIRE);
    *lo = __atomic_load_n(&half[0], __ATOMIC_RELAXED);
}

/* A host that loads a quad which this lane stores after the fence also sees all that the lane
 * could see before the fence. */
CH_FN void ch_release_fence(void)
{
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

/* If the last ch_relaxed_load has found what another lane stored after a ch_release_fence, this
 * lane sees from now on what that one could see before its fence. */
CH_FN void ch_acquire_fence(void)
{
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
}

/* Add 1 to a word of this PE, and return what it was: relaxed. Lanes of all CTAs of the PE may
 * do so at once. */
CH_FN uint64_t ch_ticket_take(uint64_t *word)
{
    return __atomic_fetch_add(word, 1, __ATOMIC_RELAXED);
}

/* *word = from + 1 if it is `from`. */
CH_FN void ch_ticket_skip(uint64_t *word, uint64_t from)
{
    (void)__atomic_compare_exchange_n(word, &from, from + 1, false, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED);
}

/* Store and load a word that any lane of any CTA of this PE may store: relaxed. A lane that
 * acts on a value may assume only that the loads on which its store depended are complete. */
CH_FN void ch_relaxed_store(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

CH_FN uint64_t ch_relaxed_load(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

/* Copy plain data with all lanes, between memory of any PEs. Source and destination may be
 * equal. */
CH_FN void ch_copy(void *dst, const void *src, size_t bytes, struct ch_lanes g)
{
    (void)g;
    if (bytes != 0 && dst != src) memcpy(dst, src, bytes);
}

/* One lane: copy an element of 1, 2, 4, 8 or 16 bytes, a constant at every call. Memory of PEs
 * is aligned for it, that of complex numbers for their parts; either side may instead be a
 * variable of the lane. */
CH_FN void ch_copy_element(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

/* This PE will soon store to `bytes` there, of which other cores have cached copies: prefetch
 * the first two cache lines for writing. A store that waits for its line delays all later
 * stores. */
CH_FN void ch_prefetch_write(const void *memory, size_t bytes)
{
    const char *line = (const char *)memory;

    for (size_t at = 0; at < bytes && at < 2 * CH_CACHE_LINE_BYTES; at += CH_CACHE_LINE_BYTES)
#if defined(__x86_64__)
        /* The builtin prefetches for reading, unless the code is compiled for newer
         * processors. */
        __asm__ volatile("prefetchw %0" : : "m"(line[at]));
#else
        __builtin_prefetch(line + at, 1);
#endif
}

/*
 * Read plain data, without a copy if the backend can: returns a pointer to `bytes` readable
 * bytes, which is `memory` itself or `scratch` (private, at least `bytes`).
 */
CH_FN const void *ch_view(const void *memory, void *scratch, size_t bytes)
{
    (void)scratch, (void)bytes;
    return memory;
}

/* Write plain data in the same way: fill the memory that ch_stage returns, then call ch_commit
 * once for each destination. */
CH_FN void *ch_stage(void *memory, void *scratch)
{
    (void)scratch;
    return memory;
}

CH_FN void ch_commit(void *memory, const void *staged, size_t bytes)
{
    if (memory != staged) memcpy(memory, staged, bytes);
}

/* After stores to a PE's memory: wake the PE if it sleeps. The fence only stops the compiler
 * from moving stores; see door.h. */
CH_FN void ch_notify(const struct ch_wait_policy *mine, struct ch_door *theirs)
{
    (void)mine;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (__atomic_load_n(&theirs->sleepers, __ATOMIC_RELAXED) != 0) ch_door_wake(theirs);
}

/* The rest of ch_word_await, if the first load found less. */
CH_SELDOM chorus_status ch_word_wait_long(const struct ch_wait_policy *p, const uint64_t *word,
                                          uint64_t least, uint64_t *found_out)
{
    struct ch_wait w = {0};
    chorus_status st = CHORUS_OK;

    while ((*found_out = ch_word_load(word)) < least && st == CHORUS_OK)
        st = ch_wait_slow(p, &w);
    ch_wait_end(p, &w);
    return st;
}

/* Wait until *word >= least, acquire. The comparison is not "equal", since the peer may already
 * have stored a later value, which is *found_out. */
CH_FN chorus_status ch_word_await(const struct ch_wait_policy *p, const uint64_t *word,
                                  uint64_t least, uint64_t *found_out)
{
    const uint64_t found = ch_word_load(word);

    if (found < least) return ch_word_wait_long(p, word, least, found_out);
    *found_out = found;
    return CHORUS_OK;
}

#endif /* CH_EXEC_HOST_H */
