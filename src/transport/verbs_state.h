/* SPDX-License-Identifier: Apache-2.0 */
/* verbs_state.h: the state of the verbs network; only for its own files. */
#ifndef CH_VERBS_STATE_H
#define CH_VERBS_STATE_H

#include "transport/net.h"
#include "transport/parts.h"
#include "transport/verbs_device.h"

#include <infiniband/verbs.h>
#include <stdio.h>

enum {
    CH_VERBS_DEPTH = 128,      /* work requests of a queue pair */
    CH_VERBS_EVERY = 32,       /* one in so many asks for a completion, if nothing else does */
    CH_VERBS_AMOS = 32,        /* atomics of a link under way */
    CH_VERBS_HELD = 64,        /* operations that wait for a link to be made */
    CH_VERBS_PIECES = 32,      /* the registered copies of memory that is not attached */
    CH_VERBS_MAILS = 1024,     /* receive buffers of all links together */
    CH_VERBS_CALLS = 128,      /* and of the queue pair that makes links */
    CH_VERBS_CALL_BYTES = 128, /* a call, and 40 bytes for a global route header */
    CH_VERBS_SENDS = 4096,     /* completions of work requests that may be unread */
    CH_VERBS_READS = 16,       /* RDMA reads under way on a queue pair */
};

/* The upper half of wr_id: the link of a work request, whose number is the lower half; or */
#define CH_VERBS_ID_MAIL UINT32_MAX           /* a receive buffer of all links, */
#define CH_VERBS_ID_RECEIVED (UINT32_MAX - 1) /* one of datagrams, */
#define CH_VERBS_ID_SENT (UINT32_MAX - 2)     /* or a datagram. */
#define CH_VERBS_PIECE_BYTES ((size_t)64 << 10)

/* What all PEs learn of one; the bytes of its card. */
struct ch_verbs_card {
    uint32_t magic;
    uint32_t qpn; /* of its unreliable datagrams, which carry calls */
    uint8_t gid[16];
    uint16_t lid;
    uint8_t mtu; /* an enum ibv_mtu */
    uint8_t is_ethernet, reads;
    uint8_t version; /* of RoCE: 1 or 2; 0 on InfiniBand */
    char where[CH_VERBS_WHERE_BYTES];
};

/* To make a link, each end tells the other its queue pair, until both know that the other's is
 * connected. By datagrams, which may be lost. */
struct ch_verbs_call {
    uint32_t magic, from, to, ctx;
    uint32_t qpn, psn;
    uint32_t link;     /* the sender's number of it */
    uint8_t connected; /* the sender's queue pair to the receiver's */
    uint8_t up;        /* the sender knows that the receiver's is, too */
    uint8_t failed;    /* the sender uses the link no more */
    uint8_t rest;
    unsigned char mac[32]; /* of all before, with the job's secret */
};

/* What a PE sends on a link, for the other's CPU. A PE that is about to sleep says so on its
 * links, since it does not learn of writes to its memory; the peer knocks after its next word.
 */
enum ch_verbs_mail_kind {
    CH_VERBS_MAIL_AMO,
    CH_VERBS_MAIL_ANSWER, /* to an atomic */
    CH_VERBS_MAIL_DOZES,
    CH_VERBS_MAIL_KNOCK,
};

struct ch_verbs_mail {
    uint32_t link; /* the receiver's number of it */
    uint8_t kind, op, bytes, rest;
    uint64_t there, value, compare;
};

/* Of a part of the own memory, whose key is the local one: the handle. Of a peer's, the key is
 * that which CH_VERBS_STRICT and CH_VERBS_RELAXED take apart. */
struct ch_verbs_regions {
    struct ibv_mr *strict, *relaxed; /* relaxed: writes to it may pass each other; or null */
};
#define CH_VERBS_KEYS(strict, relaxed) ((uint64_t)(strict) << 32 | (relaxed))
#define CH_VERBS_STRICT(key) ((uint32_t)((key) >> 32))
#define CH_VERBS_RELAXED(key) ((uint32_t)(key))

struct ch_verbs_peer {
    struct ch_verbs_card card;
    struct ch_parts places; /* its memory */
};

/* An operation, as it was asked for. */
struct ch_verbs_op {
    enum { CH_VERBS_PUT, CH_VERBS_SAY, CH_VERBS_GET, CH_VERBS_AMO } kind;
    enum ch_amo amo;
    char *there;
    const void *src;
    void *dst; /* of a get; where an atomic's value goes, or null */
    size_t bytes;
    uint64_t value, compare;
};

/* A work request under way, and what its completion gives back. */
struct ch_verbs_slot {
    char *piece; /* or null */
    void *dst;   /* to which the piece is copied first; or null */
    uint32_t bytes;
    bool is_signaled;
};

enum ch_verbs_stage { CH_VERBS_CALLING, CH_VERBS_UP, CH_VERBS_FAILED };

struct ch_verbs_link {
    uint32_t pe, ctx, index;
    enum ch_verbs_stage stage;
    bool is_connected; /* the own queue pair */
    bool is_told;      /* the peer, that this PE dozes; it has not knocked since */
    bool peer_dozes;   /* and has not been knocked for since */
    struct ibv_qp *qp;
    struct ibv_ah *ah; /* while calling */
    uint32_t psn, peer_qpn, peer_link;
    uint64_t call_ns, since_ns; /* when to call again; when the link was asked for */

    /* Work requests are numbered from 1. */
    uint64_t posted, retired;
    uint64_t signaled; /* the last that asked for a completion */
    uint64_t lent;     /* the last that reads or writes memory of the caller */
    struct ch_verbs_slot slots[CH_VERBS_DEPTH];

    uint64_t *fetched[CH_VERBS_AMOS]; /* where answers go, or null; they come in order */
    uint64_t asked, answered;
    uint64_t answers[CH_VERBS_AMOS]; /* of the peer's atomics, for want of room not yet sent */
    uint64_t made, sent;

    struct ch_verbs_op *held; /* until the link is up */
    uint32_t n_held;
};

struct ch_net {
    struct ch_net_terms terms;
    struct ch_verbs_device device;
    struct ibv_pd *pd;
    struct ibv_comp_channel *channel;
    struct ibv_cq *cq;
    struct ibv_srq *srq;
    struct ibv_qp *calls; /* unreliable datagrams */
    uint64_t calls_sent, calls_done;
    uint32_t inline_bytes;
    bool is_in_order; /* writes of a queue pair are, to whoever reads what they wrote */
    bool is_armed;    /* the channel tells of the next completion */
    int watch_fd;
    uint32_t looks;
    uint64_t port_down_ns; /* since when; 0: it is up */

    char *pool; /* one registered range: mails, received calls, sent calls, pieces */
    struct ibv_mr *pool_mr;
    char *free_pieces[CH_VERBS_PIECES];
    uint32_t n_free_pieces;

    struct ch_parts parts;
    struct ch_verbs_peer *peers; /* [n]; null before meet */

    struct ch_verbs_link **links; /* by index */
    uint32_t n_links;
    struct ch_verbs_link ***by_ctx; /* [n_ctxs][n] */
    uint32_t n_ctxs;
    uint32_t n_unread;  /* work requests that asked for a completion, not read yet */
    uint32_t n_calling; /* links with operations that wait for them */
    uint32_t n_owing;   /* answers that wait for room */
    bool is_replaying;  /* what a link held is posted: nothing may go before it */

    chorus_status failed;
    char why[256];
};

/* Regions of the pool. */
char *ch_verbs_mail_at(const struct ch_net *net, uint32_t i);
char *ch_verbs_received_at(const struct ch_net *net, uint32_t i);
char *ch_verbs_sent_at(const struct ch_net *net, uint32_t i);

/* The first failure stays. The link, if there is one, does nothing from now on. */
void ch_verbs_fail(struct ch_net *net, struct ch_verbs_link *link, chorus_status code,
                   const char *format, ...) __attribute__((cold, format(printf, 4, 5)));

/* --- verbs_link.c --- */
/* The link, made if need be; null: it cannot be, and the net has failed. */
struct ch_verbs_link *ch_verbs_link(struct ch_net *net, uint32_t ctx, uint32_t pe);
struct ch_verbs_link *ch_verbs_link_known(const struct ch_net *net, uint32_t ctx, uint32_t pe);
void ch_verbs_link_free(struct ch_verbs_link *link);
/* A call came in; one goes out; one again, for each link that still waits; an operation for a
 * link that is not up yet; it is. */
void ch_verbs_hear(struct ch_net *net, const struct ch_verbs_call *call);
void ch_verbs_call_peer(struct ch_net *net, struct ch_verbs_link *link);
void ch_verbs_call_again(struct ch_net *net);
void ch_verbs_hold(struct ch_net *net, struct ch_verbs_link *link,
                   const struct ch_verbs_op *op);
void ch_verbs_is_up(struct ch_net *net, struct ch_verbs_link *link);
/* A receive buffer goes back. */
void ch_verbs_listen(struct ch_net *net, uint32_t i);
CH_MUST_CHECK chorus_status ch_verbs_make_calls(struct ch_net *net);
/* A queue pair that carries data, in its first state; null: errno says why. */
struct ibv_qp *ch_verbs_qp(const struct ch_net *net, uint32_t inline_bytes,
                           uint32_t *inline_bytes_out);

/* --- verbs_post.c --- */
/* As asked for by the caller of the network; and once the link is up. */
void ch_verbs_post(struct ch_net *net, struct ch_verbs_link *link,
                   const struct ch_verbs_op *op);
void ch_verbs_do(struct ch_net *net, struct ch_verbs_link *link, const struct ch_verbs_op *op);
/* Post a write of nothing, whose completion tells that all before has arrived. */
void ch_verbs_flush(struct ch_net *net, struct ch_verbs_link *link);
/* See net.h. */
void ch_verbs_doze(struct ch_net *net);
/* Answers that found no room. */
void ch_verbs_answer(struct ch_net *net, struct ch_verbs_link *link);

/* --- verbs_memory.c --- */
/* Why memory could not be registered. */
CH_MUST_CHECK chorus_status ch_verbs_refuse_memory(const struct ch_net *net, size_t bytes,
                                                   int error);
/* See net.h. */
void ch_verbs_card(const struct ch_net *net, char card_out[CH_NET_CARD_BYTES]);
chorus_status ch_verbs_meet(struct ch_net *net, const char (*cards)[CH_NET_CARD_BYTES]);
chorus_status ch_verbs_attach(struct ch_net *net, void *base, size_t bytes, uint64_t *key_out);
void ch_verbs_detach(struct ch_net *net, void *base);
chorus_status ch_verbs_learn(struct ch_net *net, uint32_t pe, const char *there, size_t bytes,
                             uint64_t key);
void ch_verbs_forget(struct ch_net *net, uint32_t pe, const char *there);

/* --- verbs_poll.c --- */
chorus_status ch_verbs_progress(struct ch_net *net, bool *moved_out);
int ch_verbs_watch(struct ch_net *net);
void ch_verbs_mail(struct ch_net *net, uint32_t i);

#endif /* CH_VERBS_STATE_H */
