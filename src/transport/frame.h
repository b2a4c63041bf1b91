/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame.h: messages between PEs, for operations that the network cannot perform on memory by
 * itself.
 *
 * A frame is a head and a body. The receiver executes each frame before it reads the next one,
 * so two PEs keep the order of all contexts. Replies are sent in the order of the requests,
 * and nothing else is acknowledged: a reply also confirms that all frames before its request
 * have taken effect. Numbers have the byte order of the hosts, which must all have the same.
 */
#ifndef CH_FRAME_H
#define CH_FRAME_H

#include "transport/amo.h"
#include "transport/parts.h"

#include <stdint.h>

enum ch_frame_kind {
    CH_FRAME_PUT = 1,  /* body: `value` bytes for `there` */
    CH_FRAME_WORD,     /* the word at `there` becomes `value` */
    CH_FRAME_GET,      /* reply: the `value` bytes at `there` */
    CH_FRAME_AMO,      /* body: ch_frame_operands; reply, if one is wanted: 8 bytes */
    CH_FRAME_ASK,      /* reply: no bytes */
    CH_FRAME_REPLY,    /* body: `value` bytes */
    CH_FRAME_BYE,      /* the sender closes the link on purpose */
    CH_FRAME_CHANNELS, /* over tcp: `value` channels of the link are open; 0: none will be */
};

struct ch_frame {
    uint8_t kind;
    uint8_t op;          /* of an AMO: enum ch_amo */
    uint8_t width;       /* and its bytes */
    uint8_t wants_reply; /* and whether its sender needs the old value */
    uint32_t parts; /* of a PUT or REPLY over tcp: number of parts in which its body is sent,
                       see tcp/channel.c; 0: as a whole */
    uint64_t there; /* an address of the receiver */
    uint64_t value;
};

struct ch_frame_operands {
    uint64_t value, compare;
};

/* Execute a WORD. False: it names a word that is not attached; nothing was changed. */
static inline bool ch_frame_word(struct ch_parts *parts, const struct ch_frame *frame)
{
    uint64_t *const word = (uint64_t *)(uintptr_t)frame->there;

    if (frame->there % sizeof(*word) != 0 || !ch_parts_hold(parts, frame->there, sizeof(*word)))
        return false;
    __atomic_store_n(word, frame->value, __ATOMIC_RELEASE);
    return true;
}

/* The same for an AMO, whose operands follow its head; sets the old value. */
static inline bool ch_frame_amo(struct ch_parts *parts, const struct ch_frame *frame,
                                const struct ch_frame_operands *operands, uint64_t *before_out)
{
    if (frame->op > CH_AMO_COMPARE_SWAP || (frame->width != 4 && frame->width != 8) ||
        frame->there % frame->width != 0 || !ch_parts_hold(parts, frame->there, frame->width))
        return false;
    *before_out = ch_amo_apply((enum ch_amo)frame->op, (void *)(uintptr_t)frame->there,
                               frame->width, operands->value, operands->compare);
    return true;
}

#endif /* CH_FRAME_H */
