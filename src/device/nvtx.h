/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtx.h: ranges that NVIDIA's profilers show. Without a profiler these functions do nothing.
 */
#ifndef CH_NVTX_H
#define CH_NVTX_H

#include <stdbool.h>

/* Was this compiled with NVTX? Otherwise the other functions do nothing. */
bool ch_nvtx_is_there(void);

/* Begin and end a range on this thread, in the domain "chorus"; they nest. */
void ch_nvtx_push(const char *text);
void ch_nvtx_pop(void);

#endif /* CH_NVTX_H */
