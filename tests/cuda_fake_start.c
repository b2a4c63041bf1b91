/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_fake_start.c: four GPUs that are fakes, for programs that do not know of the fake. */
#include "cuda_fake.h"

__attribute__((constructor)) static void start(void)
{
    cuda_fake_reset();
    cuda_fake.n_devices = FAKE_DEVICES_MAX;
}
