/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_fake_start.c: four GPUs that are fakes, for programs that do not know of the fake.
 * FAKE_GPU is the number of the one that is current. */
#include "cuda_fake.h"

#include <stdlib.h>

__attribute__((constructor)) static void start(void)
{
    const char *gpu = getenv("FAKE_GPU");

    cuda_fake_reset();
    cuda_fake.n_devices = FAKE_DEVICES_MAX;
    if (gpu != NULL) (void)cudaSetDevice(atoi(gpu));
}
