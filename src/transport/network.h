/* SPDX-License-Identifier: Apache-2.0 */
/*
 * network.h: the PEs of a job that this PE reaches over a network, of whichever kind.
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
 * Collective over the job; on all PEs or on none. Null in *network_out where CHORUS_TRANSPORT
 * and the job's hosts leave no peer to a network. `patience` is kept, gets the network's
 * progress, and must outlive the network. ERR_UNSUPPORTED where no kind serves, saying why of
 * each.
 */
CH_MUST_CHECK chorus_status ch_network_open(struct ch_boot *boot, struct ch_heap *heap,
                                            const struct ch_options *options,
                                            struct ch_patience *patience,
                                            struct ch_network **network_out);
/* Nothing comes, goes or is read from now on: before memory that operations name is given back.
 * What ends routes and keys may be called afterwards. Null is a no-op; not collective. */
void ch_network_disconnect(struct ch_network *network);
void ch_network_close(struct ch_network *network); /* likewise */

/* The way to a peer; null: its memory is mapped. Null too where there is no network. */
struct ch_route *ch_network_route(const struct ch_network *network, uint32_t pe);

/* How a peer is reached, by what device and address. */
void ch_network_describe(struct ch_network *network, uint32_t pe,
                         char why_out[CH_NET_WHY_BYTES]);
/* Why a kind of kinds.h was tried and does not serve this job; "": it was not tried; null: it
 * serves. */
const char *ch_network_why_not(const struct ch_network *network, uint32_t kind);

/* Each PE's host as routes see it, numbered from 0; null: there is one. */
const uint32_t *ch_network_nodes(const struct ch_network *network);

/* Memory of this PE that peers will name, and its end. A null network takes anything. */
CH_MUST_CHECK chorus_status ch_network_attach(struct ch_network *network, void *base,
                                              size_t bytes, uint64_t *key_out);
void ch_network_detach(struct ch_network *network, void *base);
/* A peer's memory, at its own address; a PE that is mapped is a no-op. */
CH_MUST_CHECK chorus_status ch_network_learn(struct ch_network *network, uint32_t pe,
                                             const char *there, size_t bytes, uint64_t key);
void ch_network_forget(struct ch_network *network, uint32_t pe, const char *there);
/* Must peers learn keys? */
bool ch_network_has_keys(const struct ch_network *network);

/* Operations of a context, for a PE with a route. put and get return when the caller may use
 * its memory, the others at once; amo too, without fetched_out. */
CH_MUST_CHECK chorus_status ch_network_put(struct ch_network *network, uint32_t ctx,
                                           uint32_t pe, char *there, const void *src,
                                           size_t bytes);
CH_MUST_CHECK chorus_status ch_network_put_nbi(struct ch_network *network, uint32_t ctx,
                                               uint32_t pe, char *there, const void *src,
                                               size_t bytes);
/* The addresses in `put` are the peer's own; the source is free on return unless is_nbi. */
CH_MUST_CHECK chorus_status ch_network_put_signal(struct ch_network *network, uint32_t ctx,
                                                  uint32_t pe, const struct ch_put_signal *put,
                                                  bool is_nbi);
CH_MUST_CHECK chorus_status ch_network_get(struct ch_network *network, uint32_t ctx,
                                           uint32_t pe, void *dst, const char *there,
                                           size_t bytes);
CH_MUST_CHECK chorus_status ch_network_get_nbi(struct ch_network *network, uint32_t ctx,
                                               uint32_t pe, void *dst, const char *there,
                                               size_t bytes);
CH_MUST_CHECK chorus_status ch_network_amo(struct ch_network *network, uint32_t ctx,
                                           uint32_t pe, enum ch_amo op, void *there,
                                           size_t bytes, uint64_t value, uint64_t compare,
                                           uint64_t *fetched_out);
/* Puts of the context from now on take effect after those before, to each peer. */
CH_MUST_CHECK chorus_status ch_network_fence(struct ch_network *network, uint32_t ctx);
/* All that the context posted to a PE, or to CH_NET_ALL, has taken effect, and what it fetched
 * is here. */
CH_MUST_CHECK chorus_status ch_network_quiet(struct ch_network *network, uint32_t ctx,
                                             uint32_t pe);

#endif /* CH_NETWORK_H */
