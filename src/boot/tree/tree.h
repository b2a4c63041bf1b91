/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree.h: the control plane of a job on several hosts: its processes, connected by TCP as a
 * tree, with up to CH_TREE_CHILDREN children each, for as long as the job runs.
 *
 * The root is a process that listens at an address that all others know: a PE, or another
 * program such as chorusrun. The root and every other process that has joined are nodes. A
 * process that joins sends a hello to the root, which accepts it as a child or sends it to one
 * of its children. In the handshake both sides prove that they know the job's secret
 * (inside.h). When all PEs have joined, nodes stop listening.
 *
 * An exchange is sent upwards as pairs (PE, blob), and the root sends its result down. If a
 * connection ends before its peer has left, the peer is a lost PE; the job is then over, and a
 * message that names the PE is sent through the tree. Nodes send no heartbeats: the kernels do
 * (address.c), so that a stopped process is not taken for a dead host.
 *
 * Calls on one tree are made under one lock, or by one thread; only ch_tree_join and
 * ch_tree_close wait.
 */
#ifndef CH_TREE_H
#define CH_TREE_H

#include "boot/boot.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum {
    CH_TREE_MAGIC = 0x43485402, /* "CHT", and the version of the protocol */
    CH_TREE_PES_MAX = 1 << 20,
    CH_TREE_CHILDREN = 16,
    CH_TREE_NO_PE = 0x7fffffff, /* number of a root that is not a PE */
    CH_TREE_TEXT_BYTES = 512,   /* bytes of addresses, and of a reason, with the null byte */
    CH_TREE_HOST_BYTES = 64,
};

struct ch_tree;

/* Callbacks of a node. Null members are not called. ch_tree_ functions call them, and they must
 * not call these. */
struct ch_tree_events {
    void *self;
    /* Only at the root: numbers of PEs that joined, and that left, each once. */
    void (*joined)(void *self, uint32_t pe, const char *host);
    void (*left)(void *self, uint32_t pe);
    /* An exchange has ended: CHORUS_OK with the blobs of all PEs, or a reason. */
    void (*exchanged)(void *self, chorus_status status, const char *reason, const char *blobs,
                      size_t bytes);
    /* The job is over early, reported once: a PE was lost, or ended the job with `status`. */
    void (*over)(void *self, int status, const char *reason);
};

struct ch_tree_terms {
    uint32_t me, n; /* me is CH_TREE_NO_PE in a root that is not a PE */
    unsigned char secret[CH_BOOT_SECRET_BYTES];
    unsigned char listen[CH_BOOT_IP_BYTES]; /* where a node that joins listens; 0: all */
    struct ch_tree_events events;
    uint64_t link_ns;  /* longest interruption of a connection that does not end it */
    uint64_t hello_ns; /* time limit for the hello of an unauthenticated connection; 0: 5 s */
};

/* Create a secret of random bytes. */
void ch_tree_secret_make(unsigned char secret_out[CH_BOOT_SECRET_BYTES]);
/* Print a secret as 64 hex digits. */
void ch_tree_secret_print(const unsigned char secret[CH_BOOT_SECRET_BYTES], char text_out[65]);
/* Read a secret from 64 hex digits. False: the text is not of this form. */
bool ch_tree_secret_parse(const char *text, unsigned char secret_out[CH_BOOT_SECRET_BYTES]);

/* A listening socket. */
struct ch_tree_listener {
    int fd; /* -1: closed */
    uint16_t port;
    unsigned char ip[CH_BOOT_IP_BYTES];
};

/* Create a socket that listens on `port`; 0: on a free port. It listens at the address `ip`,
 * IPv4 mapped into IPv6; if that is 0, at all addresses of this host, IPv4 and IPv6. After a
 * failure, errno has its cause. */
CH_MUST_CHECK chorus_status ch_tree_listen_at(const unsigned char ip[CH_BOOT_IP_BYTES],
                                              uint16_t port, struct ch_tree_listener *out);
/* ch_tree_listen_at for all addresses of this host. */
CH_MUST_CHECK chorus_status ch_tree_listen(uint16_t port, struct ch_tree_listener *out);
void ch_tree_listener_close(struct ch_tree_listener *listener);

/* Print the addresses for other processes: "10.0.0.1:4000,[fe80::1]:4000", the loopback last;
 * or the one at which it listens. This is the value of CHORUS_ROOT. */
void ch_tree_own_addresses_print(const struct ch_tree_listener *listener,
                                 char text_out[CH_TREE_TEXT_BYTES]);

/* Create the root. Takes ownership of the listening socket, also on failure. */
CH_MUST_CHECK chorus_status ch_tree_make_root(const struct ch_tree_terms *terms,
                                              struct ch_tree_listener *listener,
                                              struct ch_tree **tree_out);

/*
 * Join the tree whose root is at one of `addresses`. Waits until deadline_ns of ch_clock_ns (0:
 * without limit) for a root that does not answer yet. ERR_ARG: refused, with the reason of the
 * program that refused; ERR_TIMEOUT: no program that has the secret answered; the message
 * states what was found.
 */
CH_MUST_CHECK chorus_status ch_tree_join(const struct ch_tree_terms *terms,
                                         const char *addresses, uint64_t deadline_ns,
                                         struct ch_tree **tree_out);

/* Returns a descriptor to poll for reading. When it is readable, and once a second, call
 * ch_tree_serve, which reads, answers and writes without blocking, but for some milliseconds
 * where this process has no descriptor left for a connection. */
int ch_tree_poll_fd(const struct ch_tree *tree);
void ch_tree_serve(struct ch_tree *tree);

/* Contribute this PE's part of the next exchange; the callback `exchanged` reports the
 * result. */
void ch_tree_exchange(struct ch_tree *tree, const void *blob, size_t bytes, bool has_fd);
/* The exchange in progress has reached the time limit of its PE: fail it on all PEs, with the
 * names of those that are missing. */
void ch_tree_report_late(struct ch_tree *tree, double waited_s);

/* End the job on all PEs; the first reason wins. */
void ch_tree_abort(struct ch_tree *tree, int status, const char *reason);

/* End the job, since this process has no descriptor left for what a PE needs to join. */
void ch_tree_abort_at_limit(struct ch_tree *tree);

/* In a child that this process forked: close its copies of the descriptors, and no more. */
void ch_tree_abandon(const struct ch_tree *tree);

/* Leave the job after the remaining messages are written, for which it waits a few seconds at
 * most. */
void ch_tree_close(struct ch_tree *tree); /* null is a no-op */

/* ---- a boot over a tree, for the ways of starting that support several hosts ---- */

struct ch_share;

/* The input of all ways of starting that use it. */
struct ch_tree_start {
    uint32_t me, n;
    uint32_t n_cores; /* cores of the host, for all its PEs; 0: ch_boot_locate counts */
    unsigned char secret[CH_BOOT_SECRET_BYTES];
    unsigned char listen[CH_BOOT_IP_BYTES]; /* where this PE's other sockets listen; 0: all */
    struct ch_tree_listener *door; /* of the root, whose ownership is taken; else null */
    const char *root;              /* its addresses, for ch_tree_join; null at the root */
    struct ch_boot *agent;  /* the launcher's boot, which is informed of the end of this PE; or
                               null. Ownership is taken */
    struct ch_share *share; /* by which other PEs receive the secret, closed when all have
                               joined; or null. Ownership is taken */
    uint64_t timeout_ns;
};

/* Create the root of a tree, or join one, and return the boot of this PE. Takes ownership of
 * door, agent and share, also on failure. */
CH_MUST_CHECK chorus_status ch_boot_open_tree(const struct ch_tree_start *start,
                                              struct ch_boot **boot_out);

/* ---- addresses of nodes ---- */

/*
 * Sockets detect by themselves that the host of their peer is lost. The kernel probes an idle
 * connection (SO_KEEPALIVE), and ends one whose peer's kernel has not answered for a while
 * longer than CHORUS_LINK_TIMEOUT (TCP_USER_TIMEOUT; base/limits.h). The kernel of a stopped
 * process answers, so stopping a process ends no connection.
 */

enum { CH_TREE_ADDRESSES = 8, CH_TREE_ADDRESS_TEXT = 64 };

/* IPv4 addresses are mapped into IPv6 (::ffff:10.0.0.1). */
struct ch_tree_address {
    unsigned char ip[16];
    uint16_t port;
    uint16_t zero;
    uint32_t scope; /* of a link-local address on this host, which is not sent */
};

/* Find the addresses at which others may reach the socket: the one at which it listens, or
 * those of the interfaces, the loopback last. Returns their number. */
uint32_t ch_tree_own_addresses(const struct ch_tree_listener *listener,
                               struct ch_tree_address out[CH_TREE_ADDRESSES]);

/* Is it an address of this host? */
bool ch_tree_address_is_own(const struct ch_tree_address *address);
/* Is it an address of the loopback? */
bool ch_tree_address_is_loopback(const struct ch_tree_address *address);

/* Find the address of this host from which packets to `to` are sent. False: there is no
 * route. */
bool ch_tree_address_of_route(const struct ch_tree_address *to, struct ch_tree_address *out);

/* Find the first address of an interface, if possible of IPv4. False: it has none. */
bool ch_tree_address_of_interface(const char *name, struct ch_tree_address *out);

/* Print an address: "10.0.0.1:4000", "[fd00::1]:4000". */
void ch_tree_address_print(const struct ch_tree_address *address,
                           char text_out[CH_TREE_ADDRESS_TEXT]);

/* Print the address at the other end of a connection, without its port; "?" if it has ended. */
void ch_tree_address_of_peer(int fd, char text_out[CH_TREE_ADDRESS_TEXT]);

/* ch_tree_address_print for n addresses, separated by commas. */
void ch_tree_addresses_print(const struct ch_tree_address *addresses, uint32_t n,
                             char text_out[CH_TREE_TEXT_BYTES]);

/* Parse "host:port,..." with names or numbers. Returns the number of addresses; 0 with why_out,
 * if the text is not of that form or no name can be resolved. */
uint32_t ch_tree_addresses_parse(const char *text,
                                 struct ch_tree_address out[CH_TREE_ADDRESSES], char *why_out,
                                 size_t why_bytes);

/* Connect, until deadline_ns. Returns a non-blocking socket, or -1 with errno. */
int ch_tree_connect(const struct ch_tree_address *address, uint64_t link_ns,
                    uint64_t deadline_ns);

/* Apply the settings of a connection, accepted or made, which is to survive interruptions of
 * link_ns. */
void ch_tree_socket_set(int fd, uint64_t link_ns);

#endif /* CH_TREE_H */
