/* SPDX-License-Identifier: Apache-2.0 */
/*
 * post.c: the requests of operations of the program on streams, for peers that are not near.
 * The kernel waits until later work of the stream may run: of a get, for its data; of a put,
 * until its source may change; of a signal, until the network has it.
 */
#include "transport/post.h"

#include "heap/heap.h"
#include "transport/links.h"

static uint64_t number_of(const void *address)
{
    return (uint64_t)(uintptr_t)address;
}

/* The peer's own address of its copy of a symmetric object. */
static uint64_t there_of(const struct ch_links *links, const void *symmetric, uint32_t pe)
{
    return number_of(symmetric) + (uint64_t)links->to[pe].shift;
}

static uint64_t head_of(const struct ch_stream_op *op, enum ch_ring_op ring_op)
{
    return ch_request_head(ring_op, op->pe, 0) | CH_REQUEST_CTX(CH_CTX_DEFAULT) |
           (op->adds ? CH_REQUEST_ADDS : 0);
}

/* The request of an operation; that of a quiet is none. */
static struct ch_ring_request request_of(const struct ch_links *links,
                                         const struct ch_stream_op *op)
{
    struct ch_ring_request r = {.head = 0};

    switch (op->what) {
    case CH_STREAM_PUT:
        r.head = head_of(op, CH_RING_PUT);
        break;
    case CH_STREAM_GET:
        r.head = head_of(op, CH_RING_GET);
        r.there = there_of(links, op->source, op->pe);
        r.source = number_of(op->dest);
        r.bytes = op->bytes;
        return r;
    case CH_STREAM_PUT_SIGNAL:
        r.head = head_of(op, CH_RING_PUT_SIGNAL);
        r.word = there_of(links, op->word, op->pe);
        r.value = op->value;
        break;
    case CH_STREAM_SIGNAL:
        r.head = head_of(op, CH_RING_WORD);
        r.there = there_of(links, op->word, op->pe);
        r.value = op->value;
        return r;
    case CH_STREAM_QUIET:
        return r;
    }
    r.there = there_of(links, op->dest, op->pe);
    r.source = number_of(op->source);
    r.bytes = op->bytes;
    return r;
}

/* What the kernel waits for. */
static struct ch_ring_request call_of(const struct ch_stream_op *op)
{
    const bool is_quiet = op->what == CH_STREAM_QUIET;

    return (struct ch_ring_request){
        .head = ch_request_head(is_quiet || op->what == CH_STREAM_GET ? CH_RING_QUIET
                                                                      : CH_RING_FLUSH,
                                is_quiet ? CH_RING_ALL_PES : op->pe, 0) |
                CH_REQUEST_CTX(CH_CTX_DEFAULT)};
}

chorus_status ch_links_queue(struct ch_links *links, void *stream,
                             const struct ch_stream_op *op)
{
    const struct ch_post post = {.ring = *ch_links_ring(links),
                                 .request = request_of(links, op),
                                 .call = call_of(op),
                                 .limit = op->limit};

    CH_TRY(ch_post_launch(ch_heap_device(links->heap), stream, &post));
    ch_links_expect_posts(links);
    return CHORUS_OK;
}
