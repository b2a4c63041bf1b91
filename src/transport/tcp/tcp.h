/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcp.h: the network over sockets; declarations that its files share.
 *
 * Two PEs have one connection, opened when one of them first sends to the other, and possibly
 * channels for parts of long bodies (channel.c). Operations are frames (network.h). They are
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

#include "base/error.h"
#include "transport/network.h"
#include "transport/link.h"

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* ---- addresses ---- */

enum { CH_TCP_ADDRESSES = 12, CH_TCP_ADDRESS_TEXT = 64, CH_TCP_INTERFACE_BYTES = 16 };

struct ch_tcp_address {
    uint8_t is_v6;
    uint8_t prefix; /* number of bits of the network prefix */
    uint8_t bytes[16];
};

/* What a PE publishes. */
struct ch_tcp_card {
    uint16_t port;
    uint16_t channels; /* that the PE can serve for each peer */
    uint16_t n;
    struct ch_tcp_address addresses[CH_TCP_ADDRESSES];
};
_Static_assert(sizeof(struct ch_tcp_card) <= CH_LINK_ADDRESS_BYTES, "a card is too long");

/* This host's addresses. */
struct ch_tcp_hosts {
    struct ch_tcp_card card; /* port 0 until it is known */
    bool is_chosen; /* the PE uses only these: CHORUS_NET or the start of the job says so */
    char interfaces[CH_TCP_ADDRESSES][CH_TCP_INTERFACE_BYTES];
};

union ch_tcp_sockaddr {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/* ---- the handshake of a new connection ---- */

enum { CH_TCP_VERSION = 2, CH_TCP_NONCE_BYTES = 32, CH_TCP_MAC_BYTES = 32 };

struct ch_tcp_nonce {
    unsigned char bytes[CH_TCP_NONCE_BYTES];
};

struct ch_tcp_challenge {
    char magic[8];
    uint32_t version;
    uint32_t order; /* ORDER of address.c in the byte order of its sender */
    struct ch_tcp_nonce nonce;
};

struct ch_tcp_hello {
    char magic[8];
    uint32_t from, to, n;
    uint32_t channel; /* which the connection will be, from 1; 0: that of the link */
    struct ch_tcp_nonce nonce;
    unsigned char mac[CH_TCP_MAC_BYTES];
};

/* The answers of the accepting side. */
enum ch_tcp_verdict {
    CH_TCP_WELCOME = 1,
    CH_TCP_STRANGER, /* the MAC is wrong: the PE is of another job. This answer has no MAC */
    CH_TCP_MISTAKEN, /* the hello is for another PE, or for a job of another size */
    CH_TCP_BUSY,     /* the connecting side must use the connection that is being made to it */
    CH_TCP_FULL,     /* there is no descriptor or thread for a channel */
};

struct ch_tcp_answer {
    uint32_t verdict, zero;
    unsigned char mac[CH_TCP_MAC_BYTES];
};

enum { CH_TCP_HELLO_MOST = sizeof(struct ch_tcp_hello) };

/* A connection whose ends are not authenticated yet. */
struct ch_tcp_call {
    int fd;            /* -1: none */
    uint32_t pe;       /* for a connecting one: the expected PE */
    uint32_t at;       /* and the index of its address, in the order in which they are tried */
    uint32_t n_again;  /* number of repeated attempts */
    bool is_connected; /* and whether TCP has connected */
    uint64_t deadline_ns; /* CH_TCP_NEVER: none */
    struct ch_tcp_nonce mine, theirs;
    char in[CH_TCP_HELLO_MOST]; /* the message being received */
    size_t n_in;
    bool has_said; /* this PE has sent its hello */
};

#define CH_TCP_NEVER UINT64_MAX

/* ---- channels, for parts of long bodies ---- */

enum {
    CH_TCP_CHANNELS = 7,                    /* of a link, at most */
    CH_TCP_STRIPE = 64 << 10,               /* bytes of the shortest body that is divided */
    CH_TCP_STRIPE_ASLEEP = 256 << 10,       /* the same while threads of channels sleep */
    CH_TCP_PARTS = 128,                     /* parts that wait to be sent on one channel */
    CH_TCP_PARTS_MAX = CH_TCP_CHANNELS + 1, /* of a body */
};

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

/* ---- links ---- */

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
    CH_TCP_ACCEPTED = 128, /* connections whose other end is not authenticated yet */
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
    /* Blocking puts and the quiets after them; see request_reply_early. */
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
    struct ch_tcp_call accepted[CH_TCP_ACCEPTED];
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

/* ---- tcp.c ---- */

/* Returns the link for sending to a peer; it is created, and begins to connect, at first use.
 * Null: it has failed, so operations are discarded. */
struct ch_tcp_link *ch_tcp_link_get_or_dial(struct ch_endpoint *ep, uint32_t pe);
/* Returns the link to a peer that has connected, or will; it is created if there is none. Null:
 * no memory. */
struct ch_tcp_link *ch_tcp_link_get_or_make(struct ch_endpoint *ep, uint32_t pe);
/* Fail the link, and the network with it; the first failure is kept. */
void ch_tcp_fail(struct ch_endpoint *ep, struct ch_tcp_link *link, chorus_status code,
                 const char *format, ...) __attribute__((cold, format(printf, 4, 5)));
/* Keep a failure of the network, which progress reports from then on; the first one is kept. */
void ch_tcp_remember_failure(struct ch_endpoint *ep, chorus_status code, const char *why);

/* Send and receive as much as possible, on all links. */
void ch_tcp_step(struct ch_endpoint *ep);
/* What epoll watches: the upper half of its word for a descriptor; the lower half is an index.
 */
enum {
    CH_TCP_WATCH_LISTENER,
    CH_TCP_WATCH_ACCEPTED,
    CH_TCP_WATCH_LINK,
    CH_TCP_WATCH_CHANNEL, /* that is connecting */
    CH_TCP_WATCH_WAKE,
};
static inline uint64_t ch_tcp_watch_word(uint32_t what, uint32_t index)
{
    return (uint64_t)what << 32 | index;
}
/* Let epoll watch a descriptor for `events`, and return `word` for them; `before`: those for
 * which it watched before. 0: none. */
void ch_tcp_watch(struct ch_endpoint *ep, int fd, uint64_t word, uint32_t before,
                  uint32_t events);
/* Has the other host of a connection not answered for ep->silent_ns, though data is in flight?
 * *since_ns is 0 at first. Called once in each check of the links. */
bool ch_tcp_is_silent(const struct ch_endpoint *ep, int fd, uint64_t *since_ns,
                      uint64_t now_ns);

/* ---- address.c ---- */

/* Find the addresses at which a PE listens: those of `interface`. If it is "": `listen`, IPv4
 * mapped into IPv6; if that is 0 or no address of this host, those of all interfaces that are
 * up, the loopback only if there is no other. ERR_ARG: there is no such interface, or it has no
 * address; the message lists those that have one. */
CH_MUST_CHECK chorus_status ch_tcp_addresses_find(const char *interface,
                                                  const unsigned char listen[16],
                                                  struct ch_tcp_hosts *out);

/* Copy the at-th of a peer's addresses to *out, nearest first: those in a network of this host,
 * then the rest. False: there are fewer. */
bool ch_tcp_address_pick(const struct ch_tcp_hosts *own, const struct ch_tcp_card *peer,
                         uint32_t at, struct ch_tcp_address *out);

/* Convert an address and a port for connect or bind; returns the number of bytes. */
socklen_t ch_tcp_address_fill(const struct ch_tcp_address *address, uint16_t port,
                              union ch_tcp_sockaddr *out);
/* Format an address for messages: "10.0.0.1". */
void ch_tcp_address_text(const struct ch_tcp_address *address,
                         char text_out[CH_TCP_ADDRESS_TEXT]);
/* Format the address of the other end of a connection: "10.0.0.1 port 4711". */
void ch_tcp_peer_text(int fd, char text_out[CH_TCP_ADDRESS_TEXT]);
/* Returns the interface of this host that the connection uses; "" if none is found. */
const char *ch_tcp_interface_of(const struct ch_tcp_hosts *own, int fd);

/* Set the options of a socket, before it connects or listens. */
void ch_tcp_socket_prepare(struct ch_endpoint *ep, int fd);

/* Make a challenge, with a new nonce. */
void ch_tcp_challenge_make(struct ch_tcp_challenge *out);
/* Complete a hello whose PEs and channel are set, by a new nonce and the MAC. secret: 32 bytes;
 * theirs: the nonce of the challenge. */
void ch_tcp_hello_make(struct ch_tcp_hello *hello, const unsigned char *secret,
                       const struct ch_tcp_nonce *theirs);
/* Complete an answer whose verdict is set, by the MAC. mine: the nonce of this PE's challenge;
 * theirs: that of the hello. */
void ch_tcp_answer_make(struct ch_tcp_answer *answer, const unsigned char *secret,
                        const struct ch_tcp_nonce *mine, const struct ch_tcp_nonce *theirs);

/* Returns what is wrong with a challenge, as text; null: nothing. */
const char *ch_tcp_challenge_fault(const struct ch_tcp_challenge *challenge);
/* Was this sent by a process that has the secret? `mine` is the nonce that it answers, `theirs`
 * that of the challenge. */
bool ch_tcp_hello_is_valid(const struct ch_tcp_hello *hello, const unsigned char *secret,
                           const struct ch_tcp_nonce *mine);
bool ch_tcp_answer_is_valid(const struct ch_tcp_answer *answer, const unsigned char *secret,
                            const struct ch_tcp_nonce *mine, const struct ch_tcp_nonce *theirs);

/* ---- connect.c ---- */

/* Listen for connections, with the same port at all addresses of the PE. */
CH_MUST_CHECK chorus_status ch_tcp_listen(struct ch_endpoint *ep, uint16_t *port_out);
void ch_tcp_listen_end(struct ch_endpoint *ep);
/* Begin to connect to the peer, at the first of its addresses from number link->dial.at on for
 * which a socket can begin to; if there is none, the link fails. */
void ch_tcp_dial(struct ch_endpoint *ep, struct ch_tcp_link *link);
/* Accept the connections that wait at a listening socket, and send each a challenge. */
void ch_tcp_accept(struct ch_endpoint *ep, uint32_t listener);
/* Open the spare descriptor, if it is closed. */
void ch_tcp_reserve_spare(struct ch_endpoint *ep);
/* Continue the handshake of an accepted connection that is readable. */
void ch_tcp_accepted_step(struct ch_endpoint *ep, struct ch_tcp_call *call);
/* Continue the handshake of a link that is connecting, and is readable or has connected. */
void ch_tcp_dial_step(struct ch_endpoint *ep, struct ch_tcp_link *link);
/* End connections, accepted or connecting, whose handshake has exceeded its time limit. */
void ch_tcp_calls_end_late(struct ch_endpoint *ep, uint64_t now_ns);
/* Begin a handshake on the socket, which must end within time_ns. */
void ch_tcp_call_begin(struct ch_tcp_call *call, int fd, uint64_t time_ns);
/* Close the socket, if there is one. */
void ch_tcp_call_end(struct ch_tcp_call *call);
/* Has TCP connected? 1: yes, and call->is_connected is set. 0: not yet. -1: it has failed,
 * errno is the reason. */
int ch_tcp_call_check_connected(struct ch_tcp_call *call);
/* Read a handshake message of `bytes` into call->in. 1: it is complete. 0: not yet. -1: it will
 * not be, errno is the reason (0: the connection was closed). */
int ch_tcp_call_read(struct ch_tcp_call *call, size_t bytes);
/* Send a handshake message, which is short; the socket's buffer is empty. False: it was not
 * sent. */
bool ch_tcp_call_send(const struct ch_tcp_call *call, const void *message, size_t bytes);
/* Returns a new socket that has begun to connect to the address; -1: errno is the reason. */
int ch_tcp_connect_to(struct ch_endpoint *ep, const struct ch_tcp_address *address,
                      uint16_t port);

/* ---- channel.c ---- */

/* Returns the number of channels that this PE can serve for each peer. */
uint32_t ch_tcp_channels_choose_count(const struct ch_endpoint *ep);
/* Divide a body into parts, and give all but the first to the channels. Returns the number of
 * parts and sets the bytes of the first; 0: the body is sent as a whole. One that takes less
 * time as a whole than threads need to wake up only wakes those that sleep. */
uint32_t ch_tcp_divide_body(struct ch_endpoint *ep, struct ch_tcp_link *link, const char *body,
                            size_t bytes, size_t *first_out);
/* Wake the threads of a link's channels, since a long body that arrives as a whole may be
 * followed by one that is divided. */
void ch_tcp_channels_wake(struct ch_endpoint *ep, const struct ch_tcp_link *link,
                          uint64_t bytes);
/* May a peer have divided a body of these bytes into so many parts? */
bool ch_tcp_may_divide(const struct ch_tcp_link *link, uint64_t bytes, uint32_t parts);
/* Returns the bytes of the first part of a body, which is sent on the link itself. */
size_t ch_tcp_first_part_bytes(size_t bytes, uint32_t parts);
/* Let the channels receive all parts but the first of a body of `bytes`, which goes to dst. */
void ch_tcp_channels_expect(struct ch_endpoint *ep, struct ch_tcp_link *link, char *dst,
                            size_t bytes);
/* Move what the channels have received of that body to its place from dst on, where the rest
 * goes, too. */
void ch_tcp_channels_redirect(struct ch_endpoint *ep, struct ch_tcp_link *link, char *dst,
                              size_t bytes);
/* Have the channels received all parts that they expect? */
bool ch_tcp_channels_have_received(const struct ch_tcp_link *link);
/* Have the channels passed their parts of the first `count` divided bodies to the kernel? */
bool ch_tcp_channels_have_sent(const struct ch_tcp_link *link, uint64_t count);
/* Note what the threads of channels have done, and fail links whose channels have failed. */
void ch_tcp_channels_check(struct ch_endpoint *ep);
/* Has the peer's host stopped answering on a channel of the link? See ch_tcp_is_silent. */
bool ch_tcp_channels_are_silent(const struct ch_endpoint *ep, struct ch_tcp_link *link,
                                uint64_t now_ns);
/* Close the channels of a link, which then never has others. */
void ch_tcp_channels_end(struct ch_endpoint *ep, struct ch_tcp_link *link);
/* End the threads of all channels. */
void ch_tcp_channels_stop(struct ch_endpoint *ep);

/* ---- channel.c: opening ---- */

/* Begin to open the channels of a link that is up, and that this PE has connected. */
void ch_tcp_widen_begin(struct ch_endpoint *ep, struct ch_tcp_link *link);
/* Continue the handshake of a connecting channel that is readable or has connected. */
void ch_tcp_widen_step(struct ch_endpoint *ep, struct ch_tcp_link *link, uint32_t channel);
/* Give up channels of the link whose handshake has exceeded its time limit. */
void ch_tcp_widen_end_late(struct ch_endpoint *ep, struct ch_tcp_link *link, uint64_t now_ns);
/* Returns the answer to a hello for a channel, whose MAC is valid. */
enum ch_tcp_verdict ch_tcp_widen_judge(struct ch_endpoint *ep,
                                       const struct ch_tcp_hello *hello);
/* Make the accepted connection, which is welcome, the channel that the hello names. */
void ch_tcp_widen_add_channel(struct ch_endpoint *ep, const struct ch_tcp_hello *hello,
                              struct ch_tcp_call *call);
/* Use the `count` channels of which the peer says that it has opened all; 0: it has given them
 * up. False: the peer is wrong. */
bool ch_tcp_widen_finish(struct ch_endpoint *ep, struct ch_tcp_link *link, uint64_t count);

/* ---- server.c ---- */

/* Start a thread for up to `most` channels. False: there is no memory, descriptor or thread. */
bool ch_tcp_server_start(struct ch_tcp_server *server, uint32_t most);
void ch_tcp_server_stop(struct ch_tcp_server *server); /* a no-op if it was not started */
/* Let the thread serve an open channel. */
void ch_tcp_server_add(struct ch_tcp_server *server, struct ch_tcp_channel *channel);
/* On return, the thread no longer accesses the channel, nor memory of its parts. */
void ch_tcp_server_remove(struct ch_tcp_server *server, struct ch_tcp_channel *channel);
/* Wake the thread if it sleeps, since the channel got a part or will soon get one. Returns
 * whether the thread was awake. */
bool ch_tcp_server_wake(struct ch_tcp_server *server);
/* Acquire the lock of the thread, before the thread acquires it again. */
void ch_tcp_server_lock(struct ch_tcp_server *server);
void ch_tcp_server_unlock(struct ch_tcp_server *server);

/* ---- post.c ---- */

/* The operations of struct ch_link_ops. */
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
/* Set the body of a put or reply, which is not copied; channels may send parts of it. */
void ch_tcp_slot_set_body(struct ch_endpoint *ep, struct ch_tcp_link *link,
                          struct ch_tcp_slot *slot, const void *body, size_t bytes);
/* Append a slot for a reply; null: the peer has exceeded the number of requests. */
struct ch_tcp_slot *ch_tcp_slot_for_reply(struct ch_tcp_link *link);
/* Pass to the kernel as many frames as it takes now. */
void ch_tcp_flush(struct ch_endpoint *ep, struct ch_tcp_link *link);

/* ---- receive.c ---- */

/* Read what has arrived on the link, execute the frames, and send replies. */
void ch_tcp_receive(struct ch_endpoint *ep, struct ch_tcp_link *link);
/* Must the link not be read before its channels have received their parts? */
bool ch_tcp_waits_for_channels(const struct ch_tcp_link *link);
/* The operations of struct ch_link_ops for posted receives. */
bool ch_tcp_post_receive(struct ch_endpoint *ep, uint32_t pe, void *slot, void *dst,
                         size_t bytes);
bool ch_tcp_end_receive(struct ch_endpoint *ep, uint32_t pe);

#endif /* CH_TCP_H */
