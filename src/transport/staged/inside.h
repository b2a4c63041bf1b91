/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inside.h: what the files of this folder share.
 *
 * Queues. For each peer, a PE has an inbound queue of slots in its pinned memory, which the
 * peer writes by the inner network, and a mirror of the peer's inbound queue, in which it
 * composes what it sends; if the inner network has mapped that queue, it is its own mirror. A
 * slot is a head of 64 bytes and a chunk of data. With slot i the sender sends the word
 * filled[i % slots] = i + 1, in the context of the operation, so that the slot arrives after
 * what the context has sent by the inner network. Contexts overtake each other there, so the
 * word of each slot counts, and the receiver takes slots in their order. When the copies of
 * slots have ended, it stores their number in the sender's word `freed`: the credit.
 *
 * Order. The receiver queues copies to its GPU and stores to words there on one stream, in the
 * order of the slots. A word in host memory is stored once the work of all earlier slots has
 * ended. So every word is stored after the data before it; and a sender posts a word of a host
 * directly, by the inner network, only if no slot of the context is outstanding.
 *
 * GPU memory that the inner network has attached at both ends needs no slots, and the rules
 * above hold for this data as for that in memory of hosts. Where GPUs may see it later than
 * words that follow it, the next slot of the context asks the receiver to flush it before it
 * begins the slot; a quiet sends an empty slot if there is none (enum ch_staged_flush).
 *
 * No deadlock. The receiver frees a slot whatever it has to send itself: what a peer asks for
 * is moved to a list (`answers`), whose length is that of the peer's list of requests.
 *
 * Threads. The inner network may let other threads run in any call, see link.h. Only one thread
 * at a time advances queues (ch_staged_step); others add operations, or abandon them. State is
 * therefore complete before a call of the inner network, and examined again after it.
 */
#ifndef CH_STAGED_INSIDE_H
#define CH_STAGED_INSIDE_H

#include "device/device.h"
#include "transport/amo.h"
#include "transport/network.h"
#include "transport/staged/staged.h"

enum {
    CH_STAGED_SLOTS = 8,     /* of a queue, at most */
    CH_STAGED_OPS = 32,      /* operations to a peer that wait for slots */
    CH_STAGED_REQUESTS = 16, /* gets and atomics with a result that a peer has not answered */
    CH_STAGED_CTXS = 16,     /* contexts that are distinguished; others share these */
    CH_STAGED_HEAD = 64,     /* bytes of a head */
    CH_STAGED_ENDS = 128,    /* bytes for the words of the two streams, before the queues */
};

/* The key by which peers learn that the inner network does not access attached memory of a GPU.
 */
#define CH_STAGED_GPU_KEY UINT64_MAX

/* ---- memory ---- */

/* Words of the queues with a peer. */
struct ch_staged_words {
    uint64_t filled[CH_STAGED_SLOTS]; /* the peer stores them with its slots */
    uint64_t freed;                   /* the peer stores here how many slots it has freed */
    uint64_t unused[7];
    uint64_t fetched[CH_STAGED_SLOTS]; /* the GPU stores old values of words here */
};

enum ch_staged_kind {
    CH_STAGED_PUT = 1, /* data, and then a word; either may be absent */
    CH_STAGED_GET,     /* `bytes` at `there` are wanted; answers: REPLY, of a chunk each */
    CH_STAGED_REPLY,   /* data of a get, or the old value of a word */
};

struct ch_staged_head {
    uint8_t kind;
    uint8_t op;              /* enum ch_amo, on the word */
    uint8_t width;           /* bytes of the word; 0: there is none */
    uint8_t wants_reply;     /* with the old value of the word */
    uint32_t tag;            /* of a request, and of its answers */
    uint64_t there;          /* the receiver's address of the data */
    uint64_t bytes;          /* of data */
    uint64_t word;           /* the receiver's address */
    uint64_t value, compare; /* operands; of a reply: the old value */
    uint64_t flushes;        /* the receiver flushes data of the inner network first */
    uint64_t is_single; /* data is an element that the program may poll: it is one access */
};
_Static_assert(sizeof(struct ch_staged_head) == CH_STAGED_HEAD, "the size of a head");

/* ---- streams of this network ---- */

struct ch_staged_stream {
    void *stream;    /* a cudaStream_t */
    uint64_t *ended; /* in pinned memory: the stream stores the number of its last mark */
    uint64_t *ended_on_device;
    uint64_t marks;    /* that were queued */
    bool has_unmarked; /* work was queued after the last of them */
    bool is_by_engine; /* the last work but marks is that of a copy engine */
    uint32_t polls;    /* since a failure was last looked for */
};

/* ---- sending ---- */

/* An operation that has not been divided among slots wholly, or an answer. */
struct ch_staged_op {
    struct ch_staged_head head; /* of its slots, but for the part of the data */
    const char *source;
    size_t at;       /* bytes of the data that are in slots */
    uint64_t serial; /* 0: an answer */
    uint32_t ctx;
    bool is_on_gpu; /* the source */
};

/* A slot of the mirror. */
struct ch_staged_out {
    uint64_t mark;   /* of the copy to it; 0: there was none on a stream */
    uint64_t serial; /* of the operation that it completes; 0: none */
    size_t bytes;    /* of head and data */
    uint32_t ctx;
};

/* An operation whose answer is not complete. */
struct ch_staged_request {
    char *dst; /* null: the entry is not used */
    size_t bytes, got;
    uint32_t tag, count; /* the counter of its context */
    bool is_on_gpu;      /* the destination */
    bool is_word;        /* the old value of a word */
};

/* ---- receiving ---- */

/* A slot of the inbound queue. */
struct ch_staged_in {
    struct ch_staged_head head;
    bool has_data;                     /* the copy of its data was begun, or there is none */
    uint64_t mark;                     /* of the last work of this slot and those before it */
    uint64_t value;                    /* of a word that the CPU has changed: the old one */
    bool is_fetched;                   /* the GPU stores the old value */
    struct ch_staged_request *request; /* that its end completes; null: none */
};

/* ---- peers ---- */

struct ch_staged_peer {
    uint32_t pe;
    bool has_failed;       /* nothing is sent to it or received from it */
    bool is_answering;     /* the last slot was for an answer */
    struct ch_parts parts; /* its memory on GPUs, with the keys that it gave */

    struct ch_staged_words *words; /* of this PE; `there` are addresses of the peer */
    char *inbound, *mirror;
    struct ch_staged_words *words_there;
    char *inbound_there;

    struct ch_staged_op ops[CH_STAGED_OPS]; /* from first_op up to end_op */
    uint64_t first_op, end_op;
    struct ch_staged_op answers[CH_STAGED_REQUESTS];
    uint64_t first_answer, end_answer;
    struct ch_staged_out out[CH_STAGED_SLOTS];
    uint64_t taken, posted, freed; /* slots that were filled, sent, and freed by the peer */

    /* Serials of operations: that were posted, whose sources were read, that took effect. */
    uint64_t serial, read, done;
    uint64_t ctx_posted[CH_STAGED_CTXS];  /* of each context: serial of its last operation */
    uint64_t ctx_source[CH_STAGED_CTXS];  /* and of its last one with a source */
    uint64_t direct[CH_STAGED_CTXS];      /* of each: operations that the inner network took */
    uint64_t direct_done[CH_STAGED_CTXS]; /* and how many of these are known to be done */
    bool is_unflushed[CH_STAGED_CTXS];    /* the inner network has taken puts to the peer's GPU
                                             since the last slot that flushes */
    struct ch_staged_request requests[CH_STAGED_REQUESTS];
    uint32_t tags;

    struct ch_staged_in in[CH_STAGED_SLOTS];
    uint64_t begun, ended, credited; /* slots of the peer */
    uint64_t in_mark;                /* of the last work for it on the stream `in` */
};

struct ch_endpoint {
    struct ch_staged_terms terms;
    const struct ch_link_ops *inner;
    struct ch_endpoint *inner_ep;
    uint32_t inner_caps;
    struct ch_staged_layout layout;
    struct ch_staged_peer **peers;   /* [n]; null: not reached by this endpoint */
    struct ch_parts parts;           /* attached */
    struct ch_staged_stream in, out; /* copies of what arrives, and of what is sent */
    bool is_stepping;                /* a thread advances the queues */
    bool has_moved;                  /* since progress was last requested */
    bool is_stuck;                   /* work of a stream did not end in time */
    chorus_status status;
    char why[640]; /* of the status */
};

/* ---- staged.c ---- */

/* Fail the link to a peer, and the network with it; the first failure is kept. */
void ch_staged_fail(struct ch_endpoint *ep, struct ch_staged_peer *peer, chorus_status code,
                    const char *format, ...) __attribute__((cold, format(printf, 4, 5)));
/* The same after a function of the device has failed. */
void ch_staged_fail_device(struct ch_endpoint *ep, struct ch_staged_peer *peer,
                           chorus_status code);
/* Advance all queues, unless another thread does. */
void ch_staged_step(struct ch_endpoint *ep);
/* After an operation was added: send to this peer, unless another thread advances queues. */
void ch_staged_begin(struct ch_endpoint *ep, struct ch_staged_peer *peer);

/* Make progress of the inner network; a failure is kept. */
void ch_staged_progress_inner(struct ch_endpoint *ep);

/* Some networks store a word byte by byte. Has each byte of the value that of one of the
 * numbers first, first + step and so on up to last? The value is then not a fault of the peer.
 */
bool ch_staged_may_be_torn(uint64_t value, uint64_t first, uint64_t step, uint64_t last);

/* ---- memory.c ---- */

/* Set where the queues with a peer are, whose memory begins at `there`. */
void ch_staged_place_queues(const struct ch_endpoint *ep, struct ch_staged_peer *peer,
                            uint64_t there);

/* Where these bytes are: in parts that this PE has attached, all of one kind, or not. */
enum ch_staged_place { CH_STAGED_NOWHERE, CH_STAGED_HOST, CH_STAGED_GPU };
enum ch_staged_place ch_staged_place_of(struct ch_endpoint *ep, uint64_t there, uint64_t bytes);

/* Of ch_link_staged. */
chorus_status ch_staged_attach(struct ch_endpoint *ep, const struct ch_memory_part *memory,
                               uint64_t *key_out);
void ch_staged_detach(struct ch_endpoint *ep, void *base);
chorus_status ch_staged_add_peer_key(struct ch_endpoint *ep, uint32_t pe,
                                     const struct ch_memory_part *there, uint64_t key);
void ch_staged_drop_peer_key(struct ch_endpoint *ep, uint32_t pe, const char *there);

/* ---- direct.c ---- */

/* Attach GPU memory to the inner network; its key, or CH_STAGED_GPU_KEY if it is not attached.
 */
uint64_t ch_staged_register(struct ch_endpoint *ep, const struct ch_memory_part *memory);
/* Is all of this memory in parts of GPUs that the inner network accesses? */
bool ch_staged_is_registered(struct ch_parts *parts, const void *at, size_t bytes);
/* Is a put of the context to the peer's GPU noted, if it needs a flush? Not for contexts that
 * share counters. */
static inline bool ch_staged_notes_flush(const struct ch_endpoint *ep, uint32_t ctx)
{
    return ep->terms.flush == CH_STAGED_NO_FLUSH || ctx < CH_STAGED_CTXS;
}
/* The inner network has taken a put of the context: note if it needs a flush. */
void ch_staged_note_put(struct ch_endpoint *ep, struct ch_staged_peer *peer, uint32_t ctx,
                        const void *there);
/* Must the next slot of the context flush? It does then. */
bool ch_staged_take_unflushed(struct ch_staged_peer *peer, uint32_t ctx);
/* Flush what the inner network has stored in the memory of this PE's GPU, if that needs it.
 * False: it failed. */
bool ch_staged_flush(struct ch_endpoint *ep, struct ch_staged_peer *peer);
/* Of ch_link_staged. */
void ch_staged_describe(const struct ch_endpoint *ep, uint32_t pe,
                        char why_out[CH_LINK_WHY_BYTES]);

/* ---- stream.c ---- */

CH_MUST_CHECK chorus_status ch_staged_stream_open(struct ch_endpoint *ep,
                                                  struct ch_staged_stream *stream, char *ended);
void ch_staged_stream_close(struct ch_endpoint *ep, struct ch_staged_stream *stream);
/* Queue a copy. Returns its mark; 0: it failed, and so has the peer. */
uint64_t ch_staged_copy(struct ch_endpoint *ep, struct ch_staged_stream *stream,
                        struct ch_staged_peer *peer, void *dst, const void *src, size_t bytes);
/* The same for an element to the GPU, as one access, which needs a queue of the front end. */
uint64_t ch_staged_copy_linear(struct ch_endpoint *ep, struct ch_staged_stream *stream,
                               struct ch_staged_peer *peer, void *dst, const void *src,
                               size_t bytes);
/* The same for a store of a word of 4 or 8 bytes, as one access. `scratch`, in pinned memory,
 * may be overwritten until it has ended. */
uint64_t ch_staged_store(struct ch_endpoint *ep, struct ch_staged_stream *stream,
                         struct ch_staged_peer *peer, void *word, uint64_t value, size_t bytes,
                         uint64_t *scratch);
/* The same for an operation on a word of 4 or 8 bytes on the GPU, which may have to wait for
 * kernels of the program, unless it is CH_AMO_SET or CH_AMO_FETCH. `fetched`, in pinned memory,
 * is used until that has ended, and then has the old value, except after CH_AMO_SET. */
uint64_t ch_staged_change(struct ch_endpoint *ep, struct ch_staged_stream *stream,
                          struct ch_staged_peer *peer, struct ch_amo_request *request,
                          uint64_t *fetched);
/* Queue a mark after the work that has none. */
void ch_staged_mark(struct ch_endpoint *ep, struct ch_staged_stream *stream);
/* Has all work up to a mark ended? */
static inline bool ch_staged_has_ended(const struct ch_staged_stream *stream, uint64_t mark)
{
    return __atomic_load_n(stream->ended, __ATOMIC_ACQUIRE) >= mark;
}
/* Is work under way? */
static inline bool ch_staged_is_busy(const struct ch_staged_stream *stream)
{
    return stream->has_unmarked || !ch_staged_has_ended(stream, stream->marks);
}
/* Fail the network if work of the stream has failed; looks seldom. */
void ch_staged_stream_check(struct ch_endpoint *ep, struct ch_staged_stream *stream);
/* Wait until the work of both streams has ended, at most a second. */
void ch_staged_drain(struct ch_endpoint *ep);

/* ---- send.c ---- */

/* put_signal of the inner network, or, where that has none, what does the same. */
chorus_status ch_staged_put_inner(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe,
                                  const struct ch_put_signal *put);

/* Fill slots, send those whose copies have ended, and take credit. */
void ch_staged_send(struct ch_endpoint *ep, struct ch_staged_peer *peer);

/* ---- receive.c ---- */

/* Begin the work of slots that have arrived, and free those whose work has ended. */
void ch_staged_receive(struct ch_endpoint *ep, struct ch_staged_peer *peer);

/* ---- post.c: operations of ch_link_staged ---- */

chorus_status ch_staged_put(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe, char *there,
                            const void *src, size_t bytes);
chorus_status ch_staged_put_signal(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe,
                                   const struct ch_put_signal *put);
chorus_status ch_staged_get(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe, void *dst,
                            const char *there, size_t bytes);
chorus_status ch_staged_amo(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe, enum ch_amo op,
                            void *there, size_t bytes, uint64_t value, uint64_t compare,
                            uint64_t *fetched_out);
bool ch_staged_is_sent(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe);
bool ch_staged_is_done(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe);
void ch_staged_abandon(struct ch_endpoint *ep, uint32_t pe);

#endif /* CH_STAGED_INSIDE_H */
