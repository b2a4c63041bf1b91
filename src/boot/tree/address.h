/* SPDX-License-Identifier: Apache-2.0 */
/*
 * address.h: addresses of nodes, and sockets that detect by themselves that their peer's
 * host is lost.
 *
 * Nodes send no heartbeats. The kernel probes an idle connection (SO_KEEPALIVE), and ends one
 * whose peer's kernel has not answered for a while longer than CHORUS_LINK_TIMEOUT
 * (TCP_USER_TIMEOUT; base/limits.h). The kernel of a stopped process answers, so stopping a
 * process ends no connection.
 */
#ifndef CH_TREE_ADDRESS_H
#define CH_TREE_ADDRESS_H

#include "boot/tree/tree.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum { CH_TREE_ADDRESSES = 8, CH_TREE_ADDRESS_TEXT = 64 };

/* IPv4 addresses are mapped into IPv6 (::ffff:10.0.0.1). */
struct ch_tree_address {
    unsigned char ip[16];
    uint16_t port;
    uint16_t zero;
    uint32_t scope; /* of a link-local address on this host, which is not sent */
};

/* The addresses at which others may reach the socket: the one at which it listens, or those of
 * the interfaces, the loopback last. */
uint32_t ch_tree_own_addresses(const struct ch_tree_door *door,
                               struct ch_tree_address out[CH_TREE_ADDRESSES]);

/* Is it an address of this host; is it of the loopback? */
bool ch_tree_address_is_own(const struct ch_tree_address *address);
bool ch_tree_address_is_loopback(const struct ch_tree_address *address);

/* The address of this host from which packets to `to` are sent. False: there is no route. */
bool ch_tree_address_towards(const struct ch_tree_address *to, struct ch_tree_address *out);

/* The first address of an interface, if possible of IPv4. False: it has none. */
bool ch_tree_address_of_interface(const char *name, struct ch_tree_address *out);

/* "10.0.0.1:4000", "[fd00::1]:4000" */
void ch_tree_address_print(const struct ch_tree_address *address,
                           char text_out[CH_TREE_ADDRESS_TEXT]);

/* The address at the other end of a connection, without its port; "?" if it has ended. */
void ch_tree_address_of_peer(int fd, char text_out[CH_TREE_ADDRESS_TEXT]);

/* ch_tree_address_print for n addresses, separated by commas. */
void ch_tree_addresses_print(const struct ch_tree_address *addresses, uint32_t n,
                             char text_out[CH_TREE_TEXT_BYTES]);

/* Parse "host:port,..." with names or numbers. Returns the number of addresses; 0 with why_out,
 * if the text is not of that form or no name can be resolved. */
uint32_t ch_tree_address_find(const char *text, struct ch_tree_address out[CH_TREE_ADDRESSES],
                              char *why_out, size_t why_bytes);

/* Connect, until deadline_ns. Returns a non-blocking socket, or -1 with errno. */
int ch_tree_connect(const struct ch_tree_address *address, uint64_t link_ns,
                    uint64_t deadline_ns);

/* Apply the settings of a connection, accepted or made, which is to survive interruptions of
 * link_ns. */
void ch_tree_socket_set(int fd, uint64_t link_ns);

#endif /* CH_TREE_ADDRESS_H */
