/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frames: what chorusrun and its agents may send each other. The input comes in two pieces, as
 * a pipe may cut it.
 */
#include "fuzz.h"

#include "chorusrun_frame.h"

#include <string.h>

/* Every text of an order is inside of it. */
static void look(const struct order *order, const char *bytes, size_t n_bytes)
{
    const char *const *at = order->command;

    FUZZ_CHECK(order->n <= CH_WIRE_PES_MAX && order->n_pes >= 1);
    FUZZ_CHECK(order->first + order->n_pes <= order->n);
    FUZZ_CHECK(order->root >= bytes && order->folder < bytes + n_bytes);
    FUZZ_CHECK(*at != NULL);
    for (; *at != NULL; at++)
        FUZZ_CHECK(*at >= bytes && *at + strlen(*at) < bytes + n_bytes);
    free((void *)(uintptr_t)order->variables);
}

static void take_all(struct buffer *b)
{
    struct order order;
    struct frame frame;
    const char *bytes;

    while (frame_take(b, &frame, &bytes) == FRAME_WHOLE)
        if (frame.kind == FRAME_ORDER && order_read(bytes, frame.bytes, &order))
            look(&order, bytes, frame.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const size_t cut = bytes > 0 ? data[0] % bytes : 0;
    struct buffer b = {0};

    buffer_put(&b, data, cut);
    take_all(&b);
    buffer_put(&b, data + cut, bytes - cut);
    take_all(&b);
    buffer_free(&b);
    return 0;
}
