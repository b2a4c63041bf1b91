/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net.h: a network, which carries the operations of a PE to the PEs of other hosts.
 *
 * There is one constant table per kind: tcp, ofi, verbs, and loop for tests. If the build does
 * not support a kind, the open function of its table fails with the reason. network.h
 * implements transport, routes and progress with these tables, and is the only caller besides
 * tests.
 *
 * Memory. A PE attaches the parts of its segment when they are committed, and gets a key for
 * each, which every peer receives. An object on a peer is named by the peer's own address, and
 * must be in attached parts, of which it may span several if a heap has grown. Sources and
 * destinations at this PE are in any memory of the process: a network that needs registered
 * memory copies data that is not in attached parts, or registers its memory.
 *
 * Order. A context is an ordering domain. Of the operations of one context to one peer, `say`
 * and `amo` take effect in their order, and after all earlier puts, for any reader on the peer.
 * Puts and gets are not ordered among themselves, except puts with CH_NET_IN_ORDER. Operations
 * of different contexts, or to different peers, are not ordered.
 *
 * Time. Posting does not wait for the peer. If a queue is full, it makes progress until there
 * is room or the link fails, and lets other threads run meanwhile. Posting returns no status:
 * the first failure of a link is kept, and progress returns it from then on. Operations to a
 * failed link do nothing, and is_sent and is_done return false from then on, since a get or an
 * atomic has not fetched its value: a wait continues until progress returns the failure.
 *
 * Threads: the caller holds a lock around every call. A network that waits for room releases it
 * from time to time, by give_way; other threads may then post operations before this one.
 */
#ifndef CH_NET_H
#define CH_NET_H

#include "base/door.h"
#include "base/error.h"
#include "base/option.h"
#include "transport/amo.h"

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ch_net;

enum {
    CH_NET_IN_ORDER =
        1u << 0, /* puts of one context to one peer take effect in the order of posting */
    CH_NET_PASSIVE =
        1u << 1, /* all operations except amo take effect while the target computes, and its
                    watch does not report them; without this bit they take effect while the
                    target, or its progress thread, makes progress */
    CH_NET_KEYS = 1u << 2, /* peers must learn the keys of attached parts */
};

enum {
    CH_NET_CARD_BYTES =
        256, /* bytes of the largest address that a PE publishes before it is connected */
    CH_NET_WHY_BYTES = 256,
};
#define CH_NET_ALL UINT32_MAX /* all peers */

/* For networks that count operations in flight with `counts` counters: the counter of a
 * context. The first two contexts, the default one and that of algorithms, share theirs with no
 * other. */
static inline uint32_t ch_net_count_of(uint32_t ctx, uint32_t counts)
{
    enum { ALONE = 2 };

    return ctx < ALONE ? ctx : ALONE + (ctx - ALONE) % (counts - ALONE);
}

#define CH_NET_NO_MAP PTRDIFF_MIN

/* The reason for the failure of a link by `abandon`. */
#define CH_NET_ABANDONED \
    "this PE has stopped waiting for a put, get or atomic operation that was not complete"

struct ch_net_terms {
    const struct ch_options *options;
    uint32_t me, n;
    const uint32_t *nodes;    /* [n]: the host of each PE; peers of this host need no network */
    const char *const *hosts; /* [n]: its name, for messages */
    unsigned char secret[32]; /* of the job, which both ends of a connection prove to have */
    unsigned char listen[16]; /* address at which sockets listen, IPv4 mapped into IPv6; 0: at
                                 those of CHORUS_NET, or at all */
    struct ch_door *door;     /* of this PE: woken after an operation on its memory */
    uint32_t free_cores; /* cores of this host that are left for threads of each PE's network */
    const char *spare;   /* the hardware threads of the cores to which no PE is bound, see
                            boot/place.h; null: there are none, or PEs are not bound */
    const ptrdiff_t *maps; /* [n]: add to a peer\'s own address to get the address at which this
                              PE has it mapped, for loop; CH_NET_NO_MAP: it is not mapped */
    void (*give_way)(void *arg); /* release the caller's lock for a moment, yielding the core;
                                    null: there are no other threads, so only yields */
    void *give_way_arg;
};

static inline void ch_net_give_way(const struct ch_net_terms *terms)
{
    if (terms->give_way != NULL)
        terms->give_way(terms->give_way_arg);
    else
        (void)sched_yield();
}

struct ch_net_ops {
    const char *name; /* name as users see it: "ofi" */

    /* Find a device and initialise it. ERR_UNSUPPORTED, with the reason, if this machine or
     * this build cannot: another kind may then be used. All PEs call it, but they do not
     * synchronise in it. */
    chorus_status (*open)(const struct ch_net_terms *terms, struct ch_net **net_out);
    void (*close)(struct ch_net *net); /* null is a no-op; peers may have closed already */
    uint32_t (*caps)(const struct ch_net *net);

    /* Get this PE's address; then, once, set those of all PEs. Links are made at first use, by
     * either side. */
    void (*card)(const struct ch_net *net, char card_out[CH_NET_CARD_BYTES]);
    chorus_status (*meet)(struct ch_net *net, const char (*cards)[CH_NET_CARD_BYTES]);

    /* Attach a part of this PE's memory that peers may access, and detach it. ERR_NOMEM: a
     * limit, such as that of locked memory, which the message names. */
    chorus_status (*attach)(struct ch_net *net, void *base, size_t bytes, uint64_t *key_out);
    void (*detach)(struct ch_net *net, void *base);
    /* The same for a peer's memory, at the peer's address `there`; null if there are no
     * keys. */
    chorus_status (*learn)(struct ch_net *net, uint32_t pe, const char *there, size_t bytes,
                           uint64_t key);
    void (*forget)(struct ch_net *net, uint32_t pe, const char *there);

    /* The source must not change before is_sent; bytes is not 0. 1, 2, 4 or 8 aligned bytes
     * arrive as one access. The network may delay a put until a word is posted, or is_sent,
     * is_done or progress called, so that both are sent together; the same holds for gets, and
     * for series of atomic operations. */
    void (*put)(struct ch_net *net, uint32_t ctx, uint32_t pe, char *there, const void *src,
                size_t bytes);
    /* An aligned word of 8 bytes becomes `value`, as one access. */
    void (*say)(struct ch_net *net, uint32_t ctx, uint32_t pe, uint64_t *there, uint64_t value);
    /* dst is complete once is_done. */
    void (*get)(struct ch_net *net, uint32_t ctx, uint32_t pe, void *dst, const char *there,
                size_t bytes);
    /* bytes is 4 or 8; *fetched_out, which may be null, is set before is_done. Atomic with
     * respect to every other amo and say of the job on that word, and to those of PEs of the
     * target's host. */
    void (*amo)(struct ch_net *net, uint32_t ctx, uint32_t pe, enum ch_amo op, void *there,
                size_t bytes, uint64_t value, uint64_t compare, uint64_t *fetched_out);

    /* A posted receive: if pe puts exactly `bytes` to `slot`, and they have not begun to
     * arrive, they may be stored at dst instead, whose contents are undefined until `received`.
     * False: it was not posted, because another one for that peer is. Null, as received: puts
     * always go to their slots. */
    bool (*receive)(struct ch_net *net, uint32_t pe, void *slot, void *dst, size_t bytes);
    /* Ends the receive that was posted: are all bytes at dst? Otherwise they are in the slot,
     * or will be. */
    bool (*received)(struct ch_net *net, uint32_t pe);

    /* For all operations posted in ctx to pe, or to CH_NET_ALL: may the sources change? Have
     * all operations taken effect, and are the fetched values stored? */
    bool (*is_sent)(struct ch_net *net, uint32_t ctx, uint32_t pe);
    bool (*is_done)(struct ch_net *net, uint32_t ctx, uint32_t pe);

    /* A wait for pe has failed, and its caller uses the memory of the operations for something
     * else: on return the network neither reads sources of puts to pe nor stores what gets and
     * atomics fetch from it, in any context, now or later. If such an operation was in
     * progress, its link has failed. Takes at most about a second. */
    void (*abandon)(struct ch_net *net, uint32_t pe);

    /* Send and receive as much as possible without waiting. Sets *moved_out if there was
     * anything. Returns the first failure of a link, with a message that names PE, host, device
     * and reason. */
    chorus_status (*progress)(struct ch_net *net, bool *moved_out);
    /* A descriptor to poll for reading once progress has found nothing; -1: call progress
     * regularly instead. */
    int (*watch)(struct ch_net *net);
    /* The descriptor is no longer polled; null is a no-op. */
    void (*unwatch)(struct ch_net *net);
    /* The PE is about to sleep: from now on, operations that change words of its memory should
     * be reported by watch, if peers learn of this in time. Null: they always are. */
    void (*doze)(struct ch_net *net);

    /* For `chorus-info links`, as one line: provider, device, port and address of both ends as
     * far as they are known, and the reason for this choice. */
    void (*describe)(const struct ch_net *net, uint32_t pe, char why_out[CH_NET_WHY_BYTES]);
};

extern const struct ch_net_ops ch_net_tcp, ch_net_ofi, ch_net_verbs, ch_net_loop;

#endif /* CH_NET_H */
