/* SPDX-License-Identifier: Apache-2.0 */
/* net_pes.h: the PEs of a job with a network between them, each with memory that it attached.
 */
#ifndef CH_TEST_NET_PES_H
#define CH_TEST_NET_PES_H

#include "heap_pes.h"
#include "transport/link.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NET_PES_MAX = 4 };

struct net_pe {
    struct ch_boot *boot;
    const struct ch_link_ops *ops;
    struct ch_options options;
    struct ch_door door;
    struct ch_endpoint *ep;
    uint32_t me, n, next, before; /* neighbours in a ring */
    ptrdiff_t maps[NET_PES_MAX];
    uint32_t nodes[NET_PES_MAX];
    const char *hosts[NET_PES_MAX];
    char *memory; /* attached */
    size_t bytes;
    char *there[NET_PES_MAX]; /* every PE's memory, at its own address */
};

/* Collective. The secret is of this byte. */
void net_pe_open(struct net_pe *pe, struct ch_boot *boot, const struct ch_link_ops *ops,
                 size_t bytes, unsigned char secret);
void net_pe_close(struct net_pe *pe); /* not collective */

/* The peer's word becomes this value, after the puts before it. */
static inline void net_put_word(const struct ch_link_ops *ops, struct ch_endpoint *ep,
                                uint32_t ctx, uint32_t pe, uint64_t *word, uint64_t value)
{
    const struct ch_put_signal put = {.word = word, .op = CH_AMO_SET, .value = value};

    (void)ops->put_signal(ep, ctx, pe, &put);
}

/* Attach one more part of this PE's memory. */
void net_pe_attach(struct net_pe *pe, char *memory, size_t bytes, uint64_t *key_out);

/* Share the key of one more part, which each PE attached at its `part`. */
void net_pe_share(struct net_pe *pe, char *part, size_t bytes, uint64_t key,
                  char *there_out[NET_PES_MAX]);

/* Return when the threads of all PEs did; assert that every EXPECT held. */
void net_run(uint32_t n, pes_main pe_main);

/* Progress once; another thread may have the core. False: it has failed, which no test expects
 * here, so that waits end. */
bool net_pe_step(struct net_pe *pe);
/* Until all PEs, which are threads, have come; all make progress meanwhile. */
void net_pe_meet(struct net_pe *pe);
/* Until all that was posted in ctx to `to` is so far. */
void net_pe_sent(struct net_pe *pe, uint32_t ctx, uint32_t to);
void net_pe_done(struct net_pe *pe, uint32_t ctx, uint32_t to);
/* Until the own word is at least this. */
void net_pe_word(struct net_pe *pe, const uint64_t *word, uint64_t least);
/* Progress until it fails; its code, and the message is the last. */
chorus_status net_pe_fails(struct net_pe *pe);

/* Bytes that differ with the seed, and whether they are these. */
void net_fill(void *memory, size_t bytes, uint64_t seed);
bool net_is_filled(const void *memory, size_t bytes, uint64_t seed);

#endif /* CH_TEST_NET_PES_H */
