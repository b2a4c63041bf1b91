/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame.h: what goes over a connection between two PEs that know each other.
 *
 * A frame is a head and a body. Whoever receives one does what it says before it looks at the
 * next, so a connection keeps the order of all contexts. Replies come in the order of what
 * asked for them, and nothing else is acknowledged: a reply says that all frames before its
 * request have taken effect too. Numbers are in the byte order of the hosts, which the hello
 * compares.
 */
#ifndef CH_TCP_FRAME_H
#define CH_TCP_FRAME_H

#include <stdint.h>

enum ch_tcp_kind {
    CH_TCP_PUT = 1, /* body: `value` bytes for `there` */
    CH_TCP_SAY,     /* the word at `there` becomes `value` */
    CH_TCP_GET,     /* reply: the `value` bytes at `there` */
    CH_TCP_AMO,     /* body: ch_tcp_operands; reply, if one is wanted: 8 bytes */
    CH_TCP_ASK,     /* reply: no bytes */
    CH_TCP_REPLY,   /* body: `value` bytes */
    CH_TCP_BYE,     /* the sender closes the connection on purpose */
};

struct ch_tcp_head {
    uint8_t kind;
    uint8_t op;          /* of an AMO: enum ch_amo */
    uint8_t width;       /* and its bytes */
    uint8_t wants_reply; /* and whether its sender wants what was there */
    uint32_t zero;
    uint64_t there; /* an address of the receiver */
    uint64_t value;
};

struct ch_tcp_operands {
    uint64_t value, compare;
};

#endif /* CH_TCP_FRAME_H */
