/* SPDX-License-Identifier: Apache-2.0 */
/* apart.h: what apart_main.cpp calls in apart_kernels.cu. */
#ifndef APART_H
#define APART_H

#include <cuda_runtime_api.h>
#include <stddef.h>

/* Send source to every PE, which has a row of dest for each sender, and compare. */
void apart_exchange(float *dest, float *source, size_t count, int round, cudaStream_t stream);

int apart_wrong(void);

#endif /* APART_H */
