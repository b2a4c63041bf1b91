/* SPDX-License-Identifier: Apache-2.0 */
/* tree_boot.h: a boot over a tree, for the ways of starting that support several hosts. */
#ifndef CH_TREE_BOOT_H
#define CH_TREE_BOOT_H

#include "boot/share.h"
#include "boot/tree.h"

/* The input of all ways of starting that use it. */
struct ch_tree_start {
    uint32_t me, n;
    uint32_t n_cores; /* cores of the host, for all its PEs; 0: ch_boot_locate counts */
    unsigned char secret[CH_BOOT_SECRET_BYTES];
    unsigned char listen[CH_BOOT_IP_BYTES]; /* where this PE's other sockets listen; 0: all */
    struct ch_tree_door *door; /* of the root, whose ownership is taken; else null */
    const char *root;          /* its addresses, for ch_tree_join; null at the root */
    struct ch_boot *agent;  /* the launcher's boot, which is informed of the end of this PE; or
                               null. Ownership is taken */
    struct ch_share *share; /* by which other PEs receive the secret, closed when all have
                               joined; or null. Ownership is taken */
    uint64_t timeout_ns;
};

/* Takes ownership of door, agent and share, also on failure. */
CH_MUST_CHECK chorus_status ch_boot_tree(const struct ch_tree_start *start,
                                         struct ch_boot **boot_out);

#endif /* CH_TREE_BOOT_H */
