/* SPDX-License-Identifier: Apache-2.0 */
/* amo_cuda.h: one atomic on GPU memory, by a kernel of one thread. */
#ifndef CH_AMO_CUDA_H
#define CH_AMO_CUDA_H

#include "transport/amo.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ch_amo_request {
    enum ch_amo op;
    unsigned bytes; /* 4 or 8 */
    void *word;     /* aligned, on any GPU that the current device has mapped */
    uint64_t value, compare;
    uint64_t *fetched; /* [out] what was there; pinned host memory */
};

/* Put it on a cudaStream_t of the current device; gives a cudaError_t, 0 when it is on the way.
 */
int ch_amo_launch(void *stream, const struct ch_amo_request *request);

#ifdef __cplusplus
}
#endif

#endif /* CH_AMO_CUDA_H */
