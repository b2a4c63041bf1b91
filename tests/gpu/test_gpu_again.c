/* SPDX-License-Identifier: Apache-2.0 */
/* One job after another in a process: the GPU's memory comes back with each end, whatever the
 * program left allocated. "program threads N"; skipped without that. */
#include "gpu_pes.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OBJECT_BYTES ((size_t)1 << 30)
#define SLACK_BYTES (OBJECT_BYTES / 8) /* for what CUDA keeps itself */

enum { SKIPPED = 77, JOBS = 24 };

static size_t free_bytes(void)
{
    size_t bytes = 0, total = 0;

    EXPECT(cudaMemGetInfo(&bytes, &total) == cudaSuccess);
    return bytes;
}

/* An object, a team and a stream that nobody gives back. */
static void leave_all(void *arg)
{
    chorus_team_t team = CHORUS_TEAM_INVALID;
    chorus_stream_t stream = NULL;

    (void)arg;
    EXPECT(chorus_malloc(OBJECT_BYTES) != NULL);
    EXPECT(chorus_team_split_strided(CHORUS_TEAM_WORLD, 0, 1, gpu_n(), NULL, 0, &team) ==
           CHORUS_OK);
    EXPECT(chorusx_stream_create(&stream) == CHORUS_OK);
    EXPECT(chorusx_team_sync_on_stream(team, stream) == CHORUS_OK);
}

static size_t free_after_a_job(int n)
{
    EXPECT(chorusx_run_threads(n, leave_all, NULL) == CHORUS_OK);
    return free_bytes();
}

int main(int argc, char **argv)
{
    int n_devices = 0;
    size_t first;

    if (argc != 3 || cudaGetDeviceCount(&n_devices) != cudaSuccess || n_devices == 0) {
        (void)printf("skipped: no GPU here, or not \"threads N\"\n");
        return SKIPPED;
    }
    if (setenv("CHORUS_HEAP", "cuda", 1) != 0) return EXIT_FAILURE;
    first = free_after_a_job(gpu_threads(argv[2]));
    for (int i = 1; i < JOBS && gpu_failures() == 0; i++)
        EXPECT(free_after_a_job(gpu_threads(argv[2])) + SLACK_BYTES >= first);
    return gpu_failures() == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
