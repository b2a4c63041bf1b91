/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parts.h: the memory of a PE that peers may access: parts, some of which are adjacent; and
 * messages of networks that access it.
 */
#ifndef CH_PARTS_H
#define CH_PARTS_H

#include "base/error.h"
#include "transport/amo.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ch_part {
    uintptr_t base;
    size_t bytes;
    uint64_t key;
    void *handle; /* handle of the network */
};

/* Zeroed before use; ch_parts_free frees it. */
struct ch_parts {
    struct ch_part *all; /* [n], ordered by address; they do not overlap */
    size_t n, last;      /* the result of the last search */
};

/* A pointer to a part is valid until parts are added or removed. */
CH_MUST_CHECK chorus_status ch_parts_add(struct ch_parts *parts, struct ch_part part);
/* Remove the part that begins at base. False: there is none. */
bool ch_parts_remove(struct ch_parts *parts, uintptr_t base, struct ch_part *part_out);
void ch_parts_free(struct ch_parts *parts);

/* The part that contains the byte at `there`; null: there is none. */
const struct ch_part *ch_parts_find(struct ch_parts *parts, uintptr_t there);
/* Are these bytes in parts? A heap that grows is attached in several parts, and an object may
 * span them. */
bool ch_parts_hold(struct ch_parts *parts, uintptr_t there, uint64_t bytes);

/* ---- messages between PEs ---- */

/*
 * Messages between PEs, for operations that the network cannot perform on memory by
 * itself.
 *
 * A frame is a head and a body. The receiver executes each frame before it reads the next one,
 * so two PEs keep the order of all contexts. Replies are sent in the order of the requests,
 * and nothing else is acknowledged: a reply also confirms that all frames before its request
 * have taken effect. Numbers have the byte order of the hosts, which must all have the same.
 */

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

#endif /* CH_PARTS_H */
