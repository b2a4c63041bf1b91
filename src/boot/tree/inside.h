/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inside.h: a node of a tree, for the files that implement it: messages, connections, the node
 * itself, and descriptors that the PEs of one host pass each other.
 *
 * The side that accepts a connection first sends a challenge: a nonce, by which a hello that
 * was recorded on another connection is refused. The side that connected sends a hello, and
 * receives an answer. Hello and answer have a MAC over themselves and both nonces, with the
 * job's secret as the key. The answer to a hello that was made without the secret has none, so
 * that a process outside the job receives nothing that was computed from the secret. After a
 * welcome, both send messages: a head, and `bytes` bytes after it.
 *
 * Numbers have the byte order of this machine; the magic number shows if the peer's differs.
 */
#ifndef CH_TREE_INSIDE_H
#define CH_TREE_INSIDE_H

#include "boot/boot.h"
#include "boot/tree/tree.h"

#include <stddef.h>

/* ---- messages, as bytes: none of these functions reads or writes a socket ---- */

enum {
    CH_TREE_NONCE_BYTES = 32,
    CH_TREE_MAC_BYTES = 32,
    CH_TREE_JOB_BYTES = 16,
    CH_TREE_BLOB_MAX = 1 << 20, /* largest number of bytes of a PE in an exchange */
};

struct ch_tree_challenge {
    uint32_t magic;
    unsigned char nonce[CH_TREE_NONCE_BYTES];
};

struct ch_tree_hello {
    uint32_t magic;
    uint32_t version_major, version_minor; /* version of the library */
    uint32_t pe, n; /* the PE that joins, and the number of PEs that it expects */
    uint32_t to;    /* the PE that it was sent to; CH_TREE_ANY: the root, whatever its number */
    unsigned char job[CH_TREE_JOB_BYTES];
    unsigned char nonce[CH_TREE_NONCE_BYTES];
    char host[CH_TREE_HOST_BYTES];
    uint32_t n_addresses; /* the address at which it listens */
    struct ch_tree_address addresses[CH_TREE_ADDRESSES];
    unsigned char mac[CH_TREE_MAC_BYTES]; /* last; covers the bytes before it */
};

enum { CH_TREE_ANY = 0x7ffffffe };

enum ch_tree_answer_kind {
    CH_TREE_WELCOME = 1, /* accepted as a child */
    CH_TREE_REDIRECT,    /* redirected to the child `pe`, at `addresses` */
    CH_TREE_REFUSED      /* refused, for the reason */
};

struct ch_tree_answer {
    uint32_t magic;
    uint32_t kind;
    uint32_t pe;    /* the PE that answers; of a redirect, the child */
    int32_t status; /* of a refusal: the status with which the start fails */
    char host[CH_TREE_HOST_BYTES];
    char reason[CH_TREE_TEXT_BYTES];
    uint32_t n_addresses;
    struct ch_tree_address addresses[CH_TREE_ADDRESSES];
    unsigned char mac[CH_TREE_MAC_BYTES]; /* last; 0 if the MAC of the hello was wrong */
};

enum ch_tree_kind {
    CH_TREE_JOINED = 1, /* up: PE `pe` has joined; the bytes are its host's name */
    CH_TREE_GATHER,     /* up: the blob of `pe`; `code`: whether a descriptor goes with it */
    CH_TREE_LATE, /* up: the wait of `pe` has reached its time limit; the bytes are a double, s
                   */
    CH_TREE_RESULT, /* down: the blobs of all PEs */
    CH_TREE_FAIL,   /* down: the exchange failed; `code` is a status, the bytes are the reason.
                       With a status other than ERR_ARG, later exchanges fail, too */
    CH_TREE_LEFT,   /* up: PE `pe` has left the job */
    CH_TREE_BYE,    /* to a neighbour: this connection is about to end, which is no failure */
    CH_TREE_ABORT   /* to all: the job is over; the bytes are the reason */
};

struct ch_tree_head {
    uint32_t kind;
    uint32_t pe;
    uint64_t round; /* of GATHER, LATE, RESULT, FAIL: the number of exchanges before this one */
    uint64_t bytes; /* number of bytes that follow */
    int32_t code;
    uint32_t zero;
};

/* Is this head allowed in a job of n PEs? */
bool ch_tree_head_check(const struct ch_tree_head *head, uint32_t n);

/* Compute a name of the job from its secret, which it does not reveal. */
void ch_tree_job_of_secret(const unsigned char secret[CH_BOOT_SECRET_BYTES],
                           unsigned char job_out[CH_TREE_JOB_BYTES]);

/* Fill in a challenge with a new nonce. */
void ch_tree_challenge_make(struct ch_tree_challenge *out);

/* Set magic number, version, job, nonce and MAC of a hello; its other members are set
 * already. */
void ch_tree_hello_seal(struct ch_tree_hello *hello, const unsigned char *secret,
                        const struct ch_tree_challenge *challenge);
/* Has it the MAC for this secret and this challenge, and the form of a hello? */
bool ch_tree_hello_check(const struct ch_tree_hello *hello, const unsigned char *secret,
                         const struct ch_tree_challenge *challenge);
/* Was a hello with a wrong MAC made with another secret? If not, it is no hello, or it was
 * recorded on another connection. */
bool ch_tree_hello_is_foreign(const struct ch_tree_hello *hello, const unsigned char *secret);
/* Has its sender this version, and the same n? If not, why_out continues "PE 1 ...". */
bool ch_tree_hello_fits(const struct ch_tree_hello *hello, uint32_t n,
                        char why_out[CH_TREE_TEXT_BYTES]);

/* Set magic number and MAC of an answer to this hello; its other members are set already. */
void ch_tree_answer_seal(struct ch_tree_answer *answer, const unsigned char *secret,
                         const struct ch_tree_challenge *challenge,
                         const struct ch_tree_hello *hello);
/* Has it the MAC for this secret, challenge and hello, and the form of an answer? */
bool ch_tree_answer_check(const struct ch_tree_answer *answer, const unsigned char *secret,
                          const struct ch_tree_challenge *challenge,
                          const struct ch_tree_hello *hello);

/* ---- a node ---- */

/*
 * Strangers are connections that have not yet proved that they have the secret. Their time is
 * limited, and so is their number: one more replaces the oldest. A call of serve accepts a
 * limited number.
 */
#define CH_TREE_STRANGER_NS (5 * CH_NS_PER_S)
enum { CH_TREE_UNVERIFIED = 256, CH_TREE_ACCEPTS = 64 };

struct ch_tree_conn {
    int fd;      /* -1: none */
    uint32_t pe; /* CH_TREE_NO_PE: a root that is not a PE */
    char host[CH_TREE_HOST_BYTES];
    uint32_t n_addresses; /* the address at which it listens */
    struct ch_tree_address addresses[CH_TREE_ADDRESSES];
    bool is_leaving; /* it announced the end of the connection, which is then no failure */

    struct ch_tree_head head; /* of the message that is being received */
    size_t got;               /* bytes received of its head and body */
    char *body;

    char *out; /* bytes that the socket did not take yet: sent..used of the buffer */
    size_t out_sent, out_used, out_room;
    bool is_watched_out;
};

struct ch_tree_unverified {
    int fd; /* -1: none */
    uint64_t since_ns;
    struct ch_tree_challenge challenge;
    struct ch_tree_hello hello;
    size_t got;
};

/*
 * Connections whose hello was made with another secret. They are refused, and do not end the
 * start; if PEs are missing when it fails, the message names the first of them. What they state
 * about themselves is not authenticated.
 */
struct ch_tree_foreign {
    uint64_t n;       /* connections */
    uint32_t n_named; /* processes that follow */
    struct ch_tree_named {
        uint32_t pe, n;                  /* PE `pe` of n, as it stated */
        char host[CH_TREE_HOST_BYTES];   /* as it stated */
        char from[CH_TREE_ADDRESS_TEXT]; /* address of its first connection */
    } named[3];
};

/* What to do about it. */
#define CH_TREE_SECRET_ADVICE \
    "start all PEs of a job with one launcher, unique id or CHORUS_SECRET"

/* The exchange in progress. Only the root uses the members after the first two. */
struct ch_tree_round {
    uint64_t index;
    bool is_mine; /* this PE has contributed, and has not received the result */
    uint32_t n_here;
    struct ch_tree_part {
        bool is_here;
        int32_t code; /* of the GATHER */
        size_t bytes;
        char *blob; /* owned; null if bytes is 0 */
    } * parts;      /* [n] */
};

struct ch_tree {
    struct ch_tree_terms terms;
    char host[CH_TREE_HOST_BYTES]; /* of this process */
    int epoll;
    struct ch_tree_listener listener;
    struct ch_tree_conn up; /* no descriptor at the root */
    bool is_root;
    struct ch_tree_conn children[CH_TREE_CHILDREN];
    uint32_t next_child; /* child to which the next PE that joins is redirected */
    struct ch_tree_unverified unverified[CH_TREE_UNVERIFIED];
    uint32_t next_unverified; /* index of the next one, and of the oldest if all are used */
    /* Closed when no descriptor is left, -1 from then on: the first one so that one connection
     * at a time can still be authenticated, the other so that PEs learn why the start fails. */
    int spare, last_spare;
    struct ch_tree_foreign foreign;
    struct ch_tree_round round;
    char (*hosts)[CH_TREE_HOST_BYTES]; /* root: [n], "" of those that have not joined */
    bool is_over;                      /* the reason is known, and was reported */
    int status;                        /* why_over's */
    char why_over[CH_TREE_TEXT_BYTES];
    char why_failed[CH_TREE_TEXT_BYTES]; /* reason for which all further exchanges fail; "":
                                            they do not */
};

/* conn.c: a connection; reads and writes as much as its socket allows. */

/* Let the connection use the socket fd, from which ch_tree_serve then reads. False: errno is
 * the reason. */
CH_MUST_CHECK bool ch_tree_conn_open(struct ch_tree *tree, struct ch_tree_conn *conn, int fd);
/* Close the socket, and free the memory; no-op if the connection has ended. */
void ch_tree_conn_close(struct ch_tree_conn *conn);
/* Send a message, with head->bytes bytes at `body`; what the socket does not take now is
 * copied. No-op if the connection has ended. */
void ch_tree_conn_send(struct ch_tree *tree, struct ch_tree_conn *conn,
                       const struct ch_tree_head *head, const void *body);
/* Send what ch_tree_conn_send has copied, as much as the socket takes now. */
void ch_tree_conn_flush(struct ch_tree *tree, struct ch_tree_conn *conn);
/* Read a message. 1: it is complete; 0: the socket has no more bytes now; -1: the connection
 * has ended, errno is the reason (0: its peer closed it). */
int ch_tree_conn_receive(struct ch_tree *tree, struct ch_tree_conn *conn);
/* Free the complete message, so that the next one can be received. */
void ch_tree_conn_forget_message(struct ch_tree_conn *conn);

/* accept.c */

/* Accept connections, and send each a challenge. */
void ch_tree_accept(struct ch_tree *tree);
/* Read from an unverified connection; answer its hello, if that is complete. */
void ch_tree_read_unverified(struct ch_tree *tree, struct ch_tree_unverified *unverified);
/* Close the connections whose time for a hello has passed. */
void ch_tree_drop_late_unverified(struct ch_tree *tree);
void ch_tree_stop_listening(struct ch_tree *tree); /* and close all unverified connections */
/* For a message: write "; 3 connections had another secret ...", or "" if there was none. */
void ch_tree_foreign_text(const struct ch_tree *tree, char text_out[CH_TREE_TEXT_BYTES]);

/* round.c: exchanges, at the root and at other nodes. */
CH_MUST_CHECK bool ch_round_open(struct ch_tree *tree); /* false: no memory */
void ch_round_close(struct ch_tree *tree);

/* At the root: add the part of PE head->pe to the exchange, and end it if all are there. */
void ch_round_add_part(struct ch_tree *tree, const struct ch_tree_head *head, const char *blob);
/* At the root: fail the exchange on all PEs, since one has waited so long; name the missing. */
void ch_round_fail_late(struct ch_tree *tree, double waited_s);
/* Forward the result of the exchange to the children, and report it to this PE. */
void ch_round_handle_result(struct ch_tree *tree, const struct ch_tree_head *head,
                            const char *body);
/* Fail the exchange on this PE only, if it waits for the result. */
void ch_round_fail_mine(struct ch_tree *tree, chorus_status status, const char *reason);

/* round.c: who is in the job, and its end. */

/* At the root: note that the PE has joined. A second process with its number ends the job. */
void ch_tree_note_joined(struct ch_tree *tree, uint32_t pe, const char *host);
/* The connection has ended with this errno (0: closed): end the job, unless that was
 * announced. */
void ch_tree_note_lost(struct ch_tree *tree, struct ch_tree_conn *conn, int error);
/* Inform the root that the PE has left the job; at the root, exchanges then fail. */
void ch_tree_note_left(struct ch_tree *tree, uint32_t pe);
/* The job is over: inform the other nodes and this PE. The message comes from the node `from`;
 * null: from this node. */
void ch_tree_note_over(struct ch_tree *tree, const struct ch_tree_conn *from,
                       const struct ch_tree_head *head, const char *reason);

/* tree.c */

/* Send a message to the parent and all children, except `from`. */
void ch_tree_send_all(struct ch_tree *tree, const struct ch_tree_conn *from,
                      const struct ch_tree_head *head, const void *body);
void ch_tree_send_children(struct ch_tree *tree, const struct ch_tree_head *head,
                           const void *body);
/* From now on, ch_tree_serve reads from fd, for `what`: a connection, or the listening socket.
 * False: errno is the reason. */
CH_MUST_CHECK bool ch_tree_watch_fd(struct ch_tree *tree, int fd, const void *what);
/* Create a node with only its terms and host; null: no memory, or no descriptor. */
struct ch_tree *ch_tree_make(const struct ch_tree_terms *terms);

/* ---- descriptors for PEs of one host (local.c) ---- */

struct ch_local;

struct ch_local_name {
    unsigned char bytes[16];
};

/* Create this PE's end; the first PE of each host listens at a socket, whose name is put into
 * *name_out. Not collective. All PEs then exchange their names, and pass these to
 * ch_local_set_leader. */
CH_MUST_CHECK chorus_status ch_local_open(const struct ch_boot *boot,
                                          struct ch_local_name *name_out,
                                          struct ch_local **out);
void ch_local_set_leader(struct ch_local *local, const struct ch_local_name *names);
void ch_local_close(struct ch_local *local); /* null is a no-op */

/* In a child that this process forked: close its copies of the descriptors. */
void ch_local_abandon(const struct ch_local *local);

/* Send fd, and receive those of the host's PEs at their indices of fds_out; other entries
 * become -1. Collective over the host, after ch_local_set_leader. After a failure, all
 * later calls fail. */
CH_MUST_CHECK chorus_status ch_local_exchange(struct ch_local *local, int fd, int *fds_out,
                                              uint64_t deadline_ns);

#endif /* CH_TREE_INSIDE_H */
