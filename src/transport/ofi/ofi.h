/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ofi.h: networks of libfabric: reliable datagrams with messages and remote memory access.
 *
 * Data of more than a few bytes is written to, and read from, the peer's registered memory.
 * Words, atomics and small puts are frames (network.h) that are collected in a message. The
 * peer's CPU executes them when it makes progress, so a word is one release store after the
 * data that was written before it, on every fabric. If a fabric may deliver messages before
 * earlier writes (no FI_ORDER_SAW), a message is held back until these writes have been
 * delivered.
 */
#ifndef CH_OFI_H
#define CH_OFI_H

#include "transport/network.h"
#include "transport/link.h"

/* What the headers call outside themselves is in library.c, by names of our own. */
#define fi_getinfo ch_ofi_getinfo
#define fi_freeinfo ch_ofi_freeinfo
#define fi_dupinfo ch_ofi_dupinfo
#define fi_fabric ch_ofi_fabric
#define fi_strerror ch_ofi_strerror

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

enum {
    CH_OFI_MESSAGE = 4096, /* bytes of a message, which is frames behind an header */
    CH_OFI_RESERVE = 2048, /* of those, for replies: CH_OFI_PENDING of them */
    CH_OFI_SMALL = 256,    /* bytes of a put that are copied into a frame */
    CH_OFI_PENDING = 64,   /* requests of a PE to a peer whose replies have not arrived */
    CH_OFI_SENDS = 64,
    CH_OFI_RECEIVES = 128,
    CH_OFI_BULKS = 256, /* writes and reads in flight */
    CH_OFI_OPS = CH_OFI_SENDS + CH_OFI_RECEIVES + CH_OFI_BULKS,
    CH_OFI_CTXS = 16,  /* contexts that are distinguished; others share these */
    CH_OFI_NAME = 240, /* bytes of an address */
    CH_OFI_TOKEN = 16,
};

/* Precedes the frames of a message. The token is derived from the job's secret and both PEs. */
struct ch_ofi_header {
    uint32_t from, bytes;
    unsigned char token[CH_OFI_TOKEN];
};

struct ch_ofi_card {
    uint32_t name_bytes;
    char name[CH_OFI_NAME];
};
_Static_assert(sizeof(struct ch_ofi_card) <= CH_LINK_ADDRESS_BYTES, "a card is too long");

enum ch_ofi_kind { CH_OFI_SEND, CH_OFI_RECEIVE, CH_OFI_BULK };

/* An operation of the fabric. */
struct ch_ofi_op {
    struct fi_context2 context; /* first: a completion points to it */
    enum ch_ofi_kind kind;
    uint32_t pe, ctx;
    char *buffer;      /* of a message; null: a transfer of data */
    struct fid_mr *mr; /* of a transfer whose memory was registered only for it */
    char *copy;        /* of the data, for providers in software; else null */
    void *dst;         /* where what was read into the copy is needed; null: nowhere */
    size_t bytes;      /* of the copy */
    bool is_read;      /* a read is in flight */
    struct ch_ofi_op *next;
};

struct ch_ofi_pending {
    void *dst; /* of 8 bytes; null: only a reply is needed */
    uint64_t covers;
};

struct ch_ofi_peer {
    fi_addr_t address;
    struct ch_parts parts; /* the peer's memory, with its keys */
    unsigned char token_out[CH_OFI_TOKEN], token_in[CH_OFI_TOKEN];
    char out[CH_OFI_MESSAGE];
    size_t n_out;                      /* bytes in it, header included */
    uint32_t bulks;                    /* in flight */
    uint32_t bulks_of[2][CH_OFI_CTXS]; /* of these, writes and reads of each context */
    uint64_t posted, done, asked;      /* serials of frames, as in tcp.h */
    uint64_t ctx_posted[CH_OFI_CTXS];
    struct ch_ofi_pending pending[CH_OFI_PENDING];
    uint64_t first_pending, end_pending;
    bool has_failed;
};

struct ch_endpoint {
    struct ch_link_terms terms;
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_cq *cq;
    struct fid_av *av;
    struct fid_ep *endpoint; /* null: it was ended, and all peers have failed */
    int fd;                  /* of the completion queue; -1: it has none */
    struct ch_parts parts;
    struct ch_ofi_peer *peers; /* [n] */
    struct ch_ofi_op *ops;     /* [CH_OFI_OPS] */
    struct ch_ofi_op *free_sends, *free_bulks;
    char *buffers;
    struct fid_mr *buffers_mr; /* null: the fabric needs none */
    bool takes_gpu;            /* memory of terms.gpu can be registered */
    bool is_ordered;           /* messages are ordered after writes */
    bool is_software; /* the provider uses no memory of the caller after posting, see post.c */
    bool has_moved, has_arrived;
    uint32_t n_sends; /* in flight */
    chorus_status status;
    char why[640];
};

/* open.c */
/* Fail with ERR_UNSUPPORTED if strangers could access memory through this provider. */
CH_MUST_CHECK chorus_status ch_ofi_check_keys(const struct fi_info *info,
                                              const struct ch_options *options);
/* Close the endpoint, and with it all operations in flight; all peers count as failed. */
void ch_ofi_close_endpoint(struct ch_endpoint *ep);
/* Note that the peer can no longer be reached; progress returns the first failure. error: of
 * libfabric, positive. */
void ch_ofi_fail(struct ch_endpoint *ep, uint32_t pe, int error, const char *what);

/* memory.c */
/* Register a part with the fabric; access: FI_ bits of how it will be used. */
CH_MUST_CHECK chorus_status ch_ofi_register(struct ch_endpoint *ep,
                                            const struct ch_memory_part *part, uint64_t access,
                                            struct fid_mr **mr_out);
/* The operations of struct ch_link_ops. */
chorus_status ch_ofi_attach(struct ch_endpoint *ep, const struct ch_memory_part *part,
                            uint64_t *key_out);
void ch_ofi_detach(struct ch_endpoint *ep, void *base);
chorus_status ch_ofi_add_peer_key(struct ch_endpoint *ep, uint32_t pe,
                                  const struct ch_memory_part *there, uint64_t key);
void ch_ofi_drop_peer_key(struct ch_endpoint *ep, uint32_t pe, const char *there);

/* post.c: the operations of struct ch_link_ops. */
chorus_status ch_ofi_put(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe, char *there,
                         const void *src, size_t bytes);
chorus_status ch_ofi_put_signal(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe,
                                const struct ch_put_signal *put);
chorus_status ch_ofi_get(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe, void *dst,
                         const char *there, size_t bytes);
chorus_status ch_ofi_amo(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe, enum ch_amo op,
                         void *there, size_t bytes, uint64_t value, uint64_t compare,
                         uint64_t *fetched_out);
bool ch_ofi_is_sent(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe);
bool ch_ofi_is_done(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe);
void ch_ofi_abandon(struct ch_endpoint *ep, uint32_t pe);
/* Is a read from the peer, or from any (CH_LINK_ALL), in flight? */
bool ch_ofi_is_reading(const struct ch_endpoint *ep, uint32_t pe);
/* Send the frames collected for a peer, if they may be sent and the fabric accepts them. */
void ch_ofi_flush(struct ch_endpoint *ep, uint32_t pe);
/* Append a frame with a body to the message for the peer. False: there is no room. Replies have
 * their own room. */
bool ch_ofi_append(struct ch_ofi_peer *peer, const struct ch_frame *head, const void *body,
                   size_t bytes, bool is_reply);

/* progress.c */
/* Handle some completions, and send the collected frames to all peers. */
void ch_ofi_step(struct ch_endpoint *ep);
/* Free the operation of a transfer that is over, or was not begun. */
void ch_ofi_release(struct ch_endpoint *ep, struct ch_ofi_op *op);
/* Post the buffer of op to receive a message. */
void ch_ofi_post_receive(struct ch_endpoint *ep, struct ch_ofi_op *op);

/* Load libfabric's functions. ERR_UNSUPPORTED: it is not installed. */
CH_MUST_CHECK chorus_status ch_ofi_load(void);

#endif /* CH_OFI_H */
