/* SPDX-License-Identifier: Apache-2.0 */
/*
 * links.h: the links of a PE to all PEs of its job, itself included, and the operations that a
 * program makes on them.
 *
 * Peers whose memory this PE can access are reached by `mapped` or, with a heap on GPUs, by
 * `gpu`; all others by one kind of network. The memory of the library in the segments of other
 * hosts is reached by the network in any case: GPUs there may be near, but hosts map nothing. A
 * PE that waits makes progress of the network itself, between its polls. A thread of the
 * library makes progress while the PE does not call the library or sleeps, and serves the
 * control plane of the job; it sleeps while no message arrives. A job whose PEs are all mapped
 * has neither.
 */
#ifndef CH_LINKS_H
#define CH_LINKS_H

#include "base/door.h"
#include "base/option.h"
#include "base/record.h"
#include "boot/boot.h"
#include "heap/heap.h"
#include "transport/amo.h"
#include "transport/link.h"

/* ---- mapped peers ---- */

/*
 * A peer whose memory this PE loads and stores, and the accesses themselves.
 *
 * A transfer that is one aligned word is one atomic access: a PE that waits for the word sees
 * all of it or nothing. Words are stored with release and loaded with acquire, more than
 * put and get promise; it costs nothing on x86, and tools that do not know fences (such as
 * ThreadSanitizer) see the order that put, fence, put makes.
 */

struct ch_near {
    ptrdiff_t shift;      /* add to an address of this PE to get the same offset on the peer */
    struct ch_door *door; /* null: the peer is not mapped */
};

/* This PE's address of the peer's copy of a symmetric object. */
static inline void *ch_near_address(const struct ch_near *near, const void *symmetric)
{
    /* Computed with integers, since the two addresses are in different objects. */
    return (void *)((uintptr_t)symmetric + (uintptr_t)near->shift);
}

/* Copy to a mapped peer, and wake it if it sleeps. `dest` is this PE's address of the object.
 */
static inline void ch_near_put(const struct ch_near *near, void *dest, const void *source,
                               size_t bytes)
{
    ch_put_bytes(ch_near_address(near, dest), source, bytes);
    ch_door_ring(near->door);
}

/* Copy from a mapped peer. `source` is this PE's address of the object. */
static inline void ch_near_get(const struct ch_near *near, void *dest, const void *source,
                               size_t bytes)
{
    ch_get_bytes(dest, ch_near_address(near, source), bytes);
}

/* Perform op on a mapped peer's copy of the word, which has 4 or 8 bytes and is aligned to
 * them. Returns the old value. */
static inline uint64_t ch_near_amo(const struct ch_near *near, enum ch_amo op, void *word,
                                   size_t bytes, uint64_t value, uint64_t compare)
{
    const uint64_t fetched =
        ch_amo_access(op, ch_near_address(near, word), bytes, value, compare);

    if (op != CH_AMO_FETCH) ch_door_ring(near->door);
    return fetched;
}

/* ---- the links of a PE ---- */

struct ch_links {
    struct ch_heap *heap; /* borrowed, as is policy */
    const struct ch_wait_policy *policy;
    const struct ch_boot *boot; /* borrowed */
    struct ch_record *record;   /* of the program's accesses; null: they are not recorded */
    struct ch_network *network; /* to peers that are not mapped; null: there are none */
    const struct ch_link_ops *near_ops; /* of the peers that are */
    struct ch_endpoint *near;
    uint32_t me, n;
    struct ch_link *host; /* [n], behind `to`: see ch_links_host_link */
    struct ch_link to[];  /* [n]: to objects, and to sync memory on the data side */
};

/*
 * Create the links of a PE. Collective over the job; on all PEs or on none: opens a network,
 * unless CHORUS_TRANSPORT and the job's hosts leave no peer to one. `policy` is kept, gets the
 * network's progress, and must outlive the links. ERR_UNSUPPORTED if no kind works, with the
 * reason for each.
 */
CH_MUST_CHECK chorus_status ch_links_open(struct ch_boot *boot, struct ch_heap *heap,
                                          const struct ch_options *options,
                                          struct ch_wait_policy *policy,
                                          struct ch_links **links_out);
/* Open the links to peers whose memory this PE can access. Called once; not collective. */
CH_MUST_CHECK chorus_status ch_links_map(struct ch_links *links);
/* End the network: operations send, receive and access nothing from now on. Called before
 * memory that they name is freed; detach and drop_peer_key may follow. Null is a no-op; not
 * collective. */
void ch_links_disconnect(struct ch_links *links);
/* Disconnect, and free the links. Null is a no-op; not collective. */
void ch_links_close(struct ch_links *links);

/* The ring by which kernels of this PE reach PEs that are not near; null: there is none, as the
 * heap is not on a GPU, or has no pool. expect: a call was queued whose kernels post to it. */
const struct ch_ring *ch_links_ring(const struct ch_links *links);
void ch_links_expect_posts(struct ch_links *links);
/* Do requests of kernels that change GPU memory of a PE take effect in their order? What is
 * staged does, as one stream of the receiver performs it. */
bool ch_links_keep_order(const struct ch_links *links);
/* Wait until what kernels that have ended posted has been given to the network: what the host
 * posts afterwards, in the same context, arrives later. */
CH_MUST_CHECK chorus_status ch_links_drain_posts(struct ch_links *links);
/* Find a PE of another host, for a message, for which an operation of ctx has not taken effect.
 */
bool ch_links_find_late(struct ch_links *links, uint32_t ctx, uint32_t *pe_out);
/* Is this PE one? Not if the network does not reach it. */
bool ch_links_is_late(struct ch_links *links, uint32_t ctx, uint32_t pe);

/* Kernels that have ended may have failed: the program may free the memory of what they posted.
 * begin waits until the network has it; where that takes none of it up to the time that it
 * returns, or the job is ending, all requests of this PE's kernels are dropped. Then
 * ch_link_settle waits until the network has done with the memory of what the context posted to
 * the link's peer, up to that time, or ends the link. The time is that of other waits, or a
 * second if the kernels have already waited so long: `why` is their failure. */
uint64_t ch_links_begin_settle(struct ch_links *links, chorus_status why);
void ch_link_settle(struct ch_link *link, uint32_t ctx, uint64_t until_ns);
/* The memory of these completion words of kernels is about to be freed: none is stored any
 * more. Requests that name them have been given to the network, or are dropped. */
void ch_links_forget_words(struct ch_links *links, const uint64_t *words, uint32_t n);

/* Returns the link to the objects of a peer that is not mapped; null: the peer is mapped. */
struct ch_link *ch_links_network_link(struct ch_links *links, uint32_t pe);
/* Returns the link to a peer's segment, which has the memory of the library, and to its
 * objects, if the peer is on another host; null: the segment is mapped. With a heap on hosts,
 * it is the same link. */
struct ch_link *ch_links_host_link(struct ch_links *links, uint32_t pe);
/* List the mapped peers in near_out[n], for the fast paths of the program's calls. False: calls
 * must not take these paths, since the host cannot access the heap, or all accesses are
 * recorded. */
bool ch_links_list_near(const struct ch_links *links, struct ch_near near_out[]);
/* The host of each PE, numbered from 0; null: there is one host, or no network. */
const uint32_t *ch_links_hosts(const struct ch_links *links);
/* The same, or on GPUs its group of near PEs, as numbers that differ between hosts
 * or groups; null: there is one. */
const uint32_t *ch_links_nodes(const struct ch_links *links);
/* How a peer is reached, for users: texts that last as long as the heap. After ch_links_map. */
struct ch_link_way {
    const char *class; /* on hosts mapped or network; on GPUs see ch_heap_class */
    const char *why;   /* it has this class */
    const char *kind;  /* of the link; "none": there is none */
};
struct ch_link_way ch_links_way(const struct ch_links *links, uint32_t pe);
/* Describe in one line by what a peer is reached: devices, ports and addresses, and why these
 * were chosen. */
void ch_links_describe(struct ch_links *links, uint32_t pe, char what_out[CH_LINK_WHY_BYTES]);
/* The reason why a kind of CH_KIND_LIST was tried and is not used; "": it was not tried; null:
 * it is used, or there is no network. */
const char *ch_links_why_not(const struct ch_links *links, uint32_t kind);

/* Attach memory of this PE that peers access, and detach it. No-ops without a network. */
CH_MUST_CHECK chorus_status ch_links_attach(struct ch_links *links,
                                            const struct ch_memory_part *part,
                                            uint64_t *key_out);
void ch_links_detach(struct ch_links *links, void *base);
/* Add the key of a peer's memory, at the peer's own address `there`, or remove it; no-ops for a
 * PE that is mapped. add_peer_key is for host memory, add_peer_part for any. */
CH_MUST_CHECK chorus_status ch_links_add_peer_part(struct ch_links *links, uint32_t pe,
                                                   const struct ch_memory_part *there,
                                                   uint64_t key);
CH_MUST_CHECK chorus_status ch_links_add_peer_key(struct ch_links *links, uint32_t pe,
                                                  const char *there, size_t bytes,
                                                  uint64_t key);
void ch_links_drop_peer_key(struct ch_links *links, uint32_t pe, const char *there);
/* Do peers need keys? */
bool ch_links_need_keys(const struct ch_links *links);

/*
 * Operations of the program, in a context. Every address called symmetric is this PE's own
 * address of the object; callers have checked it and pe. put, put_signal and get return when
 * the caller may use its memory, the nbi forms and amo without fetched_out at once: quiet
 * completes them. put_signal changes the word after the data has arrived.
 */
CH_MUST_CHECK chorus_status ch_links_put(struct ch_links *links, uint32_t ctx,
                                         void *symmetric_dest, const void *source, size_t bytes,
                                         uint32_t pe);
CH_MUST_CHECK chorus_status ch_links_put_nbi(struct ch_links *links, uint32_t ctx,
                                             void *symmetric_dest, const void *source,
                                             size_t bytes, uint32_t pe);
CH_MUST_CHECK chorus_status ch_links_get(struct ch_links *links, uint32_t ctx, void *dest,
                                         const void *symmetric_source, size_t bytes,
                                         uint32_t pe);
CH_MUST_CHECK chorus_status ch_links_get_nbi(struct ch_links *links, uint32_t ctx, void *dest,
                                             const void *symmetric_source, size_t bytes,
                                             uint32_t pe);
CH_MUST_CHECK chorus_status ch_links_put_signal(struct ch_links *links, uint32_t ctx,
                                                const struct ch_put_signal *put, uint32_t pe,
                                                bool is_nbi);
/* Perform op on the peer's copy of a word. bytes is 4 or 8; operands and result are bit
 * patterns; float adds have no amo. Takes effect after earlier puts of the context to the PE.
 */
CH_MUST_CHECK chorus_status ch_links_amo(struct ch_links *links, uint32_t ctx, enum ch_amo op,
                                         void *symmetric, size_t bytes, uint64_t value,
                                         uint64_t compare, uint32_t pe, uint64_t *fetched_out);
/* Order the context: its later operations take effect after its earlier ones, for each peer. */
CH_MUST_CHECK chorus_status ch_links_fence(struct ch_links *links, uint32_t ctx);
/* Wait until all operations that the context posted to a PE, or to CH_LINK_ALL, have taken
 * effect, and fetched values are stored. */
CH_MUST_CHECK chorus_status ch_links_quiet(struct ch_links *links, uint32_t ctx, uint32_t pe);

/* An operation of the program on a stream of a GPU, in the default context. Addresses called
 * symmetric above are this PE's own here, too. */
enum ch_stream_what {
    CH_STREAM_PUT,
    CH_STREAM_GET,
    CH_STREAM_PUT_SIGNAL,
    CH_STREAM_SIGNAL, /* as PUT_SIGNAL, without data */
    CH_STREAM_QUIET   /* of operations to all PEs */
};

struct ch_stream_op {
    enum ch_stream_what what;
    uint32_t pe;
    void *dest;
    const void *source;
    size_t bytes;
    uint64_t *word;
    uint64_t value;
    bool adds; /* the value to the word, in place of setting it */
    struct ch_wait_limit limit;
};

/* Queue an operation on a cudaStream_t, to a peer that is not mapped; if there is a ring. Later
 * work of the stream runs when the source of a put may change, when the data of a get is
 * stored, and when a quiet is over; host calls of quiet after that complete all of these. If
 * one fails, later work runs all the same, and limit.report has the failure. */
CH_MUST_CHECK chorus_status ch_links_queue(struct ch_links *links, void *stream,
                                           const struct ch_stream_op *op);

/* This PE's address of a peer's copy of a symmetric object; null: the peer is not mapped. */
void *ch_links_peer_address(const struct ch_links *links, const void *symmetric, uint32_t pe);
/* Must objects of this PE be read by ch_links_load, since they are on a GPU? */
bool ch_links_must_load(const struct ch_links *links);
/* Copy an object of this PE to host memory; only if ch_links_must_load. */
CH_MUST_CHECK chorus_status ch_links_load(struct ch_links *links, void *out,
                                          const void *symmetric, size_t bytes);
/* Copy from memory of the library of a peer that is not mapped, at the peer's own address, and
 * wait for the data. */
CH_MUST_CHECK chorus_status ch_links_fetch(struct ch_links *links, uint32_t ctx, void *dst,
                                           const char *there, size_t bytes, uint32_t pe);

/* Post a get into memory of the library, which stays until ch_links_disconnect, from a peer's
 * own address. It returns no failure: the waits of the job report it. */
void ch_link_start_get(struct ch_link *link, uint32_t ctx, void *dst, const char *there,
                       size_t bytes);
/* Have all operations of the context to the peer taken effect? Never once the link failed. */
bool ch_link_is_done(struct ch_link *link, uint32_t ctx);

#endif /* CH_LINKS_H */
