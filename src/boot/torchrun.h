/* SPDX-License-Identifier: Apache-2.0 */
/* torchrun.h: a job of torchrun, for the files that implement this way of starting. */
#ifndef CH_TORCHRUN_H
#define CH_TORCHRUN_H

#include "boot/share.h"
#include "boot/tree.h"

struct ch_torchrun {
    uint32_t me, n;
    const char *master; /* MASTER_ADDR */
    uint16_t port;      /* of the root, by the variables */
    uint16_t root_port; /* at which it listens; another one if a program has that */
    bool is_one_host;   /* all PEs are on this host, as the variables show */
    uint64_t timeout_ns;
};

/*
 * The job's secret: derived from CHORUS_SECRET; without it, random if all PEs are on this host,
 * else made of names that are not secret, with a warning of PE 0. *share_out may be null; else
 * it gives the secret to other PEs until it is closed. A random secret also tells root_port, of
 * PE 0 to the others.
 */
CH_MUST_CHECK chorus_status ch_torchrun_secret(struct ch_torchrun *job,
                                               unsigned char secret_out[CH_BOOT_SECRET_BYTES],
                                               struct ch_share **share_out);

/* Is the secret random, made by PE 0 for the others on its host? */
bool ch_torchrun_is_random(const struct ch_torchrun *job);

/* The root's address, for ch_tree_join. */
void ch_torchrun_root(const struct ch_torchrun *job, char text_out[CH_TREE_TEXT_BYTES]);

/* Where the root listens, and where the other sockets of this PE do; 0: at all addresses. */
void ch_torchrun_listen(const struct ch_torchrun *job, unsigned char root_out[CH_BOOT_IP_BYTES],
                        unsigned char own_out[CH_BOOT_IP_BYTES]);

#endif /* CH_TORCHRUN_H */
