/* SPDX-License-Identifier: Apache-2.0 */
/* tree_boot.h: a boot over a tree, for the ways of starting that support several hosts. */
#ifndef CH_TREE_BOOT_H
#define CH_TREE_BOOT_H

#include "boot/tree.h"

/* What every such way finds out by itself. */
struct ch_tree_start {
    uint32_t me, n;
    uint32_t n_cores; /* of the host, for all its PEs; 0: ch_boot_locate counts */
    unsigned char secret[CH_BOOT_SECRET_BYTES];
    struct ch_tree_door *door; /* of the root, which takes it; else null */
    const char *root;          /* its addresses, as ch_tree_join takes them; null at it */
    struct ch_boot *agent; /* that started this PE, and is told of its end; or null. Taken */
    uint64_t timeout_ns;
};

/* Takes door and agent, also on failure. */
CH_MUST_CHECK chorus_status ch_boot_tree(const struct ch_tree_start *start,
                                         struct ch_boot **boot_out);

#endif /* CH_TREE_BOOT_H */
