/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mapped.h: a peer whose memory this PE loads and stores, and the accesses themselves.
 *
 * A transfer that is one aligned word is one atomic access: a PE that waits for the word sees
 * all of it or nothing. Words are stored with release and loaded with acquire, more than
 * put and get promise; it costs nothing on x86, and tools that do not know fences (such as
 * ThreadSanitizer) see the order that put, fence, put makes.
 */
#ifndef CH_MAPPED_H
#define CH_MAPPED_H

#include "base/door.h"
#include "transport/amo.h"

struct ch_near {
    ptrdiff_t shift;      /* add to an address of this PE to get the same offset on the peer */
    struct ch_door *door; /* null: the peer is not mapped */
};

/* This PE's address of the peer's copy of a symmetric object. */
static inline void *ch_near_address(const struct ch_near *near, const void *symmetric)
{
    /* Computed with integers, since the two addresses are in different objects. */
    return (void *)((uintptr_t)symmetric + (uintptr_t)near->shift);
}

static inline void ch_near_put(const struct ch_near *near, void *dest, const void *source,
                               size_t bytes)
{
    ch_put_bytes(ch_near_address(near, dest), source, bytes);
    ch_door_ring(near->door);
}

static inline void ch_near_get(const struct ch_near *near, void *dest, const void *source,
                               size_t bytes)
{
    ch_get_bytes(dest, ch_near_address(near, source), bytes);
}

/* `bytes` is 4 or 8, and the word is aligned to it. Returns the old value. */
static inline uint64_t ch_near_amo(const struct ch_near *near, enum ch_amo op, void *word,
                                   size_t bytes, uint64_t value, uint64_t compare)
{
    const uint64_t fetched =
        ch_amo_access(op, ch_near_address(near, word), bytes, value, compare);

    if (op != CH_AMO_FETCH) ch_door_ring(near->door);
    return fetched;
}

#endif /* CH_MAPPED_H */
