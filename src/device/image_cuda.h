/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_cuda.h: the architectures that the kernels of this library are compiled for. All
 * kernels are compiled for the same ones, so one kernel represents all.
 */
#ifndef CH_IMAGE_CUDA_H
#define CH_IMAGE_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

/* In nvcc's notation: "sm_80 sm_90 compute_90". */
const char *ch_image_archs(void);

/*
 * The kernels' image for the current device: *compute_out is the virtual architecture that it
 * was compiled for, 80 for compute_80, whatever it was translated to. Returns a cudaError_t,
 * which is an error if there is no image for the device.
 */
int ch_image_find(int *compute_out);

#ifdef __cplusplus
}
#endif

#endif /* CH_IMAGE_CUDA_H */
