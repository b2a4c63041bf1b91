/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace.h: informs profilers of collective calls. A call costs one load while no profiler is
 * registered.
 */
#ifndef CH_TRACE_H
#define CH_TRACE_H

#include "api/coll.h"

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

#endif /* CH_TRACE_H */
