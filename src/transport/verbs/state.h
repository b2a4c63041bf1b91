/* SPDX-License-Identifier: Apache-2.0 */
/* state.h: the state of the verbs network; only for its own files. */
#ifndef CH_VERBS_STATE_H
#define CH_VERBS_STATE_H

#include "transport/link.h"
#include "transport/network.h"

#include <infiniband/verbs.h>
#include <stdio.h>

enum { CH_VERBS_WHERE_BYTES = 96, CH_VERBS_NAME_BYTES = 64 };

enum {
    CH_VERBS_DEPTH = 128, /* largest number of work requests of a queue pair */
    CH_VERBS_EVERY =
        32, /* one of this number requests a completion, if there is no other reason to */
    CH_VERBS_AMOS = 32,    /* atomic operations of a link in flight */
    CH_VERBS_HELD = 64,    /* operations that wait until a link is made */
    CH_VERBS_PIECES = 32,  /* the registered copies of memory that is not attached */
    CH_VERBS_MAILS = 1024, /* receive buffers of all links together */
    CH_VERBS_CALLS = 128,  /* and of the queue pair for connection requests */
    CH_VERBS_CALL_BYTES =
        128,               /* a connection request, and 40 bytes for a global route header */
    CH_VERBS_SENDS = 4096, /* largest number of unread completions of work requests */
    CH_VERBS_READS = 16,   /* RDMA reads in flight on a queue pair */
};

/* The upper half of wr_id: the link of a work request, whose number is the lower half; or */
#define CH_VERBS_ID_MAIL UINT32_MAX           /* a receive buffer of all links, */
#define CH_VERBS_ID_RECEIVED (UINT32_MAX - 1) /* one for datagrams, */
#define CH_VERBS_ID_SENT (UINT32_MAX - 2)     /* or a datagram. */
#define CH_VERBS_PIECE_BYTES ((size_t)64 << 10)

/* Which RDMA device, port and GID a PE uses. */
struct ch_verbs_device {
    struct ibv_context *context;
    char name[CH_VERBS_NAME_BYTES];
    uint8_t port;
    struct ibv_port_attr port_attr;
    struct ibv_device_attr attr;
    struct ibv_gid_entry gid;
    bool is_ethernet;
    bool is_software;                 /* a device in software, which is on no bus */
    char why[48];                     /* this port */
    char where[CH_VERBS_WHERE_BYTES]; /* "rxe0 port 1, RoCE v2, GID 1 (10.0.0.1)" */
};

/* The value of CHORUS_VERBS: "device[:port[:gid]]"; empty or 0, and -1: any. */
struct ch_verbs_choice {
    char name[CH_VERBS_NAME_BYTES];
    uint8_t port;
    int gid;
};

/* What each PE publishes. */
struct ch_verbs_card {
    uint32_t magic;
    uint32_t qpn; /* of its unreliable datagrams, which carry connection requests */
    uint8_t gid[16];
    uint16_t lid;
    uint8_t mtu; /* an enum ibv_mtu */
    uint8_t is_ethernet, reads;
    uint8_t version; /* of RoCE: 1 or 2; 0 on InfiniBand */
    char where[CH_VERBS_WHERE_BYTES];
};

/* To make a link, each end sends its queue pair to the other, until both know that the other
 * has connected. Sent by datagrams, which may be lost. */
struct ch_verbs_call {
    uint32_t magic, from, to, ctx;
    uint32_t qpn, psn;
    uint32_t link;     /* the sender's number of the link */
    uint8_t connected; /* the sender's queue pair to the receiver's */
    uint8_t up;        /* the sender knows that the receiver's is, too */
    uint8_t failed;    /* the sender no longer uses the link */
    uint8_t rest;
    unsigned char mac[32]; /* of all members before, with the job's secret */
};

/* A message on a link for the other's CPU. A PE that is about to sleep announces it on its
 * links, since writes to its memory cause no event; the peer then sends an event (a knock)
 * after its next word. */
enum ch_verbs_mail_kind {
    CH_VERBS_MAIL_AMO,
    CH_VERBS_MAIL_ANSWER, /* reply to an atomic operation */
    CH_VERBS_MAIL_DOZES,
    CH_VERBS_MAIL_KNOCK,
};

struct ch_verbs_mail {
    uint32_t link; /* the receiver's number of the link */
    uint8_t kind, op, bytes, rest;
    uint64_t there, value, compare;
};

/* For a part of this PE's memory, the handle whose key is the local one. For a peer's part,
 * CH_VERBS_STRICT and CH_VERBS_RELAXED extract the two keys. */
struct ch_verbs_regions {
    struct ibv_mr *strict, *relaxed; /* registered with the relaxed key, under which writes may
                                        pass each other; or null */
};
#define CH_VERBS_KEYS(strict, relaxed) ((uint64_t)(strict) << 32 | (relaxed))
#define CH_VERBS_STRICT(key) ((uint32_t)((key) >> 32))
#define CH_VERBS_RELAXED(key) ((uint32_t)(key))

struct ch_verbs_peer {
    struct ch_verbs_card card;
    struct ch_parts places; /* its memory */
};

/* An operation as it was posted. */
struct ch_verbs_op {
    enum { CH_VERBS_PUT, CH_VERBS_WORD, CH_VERBS_GET, CH_VERBS_AMO } kind;
    enum ch_amo amo;
    char *there;
    const void *src;
    void *dst; /* destination of a get; of the old value of an atomic operation, or null */
    size_t bytes;
    uint64_t value, compare;
};

/* A work request in flight, and what its completion releases. */
struct ch_verbs_slot {
    char *piece; /* or null */
    void *dst;   /* destination to which the piece is copied first; or null */
    uint32_t bytes;
    bool is_signaled;
    bool is_direct; /* it reads or writes memory of the caller */
};

enum ch_verbs_stage { CH_VERBS_CALLING, CH_VERBS_UP, CH_VERBS_FAILED };

struct ch_verbs_link {
    uint32_t pe, ctx, index;
    enum ch_verbs_stage stage;
    bool is_connected; /* this PE's queue pair, to the peer's */
    bool is_told; /* this PE has announced to the peer that it sleeps; the peer has not sent an
                     event since */
    bool peer_dozes;   /* the peer has announced that it sleeps, and was sent no event since */
    struct ibv_qp *qp; /* null: it could not be created, or was ended */
    struct ibv_ah *ah; /* while the link is being made */
    uint32_t psn, peer_qpn, peer_link;
    uint64_t call_ns, since_ns; /* when to repeat the request; when the link was first needed */

    /* Work requests are numbered from 1. */
    uint64_t posted, retired;
    uint64_t signaled; /* the last one that requested a completion */
    uint64_t lent;     /* the last one that reads memory of the caller */
    struct ch_verbs_slot slots[CH_VERBS_DEPTH];

    uint64_t *fetched[CH_VERBS_AMOS]; /* of replies, in order; may be null */
    uint64_t asked, answered;
    uint64_t answers[CH_VERBS_AMOS]; /* to the peer's atomics; they wait for room */
    uint64_t made, sent;

    struct ch_verbs_op *held; /* operations posted before the link was up */
    uint32_t n_held;
};

struct ch_endpoint {
    struct ch_link_terms terms;
    struct ch_verbs_device device;
    struct ibv_pd *pd;
    struct ibv_comp_channel *channel;
    struct ibv_cq *cq;
    struct ibv_srq *srq;
    struct ibv_qp *calls; /* unreliable datagrams */
    uint64_t calls_sent, calls_done;
    uint32_t inline_bytes;
    bool is_in_order; /* readers of the written memory see writes of a queue pair in order */
    bool takes_gpu;   /* it can register the memory of a dma-buf */
    bool is_armed;    /* an event was requested for the next completion */
    int watch_fd;
    uint32_t looks;
    uint64_t port_down_ns; /* since when; 0: it is up */

    char *pool; /* one registered range: messages, received requests, sent requests, pieces */
    struct ibv_mr *pool_mr;
    char *free_pieces[CH_VERBS_PIECES];
    uint32_t n_free_pieces;

    struct ch_parts parts;
    struct ch_verbs_peer *peers; /* [n]; null before meet */

    struct ch_verbs_link **links; /* by index */
    uint32_t n_links;
    struct ch_verbs_link ***by_ctx; /* [n_ctxs][n] */
    uint32_t n_ctxs;
    uint32_t n_unread;  /* work requests that requested a completion that was not read yet */
    uint32_t n_calling; /* number of links with operations that wait for the link */
    uint32_t n_owing;   /* replies that wait for room */
    bool is_replaying;  /* the waiting operations of a link are being posted: later ones must
                           wait */

    chorus_status failed;
    char why[256];
};

/* Buffer i of the pool for: a received mail, a received connection request, one to send. */
char *ch_verbs_mail_at(const struct ch_endpoint *ep, uint32_t i);
char *ch_verbs_received_at(const struct ch_endpoint *ep, uint32_t i);
char *ch_verbs_sent_at(const struct ch_endpoint *ep, uint32_t i);

/* Fail the network with this message; the first failure is kept. Later operations of the link,
 * if one is given, do nothing. */
void ch_verbs_fail(struct ch_endpoint *ep, struct ch_verbs_link *link, chorus_status code,
                   const char *format, ...) __attribute__((cold, format(printf, 4, 5)));

/* Read the value of CHORUS_VERBS. ERR_ARG: it is not valid. */
CH_MUST_CHECK chorus_status ch_verbs_choice_read(const char *text, struct ch_verbs_choice *out);

/* Returns the index of the GID to use for a port: RoCE v2 before v1, and IPv4 addresses before
 * global IPv6 addresses before link-local ones. -1: there is none. */
int ch_verbs_gid_choose(const struct ibv_gid_entry *entries, size_t n, uint8_t port);

/* Open the device for this PE, the `nth` of its host: the nearest to the cores that it may run
 * on, and devices of equal distance in turn. ERR_UNSUPPORTED, with the reason; ERR_ARG if
 * CHORUS_VERBS names a device that does not exist. */
CH_MUST_CHECK chorus_status ch_verbs_device_open(const struct ch_verbs_choice *choice,
                                                 uint32_t nth, struct ch_verbs_device *out);
void ch_verbs_device_close(struct ch_verbs_device *device);

/* --- link.c --- */
/* Returns the link of ctx to pe, which is created if there is none; null: it cannot be created,
 * and the network has failed. */
struct ch_verbs_link *ch_verbs_link(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe);
/* Returns the link of ctx to pe; null: it was not created yet. */
struct ch_verbs_link *ch_verbs_link_find(const struct ch_endpoint *ep, uint32_t ctx,
                                         uint32_t pe);
void ch_verbs_link_free(struct ch_verbs_link *link);
/* Handle a received connection request: connect the link's queue pair to that of its sender. */
void ch_verbs_handle_call(struct ch_endpoint *ep, const struct ch_verbs_call *call);
/* Send a connection request for the link; it is dropped if there is no room, as datagrams may
 * be lost anyway. */
void ch_verbs_send_call(struct ch_endpoint *ep, struct ch_verbs_link *link);
/* Repeat the request for each link with waiting operations, and fail those that wait too long.
 */
void ch_verbs_repeat_calls(struct ch_endpoint *ep);
/* Queue an operation for a link that is not up yet; the first one sends the connection request.
 */
void ch_verbs_hold_op(struct ch_endpoint *ep, struct ch_verbs_link *link,
                      const struct ch_verbs_op *op);
/* The peer's end is connected: mark the link as up, and post its queued operations. */
void ch_verbs_set_up(struct ch_endpoint *ep, struct ch_verbs_link *link);
/* Post receive buffer i for connection requests. */
void ch_verbs_post_call_receive(struct ch_endpoint *ep, uint32_t i);
/* Create the queue pair for connection requests, with its receive buffers. */
CH_MUST_CHECK chorus_status ch_verbs_make_call_qp(struct ch_endpoint *ep);
/* Create a queue pair that carries data, in its first state. *inline_bytes_out, which may be
 * null: bytes that it can send inline. Returns null: errno is the reason. */
struct ibv_qp *ch_verbs_create_qp(const struct ch_endpoint *ep, uint32_t inline_bytes,
                                  uint32_t *inline_bytes_out);

/* --- post.c --- */
/* Post an operation, or queue it until the link is up. */
void ch_verbs_post_or_hold(struct ch_endpoint *ep, struct ch_verbs_link *link,
                           const struct ch_verbs_op *op);
/* Post an operation on a link that is up; wakes the peer if it sleeps and may wait for it. */
void ch_verbs_perform_op(struct ch_endpoint *ep, struct ch_verbs_link *link,
                         const struct ch_verbs_op *op);
/* Request a completion that confirms that all earlier operations have arrived, by a write
 * without data; not if the last one requested it, or there is no room. */
void ch_verbs_flush(struct ch_endpoint *ep, struct ch_verbs_link *link);
/* Announce to peers that this PE is about to sleep: `sleep` of link.h. */
void ch_verbs_announce_sleep(struct ch_endpoint *ep);
/* Post replies for which there was no room. */
void ch_verbs_send_answers(struct ch_endpoint *ep, struct ch_verbs_link *link);

/* --- memory.c --- */
/* Fail with the message that the part cannot be registered; error: the errno. */
CH_MUST_CHECK chorus_status ch_verbs_fail_registration(const struct ch_endpoint *ep,
                                                       const struct ch_memory_part *part,
                                                       int error);
/* Can the device, its driver and the kernel register the memory of a dma-buf? */
bool ch_verbs_takes_dma_buf(const struct ch_endpoint *ep);
/* The operations of struct ch_link_ops. */
void ch_verbs_card(const struct ch_endpoint *ep, char card_out[CH_LINK_ADDRESS_BYTES]);
chorus_status ch_verbs_meet(struct ch_endpoint *ep, const char (*cards)[CH_LINK_ADDRESS_BYTES]);
chorus_status ch_verbs_attach(struct ch_endpoint *ep, const struct ch_memory_part *part,
                              uint64_t *key_out);
void ch_verbs_detach(struct ch_endpoint *ep, void *base);
chorus_status ch_verbs_add_peer_key(struct ch_endpoint *ep, uint32_t pe,
                                    const struct ch_memory_part *there, uint64_t key);
void ch_verbs_drop_peer_key(struct ch_endpoint *ep, uint32_t pe, const char *there);
void ch_verbs_abandon(struct ch_endpoint *ep, uint32_t pe);

/* --- poll.c --- */
/* The operations of struct ch_link_ops. */
chorus_status ch_verbs_progress(struct ch_endpoint *ep, bool *moved_out);
int ch_verbs_watch(struct ch_endpoint *ep);
/* Post receive buffer i for mail. */
void ch_verbs_post_mail_receive(struct ch_endpoint *ep, uint32_t i);

#endif /* CH_VERBS_STATE_H */
