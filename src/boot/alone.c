/* SPDX-License-Identifier: Apache-2.0 */
/* alone.c: a process that no launcher started is a job of one PE. */
#include "base/error.h"
#include "base/text.h"
#include "boot/place.h"
#include "boot/ways.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static chorus_status alone_exchange(struct ch_boot *boot, const void *blob, size_t bytes,
                                    int fd, void *blobs_out, int *fds_out)
{
    (void)boot;
    if (fd >= 0) CH_TRY(ch_fd_dup(fd, fds_out));
    if (bytes != 0) memcpy(blobs_out, blob, bytes);
    return CHORUS_OK;
}

static void alone_close(struct ch_boot *boot)
{
    ch_boot_forget_nodes(boot);
    free(boot);
}

static const struct ch_boot_ops alone_ops = {
    .name = "alone",
    .exchange = alone_exchange,
    .close = alone_close,
    .abort_job = NULL,
};

/* A launcher that this library does not support starts as many jobs of one PE as processes. */
static void warn_of_launcher(void)
{
    static const char *const counts[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS",
                                         "SLURM_STEP_NUM_TASKS"};

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        const char *text = secure_getenv(counts[i]);
        uint64_t n;

        if (text == NULL || !ch_number_whole(text, 2, UINT32_MAX, &n)) continue;
        CH_LOG(WARN,
               "this process is a job of one PE, though a launcher started %s of them (%s); "
               "start programs with chorusrun -n %s, or with PMIx, by mpirun or srun "
               "--mpi=pmix, if this library was built with it (chorus-info start)",
               text, counts[i], text);
        return;
    }
}

/* Variables of torchrun's that name several processes, but not where PE 0 is: the one that is
 * missing; null: none is. */
static const char *missing_variable(void)
{
    const char *const rank = secure_getenv("RANK"), *const n = secure_getenv("WORLD_SIZE");
    const char *const address = secure_getenv("MASTER_ADDR");
    uint64_t count;

    if (rank == NULL || *rank == '\0' || n == NULL ||
        !ch_number_whole(n, 2, UINT32_MAX, &count))
        return NULL;
    return address == NULL || *address == '\0' ? "MASTER_ADDR" : "MASTER_PORT";
}

static chorus_status check_ranks(void)
{
    const char *const missing = missing_variable();

    if (missing == NULL) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_ARG,
                   "RANK is \"%.16s\" and WORLD_SIZE is \"%.16s\", but %s is not set, so that "
                   "this process cannot find the others; set MASTER_ADDR and MASTER_PORT as "
                   "torchrun does, or unset RANK and WORLD_SIZE for a job of one PE",
                   secure_getenv("RANK"), secure_getenv("WORLD_SIZE"), missing);
}

static chorus_status alone_open(uint64_t timeout_ns, struct ch_boot **boot_out)
{
    struct ch_boot *boot;

    CH_TRY(check_ranks());
    boot = malloc(sizeof(*boot));
    if (boot == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for a boot");
    *boot = (struct ch_boot){
        .ops = &alone_ops, .n = 1, .n_cores = ch_place_count_cores(), .timeout_ns = timeout_ns};
    warn_of_launcher();
    *boot_out = boot;
    return CHORUS_OK;
}

static bool alone_applies(char why_out[CH_WAY_WHY_BYTES])
{
    const char *const missing = missing_variable();

    if (missing == NULL)
        (void)snprintf(why_out, CH_WAY_WHY_BYTES, "this process is a job of one PE");
    else
        (void)snprintf(why_out, CH_WAY_WHY_BYTES,
                       "but chorus_init fails: RANK and WORLD_SIZE are set, %s is not",
                       missing);
    return true;
}

const struct ch_way ch_way_alone = {"no launcher", alone_applies, alone_open, true};
