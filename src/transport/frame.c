/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/frame.h"

#include "transport/amo.h"

bool ch_frame_word(struct ch_parts *parts, const struct ch_frame *frame)
{
    uint64_t *const word = (uint64_t *)(uintptr_t)frame->there;

    if (frame->there % sizeof(*word) != 0 || !ch_parts_hold(parts, frame->there, sizeof(*word)))
        return false;
    __atomic_store_n(word, frame->value, __ATOMIC_RELEASE);
    return true;
}

bool ch_frame_amo(struct ch_parts *parts, const struct ch_frame *frame,
                  const struct ch_frame_operands *operands, uint64_t *before_out)
{
    if (frame->op > CH_AMO_COMPARE_SWAP || (frame->width != 4 && frame->width != 8) ||
        frame->there % frame->width != 0 || !ch_parts_hold(parts, frame->there, frame->width))
        return false;
    *before_out = ch_amo_apply((enum ch_amo)frame->op, (void *)(uintptr_t)frame->there,
                               frame->width, operands->value, operands->compare);
    return true;
}
