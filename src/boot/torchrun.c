/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torchrun.c: a PE that torchrun started, or another program that sets the same variables. PE
 * 0 is the root of the tree, on MASTER_ADDR; torchrun itself uses MASTER_PORT, so the root
 * listens on the next port, or on CHORUS_PORT. If another program has the next port, a root
 * that gives all others the secret takes any.
 */
#include "boot/torchrun.h"

#include "base/log.h"
#include "base/number.h"
#include "base/option.h"
#include "boot/tree_address.h"
#include "boot/tree_boot.h"
#include "boot/ways.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char who[] = "torchrun";

static chorus_status find_port(uint64_t *port_out)
{
    if (ch_variable_get(CH_VARIABLE_PORT) != NULL)
        return ch_way_number(ch_variable_name(CH_VARIABLE_PORT), "the user", 1, 65535,
                             port_out);
    CH_TRY(ch_way_number("MASTER_PORT", who, 1, 65534, port_out));
    ++*port_out;
    return CHORUS_OK;
}

/* Only PEs of the root's host can connect to the loopback. */
static bool is_loopback(const char *master)
{
    return strcmp(master, "localhost") == 0 || strcmp(master, "::1") == 0 ||
           strncmp(master, "127.", 4) == 0;
}

static chorus_status read_job(struct ch_torchrun *job)
{
    const char *const local = secure_getenv("LOCAL_WORLD_SIZE");
    uint64_t n, me, port, n_local = 0;

    CH_TRY(ch_way_host("MASTER_ADDR"));
    CH_TRY(ch_way_number("WORLD_SIZE", who, 1, CH_TREE_PES_MAX, &n));
    CH_TRY(ch_way_number("RANK", who, 0, n - 1, &me));
    CH_TRY(find_port(&port));
    job->master = secure_getenv("MASTER_ADDR");
    job->me = (uint32_t)me;
    job->n = (uint32_t)n;
    job->port = job->root_port = (uint16_t)port;
    if (local != NULL) (void)ch_number_whole(local, 1, n, &n_local);
    job->is_one_host = n_local == n || n == 1 || is_loopback(job->master);
    return CHORUS_OK;
}

void ch_torchrun_root(const struct ch_torchrun *job, char text_out[CH_TREE_TEXT_BYTES])
{
    (void)snprintf(text_out, CH_TREE_TEXT_BYTES,
                   strchr(job->master, ':') != NULL ? "[%s]:%u" : "%s:%u", job->master,
                   job->root_port);
}

/* PEs of one host connect only to the address at which the root listens: another program may
 * have the same port at another address of MASTER_ADDR. */
static void name_root(const unsigned char ip[CH_BOOT_IP_BYTES], uint16_t port,
                      char text_out[CH_TREE_TEXT_BYTES])
{
    static const unsigned char none[CH_BOOT_IP_BYTES];
    struct ch_tree_address at = {.port = port};

    if (memcmp(ip, none, sizeof(none)) == 0) return;
    memcpy(at.ip, ip, sizeof(at.ip));
    ch_tree_address_print(&at, text_out);
}

/* A user who names a port gets that one. */
static chorus_status listen_as_root(struct ch_torchrun *job,
                                    const unsigned char ip[CH_BOOT_IP_BYTES],
                                    struct ch_tree_door *door_out)
{
    const bool may_move =
        ch_torchrun_is_random(job) && ch_variable_get(CH_VARIABLE_PORT) == NULL;
    chorus_status status = ch_tree_listen_at(ip, job->port, door_out);

    if (status != CHORUS_OK && errno == EADDRINUSE && may_move)
        status = ch_tree_listen_at(ip, 0, door_out);
    if (status != CHORUS_OK) return status;
    job->root_port = door_out->port;
    if (job->root_port != job->port)
        CH_LOG(INFO, "another program uses port %u, so PE 0 listens on port %u", job->port,
               job->root_port);
    return CHORUS_OK;
}

static chorus_status torchrun_open(uint64_t timeout_ns, struct ch_boot **boot_out)
{
    struct ch_tree_start start = {.timeout_ns = timeout_ns};
    struct ch_torchrun job = {.timeout_ns = timeout_ns};
    unsigned char root_ip[CH_BOOT_IP_BYTES];
    struct ch_tree_door door = {.fd = -1};
    char root[CH_TREE_TEXT_BYTES];
    chorus_status status;

    CH_TRY(read_job(&job));
    start.me = job.me;
    start.n = job.n;
    ch_torchrun_listen(&job, root_ip, start.listen);
    if (job.me == 0) CH_TRY(listen_as_root(&job, root_ip, &door));
    status = ch_torchrun_secret(&job, start.secret, &start.share);
    if (status != CHORUS_OK) {
        ch_tree_door_close(&door);
        return status;
    }
    ch_torchrun_root(&job, root);
    if (job.me != 0 && job.is_one_host) name_root(root_ip, job.root_port, root);
    if (job.me == 0)
        start.door = &door;
    else
        start.root = root;
    return ch_boot_tree(&start, boot_out);
}

static bool torchrun_applies(char why_out[CH_WAY_WHY_BYTES])
{
    static const char *const names[] = {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (ch_way_variable(names[i], why_out) == NULL) return false;
    (void)snprintf(why_out, CH_WAY_WHY_BYTES,
                   "RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT "
                   "are set");
    return true;
}

const struct ch_way ch_way_torchrun = {"torchrun", torchrun_applies, torchrun_open, false};
