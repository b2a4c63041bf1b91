/* SPDX-License-Identifier: Apache-2.0 */
/* coll.h: the steps of a collective call from the API to its launch. */
#ifndef CH_API_COLL_H
#define CH_API_COLL_H

#include "api/context.h"
#include "chorus/chorusx.h"
#include "coll/cuda/gpu.h"
#include "coll/host/host.h"

/* Make a collective call whose members up to is_traced are set: check it, select, launch. */
CH_MUST_CHECK chorus_status ch_collective(struct ch_call *call);

/* ERR_ARG for null and for pointers that are not streams of this PE. */
CH_MUST_CHECK chorus_status ch_stream_check(struct ch_context *context, const char *function,
                                            const struct chorus_stream *stream);

/* Before a barrier on a stream of a GPU: queue a quiet of what earlier work of the stream has
 * put to PEs that are not near; what it has put to near ones is complete. */
CH_MUST_CHECK chorus_status ch_stream_quiet(const char *function, chorus_stream_t stream);

/* Returns `ctas`, but at most the number of CTAs of a call that run at the same time on the GPU
 * of each PE. Hosts have no such limit. */
static inline uint32_t ch_limit_ctas(const struct ch_context *context, uint32_t ctas)
{
    return ctas < context->share_ctas ? ctas : context->share_ctas;
}

/* Returns the values on which selection depends, of a call that was checked. */
struct ch_request ch_request_of(const struct ch_context *context, const struct ch_call *call);

/* Check the arguments of a call on a team, and set call->facts, what is known of its buffers.
 * The message of a failure names the wrong argument. */
CH_MUST_CHECK chorus_status ch_check_call(const struct ch_context *context,
                                          struct ch_call *call);

/* Bytes of a block, and of dest and source to the end of the last element. */
struct ch_extent {
    size_t block, dest, source;
};

/* Returns the extents of a call that was checked; zeros for a barrier. */
struct ch_extent ch_call_extent(const struct ch_call *call);

/* Replace addresses in memory of chorusx_buffer_register by their symmetric addresses,
 * except in collectives whose dest differs in length between PEs. */
void ch_replace_registered(const struct ch_context *context, const struct ch_team *team,
                           chorusx_call *call);

/* --- profilers ---------------------------------------------------------------------------- */

/* They are informed of collective calls. A call costs one load while no profiler is
 * registered. */

/* Is there a tracer of the program, or CHORUS_NVTX? */
extern int ch_is_traced;

/* Make the call by ch_collective, between a begin event and an end event. Sets is_traced, so
 * that ch_collective does not trace it again. */
CH_MUST_CHECK chorus_status ch_trace_collective(struct ch_call *call);

/* Make NVTX ranges for collective calls from now on (is_wanted), or no longer. A build without
 * CUDA cannot, and warns. */
void ch_trace_set_nvtx(bool is_wanted);

#endif /* CH_API_COLL_H */
