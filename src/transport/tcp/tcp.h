/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcp.h: the network over sockets; declarations that its files share.
 *
 * Two PEs have one connection, opened when one of them first sends to the other, and possibly
 * channels for parts of long bodies (channel.h). Operations are frames (frame.h). They are
 * collected in slots; a frame that ends a message (a word, an atomic, a request for a reply)
 * makes one system call send all of them, so a put and the word after it are in one TCP
 * segment. The receiver reads small frames through a buffer, and large bodies directly to their
 * destination.
 *
 * Operations of a PE to a peer have serial numbers. For a context the number of its last
 * operation is known, and for a connection up to which number the kernel has the operations,
 * and up to which they have taken effect.
 */
#ifndef CH_TCP_H
#define CH_TCP_H

#include "transport/frame.h"
#include "transport/link.h"
#include "transport/parts.h"
#include "transport/tcp/address.h"
#include "transport/tcp/call.h"
#include "transport/tcp/channel.h"
#include "transport/tcp/hello.h"

enum {
    CH_TCP_PENDING = 64, /* requests of a PE to a peer whose replies have not arrived */
    CH_TCP_SLOTS = 512,  /* frames that wait to be sent; CH_TCP_PENDING of them for replies,
                            and one for CH_FRAME_CHANNELS */
    CH_TCP_SMALL = 104,  /* bytes of a body that is copied, so that the source may be reused */
    CH_TCP_READ = 16896, /* bytes that are read into the buffer of a link at a time: 16 KiB and
                            the frames around them; larger bodies bypass it */
    CH_TCP_IN = 66048,   /* the buffer: room for 64 KiB that a posted receive did not want */
    CH_TCP_CTXS = 16,    /* contexts that are distinguished; others share these */
    CH_TCP_PAIRS = 2, /* after so many blocking puts that a quiet followed, the next one will */
    CH_TCP_GUESTS = 128, /* connections whose other end is not authenticated yet */
};

/* A frame that waits to be sent. */
struct ch_tcp_slot {
    struct ch_frame head;
    char small[CH_TCP_SMALL]; /* stored directly behind the head, as they are sent */
    size_t small_bytes;
    const char *body; /* the rest, at its source; null: there is none */
    size_t body_bytes;
    uint64_t serial; /* serial number of the operation; 0: a reply */
};

/* A request whose reply has not arrived. */
struct ch_tcp_pending {
    void *dst;
    size_t bytes;
    uint64_t covers; /* the reply confirms the operations up to this one */
};

/* A receive that the PE has posted. */
struct ch_tcp_wanted {
    char *slot, *dst;
    size_t bytes;                                                 /* 0: there is none */
    enum { CH_TCP_AWAITED, CH_TCP_ARRIVING, CH_TCP_THERE } state; /* of the body, at dst */
};

enum ch_tcp_state {
    CH_TCP_DIALING, /* in progress, see ch_tcp_link.dial */
    CH_TCP_WAITING, /* for the peer, which also connects and whose connection will be used */
    CH_TCP_UP,
    CH_TCP_GONE, /* the peer has sent BYE */
    CH_TCP_FAILED,
};

#define CH_TCP_HAS_CLOSED \
    "it closed the connection: the PE has ended, or has stopped waiting for this one"

struct ch_tcp_link {
    uint32_t pe;
    enum ch_tcp_state state;
    int fd; /* of the state UP, else -1 */
    struct ch_tcp_call dial;
    char where[96];  /* the address to which it is connected, and this host's interface */
    char tried[200]; /* results of the earlier addresses */

    /* Frames to send are slots[first % CH_TCP_SLOTS] up to `end`. */
    struct ch_tcp_slot *slots;
    uint64_t first, end;
    size_t first_sent; /* bytes of the first slot that the kernel has taken */
    bool wants_room;   /* the socket is full: wait until it is writable */
    uint32_t watched;  /* events for which epoll watches the link; 0: none */

    uint64_t amo_ns;                    /* when the last atomic without a result was posted */
    uint64_t posted, sent, done;        /* serials, see above */
    uint64_t asked;                     /* serial up to which requests in flight will confirm */
    uint64_t ctx_posted[CH_TCP_CTXS];   /* of each context: serial of its last operation */
    uint64_t ctx_borrowed[CH_TCP_CTXS]; /* of each context: serial of its last operation whose
                                           source was not copied */
    /* Bodies of which channels send parts: their number, and that after the last operation of
     * each context. */
    uint64_t n_divided, ctx_divided[CH_TCP_CTXS];
    struct ch_tcp_pending pending[CH_TCP_PENDING];
    uint64_t first_pending, end_pending;
    /* Blocking puts and the quiets after them; see ask_early. */
    struct {
        uint64_t counted; /* last operation when is_sent was last asked for */
        uint64_t asked;   /* link->asked before that */
        uint32_t n_sent;  /* how often since is_done, with new operations */
        uint32_t n_pairs; /* is_sent and then is_done, in succession; at most CH_TCP_PAIRS */
    } quiet;

    char in[CH_TCP_IN];
    size_t lo, hi;   /* bytes in it that were not handled yet */
    char *place;     /* destination of the rest of a body */
    size_t left;     /* and its bytes; 0: a head follows */
    bool is_reply;   /* the body belongs to a reply */
    bool is_divided; /* channels receive parts of it; no frame is executed before they have */
    struct ch_tcp_wanted wanted;
    uint64_t heard_ns;     /* when bytes last arrived */
    uint64_t silent_at_ns; /* since when the peer's host has not answered; 0: it has */

    uint32_t n_channels;             /* that the link may have */
    struct ch_tcp_channel *channels; /* [n_channels]; null: none was opened yet */
    bool is_caller;                  /* this PE has connected, and opens the channels */
    bool is_widening;                /* it is opening them; counted in n_calls of the network */
    bool is_wide;                    /* all are open on both ends: bodies may be divided */
};

struct ch_endpoint {
    struct ch_link_terms terms;
    struct ch_tcp_hosts *addresses; /* of this host */
    struct ch_tcp_card *cards;      /* [n], set by meet */
    int epoll;
    int spare; /* closed when no descriptor is left, so that one connection at a time can still
                  be authenticated; -1: it was closed */
    int listeners[CH_TCP_ADDRESSES]; /* [n_listeners] */
    uint32_t n_listeners;
    struct ch_tcp_link **links; /* [n]; null: not used yet */
    uint32_t *up;               /* [n_up]: PEs of links that are up */
    uint32_t n_up, n_calls;     /* number of links that are connecting or waiting */
    struct ch_tcp_call guests[CH_TCP_GUESTS];
    struct ch_parts parts;
    struct ch_tcp_server servers[CH_TCP_CHANNELS];
    struct ch_tcp_wake wake;
    bool is_at_limit; /* that no descriptor is left has been logged */
    bool has_moved;   /* calls since progress was last requested */
    bool has_arrived; /* an event that may end a wait */
    uint32_t visits;
    uint64_t checked_ns; /* when links were last checked */
    uint64_t silent_ns;  /* time without an answer after which a host is lost */
    chorus_status status;
    char why[640]; /* of the status */
};

/* link.c. For sending to a peer: the link is created, and begins to connect, at first use.
 * Null: operations are discarded. */
struct ch_tcp_link *ch_tcp_link_of(struct ch_endpoint *ep, uint32_t pe);
/* For a peer that has connected, or will. Null: no memory. */
struct ch_tcp_link *ch_tcp_link_called(struct ch_endpoint *ep, uint32_t pe);
void ch_tcp_link_free(struct ch_tcp_link *link); /* null is a no-op */
/* No more bytes are sent or received on the link. */
void ch_tcp_link_end(struct ch_endpoint *ep, struct ch_tcp_link *link, enum ch_tcp_state state);
/* Fail the link, and the network with it; the first failure is kept. */
void ch_tcp_fail(struct ch_endpoint *ep, struct ch_tcp_link *link, chorus_status code,
                 const char *format, ...) __attribute__((cold, format(printf, 4, 5)));
void ch_tcp_remember(struct ch_endpoint *ep, chorus_status code, const char *why);

/* post.c: the operations of struct ch_link_ops. */
chorus_status ch_tcp_put(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe, char *there,
                         const void *src, size_t bytes);
chorus_status ch_tcp_put_signal(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe,
                                const struct ch_put_signal *put);
chorus_status ch_tcp_get(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe, void *dst,
                         const char *there, size_t bytes);
chorus_status ch_tcp_amo(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe, enum ch_amo op,
                         void *there, size_t bytes, uint64_t value, uint64_t compare,
                         uint64_t *fetched_out);
bool ch_tcp_is_sent(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe);
bool ch_tcp_is_done(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe);
void ch_tcp_abandon(struct ch_endpoint *ep, uint32_t pe);

/* send.c: a slot for an operation, which may be a request; makes progress until there is one.
 * Null: the link has failed. */
struct ch_tcp_slot *ch_tcp_slot_new(struct ch_endpoint *ep, struct ch_tcp_link *link);
bool ch_tcp_is_pending_full(const struct ch_tcp_link *link);
/* The body of a put or reply, which is not copied; channels may send parts of it. */
void ch_tcp_slot_body(struct ch_endpoint *ep, struct ch_tcp_link *link,
                      struct ch_tcp_slot *slot, const void *body, size_t bytes);
/* A slot for a reply; null: the peer has exceeded the number of requests. */
struct ch_tcp_slot *ch_tcp_slot_reply(struct ch_tcp_link *link);
/* Pass to the kernel as many frames as it takes now. */
void ch_tcp_flush(struct ch_endpoint *ep, struct ch_tcp_link *link);

/* receive.c: read what has arrived, and execute it. */
void ch_tcp_receive(struct ch_endpoint *ep, struct ch_tcp_link *link);
/* Is the link not read before its channels have received their parts? */
bool ch_tcp_waits(const struct ch_tcp_link *link);

/* wanted.c: the operations of struct ch_link_ops, and: does the frame match a posted receive?
 */
bool ch_tcp_post_receive(struct ch_endpoint *ep, uint32_t pe, void *slot, void *dst,
                         size_t bytes);
bool ch_tcp_received(struct ch_endpoint *ep, uint32_t pe);
bool ch_tcp_is_wanted(const struct ch_tcp_link *link, const struct ch_frame *head);
/* Number of bytes to read directly to the destination of a posted receive, although the head
 * before them has not arrived yet; 0: none. */
size_t ch_tcp_wanted_guess(const struct ch_tcp_link *link);
/* `got` bytes were read in this way; the buffer contains the head and the bytes after the body:
 * if the body is at its destination, sets the state for it, otherwise copies everything into
 * the buffer. */
void ch_tcp_wanted_sort(struct ch_endpoint *ep, struct ch_tcp_link *link, size_t guess,
                        size_t got);

/* connect.c */
CH_MUST_CHECK chorus_status ch_tcp_listen(struct ch_endpoint *ep, uint16_t *port_out);
void ch_tcp_dial(struct ch_endpoint *ep, struct ch_tcp_link *link);
void ch_tcp_listen_end(struct ch_endpoint *ep);
void ch_tcp_accept(struct ch_endpoint *ep, uint32_t listener);
void ch_tcp_spare(struct ch_endpoint *ep); /* open the spare descriptor, if it is closed */
/* An unauthenticated connection, or a link that is connecting, is readable or has connected. */
void ch_tcp_guest_step(struct ch_endpoint *ep, struct ch_tcp_call *guest);
void ch_tcp_dial_step(struct ch_endpoint *ep, struct ch_tcp_link *link);
/* End connections whose time limit has passed. */
void ch_tcp_calls_check(struct ch_endpoint *ep, uint64_t now_ns);
void ch_tcp_call_begin(struct ch_tcp_call *call, int fd, uint64_t time_ns);
void ch_tcp_call_end(struct ch_tcp_call *call);
/* Has TCP connected? Sets is_connected then. -1: it has failed, errno is the reason. */
int ch_tcp_call_connected(struct ch_tcp_call *call);
/* Has a message of `bytes` arrived? -1: none will, errno is the reason (0: the connection was
 * closed). */
int ch_tcp_call_read(struct ch_tcp_call *call, size_t bytes);
/* Handshake messages are short, and the socket's buffer is empty. */
bool ch_tcp_call_say(const struct ch_tcp_call *call, const void *message, size_t bytes);
/* A socket that is connecting to the address; -1, errno is the reason. */
int ch_tcp_connect_to(struct ch_endpoint *ep, const struct ch_tcp_address *address,
                      uint16_t port);

/* tcp.c: "tcp: 10.0.0.1 port 4711 by eth0", for messages. */
void ch_tcp_where(const struct ch_endpoint *ep, uint32_t pe, char where_out[CH_LINK_WHY_BYTES]);
/* Send and receive as much as possible, on all links. */
void ch_tcp_step(struct ch_endpoint *ep);
/* Let epoll watch a descriptor for `events`, and return `word` for them; `before`: those for
 * which it watched before. 0: none. */
enum {
    CH_TCP_WATCH_LISTENER,
    CH_TCP_WATCH_GUEST,
    CH_TCP_WATCH_LINK,
    CH_TCP_WATCH_CHANNEL, /* that is connecting */
    CH_TCP_WATCH_WAKE,
};
static inline uint64_t ch_tcp_watch_word(uint32_t what, uint32_t index)
{
    return (uint64_t)what << 32 | index;
}
void ch_tcp_watch(struct ch_endpoint *ep, int fd, uint64_t word, uint32_t before,
                  uint32_t events);

/* health.c */
void ch_tcp_socket_prepare(struct ch_endpoint *ep, int fd);
/* Called when the first bytes arrive, and those after a pause of CH_TCP_PAUSE_NS, which is less
 * than the kernel's 40 ms. */
#define CH_TCP_PAUSE_NS (20 * CH_NS_PER_MS)
void ch_tcp_acknowledge_late(int fd);
/* Has the other host of a connection not answered for ep->silent_ns, though data is in flight?
 * *since_ns is 0 at first. Called every CH_TCP_CHECK_NS. */
#define CH_TCP_CHECK_NS (CH_NS_PER_S / 2)
bool ch_tcp_is_silent(const struct ch_endpoint *ep, int fd, uint64_t *since_ns,
                      uint64_t now_ns);

#endif /* CH_TCP_H */
