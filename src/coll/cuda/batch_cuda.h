/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch_cuda.h: batches for GPUs: each lane handles pieces of 16 bytes; neighbouring lanes
 * handle neighbouring pieces.
 *
 * A piece of plain memory begins at a multiple of 16 of the address that the batch was made
 * for, so that whole pieces are single accesses there. The first and last piece of a span may
 * be partial; at an address with another alignment, all may be. A piece of packets is two
 * packets.
 *
 * A piece of a line is one of its eight parts; the last has 8 bytes of data and then the flag.
 * Eight neighbouring lanes store a line by one instruction of their warp. No documentation
 * says whether a link keeps it whole; NCCL relies on it over NVLink, and lines_cuda.c tests it.
 * That eight lanes load a line as a whole is not assumed: once the warp has seen the flags,
 * each lane loads its part again, as NCCL does. If a line is stored as a whole, this second
 * load returns the data that belongs to the flag.
 */
#ifndef CH_BATCH_CUDA_H
#define CH_BATCH_CUDA_H

#include "coll/coll.h"
#include "coll/cuda/half_cuda.h"
#include "coll/operators.h"
#include "coll/shape.h"

#define CH_PIECE_BYTES 16u
/* Calls inside kernels leave 64 registers to each thread of a block of 1,024, and the compiler
 * needs more of them for all but the data on GPUs before Hopper. */
#if CH_INSIDE_KERNELS && defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define CH_IS_TIGHT 1
#else
#define CH_IS_TIGHT 0
#endif
/* Of a batch: loads in flight at the same time. */
#define CH_PIECES_MAX (CH_IS_TIGHT ? 2 : CH_INSIDE_KERNELS ? 3 : 4)
#define CH_LINE_PARTS 8u
#define CH_AHEAD (CH_INSIDE_KERNELS ? 2u : 4u)
#define CH_EACH_AHEAD(u) _Pragma("unroll") for (uint32_t u = 0; u < CH_AHEAD; u++)
#define CH_WARP_ALL 0xffffffffu

/* Bytes [at, at + bytes) of the span are at [lead, lead + bytes) of the piece. */
struct ch_piece {
    size_t at;
    uint32_t lead, bytes;
};

struct ch_batch {
    size_t piece;  /* first piece of this lane */
    size_t pieces; /* of the span */
    size_t bytes;  /* of the span */
    size_t step;   /* pieces between two batches */
    uint32_t skew; /* bytes of the first piece that precede the span */
    uint32_t width;
    enum ch_cell kind;   /* constant after inlining */
    struct ch_piece own; /* of a message: this lane's only piece, since it has one at a time */
};

struct ch_value {
    uint64_t word[CH_PIECES_MAX][2];
    uint64_t seen[2]; /* flags of its packets, as last loaded */
};

struct ch_accumulator { /* floats for the 16-bit types, else elements as in ch_value */
    uint64_t word[CH_PIECES_MAX][2 * CH_ACC_FACTOR];
};

/* Number of pieces of a lane's batch of this kind. */
CH_FN int ch_pieces_of(enum ch_cell kind)
{
    return kind == CH_PLAIN ? CH_PIECES_MAX : kind == CH_CELL_simple && !CH_IS_TIGHT ? 2 : 1;
}

/* ll and ll128: data with flags. Such spans are one chunk at most, so numbers of 32 bits, which
 * are faster, suffice. */
CH_FN int ch_is_ll(enum ch_cell kind)
{
    return kind == CH_CELL_ll || kind == CH_CELL_ll128;
}

/* Number of pieces of a message. */
CH_FN uint32_t ch_message_pieces(enum ch_cell kind, uint32_t bytes)
{
    return kind == CH_CELL_ll128 ? (bytes + CH_LINE_DATA - 1) / CH_LINE_DATA * CH_LINE_PARTS
                                 : (bytes + CH_PIECE_BYTES - 1) / CH_PIECE_BYTES;
}

/* Is this part of a line its last, with the flag? */
CH_FN int ch_is_flagged(uint32_t piece)
{
    return piece % CH_LINE_PARTS == CH_LINE_PARTS - 1;
}

/* This lane's piece of a message: two packets, or a part of a line. */
CH_FN struct ch_piece ch_message_piece(const struct ch_batch *b)
{
    const uint32_t piece = (uint32_t)b->piece, bytes = (uint32_t)b->bytes;
    const uint32_t line = piece / CH_LINE_PARTS, part = piece % CH_LINE_PARTS;
    const uint32_t most = b->kind == CH_CELL_ll128 && ch_is_flagged(piece) ? 8 : CH_PIECE_BYTES;
    const uint32_t at = b->kind == CH_CELL_ll ? piece * CH_PIECE_BYTES
                                              : line * CH_LINE_DATA + part * CH_PIECE_BYTES;
    struct ch_piece p;

    p.at = at;
    p.lead = 0;
    p.bytes = at >= bytes ? 0 : bytes - at < most ? bytes - at : most;
    return p;
}

/* This lane's first batch of a span, for memory at `at`; see batch.h. */
CH_FN struct ch_batch ch_batch_first(enum ch_cell kind, const void *at, size_t bytes,
                                     struct ch_lanes g)
{
    const struct ch_piece none = {0, 0,
                                  0}; /* ch_wait_previous_call reads it of plain data, too */
    struct ch_batch b;

    b.kind = kind;
    b.bytes = bytes;
    b.width = g.width;
    b.piece = g.lane;
    b.step = (size_t)g.width * (uint32_t)ch_pieces_of(kind);
    b.skew = ch_is_ll(kind) ? 0 : (uint32_t)((uintptr_t)at % CH_PIECE_BYTES);
    b.pieces = ch_is_ll(kind) ? ch_message_pieces(kind, (uint32_t)bytes)
                              : (bytes + b.skew + CH_PIECE_BYTES - 1) / CH_PIECE_BYTES;
    b.own = ch_is_ll(kind) ? ch_message_piece(&b) : none;
    return b;
}

/* Has the lane a batch here? Whole warps move lines: all lanes of a warp continue while one of
 * them has data. */
CH_FN int ch_batch_more(const struct ch_batch *b)
{
    if (b->kind == CH_CELL_ll128) return ((uint32_t)b->piece & ~31u) < (uint32_t)b->pieces;
    if (b->kind == CH_CELL_ll) return (uint32_t)b->piece < (uint32_t)b->pieces;
    return b->piece < b->pieces;
}

/* Proceed to this lane's next batch. */
CH_FN void ch_batch_next(struct ch_batch *b)
{
    b->piece = ch_is_ll(b->kind) ? (uint32_t)b->piece + (uint32_t)b->step : b->piece + b->step;
    if (ch_is_ll(b->kind)) b->own = ch_message_piece(b);
}

/* The place in the span of the u-th 16 bytes of a batch; bytes is 0 if it begins at the end of
 * the span or after it. Batches of packets and of lines have one such place: u is ignored. */
CH_FN struct ch_piece ch_piece_of(const struct ch_batch *b, int u)
{
    const size_t begin = (b->piece + (size_t)u * b->width) * CH_PIECE_BYTES;
    struct ch_piece p;

    if (ch_is_ll(b->kind)) return b->own;
    p.lead = begin < b->skew ? b->skew : 0; /* only piece 0 begins before the span */
    p.at = begin + p.lead - b->skew;
    p.bytes = p.at < b->bytes ? (uint32_t)ch_min(CH_PIECE_BYTES - p.lead, b->bytes - p.at) : 0;
    return p;
}

/* --- plain memory --- */

/* Load the bytes of a piece with any alignment, in accesses of 4 bytes if possible, else of
 * 1. These loops are not unrolled: they are not on the fast path, and would use registers of
 * it. */
CH_FN void ch_partial_load(const char *from, uint32_t lead, uint32_t bytes, uint64_t word[2])
{
    const uint32_t grain = (((uintptr_t)from | lead | bytes) & 3) == 0 ? 4 : 1;
    uint64_t lo = 0, hi = 0;

#pragma unroll 1
    for (uint32_t i = 0; i < bytes; i += grain) {
        const uint32_t at = lead + i;
        const uint64_t data =
            grain == 4 ? *(const uint32_t *)(from + i) : *(const uint8_t *)(from + i);

        if (at < 8)
            lo |= data << at * 8;
        else
            hi |= data << (at - 8) * 8;
    }
    word[0] = lo;
    word[1] = hi;
}

/* Store the bytes of a piece in the same way. */
CH_FN void ch_partial_store(char *to, uint32_t lead, uint32_t bytes, const uint64_t word[2])
{
    const uint32_t grain = (((uintptr_t)to | lead | bytes) & 3) == 0 ? 4 : 1;
    const uint64_t lo = word[0], hi = word[1];

#pragma unroll 1
    for (uint32_t i = 0; i < bytes; i += grain) {
        const uint32_t at = lead + i;
        const uint64_t data = at < 8 ? lo >> at * 8 : hi >> (at - 8) * 8;

        if (grain == 4)
            *(uint32_t *)(to + i) = (uint32_t)data;
        else
            *(uint8_t *)(to + i) = (uint8_t)data;
    }
}

/* Is this a whole piece at an aligned address? */
CH_FN int ch_is_whole(const char *at, struct ch_piece p)
{
    return p.bytes == CH_PIECE_BYTES && (uintptr_t)at % CH_PIECE_BYTES == 0;
}

/* The number of words of 4 bytes that a piece consists of, or CH_WORDS_NONE if it has other
 * bytes than words. */
#define CH_WORDS_NONE -2

/* The number of words of 4 bytes of a piece at `at`, or CH_WORDS_NONE. */
CH_FN int ch_words_of(const char *at, uint32_t bytes)
{
    return (((uint32_t)(uintptr_t)at | bytes) & 3) != 0 ? CH_WORDS_NONE : (int)(bytes / 4);
}

/* Load the piece of a message from plain memory. Its usual forms are loaded without a branch,
 * so that a short message is loaded together with the number of the exchange and the mark; the
 * others byte by byte. */
CH_FN void ch_message_load(const char *from, uint32_t bytes, uint64_t word[2])
{
    const uint32_t low = (uint32_t)(uintptr_t)from; /* its use takes fewer instructions */
    const int part_words = ch_words_of(from, bytes);
    const int words =
        bytes == CH_PIECE_BYTES && low % CH_PIECE_BYTES == 0 ? CH_WORDS_WHOLE : part_words;
    uint64_t whole[2], part[2], lo = 0, hi = 0;

    ch_words_load(from, words, whole, part);
#pragma unroll 1
    while (words == CH_WORDS_NONE && bytes != 0) {
        bytes--;
        hi = hi << 8 | lo >> 56;
        lo = lo << 8 | *(const uint8_t *)(from + bytes);
    }
    word[0] = whole[0] | part[0] | lo;
    word[1] = whole[1] | part[1] | hi;
}

/* Store a piece of a message that is not whole to plain memory. */
CH_FN void ch_message_store(char *to, uint32_t bytes, const uint64_t word[2])
{
    const int words = ch_words_of(to, bytes);
    uint64_t lo = word[0], hi = word[1];

    ch_words_store(to, words, word);
#pragma unroll 1
    for (uint32_t i = 0; words == CH_WORDS_NONE && i < bytes; i++) {
        *(uint8_t *)(to + i) = (uint8_t)lo;
        lo = lo >> 8 | hi << 56;
        hi >>= 8;
    }
}

/* Returns x in such a way that the compiler does not compute it before the loads that precede
 * this call have begun. */
CH_FN uint64_t ch_opaque_after_loads(uint64_t x)
{
    __asm__ volatile("" : "+l"(x)::"memory");
    return x;
}

/* Returns x. Inside kernels the compiler keeps nothing that is made of it, such as an address,
 * for the next time. */
CH_FN uint32_t ch_opaque(uint32_t x)
{
    if (CH_INSIDE_KERNELS) __asm__ volatile("" : "+r"(x));
    return x;
}

/* Returns g. What the compiler has computed from the lanes before is computed anew from the
 * result. Of lanes that are a constant of the call, nothing is. */
CH_FN struct ch_lanes ch_lanes_opaque(struct ch_lanes g)
{
    g.lane = (uint32_t)ch_opaque_after_loads(g.lane);
    if (CH_IS_BLOCK(g)) g.width = (uint32_t)ch_opaque_after_loads(g.width);
    return g;
}

/* If the call has not waited for the previous kernel yet (is_due), wait after `known` and b are
 * computed: ptxas would move their computation behind the wait. */
CH_FN void ch_wait_previous_call(const struct ch_coll *c, uint64_t known,
                                 const struct ch_batch *b)
{
    if (!c->is_due) return;
    known |= b->own.at | b->own.bytes | b->piece | b->pieces | (uintptr_t)c->exchanges |
             (uintptr_t)c->failed;
    ch_kernel_compute_before(known);
    ch_kernel_wait_previous(c->lets_next);
}

/* Not 0: an earlier call of the team failed. */
CH_FN uint64_t ch_failure_mark(const struct ch_coll *c)
{
    return c->is_due ? *c->failed : c->broken;
}

/* The number of the last exchange of this kind. Inside kernels lane 0 has read it, and the
 * mark, when it acquired the team; the other lanes receive both here, once. */
CH_FN uint64_t ch_last_exchange(const struct ch_coll *c, enum ch_cell kind, struct ch_lanes g)
{
    if (c->is_known != 0 && !*c->is_known) {
        const uint64_t refused = ch_opaque_after_loads(c->broken) != 0 ? CH_TAKEN : 0;

        c->exchanges[kind] = ch_lanes_broadcast(g, c->exchanges[kind] | refused);
        *c->is_known = 1;
    }
    return c->exchanges[kind];
}

/* Set that number, in the state of the CTA or of each lane. */
CH_FN void ch_set_last_exchange(const struct ch_coll *c, enum ch_cell kind, uint64_t number,
                                struct ch_lanes g)
{
    if (g.lane == 0 || c->is_known != 0) c->exchanges[kind] = number;
}

/* Load this lane's batch of plain memory at `at`. Calls inside kernels may load from any
 * memory: a stack, shared or constant memory. The memory of host calls is always global
 * memory. */
CH_FN void ch_value_load(struct ch_value *v, const char *at, const struct ch_batch *b)
{
#pragma unroll
    for (int u = 0; u < ch_pieces_of(b->kind); u++) {
        const struct ch_piece p = ch_piece_of(b, u);
        const char *from = at + p.at;

        if (!CH_INSIDE_KERNELS)
            __builtin_assume(__isGlobal(from)); /* global loads are faster */
        if (ch_is_ll(b->kind)) {
            ch_message_load(from, p.bytes, v->word[u]);
        } else if (ch_is_whole(from, p)) {
            const ulonglong2 q = *(const ulonglong2 *)from;

            v->word[u][0] = q.x;
            v->word[u][1] = q.y;
        } else {
            ch_partial_load(from, p.lead, p.bytes, v->word[u]);
        }
    }
}

/* As ch_value_load. Inside kernels the load of a message's later batches branches, which takes
 * fewer registers; only the first is loaded together with the number of the exchange. */
CH_FN void ch_value_load_more(struct ch_value *v, const char *at, const struct ch_batch *b)
{
    const struct ch_piece p = ch_piece_of(b, 0);
    const char *from = at + p.at;

    if (!CH_INSIDE_KERNELS || !ch_is_ll(b->kind)) {
        ch_value_load(v, at, b);
    } else if (ch_is_whole(from, p)) {
        const ulonglong2 q = *(const ulonglong2 *)from;

        v->word[0][0] = q.x;
        v->word[0][1] = q.y;
    } else {
        ch_partial_load(from, p.lead, p.bytes, v->word[0]);
    }
}

/* The same batch in a span that ends after `bytes`. */
CH_FN struct ch_batch ch_batch_clip(const struct ch_batch *b, size_t bytes)
{
    struct ch_batch clipped = *b;

    clipped.bytes = bytes;
    if (ch_is_ll(b->kind)) clipped.own = ch_message_piece(&clipped);
    return clipped;
}

/* Load this lane's batch of the first `bytes` of the span, and zeros behind them. */
CH_FN void ch_value_load_padded(struct ch_value *v, const char *at, size_t bytes,
                                const struct ch_batch *b)
{
    const struct ch_batch data = ch_batch_clip(b, bytes);

    memset(v->word, 0, sizeof(v->word[0]) * (uint32_t)ch_pieces_of(b->kind));
    ch_value_load(v, at, &data);
}

CH_FN void ch_value_stage(struct ch_value *v, char *at, const struct ch_batch *b)
{
    (void)v, (void)at, (void)b; /* values are in registers */
}

CH_FN void ch_value_use_scratch(struct ch_value *v)
{
    (void)v;
}

CH_FN void ch_value_share(struct ch_value *v, const struct ch_value *from)
{
    *v = *from;
}

/* Store this lane's batch to plain memory at `at`. */
CH_FN void ch_value_store(char *at, const struct ch_value *v, const struct ch_batch *b)
{
#pragma unroll
    for (int u = 0; u < ch_pieces_of(b->kind); u++) {
        const struct ch_piece p = ch_piece_of(b, u);
        char *to = at + p.at;

        if (!CH_INSIDE_KERNELS) __builtin_assume(__isGlobal(to));
        if (ch_is_whole(to, p)) {
            ulonglong2 q;

            q.x = v->word[u][0];
            q.y = v->word[u][1];
            *(ulonglong2 *)to = q;
        } else if (ch_is_ll(b->kind)) {
            ch_message_store(to, p.bytes, v->word[u]);
        } else if (p.bytes != 0) {
            ch_partial_store(to, p.lead, p.bytes, v->word[u]);
        }
    }
}

/* Inside kernels one block copies what many CTAs copy in host calls, so it has more loads in
 * flight: `ahead`, a constant of up to CH_COPY_AHEAD_MAX. */
#define CH_COPY_AHEAD_MAX 8u
#define CH_COPY_AHEAD \
    (CH_IS_TIGHT ? 4u : 6u) /* of collectives, which need registers for other things, too */

/* Copy up to `ahead` pieces of a lane, which are `step` pieces apart, from `from` on; only what
 * is before `end`, unless all are. */
CH_FN void ch_copy_pieces(ulonglong2 *to, const ulonglong2 *from, const ulonglong2 *end,
                          uint32_t step, uint32_t ahead, int is_all)
{
    /* With values, as otherwise they take registers from the begin of the kernel on. */
    ulonglong2 v[CH_COPY_AHEAD_MAX] = {{0, 0}};

#pragma unroll
    for (uint32_t u = 0; u < ahead; u++)
        if (is_all || from + (size_t)u * step < end) v[u] = from[(size_t)u * step];
#pragma unroll
    for (uint32_t u = 0; u < ahead; u++)
        if (is_all || from + (size_t)u * step < end) to[(size_t)u * step] = v[u];
}

/* Copy the whole pieces, if both sides are aligned. Returns the number of bytes that it
 * copied. */
CH_FN size_t ch_copy_whole(void *dst, const void *src, size_t bytes, uint32_t ahead,
                           struct ch_lanes g)
{
    const size_t pieces =
        ((uintptr_t)dst | (uintptr_t)src) % CH_PIECE_BYTES == 0 ? bytes / CH_PIECE_BYTES : 0;
    const ulonglong2 *from = (const ulonglong2 *)src + g.lane,
                     *end = (const ulonglong2 *)src + pieces;
    ulonglong2 *to = (ulonglong2 *)dst + g.lane;

    for (; from + (size_t)(ahead - 1) * g.width < end;
         from += (size_t)ahead * g.width, to += (size_t)ahead * g.width)
        ch_copy_pieces(to, from, end, g.width, ahead, 1);
    if (from < end) ch_copy_pieces(to, from, end, g.width, ahead, 0);
    return pieces * CH_PIECE_BYTES;
}

/* ch_copy, inside kernels with this number of loads in flight. */
CH_FN void ch_copy_ahead(void *dst, const void *src, size_t bytes, uint32_t ahead,
                         struct ch_lanes g)
{
    if (dst == src) return;
    if (CH_INSIDE_KERNELS) {
        const size_t whole = ch_copy_whole(dst, src, bytes, ahead, g);

        if (whole == bytes) return;
        dst = (char *)dst + whole;
        src = (const char *)src + whole;
        bytes -= whole;
    }
    for (struct ch_batch b = ch_batch_first(CH_PLAIN, dst, bytes, g); ch_batch_more(&b);
         ch_batch_next(&b)) {
        struct ch_value v;

        ch_value_load(&v, (const char *)src, &b);
        ch_value_store((char *)dst, &v, &b);
    }
}

/* Copy plain data with all lanes, between memory of any PEs. Source and destination may be
 * equal. */
CH_FN void ch_copy(void *dst, const void *src, size_t bytes, struct ch_lanes g)
{
    ch_copy_ahead(dst, src, bytes, CH_COPY_AHEAD, g);
}

/* --- packets and lines --- */

/*
 * The position of this lane's piece among the cells: a part of a line, or the first of two
 * packets. The second packets of all pieces follow the first ones, so that accesses of
 * neighbouring lanes cover whole sectors: a store of every other packet takes twice as many
 * accesses, and links are slow with partial sectors.
 */
CH_FN const char *ch_cell_of(const char *cells, const struct ch_batch *b)
{
    return cells + (size_t)((uint32_t)b->piece * CH_PIECE_BYTES);
}

/* Distance in bytes of a piece's second packet from its first. */
CH_FN uint32_t ch_second_packet(const struct ch_batch *b)
{
    return (uint32_t)b->pieces * (uint32_t)sizeof(struct ch_packet);
}

/* Store this lane's batch as packets or a part of a line, with the flag. */
CH_FN void ch_value_send(enum ch_cell kind, char *cells, const struct ch_value *v,
                         const struct ch_batch *b, uint64_t flag)
{
    char *at = (char *)(uintptr_t)ch_cell_of(cells, b);

    if (kind == CH_CELL_ll) {
        if (b->own.bytes != 0) ch_quad_store(at, v->word[0][0], flag);
        if (b->own.bytes > 8) ch_quad_store(at + ch_second_packet(b), v->word[0][1], flag);
    } else {
        __syncwarp(); /* the eight parts of a line are stored together */
        if (b->piece < b->pieces)
            ch_quad_store(at, v->word[0][0],
                          ch_is_flagged((uint32_t)b->piece) ? flag : v->word[0][1]);
    }
}

/* Load this lane's packets or part of a line, once, with their flags. */
CH_FN void ch_value_poll(enum ch_cell kind, const char *cells, struct ch_value *v,
                         const struct ch_batch *b)
{
    const char *at = ch_cell_of(cells, b);

    if (kind == CH_CELL_ll) { /* both at once; if there is only one, that one twice */
        const uint32_t second = ch_opaque(b->own.bytes > 8 ? ch_second_packet(b) : 0);

        ch_quad_load(at, &v->word[0][0], &v->seen[0]);
        ch_quad_load(at + second, &v->word[0][1], &v->seen[1]);
    } else if (b->piece < b->pieces) {
        ch_quad_load(at, &v->word[0][0], &v->word[0][1]);
    }
}

/* Returns 0 if the flags have arrived. The last part of a line contains the flag, and the lines
 * of a warp are combined. */
CH_FN uint64_t ch_value_missing_flags(enum ch_cell kind, const struct ch_value *v,
                                      const struct ch_batch *b, uint64_t flag)
{
    if (kind == CH_CELL_ll) return (v->seen[0] ^ flag) | (v->seen[1] ^ flag);
    return !__all_sync(CH_WARP_ALL, b->piece >= b->pieces ||
                                        !ch_is_flagged((uint32_t)b->piece) ||
                                        v->word[0][1] == flag);
}

/* Poll until the flags have arrived; v then has the data. If *st is an error already, it does
 * not wait; a failure sets *st and the late peer. */
CH_FN void ch_value_wait(const struct ch_coll *c, enum ch_cell kind, uint32_t peer,
                         const char *cells, struct ch_value *v, const struct ch_batch *b,
                         uint64_t flag, chorus_status *st)
{
    struct ch_wait w = {0, 0, 0, 0};
    int stop = *st != CHORUS_OK;

    if (kind == CH_CELL_ll128) stop = __any_sync(CH_WARP_ALL, stop);
    while (!stop && ch_value_missing_flags(kind, v, b, flag) != 0) {
        ch_value_poll(kind, cells, v, b); /* in flight during the rest of the loop */
        *st = ch_wait_slow(c->policy, &w);
        if (*st != CHORUS_OK) *c->late_peer = peer;
        stop = *st != CHORUS_OK;
        if (kind == CH_CELL_ll128) stop = __any_sync(CH_WARP_ALL, stop);
    }
    if (kind == CH_CELL_ll128) ch_value_poll(kind, cells, v, b); /* the data behind the flag */
}

/* If the wait failed, record as late the PE whose message has not arrived; the first PE if all
 * have arrived since, as a failure without a PE is not reported. For lines, the lanes of a warp
 * test together. */
CH_FN void ch_values_record_late(const struct ch_coll *c, enum ch_cell kind,
                                 const struct ch_wanted wanted[CH_AHEAD],
                                 const struct ch_value v[CH_AHEAD], uint32_t ahead,
                                 const struct ch_batch *b, chorus_status st)
{
    if (kind == CH_CELL_ll128 ? !__any_sync(CH_WARP_ALL, st != CHORUS_OK) : st == CHORUS_OK)
        return;
    if (st != CHORUS_OK) *c->late_peer = wanted[0].peer;
    CH_EACH_AHEAD (u)
        if (u < ahead && ch_value_missing_flags(kind, &v[u], b, wanted[u].flag) != 0 &&
            st != CHORUS_OK)
            *c->late_peer = wanted[u].peer;
}

/* Wait for `ahead` messages. All are polled together, since they arrive at about the same time.
 * Those that have arrived are loaded again with the others: they remain until this PE has
 * received all. The next loads are in flight during the rest of the loop, so polls follow each
 * other faster. */
CH_FN void ch_values_wait(const struct ch_coll *c, enum ch_cell kind,
                          const struct ch_wanted wanted[CH_AHEAD], struct ch_value v[CH_AHEAD],
                          uint32_t ahead, const struct ch_batch *b, chorus_status *st)
{
    struct ch_wait w = {0, 0, 0, 0};

    for (;;) {
        int stop = *st != CHORUS_OK;
        uint64_t lacking = 0;

        CH_EACH_AHEAD (u)
            if (u < ahead) lacking |= ch_value_missing_flags(kind, &v[u], b, wanted[u].flag);
        if (kind == CH_CELL_ll128) stop = __any_sync(CH_WARP_ALL, stop);
        if (stop || lacking == 0) break;
        CH_EACH_AHEAD (u)
            if (u < ahead) ch_value_poll(kind, wanted[u].cells, &v[u], b);
        *st = ch_wait_slow(c->policy, &w);
        ch_values_record_late(c, kind, wanted, v, ahead, b, *st);
    }
    CH_EACH_AHEAD (u) /* the data that was loaded with the flags */
        if (kind == CH_CELL_ll128 && u < ahead) ch_value_poll(kind, wanted[u].cells, &v[u], b);
}

/* --- reductions: the element type is a constant of each kernel, the operator is not --- */

/* Is the result of the operator an operand, so that NaN keeps its bits? A sum or product that
 * is NaN is the GPU's NaN. */
CH_FN int ch_keeps_nan(uint32_t op)
{
    return op == CHORUS_OP_min || op == CHORUS_OP_max;
}

/* 16 bytes of a type that is its own accumulator. */
#define CH_DEFINE_WIDEN(T, ctype)                                                  \
    typedef ctype ch_acc_##T;                                                      \
    CH_FN void ch_widen_##T(uint64_t acc[2], const uint64_t word[2], uint32_t op)  \
    {                                                                              \
        (void)op;                                                                  \
        acc[0] = word[0];                                                          \
        acc[1] = word[1];                                                          \
    }                                                                              \
    CH_FN void ch_narrow_##T(uint64_t word[2], const uint64_t acc[2], uint32_t op) \
    {                                                                              \
        (void)op;                                                                  \
        word[0] = acc[0];                                                          \
        word[1] = acc[1];                                                          \
    }

/* Eight 16-bit floating elements, and as many floats. */
#define CH_DEFINE_WIDEN_HALF(T, ctype)                                             \
    typedef float ch_acc_##T;                                                      \
    CH_FN void ch_widen_##T(uint64_t acc[4], const uint64_t word[2], uint32_t op)  \
    {                                                                              \
        float to[8];                                                               \
                                                                                   \
        ch_##T##x8_to_f32(to, word, ch_keeps_nan(op));                             \
        memcpy(acc, to, sizeof(to));                                               \
    }                                                                              \
    CH_FN void ch_narrow_##T(uint64_t word[2], const uint64_t acc[4], uint32_t op) \
    {                                                                              \
        float from[8];                                                             \
                                                                                   \
        memcpy(from, acc, sizeof(from));                                           \
        ch_##T##x8_from_f32(word, from, ch_keeps_nan(op));                         \
    }

/* The pieces of v[first] to v[end - 1], one after another. */
#define CH_CASE(T, A, OP, expr)                                       \
    case CHORUS_OP_##OP:                                              \
        CH_EACH_AHEAD (u)                                             \
            if (first <= u && u < end) {                              \
                uint64_t wide[sizeof(to) / 8];                        \
                A from[n];                                            \
                                                                      \
                ch_widen_##T(wide, v[u].word[piece], CHORUS_OP_##OP); \
                memcpy(from, wide, sizeof(from));                     \
                _Pragma("unroll") for (int e = 0; e < n; e++)         \
                {                                                     \
                    const A a = to[e], b = from[e];                   \
                    to[e] = (expr);                                   \
                }                                                     \
            }                                                         \
        break;

/* acc = acc op v[first] op ... v[end - 1], of one piece. */
#define CH_DEFINE_COMBINE(T, ctype, CLASS)                                                     \
    CH_FN void ch_combine_##T(uint32_t op, uint64_t *acc, const struct ch_value *v, int piece, \
                              uint32_t first, uint32_t end)                                    \
    {                                                                                          \
        const int n = 16 / sizeof(ctype);                                                      \
        ch_acc_##T to[n];                                                                      \
                                                                                               \
        memcpy(to, acc, sizeof(to));                                                           \
        switch (op) {                                                                          \
            CH_OPS_##CLASS(CH_CASE, T, ch_acc_##T)                                             \
        }                                                                                      \
        memcpy(acc, to, sizeof(to));                                                           \
    }

#define CH_DEFINE_WIDEN_INT CH_DEFINE_WIDEN
#define CH_DEFINE_WIDEN_UINT CH_DEFINE_WIDEN
#define CH_DEFINE_WIDEN_FLOAT CH_DEFINE_WIDEN
#define X(T, ctype, CLASS, bytes) \
    CH_ON_GPU(CLASS, bytes,       \
              CH_DEFINE_WIDEN_##CLASS(T, ctype) CH_DEFINE_COMBINE(T, ctype, CLASS))
CHORUS_TYPE_LIST(X)
#undef X

/* The type, as a constant where an object has kernels of one type: the compiler then never sees
 * the code of the others. */
#ifdef CH_KERNEL_TYPE
#define CH_TYPE_NAMED(T) CH_TYPE_NAMED_(T)
#define CH_TYPE_NAMED_(T) CHORUS_TYPE_##T
#define CH_TYPE_OF(c) ((void)(c), CH_TYPE_NAMED(CH_KERNEL_TYPE))
#else
#define CH_TYPE_OF(c) ((c)->type)
#endif

/* Batches of one piece. */
#define CH_PLAIN_SINGLE ((enum ch_cell)(CH_PLAIN + 1))
#define CH_SLOTS_KIND (CH_INSIDE_KERNELS ? CH_PLAIN_SINGLE : CH_CELL_simple)

/* Is the type a 16-bit floating one, which is combined in float? */
CH_FN int ch_is_half(const struct ch_coll *c)
{
    return CH_TYPE_OF(c) == CHORUS_TYPE_f16 || CH_TYPE_OF(c) == CHORUS_TYPE_bf16;
}

/* The kind of batches of plain data that are combined. Inside kernels there are registers for
 * two pieces of sums of 8-byte integers only. */
CH_FN enum ch_cell ch_plain_kind(const struct ch_coll *c)
{
    return CH_INSIDE_KERNELS && (c->elem_bytes < 8 || c->op != CHORUS_OP_sum ||
                                 CH_TYPE_OF(c) == CHORUS_TYPE_f64)
               ? CH_PLAIN_SINGLE
               : CH_CELL_simple;
}

/* How many PEs' data is combined at a time. 16-bit floats take registers for their floats, and
 * bytes for their words, which leave room for the data of one PE. */
CH_FN uint32_t ch_loads_ahead(const struct ch_coll *c)
{
    const int is_one = CH_INSIDE_KERNELS && c->elem_bytes == 1;

    return is_one || (CH_IS_TIGHT && ch_is_half(c)) ? 1 : CH_AHEAD;
}

/* Let the compiler treat bytes as words again, inside kernels, since it would keep a register
 * for each. */
CH_FN void ch_keep_words(const struct ch_coll *c, uint64_t word[2])
{
    if (CH_INSIDE_KERNELS && c->elem_bytes == 1)
        __asm__ volatile("" : "+l"(word[0]), "+l"(word[1]));
}

/* Combine acc with the `left` values v, in their order, or with ch_loads_ahead of them if these
 * are fewer; acc begins with v[0] if is_first. */
CH_FN void ch_acc_combine(const struct ch_coll *c, struct ch_accumulator *acc, int is_first,
                          const struct ch_value v[CH_AHEAD], uint32_t left,
                          const struct ch_batch *b)
{
    if (ch_loads_ahead(c) == 1) left = 1;
#pragma unroll
    for (int p = 0; p < ch_pieces_of(b->kind); p++) {
#define X(T, ctype, CLASS, bytes)                                              \
    CH_ON_GPU(                                                                 \
        CLASS, bytes, if (CH_TYPE_OF(c) == CHORUS_TYPE_##T) {                  \
            if (is_first) ch_widen_##T(acc->word[p], v[0].word[p], c->op);     \
            ch_combine_##T(c->op, acc->word[p], v, p, is_first ? 1 : 0, left); \
            ch_keep_words(c, acc->word[p]);                                    \
        })
        CHORUS_TYPE_LIST(X)
#undef X
    }
}

/* v = acc, rounded to the type. */
CH_FN void ch_acc_to_value(const struct ch_coll *c, struct ch_value *v,
                           const struct ch_accumulator *acc, const struct ch_batch *b)
{
#pragma unroll
    for (int p = 0; p < ch_pieces_of(b->kind); p++) {
#define X(T, ctype, CLASS, bytes)                   \
    CH_ON_GPU(CLASS, bytes,                         \
              if (CH_TYPE_OF(c) == CHORUS_TYPE_##T) \
                  ch_narrow_##T(v->word[p], acc->word[p], c->op);)
        CHORUS_TYPE_LIST(X)
#undef X
    }
}

#endif /* CH_BATCH_CUDA_H */
