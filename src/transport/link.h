/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link.h: a link, which reaches one peer: the operations of its kind, and what they need.
 *
 * There is one constant table for each kind: `mapped` loads and stores a peer's memory, `gpu`
 * moves data by the copy engines of this PE's GPU, and verbs, ofi and tcp are networks, which
 * carry operations to other hosts. If the build does not support a kind, the open function of
 * its table fails with the reason. A PE has one endpoint for all of its links of a kind.
 * links.h offers the operations to the other folders, and is the only caller besides tests.
 *
 * Addresses. A symmetric object on a peer is named by this PE's address of the object plus the
 * shift of the link: the address at which this PE has it mapped or, for a network, the peer's
 * own. Sources and destinations at this PE are in any memory of the process: a network that
 * needs registered memory copies data that is not in attached parts, or registers its memory.
 *
 * Memory. A PE attaches the parts of its segment to a network when they are committed, and gets
 * a key for each, which every peer receives. An object on a peer must be in attached parts, of
 * which it may span several if a heap has grown.
 *
 * GPUs. A network with CH_LINK_GPU may attach memory of the PE's GPU. Puts and gets may then
 * have such parts at either end, and no CPU accesses them; other memory of GPUs must not be
 * given to a network. The word of a signal that sets it may be there if the network has
 * CH_LINK_PASSIVE. All other words, and those that atomics fetch to, are in host memory. An
 * operation on another word fails its link.
 *
 * Order. A context is an ordering domain. Of the operations of one context to one peer, signals
 * and atomics take effect in their order, and after all earlier puts, for any reader on
 * the peer. Puts and gets are not ordered among themselves, except puts with CH_LINK_IN_ORDER.
 * Operations of different contexts, or to different peers, are not ordered.
 *
 * Time. Operations of `mapped` and `gpu` are complete when their call returns; their status
 * says whether they succeeded. A network posts operations, and does not wait for the peer: if a
 * queue is full, it makes progress until there is room or the link fails, and lets other
 * threads run meanwhile. It returns CHORUS_OK: the first failure of a link is kept, and
 * progress returns it from then on. Operations to a failed link do nothing, and is_sent and
 * is_done return false from then on, since a get or an atomic has not fetched its value: a wait
 * continues until progress returns the failure.
 *
 * Threads: the caller holds a lock around every call to a network. A network that waits for
 * room releases it from time to time, by give_way; other threads may then post operations
 * before this one.
 */
#ifndef CH_LINK_H
#define CH_LINK_H

#include "base/door.h"
#include "base/error.h"
#include "base/link.h"
#include "base/option.h"
#include "device/device.h"
#include "transport/amo.h"

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ch_endpoint; /* each kind has its own */
struct ch_heap;
struct ch_network;

enum {
    CH_LINK_IN_ORDER =
        1u << 0, /* puts of one context to one peer take effect in the order of posting */
    CH_LINK_PASSIVE =
        1u << 1, /* all operations except amo take effect while the target computes, and its
                    watch does not report them; without this bit they take effect while the
                    target, or its progress thread, makes progress */
    CH_LINK_KEYS = 1u << 2, /* peers must learn the keys of attached parts */
    CH_LINK_GPU = 1u << 3,  /* memory of terms->gpu may be attached */
};

enum {
    CH_LINK_ADDRESS_BYTES = 256, /* of the largest address of a PE */
    CH_LINK_WHY_BYTES = 256,
};
#define CH_LINK_ALL UINT32_MAX /* all peers */

/* Returns the counter that a context uses in a network which counts operations in flight with
 * `counts` counters. The first two contexts share theirs with no other. */
static inline uint32_t ch_link_counter_of(uint32_t ctx, uint32_t counts)
{
    return ctx < CH_CTX_PROGRAM
               ? ctx
               : CH_CTX_PROGRAM + (ctx - CH_CTX_PROGRAM) % (counts - CH_CTX_PROGRAM);
}

#define CH_LINK_NO_MAP PTRDIFF_MIN

/* The reason for the failure of a link by `abandon`. */
#define CH_LINK_ABANDONED \
    "this PE has stopped waiting for a put, get or atomic operation that was not complete"

/* The arguments of opening an endpoint; all that is pointed to must outlive it. The kinds
 * `mapped` and `gpu` use the first two, networks the others. */
struct ch_link_terms {
    struct ch_heap *heap;
    const struct ch_wait_policy *policy;
    const struct ch_options *options;
    uint32_t me, n;
    const uint32_t *nodes;    /* [n]: the host of each PE; peers of this host need no network */
    const char *const *hosts; /* [n]: its name, for messages */
    const struct ch_device_id *gpu; /* whose memory will be attached; null: only host memory
                                       will be */
    unsigned char secret[32]; /* of the job, which both ends of a connection prove to have */
    unsigned char listen[16]; /* address at which sockets listen, IPv4 mapped into IPv6; 0: at
                                 those of CHORUS_NET, or at all */
    struct ch_door *door;     /* of this PE: woken after an operation on its memory */
    uint32_t free_cores; /* cores of this host that are left for threads of each PE's network */
    const char *spare;   /* the hardware threads of the cores to which no PE is bound, see
                            boot/place.h; null: there are none, or PEs are not bound */
    const ptrdiff_t *maps; /* [n]: add to a peer's own address to get the address at which this
                              PE has it mapped, for loop; CH_LINK_NO_MAP: it is not mapped */
    void (*give_way)(void *arg); /* release the caller's lock for a moment, yielding the core;
                                    null: there are no other threads, so only yields */
    void *give_way_arg;
};

/* Let other threads run for a moment, and release the lock of the caller meanwhile, if it has
 * one. */
static inline void ch_link_give_way(const struct ch_link_terms *terms)
{
    if (terms->give_way != NULL)
        terms->give_way(terms->give_way_arg);
    else
        (void)sched_yield();
}

/* Data, and a word of 8 bytes that is changed after the data has arrived. */
struct ch_put_signal {
    void *dest;
    const void *source;
    size_t bytes; /* may be 0 */
    uint64_t *word;
    enum ch_amo op; /* CH_AMO_SET or CH_AMO_ADD */
    uint64_t value;
};

struct ch_link_ops {
    const char *name; /* name as users see it: "ofi" */

    /* Find a device and initialise it. ERR_UNSUPPORTED, with the reason, if this machine or
     * this build cannot: another kind may then be used. All PEs call it, but they do not
     * synchronise in it. */
    chorus_status (*open)(const struct ch_link_terms *terms, struct ch_endpoint **ep_out);
    void (*close)(struct ch_endpoint *ep); /* null is a no-op; peers may have closed already */

    /* Copy to the peer's address `there`. bytes is not 0; 1, 2, 4 or 8 aligned bytes arrive as
     * one access. A network reads the source until is_sent, and may delay a put until a word is
     * posted, or is_sent, is_done or progress called, so that both are sent together; the same
     * holds for gets, and for series of atomic operations. */
    chorus_status (*put)(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe, char *there,
                         const void *src, size_t bytes);
    /* Send data and a word as one message; the word changes as one access. Null: put and amo,
     * one after the other, are equally good. */
    chorus_status (*put_signal)(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe,
                                const struct ch_put_signal *put);
    /* Copy from the peer's address `there`; dst is complete once is_done. */
    chorus_status (*get)(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe, void *dst,
                         const char *there, size_t bytes);
    /* Perform op on the peer's word `there`, of 4 or 8 bytes. Operands and results are bit
     * patterns; *fetched_out, which may be null, gets the old value before is_done. Atomic with
     * respect to every other amo and signal of the job, and to those of PEs of the target's
     * host. */
    chorus_status (*amo)(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe, enum ch_amo op,
                         void *there, size_t bytes, uint64_t value, uint64_t compare,
                         uint64_t *fetched_out);
    /* Copy an object of this PE to host memory; null: the host may read objects directly. */
    chorus_status (*load)(struct ch_endpoint *ep, void *out, const void *symmetric,
                          size_t bytes);

    /* All that follows is null for kinds that are no network. */

    uint32_t (*caps)(const struct ch_endpoint *ep); /* CH_LINK_ bits that hold for it */
    /* Get this PE's address; then, once, set those of all PEs. Connections are made at first
     * use, by either side. */
    void (*address)(const struct ch_endpoint *ep, char address_out[CH_LINK_ADDRESS_BYTES]);
    chorus_status (*meet)(struct ch_endpoint *ep,
                          const char (*addresses)[CH_LINK_ADDRESS_BYTES]);

    /* Attach a part of this PE's memory that peers may access, and detach it. ERR_NOMEM: a
     * limit, such as that of locked memory, which the message names. ERR_UNSUPPORTED: the
     * network cannot access this memory of a GPU; the message has the reason, and the network
     * stays usable. */
    chorus_status (*attach)(struct ch_endpoint *ep, const struct ch_memory_part *part,
                            uint64_t *key_out);
    void (*detach)(struct ch_endpoint *ep, void *base);
    /* The same for a peer's part, at the peer's address; null if there are no keys. */
    chorus_status (*add_peer_key)(struct ch_endpoint *ep, uint32_t pe,
                                  const struct ch_memory_part *there, uint64_t key);
    void (*drop_peer_key)(struct ch_endpoint *ep, uint32_t pe, const char *there);
    /* The address at which this PE has mapped these bytes of a peer's memory; puts from there
     * to the peer's address copy nothing. Null: they are not mapped; a null function: nothing
     * is. */
    void *(*map)(struct ch_endpoint *ep, uint32_t pe, const void *there, size_t bytes);

    /* Post a receive: if pe puts exactly `bytes` to `slot`, and they have not begun to arrive,
     * they may be stored at dst instead, whose contents are undefined until `received`. False:
     * it was not posted, for example because another one for that peer is. Null, as received:
     * puts always go to their slots. */
    bool (*receive)(struct ch_endpoint *ep, uint32_t pe, void *slot, void *dst, size_t bytes);
    /* End the receive that was posted: are all bytes at dst? Otherwise they are in the slot,
     * or will be. */
    bool (*received)(struct ch_endpoint *ep, uint32_t pe);

    /* For all operations posted in ctx to pe, or to CH_LINK_ALL: may the sources change
     * (flush)? Have all operations taken effect, and are the fetched values stored (quiet)? */
    bool (*is_sent)(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe);
    bool (*is_done)(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe);

    /* A wait for pe has failed, and its caller uses the memory of the operations for something
     * else: on return the network neither reads sources of puts to pe nor stores what gets and
     * atomics fetch from it, in any context, now or later. If such an operation was in
     * progress, its link has failed. Takes at most about a second. */
    void (*abandon)(struct ch_endpoint *ep, uint32_t pe);

    /* Send and receive as much as possible without waiting. Sets *moved_out if there was
     * anything. Returns the first failure of a link, with a message that names PE, host, device
     * and reason. */
    chorus_status (*progress)(struct ch_endpoint *ep, bool *moved_out);
    /* A descriptor to poll for reading once progress has found nothing; -1: call progress
     * regularly instead. */
    int (*watch)(struct ch_endpoint *ep);
    /* The descriptor is no longer polled; null is a no-op. */
    void (*unwatch)(struct ch_endpoint *ep);
    /* The PE is about to sleep: from now on, operations that change words of its memory should
     * be reported by watch, if peers learn of this in time. Null: they always are. */
    void (*sleep)(struct ch_endpoint *ep);

    /* For `chorus-info links`, as one line: provider, device, port and address of both ends as
     * far as they are known, and the reason for this choice. */
    void (*describe)(const struct ch_endpoint *ep, uint32_t pe,
                     char why_out[CH_LINK_WHY_BYTES]);
};

extern const struct ch_link_ops ch_link_mapped, ch_link_gpu;

/*
 * The kinds of network, in the order in which they are tried; behind them loop, which only the
 * tests' library has (tests/link_loop.c), and which is used only if it is named.
 */
/* clang-format off */
#define CH_KIND_LIST(X) X(verbs) X(ofi) X(tcp)
/* clang-format on */
enum {
#define X(name) CH_KIND_##name,
    CH_KIND_LIST(X)
#undef X
        CH_KIND_loop,
    CH_KIND_COUNT
};

#define X(name) extern const struct ch_link_ops ch_link_##name;
CH_KIND_LIST(X)
#undef X
/* Hidden, so that no program can define it for the library. */
extern const struct ch_link_ops ch_link_loop __attribute__((weak, visibility("hidden")));

extern const struct ch_link_ops *const ch_kind_ops[CH_KIND_COUNT]; /* null: loop, if absent */

/* What CHORUS_TRANSPORT allows. */
struct ch_kinds {
    bool may_map; /* peers of this host */
    bool is_allowed[CH_KIND_COUNT];
};

/*
 * Read the value of CHORUS_TRANSPORT.
 *
 * "": mapped within a host, otherwise the first kind that works. Names, separated by commas:
 * only these; "mapped" is one of them. "^" before the first: all except these. ERR_ARG for
 * other names.
 */
CH_MUST_CHECK chorus_status ch_kinds_read(const char *text, struct ch_kinds *kinds_out);

struct ch_link {
    const struct ch_link_ops *ops;
    struct ch_endpoint *ep;
    struct ch_network *network; /* null: the kind is no network */
    ptrdiff_t shift; /* add to an address of this PE to get that of the same object on the
                        peer */
    uint32_t pe;
};

#endif /* CH_LINK_H */
