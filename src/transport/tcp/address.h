/* SPDX-License-Identifier: Apache-2.0 */
/* address.h: the addresses of a host, and which of a peer's addresses to try first. */
#ifndef CH_TCP_ADDRESS_H
#define CH_TCP_ADDRESS_H

#include "base/error.h"
#include "transport/link.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

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

/* The addresses of `interface`. If it is "": `listen`, IPv4 mapped into IPv6; if that is 0 or
 * no address of this host, those of all interfaces that are up, the loopback only if there is
 * no other. ERR_ARG: there is no such interface, or it has no address; the message lists those
 * that have one. */
CH_MUST_CHECK chorus_status ch_tcp_addresses_find(const char *interface,
                                                  const unsigned char listen[16],
                                                  struct ch_tcp_hosts *out);

/* The at-th of a peer's addresses, nearest first: those in a network of this host, then the
 * rest. False: there are fewer. */
bool ch_tcp_address_pick(const struct ch_tcp_hosts *own, const struct ch_tcp_card *peer,
                         uint32_t at, struct ch_tcp_address *out);

/* For connect or bind; returns the number of bytes. */
socklen_t ch_tcp_address_fill(const struct ch_tcp_address *address, uint16_t port,
                              union ch_tcp_sockaddr *out);
/* "10.0.0.1" */
void ch_tcp_address_text(const struct ch_tcp_address *address,
                         char text_out[CH_TCP_ADDRESS_TEXT]);
/* "10.0.0.1 port 4711", the other end of a connection. */
void ch_tcp_peer_text(int fd, char text_out[CH_TCP_ADDRESS_TEXT]);
/* The interface of this host that the connection uses; "" if none is found. */
const char *ch_tcp_interface_of(const struct ch_tcp_hosts *own, int fd);

#endif /* CH_TCP_ADDRESS_H */
