/* SPDX-License-Identifier: Apache-2.0 */
/*
 * halo_order.h: the links of a halo exchange, and what can be done of them next; for the
 * library's exchanges on hosts and for those in kernels, of halo_device.cuh. Not for programs.
 *
 * For each link a PE has two message slots for what comes by it, forward and reverse, of the
 * odd and the even steps, and two words for each slot. The peer writes a slot, then its word
 * `arrived`: the step. The PE that has taken a slot's contents writes the step to the sender's
 * word `freed` of this slot, and a sender writes the slot of a step once the step two before it
 * is freed. So neighbours may be a step apart, and PEs that only send or only receive cannot be
 * further ahead either. As each slot has words of its own, no two writes to a word are ever
 * under way at once, which networks need not order.
 */
#ifndef CHORUS_APPS_HALO_ORDER_H
#define CHORUS_APPS_HALO_ORDER_H

#include <stdint.h>

/* In kernels, halo_device.cuh defines what functions are, and a load after which is seen what
 * was stored before the value. */
#ifndef CH_HALO_FN
#define CH_HALO_FN static inline
#define CH_HALO_LOAD(word) __atomic_load_n((word), __ATOMIC_ACQUIRE)
#endif

/* Of a message, for each block of a kernel that has a share: 16 for each of 512 lanes. Tests
 * have less. */
#ifndef CH_HALO_SHARE_BYTES
#define CH_HALO_SHARE_BYTES 8192
#endif

enum { CH_HALO_FORWARD, CH_HALO_REVERSE, CH_HALO_WAYS };

/* For kernels: the elements of a part, by their indices, or from `first` on. */
struct ch_halo_list {
    const uint32_t *indices;
    uint64_t first;
};

/* One way of a link: what goes out, and what comes in. Constant during an exchange. */
struct ch_halo_way {
    uint64_t n_out, n_in; /* elements */
    uint64_t at_once;     /* elements of out that depend on no others: those before the first
                             that does */
    uint32_t *after;      /* links whose `in` of this way is taken before the rest goes out */
    uint32_t *in_after;   /* links whose `in` is taken before that of this one */
    uint32_t n_after, n_in_after;
    char *slots; /* of this PE: two, one after the other */
    char *there,
        *direct;   /* the peer's, by the address of this PE, and as it is mapped, or null */
    char *staging; /* if it is not mapped: as many bytes, from which they are put */
    /* Of the slots of even and of odd steps: */
    uint64_t *arrived[2], *freed[2];             /* of this PE */
    uint64_t *arrived_there[2], *freed_there[2]; /* of the peer, by addresses of this PE */
    uint64_t sent, taken;                        /* steps before this exchange */
    uint64_t *ready; /* the step whose `in` has been taken, by all blocks of a kernel */
    /* Of kernels: */
    struct ch_halo_list out, in;
    uint32_t *n_packed, *n_taken; /* blocks that have done their share of this step */
    int64_t peer;                 /* number in the job */
};

enum ch_halo_send_state { CH_HALO_SENT, CH_HALO_PARTLY_SENT, CH_HALO_NOT_SENT };

/* What has been done in this exchange: by a PE's host, or by one block of its kernel. */
struct ch_halo_own {
    uint8_t sent, is_taken;
};

/* Of the kernels of an object. */
struct ch_halo_common {
    char *array;         /* of an exchange that has begun, and has not ended */
    uint32_t n_ended;    /* blocks, of the kernel that ends one */
    uint32_t has_failed; /* a wait has: nothing is done any more */
};

/* The links of one way. */
struct ch_halo_view {
    const struct ch_halo_way *ways;
    struct ch_halo_own *own;
    uint32_t n;
    int is_reverse; /* later links come first */
};

enum ch_halo_what { CH_HALO_NOTHING, CH_HALO_TAKE, CH_HALO_SEND, CH_HALO_FAILED };

/* What can be done next; of a send, for the elements [from, to). */
struct ch_halo_act {
    uint32_t what, link;
    uint64_t from, to;
};

/* Bytes of a slot for so many elements: a multiple of a cache line. */
CH_HALO_FN uint64_t ch_halo_slot_bytes(uint64_t count, uint64_t elem_bytes)
{
    return (count * elem_bytes + 63) / 64 * 64;
}

/* Where the slot of a step is: those of odd and of even steps alternate. */
CH_HALO_FN uint64_t ch_halo_slot_at(uint64_t count, uint64_t elem_bytes, uint64_t step)
{
    return (step & 1) * ch_halo_slot_bytes(count, elem_bytes);
}

/* Blocks of a kernel among which a message of so many bytes is divided. */
CH_HALO_FN uint64_t ch_halo_blocks_of(uint64_t bytes)
{
    return (bytes + CH_HALO_SHARE_BYTES - 1) / CH_HALO_SHARE_BYTES;
}

CH_HALO_FN int ch_halo_are_taken(const struct ch_halo_way *ways, const uint32_t *links,
                                 uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct ch_halo_way *w = &ways[links[i]];

        if (w->n_in > 0 && CH_HALO_LOAD(w->ready) <= w->taken) return 0;
    }
    return 1;
}

/* The slot of this step may be written. */
CH_HALO_FN int ch_halo_is_free(const struct ch_halo_way *w)
{
    const uint64_t step = w->sent + 1;

    return CH_HALO_LOAD(w->freed[step & 1]) + 2 >= step;
}

CH_HALO_FN int ch_halo_has_arrived(const struct ch_halo_way *w)
{
    const uint64_t step = w->taken + 1;

    return CH_HALO_LOAD(w->arrived[step & 1]) >= step;
}

CH_HALO_FN int ch_halo_can_take(const struct ch_halo_view *v, uint32_t link)
{
    const struct ch_halo_way *w = &v->ways[link];

    return !v->own[link].is_taken && ch_halo_has_arrived(w) &&
           ch_halo_are_taken(v->ways, w->in_after, w->n_in_after);
}

/* Which elements can be sent now; whether there are any. */
CH_HALO_FN int ch_halo_can_send(const struct ch_halo_view *v, uint32_t link, uint64_t *from_out,
                                uint64_t *to_out)
{
    const struct ch_halo_way *w = &v->ways[link];
    const uint8_t sent = v->own[link].sent;
    int has_all;

    if (sent == CH_HALO_SENT) return 0;
    has_all = ch_halo_are_taken(v->ways, w->after, w->n_after);
    *from_out = sent == CH_HALO_PARTLY_SENT ? w->at_once : 0;
    *to_out = has_all ? w->n_out : w->at_once;
    return *from_out < *to_out && (sent == CH_HALO_PARTLY_SENT || ch_halo_is_free(w));
}

/* Something that can be done, where all links are looked at once, from number *at on. */
CH_HALO_FN struct ch_halo_act ch_halo_find(const struct ch_halo_view *v, uint32_t *at)
{
    struct ch_halo_act act = {CH_HALO_NOTHING, 0, 0, 0};

    for (uint32_t i = 0; i < v->n; i++) {
        act.link = v->is_reverse ? v->n - 1 - *at : *at;
        if (ch_halo_can_take(v, act.link)) {
            act.what = CH_HALO_TAKE;
            return act;
        }
        if (ch_halo_can_send(v, act.link, &act.from, &act.to)) {
            act.what = CH_HALO_SEND;
            return act;
        }
        *at = *at + 1 < v->n ? *at + 1 : 0;
    }
    return act;
}

/* A part has been packed. Is it the last one? */
CH_HALO_FN int ch_halo_note_sent(const struct ch_halo_view *v, const struct ch_halo_act *act)
{
    const int is_last = act->to == v->ways[act->link].n_out;

    v->own[act->link].sent = is_last ? CH_HALO_SENT : CH_HALO_PARTLY_SENT;
    return is_last;
}

CH_HALO_FN int ch_halo_is_done(const struct ch_halo_view *v)
{
    for (uint32_t i = 0; i < v->n; i++)
        if (!v->own[i].is_taken || v->own[i].sent != CH_HALO_SENT) return 0;
    return 1;
}

#endif /* CHORUS_APPS_HALO_ORDER_H */
