/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transport.h: the one-sided operations of a link, as a table per transport.
 *
 * A null entry means "cannot": the matching CH_CAP_ bit must then be clear (checked once, at
 * registration). The data path neither allocates, locks nor logs (except in cuda, whose
 * operations take microseconds anyway). `ctx` is an ordering and completion domain. Algorithms
 * have their own context: they wait for their messages themselves, and a quiet of the program
 * need not wait for them. Every address called symmetric is this PE's own address of the
 * object; callers have checked it and pe. After a store to a peer's memory, a transport reads
 * the peer's doorbell. All functions set *_out only when they return CHORUS_OK.
 */
#ifndef CH_TRANSPORT_H
#define CH_TRANSPORT_H

#include "base/door.h"
#include "base/error.h"
#include "heap/heap.h"
#include "transport/amo.h"
#include "transport/near.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ch_network;
struct ch_transport;

/* The arguments of opening a transport; they are kept, so all of them must outlive the
 * transport. */
struct ch_transport_terms {
    struct ch_heap *heap;
    const struct ch_patience *patience;
    struct ch_network *network; /* null: every peer is mapped */
};

enum {
    CH_CAP_MAP = 1u << 0, /* the segments of peers can be loaded and stored directly */
    CH_CAP_PUT = 1u << 1, /* put, get, fence and quiet work */
    CH_CAP_AMO = 1u << 2, /* amo works */
};

#define CH_CTX_DEFAULT 0u
#define CH_CTX_ALGORITHMS 1u /* routes */
#define CH_CTX_PROGRAM 2u    /* the first context that a program creates */

/* Data, and a word of 8 bytes that is changed after the data has arrived. */
struct ch_put_signal {
    void *dest; /* symmetric, as word is */
    const void *source;
    size_t bytes; /* may be 0 */
    uint64_t *word;
    enum ch_amo op; /* CH_AMO_SET or CH_AMO_ADD */
    uint64_t value;
};

struct ch_transport_ops {
    const char *name; /* name as users see it: "mapped" */
    uint32_t caps;

    chorus_status (*open)(const struct ch_transport_terms *terms,
                          struct ch_transport **self_out);
    void (*close)(struct ch_transport *self); /* undoes open; null self is a no-op */

    /* [PEs of the job]: the PEs that the caller may access by near.h instead of put, get and
     * amo, on any context; null, also as the entry: none. */
    const struct ch_near *(*near)(const struct ch_transport *self);

    /* cap MAP: this PE's address of PE pe's copy of the symmetric object at `symmetric`; null
     * where that PE is not mapped. */
    void *(*map)(struct ch_transport *self, const void *symmetric, uint32_t pe);

    /* cap PUT. put: the source may be reused on return; put_nbi, which may be null if put is
     * equally good: after quiet. */
    chorus_status (*put)(struct ch_transport *self, uint32_t ctx, void *symmetric_dest,
                         const void *source, size_t bytes, uint32_t pe);
    chorus_status (*put_nbi)(struct ch_transport *self, uint32_t ctx, void *symmetric_dest,
                             const void *source, size_t bytes, uint32_t pe);
    chorus_status (*get)(struct ch_transport *self, uint32_t ctx, void *dest,
                         const void *symmetric_source, size_t bytes, uint32_t pe);
    chorus_status (*get_nbi)(struct ch_transport *self, uint32_t ctx, void *dest,
                             const void *symmetric_source, size_t bytes, uint32_t pe);
    /* Read objects of this PE on the host; null: the host may read them directly. */
    chorus_status (*load)(struct ch_transport *self, void *out, const void *symmetric,
                          size_t bytes);
    /* Both as one message: null if put, fence and amo are equally good. The source may be
     * reused on return, or after quiet if is_nbi. */
    chorus_status (*put_signal)(struct ch_transport *self, uint32_t ctx,
                                const struct ch_put_signal *put, uint32_t pe, bool is_nbi);
    chorus_status (*fence)(struct ch_transport *self, uint32_t ctx);
    chorus_status (*quiet)(struct ch_transport *self, uint32_t ctx);
    /* Completes the operations to one PE; null: quiet is equally good. */
    chorus_status (*quiet_pe)(struct ch_transport *self, uint32_t ctx, uint32_t pe);

    /* cap AMO: bytes is 4 or 8; operands and result are bit patterns; float adds have no amo.
     * fetched_out may be null for the forms without a result. Takes effect after earlier puts
     * of the context. */
    chorus_status (*amo)(struct ch_transport *self, uint32_t ctx, enum ch_amo op,
                         void *symmetric, size_t bytes, uint64_t value, uint64_t compare,
                         uint32_t pe, uint64_t *fetched_out);
};

extern const struct ch_transport_ops ch_transport_mapped;
extern const struct ch_transport_ops
    ch_transport_routed;                                /* by mapped memory or by the network */
extern const struct ch_transport_ops ch_transport_cuda; /* for a heap on GPUs */

/* Are null entries and capability bits consistent? ERR_STATE names the entry that is not. */
CH_MUST_CHECK chorus_status ch_transport_check(const struct ch_transport_ops *ops);

#endif /* CH_TRANSPORT_H */
