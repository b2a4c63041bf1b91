/* SPDX-License-Identifier: Apache-2.0 */
/*
 * network.h: the PEs of a job that this PE reaches over a network, of any kind.
 *
 * A PE that waits makes progress itself, between its polls. A thread of the library makes
 * progress while the PE does not call the library or sleeps, and serves the control plane of
 * the job; it sleeps while no message arrives. A job whose PEs are all mapped has neither.
 */
#ifndef CH_NETWORK_H
#define CH_NETWORK_H

#include "base/door.h"
#include "base/error.h"
#include "base/option.h"
#include "base/route.h"
#include "boot/boot.h"
#include "heap/heap.h"
#include "transport/net.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ch_network;
struct ch_put_signal;

/*
 * Collective over the job; on all PEs or on none. Null in *network_out if CHORUS_TRANSPORT and
 * the job's hosts leave no peer to a network. `patience` is kept, gets the network's progress,
 * and must outlive the network. ERR_UNSUPPORTED if no kind works, with the reason for each.
 */
CH_MUST_CHECK chorus_status ch_network_open(struct ch_boot *boot, struct ch_heap *heap,
                                            const struct ch_options *options,
                                            struct ch_patience *patience,
                                            struct ch_network **network_out);
/* Nothing comes, goes or is read from now on: before memory that operations name is given back.
 * What ends routes and keys may be called afterwards. Null is a no-op; not collective. */
void ch_network_disconnect(struct ch_network *network);
void ch_network_close(struct ch_network *network); /* likewise */

/* The route to a peer; null: its memory is mapped, or there is no network. */
struct ch_route *ch_network_route(const struct ch_network *network, uint32_t pe);

/* How a peer is reached: device and address. */
void ch_network_describe(struct ch_network *network, uint32_t pe,
                         char why_out[CH_NET_WHY_BYTES]);
/* The reason why a kind of kinds.h was tried and is not used; "": it was not tried; null: it is
 * used. */
const char *ch_network_why_not(const struct ch_network *network, uint32_t kind);

/* The host of each PE for the choice of routes, numbered from 0; null: there is one host. */
const uint32_t *ch_network_nodes(const struct ch_network *network);

/* Attach memory of this PE that peers access, and detach it. With a null network a no-op. */
CH_MUST_CHECK chorus_status ch_network_attach(struct ch_network *network, void *base,
                                              size_t bytes, uint64_t *key_out);
void ch_network_detach(struct ch_network *network, void *base);
/* The memory of a peer, at its own address; a no-op for a PE that is mapped. */
CH_MUST_CHECK chorus_status ch_network_learn(struct ch_network *network, uint32_t pe,
                                             const char *there, size_t bytes, uint64_t key);
void ch_network_forget(struct ch_network *network, uint32_t pe, const char *there);
/* Do peers need keys? */
bool ch_network_has_keys(const struct ch_network *network);

/* Operations of a context, for a PE with a route. put and get return when the caller may use
 * its memory, the others at once, and so does amo without fetched_out. */
CH_MUST_CHECK chorus_status ch_network_put(struct ch_network *network, uint32_t ctx,
                                           uint32_t pe, char *there, const void *src,
                                           size_t bytes);
CH_MUST_CHECK chorus_status ch_network_put_nbi(struct ch_network *network, uint32_t ctx,
                                               uint32_t pe, char *there, const void *src,
                                               size_t bytes);
/* The addresses in `put` are the peer's own; the source may be reused on return unless
 * is_nbi. */
CH_MUST_CHECK chorus_status ch_network_put_signal(struct ch_network *network, uint32_t ctx,
                                                  uint32_t pe, const struct ch_put_signal *put,
                                                  bool is_nbi);
CH_MUST_CHECK chorus_status ch_network_get(struct ch_network *network, uint32_t ctx,
                                           uint32_t pe, void *dst, const char *there,
                                           size_t bytes);
CH_MUST_CHECK chorus_status ch_network_get_nbi(struct ch_network *network, uint32_t ctx,
                                               uint32_t pe, void *dst, const char *there,
                                               size_t bytes);
/* The same for memory of the library, which stays until ch_network_disconnect: a failure is
 * reported by the waits of the job. */
void ch_network_request(struct ch_network *network, uint32_t ctx, uint32_t pe, void *dst,
                        const char *there, size_t bytes);
/* Have all operations of the context to the PE taken effect? Never once the link failed. */
bool ch_network_is_done(struct ch_network *network, uint32_t ctx, uint32_t pe);
CH_MUST_CHECK chorus_status ch_network_amo(struct ch_network *network, uint32_t ctx,
                                           uint32_t pe, enum ch_amo op, void *there,
                                           size_t bytes, uint64_t value, uint64_t compare,
                                           uint64_t *fetched_out);
/* Later puts of the context take effect after earlier ones, for each peer. */
CH_MUST_CHECK chorus_status ch_network_fence(struct ch_network *network, uint32_t ctx);
/* All operations that the context posted to a PE, or to CH_NET_ALL, have taken effect, and
 * fetched values are stored. */
CH_MUST_CHECK chorus_status ch_network_quiet(struct ch_network *network, uint32_t ctx,
                                             uint32_t pe);

#endif /* CH_NETWORK_H */
