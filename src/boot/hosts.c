/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hosts.c: a PE that chorusrun started on one of several hosts, by an agent. chorusrun itself
 * is the root of the tree. The PE informs the agent when it joins and leaves, as it informs
 * chorusrun on one host, and ends when the agent ends.
 */
#include "base/option.h"
#include "boot/message.h"
#include "boot/tree/tree.h"
#include "boot/ways.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads 64 hex digits from a descriptor and closes it, so that programs that this one starts do
 * not inherit the secret. */
static chorus_status read_secret(unsigned char secret_out[CH_BOOT_SECRET_BYTES])
{
    char text[2 * CH_BOOT_SECRET_BYTES + 1] = "";
    size_t got = 0;
    uint64_t fd;
    ssize_t n;

    CH_TRY(
        ch_way_number(ch_variable_name(CH_VARIABLE_SECRET_FD), "chorusrun", 0, INT_MAX, &fd));
    while (got < sizeof(text) - 1 &&
           (n = read((int)fd, text + got, sizeof(text) - 1 - got)) != 0) {
        if (n < 0 && errno != EINTR) break;
        if (n > 0) got += (size_t)n;
    }
    (void)close((int)fd);
    (void)unsetenv(ch_variable_name(CH_VARIABLE_SECRET_FD));
    if (ch_tree_secret_parse(text, secret_out)) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_ARG,
                   "descriptor %d, which %s names, does not have the job's secret; start the "
                   "program with chorusrun, and let only one process of each PE join",
                   (int)fd, ch_variable_name(CH_VARIABLE_SECRET_FD));
}

static chorus_status hosts_open(uint64_t timeout_ns, struct ch_boot **boot_out)
{
    struct ch_tree_start start = {.timeout_ns = timeout_ns};
    chorus_status status;

    CH_TRY(ch_way_host(ch_variable_name(CH_VARIABLE_ROOT)));
    CH_TRY(ch_way_launcher.open(timeout_ns, &start.agent));
    start.me = start.agent->me;
    start.n = start.agent->n;
    start.n_cores = start.agent->n_cores;
    start.root = ch_variable_get(CH_VARIABLE_ROOT);
    status = read_secret(start.secret);
    if (status != CHORUS_OK) {
        start.agent->ops->close(start.agent);
        return status;
    }
    CH_TRY(ch_boot_tree(&start, boot_out));
    (*boot_out)->spare = ch_variable_get(CH_VARIABLE_SPARE);
    return CHORUS_OK;
}

static bool hosts_applies(char why_out[CH_WAY_WHY_BYTES])
{
    return ch_way_variable(ch_variable_name(CH_VARIABLE_ROOT), why_out) != NULL;
}

const struct ch_way ch_way_hosts = {"chorusrun --hosts", hosts_applies, hosts_open, false};
