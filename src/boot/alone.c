/* SPDX-License-Identifier: Apache-2.0 */
/* alone.c: processes that no launcher started: a job of one PE, or one that a program creates
 * by itself, by an id. */
#include "base/error.h"
#include "base/text.h"
#include "boot/boot.h"
#include "boot/place.h"
#include "boot/tree/tree.h"
#include "boot/ways.h"

#include <pthread.h>
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

/* Warn if a launcher that this library does not support started this process: each of its
 * processes is then a job of one PE. */
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

/* If torchrun's variables name several processes, but not where PE 0 is: returns the name of
 * the variable that is missing. Null: none is missing. */
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

/* Fail if this process is one of several that it cannot find. */
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

/* ---- a job that a program creates by itself ---- */

/* The contents of an id. */
struct content {
    uint32_t magic;
    uint32_t n_addresses;
    unsigned char secret[CH_BOOT_SECRET_BYTES];
    struct ch_tree_address addresses[CH_TREE_ADDRESSES];
};

/* The socket of the last id that this process created, until it joins with that id. */
static struct {
    pthread_mutex_t lock; /* guards the two variables */
    struct ch_tree_listener listener;
    unsigned char secret[CH_BOOT_SECRET_BYTES];
} made = {.lock = PTHREAD_MUTEX_INITIALIZER, .listener = {.fd = -1}};

/* Create the contents of a new id, and listen for the processes that join with it. Call with
 * the lock. */
static chorus_status make_content(struct content *content)
{
    ch_tree_listener_close(&made.listener);
    CH_TRY(ch_tree_listen(0, &made.listener));
    ch_tree_secret_make(made.secret);
    *content = (struct content){.magic = CH_TREE_MAGIC};
    memcpy(content->secret, made.secret, sizeof(made.secret));
    content->n_addresses = ch_tree_own_addresses(&made.listener, content->addresses);
    return CHORUS_OK;
}

chorus_status ch_uniqueid_make(char *id_out, size_t bytes)
{
    struct content content;
    chorus_status status;

    (void)pthread_mutex_lock(&made.lock);
    status = make_content(&content);
    (void)pthread_mutex_unlock(&made.lock);
    if (status != CHORUS_OK) return status;
    memset(id_out, 0, bytes);
    memcpy(id_out, &content, sizeof(content));
    return CHORUS_OK;
}

bool ch_uniqueid_check(const char *id, size_t bytes)
{
    struct content content;

    if (bytes < sizeof(content)) return false;
    memcpy(&content, id, sizeof(content));
    return content.magic == CH_TREE_MAGIC && content.n_addresses >= 1 &&
           content.n_addresses <= CH_TREE_ADDRESSES;
}

/* Move the listening socket of this id to *listener_out. False: this process did not create the
 * id, or has joined with it. */
static bool take_listener(const struct content *content, struct ch_tree_listener *listener_out)
{
    bool is_made;

    (void)pthread_mutex_lock(&made.lock);
    is_made = made.listener.fd >= 0 &&
              memcmp(made.secret, content->secret, sizeof(content->secret)) == 0;
    if (is_made) {
        *listener_out = made.listener;
        made.listener = (struct ch_tree_listener){.fd = -1};
    }
    (void)pthread_mutex_unlock(&made.lock);
    return is_made;
}

chorus_status ch_uniqueid_open(const char *id, uint32_t me, uint32_t n, uint64_t timeout_ns,
                               struct ch_boot **boot_out)
{
    struct ch_tree_start start = {.me = me, .n = n, .timeout_ns = timeout_ns};
    char root[CH_TREE_TEXT_BYTES];
    struct ch_tree_listener listener;
    struct content content;

    memcpy(&content, id, sizeof(content));
    memcpy(start.secret, content.secret, sizeof(start.secret));
    if (take_listener(&content, &listener)) {
        start.door = &listener;
    } else {
        ch_tree_addresses_print(content.addresses, content.n_addresses, root);
        start.root = root;
    }
    return ch_boot_open_tree(&start, boot_out);
}
