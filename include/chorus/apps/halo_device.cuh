/* SPDX-License-Identifier: Apache-2.0 */
/*
 * halo_device.cuh: halo exchange inside kernels of the program, a link at a time; over the
 * calls of chorus_device.cuh, which this includes. docs/halo.md has an example.
 *
 * The host makes the object (chorus/apps/halo.h), gets a handle of it by chorusx_halo_device,
 * and passes the handle to the kernel as an argument.
 *
 * The library's own kernels are made of the same functions; their blocks share the elements of
 * a link.
 */
#ifndef CHORUS_APPS_HALO_DEVICE_CUH
#define CHORUS_APPS_HALO_DEVICE_CUH

#include "chorus/chorus_device.cuh"

#include "chorus/apps/halo.h"

#define CH_HALO_FN CH_FN
#define CH_HALO_LOAD(word) chorus_signal_fetch(word)
#include "chorus/apps/halo_order.h"

/* --- copies ------------------------------------------------------------------------------- */
enum ch_halo_how { CH_HALO_PACK, CH_HALO_UNPACK, CH_HALO_ADD };

/* Words [lo, hi) of a message, which lies in a slot, and of whose elements the places in the
 * array are listed. */
struct ch_halo_span {
    char *slot, *array;
    const uint32_t *indices; /* null: the elements follow each other */
    uint32_t lo, hi, words;  /* words: of an element */
};

/* The part of a block in what several do. */
struct ch_halo_share {
    uint32_t rank, n;
};

CH_FN uint32_t ch_halo_lane(void)
{
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

/* The bytes of the words of which all that is given here is a multiple. */
CH_FN uint32_t ch_halo_word_bytes(uint64_t of_all)
{
    if (of_all % 16 == 0) return 16;
    if (of_all % 8 == 0) return 8;
    if (of_all % 4 == 0) return 4;
    return of_all % 2 == 0 ? 2 : 1;
}

/* A word of so many bytes, which are a constant. */
CH_FN ulonglong2 ch_halo_load(const char *at, uint32_t bytes)
{
    ulonglong2 word;

    word.x = word.y = 0;
    if (bytes == 16)
        word = *(const ulonglong2 *)at;
    else if (bytes == 8)
        word.x = *(const unsigned long long *)at;
    else if (bytes == 4)
        word.x = *(const uint32_t *)at;
    else if (bytes == 2)
        word.x = *(const uint16_t *)at;
    else
        word.x = *(const uint8_t *)at;
    return word;
}

CH_FN void ch_halo_store(char *at, ulonglong2 word, uint32_t bytes)
{
    if (bytes == 16)
        *(ulonglong2 *)at = word;
    else if (bytes == 8)
        *(unsigned long long *)at = word.x;
    else if (bytes == 4)
        *(uint32_t *)at = (uint32_t)word.x;
    else if (bytes == 2)
        *(uint16_t *)at = (uint16_t)word.x;
    else
        *(uint8_t *)at = (uint8_t)word.x;
}

/* The sum of two values of a type, which is a constant, as their bits. */
CH_FN ulonglong2 ch_halo_sum(ulonglong2 a, ulonglong2 b, uint32_t type)
{
    if (type == CHORUS_TYPE_f32) {
        const uint32_t a_bits = (uint32_t)a.x, b_bits = (uint32_t)b.x;
        uint32_t bits;
        float x, y;

        memcpy(&x, &a_bits, sizeof(x));
        memcpy(&y, &b_bits, sizeof(y));
        x = x + y;
        memcpy(&bits, &x, sizeof(bits));
        a.x = bits;
    } else if (type == CHORUS_TYPE_f64) {
        double x, y;

        memcpy(&x, &a.x, sizeof(x));
        memcpy(&y, &b.x, sizeof(y));
        x = x + y;
        memcpy(&a.x, &x, sizeof(x));
    } else {
        a.x += b.x; /* of i32, what is above its bits is not stored */
    }
    return a;
}

/* Where a word of the message is in the array. */
CH_FN char *ch_halo_place(const struct ch_halo_span *s, uint32_t word, uint32_t bytes)
{
    uint32_t element;

    if (s->indices == 0) return s->array + (uint64_t)word * bytes;
    element = word / s->words;
    return s->array +
           ((uint64_t)s->indices[element] * s->words + (word - element * s->words)) * bytes;
}

/* The first word of this lane's. Which words it has does not depend on the part of the message
 * that is packed: some blocks may pack in one part what others pack in two. */
CH_FN uint32_t ch_halo_first_word(const struct ch_halo_span *s, uint32_t first, uint32_t step)
{
    return s->lo <= first ? first : first + (s->lo - first + step - 1) / step * step;
}

/* how, bytes and type are constants. A lane loads four words before it stores the first, since
 * the time is that of the loads. */
CH_FN void ch_halo_move(const struct ch_halo_span *s, int how, uint32_t bytes, uint32_t type,
                        struct ch_halo_share share)
{
    enum { AHEAD = 4 };
    const uint32_t width = blockDim.x * blockDim.y * blockDim.z, step = share.n * width;

    for (uint32_t i = ch_halo_first_word(s, share.rank * width + ch_halo_lane(), step);
         i < s->hi; i += AHEAD * step) {
        ulonglong2 words[AHEAD];

        for (uint32_t k = 0; k < AHEAD; k++) {
            /* Past the end, the first one again, which is not stored. */
            const uint32_t at = i + k * step < s->hi ? i + k * step : i;
            const char *slot = s->slot + (uint64_t)at * bytes,
                       *place = ch_halo_place(s, at, bytes);

            words[k] = ch_halo_load(how == CH_HALO_PACK ? place : slot, bytes);
            if (how == CH_HALO_ADD)
                words[k] = ch_halo_sum(ch_halo_load(place, bytes), words[k], type);
        }
        for (uint32_t k = 0; k < AHEAD; k++) {
            const uint32_t at = i + k * step;

            if (at < s->hi)
                ch_halo_store(how == CH_HALO_PACK ? s->slot + (uint64_t)at * bytes
                                                  : ch_halo_place(s, at, bytes),
                              words[k], bytes);
        }
    }
}

/* Elements [from, to) of a message as words of so many bytes. */
CH_FN struct ch_halo_span ch_halo_span_of(const struct ch_halo_list *list, char *slot,
                                          char *array, uint64_t elem_bytes,
                                          const struct ch_halo_act *act, uint32_t bytes)
{
    struct ch_halo_span s;

    s.slot = slot;
    s.array = array + list->first * elem_bytes;
    s.indices = list->indices;
    s.words = (uint32_t)elem_bytes / bytes;
    s.lo = (uint32_t)(act->from * elem_bytes) / bytes;
    s.hi = (uint32_t)(act->to * elem_bytes) / bytes;
    return s;
}

/* The bytes of a message's words. Of elements that follow each other, words may be longer than
 * they are, but are not of two parts of a message, of which the first has at_once elements. */
CH_FN uint32_t ch_halo_words_of(const struct ch_halo_list *list, const char *array,
                                uint64_t elem_bytes, uint64_t n, uint64_t at_once)
{
    if (list->indices != 0) return ch_halo_word_bytes(elem_bytes | (uintptr_t)array);
    return ch_halo_word_bytes((uintptr_t)(array + list->first * elem_bytes) |
                              at_once * elem_bytes | n * elem_bytes);
}

/* Copy a part of a message, in words of so many bytes; all threads of the block. */
CH_FN void ch_halo_copy(const struct ch_halo_span *s, uint32_t bytes, int how,
                        struct ch_halo_share share)
{
    if (bytes == 16)
        ch_halo_move(s, how, 16, CHORUS_TYPE_u8, share);
    else if (bytes == 8)
        ch_halo_move(s, how, 8, CHORUS_TYPE_u8, share);
    else if (bytes == 4)
        ch_halo_move(s, how, 4, CHORUS_TYPE_u8, share);
    else if (bytes == 2)
        ch_halo_move(s, how, 2, CHORUS_TYPE_u8, share);
    else
        ch_halo_move(s, how, 1, CHORUS_TYPE_u8, share);
}

/* --- messages ----------------------------------------------------------------------------- */
/* Pack elements of a link straight into the peer's slot, or into memory from which they are
 * put. */
CH_FN void ch_halo_pack_part(const struct ch_halo_way *w, char *array, uint64_t elem_bytes,
                             const struct ch_halo_act *act, struct ch_halo_share share)
{
    const uint32_t bytes = ch_halo_words_of(&w->out, array, elem_bytes, w->n_out, w->at_once);
    char *const slots = w->direct != 0 ? w->direct : w->staging, *const slot =
                                                                     slots + ch_halo_slot_at(
                                                                                 w->n_out,
                                                                                 elem_bytes,
                                                                                 w->sent + 1);
    const struct ch_halo_span s = ch_halo_span_of(&w->out, slot, array, elem_bytes, act, bytes);

    ch_halo_copy(&s, bytes, CH_HALO_PACK, share);
}

CH_FN char *ch_halo_slot_of(const struct ch_halo_way *w, uint64_t elem_bytes)
{
    return w->slots + ch_halo_slot_at(w->n_in, elem_bytes, w->taken + 1);
}

/* Store what came by a link in its elements, of which act has all. */
CH_FN void ch_halo_unpack_all(const struct ch_halo_way *w, char *array, uint64_t elem_bytes,
                              const struct ch_halo_act *act, struct ch_halo_share share)
{
    const uint32_t bytes = ch_halo_words_of(&w->in, array, elem_bytes, w->n_in, 0);
    const struct ch_halo_span s =
        ch_halo_span_of(&w->in, ch_halo_slot_of(w, elem_bytes), array, elem_bytes, act, bytes);

    ch_halo_copy(&s, bytes, CH_HALO_UNPACK, share);
}

/* All threads of a block, the last that packed, which has seen that the others have: the peer's
 * slot is complete. Its wait is for the word `arrived`. is_far: a constant, not 0 if the peer
 * may not be mapped; without the put a kernel has 40 registers less. */
CH_FN void ch_halo_announce(const struct ch_halo_way *w, uint64_t elem_bytes, int is_far)
{
    const uint64_t step = w->sent + 1, at = ch_halo_slot_at(w->n_out, elem_bytes, step);

    if (is_far && w->direct == 0) {
        chorusx_putmem_signal_nbi_block(w->there + at, w->staging + at, w->n_out * elem_bytes,
                                        w->arrived_there[step & 1], step, CHORUS_SIGNAL_SET,
                                        (int)w->peer);
    } else if (ch_halo_lane() == 0) {
        __threadfence_system(); /* what all lanes and blocks stored is there before */
        chorusx_signal_op(w->arrived_there[step & 1], step, CHORUS_SIGNAL_SET, (int)w->peer);
    }
}

/* One thread, once all have read the slot: the peer may write it, and what depends on its
 * elements may go on. */
CH_FN void ch_halo_free_slot(const struct ch_halo_way *w)
{
    const uint64_t step = w->taken + 1;

    __threadfence_system(); /* what all lanes and blocks read and stored is before */
    chorusx_signal_op(w->ready, step, CHORUS_SIGNAL_SET, chorus_my_pe());
    chorusx_signal_op(w->freed_there[step & 1], step, CHORUS_SIGNAL_SET, (int)w->peer);
}

/* Wait for a word of this link; all threads of the block. */
CH_FN void ch_halo_await_word(uint64_t *word, uint64_t least)
{
    if (ch_halo_lane() == 0) (void)chorus_signal_wait_until(word, CHORUS_CMP_GE, least);
    __syncthreads(); /* what came before the word is there for all */
}

/* --- calls -------------------------------------------------------------------------------- */
/**
 * Send the elements of a link's send, by one block: pack and put_signal in one. Where the peer
 * is mapped, they are packed straight into its memory.
 *
 * @param halo   of chorusx_halo_device
 * @param link   number of the link, as it was given to chorusx_halo_create
 * @param array  [in] the elements, in this GPU's memory
 *
 * Collective: with the peer, whose kernel calls chorusx_halo_unpack_block, or whose PE makes an
 *             exchange on a stream. In each step, every link once, by one block.
 * Threads:    all threads of a block, of any shape; blocks may send other links at once.
 * Ordering:   begins with a barrier of the block: what its threads have written is sent. On
 *             return the array may be changed. Elements that come by other links must be there:
 *             the program orders that.
 * Errors:     waits until the peer has taken the step two before; if that fails, it is
 *             reported, as of any wait.
 * Source:     of this library; GROMACS's fused pack and put.
 * Since:      0.1
 */
CHORUS_DEVICE void chorusx_halo_pack_put_block(const chorusx_halo_device_t *halo, int link,
                                               const void *array)
{
    struct ch_halo_way *const w = &halo->ways[CH_HALO_FORWARD][link];
    const struct ch_halo_share alone = {0, 1};
    const struct ch_halo_act all = {CH_HALO_SEND, (uint32_t)link, 0, w->n_out};
    const uint64_t step = w->sent + 1;

    if (w->n_out == 0) return;
    ch_halo_await_word(w->freed[step & 1], step > 2 ? step - 2 : 0);
    ch_halo_pack_part(w, (char *)(uintptr_t)array, halo->elem_bytes, &all, alone);
    __syncthreads(); /* all lanes have packed */
    ch_halo_announce(w, halo->elem_bytes, 1);
    __syncthreads(); /* all have read the step */
    if (ch_halo_lane() == 0) w->sent = step;
    __syncthreads(); /* the next call sees it */
}

/**
 * Wait for what the peer sends by a link, and store it in the elements of the link's recv, by
 * one block.
 *
 * @param halo   of chorusx_halo_device
 * @param link   number of the link, as it was given to chorusx_halo_create
 * @param array  [out] the elements, in this GPU's memory
 *
 * Collective: with the peer, as of chorusx_halo_pack_put_block.
 * Threads:    as of chorusx_halo_pack_put_block.
 * Ordering:   ends with a barrier of the block, after which its threads see the elements, and
 *             others of the GPU after a fence.
 * Errors:     a wait that fails is reported; the elements are then undefined.
 * Source:     of this library; GROMACS's fused pack and put.
 * Since:      0.1
 */
CHORUS_DEVICE void chorusx_halo_unpack_block(const chorusx_halo_device_t *halo, int link,
                                             void *array)
{
    struct ch_halo_way *const w = &halo->ways[CH_HALO_FORWARD][link];
    const struct ch_halo_share alone = {0, 1};
    const struct ch_halo_act all = {CH_HALO_TAKE, (uint32_t)link, 0, w->n_in};
    const uint64_t step = w->taken + 1;

    if (w->n_in == 0) return;
    ch_halo_await_word(w->arrived[step & 1], step);
    ch_halo_unpack_all(w, (char *)array, halo->elem_bytes, &all, alone);
    __syncthreads(); /* all lanes have read the slot */
    if (ch_halo_lane() == 0) {
        ch_halo_free_slot(w);
        w->taken = step;
    }
    __syncthreads(); /* the next call sees it */
}

#endif /* CHORUS_APPS_HALO_DEVICE_CUH */
