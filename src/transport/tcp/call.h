/* SPDX-License-Identifier: Apache-2.0 */
/* call.h: a connection whose ends are not authenticated yet. */
#ifndef CH_TCP_CALL_H
#define CH_TCP_CALL_H

#include "transport/tcp/hello.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif /* CH_TCP_CALL_H */
