/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drain.h: waits of the host for work on the GPU. CUDA's own waits end only with the work, and
 * a wait on a stream for a word that no PE stores to never ends: the front end of the GPU has
 * no deadline, and a kernel in its place would occupy a multiprocessor. The host's waits end
 * with the job and by CHORUS_TIMEOUT instead, without a cost to the streams.
 */
#ifndef CH_DRAIN_H
#define CH_DRAIN_H

#include "base/door.h"
#include "coll/cuda/front.h"
#include "device/device.h"

/* All work of this process on the device, graphs included. ERR_TIMEOUT, ERR_ABORTED: it has not
 * ended. */
CH_MUST_CHECK chorus_status ch_drain_device(const struct ch_device *device,
                                            const struct ch_patience *patience);

/*
 * The work of a cudaStream_t, which these waits hold up. ERR_ABORTED: the job is ending;
 * ERR_TIMEOUT: it has taken longer than the limit, and one of the waits is not over. Other work
 * of the program may take any time, and is not reported as a wait for other PEs.
 */
CH_MUST_CHECK chorus_status ch_drain_stream(const struct ch_device *device,
                                            const struct ch_patience *patience,
                                            const struct ch_front_view *waits, void *stream);

#endif /* CH_DRAIN_H */
