/* SPDX-License-Identifier: Apache-2.0 */
/* state_kernels.h: what a file of kernels offers to test_gpu_state, under names of its own. */
#ifndef STATE_KERNELS_H
#define STATE_KERNELS_H

/* Calls that a kernel without a state makes. */
enum { STATE_P, STATE_BARRIER, STATE_WAIT, STATE_QUIET, STATE_PUT, STATE_PTR, STATE_CALLS };

#ifdef __cplusplus
extern "C" {
#endif
/* Pass numbers around: `at` has three elements, symmetric, 0; what is wrong is counted at *bad.
 * Returns CUDA's error. Collective over all PEs. */
int state_launch(int *at, int *bad);
/* Make a call of this PE alone. */
int state_call(int what);
#ifdef __cplusplus
}
#endif

#endif /* STATE_KERNELS_H */
