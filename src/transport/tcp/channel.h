/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel.h: further connections between two PEs, for parts of long bodies.
 *
 * The body of a long put or reply is divided into one part for the connection of the link,
 * which the head of its frame precedes, and one for each channel. The head contains the number
 * of parts; on channels there are only the bytes of parts, in the order of the heads. The
 * receiver executes no further frame of the link before all parts are there, so a channel has
 * at most one part to receive. It may have many to send.
 *
 * Channel i of all links is served by thread i of the network (server.c), outside of the
 * network's lock.
 */
#ifndef CH_TCP_CHANNEL_H
#define CH_TCP_CHANNEL_H

#include "transport/tcp/call.h"

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CH_TCP_CHANNELS = 7,                    /* of a link, at most */
    CH_TCP_CHANNELS_DEFAULT = 3,            /* at most, if the user has not chosen a number */
    CH_TCP_STRIPE = 64 << 10,               /* bytes of the shortest body that is divided */
    CH_TCP_STRIPE_ASLEEP = 256 << 10,       /* the same while threads of channels sleep */
    CH_TCP_PART_UNIT = 4096,                /* parts are multiples of it, except the first */
    CH_TCP_PARTS = 128,                     /* parts that wait to be sent on one channel */
    CH_TCP_PARTS_MAX = CH_TCP_CHANNELS + 1, /* of a body */
};

struct ch_endpoint;
struct ch_tcp_link;

struct ch_tcp_part {
    char *at;
    size_t bytes;
};

struct ch_tcp_channel {
    int fd;                  /* -1: not open */
    struct ch_tcp_call call; /* the side that connects: until the channel is open */

    /* Parts to send: out[i % CH_TCP_PARTS] for i from out_first, which the thread advances, up
     * to out_end, which the holder of the network's lock advances. Both are atomic. */
    struct ch_tcp_part out[CH_TCP_PARTS];
    uint64_t out_first, out_end;
    size_t out_sent; /* bytes of the first part that the kernel has taken; only the thread */

    /* The part to receive: changed while none is due, or under the lock of the thread. */
    struct ch_tcp_part in;
    size_t in_got;
    uint64_t in_first, in_end; /* parts that were received and announced; atomic */

    int error; /* why the connection has ended: errno, or CH_TCP_CLOSED; 0: it has not; atomic
                */
    uint64_t silent_at_ns; /* see struct ch_tcp_link */
};

#define CH_TCP_CLOSED (-1)

/* A thread that serves one channel of each link. */
struct ch_tcp_server {
    struct ch_tcp_wake *wake; /* of the network */
    const char *spare;        /* where it runs; null: anywhere */
    uint32_t me;
    pthread_t thread;
    bool is_running;
    pthread_mutex_t lock;             /* the thread holds it while it accesses channels */
    uint32_t n_queued;                /* other threads that wait for the lock; atomic */
    struct ch_tcp_channel **channels; /* [n], under the lock */
    struct pollfd *polls;             /* one more than there may be channels */
    uint32_t n;
    int fd;             /* an eventfd: a part was posted, or the thread must end */
    uint32_t is_asleep; /* it is about to poll fd; atomic */
    uint32_t is_ending; /* atomic */
};

/* How threads of channels inform the network. */
struct ch_tcp_wake {
    int fd;              /* an eventfd that ep->epoll watches; -1: there are no channels */
    uint32_t is_watched; /* a thread may sleep until epoll reports an event; atomic */
    uint32_t has_failed; /* a channel has; atomic */
    uint64_t steps;      /* parts that were sent or received; atomic */
    uint64_t seen;       /* steps that the network has noticed */
};

/* server.c */
/* Start a thread for up to `most` channels. False: there is no memory, descriptor or thread. */
bool ch_tcp_server_start(struct ch_tcp_server *server, uint32_t most);
void ch_tcp_server_stop(struct ch_tcp_server *server); /* a no-op if it was not started */
void ch_tcp_server_add(struct ch_tcp_server *server, struct ch_tcp_channel *channel);
/* On return, the thread no longer accesses the channel, nor memory of its parts. */
void ch_tcp_server_remove(struct ch_tcp_server *server, struct ch_tcp_channel *channel);
/* The channel got a part, or will soon get one. Returns whether the thread was awake. */
bool ch_tcp_server_call(struct ch_tcp_server *server);
void ch_tcp_server_lock(struct ch_tcp_server *server);
void ch_tcp_server_unlock(struct ch_tcp_server *server);

/* channel.c */
/* Number of channels that this PE can serve for each peer. */
uint32_t ch_tcp_channels_choose(const struct ch_endpoint *ep);
/* Divide a body into parts, and give all but the first to the channels. Returns the number of
 * parts and sets the bytes of the first; 0: the body is sent as a whole. One that takes less
 * time as a whole than threads need to wake up only wakes those that sleep. */
uint32_t ch_tcp_divide(struct ch_endpoint *ep, struct ch_tcp_link *link, const char *body,
                       size_t bytes, size_t *first_out);
/* A whole body of these bytes arrives: the next one of this length may be divided. */
void ch_tcp_channels_wake(struct ch_endpoint *ep, const struct ch_tcp_link *link,
                          uint64_t bytes);
/* May a peer have divided a body of these bytes into so many parts? */
bool ch_tcp_may_divide(const struct ch_tcp_link *link, uint64_t bytes, uint32_t parts);
/* Bytes of the first part. */
size_t ch_tcp_first_part(size_t bytes, uint32_t parts);
/* The other parts of a body go to dst. */
void ch_tcp_channels_expect(struct ch_endpoint *ep, struct ch_tcp_link *link, char *dst,
                            size_t bytes);
/* Move what has arrived of them to dst, where the rest goes, too. */
void ch_tcp_channels_move(struct ch_endpoint *ep, struct ch_tcp_link *link, char *dst,
                          size_t bytes);
/* Have the channels received all parts that were announced? */
bool ch_tcp_channels_have(const struct ch_tcp_link *link);
/* Have they passed the first `count` parts to the kernel? */
bool ch_tcp_channels_sent(const struct ch_tcp_link *link, uint64_t count);
/* Notice what the threads have done; fails links whose channels have failed. */
void ch_tcp_channels_look(struct ch_endpoint *ep);
/* Does the host of a channel not answer? */
bool ch_tcp_channels_silent(const struct ch_endpoint *ep, struct ch_tcp_link *link,
                            uint64_t now_ns);
/* Close the channels of a link, which can then have no others. */
void ch_tcp_channels_end(struct ch_endpoint *ep, struct ch_tcp_link *link);
/* End all threads. */
void ch_tcp_channels_stop(struct ch_endpoint *ep);

/* widen.c: opening channels. */
struct ch_tcp_hello;
/* A link is up, and this PE has connected. */
void ch_tcp_widen(struct ch_endpoint *ep, struct ch_tcp_link *link);
/* A connecting channel is readable or has connected. */
void ch_tcp_widen_step(struct ch_endpoint *ep, struct ch_tcp_link *link, uint32_t channel);
/* Give up channels whose time limit has passed. */
void ch_tcp_widen_check(struct ch_endpoint *ep, struct ch_tcp_link *link, uint64_t now_ns);
/* The answer to a hello for a channel; whose ends are known, and are PEs of the job. */
enum ch_tcp_verdict ch_tcp_widen_judge(struct ch_endpoint *ep,
                                       const struct ch_tcp_hello *hello);
/* The accepted connection, which is welcome, becomes a channel. */
void ch_tcp_widen_take(struct ch_endpoint *ep, const struct ch_tcp_hello *hello,
                       struct ch_tcp_call *call);
/* The peer has opened all channels, or (0) has given them up. False: that is wrong. */
bool ch_tcp_widened(struct ch_endpoint *ep, struct ch_tcp_link *link, uint64_t count);

#endif /* CH_TCP_CHANNEL_H */
