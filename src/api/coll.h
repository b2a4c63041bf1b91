/* SPDX-License-Identifier: Apache-2.0 */
/* coll.h: the steps of a collective call from the API to its launch. */
#ifndef CH_API_COLL_H
#define CH_API_COLL_H

#include "api/context.h"
#include "chorus/chorusx.h"
#include "coll/cuda/gpu.h"
#include "coll/host/host.h"

/* Check, select, launch a call whose members up to is_traced are set. */
CH_MUST_CHECK chorus_status ch_collective(struct ch_call *call);

/* ERR_ARG for null and for pointers that are not streams of this PE. */
CH_MUST_CHECK chorus_status ch_stream_check(struct ch_context *context, const char *function,
                                            const struct chorus_stream *stream);

/* Of so many CTAs of a call, those that run at the same time on the GPUs of all PEs; on hosts
 * all of them. */
static inline uint32_t ch_limit_ctas(const struct ch_context *context, uint32_t ctas)
{
    return ctas < context->share_ctas ? ctas : context->share_ctas;
}

/* The values that selection depends on, of a call that was checked. */
struct ch_request ch_request_of(const struct ch_context *context, const struct ch_call *call);

/* Set the facts of a call on a team; ERR_ARG with a message that names its wrong value. */
CH_MUST_CHECK chorus_status ch_check_call(const struct ch_context *context,
                                          struct ch_call *call);

/* Bytes of a block, and of dest and source to the end of the last element. */
struct ch_extent {
    size_t block, dest, source;
};

/* Of a valid call. */
struct ch_extent ch_check_extent(const struct ch_call *call);

/* Replace addresses in memory of chorusx_buffer_register by their symmetric addresses,
 * except in collectives whose dest differs in length between PEs. */
void ch_check_replace_named(const struct ch_context *context, const struct ch_team *team,
                            chorusx_call *call);

/* --- profilers ---------------------------------------------------------------------------- */

/* They are informed of collective calls. A call costs one load while no profiler is
 * registered. */

/* Is there a tracer of the program, or CHORUS_NVTX? */
extern int ch_is_traced;

/* ch_collective between a begin event and an end event, which sets is_traced. */
CH_MUST_CHECK chorus_status ch_trace_collective(struct ch_call *call);

/* With CHORUS_NVTX: make ranges for NVTX from now on. A build without CUDA logs that it
 * cannot. */
void ch_trace_nvtx(bool is_wanted);

#endif /* CH_API_COLL_H */
