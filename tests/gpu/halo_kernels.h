/* SPDX-License-Identifier: Apache-2.0 */
/* halo_kernels.h: a kernel of a program that exchanges halos itself. */
#ifndef HALO_KERNELS_H
#define HALO_KERNELS_H

#include "chorus/apps/halo.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Queue a kernel of one block that sends and receives link after link, as all PEs do. */
int halo_walk(chorusx_halo_device_t halo, void *array, chorus_stream_t stream);

#ifdef __cplusplus
}
#endif

#endif /* HALO_KERNELS_H */
