/* SPDX-License-Identifier: Apache-2.0 */
/*
 * multimem_cuda.h: the primitives of multicast.h on GPUs whose switches multicast (NVLink
 * SHARP).
 *
 * An address in the range of a multicast object names the same location on all PEs of the job:
 * the switch combines the values for a load, and sends a store to all. Whole pieces of 16
 * bytes are accessed in this way; the remainders at both ends, and spans with different
 * alignment in dst and src, are done in software. The same memory then has two addresses on a
 * GPU, so a fence between aliases separates accesses by the two.
 */
#ifndef CH_MULTIMEM_CUDA_H
#define CH_MULTIMEM_CUDA_H

#include "coll/cuda/multimem.h"
#include "coll/primitives/primitives.h"

#define CH_MULTIMEM_LOAD "multimem.ld_reduce.relaxed.sys.global."

/* 16 bytes by one access of four words, by four of one word, by two of one long word. */
#define CH_MULTIMEM_4x4(ins, at, word)                                        \
    asm volatile(CH_MULTIMEM_LOAD ins " {%0, %1, %2, %3}, [%4];"              \
                 : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3]) \
                 : "l"(at)                                                    \
                 : "memory")
#define CH_MULTIMEM_1x4(ins, at, word)             \
    for (int i = 0; i < 4; i++)                    \
    asm volatile(CH_MULTIMEM_LOAD ins " %0, [%1];" \
                 : "=r"(word[i])                   \
                 : "l"((at) + 4 * i)               \
                 : "memory")
#define CH_MULTIMEM_1x8(ins, at, word)                 \
    for (int i = 0; i < 2; i++) {                      \
        uint64_t both;                                 \
        asm volatile(CH_MULTIMEM_LOAD ins " %0, [%1];" \
                     : "=l"(both)                      \
                     : "l"((at) + 8 * i)               \
                     : "memory");                      \
        word[2 * i] = (uint32_t)both;                  \
        word[2 * i + 1] = (uint32_t)(both >> 32);      \
    }

/* Load 16 bytes at this multicast address, combined over all PEs. */
CH_FN void ch_multimem_load(const struct ch_coll *c, const char *at, uint32_t word[4])
{
#define X(T, OP, accesses, ins)                                  \
    if (c->type == CHORUS_TYPE_##T && c->op == CHORUS_OP_##OP) { \
        CH_MULTIMEM_##accesses(ins, at, word);                   \
        return;                                                  \
    }
    CH_MULTIMEM_LIST(X)
#undef X
}

/* Store 16 bytes on every PE. */
CH_FN void ch_multimem_store(char *at, const uint32_t word[4])
{
    asm volatile("multimem.st.relaxed.sys.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(at),
                 "r"(word[0]), "r"(word[1]), "r"(word[2]), "r"(word[3])
                 : "memory");
}

/* Order accesses by a PE's own addresses and by multicast addresses. */
CH_FN void ch_alias_fence(void)
{
    asm volatile("fence.proxy.alias;" ::: "memory");
}

/* Bytes of a span before the pieces that the switch combines, and the bytes of these pieces. */
struct ch_multimem_span {
    size_t head, body;
};

/* Divide a span into head, body and rest; the body is empty if dst and src differ in
 * alignment. */
CH_FN struct ch_multimem_span ch_multimem_span_of(const char *dst, const char *src,
                                                  size_t bytes)
{
    struct ch_multimem_span s = {0, 0};

    if (((uintptr_t)dst - (uintptr_t)src) % 16 != 0) return s;
    s.head = ch_min((16 - (uintptr_t)src % 16) % 16, bytes);
    s.body = (bytes - s.head) / 16 * 16;
    return s;
}

/* Loads that a lane has in flight at the same time. */
#define CH_MULTIMEM_DEPTH 4

enum ch_multimem_work { CH_MULTIMEM_COMBINE, CH_MULTIMEM_COPY };

/* Combine or copy the body of a span, which begins at dst and src, for this PE or for all. */
CH_FN void ch_multimem_pieces(const struct ch_coll *c, enum ch_multimem_work work, char *dst,
                              const char *src, size_t bytes, enum ch_reach_of to,
                              struct ch_lanes g)
{
    const size_t step = (size_t)g.width * 16;

    for (size_t at = (size_t)g.lane * 16; at < bytes; at += CH_MULTIMEM_DEPTH * step) {
        uint32_t word[CH_MULTIMEM_DEPTH][4];

#pragma unroll
        for (int u = 0; u < CH_MULTIMEM_DEPTH; u++) {
            if (at + u * step >= bytes) break;
            if (work == CH_MULTIMEM_COMBINE)
                ch_multimem_load(c, src + c->multicast + at + u * step, word[u]);
            else
                memcpy(word[u], __builtin_assume_aligned(src + at + u * step, 16), 16);
        }
#pragma unroll
        for (int u = 0; u < CH_MULTIMEM_DEPTH; u++) {
            if (at + u * step >= bytes) break;
            if (to == CH_TO_ALL)
                ch_multimem_store(dst + c->multicast + at + u * step, word[u]);
            else
                memcpy(__builtin_assume_aligned(dst + at + u * step, 16), word[u], 16);
        }
    }
}

/* Combine or copy a span of any alignment: the switch combines its body; its ends are done in
 * software. */
CH_FN void ch_multimem_move(const struct ch_coll *c, enum ch_multimem_work work, char *dst,
                            const char *src, size_t bytes, enum ch_reach_of to,
                            struct ch_lanes g)
{
    const struct ch_multimem_span s = ch_multimem_span_of(dst, src, bytes);
    size_t at = 0, end = s.head;

    ch_alias_fence(); /* the data that PEs wrote by their own addresses is read by all of them
                       */
    ch_multimem_pieces(c, work, dst + s.head, src + s.head, s.body, to, g);
#pragma unroll 1
    for (int k = 0; k < 2; k++) {
        if (work == CH_MULTIMEM_COMBINE)
            ch_combine_all(c, dst + at, src + at, end - at, to, g);
        else
            ch_store_all(c, dst + at, src + at, end - at, g);
        at = s.head + s.body;
        end = bytes;
    }
    ch_alias_fence(); /* the same in the other direction, once the peers are signalled */
}

CH_FN void ch_multicast_reduce(const struct ch_coll *c, char *dst, const char *src,
                               size_t bytes, struct ch_lanes g)
{
    ch_multimem_move(c, CH_MULTIMEM_COMBINE, dst, src, bytes, CH_TO_ME, g);
}

CH_FN void ch_multicast_reduce_all(const struct ch_coll *c, char *dst, const char *src,
                                   size_t bytes, struct ch_lanes g)
{
    ch_multimem_move(c, CH_MULTIMEM_COMBINE, dst, src, bytes, CH_TO_ALL, g);
}

CH_FN void ch_multicast_store(const struct ch_coll *c, char *dst, const char *src, size_t bytes,
                              struct ch_lanes g)
{
    ch_multimem_move(c, CH_MULTIMEM_COPY, dst, src, bytes, CH_TO_ALL, g);
}

/* Raise the words of all PEs, and this PE's own, which it does not read, to `value` if they are
 * smaller, which has the effect of a store, since words only grow. Pairs with ch_await_all. */
CH_FN void ch_multicast_signal(const struct ch_coll *c, uint32_t word, uint64_t value,
                               enum ch_sense sense, struct ch_lanes g)
{
    char *at = (char *)ch_word_at(c, c->me, word, c->me) + c->multicast;

    if (!c->is_sync_alike) {
        ch_signal_all(c, word, value, sense, g);
        return;
    }
    ch_lanes_sync(g); /* other lanes' accesses precede the store */
    if (g.lane != 0) return;
    if (sense == CH_DATA)
        asm volatile("multimem.red.release.sys.global.max.u64 [%0], %1;" ::"l"(at), "l"(value)
                     : "memory");
    else
        asm volatile("multimem.red.relaxed.sys.global.max.u64 [%0], %1;" ::"l"(at), "l"(value)
                     : "memory");
}

#endif /* CH_MULTIMEM_CUDA_H */
