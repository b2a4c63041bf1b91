/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torchrun.c: a PE that torchrun started, or another program that sets the same variables. PE
 * 0 is the root of the tree, on MASTER_ADDR; torchrun itself uses MASTER_PORT, so the root
 * listens on the next port, or on CHORUS_PORT.
 *
 * torchrun gives no secret to its processes. The job's secret is derived from the names of the
 * job, so that jobs that run at the same time have different ones, and from CHORUS_SECRET,
 * which may be set to any text. Without it, the secret refuses accidental connections, but does
 * not keep out an attacker.
 */
#include "base/log.h"
#include "boot/tree_boot.h"
#include "boot/ways.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char who[] = "torchrun";

static void add_text(crypto_generichash_state *state, const char *name)
{
    const char *text = secure_getenv(name);

    if (text == NULL) text = "";
    (void)crypto_generichash_update(state, (const unsigned char *)text, strlen(text) + 1);
}

static void make_secret(unsigned char secret_out[CH_BOOT_SECRET_BYTES])
{
    crypto_generichash_state state;

    (void)crypto_generichash_init(&state, NULL, 0, CH_BOOT_SECRET_BYTES);
    if (secure_getenv("CHORUS_SECRET") == NULL)
        CH_LOG(INFO, "CHORUS_SECRET is not set: any process that knows the job's MASTER_ADDR "
                     "and MASTER_PORT could join it");
    add_text(&state, "CHORUS_SECRET");
    add_text(&state, "MASTER_ADDR");
    add_text(&state, "MASTER_PORT");
    add_text(&state, "TORCHELASTIC_RUN_ID");
    (void)crypto_generichash_final(&state, secret_out, CH_BOOT_SECRET_BYTES);
}

static chorus_status find_port(uint64_t *port_out)
{
    if (secure_getenv("CHORUS_PORT") != NULL)
        return ch_way_number("CHORUS_PORT", "the user", 1, 65535, port_out);
    CH_TRY(ch_way_number("MASTER_PORT", who, 1, 65534, port_out));
    ++*port_out;
    return CHORUS_OK;
}

static chorus_status torchrun_open(uint64_t timeout_ns, struct ch_boot **boot_out)
{
    const char *const master = secure_getenv("MASTER_ADDR");
    struct ch_tree_start start = {.timeout_ns = timeout_ns};
    struct ch_tree_door door = {.fd = -1};
    uint64_t n, me, port;
    char root[CH_TREE_TEXT_BYTES];

    CH_TRY(ch_way_number("WORLD_SIZE", who, 1, CH_TREE_PES_MAX, &n));
    CH_TRY(ch_way_number("RANK", who, 0, n - 1, &me));
    CH_TRY(find_port(&port));
    make_secret(start.secret);
    start.me = (uint32_t)me;
    start.n = (uint32_t)n;
    if (me == 0) {
        CH_TRY(ch_tree_listen((uint16_t)port, &door));
        start.door = &door;
    } else {
        (void)snprintf(root, sizeof(root), strchr(master, ':') != NULL ? "[%s]:%u" : "%s:%u",
                       master, (unsigned)port);
        start.root = root;
    }
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
