/* SPDX-License-Identifier: Apache-2.0 */
/*
 * route.h: the way of a kernel to a peer that is not mapped: posts to the ring of the PE, for
 * the functions of link.h. In memory of the GPU, one for each peer of a team.
 */
#ifndef CH_ROUTE_H
#define CH_ROUTE_H

#include "base/ring.h"

struct ch_route {
    struct ch_ring ring;
    uint32_t pe;             /* its number in the job */
    uint32_t unused;         /* padding, as copies are compared as bytes */
    uint64_t *done;          /* [CTAs of a call]: completion words in pinned memory */
    const uint32_t *aborted; /* the limits of waits, see struct ch_wait_policy on a GPU */
    uint64_t timeout_ns;
};

#if CH_ROUTED
/* On a GPU a link is a route. */
CH_FN const struct ch_route *ch_route_of(const struct ch_link *link)
{
    return (const struct ch_route *)(const void *)link;
}

CH_FN struct ch_wait_policy ch_route_policy(const struct ch_route *route)
{
    const struct ch_wait_policy policy = {route->aborted, route->timeout_ns};

    return policy;
}

/* The head of a request of an algorithm. */
CH_FN uint64_t ch_route_head(const struct ch_route *route, enum ch_ring_op op)
{
    return ch_request_head(op, route->pe, 0) | CH_REQUEST_CTX(CH_CTX_ALGORITHMS);
}

/* Post; a failure breaks the ring, so that the flush or the waits of the call fail. */
CH_PART void ch_route_post(const struct ch_route *route, const struct ch_ring_request *request)
{
    const struct ch_wait_policy policy = ch_route_policy(route);

    (void)ch_ring_post(&route->ring, &policy, request);
}

CH_PART void ch_link_post(struct ch_link *link, void *there, const void *src, size_t bytes)
{
    const struct ch_route *route = ch_route_of(link);
    const struct ch_ring_request request = {
        ch_route_head(route, CH_RING_PUT), (uint64_t)there, (uint64_t)src, bytes, 0, 0};

    ch_route_post(route, &request);
}

/* A word may announce what this PE has stored to other peers, which are mapped. */
CH_PART void ch_link_post_word(struct ch_link *link, uint64_t *there, uint64_t value,
                               enum ch_sense sense)
{
    const struct ch_route *route = ch_route_of(link);
    const struct ch_ring_request request = {
        ch_route_head(route, CH_RING_WORD), (uint64_t)there, 0, 0, 0, value};

    if (sense == CH_DATA) ch_release_fence();
    ch_route_post(route, &request);
}

/* Put up to CH_INLINE_BYTES at src into the request. */
CH_FN void ch_route_set_inline(struct ch_ring_request *request, const void *src, size_t bytes)
{
    const unsigned char *at = (const unsigned char *)src;

    request->head |= (uint64_t)bytes << 8;
    request->source = ch_ring_load_word(at, bytes);
    request->bytes = bytes > 8 ? ch_ring_load_word(at + 8, bytes - 8) : 0;
}

CH_PART void ch_link_post_signal(struct ch_link *link, void *there, const void *src,
                                 size_t bytes, uint64_t *word, uint64_t value,
                                 enum ch_sense sense)
{
    const struct ch_route *route = ch_route_of(link);
    struct ch_ring_request request = {ch_route_head(route, CH_RING_PUT_SIGNAL),
                                      (uint64_t)there,
                                      (uint64_t)src,
                                      bytes,
                                      (uint64_t)word,
                                      value};

    (void)sense; /* a request whose data is not in it has a fence */
    if (bytes != 0 && bytes <= CH_INLINE_BYTES) ch_route_set_inline(&request, src, bytes);
    ch_route_post(route, &request);
}

/* Post a FLUSH or QUIET with this head, and wait for it. Calls inside kernels are those of CTA
 * 0. */
CH_PART chorus_status ch_route_await(const struct ch_route *route, uint64_t head)
{
    const struct ch_wait_policy policy = ch_route_policy(route);
    uint64_t *const word = &route->done[CH_INSIDE_KERNELS ? 0 : blockIdx.x];

    return ch_ring_flush(&route->ring, &policy, head, word, ch_word_load(word) + 1);
}

CH_PART chorus_status ch_link_flush(struct ch_link *link)
{
    const struct ch_route *route = ch_route_of(link);

    return ch_route_await(route, ch_route_head(route, CH_RING_FLUSH));
}

/* Wait until all that the CTA has posted to any peer has taken effect. */
CH_PART chorus_status ch_route_quiet(const struct ch_link *link)
{
    return ch_route_await(ch_route_of(link),
                          ch_request_head(CH_RING_QUIET, CH_RING_ALL_PES, 0) |
                              CH_REQUEST_CTX(CH_CTX_ALGORITHMS));
}
#endif

#endif /* CH_ROUTE_H */
