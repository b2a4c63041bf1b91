/* SPDX-License-Identifier: Apache-2.0 */
/* test_gpu_sources.c: calls inside kernels take any memory, however a program is compiled. */
#include "gpu_pes.h"

/* Bodies of sources.cu, each compiled with other flags. */
void sources_optimized(void);
void sources_fast_math(void);
void sources_debug(void);

#define CASES(X)         \
    X(sources_optimized) \
    X(sources_fast_math) \
    X(sources_debug)

GPU_MAIN(CASES)
