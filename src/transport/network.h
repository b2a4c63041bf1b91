/* SPDX-License-Identifier: Apache-2.0 */
/*
 * network.h: the endpoint of the network that a job uses, the lock around it, waits for
 * operations, and its progress; the memory of a PE that peers may access, and messages that
 * access it.
 */
#ifndef CH_NETWORK_H
#define CH_NETWORK_H

#include "base/door.h"
#include "base/error.h"
#include "boot/boot.h"
#include "transport/amo.h"
#include "transport/link.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- the network of a job, for the files of this folder ---- */

enum { CH_DIRECT_WHY_BYTES = 160 }; /* of why a network does not access GPU memory */

struct ch_network {
    struct ch_progress progress; /* first, so that a pointer to it is a pointer to this */
    const struct ch_link_ops *ops;
    struct ch_endpoint *ep;
    uint32_t caps;
    uint32_t kind;        /* of CH_KIND_LIST; with a heap on GPUs, below `staged` and `beside`;
                             CH_KIND_COUNT: all PEs are on one host */
    void *staging;        /* owned: memory of `staged` in the pool; null: it is not used */
    struct ch_heap *heap; /* borrowed */
    struct ch_boot *boot; /* borrowed, as is policy */
    struct ch_wait_policy *policy;
    uint32_t me, n;
    uint32_t *nodes;      /* [n] */
    bool *is_reached;     /* [n], owned: by links of this network */
    const char **hosts;   /* [n], see link.h */
    ptrdiff_t *maps;      /* [n], see link.h */
    pthread_mutex_t lock; /* held in every call of ops except open and close */
    uint32_t n_queued;    /* threads that wait for the lock; atomic */
    char why_not[CH_KIND_COUNT]
                [256]; /* reasons of the kinds that were tried and are not used; or "" */
    /* With a heap on GPUs: does the network below `staged` access their memory? Why not; or "".
     */
    bool is_direct;
    uint32_t flush; /* an enum ch_staged_flush */
    bool has_flush; /* see struct ch_staged_terms */
    char why_staged[CH_DIRECT_WHY_BYTES + 16];
    char why[256];       /* of the failure */
    char why_doubt[256]; /* failure that the network found, while the control plane may find its
                            cause */
    uint64_t doubt_at_ns;   /* since when; 0: there is none; atomic */
    struct ch_proxy *proxy; /* owned: serves the kernels of this PE; null: they post nothing */
    uint64_t visits;        /* of the PE; atomic, though increments may be lost */
    /* The progress thread. */
    pthread_t thread;
    bool has_thread;
    int stop_fd;      /* an eventfd: end, or make progress now */
    bool has_posts;   /* since progress was last made; under the lock */
    bool is_asleep;   /* the next operation posted must wake the thread; under the lock */
    uint32_t is_idle; /* the thread waits for a short time and must be woken when the PE leaves;
                         atomic */
    uint32_t is_away; /* the PE sleeps, and has not called the network since; atomic */
    uint32_t is_ending; /* atomic */
};

/* Open the network of a job. Collective over the job; on all PEs or on none. Null in
 * *network_out if no peer is left to a network; see ch_links_open. */
CH_MUST_CHECK chorus_status ch_network_open(struct ch_boot *boot, struct ch_heap *heap,
                                            const struct ch_options *options,
                                            struct ch_wait_policy *policy,
                                            struct ch_network **network_out);
/* End progress and close the endpoint; close also frees the network. Null is a no-op; not
 * collective. */
void ch_network_disconnect(struct ch_network *network);
void ch_network_close(struct ch_network *network);
/* Set is_direct, flush and why_staged, the first two alike on all PEs. Collective over the job,
 * before `staged` is put over the network. */
CH_MUST_CHECK chorus_status ch_direct_agree(struct ch_network *network);
/* The reason why a kind was tried and is not used, see ch_links_why_not. */
const char *ch_network_why_not(const struct ch_network *network, uint32_t kind);

/* Acquire and release the lock. unlock_posted releases it after an operation was posted, and
 * has that operation sent even if the PE makes no further call. lock and unlock_posted are
 * no-ops for null: a link of another kind. */
void ch_network_lock(struct ch_network *network);
void ch_network_unlock(struct ch_network *network);
void ch_network_unlock_posted(struct ch_network *network);

/* `is_sent` or `is_done` of a kind. */
typedef bool (*ch_is_over_fn)(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe);

/* Does is_over hold for all that the context posted to the link's peer? */
bool ch_network_is_over(struct ch_link *link, uint32_t ctx, ch_is_over_fn is_over);
/* After an operation was posted: wait until is_over holds for all that the context posted to
 * the peer; null: only return the failure of the network, if it has failed. A no-op for links
 * of other kinds. */
CH_MUST_CHECK chorus_status ch_network_wait(struct ch_link *link, uint32_t ctx,
                                            ch_is_over_fn is_over);
/* See ch_links_fence and ch_links_quiet; for the peers of the network. */
CH_MUST_CHECK chorus_status ch_network_fence(struct ch_network *network, uint32_t ctx);
CH_MUST_CHECK chorus_status ch_network_quiet(struct ch_network *network, uint32_t ctx,
                                             uint32_t pe);
/* See ch_links_find_late. */
bool ch_network_find_late(struct ch_network *network, uint32_t ctx, uint32_t *pe_out);
/* Give up the operations with pe, or CH_LINK_ALL, after a wait for them has failed: on return
 * the network no longer uses their memory, see link.h. */
void ch_network_abandon(struct ch_network *network, uint32_t pe);

/* End all waits of this PE, now and later, with this reason; the first one is kept. */
void ch_network_fail(struct ch_network *network, const char *why);
bool ch_network_has_failed(const struct ch_network *network);

/* Let the waits of this PE make progress of the network, and start the progress thread, which
 * does so while the PE does not wait. */
CH_MUST_CHECK chorus_status ch_progress_start(struct ch_network *network);
/* Wake the progress thread, which then makes progress. */
void ch_progress_wake(const struct ch_network *network);
/* End the progress thread; a no-op if it was not started. */
void ch_progress_stop(struct ch_network *network);

/* ---- memory that peers may access: parts, some of which are adjacent ---- */

struct ch_part {
    uintptr_t base;
    size_t bytes;
    uint64_t key;
    void *handle; /* handle of the network */
    enum ch_memory_kind kind;
};

/* Zeroed before use; ch_parts_free frees it. */
struct ch_parts {
    struct ch_part *all; /* [n], ordered by address; they do not overlap */
    size_t n, last;      /* the result of the last search */
};

/* Insert a part. A pointer to a part is valid until parts are added or removed. */
CH_MUST_CHECK chorus_status ch_parts_add(struct ch_parts *parts, struct ch_part part);
/* Remove the part that begins at base, and copy it to *part_out. False: there is none. */
bool ch_parts_remove(struct ch_parts *parts, uintptr_t base, struct ch_part *part_out);
/* Free the list, not the memory of its parts. */
void ch_parts_free(struct ch_parts *parts);

/* The part that contains the byte at `there`; null: there is none. */
const struct ch_part *ch_parts_find(struct ch_parts *parts, uintptr_t there);
/* Are these bytes in parts of host memory, so that the CPU may access them? They may be in
 * several, since a heap that grows is attached in parts. */
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

/* Execute a frame of kind WORD. False: it names a word that is not in attached host memory;
 * nothing was changed. */
static inline bool ch_frame_execute_word(struct ch_parts *parts, const struct ch_frame *frame)
{
    uint64_t *const word = (uint64_t *)(uintptr_t)frame->there;

    if (frame->there % sizeof(*word) != 0 || !ch_parts_hold(parts, frame->there, sizeof(*word)))
        return false;
    __atomic_store_n(word, frame->value, __ATOMIC_RELEASE);
    return true;
}

/* Execute a frame of kind AMO, whose operands follow its head, and set *before_out to the old
 * value. False: it is not valid; nothing was changed. */
static inline bool ch_frame_execute_amo(struct ch_parts *parts, const struct ch_frame *frame,
                                        const struct ch_frame_operands *operands,
                                        uint64_t *before_out)
{
    if (frame->op > CH_AMO_COMPARE_SWAP || (frame->width != 4 && frame->width != 8) ||
        frame->there % frame->width != 0 || !ch_parts_hold(parts, frame->there, frame->width))
        return false;
    *before_out = ch_amo_apply((enum ch_amo)frame->op, (void *)(uintptr_t)frame->there,
                               frame->width, operands->value, operands->compare);
    return true;
}

#endif /* CH_NETWORK_H */
