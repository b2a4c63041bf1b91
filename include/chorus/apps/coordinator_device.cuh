/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coordinator_device.cuh: messages of a coordinator inside kernels, with Chorus; over the calls
 * of chorus_device.cuh, which this includes.
 *
 * The host gets a handle by chorusx_coordinator_device and passes it to the kernel as an
 * argument. With the launch mode PARTIAL kernels post, and the host acknowledges on the stream;
 * with DEVICE kernels do both. Collective calls inside kernels are those of Chorus, on the
 * handle's team.
 */
#ifndef CHORUS_APPS_COORDINATOR_DEVICE_CUH
#define CHORUS_APPS_COORDINATOR_DEVICE_CUH

#include "chorus/chorus_device.cuh"

#include "chorus/apps/coordinator.h"

/**
 * As chorusx_coordinator_post, by all threads of a block.
 *
 * @param handle  of chorusx_coordinator_device
 * @param dest    [out] at the receiver, by the address of this PE's own object
 * @param source  [in] in memory of this GPU
 * @param bytes   0: the message only tells
 * @param signal  a word of the receiver, as dest
 * @param value   larger than that of the message before with the same signal
 * @param pe      the receiver, number in the communicator
 *
 * Collective: both PEs.
 * Threads:    all threads of a block, of any shape.
 * Ordering:   begins with a barrier of the block: what its threads have written is sent. Source
 *             may be changed after a chorus_quiet, or a barrier.
 * Errors:     as of chorusx_putmem_signal_nbi_block.
 * Source:     UNICONN, Post in kernels.
 * Since:      0.1
 */
CHORUS_DEVICE void chorusx_coordinator_post_block(chorusx_coordinator_device_t handle,
                                                  void *dest, const void *source, size_t bytes,
                                                  uint64_t *signal, uint64_t value, int pe)
{
    const int in_job = chorus_team_translate_pe(handle.team, pe, CHORUS_TEAM_WORLD);

    chorusx_putmem_signal_nbi_block(dest, source, bytes, signal, value, CHORUS_SIGNAL_SET,
                                    in_job);
}

/**
 * As chorusx_coordinator_acknowledge, by all threads of a block.
 *
 * @param signal  of the message, a word of this PE
 * @param value   of the message
 *
 * Collective: both PEs.
 * Threads:    all threads of a block, of any shape.
 * Ordering:   ends with a barrier of the block, whose threads then see the data.
 * Errors:     a wait that fails is reported, as of chorus_signal_wait_until.
 * Source:     UNICONN, Acknowledge in kernels.
 * Since:      0.1
 */
CHORUS_DEVICE void chorusx_coordinator_acknowledge_block(uint64_t *signal, uint64_t value)
{
    if (threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0)
        (void)chorus_signal_wait_until(signal, CHORUS_CMP_GE, value);
    __syncthreads(); /* what came before the signal is there for all */
}

#endif /* CHORUS_APPS_COORDINATOR_DEVICE_CUH */
