/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_message.h: the messages between nodes of a tree, as bytes. No function here reads or
 * writes a socket.
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
#ifndef CH_TREE_MESSAGE_H
#define CH_TREE_MESSAGE_H

#include "boot/tree.h"
#include "boot/tree_address.h"

#include <stddef.h>

enum {
    CH_TREE_MAGIC = 0x43485402, /* "CHT", and the version of this protocol */
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

/* A name of the job that does not reveal the secret. */
void ch_tree_job(const unsigned char secret[CH_BOOT_SECRET_BYTES],
                 unsigned char job_out[CH_TREE_JOB_BYTES]);

void ch_tree_challenge_make(struct ch_tree_challenge *out);

/* Set magic number, version, job, nonce and MAC; the other members are set already. */
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

/* The same for an answer to a hello. */
void ch_tree_answer_seal(struct ch_tree_answer *answer, const unsigned char *secret,
                         const struct ch_tree_challenge *challenge,
                         const struct ch_tree_hello *hello);
bool ch_tree_answer_check(const struct ch_tree_answer *answer, const unsigned char *secret,
                          const struct ch_tree_challenge *challenge,
                          const struct ch_tree_hello *hello);

#endif /* CH_TREE_MESSAGE_H */
