/* SPDX-License-Identifier: Apache-2.0 */
/*
 * context.h: everything a PE has between init and finalize.
 *
 * The one mutable global of the library is the pointer to it: one per process, and, where PEs
 * are threads, one per thread that stands before it.
 */
#ifndef CH_CONTEXT_H
#define CH_CONTEXT_H

#include "base/door.h"
#include "base/option.h"
#include "boot/boot.h"
#include "heap/heap.h"
#include "select/select.h"
#include "team/team.h"
#include "transport/transport.h"

struct ch_crew; /* worker threads for calls of several CTAs, made when first needed */

struct ch_context {
    struct ch_options options;
    struct ch_boot *boot;
    struct ch_heap *heap;
    const struct ch_transport_ops *link;
    struct ch_transport *transport;
    struct ch_patience patience;
    struct ch_teams *teams;
    struct ch_select *select;
    struct ch_crew *crew; /* of blocking calls */
    int thread_level;
};

/* The context of the PE this thread runs for; null before init and after finalize. */
struct ch_context *ch_context_get(void);

/* Say which PE this thread runs for (workers of streams and crews, PEs as threads). */
void ch_context_set_thread(struct ch_context *context);

/* ERR_STATE "chorus_reduce called before chorus_init" and the like; gives the context. */
CH_MUST_CHECK chorus_status ch_context_require(const char *function, struct ch_context **out);

/* A failure in a function that returns nothing: hand code and message to the handler. */
void ch_report(chorus_status status);

#endif /* CH_CONTEXT_H */
