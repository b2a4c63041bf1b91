/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torchrun_listen.c: at which of its addresses a PE of torchrun listens, so that its sockets
 * are not open to networks by which no PE comes.
 *
 * The root listens at MASTER_ADDR, since other PEs connect to it. Other sockets of a PE listen
 * at the interface that CHORUS_NET names; otherwise at the address from which this host sends
 * packets to MASTER_ADDR. An address of the loopback is used only if all PEs are on this host:
 * some systems give it to the name of the host.
 */
#include "boot/torchrun.h"

#include "base/log.h"
#include "base/option.h"
#include "boot/tree_address.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct found {
    uint32_t n;
    struct ch_tree_address at[CH_TREE_ADDRESSES];
};

/* The addresses of MASTER_ADDR that PEs may use. */
static void resolve(const struct ch_torchrun *job, struct found *out)
{
    char root[CH_TREE_TEXT_BYTES], why[CH_TREE_TEXT_BYTES];
    struct found all = {.n = 0};

    out->n = 0;
    ch_torchrun_root(job, root);
    all.n = ch_tree_address_find(root, all.at, why, sizeof(why));
    for (uint32_t i = 0; i < all.n; i++)
        if (job->is_one_host || !ch_tree_address_is_loopback(&all.at[i]))
            out->at[out->n++] = all.at[i];
}

/* The address of the root; null: several, of which other hosts may use any, or none. */
static const struct ch_tree_address *find_root(const struct ch_torchrun *job,
                                               const struct found *found)
{
    const struct ch_tree_address *own = NULL;

    for (uint32_t i = 0; i < found->n; i++) {
        if (!ch_tree_address_is_own(&found->at[i])) continue;
        if (own != NULL) return NULL;
        own = &found->at[i];
        if (job->is_one_host) break;
    }
    return own;
}

static bool find_own(const struct ch_torchrun *job, const struct found *found,
                     struct ch_tree_address *out)
{
    static const unsigned char loopback[CH_BOOT_IP_BYTES] = CH_BOOT_LOOPBACK;
    const char *const net = ch_variable_get(CH_VARIABLE_NET);

    if (net != NULL && *net != '\0') {
        if (ch_tree_address_of_interface(net, out)) return true;
        CH_LOG(INFO,
               "CHORUS_NET is \"%.64s\", which is no interface with an address of this host",
               net);
    }
    for (uint32_t i = 0; i < found->n; i++)
        if (ch_tree_address_towards(&found->at[i], out) &&
            (job->is_one_host || !ch_tree_address_is_loopback(out)))
            return true;
    memcpy(out->ip, loopback, sizeof(loopback));
    return job->is_one_host;
}

void ch_torchrun_listen(const struct ch_torchrun *job, unsigned char root_out[CH_BOOT_IP_BYTES],
                        unsigned char own_out[CH_BOOT_IP_BYTES])
{
    const struct ch_tree_address *root;
    struct ch_tree_address own;
    struct found found;

    memset(root_out, 0, CH_BOOT_IP_BYTES);
    memset(own_out, 0, CH_BOOT_IP_BYTES);
    resolve(job, &found);
    root = find_root(job, &found);
    if (root != NULL) memcpy(root_out, root->ip, CH_BOOT_IP_BYTES);
    if (find_own(job, &found, &own))
        memcpy(own_out, own.ip, CH_BOOT_IP_BYTES);
    else
        CH_LOG(INFO,
               "PE %u listens at all addresses of this host, since it has none towards "
               "MASTER_ADDR",
               job->me);
    if (root == NULL && job->me == 0)
        CH_LOG(INFO, "PE 0 listens at all addresses of this host, since MASTER_ADDR is not one "
                     "of them alone");
}
