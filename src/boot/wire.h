/* SPDX-License-Identifier: Apache-2.0 */
/* wire.h: the PE's side of the socket pair. message.h defines the messages. */
#ifndef CH_WIRE_H
#define CH_WIRE_H

#include "boot/message.h"

/*
 * All calls block until deadline_ns of ch_clock_ns (0: without limit). ERR_TIMEOUT sets no
 * message; ERR_ABORTED: chorusrun has ended; ERR_SYSTEM: a system call failed.
 */

/* fd >= 0: pass this descriptor with the first byte. */
CH_MUST_CHECK chorus_status ch_wire_send(int sock, const void *data, size_t bytes, int fd,
                                         uint64_t deadline_ns);
CH_MUST_CHECK chorus_status ch_wire_recv(int sock, void *data, size_t bytes,
                                         uint64_t deadline_ns);

/* Wait until there is something to receive, or the connection has ended. */
CH_MUST_CHECK chorus_status ch_wire_await(int sock, uint64_t deadline_ns);

/* Receive n descriptors, close-on-exec; on failure those that were received are closed. */
CH_MUST_CHECK chorus_status ch_wire_recv_fds(int sock, uint32_t n, int *fds_out,
                                             uint64_t deadline_ns);

/* Send a byte and n descriptors, 1 to CH_WIRE_FDS, if the socket accepts them now. Returns as
 * send(2). */
ssize_t ch_wire_pass(int sock, const int *fds, uint32_t n);

/* Send n descriptors, which ch_wire_recv_fds receives. */
CH_MUST_CHECK chorus_status ch_wire_send_fds(int sock, uint32_t n, const int *fds,
                                             uint64_t deadline_ns);

#endif /* CH_WIRE_H */
