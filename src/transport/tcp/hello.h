/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hello.h: how the two ends of a new connection prove that they belong to the same job.
 *
 * The side that accepts sends a challenge with a nonce. The side that connected answers with a
 * hello: its number, the number of the PE that it wants, a nonce of its own, and a MAC of both
 * nonces and of the hello under the job's secret. The answer has a MAC in the same way, except
 * that to a hello with a wrong MAC: a process outside the job receives nothing that was
 * computed from the secret, by which it could test guesses of it. Neither end therefore accepts
 * a recorded handshake, and neither uses data of the other before it has checked its MAC.
 */
#ifndef CH_TCP_HELLO_H
#define CH_TCP_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CH_TCP_VERSION = 2, CH_TCP_NONCE_BYTES = 32, CH_TCP_MAC_BYTES = 32 };

struct ch_tcp_nonce {
    unsigned char bytes[CH_TCP_NONCE_BYTES];
};

struct ch_tcp_challenge {
    char magic[8];
    uint32_t version;
    uint32_t order; /* CH_TCP_ORDER in the byte order of its sender */
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

/* Fill in the messages; secret has 32 bytes, `mine` and `theirs` are in the form of their
 * senders. */
void ch_tcp_challenge_make(struct ch_tcp_challenge *out);
void ch_tcp_hello_make(struct ch_tcp_hello *hello, const unsigned char *secret,
                       const struct ch_tcp_nonce *theirs);
void ch_tcp_answer_make(struct ch_tcp_answer *answer, const unsigned char *secret,
                        const struct ch_tcp_nonce *mine, const struct ch_tcp_nonce *theirs);

/* What is wrong with a challenge, as text; null: nothing. */
const char *ch_tcp_challenge_wrong(const struct ch_tcp_challenge *challenge);
/* Is this from a sender that has the secret? `mine` is the nonce that it answers. */
bool ch_tcp_hello_holds(const struct ch_tcp_hello *hello, const unsigned char *secret,
                        const struct ch_tcp_nonce *mine);
bool ch_tcp_answer_holds(const struct ch_tcp_answer *answer, const unsigned char *secret,
                         const struct ch_tcp_nonce *mine, const struct ch_tcp_nonce *theirs);

#endif /* CH_TCP_HELLO_H */
