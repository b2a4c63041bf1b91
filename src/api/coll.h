/* SPDX-License-Identifier: Apache-2.0 */
/* coll.h: the steps of a collective call from the API to its launch. */
#ifndef CH_API_COLL_H
#define CH_API_COLL_H

#include "api/context.h"
#include "chorus/chorusx.h"
#include "coll/cuda/gpu.h"
#include "coll/host/host.h"

/* The call as the user made it. */
struct ch_args {
    const char *function; /* the name that the user called, for messages */
    const chorusx_call *call;
    bool is_on_stream;
    chorus_stream_t stream; /* if so; null is a GPU's default stream */
};

/* Check, select, launch. */
CH_MUST_CHECK chorus_status ch_collective(const struct ch_args *args);

/* ERR_ARG for null and for pointers that are not streams of this PE. */
CH_MUST_CHECK chorus_status ch_stream_check(struct ch_context *context, const char *function,
                                            const struct chorus_stream *stream);

/* Of so many CTAs of a call, those that run at the same time on the GPUs of all PEs; on hosts
 * all of them. */
static inline uint32_t ch_ctas_of_share(const struct ch_context *context, uint32_t ctas)
{
    return ctas < context->share_ctas ? ctas : context->share_ctas;
}

/* The values that selection depends on. facts: of the buffers, CH_NEED_apart and
 * CH_NEED_SYMMETRIC. */
struct ch_request ch_request_of(const struct ch_context *context, const struct ch_team *team,
                                const chorusx_call *call, uint32_t facts);

/* CHORUS_OK, or ERR_ARG with a message that names the wrong value of the call. */
CH_MUST_CHECK chorus_status ch_check_call(const struct ch_context *context,
                                          const struct ch_args *args,
                                          const struct ch_team *team, uint32_t *facts_out);

/* Bytes of dest and source, to the end of the last element, of a valid call. */
struct ch_extents {
    size_t dest, source;
};
struct ch_extents ch_check_extents(const struct ch_args *args, const struct ch_team *team);

/* Replace addresses in memory of chorusx_buffer_register by their symmetric addresses,
 * except in collectives whose dest differs in length between PEs. */
void ch_check_named(const struct ch_context *context, const struct ch_team *team,
                    chorusx_call *call);

/* --- profilers ---------------------------------------------------------------------------- */

/* They are informed of collective calls. A call costs one load while no profiler is
 * registered. */

/* Is there a tracer of the program, or CHORUS_NVTX? */
extern int ch_is_traced;

/* ch_collective between a begin event and an end event. */
CH_MUST_CHECK chorus_status ch_trace_collective(const struct ch_args *args);

/* With CHORUS_NVTX: make ranges for NVTX from now on. A build without CUDA logs that it
 * cannot. */
void ch_trace_nvtx(bool is_wanted);

static inline chorus_status ch_make_collective(const struct ch_args *args)
{
    if (__builtin_expect(__atomic_load_n(&ch_is_traced, __ATOMIC_RELAXED), 0))
        return ch_trace_collective(args);
    return ch_collective(args);
}

#endif /* CH_API_COLL_H */
